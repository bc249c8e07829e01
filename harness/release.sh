#!/usr/bin/env bash
# Builds a release into target/release-VERSION: the programs, a container image, the schemas, checksums.
#
#     harness/release.sh                                   # for this machine
#     TARGET=x86_64-unknown-linux-musl harness/release.sh  # static programs (needs the rustup target, and musl-tools)
#     PROGRAMS=target/debug harness/release.sh             # of programs that are built already
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -nE 's/^version = "(.*)"$/\1/p' Cargo.toml | head -1)
target=${TARGET:-$(rustc -vV | sed -n 's/^host: //p')}
programs=${PROGRAMS:-target/$target/dist}
# A larger program is a mistake until its author explains what it contains.
most=$((40 * 1024 * 1024))

[ -n "${PROGRAMS:-}" ] || cargo build --locked --profile dist --target "$target" -p baton -p baton-controller
if [ -z "${PROGRAMS:-}" ] && [ "$(stat -c %s "$programs/baton")" -gt "$most" ]; then
    echo "$programs/baton is larger than 40 MiB" >&2
    exit 1
fi

out=target/release-$version
rm -rf "$out"
mkdir -p "$out"
name=baton-$version-$target
mkdir "$out/$name"
install -m 755 "$programs/baton" "$programs/baton-controller" "$out/$name/"
cp LICENSE CHANGELOG.md "$out/$name/"
tar --create --gzip --file "$out/$name.tar.gz" --directory "$out" --sort=name --owner=0 --group=0 --numeric-owner "$name"
rm -r "${out:?}/$name"

# The schemas under the names that editors refer to: …/releases/download/vVERSION/case.schema.json.
for kind in case target rules; do
    "$programs/baton" schema "$kind" > "$out/$kind.schema.json"
done
harness/image.sh "$out/baton-$version-image.tar" "$version" "$programs/baton" "$programs/baton-controller" > /dev/null
# What has changed, for the notes of the release.
awk -v version="$version" '/^## /{on = index($2, version) == 1 || index($2, "[" version) == 1; next} on' CHANGELOG.md > "$out/notes.md"
(cd "$out" && sha256sum -- *.tar.gz *.tar *.json > SHA256SUMS)
(cd "$out" && ls -l)
