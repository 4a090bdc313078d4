# SPDX-License-Identifier: Apache-2.0
"""test_numerics_graph.py: checks for NaN and infinities name the op that produces them, in
graphs."""

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture
def checked():
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def fails(call):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    return str(caught.value)


def test_sessions(checked):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="images")
        w = tf.get_variable("w", [2, 2], initializer=tf.ones_initializer())
        y = tf.div(1.0, tf.matmul(x, w), name="tower/ratio")
        z = tf.reduce_mean(y)
        session.run(tf.global_variables_initializer())
        assert session.run(z, {x: [[1.0, 1.0]]}) == 0.5
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(z, {x: [[1.0, -1.0]]})
        assert caught.value.op.name == "tower/ratio"
        assert 'Tensor("MatMul:0", shape=(1, 2), dtype=float32)' in str(caught.value)
        assert f"Op's creation: {__file__}:" in str(caught.value)
        assert '"Placeholder"' in fails(lambda: session.run(z, {x: [[numpy.nan, 1.0]]}))


def test_the_environment(python):
    text = """
        import situ.compat.v1 as tf
        x = tf.placeholder(tf.float32, [])
        with tf.device("/gpu:0"):
            y = tf.log(x)
        with tf.Session() as session:
            session.run(y, {x: 0.0})
        """
    assert python(text, gpus=1).code == 0
    assert python(text, gpus=1, SITU_CHECK_NUMERICS="0").code == 0
    failed = python(text, gpus=1, SITU_CHECK_NUMERICS="1")
    assert failed.code == 1
    assert 'Detected Infinity or NaN in output 0 of graph op "Log"' in failed.err


def test_ops_that_check():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.check_numerics(x, "bad loss", name="checked")
        z = tf.verify_tensor_all_finite(tf.log(x), "bad log", name="verified")
        assert session.run([y, z], {x: [1.0, 1.0]})[0].tolist() == [1.0, 1.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad loss : Tensor had NaN") as e:
            session.run(y, {x: [1.0, numpy.nan]})
        assert e.value.op.name == "checked"
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad log : Tensor had Inf") as e:
            session.run(z, {x: [1.0, 0.0]})
        assert e.value.op.name == "verified"


def test_ops_that_check_all():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("tower"):
            tf.reduce_sum(tf.log(x))
        every = tf.add_check_numerics_ops()
        session.run(every, {x: [1.0, 2.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="tower/Log:0 : Tensor had Inf a"):
            session.run(every, {x: [-1.0, 0.0]})
