# SPDX-License-Identifier: Apache-2.0
"""test_batch_norm.py: FusedBatchNorm, its gradients and the functions that use it, against
NumPy."""

import numpy
import pytest

import situ.compat.v1 as tf

RANDOM = numpy.random.RandomState(3)


@pytest.fixture(autouse=True)
def graph():
    tf.reset_default_graph()


def images(form, batch=4, rows=9, columns=8, channels=5):
    sizes = {"N": batch, "H": rows, "W": columns, "C": channels}
    return (RANDOM.randn(*[sizes[d] for d in form]) * 3 + 10).astype("float32")


def others(form):
    return tuple(i for i, d in enumerate(form) if d != "C")


def wide(vector, form):
    return vector.reshape([-1 if d == "C" else 1 for d in form])


def normalized(x, scale, offset, form, epsilon, mean=None, variance=None):
    """(y, mean, variance of a sample, h, s), in double precision."""
    x, axes = x.astype("float64"), others(form)
    count = x.size // len(scale)
    own = (x.mean(axes), x.var(axes)) if mean is None else (mean, variance)
    s = 1 / numpy.sqrt(wide(own[1], form) + epsilon)
    h = (x - wide(own[0], form)) * s
    more = count / (count - 1) if mean is None else 1
    return h * wide(scale, form) + wide(offset, form), own[0], own[1] * more, h, s


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize("large", [False, True])
def test_training(form, large):
    x = images(form, 16, 40, 40, 33) if large else images(form)
    channels = x.shape[form.index("C")]
    scale, offset = RANDOM.rand(2, channels).astype("float32")
    dy = RANDOM.randn(*x.shape).astype("float32")
    y, mean, variance, h, s = normalized(x, scale, offset, form, 0.01)
    inputs = [tf.constant(v) for v in (x, scale, offset)]
    made = tf.nn.fused_batch_norm(*inputs, epsilon=0.01, data_format=form)
    assert made[0].op.type == "FusedBatchNormV3" and made[1].shape.as_list() == [channels]
    slopes = tf.gradients(made[0], inputs, grad_ys=tf.constant(dy))
    axes = others(form)
    flat = {"axis": axes, "keepdims": True}
    dx = wide(scale, form) * s * (dy - dy.mean(**flat) - h * (dy * h).mean(**flat))
    with tf.Session() as session:
        got = session.run([*made, *slopes])
    for have, want in zip(got, (y, mean, variance, dx, (dy * h).sum(axes), dy.sum(axes))):
        numpy.testing.assert_allclose(have, want, rtol=2e-4, atol=2e-4 * numpy.abs(want).max())


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_given_moments(form):
    x, (scale, offset, mean, variance) = images(form), RANDOM.rand(4, 5).astype("float32")
    dy = RANDOM.randn(*x.shape).astype("float32")
    y, _, _, h, s = normalized(x, scale, offset, form, 0.001, mean, variance)
    inputs = [tf.constant(v) for v in (x, scale, offset)]
    made = tf.nn.fused_batch_norm(*inputs, mean, variance, data_format=form, is_training=False)
    slopes = tf.gradients(made[0], inputs, grad_ys=tf.constant(dy))
    with tf.Session() as session:
        got = session.run([*made, *slopes])
    axes = others(form)
    for have, want in zip(
        got, (y, mean, variance, dy * wide(scale, form) * s, (dy * h).sum(axes), dy.sum(axes))
    ):
        numpy.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4 * numpy.abs(want).max())


