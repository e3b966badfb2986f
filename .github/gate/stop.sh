#!/usr/bin/env bash
# Stops the tritond that start.sh started, and shows its log where something went wrong in it.
set -uo pipefail

here="$RUNNER_TEMP/tritonc-gate"
if [ -f "$here/tritond.pid" ]; then
    kill "$(cat "$here/tritond.pid")" 2> /dev/null
    for _ in $(seq 100); do
        kill -0 "$(cat "$here/tritond.pid")" 2> /dev/null || break
        sleep 0.1
    done
    grep -E "ERROR|Traceback" "$here/tritond.log" || true
fi
