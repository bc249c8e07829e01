#!/usr/bin/env bash
# Writes what is generated from Kubernetes' own Go sources:
#
#   kinds/src/generated/types.txt       the types that clients see, and what the API's documents say of their fields
#   kinds/src/generated/resources.txt   what discovery lists
#   kinds/src/generated/headings.txt    the columns of tables
#   machinery/src/go_values/types.txt   the types that the API server quotes in its errors
#
# Needs a Go toolchain; to be run for every new version of the API that is served.
#
#     harness/apiserver/generate.sh         # the version that is served
#     KUBERNETES=v1.37.0 harness/apiserver/generate.sh
set -euo pipefail

version=${KUBERNETES:-v1.36.2}
folder=$(cd "$(dirname "$0")" && pwd)
command -v go >/dev/null || { echo "error: there is no Go toolchain in PATH" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$folder"/generate/*.go "$work"
cd "$work"
# As in `harness/assets.sh`: the modules of which Kubernetes is made have versions of their own.
published=v0.${version#v1.}
go mod init generate 2>/dev/null
kubernetes=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
go mod edit -require "k8s.io/kubernetes@$version"
sed -nE 's|.*(k8s\.io/[a-z-]+) => \./staging.*|\1|p' "$kubernetes" | while read -r module; do
    go mod edit -replace "$module=$module@$published"
done
go mod tidy 2>/dev/null
go build -o generate .
sources=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)
mkdir -p "$folder/kinds/src/generated"
./generate versioned >"$folder/kinds/src/generated/types.txt"
./generate resources "$sources/api/discovery" >"$folder/kinds/src/generated/resources.txt"
./generate headings >"$folder/kinds/src/generated/headings.txt"
./generate internal >"$folder/machinery/src/go_values/types.txt"