def test_a_share_of_the_new():
    x, (old, spread) = images("NHWC"), RANDOM.rand(2, 5).astype("float32")
    _, mean, variance, _, _ = normalized(x, numpy.ones(5), numpy.zeros(5), "NHWC", 0.001)
    made = tf.nn.fused_batch_norm(
        x,
        numpy.ones(5, "float32"),
        numpy.zeros(5, "float32"),
        old,
        spread,
        exponential_avg_factor=0.25,
    )
    with tf.Session() as session:
        got = session.run(made[1:])
    numpy.testing.assert_allclose(got[0], 0.75 * old + 0.25 * mean, rtol=1e-5)
    numpy.testing.assert_allclose(got[1], 0.75 * spread + 0.25 * variance, rtol=1e-5)


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize("training", [True, False])
def test_second_derivatives(form, training):
    """Computes batch normalization with basic ops."""
    x, weights = images(form, 3, 4, 5, 2), images(form, 3, 4, 5, 2) - 10
    scale, offset, mean, variance = RANDOM.rand(4, 2).astype("float32") + 0.5
    results = []
    for fused in (True, False):
        tf.reset_default_graph()
        inputs = [tf.constant(v) for v in (x, scale, offset)]
        if fused:
            given = (None, None) if training else (mean, variance)
            y = tf.nn.fused_batch_norm(*inputs, *given, data_format=form, is_training=training)[0]
        else:
            own = (
                tf.nn.moments(inputs[0], others(form), keepdims=True)
                if training
                else [wide(v, form) for v in (mean, variance)]
            )
            parts = [tf.reshape(v, wide(mean, form).shape) for v in inputs[1:]]
            y = (inputs[0] - own[0]) * tf.rsqrt(own[1] + 0.001) * parts[0] + parts[1]
        first = tf.gradients(tf.reduce_sum(tf.sin(y) * weights), inputs)
        total = tf.reduce_sum(tf.square(first[0])) + tf.reduce_sum(tf.sin(first[1]) * first[2])
        with tf.Session() as session:
            results.append(session.run([*first, *tf.gradients(total, inputs)]))
    for have, want in zip(*results):
        numpy.testing.assert_allclose(have, want, rtol=2e-3, atol=2e-3 * numpy.abs(want).max())


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="scale must have the same number of elements"):
        tf.nn.fused_batch_norm(images("NHWC"), numpy.ones(4, "float32"), numpy.ones(5, "float32"))


def test_layers_use_it():
    x = images("NHWC")
    y = tf.layers.batch_normalization(tf.constant(x), momentum=0.5, training=True)
    assert "FusedBatchNormV3" in [o.type for o in tf.get_default_graph().get_operations()]
    mean, spread = tf.global_variables()[2:]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    want = normalized(x, numpy.ones(5), numpy.zeros(5), "NHWC", 0.001)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        numpy.testing.assert_allclose(session.run(y), want[0], atol=1e-4)
        session.run(updates)
        numpy.testing.assert_allclose(session.run(mean), want[1] / 2, rtol=1e-4)
        numpy.testing.assert_allclose(session.run(spread), (1 + want[2]) / 2, rtol=1e-4)


def test_keras_uses_it_and_half_precision(python):
    result = python("""
import numpy
import situ as tf
x = numpy.random.RandomState(0).randn(4, 3, 3, 2).astype("float32")
layer = tf.keras.layers.BatchNormalization(momentum=0.0)
y = layer(x, training=True)
numpy.testing.assert_allclose(numpy.mean(y, (0, 1, 2)), 0, atol=1e-6)
numpy.testing.assert_allclose(layer.moving_variance, x.var((0, 1, 2)) * 36 / 35, rtol=1e-5)
numpy.testing.assert_allclose(layer(x), (x - x.mean((0, 1, 2))) / numpy.sqrt(
    x.var((0, 1, 2)) * 36 / 35 + 1e-3), rtol=1e-4, atol=1e-5)
half = tf.raw_ops.FusedBatchNormV3(x=tf.cast(x, "float16"), scale=[1.0, 2.0], offset=[0.0, 1.0],
                                   mean=tf.zeros([0]), variance=tf.zeros([0]))
numpy.testing.assert_allclose(numpy.mean(numpy.asarray(half[0], "float32"), (0, 1, 2)), [0, 1],
                              atol=2e-3)
with tf.GradientTape() as tape:
    v = tf.Variable(x)
    loss = tf.reduce_sum(layer(v, training=True) ** 3)
print(tape.gradient(loss, v).shape)
""")
    assert result.out.strip() == "(4, 3, 3, 2)", result.err
