#!/usr/bin/env bash
# Puts programs into a container image without pulling anything: an OCI archive with one layer on an empty base.
#
#     harness/image.sh OUTPUT.tar VERSION PROGRAM…
#
# The first program is the entrypoint. A static program needs nothing else; of one that is linked dynamically, the libraries
# come along. `docker load`, `podman load` and `skopeo copy oci-archive:OUTPUT.tar …` take the archive.
set -euo pipefail

output=$(realpath -m "$1") version=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root blobs=$work/image/blobs/sha256
mkdir -p "$root/usr/local/bin" "$root/etc" "$root/home/baton" "$blobs"
install -d -m 1777 "$root/tmp"
echo 'baton:x:10001:10001::/home/baton:/' > "$root/etc/passwd"

for program in "$@"; do
    install -m 755 "$program" "$root/usr/local/bin/"
    # The libraries that it is linked with, the loader among them; none of a static program.
    libraries=$(ldd "$program" 2>/dev/null | grep -o '/[^ ]*' || true)
    for library in $libraries; do
        install -D -m 755 "$(realpath "$library")" "$root$library"
    done
done

# The same input gives the same image: times, owners and order are fixed.
tar --create --file "$work/layer" --directory "$root" --sort=name --mtime=@0 --numeric-owner \
    --owner=0 --group=0 --exclude=./home/baton .
tar --append --file "$work/layer" --directory "$root" --mtime=@0 --numeric-owner --owner=10001 --group=10001 ./home/baton
digest() { sha256sum "$1" | cut -d' ' -f1; }
diff_id=$(digest "$work/layer")
gzip --no-name "$work/layer"

# Adds a blob, and describes it.
blob() {
    local sum size
    sum=$(digest "$2") size=$(stat -c %s "$2")
    cp "$2" "$blobs/$sum"
    printf '{"mediaType":"%s","digest":"sha256:%s","size":%s}' "$1" "$sum" "$size"
}

case $(uname -m) in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) architecture=$(uname -m) ;;
esac
layer=$(blob application/vnd.oci.image.layer.v1.tar+gzip "$work/layer.gz")
cat > "$work/config" <<JSON
{"architecture":"$architecture","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:$diff_id"]},"config":{"User":"10001:10001","WorkingDir":"/home/baton","Env":["PATH=/usr/local/bin","HOME=/home/baton"],"Entrypoint":["/usr/local/bin/$(basename "$1")"],"Cmd":["run"],"Labels":{"org.opencontainers.image.title":"baton","org.opencontainers.image.version":"$version","org.opencontainers.image.licenses":"Apache-2.0"}}}
JSON
config=$(blob application/vnd.oci.image.config.v1+json "$work/config")
# For engines that know no OCI archives.
path() { echo "blobs/sha256/$(digest "$1")"; }
echo "[{\"Config\":\"$(path "$work/config")\",\"RepoTags\":[\"baton:$version\"],\"Layers\":[\"$(path "$work/layer.gz")\"]}]" \
    > "$work/image/manifest.json"
echo "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"config\":$config,\"layers\":[$layer]}" > "$work/manifest"
manifest=$(blob application/vnd.oci.image.manifest.v1+json "$work/manifest")
name="\"annotations\":{\"org.opencontainers.image.ref.name\":\"$version\"}"
echo "{\"schemaVersion\":2,\"manifests\":[${manifest%\}},$name}]}" > "$work/image/index.json"
echo '{"imageLayoutVersion":"1.0.0"}' > "$work/image/oci-layout"
tar --create --file "$output" --directory "$work/image" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner .
echo "$output"
