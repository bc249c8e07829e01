#!/usr/bin/env bash
# Writes what the API's Go types are: `kinds/src/codec/types.txt`, how the fields that clients see are called and
# numbered and when they are left out, and `machinery/src/go_values/types.txt`, the types that the API server quotes in its
# errors. Needs a Go toolchain; to be run for every new version of the API that is served.
#
#     harness/apiserver/types.sh         # the version that is served
#     KUBERNETES=v1.37.0 harness/apiserver/types.sh
set -euo pipefail

version=${KUBERNETES:-v1.36.2}
folder=$(cd "$(dirname "$0")" && pwd)
command -v go >/dev/null || { echo "error: there is no Go toolchain in PATH" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$folder/types/main.go" "$work"
cd "$work"
# As in `harness/assets.sh`: the modules of which Kubernetes is made have versions of their own.
published=v0.${version#v1.}
go mod init types 2>/dev/null
kubernetes=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
go mod edit -require "k8s.io/kubernetes@$version"
sed -nE 's|.*(k8s\.io/[a-z-]+) => \./staging.*|\1|p' "$kubernetes" | while read -r module; do
    go mod edit -replace "$module=$module@$published"
done
go mod tidy 2>/dev/null
go build -o types .
./types versioned >"$folder/kinds/src/codec/types.txt"
./types internal >"$folder/machinery/src/go_values/types.txt"
