#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kernels.sh: every kernel through every compiler that is here. Usage: tools/kernels.sh BUILD (where C is compiled).
status=0
echo "C: $("$(command -v gcc || command -v cc)" --version | head -1): compiled in $1"

clang=$(command -v clang-16 || command -v clang-14 || command -v clang)
if [ -n "$clang" ]; then
  tests/kernel/opencl.sh "$clang" . && echo "OpenCL C: $("$clang" --version | head -1): all of it" || status=1
else
  echo "OpenCL C: no clang here"
fi

nvrtc=$(ls -d "$1"/nvrtc/lib/python*/site-packages/nvidia/*/lib 2>/dev/null | head -1)
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)
LD_LIBRARY_PATH="$nvrtc:/usr/local/cuda/lib64:$LD_LIBRARY_PATH" \
  python3 tests/kernel/nvrtc.py . --out "$1/ptx" ${ptxas:+--ptxas "$ptxas"}
case $? in 0 | 77) ;; *) status=1 ;; esac
exit $status
