# SPDX-License-Identifier: Apache-2.0
"""test_tensorflow_eager.py: results of TensorFlow in eager style (tests/golden/cases.py)."""

import os
import sys

import pytest

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
)

import cases
import record
import replay


@pytest.mark.parametrize("name, build", cases.EAGER, ids=[n for n, _ in cases.EAGER])
def test_eager(name, build):
    import situ as tf

    replay.compare(name, record.run_eager(tf, build))
