# SPDX-License-Identifier: Apache-2.0
"""raw_ops.py: prints raw_ops.txt: the arguments of TensorFlow's tf.raw_ops that situ has, too.

Usage: build/situ ops | python3 tests/golden/raw_ops.py > tests/golden/raw_ops.txt
where python3 has TensorFlow, and each line of the input begins with the name of an op.
Each line of the result: op, arguments in TensorFlow's order, without `name`.
"""
import inspect
import sys

import tensorflow as tf

for line in sorted(set(sys.stdin)):
    op = line.split()[0] if line.split() else ""
    if op.isalnum() and hasattr(tf.raw_ops, op):
        names = [p for p in inspect.signature(getattr(tf.raw_ops, op)).parameters if p != "name"]
        print(op, *names)
