#!/bin/sh
# Makes .venv ready, or finds that it is. PYTHON=... chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

if [ -n "${PYTHON:-}" ]; then
    if ! new_enough "$PYTHON"; then
        echo "set-up: PYTHON=$PYTHON is not a Python 3.11 or newer that runs" >&2
        exit 1
    fi
    exec "$PYTHON" tools/setup.py "$@"
fi

# The environment's own interpreter judges it: one whose Python was moved or upgraded away cannot say yes.
if [ $# -eq 0 ] && .venv/bin/python tools/setup.py --check 2>/dev/null; then
    exit 0
fi

for candidate in python3 python3.13 python3.12 python3.11 python3.14 python; do
    if new_enough "$candidate"; then
        exec "$candidate" tools/setup.py "$@"
    fi
done
found=$(python3 --version 2>/dev/null) || found=missing
echo "set-up: no Python 3.11 or newer found (python3 is $found); install one, or name it with PYTHON=..." >&2
exit 1
