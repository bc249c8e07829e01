//! Times, and what is printed of them.

use std::time::Duration;

/// How long something took, each time.
pub struct Times {
    sorted: Vec<Duration>,
    /// How long all of it took together.
    total: Option<Duration>,
}

impl Times {
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self {
            sorted: times,
            total: None,
        }
    }

    /// The same, all done within a time, some at once.
    pub fn over(mut self, total: Duration) -> Self {
        self.total.get_or_insert(total);
        self
    }

    fn at(&self, percent: usize) -> Duration {
        let index = self.sorted.len() * percent / 100;
        let last = self.sorted.last().copied().unwrap_or_default();
        self.sorted.get(index).copied().unwrap_or(last)
    }

    /// A line of the table.
    pub fn row(&self, name: &str) -> String {
        let rate = self.total.map_or_else(String::new, |total| {
            let count = u32::try_from(self.sorted.len()).unwrap_or(u32::MAX);
            format!("{:.0}", f64::from(count) / total.as_secs_f64())
        });
        let micros = |percent| format!("{:.0}", self.at(percent).as_secs_f64() * 1e6);
        format!("{name:<52} {rate:>9} {:>9} {:>9}", micros(50), micros(99))
    }
}

/// The head of a table.
pub fn head(size: usize) -> String {
    let name = format!("with {size} ConfigMaps of 1 KiB");
    format!("\n{name:<52} {:>9} {:>9} {:>9}", "per s", "p50 µs", "p99 µs")
}

/// What this process holds now, where the system tells.
pub fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
