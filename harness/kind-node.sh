#!/usr/bin/env bash
# Makes a node image for `baton run --backend kind` where no image can be pulled, from Debian's packages and Go modules
# alone: a real kubelet, kubeadm, containerd and runc. Whoever reaches a registry does not need this: kind pulls
# kindest/node.
#
#     harness/kind-node.sh [ASSETS]               # as root, with docker (or ENGINE), debootstrap and Go
#     baton run --backend kind --image baton-node:v1.36.2
#
# ASSETS is a folder for the programs (default: target/assets); if all are there, none is built. Into the node
# go the control plane's images, and stand-ins for the images that cases name: a program that waits until it is told to
# stop, and busybox. There is no CoreDNS and no systemd, and pods reach each other on one node only.
#
# Where an engine may not give CAP_SYS_RESOURCE away, as in some virtual machines, it refuses `--privileged`; a runtime
# that leaves it out of the container's specification helps (`dockerd --default-runtime`), and the node does without.
# As with any kind node, the kubelet sets vm.overcommit_memory, kernel.panic and kernel.panic_on_oops of the machine.
set -euo pipefail

version=${KUBERNETES:-$(cat "$(dirname "$0")/apiserver/kubernetes-version")}
engine=${ENGINE:-docker}
suite=${SUITE:-bookworm}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:-$here/../target/assets}"
assets=$(cd "${1:-$here/../target/assets}" && pwd)
image=baton-node:$version

fail() { echo "error: $1" >&2; echo "help: $2" >&2; exit 2; }
[ "$(id -u)" = 0 ] || fail "debootstrap needs root" "run it with sudo"
for program in "$engine" debootstrap go; do
    command -v "$program" >/dev/null || fail "\`$program\` is not in PATH" "install its package"
done

control=(kube-apiserver kube-controller-manager kube-scheduler kube-proxy etcd)
node=(kubelet kubeadm kubectl)
for program in "${control[@]}" "${node[@]}"; do
    [ -x "$assets/$program" ] && continue
    ALSO="kubelet kubeadm kube-proxy" KUBERNETES=$version "$here/assets.sh" "$assets"
    break
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
packages=busybox-static,ca-certificates,conntrack,containerd,containernetworking-plugins,ethtool,iproute2,iptables,kmod,mount,procps,runc,socat
debootstrap --variant=minbase --include="$packages" "$suite" "$root" >"$work/log" || { tail "$work/log" >&2; exit 1; }
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/*

# What waits until it is told to stop, and lets nobody wait for it: the pause container and a workload in one.
mkdir "$work/waits"
cat >"$work/waits/main.go" <<'EOF'
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	for got := range signals {
		if got != syscall.SIGCHLD {
			return
		}
		for {
			if pid, _ := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 {
				break
			}
		}
	}
}
EOF
(cd "$work/waits" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$work/waits/waits" main.go)

# One image for all programs of the control plane, with iptables for kube-proxy, and one for workloads.
skeleton() {
    mkdir -p "$1"/{etc,tmp,usr/bin,usr/lib,usr/lib64,usr/sbin,usr/local/bin}
    for link in bin lib lib64 sbin; do ln -s "usr/$link" "$1/$link"; done
    chmod 1777 "$1/tmp"
    cp "$root/usr/bin/busybox" "$1/usr/bin/"
    for applet in sh sleep cat echo true false ls ps; do ln -s busybox "$1/usr/bin/$applet"; done
}
skeleton "$work/control"
for program in "${control[@]}"; do cp "$assets/$program" "$work/control/usr/local/bin/"; done
tools=(/usr/sbin/xtables-nft-multi /usr/sbin/xtables-legacy-multi /usr/sbin/conntrack)
chroot "$root" ldd "${tools[@]}" | grep -o '/[^ :]*' | sort -u | while read -r file; do
    mkdir -p "$work/control${file%/*}"
    [ -e "$work/control$file" ] || cp -L "$root$file" "$work/control$file"
done
for folder in "$root"/usr/lib/*-linux-gnu/xtables; do cp -a "$folder" "$work/control${folder#"$root"}"; done
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    ln -s xtables-nft-multi "$work/control/usr/sbin/$name"
done
skeleton "$work/workload"
cp "$work/waits/waits" "$work/workload/usr/local/bin/"

path='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
from() { tar -C "$1" -c . | "$engine" import --change "$path" --change "$2" - "$3" >/dev/null; }
from "$work/control" 'CMD ["true"]' baton-node-control
from "$work/workload" 'ENTRYPOINT ["/usr/local/bin/waits"]' baton-node-workload
names=()
also() { "$engine" tag "$1" "$2"; names+=("$2"); }
for program in kube-apiserver kube-controller-manager kube-scheduler kube-proxy; do
    also baton-node-control "registry.k8s.io/$program:$version"
done
while read -r name; do
    case $name in
        */etcd:*) also baton-node-control "$name" ;;
        */pause:*) pause=$name; also baton-node-workload "$name" ;;
    esac
