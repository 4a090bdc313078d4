# SPDX-License-Identifier: Apache-2.0
"""test_scatter_errors.py: updates of tf.scatter_nd and other scatter ops whose shape does not
match the indices or the tensor."""

import numpy
import pytest

import situ as tf

ERRORS = (ValueError, tf.errors.InvalidArgumentError)


@pytest.mark.parametrize("scatter", [tf.tensor_scatter_nd_update, tf.tensor_scatter_nd_add])
def test_dimensions_that_do_not_match(scatter):
    tensor = tf.zeros([2, 2, 2])
    with pytest.raises(ERRORS, match=r"Dimensions \[0,2\) of indices\[shape=\[3,2,2\]\]"):
        scatter(tensor, tf.zeros([3, 2, 2], tf.int32), tf.zeros([2, 2, 2]))
    with pytest.raises(ERRORS, match=r"Dimensions \[1,3\) of input\[shape=\[2,2,2\]\]"):
        scatter(tensor, tf.zeros([2, 2, 1], tf.int32), tf.zeros([2, 2]))


def test_scatter_nd():
    with pytest.raises(ERRORS, match=r"Dimensions \[0,1\) of indices\[shape=\[2,1\]\]"):
        tf.scatter_nd([[0], [1]], [1.0, 2.0, 3.0], [4])
    with pytest.raises(ERRORS, match="Indices and updates specified for empty output"):
        tf.scatter_nd(tf.zeros([2, 2, 2], tf.int32), tf.ones([2, 2, 2]), [0, 3, 2])
    with pytest.raises(ERRORS, match="Output must be at least 1-D"):
        tf.scatter_nd([[0]], [1.0], numpy.zeros([0], "int32"))
    assert tf.scatter_nd(tf.zeros([0, 1], tf.int32), tf.ones([0, 2]), [0, 2]).shape == [0, 2]
