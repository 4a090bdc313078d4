# SPDX-License-Identifier: Apache-2.0
"""test_ctc_labels.py: repeated and unique labels of CTC."""

import situ as tf


def test_repeated_labels_are_merged():
    labels = tf.constant([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0], [1, 2, 3, 4, 5]], tf.int64)
    merged, lengths = tf.nn.collapse_repeated(labels, [5, 3, 2])
    assert merged.numpy().tolist() == [[1, 2, 1], [3, 0, 0], [1, 2, 0]]
    assert lengths.numpy().tolist() == [3, 1, 2]
    assert merged.dtype == tf.int64 and lengths.dtype == tf.int32


def test_unique_labels():
    unique, index = tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 1, 0]])
    assert unique.numpy().tolist() == [[3, 4, 0, 0], [1, 0, 0, 0]]
    assert index.numpy().tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]
