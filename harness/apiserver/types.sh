#!/usr/bin/env bash
# Writes `src/builtin/shape/types.txt`: what the fields of the API's Go types are called, how they are numbered and when
# they are left out. Needs a Go toolchain; to be run for every new version of the API that is served.
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
published=v0.${version#v1.}
go mod init types 2>/dev/null
for module in api apiextensions-apiserver apimachinery client-go kube-aggregator; do
    go mod edit -require "k8s.io/$module@$published"
done
go mod tidy 2>/dev/null
go run . >"$folder/src/builtin/shape/types.txt"
