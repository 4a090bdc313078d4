#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test.sh: installs each wheel with NumPy alone in a new environment, far from the sources, and runs what it promises.
# Usage: tools/wheels/test.sh FOLDER [VERSION...] (where the wheels are; versions of CPython, by default 3.9 to 3.13)
folder=$(realpath "$1") || exit 1
shift
[ $# -gt 0 ] || set -- 3.9 3.10 3.11 3.12 3.13
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
for version in "$@"; do
  wheel=$(ls "$folder"/situ-*-cp"$(echo "$version" | tr -d .)"-*.whl 2>/dev/null)
  [ -n "$wheel" ] || { echo "test.sh: no wheel for CPython $version in $folder" >&2; failed=1; continue; }
  python=$("$here/find_python.sh" "$version") || { echo "test.sh: no CPython $version" >&2; failed=1; continue; }
  env=$work/$version
  "$python" -m venv "$env" &&
    "$env/bin/python" -m pip install -q --disable-pip-version-check "$wheel" &&
    (cd "$work" && env -i PATH=/usr/bin:/bin HOME="$work" LANG=C.UTF-8 \
      "$env/bin/python" -I "$here/../../tests/wheels/bare.py") || failed=1
  rm -rf "$env"
done
exit $failed
