# SPDX-License-Identifier: Apache-2.0
"""test_numerics.py: checks for NaN and infinities name the op that produces them: eagerly, in
functions and in graphs."""

import numpy
import pytest

import situ as tf


@pytest.fixture
def checked():
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def fails(call):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    return str(caught.value)


def test_eager(checked):
    text = fails(lambda: tf.math.log(tf.constant([1.0, 0.0, -1.0])))
    assert text == (
        '!!! Detected Infinity or NaN in output 0 of eagerly-executing op "Log" '
        "(# of outputs: 1) !!! [Op:Log]\n  dtype: <dtype: 'float32'>\n  shape: (3,)\n"
        "  # of -Inf elements: 1\n  # of +NaN elements: 1\n\n"
        "  Input tensor: Tensor(shape=(3,), dtype=float32)\n"
        " : Tensor had -Inf and NaN values"
    )
    assert '"Exp"' in fails(lambda: tf.exp(tf.constant(1000.0, tf.float64)))
    tf.debugging.disable_check_numerics()
    assert numpy.isneginf(tf.math.log(0.0).numpy())


def test_functions_name_the_line(checked):
    @tf.function
    def loss(x):
        y = tf.sqrt(x)
        return tf.reduce_sum(y) * 2.0

    assert loss(tf.constant([4.0])).numpy() == 4.0
    text = fails(lambda: loss(tf.constant([-4.0])))
    assert text.startswith('!!! Detected Infinity or NaN in output 0 of graph op "Sqrt"')
    with open(__file__, encoding="utf-8") as source:
        line = 1 + source.read().splitlines().index("        y = tf.sqrt(x)")
    assert f"Op's creation: {__file__}:{line}\n" in text


def test_gradients(checked):
    x = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.sqrt(x)
    assert "Infinity or NaN" in fails(lambda: tape.gradient(y, x))


def test_loops_and_branches(checked):
    @tf.function
    def fall(x):
        for _ in tf.range(5):
            x = x / (x - 2.0)
        return x

    @tf.function
    def choose(x):
        return tf.cond(x > 0, lambda: 1.0 / x, lambda: tf.math.log(x))

    assert 'op "RealDiv"' in fails(lambda: fall(tf.constant(2.0)))
    assert choose(tf.constant(4.0)).numpy() == 0.25
    assert 'op "Log"' in fails(lambda: choose(tf.constant(0.0)))


def test_a_step_spares_the_variables(checked):
    v = tf.Variable([1.0, 2.0])
    optimizer = tf.keras.optimizers.SGD(1.0)

    @tf.function
    def step(scale):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.math.log(v * scale))
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    fails(lambda: step(tf.constant(0.0)))
    assert v.numpy().tolist() == [1.0, 2.0]


def test_fit(checked):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", lambda y, p: tf.math.log(p - p))
    assert 'op "Log"' in fails(lambda: model.fit(numpy.ones([4, 2]), numpy.ones([4, 1]), verbose=0))


def test_python_functions(checked):
    @tf.function
    def call():
        return tf.numpy_function(lambda: numpy.float32(numpy.nan), [], tf.float32)

    assert 'graph op "PyFunc"' in fails(call)


def test_assert_all_finite():
    with pytest.raises(tf.errors.InvalidArgumentError, match="oh : Tensor had Inf and NaN"):
        tf.debugging.assert_all_finite([numpy.nan, numpy.inf], "oh")
    assert tf.debugging.assert_all_finite([1.0], "oh").numpy() == [1.0]
