# SPDX-License-Identifier: Apache-2.0
"""replay.py: compares what situ gives with what record.py wrote down."""
import json
import os

import numpy as np
import record

NEAR = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}


def load():
    """What TensorFlow gave, by case and run."""
    golden = {}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow.txt")
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, number, outputs = line.split(" ", 2)
            golden[name, int(number)] = json.loads(outputs)
    return golden


GOLD = load()


def compare(name, runs):
    """Fails unless the outputs of every run are TensorFlow's."""
    for number, outputs in enumerate(runs):
        want = GOLD[name, number]
        have = [record.told(v) for v in outputs]
        assert len(have) == len(want)
        for (kind, shape, values), (own_kind, own_shape, own) in zip(want, have):
            assert (own_kind, own_shape) == (kind, shape)
            if kind in NEAR:  # gradients go through more rounding
                near = NEAR[kind] * (20 if ".gradient." in name else 1)
                np.testing.assert_allclose(own, values, rtol=near, atol=near)
            else:
                assert own == values
