#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# find_python.sh: prints the path of a CPython with headers: in PATH, in pyenv ($PYENV_ROOT or ~/.pyenv), or by uv.
# Usage: tools/wheels/find_python.sh VERSION (such as 3.9)
fits() {
  "$1" - "$2" 2>/dev/null <<'END'
import os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1] or not os.path.isfile(header))
END
}
for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python \
  "$(uv python find "$1" 2>/dev/null)"; do
  fits "$python" "$1" && { echo "$python"; exit 0; }
done
exit 1
