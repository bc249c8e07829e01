//! The limit of open files. Cases that would exceed it are not started, so that running into the limit is never
//! reported as a deviation.

use std::fs;

use baton_cluster::fleet::TimeMode;

/// File descriptors that a run needs in addition to its cases: for reports, the terminal and the files of the suite.
const BESIDES: u64 = 32;

/// File descriptors of a case whose clusters are all in this process.
const INSIDE: u64 = 8;

/// File descriptors of a case whose clusters are reached over connections: it runs a program, or the clusters are
/// elsewhere.
const CONNECTED: u64 = 40;

/// Returns the number of cases that can run at once; `None` if there is no limit or it is unknown.
pub(crate) fn enough_for(mode: TimeMode) -> Option<usize> {
    enough(limit(&fs::read_to_string("/proc/self/limits").ok()?)?, mode)
}

/// Returns the smallest limit with which a case can run.
pub(crate) fn least(mode: TimeMode) -> u64 {
    BESIDES + of_case(mode)
}

fn enough(limit: u64, mode: TimeMode) -> Option<usize> {
    usize::try_from(limit.saturating_sub(BESIDES) / of_case(mode)).ok()
}

fn of_case(mode: TimeMode) -> u64 {
    match mode {
        TimeMode::Virtual => INSIDE,
        TimeMode::Real => CONNECTED,
    }
}

/// Parses the limit in force from text as Linux writes it: `Max open files  1024  524288  files`.
fn limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_cases_run_at_once_as_there_are_descriptors_for() {
        let limits = "Max processes   1  1  processes\nMax open files            256                  524288               files     \n";
        assert_eq!(limit(limits), Some(256));
        assert_eq!(limit("Max open files  unlimited  unlimited  files"), None);
        assert_eq!(enough(256, TimeMode::Real), Some(5));
        assert_eq!(enough(256, TimeMode::Virtual), Some(28));
        assert_eq!(enough(least(TimeMode::Real), TimeMode::Real), Some(1));
        assert_eq!(enough(least(TimeMode::Real) - 1, TimeMode::Real), Some(0));
        assert_eq!(enough(8, TimeMode::Virtual), Some(0));
    }
}
