#!/usr/bin/env bash
# Installs tritond and tritonc from the action's own checkout, and the further Tritons, each into its
# own environment. With GATE_URL only the client is needed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/apart.bash"

for version in ${GATE_TRITONS//,/ }; do
    if [[ ! $version =~ ^[0-9][0-9A-Za-z.+]*$ ]]; then
        echo "::error::tritons: '$version' is not a version; write \"3.6.0 3.7.1\""
        exit 2
    fi
done
python=$GATE_PYTHON
[[ $python == */* ]] || python=$(type -P -- "$python") || {
    echo "::error::python: there is no $GATE_PYTHON here; actions/setup-python installs one"
    exit 2
}
refuse_inside python "$python"
refuse_inside python "$(dirname -- "$python")" # also for a link that leads out of the checkout

"$python" -I -m venv "$here/environment"
install=("$here/environment/bin/python" -I -m pip --disable-pip-version-check install --quiet)
locks="$GITHUB_ACTION_PATH/requirements"
ours=(--no-deps --no-build-isolation "$GITHUB_ACTION_PATH/client")
"${install[@]}" --require-hashes -r "$locks/client.txt" -r "$locks/build.txt"
if [ -n "$GATE_URL" ]; then
    "${install[@]}" "${ours[@]}"
    exit
fi
"${install[@]}" --require-hashes -r "$locks/service.txt" -r "$locks/worker.txt"
"${install[@]}" "${ours[@]}" "$GITHUB_ACTION_PATH"

: > "$here/toolchains"
for version in ${GATE_TRITONS//,/ }; do
    "$python" -I -m venv "$here/triton-$version"
    "$here/triton-$version/bin/python" -I -m pip --disable-pip-version-check install --quiet "triton==$version"
    echo "$here/triton-$version/bin/python" >> "$here/toolchains"
done
