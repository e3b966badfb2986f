#!/usr/bin/env bash
# Starts a tritond on a free port of this machine, and waits until it offers every Triton.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/apart.bash"

data="${GATE_DATA:-$here/data}"
refuse_inside data "$data"
python=("$here/environment/bin/python" -I)
port=$("${python[@]}" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
TRITOND_TOOLCHAINS=$(paste -s -d : "$here/toolchains") \
    nohup "${python[@]}" "$here/environment/bin/tritond" up --port "$port" --data "$data" \
    > "$here/tritond.log" 2>&1 &
echo $! > "$here/tritond.pid"
echo "http://127.0.0.1:$port" > "$here/url"

tritons=$(($(wc -l < "$here/toolchains") + 1))
for _ in $(seq 300); do
    offered=$("${python[@]}" "$here/environment/bin/tritonc" --url "$(cat "$here/url")" targets --json 2> /dev/null |
        "${python[@]}" -c 'import json, sys; print(len(json.load(sys.stdin)["toolchains"]))' 2> /dev/null || echo 0)
    [ "$offered" -ge "$tritons" ] && exit
    kill -0 "$(cat "$here/tritond.pid")" 2> /dev/null || break
    sleep 1
done
echo "::error::tritond did not offer $tritons Tritons within five minutes; its log:"
stop_commands
cat "$here/tritond.log"
resume_commands
exit 2
