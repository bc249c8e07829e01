//! Steps that read the target's metrics.

use std::time::Duration;

use baton_core::{
    case::model::{MetricAssertion, Mode, Phase},
    metrics::is_part,
    timeline::{Mark, StepEnd},
};
use tokio::time::Instant;

use super::{MetricsError, Run, Unfinished};
use crate::error_chain::error_chain;

/// Interval between two reads.
const INTERVAL: Duration = Duration::from_secs(1);

impl Run<'_> {
    /// Reads a metric when the step begins and then once a second, as long as the mode requires. Notes the samples on
    /// the timeline; the judge decides.
    pub(super) async fn metric(&mut self, assertion: &MetricAssertion) -> StepEnd {
        let phase = Phase::Collect;
        let time = match (assertion.mode, assertion.within) {
            (Mode::Consistently(time), _) => time,
            (Mode::Eventually, Some(time)) => time.mul_f64(self.timeouts.factor) + self.timeouts.slack,
            (Mode::Eventually, None) => self.timeouts.of(phase),
            (Mode::Now | Mode::Observed | Mode::Never | Mode::FirstSeen, _) => Duration::ZERO,
        };
        let deadline = Instant::now() + time;
        loop {
            let held = match self.scrape(assertion).await {
                Ok(Some(held)) => held,
                Ok(None) => {
                    let reason = "the target declares no metrics endpoint".to_owned();
                    return StepEnd::Unsupported { reason };
                }
                Err(error) => {
                    let reason = format!("the metrics of the target cannot be read: {}", error_chain(&error));
                    self.unfinished = Some(Unfinished::Command(reason.clone()));
                    return StepEnd::Refused { message: reason };
                }
            };
            let left = deadline.saturating_duration_since(Instant::now());
            match assertion.mode {
                Mode::Eventually if held => return StepEnd::Done,
                Mode::Eventually if left.is_zero() => return StepEnd::timed_out(phase.name(), time),
                Mode::Eventually | Mode::Consistently(_) if !left.is_zero() => self.let_pass(INTERVAL.min(left)).await,
                _ => return StepEnd::Done,
            }
            if self.ended {
                return StepEnd::TargetEnded;
            }
        }
    }

    /// Reads once; returns whether the metric fulfills the assertion, or `None` if the target has no metrics.
    async fn scrape(&mut self, assertion: &MetricAssertion) -> Result<Option<bool>, MetricsError> {
        let Some(running) = &mut self.running else {
            return Err(MetricsError::Stopped);
        };
        let Some(mut samples) = running.metrics().await? else {
            return Ok(None);
        };
        samples.retain(|sample| is_part(&sample.name, &assertion.metric.name));
        // Implementations list samples in any order.
        samples.sort_by(|one, other| {
            (&one.name, &one.labels, &one.value).cmp(&(&other.name, &other.labels, &other.value))
        });
        let bindings = self.known().bindings;
        let held = assertion.metric.mismatches(&samples, &bindings).is_empty();
        self.recorder.mark(Mark::Scraped { samples });
        Ok(Some(held))
    }
}
