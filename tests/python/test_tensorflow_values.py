# SPDX-License-Identifier: Apache-2.0
"""test_tensorflow_values.py: names that few programs use; the numbers are TensorFlow's."""

import numpy as np
import pytest

import situ as tf

BOXES = [[0, 0, 1, 1], [0, 0, 0.9, 0.9], [0.5, 0.5, 1, 1], [0, 0, 0.3, 0.3]]
SCORES = [0.9, 0.8, 0.7, 0.3]


def dense(sparse):
    return tf.sparse.to_dense(sparse).numpy().tolist()


@pytest.fixture
def sparse():
    return tf.sparse.reorder(tf.SparseTensor([[0, 1], [2, 0], [1, 2]], [1.0, 2.0, 3.0], [3, 4]))


def test_sparse_tensors(sparse):
    assert sparse.indices.numpy().tolist() == [[0, 1], [1, 2], [2, 0]]
    assert dense(tf.sparse.from_dense([[0, 1], [2, 0]])) == [[0, 1], [2, 0]]
    assert dense(tf.sparse.from_dense([["", "a"]])) == [[b"", b"a"]]
    assert dense(tf.sparse.transpose(sparse)) == [[0, 0, 2], [1, 0, 0], [0, 3, 0], [0, 0, 0]]
    assert dense(tf.sparse.add(sparse, sparse))[1] == [0, 0, 6, 0]
    assert dense(tf.sparse.concat(1, [sparse, sparse]))[0] == [0, 1, 0, 0, 0, 1, 0, 0]
    assert dense(tf.sparse.slice(sparse, [0, 0], [2, 3])) == [[0, 1, 0], [0, 0, 3]]
    assert tf.sparse.slice(sparse, [0, 9], [3, 2]).shape == (3, 0)
    assert dense(tf.sparse.map_values(tf.add, sparse, 5))[2] == [7, 0, 0, 0]
    assert tf.sparse.reduce_max(sparse, axis=1).numpy().tolist() == [1, 3, 2]
    assert tf.sparse.reduce_sum(sparse, 0, True).numpy().tolist() == [[2, 1, 3, 0]]
    assert dense(tf.sparse.reshape(sparse, [2, -1])) == [[0, 1, 0, 0, 0, 0], [3, 0, 2, 0, 0, 0]]
    assert dense(sparse * 2.0)[1] == [0, 0, 6, 0]


def test_parts_of_texts():
    strings = tf.strings
    assert strings.substr(["Hello", "World"], 1, 3).numpy().tolist() == [b"ell", b"orl"]
    assert strings.unicode_split("語あ", "UTF-8").numpy().tolist() == ["語".encode(), "あ".encode()]
    assert strings.unicode_decode(["ab", "語"], "UTF-8").to_list() == [[97, 98], [35486]]
    assert strings.unicode_encode([[97, 98]], "UTF-8").numpy().tolist() == [b"ab"]
    assert strings.bytes_split(tf.constant("abc")).numpy().tolist() == [b"a", b"b", b"c"]
    assert strings.ngrams(["a", "b", "c"], 2).numpy().tolist() == [b"a b", b"b c"]
    joined = strings.reduce_join([["a", "b"], ["c", "d"]], axis=0, separator="-")
    assert joined.numpy().tolist() == [b"a-c", b"b-d"]

    @tf.function
    def first(text):
        return strings.substr(text, 0, 1)

    assert first(tf.constant("xyz")).numpy() == b"x"


def test_texts_are_joined_along_the_first_axis_first():
    texts = [["a", "b"], ["c", "d"]]
    for axis, expected in ((None, b"abcd"), ([0, 1], b"acbd"), ([1, 0], b"abcd")):
        assert tf.strings.reduce_join(texts, axis).numpy() == expected
    assert tf.strings.substr(["abc"], -2, 5).numpy().tolist() == [b"bc"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="pos 4 out of range"):
        tf.strings.substr(["abc"], 4, 1)


def test_shapes_together():
    assert tf.broadcast_dynamic_shape([3, 1, 0], [5, 1]).numpy().tolist() == [3, 5, 0]
    assert tf.broadcast_static_shape([3, 1], [None, 5]).as_list() == [3, 5]


