# SPDX-License-Identifier: Apache-2.0
"""cases_gradient.py: gradients of functions of arrays, images and matrices."""
from cases_array import numbers
from cases_image import picture


def good(tf):
    """A matrix that has an inverse."""
    return numbers(tf, 3, 3) + 5.0 * tf.eye(3)


# A function of one tensor, and that tensor.
FUNCTIONS = {
    "gather_nd": (lambda tf, x: tf.gather_nd(x, [[0, 1], [2, 0], [0, 1]]),
                  lambda tf: numbers(tf, 3, 2)),
    "scatter_nd": (lambda tf, x: tf.scatter_nd([[1], [3], [1]], x, [5]),
                   lambda tf: numbers(tf, 3)),
    "segment_sum": (lambda tf, x: tf.math.unsorted_segment_sum(x, [0, 2, 0, -1], 3),
                    lambda tf: numbers(tf, 4, 2)),
    "segment_max": (lambda tf, x: tf.math.unsorted_segment_max(x, [0, 1, 0, 1], 2),
                    lambda tf: numbers(tf, 4, 2)),
    "embedding": (lambda tf, x: tf.nn.embedding_lookup(x, [1, 3, 1]), lambda tf: numbers(tf, 4, 2)),
    "bilinear": (lambda tf, x: tf.image.resize_bilinear(x, [5, 3]),
                 lambda tf: picture(tf, 1, 3, 4, 2)),
    "nearest": (lambda tf, x: tf.image.resize_nearest_neighbor(x, [5, 3]),
                lambda tf: picture(tf, 1, 3, 4, 2)),
    "standardization": (lambda tf, x: tf.image.per_image_standardization(x),
                        lambda tf: picture(tf, 3, 4, 2)),
    "crop_or_pad": (lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 3, 6),
                    lambda tf: picture(tf, 5, 4, 1)),
    "inverse": (lambda tf, x: tf.linalg.inv(x), good),
    "determinant": (lambda tf, x: tf.linalg.det(x), good),
    "solve": (lambda tf, x: tf.linalg.solve(x, [[1.], [2.], [3.]]), good),
    "triangular": (lambda tf, x: tf.linalg.triangular_solve(x, [[1.], [2.], [3.]]), good),
    "diag_part": (lambda tf, x: tf.linalg.diag_part(x), lambda tf: numbers(tf, 2, 3)),
    "band_part": (lambda tf, x: tf.linalg.band_part(x, 0, 1), lambda tf: numbers(tf, 3, 3)),
    "cumsum": (lambda tf, x: tf.cumsum(x, 1, exclusive=True, reverse=True),
               lambda tf: numbers(tf, 2, 3)),
    "cumprod": (lambda tf, x: tf.math.cumprod(x, 1), lambda tf: numbers(tf, 2, 3)),
    "mirror": (lambda tf, x: tf.pad(x, [[1, 1], [2, 0]], "REFLECT"), lambda tf: numbers(tf, 2, 3)),
    "einsum": (lambda tf, x: tf.einsum("bij,bkj->bik", x, numbers(tf, 2, 4, 3)),
               lambda tf: numbers(tf, 2, 2, 3)),
    "tensordot": (lambda tf, x: tf.tensordot(x, numbers(tf, 4, 3), [[1, 2], [1, 0]]),
                  lambda tf: numbers(tf, 2, 3, 4)),
    "logsumexp": (lambda tf, x: tf.reduce_logsumexp(x, 1), lambda tf: numbers(tf, 2, 3)),
    "clip_by_norm": (lambda tf, x: tf.clip_by_norm(x, 2.0), lambda tf: numbers(tf, 3, 2)),
    "boolean_mask": (lambda tf, x: tf.boolean_mask(x, [True, False, True]),
                     lambda tf: numbers(tf, 3, 2)),
    "partition": (lambda tf, x: tf.dynamic_partition(x, [0, 1, 0], 2)[0],
                  lambda tf: numbers(tf, 3, 2)),
    "stitch": (lambda tf, x: tf.dynamic_stitch([[0, 2], [1]], [x, [2.]]),
               lambda tf: numbers(tf, 2)),
    "reverse_sequence": (lambda tf, x: tf.reverse_sequence(x, [2, 3], seq_axis=1, batch_axis=0),
                         lambda tf: numbers(tf, 2, 3)),
    "check_numerics": (lambda tf, x: tf.debugging.check_numerics(x, "bad"),
                       lambda tf: numbers(tf, 3)),
}


def differentiate(function, make):
    """The gradient of a weighted sum of the results, which tells all elements apart."""
    def build(tf):
        x = make(tf)
        y = function(tf, x)
        return tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.sin(y) * y), x)[0])
    return build


GRADIENT_GRAPH = {name: differentiate(*pair) for name, pair in FUNCTIONS.items()}
