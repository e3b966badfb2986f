#!/usr/bin/env bash
# Runs the gate, keeps its reports, and leaves the outcome to the last step: others come before it.
set -uo pipefail

here="$RUNNER_TEMP/tritonc-gate"
read -r -d "" -a arguments <<< "$GATE_ARGUMENTS" || true  # on one line or several
rm -f "$here/gate.md"  # of an earlier use in this job
# names and lines of the user's are shown; what they begin with is no command to the runner until then
until_then="$("$here/environment/bin/python" -c 'import secrets; print(secrets.token_hex(16))')"
echo "::stop-commands::$until_then"
"$here/environment/bin/tritonc" --url "${GATE_URL:-$(cat "$here/url")}" gate "$GATE_FILE" \
    --markdown "$here/gate.md" --junit "$here/gate.xml" --sarif "$here/gate.sarif" \
    --annotations "$here/annotations" ${arguments[@]+"${arguments[@]}"}
code=$?
echo "::$until_then::"

if [ -f "$here/gate.md" ]; then
    cat "$here/annotations"
    cat "$here/gate.md" >> "$GITHUB_STEP_SUMMARY"
    for report in markdown=gate.md junit=gate.xml sarif=gate.sarif; do
        echo "${report%%=*}=$here/${report#*=}" >> "$GITHUB_OUTPUT"
    done
else
    code=2
    echo "tritonc gate: nothing was judged; the log says why" >> "$GITHUB_STEP_SUMMARY"
fi
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
