//! State, as it is read and kept in the eviction task.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::policy::mix_up;
use crate::{
    fault::{Fault, Of},
    mutant::Mutant,
    pieces::{Memory, binding_path, evaluate, list, map, merge, remove, rules, statuses, tasks, text, texts, uid},
    wire::{Call, Hands},
};

pub fn mutants() -> Vec<Mutant> {
    let mut mutants = tasks_spoiled();
    mutants.extend(rules_misread());
    mutants.push(status_required());
    mutants.extend(statuses_misread());
    mutants.push(unfit());
    mutants.extend(over_time());
    mutants.push(lost_without_a_status());
    mutants.push(empty_text_dropped());
    mutants
}

/// A rule that matches nothing, where there is none.
fn ask_for_what_is_not_there(binding: &mut Value) {
    let none = rules(binding).is_none_or(|rules| rules.is_empty());
    if none && binding.pointer("/spec/failover/cluster").is_some() {
        let rule = json!({"aliasLabelName": "none", "jsonPath": "{ .none }"});
        binding["spec"]["failover"]["cluster"]["statePreservation"] = json!({"rules": [rule]});
    }
}

fn tasks_spoiled() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "state-not-recorded",
            breaks: "STP-02",
            defect: "the task is written without preservedLabelState",
            fault: |_| Fault::none().written(Of::Bindings, |body| states(body, Map::clear)),
        },
        Mutant {
            name: "last-rule-wins",
            breaks: "STP-03",
            defect: "of several rules only the last one is in the task",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    states(body, |state| {
                        let last = state.keys().next_back().cloned();
                        state.retain(|key, _| Some(key) == last.as_ref());
                    });
                })
            },
        },
        Mutant {
            name: "alias-without-prefix",
            breaks: "STP-02",
            defect: "state is recorded under the alias without its prefix",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    states(body, |state| {
                        let short = |key: String| key.rsplit('/').next().map(str::to_owned).unwrap_or_default();
                        *state = std::mem::take(state)
                            .into_iter()
                            .map(|(key, value)| (short(key), value))
                            .collect();
                    });
                })
            },
        },
        Mutant {
            name: "exponent-form",
            breaks: "STP-07",
            defect: "large whole numbers are printed in exponent form (numbers went through a float)",
            fault: |_| {
                Fault::none().written(Of::Bindings, |body| {
                    states(body, |state| {
                        state.values_mut().for_each(|value| *value = in_exponent_form(value));
                    });
                })
            },
        },
        Mutant {
            name: "no-state-at-all",
            breaks: "STP-01",
            defect: "rules are not evaluated: evictions go ahead without state",
            fault: |_| Fault::none().read(Of::Bindings, |binding| keep_rules(binding, |_, _| false)),
        },
    ]
}

fn status_required() -> Mutant {
    Mutant {
        name: "status-required",
        breaks: "STP-09",
        defect: "a workload that reports no status is never evicted",
        fault: |_| {
            Fault::none().read(Of::Bindings, |binding| {
                let reports = |item: &mut Value| item.get("status").is_some_and(|status| !status.is_null());
                if !list(binding, "/status/aggregatedStatus").any(reports) {
                    ask_for_what_is_not_there(binding);
                }
            })
        },
    }
}

fn rules_misread() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "path-from-object-root",
            breaks: "STP-04",
            defect: "paths start at the object, and {.status.x} works",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    for_rules(binding, |path| *path = path.replace(".status.", "."));
                })
            },
        },
        Mutant {
            name: "only-plain-fields",
            breaks: "STP-05",
            defect: "paths with anything but fields in them are taken as text",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    for_rules(binding, |path| {
                        if path.contains(['[', '*', '"']) || path.contains("..") || path.contains("range") {
                            path.retain(|char| char.is_ascii_alphanumeric());
                        }
                    });
                })
            },
        },
        Mutant {
            name: "missing-key-swallowed",
            breaks: "STP-06",
            defect: "a path that matches nothing is passed over, and the eviction goes ahead with the rest",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    keep_rules(binding, |binding, path| evaluate(binding, path).is_some());
                })
            },
        },
        Mutant {
            name: "blocked-in-silence",
            breaks: "STP-06",
            defect: "what blocks an eviction stands in the log and nowhere else",
            fault: |_| silent(),
        },
        Mutant {
            name: "rules-required",
            breaks: "STP-09",
            defect: "without rules an eviction never happens",
            fault: |_| Fault::none().read(Of::Bindings, ask_for_what_is_not_there),
        },
        Mutant {
            name: "only-deployments",
            breaks: "STP-13",
            defect: "state is preserved for Deployments and no other kind",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    if text(binding, "/spec/resource/kind") != "Deployment" {
                        keep_rules(binding, |_, _| false);
                    }
                })
            },
        },
    ]
}

