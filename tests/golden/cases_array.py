# SPDX-License-Identifier: Apache-2.0
"""cases_array.py: arrays taken apart and put together, clipped, reduced."""


def numbers(tf, *shape):
    count = 1
    for size in shape:
        count *= size
    return tf.reshape(tf.cos(tf.range(float(count)) * 0.9) * 3, shape)


def updated(tf, function, *args):
    """A variable after an update of some rows."""
    variable = tf.Variable([[1., 2.], [3., 4.], [5., 6.]])
    with tf.control_dependencies([variable.initializer]):
        return getattr(tf, function)(variable, *args)


BOTH = {
    "clip_by_norm": lambda tf: [tf.clip_by_norm(numbers(tf, 3, 2), 2.0),
                                tf.clip_by_norm(numbers(tf, 3, 2), 2.0, axes=[1])],
    "clip_by_global_norm": lambda tf: list(tf.clip_by_global_norm(
        [numbers(tf, 3), numbers(tf, 2, 2)], 1.5)),
    "clip_by_value": lambda tf: tf.clip_by_value(numbers(tf, 5), -1, 2.0),
    "gather_nd": lambda tf: tf.gather_nd(numbers(tf, 3, 2), [[0, 1], [2, 0]]),
    "scatter_nd": lambda tf: tf.scatter_nd([[1], [3], [1]], [1., 2., 3.], [5]),
    "tensor_scatter": lambda tf: tf.tensor_scatter_nd_update(numbers(tf, 4), [[1], [2]],
                                                             [9., 8.]),
    "segments": lambda tf: [tf.math.unsorted_segment_sum(numbers(tf, 4), [0, 2, 0, -1], 3),
                            tf.math.segment_sum(numbers(tf, 4), [0, 0, 1, 2]),
                            tf.math.segment_mean(numbers(tf, 4), [0, 0, 1, 1]),
                            tf.math.unsorted_segment_max(numbers(tf, 4), [0, 1, 0, 1], 2)],
    "sequence_mask": lambda tf: [tf.sequence_mask([1, 3, 2]),
                                 tf.sequence_mask([1, 0], 4, tf.float32)],
    "roll": lambda tf: tf.roll(numbers(tf, 2, 3), [1, 2], [0, 1]),
    "repeat": lambda tf: [tf.repeat(numbers(tf, 2, 2), 2, axis=0), tf.repeat([1, 2], 3)],
    "meshgrid": lambda tf: tf.meshgrid([1, 2, 3], [4, 5]),
    "embedding_lookup": lambda tf: tf.nn.embedding_lookup(numbers(tf, 4, 2), [[1, 3], [0, 1]]),
    "where": lambda tf: [tf.where([[True, False], [True, True]]),
                         tf.where([True, False], [1, 2], [3, 4])],
    "boolean_mask": lambda tf: [tf.boolean_mask(numbers(tf, 3, 2), [True, False, True]),
                                tf.boolean_mask(numbers(tf, 2, 2), [[True, False], [False, True]])],
    "unique": lambda tf: [tf.unique([3, 1, 3, 2]), tf.unique_with_counts(["a", "b", "a"])],
    "partition": lambda tf: [tf.dynamic_partition(numbers(tf, 3, 2), [0, 1, 0], 2),
                             tf.dynamic_stitch([[0, 2], [1]], [[1., 3.], [2.]])],
    "bincount": lambda tf: tf.math.bincount([1, 1, 3]),
    "confusion": lambda tf: tf.math.confusion_matrix([0, 1, 1], [1, 1, 0]),
    "histogram": lambda tf: tf.histogram_fixed_width([0., .5, 1., 2., -3.], [0., 2.], nbins=4),
    "solve": lambda tf: [tf.linalg.inv([[4., 1.], [2., 3.]]), tf.linalg.det([[4., 1.], [2., 3.]]),
                         tf.linalg.solve([[4., 1.], [2., 3.]], [[1.], [2.]]),
                         tf.linalg.cholesky([[4., 2.], [2., 3.]])],
    "diagonal": lambda tf: [tf.linalg.diag_part(numbers(tf, 2, 3)), tf.linalg.diag([1., 2.]),
                            tf.linalg.band_part(numbers(tf, 3, 3), 0, 1)],
    "count_nonzero": lambda tf: tf.math.count_nonzero([[0, 1], [2, 3]], axis=0),
}

ARRAY_GRAPH = {
    **BOTH,
    "scatter_update": lambda tf: updated(tf, "scatter_update", [0, 2], [[9., 8.], [7., 6.]]),
    "scatter_add": lambda tf: updated(tf, "scatter_add", [0, 0], [[9., 8.], [7., 6.]]),
    "scatter_nd_sub": lambda tf: updated(tf, "scatter_nd_sub", [[0, 1], [2, 0]], [9., 8.]),
    "embedding_parts": lambda tf: tf.nn.embedding_lookup(
        [numbers(tf, 3, 2), numbers(tf, 2, 2) * 2], [0, 1, 4, 3]),
}
ARRAY_EAGER = dict(BOTH)
