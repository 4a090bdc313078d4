#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvrtc.sh: NVRTC, NVIDIA's compiler, for the tests of CUDA kernels: the machine's, or the one of PyPI in FOLDER.
# Usage: tools/nvrtc.sh FOLDER. A machine that has one is left alone; that none can be got is no error.
has() { ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so'; }
has || [ -e /usr/local/cuda/lib64/libnvrtc.so ] || [ -d "$1" ] && exit 0
python3 -m venv "$1" && "$1/bin/pip" install -q nvidia-cuda-nvrtc-cu12 ||
  { rm -rf "$1" && echo "nvrtc.sh: going on without NVRTC" >&2; }