def test_logarithms_of_determinants_have_gradients():
    x = tf.constant([[2.0, 1.0], [0.0, -3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        sign, value = tf.linalg.slogdet(x)
    assert sign.numpy() == -1 and sign.shape == ()
    np.testing.assert_allclose(value, np.log(6), rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(value, x), np.linalg.inv(x.numpy()).T, rtol=1e-6)
    assert np.isfinite(tf.linalg.slogdet(100.0 * np.eye(50, dtype="f"))[1])


def test_choice_of_boxes():
    assert tf.image.non_max_suppression(BOXES, SCORES, 3).numpy().tolist() == [0, 2, 3]
    which, scores = tf.image.non_max_suppression_with_scores(
        BOXES, SCORES, 4, 0.9, soft_nms_sigma=0.5
    )
    assert which.numpy().tolist() == [0, 2, 1, 3]
    np.testing.assert_allclose(scores, [0.9, 0.65758914, 0.40218288, 0.29392856], rtol=1e-5)
    found = tf.image.combined_non_max_suppression(
        np.reshape(BOXES, [1, 4, 1, 4]).astype("f"), np.reshape(SCORES, [1, 4, 1]).astype("f"), 3, 3
    )
    assert found.valid_detections.numpy().tolist() == [3]
    np.testing.assert_allclose(found.nmsed_scores[0], [0.9, 0.7, 0.3])


def test_parts_of_images():
    images = tf.reshape(tf.range(32.0), [2, 4, 4, 1])
    boxes = [[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.2, 1.0]]
    with tf.GradientTape() as tape:
        tape.watch(images)
        made = tf.image.crop_and_resize(images, boxes, [0, 1], [2, 3])
    np.testing.assert_allclose(
        made[..., 0],
        [[[1.8, 2.85, 3.9], [10.2, 11.25, 12.3]], [[16, 17.5, 19], [0, 0, 0]]],
        rtol=1e-5,
    )
    assert np.asarray(tape.gradient(made, images)).sum() == pytest.approx(9)
    one = tf.reshape(tf.range(768.0), [1, 16, 16, 3])
    assert tf.image.ssim(one / 768, one / 700, 1.0).numpy()[0] == pytest.approx(0.9916437, abs=1e-5)


def test_decompositions():
    s, u, v = tf.linalg.svd(tf.random.normal([2, 4, 3]))
    assert (s.shape, u.shape, v.shape) == ((2, 3), (2, 4, 3), (2, 3, 3))
    np.testing.assert_allclose(tf.linalg.eigh([[2.0, 1], [1, 3]])[0], [1.381966, 3.618034], 1e-5)
    np.testing.assert_allclose(
        tf.linalg.lstsq([[1.0, 1], [1, 2], [1, 3]], [[1.0], [2], [3]]), [[0], [1]], atol=1e-4
    )
    np.testing.assert_allclose(tf.linalg.expm([[0.0, 1], [0, 0]]), [[1, 1], [0, 1]])
    half = tf.linalg.cholesky([[4.0, 2], [2, 3]])
    np.testing.assert_allclose(
        tf.linalg.cholesky_solve(half, [[1.0], [2]]), [[-0.125], [0.75]], atol=1e-6
    )


def test_numbers():
    assert tf.math.zero_fraction([0.0, 1, 0, 2]).numpy() == 0.5
    assert tf.searchsorted([1.0, 3, 5], [0.0, 3, 6], side="right").numpy().tolist() == [0, 2, 3]
    assert tf.unravel_index([5, 7], [3, 4]).numpy().tolist() == [[1, 1], [1, 3]]
    assert tf.bitwise.bitwise_and([5, 3], [1, 2]).numpy().tolist() == [1, 2]
    assert tf.vectorized_map(lambda x: x * x, tf.range(3.0)).numpy().tolist() == [0, 1, 4]
    assert tf.math.multiply_no_nan([np.inf, 1.0], [0.0, 2.0]).numpy().tolist() == [0, 2]
    a, b = (tf.sparse.from_dense(t) for t in ([["a", "b", "c"]], [["a", "c"]]))
    assert tf.edit_distance(a, b).numpy().tolist() == [0.5]
    assert tf.einsum("ii->i", tf.reshape(tf.range(4.0), [2, 2])).numpy().tolist() == [0, 3]
    x = tf.range(5.0)
    assert x[x > 2].numpy().tolist() == [3, 4]


def test_what_situ_does_not_drive_is_said_as_tensorflow_says_it():
    with pytest.raises(ValueError, match="TPU Name"):
        tf.distribute.cluster_resolver.TPUClusterResolver()
    assert tf.__version__ == tf.version.VERSION


def test_profile(tmp_path):
    with tf.profiler.experimental.Profile(tmp_path):
        tf.reduce_sum(tf.ones([3])).numpy()
    assert list(tmp_path.glob("plugins/profile/*/*.trace.json.gz"))


def test_functions_that_call_themselves():
    @tf.function
    def count(n):
        if n > 0:
            return count(n - 1)
        return 1

    assert count(5).numpy() == 1
    assert "def count(n):" in tf.autograph.to_code(count)


def test_decorated_function_of_python():
    @tf.py_function(Tout=tf.float32)
    def add(a, b):
        return a + b

    assert add(1.0, 2.0).numpy() == 3


def test_parts_of_variables_are_scattered():
    v = tf.Variable([[1.0, 2, 3], [4, 5, 6]])
    v.scatter_nd_update([[0, 0], [1, 2]], [7.0, 8])
    assert v.numpy().tolist() == [[7, 2, 3], [4, 5, 8]]
    v.scatter_update(tf.IndexedSlices([[0.0, 0, 0]], [1]))
    v.scatter_add(tf.IndexedSlices([[1.0, 1, 1]], [1]))
    assert v.numpy().tolist() == [[7, 2, 3], [1, 1, 1]]


def test_sets():
    a = tf.sparse.from_dense([[2, 3, 5, 7], [7, 9, 0, 0]])
    b = tf.sparse.from_dense([[4, 5, 6], [9, 10, 0]])
    assert dense(tf.sets.union(a, b)) == [[2, 3, 4, 5, 6, 7], [7, 9, 10, 0, 0, 0]]
    assert dense(tf.sets.difference(a, b)) == [[2, 3, 7], [7, 0, 0]]
    assert dense(tf.sets.intersection(a, b)) == [[5], [9]]


def test_characters_are_counted():
    assert tf.strings.length("café", unit="UTF8_CHAR").numpy() == 4
    assert tf.strings.length("café").numpy() == 5


def test_seeds_of_a_seed():
    made = tf.random.split([1, 2], 3)
    assert made.numpy().tolist() == [
        [1105988140, 1738052849],
        [-335576002, 370444179],
        [10670227, -246211131],
    ]
    wide = tf.random.split(tf.constant([7, -2], tf.int64), 2)
    assert wide.numpy()[0].tolist() == [-4140883074556329900, -6192764269776252781]


def test_matrices_as_operators():
    lower = tf.linalg.LinearOperatorLowerTriangular(tf.ones([2, 2]))
    assert lower.to_dense().numpy().tolist() == [[1, 0], [1, 1]]
    assert lower.solve([[1.0], [3.0]]).numpy().tolist() == [[1], [2]]
