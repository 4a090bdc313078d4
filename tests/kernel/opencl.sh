#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# opencl.sh: every kernel file in every type is OpenCL C 1.2. Usage: opencl.sh CLANG SOURCE_DIR
clang=$1
source=$(cd "$2" && pwd)
text=$(mktemp)
trap 'rm -f "$text"' EXIT
status=0

# check FILE T C NAME BYTES IS_REAL IS_INTEGER IS_BOOL IS_SIGNED, for a device that $has (1, 0) double and half
check() {
  {
    [ "$has" = 1 ] && echo "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"
    [ "$has" = 1 ] && echo "#pragma OPENCL EXTENSION cl_khr_fp16 : enable"
    echo "#define HAS_DOUBLE $has"
    echo "#define HAS_HALF $has"
    echo "#define ALL_KERNELS"
    echo "#define T_NAME $4"
    echo "#define T_BYTES $5"
    echo "#define T_IS_REAL $6"
    echo "#define T_IS_INTEGER $7"
    echo "#define T_IS_BOOL $8"
    echo "#define T_IS_SIGNED $9"
    echo "#include \"kernel/opencl.h\""
    echo "typedef $2 T; typedef $3 C;"
    [ "$5" = 16 ] && echo "typedef double R;"
    [ "$4" = complex64 ] && echo "typedef float R;"
    echo "#include \"$1\""
  } >"$text"
  "$clang" -x cl -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header -Wall -Wextra \
    -Wno-unused-function -Wno-unused-parameter -Werror $lacks -I"$source/src" -S -emit-llvm \
    -o /dev/null "$text" || { echo "$1 is no OpenCL for $4, double and half: $has" && status=1; }
}

# A kernel file in every type that such a device has.
check_types() {
  check "$1" float float float 4 1 0 0 1
  check "$1" int int int32 4 0 1 0 1
  check "$1" long long int64 8 0 1 0 1
  check "$1" char int int8 1 0 1 0 1
  check "$1" uchar int uint8 1 0 1 0 0
  check "$1" short int int16 2 0 1 0 1
  check "$1" ushort int uint16 2 0 1 0 0
  check "$1" uint uint uint32 4 0 1 0 0
  check "$1" ulong ulong uint64 8 0 1 0 0
  check "$1" uchar int truth 1 0 0 1 0
}

for file in "$source"/src/ops/*/*.cl; do
  grep -q "include \"${file#"$source"/src/}\"" "$source"/src/ops/*/*.cl && continue # a part of another one
  has=1 lacks=
  case $file in
  */complex.cl)
    check "$file" complex64 complex64 complex64 8 0 0 0 1
    check "$file" complex128 complex128 complex128 16 0 0 0 1
    continue
    ;;
  esac
  check_types "$file"
  check "$file" double double double 8 1 0 0 1
  check "$file" half float half 2 1 0 0 1
  has=0 lacks="-cl-single-precision-constant -Xclang -cl-ext=-cl_khr_fp64,-__opencl_c_fp64,-cl_khr_fp16"
  check_types "$file"
done
exit $status
