# SPDX-License-Identifier: Apache-2.0
"""test_layer_properties.py: layers of tf.layers: losses, names and scopes, output shapes and errors
of arguments."""

import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_losses():
    dense = tf.layers.Dense(
        2,
        kernel_regularizer=tf.nn.l2_loss,
        activity_regularizer=lambda x: tf.reduce_sum(x) * 0.1,
        name="d",
    )
    dense(tf.ones([3, 4]))
    assert len(dense.losses) == 2
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == dense.losses
    dense(tf.ones([3, 4]))
    assert len(dense.losses) == 3
    dense.add_loss(tf.constant(1.0))
    assert len(dense.losses) == 4


def test_variables_that_are_not_trained():
    dense = tf.layers.Dense(2, trainable=False)
    dense(tf.ones([3, 4]))
    assert dense.trainable_variables == []
    assert dense.non_trainable_variables == dense.variables == [dense.kernel, dense.bias]
    assert dense.count_params() == 10


def test_names_and_scopes():
    first, second = tf.layers.Dense(2), tf.layers.Dense(2)
    assert (first.name, second.name) == ("dense_1", "dense_2")
    with pytest.raises(ValueError, match="has not been used yet"):
        first.scope_name
    assert first(tf.ones([3, 4])).op.name == "dense/BiasAdd"
    assert first(tf.ones([3, 4])).op.name == "dense/BiasAdd_1"
    for scope in ("own", "own_1"):
        layer = tf.layers.Dense(2, name="own")
        layer(tf.ones([3, 4]))
        assert (layer.name, layer.scope_name) == ("own", scope)
    tf.layers.dense(tf.ones([3, 4]), 2, name="function")
    with pytest.raises(ValueError, match="already exists"):
        tf.layers.dense(tf.ones([3, 4]), 2, name="function")


def test_output_shapes():
    dense = tf.layers.Dense(7)
    assert dense.compute_output_shape((None, 4, 3)).as_list() == [None, 4, 7]
    with pytest.raises(ValueError, match="innermost dimension"):
        dense.compute_output_shape((4, None))
    assert tf.layers.Flatten().compute_output_shape((2, 3, 4)).as_list() == [2, 12]
    x = tf.reshape(tf.range(12), [1, 2, 2, 3])
    flat = tf.layers.flatten(x, data_format="channels_first")
    with tf.Session() as session:
        assert session.run(flat).tolist() == [[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]]


@pytest.mark.parametrize(
    "layer, rank",
    [
        (tf.layers.Conv1D, 1),
        (tf.layers.Conv2D, 2),
        (tf.layers.Conv2DTranspose, 2),
        (tf.layers.Conv3D, 3),
        (tf.layers.Conv3DTranspose, 3),
        (tf.layers.SeparableConv1D, 1),
        (tf.layers.SeparableConv2D, 2),
    ],
)
def test_errors_of_windows(layer, rank):
    with pytest.raises(ValueError, match=f"`kernel_size` argument must be a tuple of {rank}"):
        layer(2, (1,) * (rank + 1))
    with pytest.raises(ValueError, match="`strides` argument must be a tuple"):
        layer(2, 3, strides=(1,) * (rank + 1))
    with pytest.raises(ValueError, match="`data_format` argument must be"):
        layer(2, 3, data_format="invalid")
    with pytest.raises(ValueError, match="`padding` argument must be"):
        layer(2, 3, padding="wide")
    assert layer(2, 3).kernel_size == (3,) * rank
