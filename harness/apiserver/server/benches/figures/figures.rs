//! Measured times, and their rows in the table.

use std::time::Duration;

/// Durations of single operations.
pub struct Times {
    sorted: Vec<Duration>,
    /// Wall-clock time of all operations together.
    total: Option<Duration>,
    /// Processor time of all operations, at both ends.
    cpu: Option<Duration>,
}

impl Times {
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self {
            sorted: times,
            total: None,
            cpu: None,
        }
    }

    /// Sets the wall-clock time of all operations, some of them concurrent.
    pub fn over(mut self, total: Duration) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets the processor time of all operations.
    pub fn at_cost(mut self, cpu: Option<Duration>) -> Self {
        self.cpu = cpu;
        self
    }

    /// Returns the wall-clock time of all operations together.
    pub fn total(&self) -> Option<Duration> {
        self.total
    }

    fn at(&self, percent: usize) -> Duration {
        let index = self.sorted.len() * percent / 100;
        let last = self.sorted.last().copied().unwrap_or_default();
        self.sorted.get(index).copied().unwrap_or(last)
    }

    /// Returns a row of the table.
    pub fn row(&self, name: &str) -> String {
        let count = f64::from(u32::try_from(self.sorted.len()).unwrap_or(u32::MAX));
        let rate = |total: Duration| format!("{:.0}", count / total.as_secs_f64());
        let rate = self.total.map(rate).unwrap_or_default();
        let micros = |time: Duration| format!("{:.0}", time.as_secs_f64() * 1e6);
        let cpu = self.cpu.map(|cpu| format!("{:.0}", cpu.as_secs_f64() * 1e6 / count));
        format!(
            "{name:<52} {rate:>9} {:>9} {:>9} {:>9}",
            micros(self.at(50)),
            micros(self.at(99)),
            cpu.unwrap_or_default()
        )
    }
}

/// Returns the head of a table.
pub fn head(size: usize) -> String {
    let name = format!("with {size} ConfigMaps of 1 KiB");
    format!(
        "\n{name:<52} {:>9} {:>9} {:>9} {:>9}",
        "per s", "p50 µs", "p99 µs", "CPU µs"
    )
}

/// Returns the memory of this process, if the system reports it.
pub fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Returns the processor time of this process, if the system reports it. On a busy machine, it is more reliable than
/// wall-clock time.
pub fn cpu() -> Option<Duration> {
    let mut nanos: u64 = 0;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let file = thread.ok()?.path().join("schedstat");
        nanos += std::fs::read_to_string(file)
            .ok()?
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()?;
    }
    Some(Duration::from_nanos(nanos))
}
