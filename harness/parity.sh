#!/usr/bin/env bash
# Runs the whole suite twice and compares: on clusters in the process with the built-in controller, where time is
# virtual; and with the reference controller's own program on clusters of `baton up`, through kubeconfigs, over HTTPS
# and in real time. The second run is done in shards, each on clusters of its own.
#
#     harness/parity.sh [DIR]            # reports and timelines; default: target/parity
#     SHARDS=12 MAX_CASE_TIME=15m TIMEOUT_FACTOR=4 harness/parity.sh
#     CASES="cut-off delayed" BATON=target/debug/baton harness/parity.sh
#
# Ends with 1 if a case of the second run does not conform though it is supported.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-target/parity}
shards=${SHARDS:-3}
members=4
options=(--yes-these-are-test-clusters --target fixtures/targets/reference.yaml
    --max-case-time "${MAX_CASE_TIME:-2m}" --timeout-factor "${TIMEOUT_FACTOR:-4}")

read -ra cases <<<"${CASES:-}"
if [ -n "${BATON:-}" ]; then
    baton=$BATON
else
    cargo build --quiet -p baton -p baton-controller
    target=$(cargo metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    baton=$target/debug/baton
fi
mkdir -p "$folder"
rm -rf "$folder"/*.yaml "$folder"/timelines-*

shard() {
    local number=$1 up line kubeconfig result=0
    exec {output}< <(exec "$baton" up --bare --members "$members" --json)
    up=$!
    # One line, once all of them serve.
    read -r line <&"$output"
    kubeconfig=$(sed -n 's/.*"kubeconfig":"\([^"]*\)"}$/\1/p' <<<"$line")
    local contexts=(--control control)
    for member in $(seq "$members"); do contexts+=(--member "member$member"); done
    "$baton" run "${cases[@]}" --backend kubeconfig --kubeconfig "$kubeconfig" "${contexts[@]}" "${options[@]}" \
        --shard "$number/$shards" --timelines "$folder/timelines-$number" \
        --report "yaml=$folder/shard-$number.yaml" >"$folder/shard-$number.log" 2>&1 || result=$?
    kill "$up"
    return "$result"
}

running=()
for number in $(seq "$shards"); do
    shard "$number" &
    running+=($!)
done
result=0
for pid in "${running[@]}"; do wait "$pid" || result=$?; done

"$baton" run "${cases[@]}" --report "yaml=$folder/in-process.yaml" >"$folder/in-process.log"
"$baton" report merge "$folder"/shard-*.yaml -o "$folder/over-https.yaml"
"$baton" report compare "$folder/in-process.yaml" "$folder/over-https.yaml" || true
grep -h " conform" "$folder"/shard-*.log "$folder/in-process.log" | grep "^[0-9]* conform"
exit "$result"
