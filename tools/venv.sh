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
# Some tests read event files with the real TensorBoard, and HDF5, load situ in IPython, or use
# bfloat16 arrays of ml_dtypes; they are skipped where that is missing. One builds the wheel; fetched here, nothing changes in $venv while tests run.
"$venv/bin/python" -c 'import tensorboard, h5py, IPython, ml_dtypes, scikit_build_core' 2>/dev/null ||
  "$venv/bin/pip" install -q --disable-pip-version-check tensorboard h5py ipython ml_dtypes \
    'scikit-build-core>=0.10' 2>/dev/null
lacks() {
  for module in numpy pytest; do
    "$venv/bin/python" -c "import $module" 2>/dev/null || printf '%s ' $module
  done
}
missing=$(lacks)
[ -z "$missing" ] && exit 0
# shellcheck disable=SC2086
"$venv/bin/pip" install -q --disable-pip-version-check $missing 2>/dev/null && exit 0
# Offline: take those of the system, if there are any.
for module in $missing; do
  "$python" -c "import $module, os; print(os.path.dirname(os.path.dirname($module.__file__)))" \
    2>/dev/null >>"$site/situ.pth"
done
missing=$(lacks)
[ -z "$missing" ] || echo "venv.sh: missing in $venv: $missing" >&2
