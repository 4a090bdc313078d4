# SPDX-License-Identifier: Apache-2.0
"""cases_math.py: sums along dimensions, products of tensors, margins, texts."""
from cases_array import numbers

LINES = ["1,2.5,a", "4,,\"b, c\""]


def csv(tf):
    decode = getattr(tf, "decode_csv", None) or tf.io.decode_csv
    return decode(LINES, [[0], [7.5], ["none"]])


def split(tf):
    parts = tf.string_split(["a b  c", "d"])
    return [parts.indices, parts.values, parts.dense_shape]


BOTH = {
    "cumsum": lambda tf: [tf.cumsum(numbers(tf, 2, 3), 1), tf.cumsum([1, 2, 3], exclusive=True),
                          tf.math.cumprod([1., 2., 3.], reverse=True)],
    "logsumexp": lambda tf: [tf.reduce_logsumexp(numbers(tf, 2, 3)),
                             tf.reduce_logsumexp(numbers(tf, 2, 3), 1),
                             tf.reduce_logsumexp(numbers(tf, 2, 3), 0, keepdims=True)],
    "deviation": lambda tf: [tf.math.reduce_std(numbers(tf, 2, 3), 1),
                             tf.math.reduce_variance(numbers(tf, 4))],
    "norm": lambda tf: [tf.norm(numbers(tf, 2, 3)), tf.norm(numbers(tf, 2, 3), 1, axis=1),
                        tf.norm(numbers(tf, 4), 3)],
    "einsum": lambda tf: [tf.einsum("ij,jk->ik", numbers(tf, 2, 3), numbers(tf, 3, 2)),
                          tf.einsum("bij,bkj->bik", numbers(tf, 2, 2, 3), numbers(tf, 2, 4, 3)),
                          tf.einsum("ij->ji", numbers(tf, 2, 3)),
                          tf.einsum("ij,ij->i", numbers(tf, 2, 3), numbers(tf, 2, 3)),
                          tf.einsum("i,j->ij", numbers(tf, 2), numbers(tf, 3)),
                          tf.einsum("ijk->", numbers(tf, 2, 3, 2))],
    "tensordot": lambda tf: [tf.tensordot(numbers(tf, 2, 3), numbers(tf, 3, 2), 1),
                             tf.tensordot(numbers(tf, 2, 3, 4), numbers(tf, 4, 3),
                                          [[1, 2], [1, 0]]),
                             tf.tensordot(numbers(tf, 2, 3), numbers(tf, 2, 3), 2)],
    "trace": lambda tf: tf.linalg.trace(numbers(tf, 3, 3)),
    "pad": lambda tf: [tf.pad(numbers(tf, 2, 3), [[1, 1], [2, 0]]),
                       tf.pad(numbers(tf, 2, 3), [[1, 1], [2, 0]], "REFLECT"),
                       tf.pad(numbers(tf, 2, 3), [[1, 1], [2, 0]], "SYMMETRIC"),
                       tf.pad([1, 2], [[1, 0]], constant_values=9)],
    "depth": lambda tf: [tf.nn.space_to_depth(numbers(tf, 1, 2, 4, 1), 2),
                         tf.nn.depth_to_space(numbers(tf, 1, 1, 2, 4), 2)],
    "linspace": lambda tf: tf.linspace(1.0, 2.0, 5),
    "eye": lambda tf: [tf.eye(2, 3), tf.eye(2, batch_shape=[2])],
    "decode_csv": csv,
    "to_number": lambda tf: [tf.strings.to_number(["1.5", "-2"]),
                             tf.strings.to_number(["7"], tf.int32)],
    "letters": lambda tf: [tf.strings.upper(["aBc"]), tf.strings.lower(["aBc"]),
                           tf.strings.strip([" a b "]), tf.strings.length(["", "abc"]),
                           tf.strings.join([["a", "b"], "c"], separator="-")],
    "base64": lambda tf: [tf.io.encode_base64(["hello?>", "ab"]),
                          tf.io.decode_base64("aGVsbG8_Pg")],
    "as_string": lambda tf: [tf.strings.as_string([1.5, -2.0]), tf.strings.as_string([True]),
                             tf.strings.as_string([3, 4], width=4, fill="0"),
                             tf.strings.as_string([3.14159], precision=2)],
    "sort": lambda tf: [tf.sort([[3., 1., 2.], [0., 5., 4.]]), tf.sort([3, 1, 2], 0, "DESCENDING"),
                        tf.argsort([[3., 1.], [2., 4.]], axis=0)],
    "reverse_sequence": lambda tf: [
        tf.reverse_sequence(numbers(tf, 2, 3), [2, 3], seq_axis=1, batch_axis=0),
        tf.reverse_sequence(numbers(tf, 3, 2, 2), [1, 3], seq_axis=0, batch_axis=1)],
    "check_numerics": lambda tf: tf.debugging.check_numerics(numbers(tf, 3), "bad"),
}

MATH_GRAPH = {
    **BOTH,
    "string_split": split,
    "sparse_to_dense": lambda tf: tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [3., 4.]),
    "batch": lambda tf: [tf.space_to_batch_nd(numbers(tf, 1, 4, 2, 1), [2, 2], [[0, 0], [0, 0]]),
                         tf.batch_to_space_nd(numbers(tf, 4, 1, 2, 1), [2, 2], [[0, 1], [0, 0]])],
}
MATH_EAGER = dict(BOTH)
