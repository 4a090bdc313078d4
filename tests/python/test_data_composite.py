# SPDX-License-Identifier: Apache-2.0
"""test_data_composite.py: sparse and ragged tensors as elements of datasets."""

import numpy as np
import pytest

import situ as tf

Dataset = tf.data.Dataset
NESTED = [[[1, 2], []], [], [[3]]]
DENSE = [[1, 0], [0, 2], [3, 4]]


def ragged():
    return Dataset.from_tensor_slices(tf.ragged.constant(NESTED))


def sparse():
    return Dataset.from_tensor_slices(tf.sparse.from_dense(DENSE))


def dense(elements):
    return [tf.sparse.to_dense(e).numpy().tolist() for e in elements]


def lists(elements):
    return [e.to_list() for e in elements]


def test_slices_and_whole_tensors():
    assert lists(ragged()) == NESTED and dense(sparse()) == DENSE
    assert ragged().element_spec == tf.RaggedTensorSpec([None, None], tf.int32)
    assert sparse().element_spec == tf.SparseTensorSpec([2], tf.int32)
    rows = Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3]]))
    assert [r.numpy().tolist() for r in rows] == [[1, 2], [], [3]] and len(rows) == 3
    whole = Dataset.from_tensors({"r": tf.ragged.constant(NESTED), "s": 1})
    assert [e["r"].to_list() for e in whole] == [NESTED]
    value = tf.compat.v1.ragged.constant_value(NESTED)
    assert lists(Dataset.from_tensor_slices(value)) == NESTED
    with pytest.raises(ValueError, match="not compatible"):
        Dataset.from_tensor_slices((tf.ragged.constant([[1]]), [1, 2]))


def test_batches():
    assert lists(ragged().batch(2)) == [NESTED[:2], NESTED[2:]]
    assert dense(sparse().batch(2)) == [DENSE[:2], DENSE[2:]]
    batch = ragged().batch(2, drop_remainder=True).element_spec
    assert batch == tf.RaggedTensorSpec([2, None, None], tf.int32)
    assert lists(ragged().batch(3).unbatch()) == NESTED
    assert dense(sparse().batch(3).unbatch().batch(3)) == [DENSE]
    rows = Dataset.range(4).map(tf.range).ragged_batch(3, row_splits_dtype="int32")
    assert lists(rows) == [[[], [0], [0, 1]], [[0, 1, 2]]]
    assert rows.element_spec == tf.RaggedTensorSpec([None, None], tf.int64, 1, tf.int32)
    grids = Dataset.range(3).map(lambda n: tf.ones([n, 2], tf.int32))
    assert lists(grids.ragged_batch(3)) == [[[], [[1, 1]], [[1, 1], [1, 1]]]]
    for elements in (ragged(), sparse()):
        with pytest.raises(TypeError, match="`padded_batch` is"):
            elements.padded_batch(2)


def test_batches_with_dense_components():
    pairs = Dataset.zip((ragged(), Dataset.range(3).map(lambda n: tf.ones([2 + 0 * n]))))
    first, second = next(iter(pairs.batch(3)))
    assert first.to_list() == NESTED and second.numpy().tolist() == [[1, 1]] * 3
    pairs = Dataset.zip((ragged(), Dataset.range(3).map(tf.range)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes"):
        list(pairs.batch(3))


@pytest.mark.parametrize(
    "transform",
    [
        lambda d: d.map(lambda r: r),
        lambda d: d.filter(lambda r: r.nrows() >= 0),
        lambda d: d.cache().prefetch(1).shuffle(1).repeat(1).take(3).skip(0),
        lambda d: d.interleave(Dataset.from_tensors, cycle_length=1),
        lambda d: d.flat_map(Dataset.from_tensors),
        lambda d: d.window(2).flat_map(lambda w: w),
        lambda d: d.take(1).concatenate(d.skip(1)),
        lambda d: d.group_by_window(lambda r: 0, lambda k, w: w, 3),
        lambda d: d.enumerate().map(lambda i, r: r),
        lambda d: d.scan(0, lambda s, r: (s + 1, r)),
    ],
)
def test_transformations_keep_elements(transform):
    assert lists(transform(ragged())) == NESTED


def test_functions_return_composite_values():
    def value(i):
        return tf.compat.v1.SparseTensorValue(np.array([[0]]), i * np.array([1]), np.array([1]))

    assert dense(Dataset.range(3).map(value)) == [[0], [1], [2]]
    total = Dataset.range(3).reduce(tf.ragged.constant([[1], []], tf.int64), lambda s, x: s + x)
    assert total.to_list() == [[4], []]
    state = tf.SparseTensor([[0]], [0], [1])
    counts = Dataset.range(3).scan(state, lambda s, x: (s.with_values(s.values + 1), s.values[0]))
    assert [int(c) for c in counts] == [0, 1, 2]
    with pytest.raises(TypeError, match="classes for the new state must match"):
        Dataset.range(3).reduce(state, lambda s, x: s.values)


def test_generators_and_iterators():
    def generate():
        yield tf.ragged.constant([[1], [2, 3]]), 5
        yield tf.ragged.constant([[], []], tf.int32), 6

    signature = (tf.RaggedTensorSpec([2, None], tf.int32), tf.TensorSpec([], tf.int32))
    made = Dataset.from_generator(generate, output_signature=signature)
    assert [(r.to_list(), int(n)) for r, n in made] == [([[1], [2, 3]], 5), ([[], []], 6)]
    with pytest.raises(TypeError, match="subclass of `tf.TypeSpec`"):
        Dataset.from_generator(generate, output_signature=int)
    value = next(sparse().as_numpy_iterator())
    assert isinstance(value, tf.compat.v1.SparseTensorValue) and value.values.tolist() == [1]

    @tf.function
    def total(elements):
        result = 0
        for element in elements:
            result += tf.reduce_sum(element.values)
        return result

    assert int(total(sparse())) == 10


def test_iterators_of_graphs():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        element = v1.data.make_one_shot_iterator(ragged().batch(2)).get_next()
        assert element.shape.as_list() == [None, None, None]
        assert session.run(element).to_list() == NESTED[:2]
        assert session.run(element).to_list() == NESTED[2:]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(element)


def test_incompatible_elements():
    for other in (sparse(), Dataset.from_tensors(tf.ragged.constant([[[1.0]]])).unbatch()):
        with pytest.raises(TypeError, match="Incompatible dataset elements"):
            ragged().concatenate(other)
    with pytest.raises(TypeError, match="Incompatible dataset elements"):
        Dataset.from_tensors({"a": 1}).concatenate(Dataset.from_tensors({"b": 1}))


def test_unbatching_to_scalars_and_back():
    whole = Dataset.from_tensors(tf.ragged.constant([[1, 2], [], [3]]))
    scalars = whole.unbatch().unbatch()
    assert [int(x) for x in scalars] == [1, 2, 3]
    assert [b.numpy().tolist() for b in scalars.batch(2)] == [[1, 2], [3]]
    assert [r.numpy().tolist() for r in whole.unbatch()] == [[1, 2], [], [3]]
    assert lists(whole.unbatch().batch(3)) == [[[1, 2], [], [3]]]
