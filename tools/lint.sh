#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint.sh: ruff (lint and format) and mypy over the Python code; their versions are pinned in tools/lint.txt.
# Usage: tools/lint.sh [--quick | --fix]: --quick leaves mypy out, --fix rewrites files where ruff can.
cd "$(dirname "$0")/.." || exit 1
venv=.venv-lint
if ! cmp -s tools/lint.txt "$venv/lint.txt"; then
  python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check -r tools/lint.txt || {
    echo "lint.sh: cannot install ruff and mypy in $venv (see tools/lint.txt)" >&2
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
exit $failed
