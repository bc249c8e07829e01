#!/usr/bin/env bash
# Would the cases notice if the controller decided something else? Changes single tokens of `controller/decide`
# (cargo-mutants lists the changes), and runs the whole suite against each controller that comes of it. Unit tests have no say.
#
#     controller/mutants.sh                       # a sample of 60; exit code 1 if one survives that survivors.tsv does not explain
#     SAMPLE=200 SEED=7 controller/mutants.sh     # another sample: the first 200 in the order of the seed
#     ONLY='schedule.rs.*feasible' controller/mutants.sh
#     AGAIN=1 ONLY=queue.rs controller/mutants.sh # judges those again that survived before
#
# A mutant that was judged is not judged again, whatever the sample: the verdicts are in target/mutants/judged.tsv.
set -euo pipefail
cd "$(dirname "$0")/.."

sample=${SAMPLE:-60}
seed=${SEED:-1}
only=${ONLY:-.}
folder=$PWD/target/mutants
tree=$folder/tree
judged=$folder/judged.tsv
explained=controller/survivors.tsv
mkdir -p "$folder"
touch "$judged"

# The changes are made in a working tree of its own, as it was committed.
git worktree prune
[ -d "$tree" ] || git worktree add --quiet --detach "$tree"
git -C "$tree" checkout --quiet --force --detach "$(git rev-parse HEAD)"

# A line for each mutant in the order of the seed: digest, name. The digest is of the change with the lines around it,
# so that it stays when other parts of the file change. Definitions are left out: what clusters get is stored in
# fixtures/crds, and a test compares it with the types. So are `compile`, by which `baton lint` tries scripts, and the
# functions that only put something into words for people: no document fixes the words.
words='fmt|describe|first_line|list|shorten|stopped_because'
rm -rf "$folder/diffs"
mkdir "$folder/diffs"
(cd "$tree" && cargo mutants --list --json --diff --package baton-decide \
    --exclude '**/api/crds.rs' --exclude-re 'schemars::Schema|without_default|compile' \
    --exclude-re " (in|replace) (.*::)?($words)( |\$)") >"$folder/list.json"
order=$(
    jq --raw-output '.[] | [.name, .diff | @base64] | @tsv' "$folder/list.json" |
        while IFS=$'\t' read -r name diff; do
            name=$(base64 -d <<<"$name")
            key=$(base64 -d <<<"$diff" | sed '/^@@/d' | sha256sum | cut -c1-12)
            base64 -d <<<"$diff" >"$folder/diffs/$key"
            printf '%s\t%s\t%s\n' "$(sha256sum <<<"$seed $key" | cut -c1-16)" "$key" "$name"
        done | sort | cut -f2- | grep -E -- "$only" | awk -v sample="$sample" 'NR <= sample'
)

# What the changes do not touch is optimised: it is compiled once, and the cases run three times as fast.
optimised=()
for crate in apikinds apimachinery apiserver cluster core; do
    optimised+=(--config "profile.dev.package.baton-$crate.opt-level=1")
done

verdict_of() { awk -F'\t' -v key="$1" '$1 == key {verdict = $2} END {print verdict}' "$judged"; }

# Runs cases until one fails.
run() {
    timeout --kill-after 10 3600 "$folder/build/debug/baton" run --root "$tree" --fail-fast --timelines "$folder/timelines" "$@" \
        >"$folder/output" 2>&1
}

# The cases that killed others in the same file, latest first: one of them often kills this one too.
likely() { awk -F'\t' -v file="$1" '$2 == "killed" && index($4, file ":") == 1 {print $3}' "$judged" | tac | awk '!seen[$0]++' | head -12; }

judge() {
    local key=$1 name=$2 cases code=0
    if ! (cd "$tree" && cargo build --quiet --package baton --target-dir "$folder/build" "${optimised[@]}") >"$folder/output" 2>&1; then
        echo "unbuildable	-"
        return
    fi
    mapfile -t cases < <(likely "${name%%:*}")
    if [ ${#cases[@]} -gt 0 ]; then run "${cases[@]}" || code=$?; fi
    if [ $code = 0 ]; then run || code=$?; fi
    rm -rf "$folder/timelines"
    case $code in
    0) echo "survives	-" ;;
    124 | 137) echo "never ends	-" ;;
    2) cat "$folder/output" >&2; exit 2 ;;
    *)
        killer=$(sed -n 's/^--- \([^ ]*\) .*/\1/p' "$folder/output" | head -1)
        # Without one it was no case that ended the run.
        if [ -n "$killer" ]; then printf 'killed\t%s\n' "$killer"; else echo "unrunnable	-"; fi
        ;;
    esac
}

while IFS=$'\t' read -r key name; do
    verdict=$(verdict_of "$key")
    if [ -n "$verdict" ] && ! { [ "$verdict" = survives ] && [ -n "${AGAIN:-}" ]; }; then continue; fi
    patch --quiet --strip=0 --directory "$tree" "${name%%:*}" <"$folder/diffs/$key"
    line=$(judge "$key" "$name")
    git -C "$tree" checkout --quiet -- .
    printf '%s\t%s\t%s\n' "$key" "$line" "$name" | tee -a "$judged"
done <<<"$order"

echo
killed=0 survive=0 equivalent=0 unexplained=0
while IFS=$'\t' read -r key name; do
    case $(verdict_of "$key") in
    killed | "never ends") killed=$((killed + 1)) ;;
    survives)
        survive=$((survive + 1))
        why=$(awk -F'\t' -v key="$key" '$1 == key {print $2}' "$explained")
        case $why in
        equivalent) equivalent=$((equivalent + 1)) ;;
        "") unexplained=$((unexplained + 1)) && printf 'survives: %s %s\n' "$key" "$name" ;;
        esac
        ;;
    esac
done <<<"$order"
changing=$((killed + survive - equivalent))
echo "$killed of $changing that change what is seen are killed; $equivalent equivalent; $unexplained survive without explanation"
[ $unexplained = 0 ]
