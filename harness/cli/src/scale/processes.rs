//! Processor time and memory of this process and of its descendants, and the load of the machine, from `/proc`. On other
//! systems than Linux all are empty.

use std::{collections::BTreeMap, fs, path::Path};

use baton_core::scale::report::Process;

/// Ticks of a second in `/proc/*/stat`: a constant of Linux's interface for programs.
const TICKS: f64 = 100.0;

/// Processor time below which a process is left out, such as that of a shell that waits for a program.
const LEAST_SECONDS: f64 = 0.1;

/// Resources that processes used.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// This process, then its descendants, by name.
    pub(super) processes: Vec<Process>,
    /// Memory of the machine.
    pub(super) memory_kib: Option<u64>,
    /// Load of the machine so far.
    pub(super) load: Option<Load>,
}

/// A line of `/proc/*/stat`.
#[derive(Debug, PartialEq)]
struct Stat {
    name: String,
    parent: u32,
    cpu_seconds: f64,
}

impl Usage {
    /// Reads the resources that processes have used so far.
    pub(super) fn read() -> Self {
        let this = std::process::id();
        let mut all: BTreeMap<u32, Stat> = BTreeMap::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|it| it.parse().ok());
            if let Some(pid) = pid
                && let Some(stat) = fs::read_to_string(entry.path().join("stat"))
                    .ok()
                    .and_then(|it| stat(&it))
            {
                all.insert(pid, stat);
            }
        }
        let mut ours: Vec<(u32, &Stat)> = all
            .iter()
            .filter(|(pid, _)| descends(&all, **pid, this))
            .map(|(pid, it)| (*pid, it))
            .collect();
        ours.sort_by_key(|(pid, it)| (*pid != this, &it.name, *pid));
        let own = ours.iter().map(|(_, it)| it.cpu_seconds).sum();
        ours.retain(|(pid, it)| *pid == this || it.cpu_seconds >= LEAST_SECONDS);
        let process = |(pid, stat): &(u32, &Stat)| {
            let folder = Path::new("/proc").join(pid.to_string());
            let status = fs::read_to_string(folder.join("status")).ok()?;
            Some(Process {
                name: program(&folder).unwrap_or_else(|| stat.name.clone()),
                cpu_seconds: stat.cpu_seconds,
                peak_memory_kib: kib(&status, "VmHWM:")?,
            })
        };
        let memory = fs::read_to_string("/proc/meminfo").ok();
        let machine = fs::read_to_string("/proc/stat").ok().and_then(|it| machine(&it));
        let load = machine.map(|(busy, all)| Load { busy, all, own });
        Self {
            processes: ours.iter().filter_map(process).collect(),
            memory_kib: memory.and_then(|it| kib(&it, "MemTotal:")),
            load,
        }
    }
}

/// Name of the program of a process. The name in `stat` ends after 15 characters.
fn program(folder: &Path) -> Option<String> {
    let path = fs::read_link(folder.join("exe")).ok()?;
    Some(path.file_name()?.to_str()?.to_owned())
}

/// Processor time of the whole machine, and of this process and its descendants, since they started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    /// Seconds in which a processor was busy, for any process.
    busy: f64,
    /// Seconds in which a processor could have been busy.
    all: f64,
    /// Seconds of this process and its descendants.
    own: f64,
}

impl Load {
    /// Share of the machine's processor time that other programs used from `self` to `later`.
    pub(super) fn of_others(self, later: Self) -> Option<f64> {
        let all = later.all - self.all;
        let others = (later.busy - self.busy) - (later.own - self.own);
        (all > 0.0).then(|| (others / all).clamp(0.0, 1.0))
    }
}

/// Busy seconds and all seconds of the line `cpu` of `/proc/stat`.
fn machine(stat: &str) -> Option<(f64, f64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line
        .split_whitespace()
        .map_while(|it| it.parse::<u64>().ok())
        .map(seconds)
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; the time of guests is part of that of user.
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq + steal;
    Some((busy, busy + idle + iowait))
}

#[expect(clippy::cast_precision_loss, reason = "ticks of a machine's life are far below 2^52")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS
}

/// Checks whether a process is `from` or one of its descendants.
fn descends(all: &BTreeMap<u32, Stat>, mut pid: u32, from: u32) -> bool {
    // A chain cannot be longer than the number of processes.
    for _ in 0..=all.len() {
        if pid == from {
            return true;
        }
        match all.get(&pid) {
            Some(stat) => pid = stat.parent,
            None => return false,
        }
    }
    false
}

fn stat(line: &str) -> Option<Stat> {
    // The name is in parentheses and may contain parentheses.
    let (before, after) = line.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u32>().ok().map(f64::from);
    Some(Stat {
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        cpu_seconds: (ticks(11)? + ticks(12)?) / TICKS,
    })
}

fn kib(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read_whatever_the_name() {
        let line = "42 (a (b) c) S 7 42 42 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 4 0 100 1 1";
        let expected = Stat {
            name: "a (b) c".to_owned(),
            parent: 7,
            cpu_seconds: 4.0,
        };
        assert_eq!(stat(line), Some(expected));
        assert_eq!(stat("nothing"), None);
    }

    #[test]
    fn a_process_is_ours_if_one_of_ours_has_started_it() {
        let of = |parent| Stat {
            name: String::new(),
            parent,
            cpu_seconds: 0.0,
        };
        let all = BTreeMap::from([(2, of(1)), (3, of(2)), (4, of(3)), (5, of(1)), (6, of(6))]);
        let ours: Vec<u32> = all.keys().copied().filter(|pid| descends(&all, *pid, 2)).collect();
        assert_eq!(ours, [2, 3, 4]);
    }

    #[test]
    fn the_load_of_other_programs_is_what_is_busy_and_not_ours() {
        let line = "cpu  1000 200 300 4000 500 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(machine(line), Some((15.0, 60.0)));
        assert_eq!(machine("intr 1\n"), None);
        let of = |busy, all, own| Load { busy, all, own };
        assert_eq!(of(15.0, 60.0, 1.0).of_others(of(25.0, 80.0, 6.0)), Some(0.25));
        assert_eq!(of(15.0, 60.0, 1.0).of_others(of(15.0, 60.0, 1.0)), None);
    }

    #[test]
    fn memory_is_read_in_kib() {
        assert_eq!(kib("Name:\tx\nVmHWM:\t  2048 kB\n", "VmHWM:"), Some(2048));
        assert_eq!(kib("Name:\tx\n", "VmHWM:"), None);
    }
}
