# SPDX-License-Identifier: Apache-2.0
"""test_nn.py: tf.nn, tf.layers and tf.contrib.layers against NumPy, in both styles."""

import numpy as np
import pytest

import situ
import situ.compat.v1 as tf

RNG = np.random.RandomState(7)
IMAGES = RNG.rand(2, 6, 5, 3).astype("f")
FILTER = RNG.rand(3, 3, 3, 4).astype("f") - 0.5


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(*fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got = sess.run(list(fetches), feeds or {})
    return got[0] if len(fetches) == 1 else got


def convolved(x, taps, stride=1):
    """SAME, by hand."""
    n, h, w, _ = x.shape
    kh, kw, _, out = taps.shape
    rows, cols = -(-h // stride), -(-w // stride)
    up = max(0, (rows - 1) * stride + kh - h)
    side = max(0, (cols - 1) * stride + kw - w)
    wide = np.pad(x, [(0, 0), (up // 2, up - up // 2), (side // 2, side - side // 2), (0, 0)])
    y = np.zeros((n, rows, cols, out))
    for i in range(rows):
        for j in range(cols):
            part = wide[:, i * stride : i * stride + kh, j * stride : j * stride + kw]
            y[:, i, j] = np.tensordot(part, taps, 3)
    return y


def close(got, want, most=1e-4):
    np.testing.assert_allclose(got, want, atol=most, rtol=most)


@pytest.mark.parametrize("stride", [1, 2])
def test_conv2d_and_its_forms(stride):
    want = convolved(IMAGES, FILTER, stride)
    close(run(tf.nn.conv2d(IMAGES, FILTER, [1, stride, stride, 1], "SAME")), want)
    planes = tf.nn.conv2d(
        IMAGES.transpose(0, 3, 1, 2), FILTER, [1, 1, stride, stride], "SAME", data_format="NCHW"
    )
    close(run(planes).transpose(0, 2, 3, 1), want)
    valid = tf.nn.conv2d(IMAGES, filters=FILTER, strides=stride, padding="VALID")
    assert valid.shape.as_list() == [2, -(-4 // stride), -(-3 // stride), 4]


def test_conv1d_is_a_row_of_conv2d():
    x, taps = IMAGES[:, 0], FILTER[1]
    want = convolved(x[:, None], taps[None])[:, 0]
    close(run(tf.nn.conv1d(x, taps, 1, "SAME")), want)


def test_transposed_convolution_is_the_gradient():
    y = tf.constant(RNG.rand(2, 3, 3, 4).astype("f"))
    made = tf.nn.conv2d_transpose(y, FILTER, [2, 6, 5, 3], [1, 2, 2, 1], "SAME")
    x = tf.constant(IMAGES)
    forward = tf.nn.conv2d(x, FILTER, [1, 2, 2, 1], "SAME")
    a, b = run(tf.reduce_sum(made * x), tf.reduce_sum(forward * y))
    close(a, b, 1e-3)


def test_depthwise_and_separable():
    taps = RNG.rand(3, 3, 3, 2).astype("f")
    want = np.concatenate(
        [convolved(IMAGES[..., c : c + 1], taps[:, :, c : c + 1]) for c in range(3)], -1
    )
    close(run(tf.nn.depthwise_conv2d(IMAGES, taps, [1, 1, 1, 1], "SAME")), want)
    point = RNG.rand(1, 1, 6, 5).astype("f")
    made = tf.nn.separable_conv2d(IMAGES, taps, point, [1, 1, 1, 1], "SAME")
    close(run(made), want @ point[0, 0])


def test_pooling():
    largest, mean = run(
        tf.nn.max_pool(IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        tf.nn.avg_pool(IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
    )
    parts = IMAGES[:, :6, :4].reshape(2, 3, 2, 2, 2, 3)
    close(largest, parts.max((2, 4)))
    close(mean, parts.mean((2, 4)))


def given_back(x, dy, size, stride, pads):
    """The gradient of max pooling: that of each window is added to its first maximum."""
    dx = np.zeros_like(x)
    for n, i, j, c in np.ndindex(dy.shape):
        top, left = i * stride[0] - pads[0], j * stride[1] - pads[1]
        places = [
            (r, k)
            for r in range(top, top + size[0])
            for k in range(left, left + size[1])
            if 0 <= r < x.shape[1] and 0 <= k < x.shape[2]
        ]
        largest = max(x[n, r, k, c] for r, k in places)
        r, k = next(at for at in places if x[n, at[0], at[1], c] == largest)
        dx[n, r, k, c] += dy[n, i, j, c]
    return dx


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "size, stride",
    [
        ((3, 3), (2, 2)),
        ((2, 2), (2, 2)),
        ((2, 3), (1, 2)),
        ((5, 4), (2, 1)),
        ((1, 1), (3, 2)),
        ((3, 7), (4, 3)),
    ],
)
def test_gradient_of_max_pooling(size, stride, kind):
    for channels in (3, 16, 37):
        x = RNG.randint(0, 4, [2, 9, 8, channels]).astype(kind)  # with many that are equal
        image = tf.constant(x)
        y = tf.nn.max_pool(image, [1, *size, 1], [1, *stride, 1], "SAME")
        dy = RNG.randint(-8, 8, y.shape.as_list()).astype(kind)
        pads = [
            max(0, (out - 1) * by + k - full) // 2
            for out, by, k, full in zip(dy.shape[1:3], stride, size, x.shape[1:3])
        ]
        got = run(tf.gradients(y, image, tf.constant(dy))[0])
        np.testing.assert_array_equal(got, given_back(x, dy, size, stride, pads))


def test_gradient_of_max_pooling_of_large_images():
    for wide, channels in [(640, 64), (4, 5000), (9000, 8)]:
        x = RNG.randint(0, 9, [1, 4, wide, channels]).astype("f")
        if x.size * 4 < 16 << 20:
            x = np.concatenate([x] * ((16 << 20) // (x.size * 4) + 1))  # too large for the cache
        image = tf.constant(x)
        y = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        got = run(tf.gradients(y, image)[0])
        parts = x.reshape(len(x), 2, 2, wide // 2, 2, channels).transpose(0, 1, 3, 5, 2, 4)
        first = parts.reshape(*parts.shape[:4], 4).argmax(-1)
        want = np.eye(4, dtype="f")[first].reshape(parts.shape).transpose(0, 1, 4, 2, 5, 3)
        np.testing.assert_array_equal(got, want.reshape(x.shape))


def test_what_is_not_a_number_wins_where_it_is_first():
    """As in TensorFlow: nothing is larger than it, and it is not larger than anything."""
    x = np.ones([1, 4, 4, 32], "f")
    x[0, 0, 0, 5] = x[0, 3, 3, 6] = np.nan
    image = tf.constant(x)
    y = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    largest, got = run(y, tf.gradients(y, image)[0])
    assert np.isnan(largest[0, 0, 0, 5]) and largest[0, 1, 1, 6] == 1
    np.testing.assert_array_equal(
        got,
        np.where(np.indices(x.shape)[1:3].sum(0) % 2, 0, 1)
        * np.where(np.indices(x.shape)[1] % 2, 0, 1),
    )


@pytest.mark.parametrize("planes", [False, True])
def test_second_derivative_of_max_pooling(planes):
    x = RNG.randint(0, 4, [2, 3, 7, 6]).astype("f")
    image = tf.constant(x)
    size = [1, 1, 3, 2] if planes else [1, 3, 2, 1]
    y = tf.nn.max_pool(image, size, size, "VALID", data_format="NCHW" if planes else "NHWC")
    first = tf.gradients(tf.reduce_sum(y**3), image)[0]  # 3 y^2 at the winners
    second = tf.gradients(first, image)[0]  # 6 y there
    made, got = run(y, second)
    weights = tf.constant(RNG.randn(*made.shape).astype("f"))
    given = run(tf.gradients(tf.gradients(y * weights, image)[0] * image, weights)[0])
    assert got.sum() == 6 * made.sum() and (got[got != 0] == 6 * x[got != 0]).all()
    np.testing.assert_array_equal(given, made)


def near(x, radius):
    """Returns the sums over the channels within a radius."""
    last = x.shape[-1]
    parts = [x[..., max(0, c - radius) : c + radius + 1].sum(-1) for c in range(last)]
    return np.stack(parts, -1)


@pytest.mark.parametrize("beta", [0.75, 0.5, 0.3])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_local_response_normalization(kind, beta):
    for channels, radius in [(3, 5), (33, 0), (33, 2), (64, 4), (70, 9), (600, 7), (5, 1)]:
        x, dy = RNG.randn(2, 2, 3, 5, channels).astype(kind)
        image = tf.constant(x)
        y = tf.nn.lrn(image, radius, bias=1.5, alpha=0.25, beta=beta)
        got, dx = run(y, tf.gradients(y, image, tf.constant(dy))[0])
        x, dy = x.astype("d"), dy.astype("d")
        scale = 1.5 + 0.25 * near(x * x, radius)
        want = x * scale**-beta
        close(got, want, 5e-3 if kind == "float16" else 1e-5)
        others = near(dy * want / scale, radius)
        close(dx, dy * scale**-beta - 0.5 * beta * x * others, 2e-2 if kind == "float16" else 1e-5)


@pytest.mark.parametrize("bias", [1.0, 0.0])
def test_normalization_of_special_values(bias):
    x = np.ones([1, 1, 30, 16], "f")
    x[0, 0, 3, 7], x[0, 0, 5, 2], x[0, 0, 7, 1] = np.nan, np.inf, 1e25
    x[0, 0, 9], x[0, 0, 11] = 0, 1e-18
    for radius in (2, 4):
        got = run(tf.nn.lrn(tf.constant(x), radius, bias=bias, alpha=0.25, beta=0.75))
        with np.errstate(all="ignore"):
            scale = bias + 0.25 * near(x * x, radius).astype("d")
            want = x * scale**-0.75
        np.testing.assert_allclose(got, want, 1e-5)


def test_cross_entropies():
    logits = RNG.randn(4, 5).astype("f")
    labels = np.array([0, 4, 2, 2])
    log = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    want = -log[range(4), labels]
    dense = np.eye(5, dtype="f")[labels]
    for made in (
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits),
        tf.nn.softmax_cross_entropy_with_logits(labels=dense, logits=logits),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=dense, logits=logits),
    ):
        close(run(made), want)
    deep = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels.reshape(2, 2), logits=logits.reshape(2, 2, 5)
    )
    close(run(deep), want.reshape(2, 2))
    sig = tf.nn.sigmoid_cross_entropy_with_logits(labels=dense, logits=logits)
    p = 1 / (1 + np.exp(-logits))
    close(run(sig), -dense * np.log(p) - (1 - dense) * np.log(1 - p))
    close(
        run(tf.nn.weighted_cross_entropy_with_logits(dense, logits, 3.0)),
        -3 * dense * np.log(p) - (1 - dense) * np.log(1 - p),
    )
    with pytest.raises(ValueError, match="named arguments"):
        tf.nn.softmax_cross_entropy_with_logits(dense, logits)
    with pytest.raises(tf.errors.InvalidArgumentError, match="label value of 7"):
        run(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[7], logits=logits[:1]))


def test_softmax_along_an_axis():
    x = RNG.randn(2, 3, 4).astype("f")
    want = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    close(run(tf.nn.softmax(x, axis=1)), want)
    close(run(tf.nn.log_softmax(x, axis=-2)), np.log(want))


def test_top_k():
    x = np.array([[3.0, 9.0, 1.0, 9.0]], "f")
    values, indices = run(*tf.nn.top_k(x, 3))
    assert values.tolist() == [[9, 9, 3]] and indices.tolist() == [[1, 3, 0]]
    assert run(tf.nn.in_top_k(x, [0], 2)).tolist() == [False]
    assert run(tf.nn.in_top_k(x, [3], 1)).tolist() == [True]


def test_moments_and_normalisation():
    mean, variance = tf.nn.moments(tf.constant(IMAGES), [0, 1, 2])
    y = tf.nn.batch_normalization(
        tf.constant(IMAGES), mean, variance, [1.0, 2, 3], [4.0, 5, 6], 1e-3
    )
    a, b = IMAGES.mean((0, 1, 2)), IMAGES.var((0, 1, 2))
    close(run(y), (IMAGES - a) / np.sqrt(b + 1e-3) * [4, 5, 6] + [1, 2, 3])
    made, m, v = tf.nn.fused_batch_norm(IMAGES, [4.0, 5, 6], [1.0, 2, 3])
    got = run(made, m, v)
    close(got[0], (IMAGES - a) / np.sqrt(b + 1e-3) * [4, 5, 6] + [1, 2, 3])
    close(got[2], b * 60 / 59)
    x = np.array([[3.0, 4.0]], "f")
    close(run(tf.nn.l2_normalize(x, 1)), [[0.6, 0.8]])


def test_dropout_keeps_the_mean():
    x = tf.ones([100, 100])
    for made in (
        tf.nn.dropout(x, 0.25, seed=1),
        tf.nn.dropout(x, rate=0.75, seed=1),
        tf.nn.dropout(x, tf.constant(0.25), seed=1),
    ):
        got = run(made)
        assert set(np.unique(got)) == {0.0, 4.0}
        assert abs(got.mean() - 1) < 0.1
    assert tf.nn.dropout(x, 1.0) is x
    with pytest.raises(ValueError, match="range"):
        tf.nn.dropout(x, 0.0)


def test_layers_make_variables():
    x = tf.placeholder(tf.float32, [None, 6, 5, 3])
    y = tf.layers.conv2d(x, 8, 3, padding="same", activation=tf.nn.relu)
    y = tf.layers.max_pooling2d(y, 2, 2)
    y = tf.layers.batch_normalization(y, training=True)
    y = tf.layers.flatten(y)
    y = tf.layers.dense(y, 10, name="last")
    y = tf.layers.dropout(y, 0.5, training=False)
    names = [v.name for v in tf.global_variables()]
    assert names == [
        "conv2d/kernel:0",
        "conv2d/bias:0",
        "batch_normalization/gamma:0",
        "batch_normalization/beta:0",
        "batch_normalization/moving_mean:0",
        "batch_normalization/moving_variance:0",
        "last/kernel:0",
        "last/bias:0",
    ]
    assert len(tf.trainable_variables()) == 6
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2
    assert run(y, feeds={x: IMAGES}).shape == (2, 10)
    again = tf.layers.dense(tf.zeros([1, 48]), 10, name="last", reuse=True)
    assert again.shape.as_list() == [1, 10] and len(tf.global_variables()) == 8


def test_a_layer_is_used_twice():
    layer = tf.layers.Dense(4, use_bias=False)
    a, b = layer(tf.ones([1, 3])), layer(tf.ones([2, 3]))
    one, two = run(a, b)
    close(two, np.repeat(one, 2, 0))
    assert [v.name for v in tf.global_variables()] == ["dense/kernel:0"]


def test_batch_normalization_by_averages():
    x, training = tf.placeholder(tf.float32, [4, 2]), tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, momentum=0.5, training=training)
    value = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], "f")
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        close(sess.run(y, {x: value, training: False}), value / np.sqrt(1.001))
        got, _ = sess.run([y, updates], {x: value, training: True})
        close(got, (value - [4, 5]) / np.sqrt(5.001))
        sess.run(updates, {x: value, training: False})
        means = [v for v in tf.global_variables() if "moving_mean" in v.name]
        close(sess.run(means[0]), [2, 2.5])


def test_contrib_layers():
    x = tf.constant(IMAGES)
    y = tf.contrib.layers.conv2d(x, 4, 3, weights_regularizer=tf.contrib.layers.l2_regularizer(0.1))
    y = tf.contrib.layers.max_pool2d(y, 2)
    y = tf.contrib.layers.fully_connected(tf.contrib.layers.flatten(y), 7)
    assert [v.name for v in tf.global_variables()] == [
        "Conv/weights:0",
        "Conv/biases:0",
        "fully_connected/weights:0",
        "fully_connected/biases:0",
    ]
    assert run(y).shape == (2, 7) and run(y).min() >= 0
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


@pytest.mark.skipif(not hasattr(tf, "gradients"), reason="no tf.gradients")
def test_gradients_reach_the_filters():
    x, taps = tf.constant(IMAGES), tf.Variable(FILTER, use_resource=False)
    y = tf.nn.conv2d(x, taps, [1, 1, 1, 1], "SAME")
    y = tf.nn.lrn(tf.nn.relu(y), 2, bias=1.0, alpha=0.1, beta=0.75)
    y = tf.nn.max_pool(y, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    loss = tf.nn.l2_loss(y)
    grad = tf.gradients(loss, [taps])[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got = sess.run(grad)
        for at in [(0, 0, 0, 0), (1, 2, 1, 3), (2, 2, 2, 1)]:
            ends = []
            for step in (1e-2, -1e-2):
                moved = FILTER.copy()
                moved[at] += step
                ends.append(sess.run(loss, {taps: moved}))
            close(got[at], (ends[0] - ends[1]) / 2e-2, 2e-2)


def test_eager_style(python):
    got = python("""
        import numpy as np
        import situ as tf
        x = np.ones([1, 4, 4, 2], 'f')
        print(tf.nn.conv2d(x, np.ones([3, 3, 2, 1], 'f'), 1, 'VALID').numpy().ravel().tolist())
        print(tf.nn.max_pool(x, 2, 2, 'VALID').shape, tf.nn.dropout(x, 0.0).shape)
        print(tf.nn.softmax_cross_entropy_with_logits([[0., 1.]], [[0., 0.]]).numpy())
        print(tf.nn.in_top_k([1], [[0.1, 0.9]], 1).numpy())
    """)
    assert got.code == 0, got.err
    assert got.out.splitlines()[0] == "[18.0, 18.0, 18.0, 18.0]"
    assert "0.6931" in got.out and "[ True]" in got.out


def test_wrong_shapes_are_told_while_building():
    with pytest.raises(ValueError, match="Negative dimension size"):
        tf.nn.conv2d(IMAGES, np.ones([7, 3, 3, 4], "f"), [1, 1, 1, 1], "VALID")
    with pytest.raises(ValueError, match="Depth of input"):
        tf.nn.conv2d(IMAGES, np.ones([3, 3, 2, 4], "f"), [1, 1, 1, 1], "SAME")
    assert situ.situ_version


def test_sampled_losses():
    tf.set_random_seed(3)
    weights, biases = tf.Variable(RNG.randn(50, 8).astype("f")), tf.Variable(np.zeros(50, "f"))
    labels, inputs = tf.constant([[1], [7]]), tf.constant(RNG.randn(2, 8).astype("f"))
    for loss in (tf.nn.nce_loss, tf.nn.sampled_softmax_loss):
        made = loss(weights, biases, labels, inputs, 10, 50)
        assert run(made).shape == (2,) and np.all(np.isfinite(run(made)))
    found = run(tf.nn.log_uniform_candidate_sampler([[1]], 1, 20, True, 40).sampled_candidates)
    assert len(set(found.tolist())) == 20 and found.min() >= 0 and found.max() < 40


def test_labels_of_another_rank_than_logits():
    with tf.Graph().as_default(), tf.Session() as sess:
        logits = tf.constant([[1.0, 2.0], [3.0, 1.0]])
        labels = tf.constant([[1.0, 0.0], [0.0, 1.0]])
        want = sess.run(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
        made = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[labels], logits=logits)
        assert sess.run(made).tolist() == want.tolist()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize(
    "call",
    [
        lambda y, x, axis: situ.nn.softmax_cross_entropy_with_logits(labels=y, logits=x, axis=axis),
        lambda y, x, axis: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x, dim=axis),
        lambda y, x, axis: tf.nn.softmax_cross_entropy_with_logits_v2(
            labels=y, logits=x, axis=axis
        ),
    ],
)
def test_cross_entropy_along_an_axis(call, axis):
    x, y = RNG.randn(2, 3, 4).astype("f"), RNG.rand(2, 3, 4).astype("f")
    expected = -(y * (x - np.log(np.exp(x).sum(axis, keepdims=True)))).sum(axis)
    with tf.Session() as session:
        for shape in ([2, 3, 4], [2, None, 4], None):
            fed = tf.placeholder("float32", shape)
            made = session.run(call(fed * 0 + y, fed, axis), {fed: x})
            np.testing.assert_allclose(made, expected, rtol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_sufficient_statistics_along_an_axis(axis):
    x = np.arange(6, dtype="f").reshape(2, 3)
    with tf.Session() as session:
        count, total, squares = session.run(tf.nn.sufficient_statistics(x, [axis])[:3])
    assert count == x.shape[axis]
    np.testing.assert_allclose(total, x.sum(axis))
    np.testing.assert_allclose(squares, (x * x).sum(axis))
