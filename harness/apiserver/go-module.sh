# shellcheck shell=bash
# For scripts that build something of Kubernetes' own Go sources: a Go module that may import k8s.io/kubernetes.

# Makes the present folder a module NAME that requires Kubernetes VERSION, such as v1.36.2.
#
# The modules that Kubernetes is made of are published with the minor version in place of the major one. In its own go.mod
# they point to folders of its repository, which a build from outside must point back.
kubernetes_module() {
    local name=$1 version=$2 published=v0.${2#v1.} sources
    go mod init "$name" 2>/dev/null
    sources=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
    go mod edit -require "k8s.io/kubernetes@$version"
    sed -nE 's|.*(k8s\.io/[a-z-]+) => \./staging.*|\1|p' "$sources" | while read -r module; do
        go mod edit -replace "$module=$module@$published"
    done
}
