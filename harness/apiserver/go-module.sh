# shellcheck shell=bash
# For scripts that build programs from Kubernetes' own Go sources: creates a Go module that may import k8s.io/kubernetes.

# Makes the current folder a module NAME that requires Kubernetes VERSION, such as v1.36.2.
#
# Kubernetes publishes its modules with the minor version in place of the major one. Its own go.mod replaces them with
# folders of its repository; a build from outside must undo that.
kubernetes_module() {
    local name=$1 version=$2 published=v0.${2#v1.} sources
    go mod init "$name" 2>/dev/null
    sources=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
    go mod edit -require "k8s.io/kubernetes@$version"
    sed -nE 's|.*(k8s\.io/[a-z-]+) => \./staging.*|\1|p' "$sources" | while read -r module; do
        go mod edit -replace "$module=$module@$published"
    done
}
