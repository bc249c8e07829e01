//! How busy this machine is. A target that shares its processors with much else is slow without being at fault.

use std::{fs, path::Path, time::Duration};

use tokio::time::Instant;

/// File in which Linux adds up the time in which some task had to wait for a processor
/// ([PSI](https://docs.kernel.org/accounting/psi.html)). Other systems do not have it.
const PRESSURE: &str = "/proc/pressure/cpu";

/// Share of a period from which on the processors were busy.
const BUSY: f64 = 0.8;

/// A reading of the time in which some task had to wait for a processor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    at: Instant,
    /// Since the machine started; `None` if the system does not tell.
    waited: Option<Duration>,
}

impl Reading {
    /// Reads it now.
    pub(super) fn now() -> Self {
        Self::of(Path::new(PRESSURE))
    }

    /// A reading of this time, now.
    #[cfg(test)]
    pub(super) fn with(waited: Duration) -> Self {
        Self {
            at: Instant::now(),
            waited: Some(waited),
        }
    }

    fn of(file: &Path) -> Self {
        let text = fs::read_to_string(file).ok();
        Self {
            at: Instant::now(),
            waited: text.as_deref().and_then(waited),
        }
    }

    /// Returns `true` if since an earlier reading tasks had to wait for a processor nearly all the time; `false` if that is
    /// not known.
    pub(super) fn is_busy_since(&self, earlier: &Self) -> bool {
        let (Some(waited), Some(before)) = (self.waited, earlier.waited) else {
            return false;
        };
        let period = self.at.saturating_duration_since(earlier.at);
        !period.is_zero() && waited.saturating_sub(before) > period.mul_f64(BUSY)
    }
}

/// Returns `total` of the line `some avg10=… avg60=… avg300=… total=…`, in which it counts microseconds.
fn waited(text: &str) -> Option<Duration> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split_whitespace().find_map(|it| it.strip_prefix("total="))?;
    Some(Duration::from_micros(total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressure(total: Duration) -> String {
        let micros = total.as_micros();
        format!(
            "some avg10=59.58 avg60=52.43 avg300=28.23 total={micros}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_is_busy_if_tasks_wait_nearly_all_the_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cpu");
        let read = |total: f64| {
            fs::write(&file, pressure(Duration::from_secs_f64(total))).expect("written");
            Reading::of(&file)
        };
        let before = read(1000.0);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!read(1005.0).is_busy_since(&before), "half of the time");
        assert!(read(1009.0).is_busy_since(&before));
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_does_not_tell_is_not_busy() {
        let nowhere = Reading::of(Path::new("/nowhere/cpu"));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!Reading::of(Path::new("/nowhere/cpu")).is_busy_since(&nowhere));
        assert_eq!(waited("some avg10=0.00"), None);
    }
}
