#!/usr/bin/env bash
# Collects the programs of a control plane for `baton run --backend envtest`, with a Go toolchain and nothing else:
# kube-apiserver, kube-controller-manager, kube-scheduler and kubectl are built from Kubernetes' own Go modules, and
# etcd in the version that they name.
#
#     harness/assets.sh [DIR]            # default: target/assets
#     KUBERNETES=v1.36.2 ALSO="kubelet kubeadm" harness/assets.sh
#
# Whoever has setup-envtest does not need this: the folder that it prints serves as well.
set -euo pipefail

version=${KUBERNETES:-$(cat "$(dirname "$0")/apiserver/kubernetes-version")}
folder=${1:-$(dirname "$0")/../target/assets}
# shellcheck disable=SC2206 # several words
programs=(kube-apiserver kube-controller-manager kube-scheduler kubectl ${ALSO:-})
etcd=go.etcd.io/etcd/server/v3

# shellcheck source=harness/apiserver/go-module.sh
source "$(dirname "$0")/apiserver/go-module.sh"

fail() { echo "error: $1" >&2; echo "help: $2" >&2; exit 2; }
case $version in v1.*.*) ;; *) fail "KUBERNETES=$version is no release of Kubernetes" "write it like v1.MINOR.PATCH" ;; esac
command -v go >/dev/null || fail "there is no Go toolchain in PATH" "install the package \`golang\`, or use setup-envtest on a machine that has it"

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

kubernetes_module assets "$version"
{
    printf '//go:build tools\n\npackage tools\n\nimport (\n'
    printf '\t_ "k8s.io/kubernetes/cmd/%s"\n' "${programs[@]}"
    printf '\t_ "%s"\n' "$etcd"
    printf ')\n'
} >tools.go
go mod tidy 2>&1 | tail -n 5 >&2

# Without these, the programs call themselves v0.0.0.
minor=${version#v1.}
about=k8s.io/component-base/version
flags="-s -w -X $about.gitVersion=$version -X $about.gitMajor=1 -X $about.gitMinor=${minor%%.*} -X k8s.io/client-go/pkg/version.gitVersion=$version"
for program in "${programs[@]}"; do
    echo "building $program $version"
    CGO_ENABLED=0 go build -trimpath -ldflags "$flags" -o "$folder/$program" "k8s.io/kubernetes/cmd/$program"
done
echo "building etcd $(go list -m -f '{{.Version}}' "$etcd")"
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$folder/etcd" "$etcd"

echo "the assets are in $folder:"
echo "    KUBEBUILDER_ASSETS=$folder cargo run -p baton -- run --backend envtest"
