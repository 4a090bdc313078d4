#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh: builds the wheel with a Python that has, or may fetch, scikit-build-core.
# Usage: tools/wheel.sh PYTHON FOLDER [BUILD] (where the wheel goes; a build folder that has libsitu.a)
# $WHEEL_BUILD: the folder for intermediate files, else that of pyproject.toml
python=$1 out=$2
set -- ${WHEEL_BUILD:+--config-settings=build-dir="$WHEEL_BUILD"} \
  ${3:+--config-settings=cmake.define.SITU_PREBUILT="$(realpath "$3")"}
cd "$(dirname "$0")/.." || exit 1
"$python" -c 'import numpy, scikit_build_core' 2>/dev/null ||
  "$python" -m pip install -q --disable-pip-version-check numpy 'scikit-build-core>=0.10' ||
  { echo "wheel.sh: scikit-build-core is missing and cannot be fetched" >&2; exit 1; }
rm -f "$out"/situ-*.whl
"$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
  "$@" -w "$out" . ||
  exit 1
ls -l "$out"/situ-*.whl | awk '{ printf "%s: %.1f MB\n", $NF, $5 / 1e6 }'
