# SPDX-License-Identifier: Apache-2.0
"""test_positional_arguments.py: TensorFlow 1 and 2 order the arguments of some functions
differently; each style has its own order. The arguments in question are obeyed. The expected values
are TensorFlow's."""

import numpy as np
import pytest

import situ as tf

X = np.arange(12, dtype="f").reshape(3, 4)


def test_types_follow_the_axis_and_the_type():
    assert tf.argmax(X, 0, tf.int32).dtype == tf.argmin(X, 1, tf.int32).dtype == tf.int32
    assert tf.convert_to_tensor(1, None, tf.float32).dtype == tf.float32
    with pytest.raises(TypeError, match="dimension"):
        tf.argmax(X, dimension=0)


def test_strings():
    assert tf.strings.length(["é", "ab"], "UTF8_CHAR").numpy().tolist() == [1, 2]
    first, second = tf.io.decode_csv(["1,NA"], [[0], [9]], ",", True, "NA")
    assert (first.numpy().tolist(), second.numpy().tolist()) == ([1], [9])
    (only,) = tf.io.decode_csv(["1,2"], [[9]], ",", True, "", [1])
    assert only.numpy().tolist() == [2]
    assert tf.compat.as_str_any(value=3) == "3" and tf.compat.as_str_any(b"a") == "a"


def test_moments_and_segments():
    mean, variance = tf.nn.weighted_moments(X, [0], [[1.0], [2.0], [3.0]], True)
    assert mean.shape == variance.shape == (1, 4)
    for function in (tf.sparse.segment_sum, tf.sparse.segment_mean, tf.sparse.segment_sqrt_n):
        assert function(X, [0, 1], [0, 2], 5).numpy()[:, 1].tolist() == [1, 0, 5, 0, 0]


def test_arguments_that_cannot_change_a_result():
    assert tf.transpose(X, [1, 0], False).shape == (4, 3)
    assert tf.tuple([tf.constant(1)], None, "n")[0].numpy() == 1
    assert abs(float(tf.nn.gelu(features=1.0)) - 0.8413) < 1e-4


def test_messages():
    with pytest.raises(ValueError, match="^told"):
        tf.debugging.assert_scalar([1.0], "told")
    with pytest.raises(tf.errors.InvalidArgumentError, match="told"):
        tf.debugging.assert_none_equal([1.0], [1.0], 3, "told")


def test_gradients_have_no_colocation():
    with tf.Graph().as_default():
        x = tf.constant(3.0)
        y = x * x
        (slope,) = tf.gradients(y, [x], None, "g", False, None, [y])
        assert slope is None


def test_names_come_first_in_graph_style():
    v1, mask = tf.compat.v1, [True, False, True]
    boxes = np.array([[[0, 0, 0.9, 0.9]]], "f")
    sparse = tf.sparse.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 4])
    assert v1.sparse_reduce_sum(sparse, None, None, [1]).numpy().tolist() == [1, 2]
    with tf.Graph().as_default() as graph:
        assert v1.boolean_mask(X, mask, "mask").shape == (None, 4)
        assert v1.boolean_mask(X, [*mask, True], "columns", 1).name.startswith("columns/")
        assert v1.shape(X, "sizes", tf.int64).name == "sizes:0"
        assert v1.depth_to_space(np.ones((1, 1, 1, 4), "f"), 2, "deep").name == "deep:0"
        assert v1.space_to_depth(np.ones((1, 2, 2, 1), "f"), 2, "flat", "NHWC").name == "flat:0"
        assert v1.nn.crelu(X, "both", 0).shape == (6, 4)
        assert graph.get_tensor_by_name("both/Relu:0").shape == (6, 4)
        assert v1.image.draw_bounding_boxes(np.zeros((1, 4, 4, 3), "f"), boxes, "boxes").shape
        assert v1.size(X, "count", tf.int64).name == "count:0"
        x = tf.constant([1.0, 2.0])
        assert v1.hessians(tf.reduce_sum(x**2), [x], "second")[0].shape == (2, 2)


def test_transpose_of_linalg_keeps_the_batch():
    assert tf.compat.v1.linalg.transpose(np.zeros((2, 3, 4), "f"), "name").shape == (2, 4, 3)


