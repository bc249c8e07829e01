#!/usr/bin/env bash
# Generates files from Kubernetes' own Go sources:
#
#   kinds/src/generated/types.txt       the types that clients see, with the facts about their fields in the API's documentation
#   kinds/src/generated/resources.txt   the resources that discovery lists
#   kinds/src/generated/headings.txt    the columns of tables
#   machinery/src/go_values/types.txt   the types that the API server quotes in its errors
#
# Needs a Go toolchain. Run it for every new version of the API.
#
#     harness/apiserver/generate.sh         # the served version
#     KUBERNETES=v1.37.0 harness/apiserver/generate.sh
set -euo pipefail

version=${KUBERNETES:-$(cat "$(dirname "$0")/kubernetes-version")}
folder=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=harness/apiserver/go-module.sh
source "$folder/go-module.sh"
command -v go >/dev/null || { echo "error: there is no Go toolchain in PATH" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$folder"/generate/*.go "$work"
cd "$work"
kubernetes_module generate "$version"
go mod tidy 2>/dev/null
go build -o generate .
sources=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)
mkdir -p "$folder/kinds/src/generated"
./generate versioned >"$folder/kinds/src/generated/types.txt"
./generate resources "$sources/api/discovery" >"$folder/kinds/src/generated/resources.txt"
./generate headings >"$folder/kinds/src/generated/headings.txt"
./generate internal >"$folder/machinery/src/go_values/types.txt"
