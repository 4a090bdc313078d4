# SPDX-License-Identifier: Apache-2.0
"""test_functional_raw_ops.py: tf.raw_ops with functions as attributes, eagerly and in
functions."""

import pytest

import situ as tf

ONE = tf.ones([])


def concrete(function, *arguments):
    return tf.function(function).get_concrete_function(*(arguments or (ONE,)))


@pytest.fixture(params=["eager", "function"])
def evaluate(request):
    """Evaluates a function of a tensor in both modes."""

    def run(function, x=ONE):
        called = function if request.param == "eager" else tf.function(function)
        return [t.numpy() for t in called(x)]

    return run


TWICE, THRICE = concrete(lambda x: x * 2), concrete(lambda x: x * 3)
TYPES = [tf.float32]


@pytest.mark.parametrize("op", [tf.raw_ops.If, tf.raw_ops.StatelessIf])
def test_if(evaluate, op):
    for test, result in ((True, 2.0), (False, 3.0), (0, 3.0), (5, 2.0), ("", 3.0), ("a", 2.0)):
        got = evaluate(
            lambda x, test=test: op(
                cond=test, input=[x], Tout=TYPES, then_branch=TWICE, else_branch=THRICE
            )
        )
        assert got == [result]


@pytest.mark.parametrize("op", [tf.raw_ops.Case, tf.raw_ops.StatelessCase])
def test_case(evaluate, op):
    for index, result in ((0, 2.0), (1, 3.0), (-1, 3.0), (6, 3.0)):
        got = evaluate(
            lambda x, index=index: op(
                branch_index=index, input=[x], Tout=TYPES, branches=[TWICE, THRICE]
            )
        )
        assert got == [result]


@pytest.mark.parametrize("op", [tf.raw_ops.While, tf.raw_ops.StatelessWhile])
def test_while(evaluate, op):
    below_ten = concrete(lambda x: x < 10)
    assert evaluate(lambda x: op(input=[x], cond=below_ten, body=TWICE)) == [16.0]


def test_for(evaluate):
    body = concrete(lambda i, x: x + tf.cast(i, tf.float32), tf.constant(0), ONE)
    up = lambda x: tf.raw_ops.For(start=0, limit=4, delta=1, input=[x], body=body)
    down = lambda x: tf.raw_ops.For(start=4, limit=0, delta=-2, input=[x], body=body)
    assert evaluate(up) == [7.0] and evaluate(down) == [7.0]


def test_partitioned_call(evaluate):
    for op in (tf.raw_ops.PartitionedCall, tf.raw_ops.StatefulPartitionedCall):
        assert evaluate(lambda x, op=op: op(args=[x], Tout=TYPES, f=THRICE)) == [3.0]
        with pytest.raises(ValueError, match="Tout"):
            op(args=[ONE], Tout=[], f=THRICE)
