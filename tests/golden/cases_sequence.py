# SPDX-License-Identifier: Apache-2.0
"""cases_sequence.py: paths through time (CTC), distances of sequences, decompositions of matrices,
choices among boxes."""
from cases_array import numbers

LABELS = ([[0, 0], [0, 1], [1, 0]], [1, 2, 0], [2, 3])


def scores(tf):
    """Of 5 steps, 2 sequences, 4 classes."""
    return tf.reshape(tf.sin(tf.cast(tf.range(40), tf.float32) * 1.7) * 3, [5, 2, 4])


def loss(tf, **kwargs):
    old = getattr(tf, "compat", tf).v1 if hasattr(tf, "compat") else tf
    return old.nn.ctc_loss(tf.SparseTensor(*LABELS), scores(tf), [5, 4], **kwargs)


def dense_loss(tf):
    new = tf.compat.v2 if hasattr(tf.compat, "v2") else tf
    return new.nn.ctc_loss([[1, 2], [3, 0]], scores(tf), [2, 1], [5, 4], blank_index=0)


def paths(tf):
    best, sums = tf.nn.ctc_greedy_decoder(scores(tf), [5, 4])
    merged, _ = tf.nn.ctc_greedy_decoder(scores(tf), [5, 4], merge_repeated=False)
    beams, likely = tf.compat.v1.nn.ctc_beam_search_decoder(scores(tf), [5, 4], beam_width=6,
                                                            top_paths=2, merge_repeated=False)
    return [best[0].indices, best[0].values, sums, merged[0].values, beams[0].values,
            beams[1].values, beams[1].dense_shape, likely]


def distances(tf):
    found = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1]], ["a", "b", "c", "c"], [2, 2])
    truth = tf.SparseTensor([[0, 0], [1, 0], [1, 1], [1, 2]], ["a", "b", "c", "d"], [2, 3])
    return [tf.edit_distance(found, truth), tf.edit_distance(found, truth, normalize=False)]


def rough(tf, *shape):
    """Matrices of full rank."""
    return tf.reshape(tf.sin(tf.square(tf.reshape(numbers(tf, *shape), [-1])) * 2.3) * 3, shape)


def square(tf):
    x = rough(tf, 2, 3, 3)
    return x + tf.transpose(x, [0, 2, 1])


def parts(tf):
    """What does not depend on the signs of vectors."""
    x = rough(tf, 2, 4, 3)
    s, u, v = tf.linalg.svd(x)
    q, r = tf.linalg.qr(x)
    e, w = tf.linalg.eigh(square(tf))
    return [s, tf.abs(u), tf.abs(v), tf.linalg.svd(x, compute_uv=False), tf.abs(q), tf.abs(r),
            tf.matmul(q, r), e, tf.abs(w), tf.linalg.eigvalsh(square(tf))]


def boxes(tf):
    corners = tf.constant([[0., 0., 1., 1.], [0., .1, 1., 1.1], [0., .5, 1., 1.5],
                           [0., 10., 1., 11.], [0., 10.1, 1., 11.1]])
    weights = tf.constant([.9, .75, .6, .95, .5])
    chosen = tf.image.non_max_suppression
    return [chosen(corners, weights, 3, 0.5), chosen(corners, weights, 5, 0.3),
            chosen(corners, weights, 5, 0.8, score_threshold=0.55), chosen(corners, weights, 0)]


SEQUENCE = {
    "ctc_loss": loss,
    "ctc_loss_merged": lambda tf: loss(tf, preprocess_collapse_repeated=True,
                                       ctc_merge_repeated=False),
    "ctc_loss_dense": dense_loss,
    "ctc_paths": paths,
    "edit_distance": distances,
    "decompositions": parts,
    "boxes": boxes,
}
