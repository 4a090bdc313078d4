# SPDX-License-Identifier: Apache-2.0
"""test_function_traces.py: the traces that a tf.function keeps."""

import pytest

import situ as tf
from situ._src.framework import traces


@pytest.fixture(autouse=True)
def small_budget(monkeypatch):
    monkeypatch.setattr(traces, "BUDGET", 20 * traces.BYTES_PER_TRACE)


def test_traces_are_dropped_and_made_again():
    seen = []

    @tf.function
    def double(x):
        seen.append(x.shape[0])
        return x * 2.0

    first = double.get_concrete_function(tf.TensorSpec([1], tf.float32))
    for n in range(1, 60):
        assert double(tf.ones([n])).numpy().tolist() == [2.0] * n
    assert len(double._traces) < 25
    assert double.experimental_get_tracing_count() == 59
    assert double(tf.ones([1])).numpy().tolist() == [2.0]  # traced again
    assert seen.count(1) == 2
    assert first(tf.ones([1])).numpy().tolist() == [2.0]


def test_the_one_in_use_stays():
    seen = []

    @tf.function
    def double(x, y):
        seen.append(x.shape[0])
        return x * 2.0

    for n in range(2, 80):
        double(tf.ones([1]), y=1)
        double(tf.ones([n]), y=1)
    assert seen.count(1) == 1


def test_large_traces_stay():
    @tf.function
    def grow(x):
        for _ in range(1000):
            x = x + 1.0
        return x

    for n in range(1, 6):
        grow(tf.ones([n]))
    assert len(grow._traces) == 5


def test_variables_are_created_once():
    made = []

    @tf.function
    def add(x):
        if not made:
            made.append(tf.Variable(1.0))
        return x + made[0]

    for n in range(1, 60):
        assert add(tf.zeros([n])).numpy().tolist() == [1.0] * n
    assert add(tf.zeros([1])).numpy().tolist() == [1.0]
    assert len(made) == 1