def test_letters_beyond_ascii():
    assert tf.strings.lower(["É"], "utf-8").numpy()[0].decode() == "é"
    assert tf.strings.upper(["éa"], "utf-8").numpy()[0].decode() == "ÉA"
    assert tf.strings.upper(["éa"]).numpy()[0].decode() == "éA"
    with pytest.raises(tf.errors.InvalidArgumentError, match="latin1"):
        tf.strings.lower(["É"], "latin1")


def test_names_of_decayed_learning_rates():
    train = tf.compat.v1.train
    with tf.Graph().as_default():
        assert train.natural_exp_decay(0.1, 9, 5, 0.5, True, "a").name == "a:0"
        assert train.linear_cosine_decay(0.1, 9, 10, 0.5, 0.1, 0.01, "b").name == "b:0"
        assert train.cosine_decay_restarts(0.1, 9, 5, 1.5, 0.8, 0.1, "c").name == "c:0"


def test_sufficient_statistics_return_the_shift_as_a_tensor():
    assert tf.nn.sufficient_statistics(X, [0], 2.0)[3].dtype == tf.float32


def test_soft_suppression_keeps_boxes_that_overlap():
    boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [2.0, 2.0, 3.0, 3.0]]
    indices, scores = tf.image.non_max_suppression_with_scores(
        boxes, [0.9, 0.8, 0.1], 3, 0.3, 0.05, 0.5
    )
    assert indices.numpy().tolist() == [0, 1, 2]
    np.testing.assert_allclose(scores, [0.9, 0.4096, 0.1], rtol=1e-3)


def test_attention():
    x = np.arange(24, dtype="f").reshape(2, 3, 4) / 24
    layer = tf.keras.layers.Attention(True, "concat")
    made = layer([x, x * 2]).numpy()
    np.testing.assert_allclose(made[0, 0], [0.519, 0.6024, 0.6857, 0.769], rtol=1e-3)
    masks = [np.array([[True, False, True]] * 2), np.array([[True, True, False]] * 2)]
    for layer in (tf.keras.layers.Attention(), tf.keras.layers.AdditiveAttention(False)):
        assert not layer([x, x], mask=masks).numpy()[:, 1].any()
    with pytest.raises(ValueError, match="score_mode"):
        tf.keras.layers.Attention(score_mode="sum")


def test_spatial_dropout_of_channels_first():
    layer = tf.keras.layers.SpatialDropout2D(0.5, "channels_first", 3)
    made = layer(np.ones((4, 5, 3, 2), "f"), training=True).numpy()
    assert (made == made[:, :, :1, :1]).all() and len(np.unique(made)) == 2
    assert layer.get_config()["data_format"] == "channels_first"


def test_old_names_of_arguments():
    v1 = tf.compat.v1
    assert v1.debugging.assert_all_finite(t=X, msg="told").shape == (3, 4)
    drawn = v1.random.stateless_multinomial([[1.0, 2.0]], 3, [1, 2], output_dtype=tf.int32)
    assert drawn.dtype == tf.int32


def test_too_many_or_repeated_arguments():
    with pytest.raises(TypeError, match="at most 4 positional arguments but 5"):
        tf.argmax(X, 0, tf.int32, "n", 1)
    with pytest.raises(TypeError, match="multiple values for argument 'axis'"):
        tf.argmax(X, 0, axis=1)


def test_names_of_results():
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        assert tf.reduce_logsumexp(X, 1, True, "a").name == "a:0"
        assert tf.reduce_logsumexp(X, 1, name="b").name == "b:0"
        assert tf.histogram_fixed_width([1.0], [0.0, 5.0], 3, tf.int64, "c").name == "c:0"
        assert v1.summary.scalar("d", tf.constant(1.0), family="f").name == "f/d:0"
        statistics = tf.nn.sufficient_statistics(X, [0], 2.0, True, "s")
        assert [t.name for t in statistics[1:]] == ["s/mean_ss:0", "s/var_ss:0", "s/shift:0"]


def test_no_argument_of_keras_takes_the_place_of_another():
    layers = tf.keras.layers
    with pytest.raises(TypeError, match="positional"):
        layers.GRUCell(2, "tanh", "sigmoid", True, "zeros", "zeros", "zeros", "l2")
    with pytest.raises(TypeError, match="positional"):
        layers.DepthwiseConv2D(2, 1, "same", 1, None, 1, None, True, "zeros", "ones")


def test_gather_of_one_replica():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    assert strategy.gather(tf.constant([1.0, 3.0]), 0).numpy().tolist() == [1, 3]
