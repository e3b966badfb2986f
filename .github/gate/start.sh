#!/usr/bin/env bash
# Starts a tritond on a free port of this machine, and waits until every Triton is offered.
set -euo pipefail

here="$RUNNER_TEMP/tritonc-gate"
python="$here/environment/bin/python"
port=$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
TRITOND_TOOLCHAINS=$(paste -s -d : "$here/toolchains") \
    nohup "$here/environment/bin/tritond" up --port "$port" --data "${GATE_DATA:-$here/data}" \
    > "$here/tritond.log" 2>&1 &
echo $! > "$here/tritond.pid"
echo "http://127.0.0.1:$port" > "$here/url"

tritons=$(($(wc -l < "$here/toolchains") + 1))
for _ in $(seq 300); do
    offered=$("$here/environment/bin/tritonc" --url "$(cat "$here/url")" targets 2> /dev/null |
        "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["toolchains"]))' 2> /dev/null || echo 0)
    [ "$offered" -ge "$tritons" ] && exit
    kill -0 "$(cat "$here/tritond.pid")" 2> /dev/null || break
    sleep 1
done
echo "::error::tritond did not offer $tritons Tritons within five minutes; its log:"
cat "$here/tritond.log"
exit 2