fn statuses_misread() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "without-waiting-for-status",
            breaks: "STP-08",
            defect: "an eviction goes ahead without state while no status has been collected",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let collected = list(binding, "/status/aggregatedStatus").any(|item| {
                        let status = item.get("status").and_then(Value::as_object);
                        status.is_some_and(|status| !status.is_empty())
                    });
                    if !collected {
                        keep_rules(binding, |_, _| false);
                    }
                })
            },
        },
        Mutant {
            name: "state-of-another-cluster",
            breaks: "STP-10",
            defect: "of two clusters that run the workload, the state of the healthy one is taken",
            fault: |_| Fault::none().read(Of::Bindings, mix_up),
        },
        Mutant {
            name: "long-text-truncated",
            breaks: "STP-12",
            defect: "a text of more than 63 characters is cut off",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    statuses(binding, |status| texts(status, &|text| text.truncate(63)));
                })
            },
        },
        Mutant {
            name: "text-made-to-fit",
            breaks: "STP-12",
            defect: "characters that a label cannot have are replaced",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let fits = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
                    statuses(binding, |status| {
                        texts(status, &|text| *text = text.replace(|char| !fits(char), "x"));
                    });
                })
            },
        },
        Mutant {
            name: "bad-text-dropped",
            breaks: "STP-12",
            defect: "a text that is not a valid label value is left out, and the eviction goes ahead with the rest",
            fault: |_| {
                Fault::none().read(Of::Bindings, |binding| {
                    let fits = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
                    let is_value = |text: &str| text.len() <= 63 && text.chars().all(fits);
                    keep_rules(binding, |binding, path| {
                        evaluate(binding, path).is_none_or(|text| is_value(&text))
                    });
                })
            },
        },
    ]
}

fn unfit() -> Mutant {
    Mutant {
        name: "unfit-state-not-refused",
        breaks: "STP-15",
        defect: "a text that is not a valid label value is recorded like any other, and the eviction goes ahead",
        fault: |_| {
            let raw: Memory<BTreeMap<String, String>> = Memory::new();
            let written = raw.clone();
            Fault::none()
                .read(Of::Bindings, move |binding| {
                    statuses(binding, |status| texts(status, &|text| stand_in(text, &raw)));
                })
                .written(Of::Bindings, move |body| {
                    for task in tasks(body) {
                        let Some(state) = task.get_mut("preservedLabelState") else {
                            continue;
                        };
                        texts(state, &|text| {
                            if let Some(raw) = written.get().get(text) {
                                raw.clone_into(text);
                            }
                        });
                    }
                })
        },
    }
}

/// Replaces a text that is not a valid label value with one that is.
fn stand_in(text: &mut String, raw: &Memory<BTreeMap<String, String>>) {
    let fits = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    if text.len() > 63 || !text.chars().all(fits) {
        let mut raw = raw.get();
        let name = format!("unfit-{}", raw.len());
        let name = raw
            .iter()
            .find(|(_, known)| *known == text)
            .map_or(name, |(name, _)| name.clone());
        raw.insert(name.clone(), std::mem::replace(text, name));
    }
}

fn over_time() -> Vec<Mutant> {
    vec![
        Mutant {
            name: "stale-status",
            breaks: "STP-11",
            defect: "the state is taken from the first status that was collected (later ones were lost to conflicts)",
            fault: |_| {
                let first: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().read(Of::Bindings, move |binding| {
                    let uid = uid(binding);
                    for item in list(binding, "/status/aggregatedStatus") {
                        let key = format!("{uid} {}", text(item, "/clusterName"));
                        if let Some(status) = item.get_mut("status").filter(|it| it.get("jobStatus").is_some()) {
                            *status = first.get().entry(key).or_insert_with(|| status.clone()).clone();
                        }
                    }
                })
            },
        },
        Mutant {
            name: "state-rewritten",
            breaks: "STP-11",
            defect: "the state in a task follows the status after the task was written",
            fault: |_| Fault::none().after(Of::Works, rewrite_state),
        },
        Mutant {
            name: "state-lost-on-second-failover",
            breaks: "STP-14",
            defect: "a second failover before the workload ran drops the state of the first",
            fault: |_| {
                let seen: Memory<BTreeMap<String, Value>> = Memory::new();
                Fault::none().written(Of::Bindings, move |body| {
                    for task in tasks(body) {
                        let from = text(task, "/fromCluster").to_owned();
                        let state = task.get("preservedLabelState").cloned().unwrap_or_default();
                        let mut seen = seen.get();
                        let inherited = seen.iter().any(|(other, theirs)| *other != from && *theirs == state);
                        if inherited {
                            remove(task, "", "preservedLabelState");
                        } else {
                            seen.insert(from, state);
                        }
                    }
                })
            },
        },
    ]
}

