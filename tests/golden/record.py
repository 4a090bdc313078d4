# SPDX-License-Identifier: Apache-2.0
"""record.py: writes tensorflow.txt: what TensorFlow makes of the cases in cases*.py.

Usage: PYTHON_WITH_TENSORFLOW tests/golden/record.py > tests/golden/tensorflow.txt
Each line of the result: the case, the number of the run, and the outputs as JSON (type, shape,
values). tests/python/test_tensorflow_*.py run the same cases and compares: no TensorFlow is needed.
"""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

RUNS = 2


def told(value):
    """An output as JSON says it."""
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        values = [v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in array.ravel()]
        return ["string", list(array.shape), values]
    if array.dtype.kind == "f":
        values = [float(f"{v:.9g}" if array.dtype.itemsize < 8 else f"{v:.17g}")
                  for v in array.ravel()]
        return [array.dtype.name, list(array.shape), values]
    return [array.dtype.name, list(array.shape), [int(v) for v in array.ravel()]]


def flat(values):
    """The tensors of a result, whatever list or tuple it is."""
    if isinstance(values, (list, tuple)):
        return [v for value in values for v in flat(value)]
    return [values]


def run_graph(tf, build):
    """The outputs of each run of a graph of its own."""
    with tf.Graph().as_default():
        outputs = flat(build(tf))
        with tf.Session() as session:
            return [session.run(outputs) for _ in range(RUNS)]


def run_eager(tf, build):
    return [[v.numpy() for v in flat(build(tf))] for _ in range(RUNS)]


def lines(tf, cases, run):
    for name, build in cases:
        try:
            runs = run(tf, build)
        except Exception as error:
            sys.exit(f"{name}: {error!r}")
        for number, outputs in enumerate(runs):
            yield name, number, [told(v) for v in outputs]


def main():
    import cases
    import tensorflow as tf
    style = sys.argv[1] if len(sys.argv) > 1 else None
    if style is None:
        import subprocess
        for one in ("graph", "eager"):
            sys.stdout.write(subprocess.run([sys.executable, __file__, one], check=True, text=True,
                                            stdout=subprocess.PIPE).stdout)
        return
    if style == "graph":
        tf.compat.v1.disable_v2_behavior()
    told_lines = lines(tf.compat.v1, cases.GRAPH, run_graph) if style == "graph" else \
        lines(tf, cases.EAGER, run_eager)
    for name, number, outputs in told_lines:
        print(name, number, json.dumps(outputs, separators=(",", ":")))


if __name__ == "__main__":
    main()
