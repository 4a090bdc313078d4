#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh: shows what situ does: one situation after the other, the command and what it prints.
cd "$(dirname "$0")/.." || exit 1
unset CUDA_VISIBLE_DEVICES $(env | sed -n 's/^\(SITU_[A-Z_]*\)=.*/\1/p')
shown=0 wrong=0
k40='Tesla K40c@0000:05:00.0=12GiB'

# section TITLE TEXT...: what comes now, and why.
section() {
  printf '\n\n======== %s ========\n' "$1"
  shift
  printf '%s\n' "$@"
}

# show CASE...: an example with its expected output, which is compared.
show() {
  for case in "$@"; do
    shown=$((shown + 1))
    python3 tests/run_example.py --show build/examples "examples/expect/$case.txt" ||
      wrong=$((wrong + 1))
  done
}

# try COMMAND: as it would be typed.
try() {
  shown=$((shown + 1))
  printf '\n$ %s\n' "$1"
  sh -c "$1" || wrong=$((wrong + 1))
}

cat <<END
situ runs graphs of operations on named devices. There may be no GPU in this machine:
all GPUs below are simulated. They have names, memory of their own and limits like real
ones, and compute on the CPU. Each program is a page of Python or C in examples/.
END

section "Devices" \
  "What a machine has; here one GPU, as the text behind --gpus says."
try "build/situ devices --gpus '$k40'"

section "Where do my operations run?" \
  "A product of two matrices; log_device_placement prints the device of every node. Nothing" \
  "says where: the GPU has priority. Old guides write /gpu:0, newer ones /device:GPU:0."
show first.k40_legacy first.k40 first.none

section "The same in Python" \
  "An unmodified TensorFlow program: a graph and a session, then calls that compute at once."
show first.py.k40 first_eager.py.k40

section "Placing by hand" \
  "The constants are built in the scope of /cpu:0; they are copied to the GPU by themselves."
show manual.k40_legacy manual.k20

section "Memory" \
  "By default nearly all memory of a GPU is taken on first use. It can grow instead, and be" \
  "bounded by a fraction or in bytes, for all GPUs or for each."
show growth.k40 growth_eager.py.k40 fraction.k40 limits.k20

section "Out of memory" \
  "The error says who asked, who holds what, and what to change; the session goes on."
show memory_error.k40

section "One GPU of many" \
  "Everything is built in the scope of /gpu:2, on a machine with four GPUs."
show one_gpu.k20_legacy

section "A GPU that is not there" \
  "The same request on a machine with one GPU: an error that names the node; then with soft" \
  "placement; then a program that must not run without a GPU."
show missing.k40 missing_eager.py.k40 soft.k40 first.require

section "Several GPUs" \
  "Two towers on the third and fourth GPU, their sum on the CPU."
show towers.py.gpus towers_eager.py.k20 towers.k20_legacy

section "Which GPUs does a program see?" \
  "CUDA_VISIBLE_DEVICES masks and reorders GPUs; numbers and PCI bus ids both do."
show visible.1 visible.0_2_3 visible.3_0 visible.none visible.0_9_1

section "Values that are fed" \
  "One graph, batches of different sizes, and one that does not fit."
show feed.k40

section "Why is it there, and will it fit?" \
  "A saved graph, looked at before anything runs: reasons, copies, memory."
try "build/examples/save | build/situ explain - --gpus 4 --feed x=100x3"
try "build/examples/save | build/situ plan - --gpus 4 --feed x=100x3"

section "What if a GPU dies?" \
  "Simulated GPUs can keep a virtual clock, and break on demand."
show simulated.two

cat <<END


$shown situations shown, $wrong not as expected.

What to try next:
  build/situ run --gpus 4 YOUR_SCRIPT.py any TensorFlow program; --check says what is missing
  .venv/bin/python                       a Python in which \`import situ as tf\` works
  build/situ --help                      the command; build/situ ops lists the operations
  SITU_SIM_GPUS=2 build/examples/first   any example on any GPUs you can think of
  docs/README.md                         tutorials, guides and reference
  README.md                              your own program in Python and C
END
[ "$wrong" = 0 ]