fn lost_without_a_status() -> Mutant {
    Mutant {
        name: "state-lost-without-a-status",
        breaks: "STP-14",
        defect: "a second failover from a cluster that never reported a status drops the state of the first",
        fault: |_| {
            let reported: Memory<BTreeSet<String>> = Memory::new();
            let seen = reported.clone();
            Fault::none()
                .read(Of::Bindings, move |binding| {
                    let items = list(binding, "/status/aggregatedStatus");
                    let items = items.filter(|item| item.get("status").is_some());
                    seen.get()
                        .extend(items.map(|item| text(item, "/clusterName").to_owned()));
                })
                .written(Of::Bindings, move |body| {
                    tasks(body)
                        .filter(|task| !reported.get().contains(text(task, "/fromCluster")))
                        .for_each(|task| remove(task, "", "preservedLabelState"));
                })
        },
    }
}

fn empty_text_dropped() -> Mutant {
    Mutant {
        name: "empty-text-dropped",
        breaks: "STP-02",
        defect: "a value that is an empty text is not recorded",
        fault: |_| {
            Fault::none().written(Of::Bindings, |body| {
                states(body, |state| state.retain(|_, value| value.as_str() != Some("")));
            })
        },
    }
}

fn states(body: &mut Value, edit: impl Fn(&mut Map<String, Value>)) {
    tasks(body)
        .filter_map(|task| map(task, "/preservedLabelState"))
        .for_each(edit);
}

/// `n1734462491693` as `n1.734462491693e+12`.
fn in_exponent_form(value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    let digits = text.trim_start_matches(|char: char| !char.is_ascii_digit());
    match digits.parse::<f64>() {
        Ok(number) if number >= 1e6 => {
            let before = text.trim_end_matches(digits);
            json!(format!("{before}{number:e}").replace('e', "e+"))
        }
        Ok(_) | Err(_) => value.clone(),
    }
}

fn for_rules(binding: &mut Value, edit: impl Fn(&mut String)) {
    for rule in rules(binding).into_iter().flatten() {
        let mut path = text(rule, "/jsonPath").to_owned();
        edit(&mut path);
        rule["jsonPath"] = json!(path);
    }
}

fn keep_rules(binding: &mut Value, keeps: impl Fn(&Value, &str) -> bool) {
    let shown = binding.clone();
    if let Some(rules) = rules(binding) {
        rules.retain(|rule| keeps(&shown, text(rule, "/jsonPath")));
    }
}

/// Neither events nor a condition report what blocks a failover.
pub fn silent() -> Fault {
    Fault::none()
        .skipped(Of::Events, |_| true)
        .written(Of::Bindings, |body| {
            if let Some(conditions) = body.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                conditions.retain(|it| it["type"] != "FailoverBlocked" && it["type"] != "EvictionPending");
                for condition in conditions.iter_mut().filter(|condition| condition["status"] == "False") {
                    condition["message"] = Value::from("not yet");
                }
            }
        })
}

/// While its old copy leaves, a binding's state is written once more, with another value.
fn rewrite_state(call: &Call, _: &Value, hands: &Hands) -> crate::fault::Doing<()> {
    let is_deletion = call.method == http::Method::DELETE;
    let control = hands["control"].clone();
    Box::pin(async move {
        if !is_deletion {
            return;
        }
        let request = http::Request::get("/apis/work.karmada.io/v1alpha2/resourcebindings").body(Vec::new());
        let Ok(request) = request else { return };
        let Ok(mut bindings) = control.request::<Value>(request).await else {
            return;
        };
        for binding in list(&mut bindings, "/items") {
            states(binding, |state| {
                state.values_mut().for_each(|value| *value = json!("rewritten"));
            });
            let spec = json!({"gracefulEvictionTasks": binding.pointer("/spec/gracefulEvictionTasks")});
            merge(&control, binding_path(binding), &json!({"spec": spec})).await;
        }
    })
}
