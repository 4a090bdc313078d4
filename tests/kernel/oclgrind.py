# SPDX-License-Identifier: Apache-2.0
"""oclgrind.py: kernels in a simulator that watches every access: no races, nothing out of bounds.

Usage: oclgrind.py SITU SOURCE_DIR. Runs the samples of ops whose kernels share memory or compute
where they read, then plants faults into a kernel: the simulator must find them.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import embed  # pylint: disable=wrong-import-position

LIBRARY = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
OPS = """MatMul BatchMatMulV2 Conv2D Conv2DBackpropInput Conv2DBackpropFilter DepthwiseConv2dNative
MaxPool AvgPool MaxPoolGrad Softmax LogSoftmax SoftmaxCrossEntropyWithLogits
SparseSoftmaxCrossEntropyWithLogits Sum Max Prod Any ArgMax L2Loss BiasAddGrad LRN LRNGrad Transpose
GatherV2 ConcatV2 StridedSlice Pad Tile Select Cast Tanh AddV2 RandomUniform
TopKV2 Cumsum""".split()
SIGNS = ("data race", "Invalid read", "Invalid write", "divergence", "Unsupported", "ERROR")
HEAD = """#define HAS_DOUBLE 1
#define HAS_HALF 0
#define T_NAME float
#define T_BYTES 4
#define T_IS_REAL 1
#define T_IS_INTEGER 0
#define T_IS_BOOL 0
#define T_IS_SIGNED 1
"""
M, N, K = 20, 24, 18
Kernel = collections.namedtuple("Kernel", "file name buffers longs")  # one work-group of it
PRODUCT = Kernel(
    "ops/linalg/matmul.cl",
    "matmul",
    (M * K, K * N, M * N, 1),
    [M, N, K, K, 1, N, 1, 1] + [1] * 8 + [0] * 16,
)
SUM = Kernel("ops/math/reduce.cl", "sum", (300, 1), [300, 1, 1, 300, -1, 1, 256])
FAULTS = [  # what is changed in a kernel, and what must be said of it
    (PRODUCT, "data race", r"(TILE_ADD\(\);\n) *barrier\(CLK_LOCAL_MEM_FENCE\);", r"\1"),
    (PRODUCT, "Invalid write", r"value, m, n\) c\[", "value, m + 1, n) c["),
    (PRODUCT, "divergence", r"\n    TILE_ADD\(\);", "\nif (id_ > 100) return; TILE_ADD();"),
    (SUM, "data race", r"(half_ \* next_;\s*\\\n) *barrier\(CLK_LOCAL_MEM_FENCE\);", r"\1"),
    (SUM, "Invalid read", r"< 64 \* lanes \? rows", "< 64 * lanes ? rows + 1"),
]


def environment(folder):
    """OpenCL with no driver but oclgrind; little memory, because all of it is watched."""
    (folder / "oclgrind.icd").write_text(LIBRARY + "\n")
    return {
        "OCL_ICD_VENDORS": str(folder),
        "SITU_OPENCL_DEVICES": "all",
        "SITU_KERNEL_CACHE": "",
        "OCLGRIND_DATA_RACES": "1",
        "SITU_GPU_MEMORY": "limit=4MiB",
        "PATH": "/usr/bin:/bin",
    }


def run_op(situ, op, folder):
    """Whether an op's samples run without a word of the simulator."""
    done = subprocess.run(
        [situ, "selftest", "--device", "/gpu:0", "--op", op, "--seconds", "300"],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    ok = done.returncode == 0 and "1 of 1 ops" in text and not any(s in text for s in SIGNS)
    print(f"{'ok' if ok else 'FAILED':6} {op}", flush=True)
    if not ok:
        print(text[:4000])
    return ok


def text_of(source, kernel, change=None):
    """The text of a kernel with one thing changed."""
    root = pathlib.Path(source) / "src"
    own = embed.read(root, kernel.file)
    if change:
        own, count = re.subn(*change, own, count=1)
        assert count, change
    return (
        HEAD
        + f"#define PICK_{kernel.name} ~,\n"
        + embed.read(root, "kernel/opencl.h")
        + "typedef float T; typedef float C;\n"
        + own
    )


def simulate(kernel, text, folder):
    """What the simulator says of one kernel."""
    (folder / "kernel.cl").write_text(text)
    lines = [f"{folder}/kernel.cl", f"situ_{kernel.name}", "256 1 1", "256 1 1"]
    lines += [f"<size={4 * size} fill=1 float>" for size in kernel.buffers]
    lines += [f"<size=8 long>\n{number}" for number in kernel.longs]
    (folder / "kernel.sim").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["oclgrind-kernel", "--data-races", str(folder / "kernel.sim")],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def run_faults(source, folder):
    """Whether nothing is said of good kernels, and the planted faults are found."""
    good = []
    for kernel in (PRODUCT, SUM):
        said = simulate(kernel, text_of(source, kernel), folder)
        good.append(not any(sign in said for sign in SIGNS))
        if not good[-1]:
            print(f"FAILED {kernel.name} without a fault:", said[:2000])
    for kernel, sign, *change in FAULTS:
        said = simulate(kernel, text_of(source, kernel, change), folder)
        good.append(sign in said)
        print(f"{'ok' if good[-1] else 'FAILED':6} a fault in {kernel.name} is found: {sign}")
        if not good[-1]:
            print(said[:2000])
    return good


def main():
    situ, source = sys.argv[1:3]
    ops = sys.argv[3:] or OPS
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        good = run_faults(source, folder)
        good += [run_op(situ, op, folder) for op in ops]
    print(f"oclgrind: {sum(good)} of {len(good)} as they should be")
    return not all(good)


if __name__ == "__main__":
    sys.exit(main())