done < <("$assets/kubeadm" config images list --kubernetes-version "$version" 2>/dev/null)
while read -r name; do also baton-node-workload "$name"; done < <(
    grep -rhoE '^ *(- )?image: *"?[a-z0-9./-]+:[a-z0-9.-]+' "$here/../cases" "$here/../fixtures/workloads" | grep -oE '[a-z0-9./-]+:[a-z0-9.-]+$' | sort -u
)
mkdir -p "$root/kind/manifests"
"$engine" save -o "$root/kind/images.tar" "${names[@]}"
"$engine" rmi "${names[@]}" baton-node-control baton-node-workload >/dev/null

# What kind looks for in a node.
for program in "${node[@]}"; do cp "$assets/$program" "$root/usr/local/bin/"; done
mv "$root/usr/local/bin/kubeadm" "$root/kind/kubeadm"
echo "$version" >"$root/kind/version"
echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: cni-is-in-the-node, namespace: kube-system}}' >"$root/kind/manifests/default-cni.yaml"
cat >"$root/kind/manifests/default-storage.yaml" <<'EOF'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/host-path
EOF

mkdir -p "$root/etc/cni/net.d" "$root/etc/containerd" "$root/var/lib/kubelet"
cat >"$root/etc/cni/net.d/10-bridge.conflist" <<'EOF'
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
cat >"$root/etc/containerd/config.toml" <<EOF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause"
  restrict_oom_score_adj = false
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    discard_unpacked_layers = true
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
EOF

# kubeadm as kind calls it. kind takes systemd for granted, whose cgroups this node has not.
cat >"$root/usr/local/bin/kubeadm" <<'EOF'
#!/bin/bash
set -e
until [ -e /run/images.there ]; do sleep 0.2; done
more='cgroupDriver: cgroupfs'
[ -e /sys/fs/cgroup/cgroup.controllers ] || more="$more\nfailCgroupV1: false"
sed -i -e "s/^cgroupDriver: .*/$more/" -e '0,/^\( *\)- "\?preflight"\?$/s//&\n\1- addon\/coredns/' /kind/kubeadm.conf
exec /kind/kubeadm "$@"
EOF

# As much of systemctl as kubeadm asks for: the kubelet's.
cat >"$root/usr/local/bin/systemctl" <<'EOF'
#!/bin/bash
case "$*" in
    "start kubelet"*) touch /run/kubelet.wanted ;;
    "restart kubelet"*) touch /run/kubelet.wanted; pkill -x kubelet || true ;;
    "stop kubelet"*) rm -f /run/kubelet.wanted; pkill -x kubelet || true ;;
    "is-active kubelet"* | "is-active containerd"*) pgrep -x "${2%.service}" >/dev/null ;;
esac
EOF

cat >"$root/usr/local/bin/node" <<'EOF'
#!/bin/bash
# The first process of a node: prepares the cgroups that the kubelet is told to use, keeps containerd and the kubelet.
set -e
mount --make-rshared /
tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
groups=/sys/fs/cgroup
if [ -e $groups/cgroup.controllers ]; then
    mkdir -p $groups/init $groups/kubelet
    while read -r process; do echo "$process" >$groups/init/cgroup.procs || true; done <$groups/cgroup.procs
    sed 's/\(^\| \)/ +/g' $groups/cgroup.controllers >$groups/cgroup.subtree_control
else
    for group in $groups/*/; do
        mkdir -p "$group/kubelet"
        for file in cpuset.cpus cpuset.mems; do [ ! -e "$group$file" ] || cat "$group$file" >"$group/kubelet/$file"; done
    done
fi
# Without CAP_SYS_RESOURCE no process can be made less likely to be killed than it was.
bounds=$((16#$(sed -n 's/^CapBnd:\s*//p' /proc/self/status)))
((bounds >> 24 & 1)) || sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml

keep() { while :; do [ ! -e "$1" ] || "${@:2}" || true; sleep 0.5; done; }
run_kubelet() (
    . /var/lib/kubelet/kubeadm-flags.env
    # shellcheck disable=SC2086
    exec kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
        --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS
)
mkdir -p /var/log
keep / containerd >>/var/log/containerd.log 2>&1 </dev/null &
(
    until ctr version; do sleep 0.2; done
    ctr --namespace k8s.io images import /kind/images.tar && touch /run/images.there
) >>/var/log/images.log 2>&1 </dev/null &
keep /run/kubelet.wanted run_kubelet >>/var/log/kubelet.log 2>&1 </dev/null &
trap 'exit 0' TERM INT RTMIN+3
echo "Reached target Multi-User System."
while :; do sleep 3600 & wait $!; done
EOF
chmod 755 "$root"/usr/local/bin/*
rm -f "$root/etc/resolv.conf" "$root/etc/hostname"

from "$root" 'ENTRYPOINT ["/usr/local/bin/node"]' "$image"
echo "the image is $image:"
echo "    cargo run -p baton -- run --backend kind --image $image --filter 'proposal/*'"
