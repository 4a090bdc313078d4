# SPDX-License-Identifier: Apache-2.0
"""test_pooling.py: pooling of every kind: with argmax, over dilated windows, with paddings;
second derivatives; transposed 1-D and 3-D convolutions."""

import numpy as np
import pytest
from conftest import run_once as _run

import situ.compat.v1 as tf

IMAGE = np.array([[3.0, 1.0, 3.0], [0.0, 9.0, 2.0], [9.0, 4.0, 9.0]], "f")[None, :, :, None]

pytestmark = pytest.mark.usefixtures("graph")


def test_places_of_winners():
    x = tf.constant(np.concatenate([IMAGE, -IMAGE]))
    y, places = tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    assert places.dtype == tf.int64
    assert _run(y)[:, :, :, 0].tolist() == [[[9, 9], [9, 9]], [[0, -1], [0, -2]]]
    assert _run(places)[:, :, :, 0].tolist() == [[[4, 4], [4, 4]], [[3, 1], [3, 5]]]
    small = tf.nn.max_pool_with_argmax(
        x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", output_dtype=tf.int32, include_batch_in_index=True
    )[1]
    assert small.dtype == tf.int32
    assert _run(small)[:, :, :, 0].tolist() == [[[4, 2], [6, 8]], [[12, 14], [16, 17]]]
    grad = tf.gradients(y, x)[0]
    assert _run(grad)[0, :, :, 0].tolist() == [[0, 0, 0], [0, 4, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match="NHWC"):
        tf.nn.max_pool_with_argmax(x, 2, 2, "SAME", data_format="NCHW")


def test_places_of_winners_on_a_gpu(python):
    done = python(
        """
        import situ as tf
        with tf.device("/gpu:0"):
            y, places = tf.nn.max_pool_with_argmax(tf.reshape(tf.range(16.), [1, 4, 4, 1]), 3, 2,
                                                   "SAME")
            print(places.numpy().ravel().tolist(), "GPU" in places.device)
    """,
        gpus=1,
    )
    assert done.out == "[10, 11, 14, 15] True\n", done.err


@pytest.mark.parametrize("known", [True, False])
def test_windows_of_what_is_apart(known):
    value = np.random.rand(1, 7, 6, 2).astype("f")
    x = tf.constant(value) if known else tf.placeholder(tf.float32, [None, None, None, 2])
    feeds = {} if known else {x: value}
    made = _run(
        [tf.nn.pool(x, [2, 3], kind, "VALID", dilation_rate=[3, 2]) for kind in ("MAX", "AVG")],
        feeds,
    )
    for result, function in zip(made, (np.max, np.mean)):
        want = function([value[:, r : r + 4, c : c + 2] for r in (0, 3) for c in (0, 2, 4)], 0)
        np.testing.assert_allclose(result, want, rtol=1e-6)
    planes = _run(
        tf.nn.pool(
            tf.transpose(x, [0, 3, 1, 2]), [2, 2], "MAX", "SAME", strides=[2, 2], data_format="NCHW"
        ),
        feeds,
    )
    plain = _run(tf.nn.max_pool(x, 2, 2, "SAME"), feeds)
    assert planes.tolist() == plain.transpose([0, 3, 1, 2]).tolist()
    with pytest.raises(ValueError, match="'SAME' padding is not implemented"):
        tf.nn.pool(x, [2, 2], "MAX", "SAME", dilation_rate=[2, 2])


def test_rows_and_volumes():
    row = np.arange(10, dtype="f").reshape(1, 5, 2)
    assert _run(tf.nn.pool(row, [2], "MAX", "VALID", dilation_rate=[3])).tolist() == [
        [[6, 7], [8, 9]]
    ]
    box = np.arange(8, dtype="f").reshape(1, 2, 2, 2, 1)
    assert _run(tf.nn.pool(box, [2, 2, 2], "AVG", "VALID")).ravel().tolist() == [3.5]


def test_windows_do_not_lie_in_padding():
    for pads, side in (
        ([2, 0, 0, 0], "Top"),
        ([0, 2, 0, 0], "Bottom"),
        ([0, 0, 2, 0], "Left"),
        ([0, 0, 0, 2], "Right"),
    ):
        y = tf.nn.max_pool(IMAGE, 2, 1, [[0, 0], pads[:2], pads[2:], [0, 0]])
        text = side + " padding 2 needs to be smaller than the window size 2"
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            _run(y)


def _zero(name):
    return {
        "relu": tf.nn.relu,
        "relu6": tf.nn.relu6,
        "crelu": tf.nn.crelu,
        "leaky_relu": tf.nn.leaky_relu,
        "max_pool": lambda x: tf.nn.max_pool(x, 2, 2, "SAME"),
    }[name]


NAMES = ["relu", "relu6", "crelu", "leaky_relu", "max_pool"]


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_are_zeros(name):
    """Not None: a sum of losses would do without them, but an optimizer would leave x out."""
    x = tf.constant(IMAGE)
    first = tf.gradients(_zero(name)(x), x)[0]
    second = tf.gradients(first, x)[0]
    assert _run(second).tolist() == np.zeros_like(IMAGE).tolist()
    far = tf.gradients(tf.gradients(_zero(name)(tf.tanh(x) * 2), x)[0], x)[0]
    assert np.abs(_run(far)).max() > 0
    assert tf.gradients(tf.stop_gradient(first), x) == [None]


def test_zeros_go_through_ops_that_are_not_asked():
    x, w = tf.constant(IMAGE), tf.constant(2.0)
    hidden = tf.exp(x * w)
    first = tf.gradients(tf.nn.relu(hidden), hidden)[0]
    before = len(tf.get_default_graph().get_operations())
    second = tf.gradients(first, [x, w, hidden])
    assert [s.shape.as_list() for s in second] == [[1, 3, 3, 1], [], [1, 3, 3, 1]]
    assert all(not value.any() for value in _run(second))
    assert len(tf.get_default_graph().get_operations()) - before <= 10
    assert tf.gradients(first, [tf.constant(1.0)]) == [None]


def test_transposed_convolution_of_rows():
    x, taps = np.random.rand(2, 5, 3).astype("f"), np.random.rand(3, 4, 3).astype("f")
    for padding, width in ("SAME", 10), ("VALID", 11):
        made = tf.nn.conv1d_transpose(x, taps, [2, width, 4], 2, padding)
        size = tf.stack([2, width, 4])
        planes = tf.nn.conv1d_transpose(
            x.transpose([0, 2, 1]), taps, tf.gather(size, [0, 2, 1]), 2, padding, "NCW"
        )
        want = tf.nn.conv2d_transpose(
            x[:, None], taps[None], [2, 1, width, 4], [1, 1, 2, 1], padding
        )
        found = _run([made, planes, want])
        assert made.shape.as_list() == [2, width, 4]
        np.testing.assert_allclose(found[0], found[2][:, 0], rtol=1e-6)
        np.testing.assert_allclose(found[1], found[0].transpose([0, 2, 1]), rtol=1e-6)


def test_quotients_of_integers():
    made = tf.math.divide_no_nan([1, 2, 3], [2, 0, 4])
    assert made.dtype == tf.float64 and _run(made).tolist() == [0.5, 0, 0.75]


def test_max_over_channels():
    x = tf.constant(np.arange(24, dtype="f").reshape([1, 2, 2, 6]))
    window = [1, 1, 1, 3]
    y = tf.nn.max_pool(x, window, window, "SAME")
    assert y.shape == [1, 2, 2, 2]
    assert _run(y).ravel().tolist() == [2, 5, 8, 11, 14, 17, 20, 23]
    unknown = tf.placeholder(tf.float32, [None, 2, 2, 6])
    assert tf.nn.max_pool(unknown, window, window, "SAME").shape.as_list() == [None, 2, 2, 2]
    for size, strides, message in (
        ([1, 2, 2, 2], [1, 1, 1, 2], "exactly one of pooling across depth"),
        ([1, 1, 1, 2], [1, 1, 1, 1], "depth window to equal the depth stride"),
        ([1, 1, 1, 4], [1, 1, 1, 4], "evenly divide"),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match=message):
            _run(tf.nn.max_pool(x, size, strides, "SAME"))
    with pytest.raises(tf.errors.UnimplementedError, match="data format NHWC"):
        _run(tf.nn.max_pool(x, [1, 2, 1, 1], [1, 2, 1, 1], "SAME", data_format="NCHW"))
    with pytest.raises(tf.errors.UnimplementedError, match="depth"):
        _run(tf.nn.avg_pool(x, window, window, "SAME"))


def test_sizes_that_are_tensors():
    x = tf.constant(IMAGE)
    size, strides = tf.constant([1, 2, 2, 1]), tf.placeholder(tf.int32, [4])
    y = tf.raw_ops.MaxPoolV2(input=x, ksize=size, strides=strides, padding="VALID")
    assert y.shape.as_list() == [1, None, None, 1]
    grad = tf.gradients(y, x)[0]
    second = tf.gradients(tf.reduce_sum(grad * x), grad)[0]
    with tf.Session() as session:
        for step, want in ((1, [[9, 9], [9, 9]]), (2, [[9]])):
            got, dx, ddy = session.run([y, grad, second], {strides: [1, step, step, 1]})
            assert got[0, :, :, 0].tolist() == want
            assert dx[0, :, :, 0].tolist() == [[0, 0, 0], [0, 4 if step == 1 else 1, 0], [0, 0, 0]]
            assert ddy[0, :, :, 0].tolist() == IMAGE[0, :, :, 0].tolist()
    with pytest.raises(ValueError, match="must specify 4 dimensions|shape"):
        tf.raw_ops.MaxPoolV2(input=x, ksize=[2, 2], strides=[1, 1, 1, 1], padding="SAME")
