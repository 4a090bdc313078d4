# SPDX-License-Identifier: Apache-2.0
"""test_programs.py: calls as programs of TensorFlow 1 write them, that no other test has."""
import pytest

import situ.compat.v1 as tf


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def test_strided_slice_steps_by_one_unless_told():
    x = tf.constant([3, 4, 5, 6])
    part = tf.strided_slice(x, [1], [3])
    assert part.op.name == "StridedSlice" and part.shape.as_list() == [2]
    assert run(part).tolist() == [4, 5]
    assert run(tf.strided_slice(x, [3], [0], [-2])).tolist() == [6, 4]
