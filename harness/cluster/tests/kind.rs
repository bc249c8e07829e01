//! Faults of kind and of the container engine, simulated by scripts that print the messages of the real programs.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command, time::Duration};

use baton_cluster::fleet::{
    kind::{Configurations, KindClusters, KindError, KindOptions, Programs},
    provisioned::Reach,
};
use tempfile::TempDir;

/// A folder with scripts `kind` and `docker` that log their arguments. Files in the folder control their behavior.
struct Host(TempDir);

const KIND: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin; here=$(dirname "$0")
echo "kind $*" >>"$here/calls"
name=; previous=
for argument in "$@"; do [ "$previous" = --name ] && name=$argument; previous=$argument; done
case "$1 $2" in
version*) echo "kind v0.33.0" ;;
"get clusters") cat "$here/clusters" 2>/dev/null || echo "No kind clusters found." >&2 ;;
"get kubeconfig")
    [ -f "$here/$name.unusable" ] && { cat "$here/$name.unusable" >&2; exit 1; }
    case "$*" in *--internal*) server=https://$name-control-plane:6443 ;; *) server=https://127.0.0.1:1234 ;; esac
    echo "{clusters: [{name: kind-$name, cluster: {server: '$server'}}]}" ;;
"create cluster")
    [ -f "$here/$name.fails" ] && { cat "$here/$name.fails" >&2; exit 1; }
    [ -p "$here/$name.hangs" ] && { echo "begun" >"$here/$name.hangs"; exec sleep 600; }
    for argument in "$@"; do [ "$previous" = --config ] && cp "$argument" "$here/$name.config"; previous=$argument; done
    echo 'Thanks for using kind!' >&2 ;;
"delete cluster") [ -f "$here/$name.stays" ] && { cat "$here/$name.stays" >&2; exit 1; }; exit 0 ;;
esac
"#;

const DOCKER: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin; here=$(dirname "$0")
[ -f "$here/docker.fails" ] && { cat "$here/docker.fails" >&2; exit 1; }
case "$1" in
version) echo 28.0.0 ;;
info) cat "$here/memory" ;;
esac
"#;

