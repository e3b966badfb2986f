# Every step sources this first, so that it runs nothing of the checkout: an attacker may have written
# that. The working directory is an empty folder of ours. The job's environment chooses no Python
# module and no index of packages, and holds no API key. Every Python gets -I besides.
here="$RUNNER_TEMP/tritonc-gate"
workspace=$(realpath -- "$GITHUB_WORKSPACE")
mkdir -p "$here/empty"
cd "$here/empty" || exit 2
unset TRITOND_API_KEY "${!PYTHON@}" "${!PIP_@}"

# refuse_inside INPUT PATH: ends the step where a path is in the checkout. A relative one is.
refuse_inside() {
    local path="$2"
    [[ $path == /* ]] || path="$workspace/$path"
    path=$(realpath -m -- "$path")
    if [[ $2 != /* || $path/ == "$workspace"/* ]]; then
        echo "::error::$1: $2 is in the checkout, where a pull request chooses what it is; name a path outside, from /"
        exit 2
    fi
}

# Between these two, what is shown is no command to the runner, whatever it begins with. No Python
# draws the token: this must hold whatever Python there is.
stop_commands() {
    commands_token=$(od -A n -N 16 -t x1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$commands_token"
}
resume_commands() {
    printf '\n::%s::\n' "$commands_token" # at the start of a line, however the text before it ends
}
