#!/usr/bin/env bash
# Runs the gate and keeps its reports. A later step sets the outcome, so that others run before it.
set -uo pipefail
key="${GATE_API_KEY:-${TRITOND_API_KEY:-}}"
unset GATE_API_KEY
source "$(dirname "${BASH_SOURCE[0]}")/apart.bash"

read -r -d "" -a arguments <<< "$GATE_ARGUMENTS" || true  # on one line or several
url=$GATE_URL
[ -n "$url" ] || { url=$(cat "$here/url"); key=""; }  # a tritond that this action started has no keys
[[ $GATE_FILE == /* ]] || GATE_FILE="$GATE_DIRECTORY/$GATE_FILE"
rm -f "$here/gate.md" "$here/gate.annotations"  # from an earlier use in this job
stop_commands  # the output contains the user's names and lines
TRITOND_API_KEY="$key" "$here/environment/bin/python" -I "$here/environment/bin/tritonc" --url "$url" \
    gate "$GATE_FILE" --checkout "$workspace" \
    --markdown "$here/gate.md" --sarif "$here/gate.sarif" --github "$here/gate.annotations" \
    ${arguments[@]+"${arguments[@]}"}
code=$?
resume_commands
# one command a line, which tritonc has escaped; code scanning shows the same where it gets them
if [ "${GATE_UPLOAD_SARIF:-}" != true ] && [ -f "$here/gate.annotations" ]; then
    cat "$here/gate.annotations"
fi

if [ -f "$here/gate.md" ]; then
    cat "$here/gate.md" >> "$GITHUB_STEP_SUMMARY"
    for report in markdown=gate.md sarif=gate.sarif; do
        echo "${report%%=*}=$here/${report#*=}" >> "$GITHUB_OUTPUT"
    done
else
    code=2
    echo "tritonc gate: nothing was judged; see the log for the reason" >> "$GITHUB_STEP_SUMMARY"
fi
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
