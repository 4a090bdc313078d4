# SPDX-License-Identifier: Apache-2.0
"""test_initializer_arguments.py: arguments of initializers: partitions, types and shapes."""

import pytest

import situ as tf


@pytest.mark.parametrize(
    "initializer",
    [
        tf.zeros_initializer(),
        tf.ones_initializer(),
        tf.constant_initializer(3.0, support_partition=True),
        tf.keras.initializers.Constant(3.0),
        tf.random_normal_initializer(),
        tf.random_uniform_initializer(),
        tf.keras.initializers.TruncatedNormal(),
        tf.keras.initializers.GlorotUniform(),
    ],
)
def test_a_part_of_a_variable(initializer):
    part = initializer((4, 2), tf.float32, partition_shape=(2, 2), partition_offset=(0, 0))
    assert part.shape == (2, 2)
    with pytest.raises(TypeError, match="Keyword argument should be one of .* Received: dtpye"):
        initializer((4, 2), dtpye=tf.float32)


@pytest.mark.parametrize(
    "initializer", [tf.keras.initializers.Identity(), tf.keras.initializers.Orthogonal()]
)
def test_initializers_of_whole_matrices(initializer):
    with pytest.raises(ValueError, match="doesn't support partition-related arguments"):
        initializer((4, 2), partition_shape=(2, 2), partition_offset=(0, 0))
    with pytest.raises(ValueError, match="floating point"):
        initializer((4, 2), tf.int32)
    with pytest.raises(ValueError, match="two-dimensional"):
        initializer((4,))


def test_other_arguments():
    with pytest.raises(ValueError, match="floating point"):
        tf.random_normal_initializer()((2,), tf.int32)
    with pytest.raises(ValueError, match="`scale` must be a positive float"):
        tf.keras.initializers.VarianceScaling(scale=0.0)
    with pytest.raises(ValueError, match="`mode` should be one of"):
        tf.keras.initializers.VarianceScaling(mode="fan")
    with pytest.raises(TypeError, match="Invalid type for initial value: dict"):
        tf.constant_initializer({})


@pytest.mark.parametrize(
    "name",
    [
        "random_normal",
        "truncated_normal",
        "variance_scaling",
        "uniform_unit_scaling",
        "orthogonal",
        "identity",
    ],
)
def test_types_of_initializers(name):
    make = getattr(tf.compat.v1.initializers, name)
    assert make(dtype=tf.float64).dtype == tf.float64
    for dtype in (tf.string, tf.int32):
        with pytest.raises(ValueError, match="expected to be floating point"):
            make(dtype=dtype)
