#!/usr/bin/env bash
# Stops the tritond that start.sh started, and shows the errors in its log.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/apart.bash"

if [ -f "$here/tritond.pid" ]; then
    kill "$(cat "$here/tritond.pid")" 2> /dev/null
    for _ in $(seq 100); do
        kill -0 "$(cat "$here/tritond.pid")" 2> /dev/null || break
        sleep 0.1
    done
    stop_commands
    grep -E "ERROR|Traceback" "$here/tritond.log" || true
    resume_commands
fi
