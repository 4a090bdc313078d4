#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint.sh: ruff (lint and format) over the Python code, vermin (Python 3.9), and type checkers; tools/lint.txt pins their versions.
# Usage: tools/lint.sh [--quick | --fix]: --quick leaves vermin and the type checkers out, --fix rewrites files where ruff can.
cd "$(dirname "$0")/.." || exit 1
venv=.venv-lint
if ! cmp -s tools/lint.txt "$venv/lint.txt"; then
  python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check -r tools/lint.txt || {
    echo "lint.sh: cannot install the tools of tools/lint.txt in $venv" >&2
    exit 1
  }
  cp tools/lint.txt "$venv/lint.txt"
fi
folders="python tools tests bench examples"
if [ "$1" = --fix ]; then
  # shellcheck disable=SC2086
  "$venv/bin/ruff" check -q --fix $folders && "$venv/bin/ruff" format -q $folders
  exit
fi
failed=0
# shellcheck disable=SC2086
"$venv/bin/ruff" check -q $folders || failed=1
# shellcheck disable=SC2086
"$venv/bin/ruff" format -q --check $folders || failed=1
[ "$1" = --quick ] && exit $failed

# Python 3.9 must be able to run the package: neither newer syntax nor newer modules and functions.
"$venv/bin/vermin" -q --no-tips --violations --eval-annotations -t=3.9- python/situ python/pytest_situ.py ||
  failed=1

"$venv/bin/mypy" --python-executable .venv/bin/python | grep -v ": note: \|^Success" && failed=1
# A program that uses the package passes mypy and pyright, with the type stubs of build/python.
program=tests/typing/program.py
MYPYPATH=build/python "$venv/bin/mypy" --python-executable .venv/bin/python --config-file= $program || failed=1
"$venv/bin/basedpyright" --level error --project tests/typing $program >"$venv/pyright.log" || {
  cat "$venv/pyright.log"
  failed=1
}
exit $failed
