#!/usr/bin/env bash
# Runs the suite and leaves the reports where the job finds them. The exit code is that of `baton run`.
set -uo pipefail
mkdir -p "$OUTPUT"
arguments=(--timelines "$OUTPUT/timelines")
for report in yaml=report.yaml junit=junit.xml html=report.html summary=summary.md; do
    # What an earlier run left says nothing about this one.
    rm -f "$OUTPUT/${report#*=}"
    arguments+=(--report "${report%%=*}=$OUTPUT/${report#*=}")
done
[ -z "$TARGET" ] || arguments+=(--target "$TARGET")
# Both are lists of words.
read -ra cases <<<"$CASES"
read -ra more <<<"$ARGUMENTS"
"$RUNNER_TEMP/baton/bin/baton" run "${arguments[@]}" "${more[@]}" "${cases[@]}"
code=$?
[ ! -f "$OUTPUT/summary.md" ] || cat "$OUTPUT/summary.md" >>"$GITHUB_STEP_SUMMARY"
# What has not been written is no output.
for output in report=report.yaml junit=junit.xml page=report.html; do
    [ ! -f "$OUTPUT/${output#*=}" ] || echo "${output%%=*}=$OUTPUT/${output#*=}" >>"$GITHUB_OUTPUT"
done
case $code in
0) ;;
1) echo "::error title=Baton::the implementation deviates; the job's summary names the requirements" ;;
2) echo "::error title=Baton::a case, the target file or an option is wrong" ;;
*) echo "::error title=Baton::the environment is broken; nothing is said about the implementation" ;;
esac
exit "$code"