impl Host {
    fn new() -> Self {
        let host = Self(TempDir::new().unwrap());
        host.program("kind", KIND);
        host.program("docker", DOCKER);
        host.says("memory", "16000000000");
        host
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn program(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn says(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    fn lacks(self, file: &str) -> Self {
        fs::remove_file(self.path(file)).unwrap();
        self
    }

    fn options(&self) -> KindOptions {
        KindOptions {
            members: 2,
            image: None,
            prefix: "baton".to_owned(),
            configurations: Configurations {
                control: "# the control plane's\n".to_owned(),
                member: "# a member's\n".to_owned(),
            },
            reuse: false,
            reach: Reach::Host,
            ready_within: Duration::from_secs(60),
            programs: Programs {
                search_path: Some(self.0.path().into()),
                engine: "docker".to_owned(),
            },
        }
    }

    fn clusters(&self) -> KindClusters {
        KindClusters::new(self.options()).unwrap()
    }

    async fn error(&self) -> KindError {
        self.clusters().boot().await.unwrap_err()
    }

    /// Logged invocations of kind, without the parts that differ between runs.
    fn calls(&self, begin: &str) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let mut calls: Vec<String> = calls
            .lines()
            .filter(|call| call.starts_with(begin))
            .map(str::to_owned)
            .collect();
        calls.sort();
        calls
    }

    fn deleted(&self) -> Vec<String> {
        let name = |call: &String| argument(call, "--name");
        self.calls("kind delete").iter().map(name).collect()
    }
}

fn argument(call: &str, option: &str) -> String {
    let mut words = call.split(' ').skip_while(|&word| word != option);
    words.nth(1).unwrap_or_default().to_owned()
}

const ALL: [&str; 3] = ["baton-control", "baton-member1", "baton-member2"];

#[tokio::test]
async fn makes_all_clusters_and_removes_them() {
    let host = Host::new();
    let clusters = host.clusters();
    let booted = clusters.boot().await.unwrap();
    let names: Vec<&str> = booted.iter().map(|cluster| cluster.name.as_str()).collect();
    assert_eq!(names, ["control", "member1", "member2"]);
    assert!(
        booted[1].kubeconfig.contains("kind-baton-member1"),
        "{}",
        booted[1].kubeconfig
    );
    assert_eq!(booted[1].reached_at, None);
    clusters.remove().await.unwrap();
    assert_eq!(host.deleted(), ALL);
    // Nothing is removed twice.
    clusters.remove().await.unwrap();
    assert_eq!(host.deleted(), ALL);
}

#[tokio::test]
async fn tells_kind_which_image_and_configuration_and_leaves_the_users_kubeconfig_alone() {
    let host = Host::new();
    let options = KindOptions {
        image: Some("kindest/node:v1.36.2".to_owned()),
        ..host.options()
    };
    let clusters = KindClusters::new(options).unwrap();
    clusters.boot().await.unwrap();
    clusters.remove().await.unwrap();
    let calls = host.calls("kind create");
    assert_eq!(
        calls.iter().map(|call| argument(call, "--name")).collect::<Vec<_>>(),
        ALL
    );
    for call in &calls {
        assert_eq!(argument(call, "--image"), "kindest/node:v1.36.2");
        let name = argument(call, "--name");
        let expected = if name == ALL[0] {
            "# the control plane's\n"
        } else {
            "# a member's\n"
        };
        assert_eq!(
            fs::read_to_string(host.path(&format!("{name}.config"))).unwrap(),
            expected
        );
    }
    for call in calls.iter().chain(&host.calls("kind delete")) {
        assert!(argument(call, "--kubeconfig").starts_with('/'), "{call}");
    }
}

#[tokio::test]
async fn a_controller_in_the_control_planes_cluster_gets_addresses_on_kinds_network() {
    let host = Host::new();
    let options = KindOptions {
        reach: Reach::Clusters,
        ..host.options()
    };
    let booted = KindClusters::new(options).unwrap().boot().await.unwrap();
    let address = booted[1].reached_at.as_deref();
    assert_eq!(address, Some("https://baton-member1-control-plane:6443"));
    assert!(booted[1].kubeconfig.contains("https://127.0.0.1:1234"));
}

#[tokio::test]
async fn kind_is_missing() {
    let error = Host::new().lacks("kind").error().await;
    assert!(matches!(error, KindError::NotInstalled), "{error}");
}

#[tokio::test]
async fn kind_may_not_be_executed() {
    let host = Host::new();
    fs::set_permissions(host.path("kind"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = host.error().await;
    assert!(matches!(error, KindError::NotStarted { .. }), "{error}");
}

#[tokio::test]
async fn docker_is_missing() {
    let error = Host::new().lacks("docker").error().await;
    assert!(
        matches!(&error, KindError::EngineMissing { engine } if engine == "docker"),
        "{error}"
    );
}

#[tokio::test]
async fn docker_does_not_run() {
    let host = Host::new();
    let words = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
    host.says("docker.fails", words);
    let error = host.error().await;
    assert!(
        matches!(&error, KindError::EngineDown { said, .. } if said == words),
        "{error}"
    );
    assert!(host.calls("kind create").is_empty());
}

#[tokio::test]
async fn an_image_cannot_be_pulled() {
    let host = Host::new();
    host.says("baton-member2.fails", include_str!("kind/pull.txt"));
    let error = host.error().await;
    let KindError::Image { image, said } = &error else {
        panic!("{error}")
    };
    assert_eq!(image, "kindest/node:v9.9.9");
    assert!(said.starts_with("Error response from daemon: "), "{said}");
    assert_eq!(host.deleted(), ALL);
}

#[tokio::test]
async fn a_port_is_taken() {
    let host = Host::new();
    host.says("baton-control.fails", include_str!("kind/port.txt"));
    let error = host.error().await;
    let KindError::PortTaken { cluster, address } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        (cluster.as_str(), address.as_str()),
        ("baton-control", "127.0.0.1:7443")
    );
    assert_eq!(host.deleted(), ALL);
}

#[tokio::test]
async fn a_port_belongs_to_another_container() {
    let host = Host::new();
    host.says(
        "baton-control.fails",
        "Command Output: docker: Error response from daemon: driver failed programming external connectivity: \
         Bind for 0.0.0.0:30080 failed: port is already allocated.\n",
    );
    let error = host.error().await;
    assert!(
        matches!(&error, KindError::PortTaken { address, .. } if address == "0.0.0.0:30080"),
        "{error}"
    );
}

#[tokio::test]
async fn the_engine_has_little_memory() {
    let host = Host::new();
    host.says("memory", "1000000000");
    let error = host.error().await;
    let told = "3 clusters need 1200 MiB of memory at least, and the engine has 953 MiB";
    assert_eq!(error.to_string(), told);
    assert!(host.calls("kind create").is_empty());
}

#[tokio::test]
async fn a_node_runs_out_of_memory() {
    let host = Host::new();
    host.says(
        "baton-member1.fails",
        "ERROR: failed to create cluster: failed to init node with kubeadm: command \"docker exec --privileged \
         baton-member1-control-plane kubeadm init --config=/kind/kubeadm.conf\" failed with error: exit status 137\n",
    );
    let error = host.error().await;
    assert!(
        matches!(&error, KindError::OutOfMemory { cluster, .. } if cluster == "baton-member1"),
        "{error}"
    );
}

#[tokio::test]
async fn the_disk_is_full() {
    let host = Host::new();
    host.says(
        "baton-member1.fails",
        "ERROR: failed to create cluster: write /kind/x: no space left on device\n",
    );
    let error = host.error().await;
    assert!(
        matches!(&error, KindError::OutOfDisk { cluster, .. } if cluster == "baton-member1"),
        "{error}"
    );
}

#[tokio::test]
async fn another_failure_is_told_in_kinds_own_words() {
    let host = Host::new();
    host.says(
        "baton-member1.fails",
        "ERROR: failed to create cluster: the moon is full\n",
    );
    let error = host.error().await;
    assert!(matches!(&error, KindError::Failed { said, .. } if said == "failed to create cluster: the moon is full"));
}

#[tokio::test]
async fn clusters_of_the_names_are_there() {
    let host = Host::new();
    host.says("clusters", "baton-member1\nother\n");
    let error = host.error().await;
    assert!(
        matches!(&error, KindError::Exists { clusters } if clusters == &["baton-member1"]),
        "{error}"
    );
    // They belong to another user.
    assert!(host.calls("kind create").is_empty() && host.deleted().is_empty());
}

#[tokio::test]
async fn reuse_makes_what_is_missing_and_leaves_everything() {
    let host = Host::new();
    host.says("clusters", "baton-control\nbaton-member1\n");
    let options = KindOptions {
        reuse: true,
        ..host.options()
    };
    let clusters = KindClusters::new(options).unwrap();
    assert_eq!(clusters.boot().await.unwrap().len(), 3);
    clusters.remove().await.unwrap();
    let made: Vec<String> = host
        .calls("kind create")
        .iter()
        .map(|call| argument(call, "--name"))
        .collect();
    assert_eq!(made, ["baton-member2"]);
    assert!(host.deleted().is_empty());
}

#[tokio::test]
async fn a_cluster_to_be_reused_cannot_be_used() {
    let host = Host::new();
    host.says("clusters", &ALL.join("\n"));
    host.says(
        "baton-member1.unusable",
        "ERROR: could not locate any control plane nodes\n",
    );
    let options = KindOptions {
        reuse: true,
        ..host.options()
    };
    let error = KindClusters::new(options).unwrap().boot().await.unwrap_err();
    assert!(
        matches!(&error, KindError::NotUsable { cluster, .. } if cluster == "baton-member1"),
        "{error}"
    );
    assert!(host.deleted().is_empty());
}

#[tokio::test]
async fn what_an_interrupt_leaves_half_made_is_removed() {
    let host = Host::new();
    let begun = host.path("baton-member1.hangs");
    assert!(Command::new("mkfifo").arg(&begun).status().unwrap().success());
    let clusters = host.clusters();
    tokio::select! {
        biased;
        booted = clusters.boot() => panic!("{booted:?}"),
        line = tokio::fs::read_to_string(&begun) => assert_eq!(line.unwrap(), "begun\n"),
    }
    clusters.remove().await.unwrap();
    assert_eq!(host.deleted(), ALL);
}

#[tokio::test]
async fn clusters_that_stay_are_named() {
    let host = Host::new();
    host.says(
        "baton-member2.stays",
        "ERROR: failed to delete cluster \"baton-member2\": failed to delete nodes\n",
    );
    let clusters = host.clusters();
    clusters.boot().await.unwrap();
    let error = clusters.remove().await.unwrap_err();
    assert_eq!(error.help(), "remove them with `kind delete clusters baton-member2`");
}

#[tokio::test]
async fn slow_clusters_are_given_up() {
    let host = Host::new();
    let never_read = host.path("baton-member1.hangs");
    assert!(Command::new("mkfifo").arg(never_read).status().unwrap().success());
    let options = KindOptions {
        ready_within: Duration::from_millis(1),
        ..host.options()
    };
    let error = KindClusters::new(options).unwrap().boot().await.unwrap_err();
    assert!(matches!(error, KindError::Slow { .. }), "{error}");
    assert_eq!(host.deleted(), ALL);
}

#[test]
fn names_that_kind_would_refuse_are_refused() {
    for prefix in ["", "Baton", "a b", "-a", "a/b", &"a".repeat(31)] {
        let options = KindOptions {
            prefix: prefix.to_owned(),
            ..Host::new().options()
        };
        let error = KindClusters::new(options).unwrap_err();
        assert!(matches!(error, KindError::Prefix { .. }), "{prefix}");
    }
}
