#!/usr/bin/env bash
# Installs a released Baton: downloads the programs for this machine, checks them against SHA256SUMS, and copies them to a
# folder. Needs bash, curl, tar and sha256sum.
#
#     harness/install.sh [VERSION]    # default: the version of this checkout
#
# BATON_DOWNLOADS  URL of the folder that holds a folder vVERSION for each release (default: `releases/download` of the
#                  `repository` in this checkout's Cargo.toml)
# BATON_BIN        folder for the programs (default: ~/.local/bin)
#
# Exit code 1: nothing was installed, and the message says why. An installed program is replaced only by a checked one.
set -euo pipefail

manifest=$(dirname "$0")/../Cargo.toml
# The value of a key of the workspace's package.
setting() { [ ! -f "$manifest" ] || sed -nE "s|^$1 = \"(.*)\"\$|\1|p" "$manifest" | head -1; }
fail() {
    printf 'error: %s\n' "$1" >&2
    printf '  help: %s\n' "$2" >&2
    exit 1
}
compile='compile it from a checkout: cargo install --locked --path harness/cli'

version=${1:-$(setting version)}
version=${version#v}
[ -n "$version" ] || fail "no version given, and there is no Cargo.toml beside this script" "harness/install.sh 0.2.0"
downloads=${BATON_DOWNLOADS:-}
repository=$(setting repository)
[ -n "$downloads" ] || [ -z "$repository" ] || downloads=$repository/releases/download
[ -n "$downloads" ] || fail "the location of the releases is unknown" \
    "set BATON_DOWNLOADS to the URL of the folder that holds v$version, or $compile"

machine=$(uname -s)-$(uname -m)
case $machine in
Linux-x86_64) target=x86_64-unknown-linux-musl ;;
*) fail "there is no released program for $machine" "$compile" ;;
esac

name=baton-$version-$target
bin=${BATON_BIN:-$HOME/.local/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$name.tar.gz" SHA256SUMS; do
    curl --fail --location --silent --show-error --retry 2 --output "$work/$file" "$downloads/v$version/$file" ||
        fail "$downloads/v$version/$file could not be downloaded" "check the version, or $compile"
done
grep "  $name.tar.gz\$" "$work/SHA256SUMS" >"$work/sum" ||
    fail "SHA256SUMS of v$version does not name $name.tar.gz" "check the release, or $compile"
(cd "$work" && sha256sum --check --quiet --strict sum) ||
    fail "$name.tar.gz differs from its checksum; nothing was installed" "download it again, or $compile"
tar --extract --gzip --file "$work/$name.tar.gz" --directory "$work"

mkdir -p "$bin"
for program in baton baton-controller; do
    # A copy under another name first: a running program cannot be overwritten, but its name can be moved.
    install -m 755 "$work/$name/$program" "$bin/.$program.new"
    mv "$bin/.$program.new" "$bin/$program"
done
echo "installed baton and baton-controller $version in $bin"
case :$PATH: in
*":$bin:"*) ;;
*) echo "note: $bin is not in PATH" ;;
esac
