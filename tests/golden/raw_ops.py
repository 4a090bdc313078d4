# SPDX-License-Identifier: Apache-2.0
"""raw_ops.py: prints raw_ops.txt: the arguments of TensorFlow's tf.raw_ops that situ has, too.

Usage: build/situ ops | python3 tests/golden/raw_ops.py > tests/golden/raw_ops.txt
where python3 has TensorFlow, and each line of the input begins with the name of an op.
Each line of the result: op, arguments in TensorFlow's order without `name`, with defaults in JSON
(a type by its name), "->", outputs.
"""
import inspect
import json
import sys

import tensorflow as tf
from tensorflow.python.framework import op_def_registry


def written(name, default):
    if default is inspect.Parameter.empty:
        return name
    default = default.name if isinstance(default, tf.DType) else default
    return name + "=" + json.dumps(default, separators=(",", ":"))


for line in sorted(set(sys.stdin)):
    op = line.split()[0] if line.split() else ""
    if op.isalnum() and hasattr(tf.raw_ops, op):
        parameters = inspect.signature(getattr(tf.raw_ops, op)).parameters.items()
        names = [written(name, p.default) for name, p in parameters if name != "name"]
        print(op, *names, "->", *(o.name for o in op_def_registry.get(op).output_arg))
