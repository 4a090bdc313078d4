# SPDX-License-Identifier: Apache-2.0
"""test_tensorflow_graph.py: results of TensorFlow in graph style (tests/golden/cases.py)."""

import os
import sys

import pytest

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
)

import cases
import record
import replay


@pytest.mark.parametrize("name, build", cases.GRAPH, ids=[n for n, _ in cases.GRAPH])
def test_graph(name, build):
    import situ.compat.v1 as tf

    replay.compare(name, record.run_graph(tf, build))
