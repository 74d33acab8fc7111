#!/bin/sh
# Makes .venv in the current directory and installs Scurry with its development tools into it.
# Uses uv where it is on the PATH, else `python -m venv` and pip. Safe to run again: an
# environment that works is kept and only brought up to date.
#
# SCURRY_PYTHON names the interpreter for a new .venv instead of the newest that is found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/apt.sh"

fail() {
    say "$*"
    exit 1
}

recent_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# A name on the PATH is not enough: version managers put stand-ins there that refuse to run.
find_python() {
    if [ -n "${SCURRY_PYTHON:-}" ]; then
        printf '%s\n' "$SCURRY_PYTHON"
        return 0
    fi
    for name in python3.13 python3.12 python3.11 python3; do
        recent_enough "$name" && printf '%s\n' "$name" && return 0
    done
    return 1
}

no_python() {
    cat >&2 <<END
scurry: no Python 3.11 or later found (looked for python3.13, python3.12, python3.11, python3).
Install one, then run the same command again:
  Debian 12+, Ubuntu 24.04+   sudo apt-get install python3 python3-venv
  Fedora, RHEL 9+             sudo dnf install python3.12
  macOS                       brew install python@3.12
  anywhere                    install uv, which brings its own Python
or name an interpreter: SCURRY_PYTHON=/path/to/python make ...
END
    exit 1
}

create_with_uv() {
    rm -rf .venv
    uv venv --quiet --python "$(find_python || echo 3.12)" .venv ||
        fail "uv could not create .venv; its message is above"
}

create_with_venv() {
    python=$(find_python) || {
        can_apt && apt_install python3 python3-venv
        python=$(find_python) || no_python
    }
    say "making .venv with $("$python" --version)"
    if "$python" -c 'import ensurepip' >/dev/null 2>&1; then
        :
    elif can_apt; then
        short=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        apt_install "python$short-venv"
    else
        fail "$python has no venv module; on Debian or Ubuntu: sudo apt-get install python3-venv"
    fi
    "$python" -m venv --clear .venv || fail "$python -m venv failed; its message is above"
}

works() {
    [ -x .venv/bin/python ] && recent_enough .venv/bin/python
}

if [ -n "${SCURRY_PYTHON:-}" ] && ! recent_enough "$SCURRY_PYTHON"; then
    fail "SCURRY_PYTHON is $SCURRY_PYTHON, which is not a Python 3.11 or later"
fi
say "installing packages into .venv; the first time this takes a few minutes (PySpark is 450 MB)"
if command -v uv >/dev/null 2>&1; then
    works || create_with_uv
    uv pip install --quiet --python .venv/bin/python -e '.[dev]'
else
    works && .venv/bin/python -m pip --version >/dev/null 2>&1 || create_with_venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
fi || fail "installing the packages failed, for the reason above; once mended, run the command again"
