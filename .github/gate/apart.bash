# Every step sources this first, so that it executes nothing of the checkout, which an attacker may have
# written. The working directory is an empty folder. The job's environment cannot select Python modules
# or package indexes, and holds no API key and no other secret of the job: only what is listed below
# is handed on. Every Python also gets -I.
here="$RUNNER_TEMP/tritonc-gate"
workspace=$(realpath -- "$GITHUB_WORKSPACE")
mkdir -p "$here/empty"
cd "$here/empty" || exit 2
for name in $(compgen -e); do
    case $name in
        PATH | HOME | USER | LANG | LC_* | TZ | TMPDIR | XDG_* | LD_LIBRARY_PATH | CUDA_* | NVIDIA_*) ;;
        *_PROXY | *_proxy | SSL_CERT_* | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE) ;;
        RUNNER_* | GITHUB_WORKSPACE | GITHUB_ACTION_PATH | GITHUB_OUTPUT | GITHUB_STEP_SUMMARY) ;;
        GATE_* | TRITOND_*) ;;
        *) unset "$name" 2> /dev/null || true ;; # some of bash's own are read-only
    esac
done
unset TRITOND_API_KEY

# refuse_inside INPUT PATH: ends the step if a path is in the checkout. Relative paths are.
refuse_inside() {
    local path="$2"
    [[ $path == /* ]] || path="$workspace/$path"
    path=$(realpath -m -- "$path")
    if [[ $2 != /* || $path/ == "$workspace"/* ]]; then
        echo "::error::$1: $2 is in the checkout, which a pull request controls; give an absolute path outside of it"
        exit 2
    fi
}

# Between these two calls, the runner treats no output as a command. The token does not come from
# Python, since this must hold for any Python.
stop_commands() {
    commands_token=$(od -A n -N 16 -t x1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$commands_token"
}
resume_commands() {
    printf '\n::%s::\n' "$commands_token" # at the start of a line, even if the text before it has no newline
}
