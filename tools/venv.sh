#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# venv.sh: makes the virtual environment in which `import situ` works; says so where it cannot.
# Usage: tools/venv.sh PYTHON VENV FOLDER... (folders to be on the path)
python=$1 venv=$2
shift 2
if [ ! -x "$venv/bin/python" ]; then
  "$python" -m venv "$venv" >/dev/null 2>&1 || {
    echo "venv.sh: $python cannot make virtual environments: no $venv" >&2
    rm -rf "$venv"
    exit 0
  }
fi
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$@" >"$site/situ.pth"
"$venv/bin/python" -c 'import numpy' 2>/dev/null && exit 0
"$venv/bin/pip" install -q --disable-pip-version-check numpy 2>/dev/null && exit 0
# Offline: take the NumPy of the system, if there is one.
system=$("$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))' 2>/dev/null)
if [ -n "$system" ]; then
  printf '%s\n' "$@" "$system" >"$site/situ.pth"
else
  echo "venv.sh: NumPy is missing in $venv" >&2
fi
