# SPDX-License-Identifier: Apache-2.0
"""test_dynamic_ragged_shape.py: tf.experimental.DynamicRaggedShape, broadcasting of ragged tensors,
and the functions that have an implementation of their own for them."""

import numpy
import pytest

import situ as tf

Shape = tf.experimental.DynamicRaggedShape
Partition = tf.experimental.RowPartition


@pytest.mark.parametrize(
    ("lengths", "count", "inner"),
    [
        ([], 0, []),
        ([2, 3], 0, [2, 3]),
        ([2, (3, 2)], 1, [5]),
        ([2, (3, 2), 7], 1, [5, 7]),
        ([2, (2, 1), (2, 0, 3)], 2, [5]),
    ],
)
def test_from_lengths(lengths, count, inner):
    shape = Shape.from_lengths(lengths)
    assert shape.num_row_partitions == count and shape.static_lengths() == lengths
    assert shape.inner_shape.numpy().tolist() == inner and shape.rank == len(lengths)


def test_from_lengths_with_more_partitions():
    shape = Shape.from_lengths([2, 2, 3], num_row_partitions=2)
    assert shape.inner_shape.numpy().tolist() == [12] and shape.static_lengths() == [2, 2, 3]
    with pytest.raises(ValueError, match="Shape not consistent"):
        Shape.from_lengths([2, (2, 1, 3)])
    with pytest.raises(ValueError, match="should be less than"):
        Shape.from_lengths([2, 3], num_row_partitions=2)
    with pytest.raises(ValueError, match="lengths should be a list"):
        Shape.from_lengths(7)


def test_constructor_compares_sizes():
    rows = Partition.from_uniform_row_length(1, 3, nrows=3)
    with pytest.raises(ValueError, match="Last row partition does not match inner_shape"):
        Shape([rows], [4])
    with pytest.raises(ValueError, match="do not align between 0 and 1"):
        Shape([rows, Partition.from_uniform_row_length(1, 4, nrows=4)], [4])
    with pytest.raises(TypeError, match="is not a RowPartition"):
        Shape([3], [4])


def test_shape_of_a_ragged_tensor():
    shape = tf.shape(tf.ragged.constant([[1, 2], [3]]))
    assert isinstance(shape, Shape) and shape.dtype == tf.int32
    assert repr(shape) == "<DynamicRaggedShape lengths=[2, (2, 1)] num_row_partitions=1>"
    assert int(shape[0]) == 2 and shape.is_uniform(0) and not shape.is_uniform(1)
    with pytest.raises(ValueError, match="not uniform"):
        shape[1]
    with pytest.raises(IndexError, match="Expected axis=10 < rank=2"):
        shape.is_uniform(10)


def test_slices_of_a_shape():
    shape = Shape.from_lengths([2, (2, 3), 7, 4])
    assert shape[:2].static_lengths() == [2, (2, 3)]
    assert shape[:1].static_lengths() == [2] and shape[:9].rank == 4
    assert Shape.from_lengths([2, 3, 4])[1:].static_lengths() == [3, 4]
    with pytest.raises(ValueError, match="must be uniform"):
        shape[1:]
    with pytest.raises(IndexError, match="stride"):
        shape[::2]


@pytest.mark.parametrize(
    ("axes", "lengths"),
    [
        ((0, 1), [5, 2, 3]),
        ((1, 2), [2, (4, 6), 3]),
        ((1, 3), [2, (12, 18)]),
        ((2, 3), [2, (2, 3), 6]),
    ],
)
def test_merge_dims(axes, lengths):
    shape = Shape.from_lengths([2, (2, 3), 2, 3])
    assert shape._merge_dims(*axes).static_lengths() == lengths


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([3, (1, 4, 2)], [3, 1], [3, (1, 4, 2)]),
        ([3, (1, 4, 2)], [], [3, (1, 4, 2)]),
        ([1, (3,)], [2, 1], [2, (3, 3)]),
        ([2, (2, 1), 1], [1, 1, 5], [2, (2, 1), 5]),
        ([4, 1], [1, 5], [4, 5]),
        ([2, (2, 2)], [2, 1, 1], [2, 2, (2, 2, 2, 2)]),
    ],
)
@pytest.mark.parametrize("is_graph", [False, True])
def test_broadcast_dynamic_shape(a, b, expected, is_graph):
    def lengths():
        found = tf.broadcast_dynamic_shape(Shape.from_lengths(a), Shape.from_lengths(b))
        results.append(found)
        return tf.ones(found)

    results = []
    made = tf.function(lengths)() if is_graph else lengths()
    assert made.shape.rank == len(expected)
    if not is_graph:
        assert results[0].static_lengths() == expected


def test_shapes_that_do_not_broadcast():
    a, b = Shape.from_lengths([2, (1, 2)]), Shape.from_lengths([2, (2, 1)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot broadcast"):
        tf.broadcast_dynamic_shape(a, b)
    with pytest.raises(ValueError, match="Dtypes don't match"):
        tf.broadcast_dynamic_shape(a, a.with_dtype(tf.int32))


def test_broadcast_to_a_ragged_shape():
    shape = tf.shape(tf.ragged.constant([[1, 2], [3]]))
    assert tf.broadcast_to([[7], [8]], shape).to_list() == [[7, 7], [8]]
    assert tf.broadcast_to("x", shape).to_list() == [[b"x", b"x"], [b"x"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot broadcast"):
        tf.broadcast_to([[7, 7], [8, 8]], shape)


def test_functions_of_shapes():
    shape = tf.shape(tf.ragged.constant([[1, 2], [3]]))
    assert tf.zeros(shape).to_list() == [[0, 0], [0]]
    assert tf.ones(shape, tf.int32).to_list() == [[1, 1], [1]]
    assert tf.fill(shape, "a").to_list() == [[b"a", b"a"], [b"a"]]
    assert tf.reshape([4, 5, 6], shape).to_list() == [[4, 5], [6]]


def test_operators_broadcast_ragged_operands():
    x = tf.ragged.constant([[[1], [2]], [[3]]], ragged_rank=1)
    y = tf.ragged.constant([[10, 20], [30]])
    assert (x + tf.ragged.constant([[10, 20]])).to_list() == [
        [[11, 21], [12, 22]],
        [[13, 23]],
    ]
    assert (y + [[1], [2]]).to_list() == [[11, 21], [32]]
    assert tf.add(y, 5).to_list() == [[15, 25], [35]]
    assert (y == tf.ragged.constant([[10, 0], [30]])).to_list() == [[True, False], [True]]
    assert (y == tf.ragged.constant([[10], [30, 4]])) is False


def test_a_shape_crosses_functions_and_datasets():
    @tf.function
    def same(shape):
        return shape

    shape = Shape.from_lengths([2, (2, 1), 3])
    assert same(shape).static_lengths() == [2, (2, 1), 3]
    rows = tf.data.Dataset.from_tensors(Shape.from_lengths([4, (3, 0, 4, 5), 2])).unbatch()
    assert [r.static_lengths() for r in rows] == [[3, 2], [0, 2], [4, 2], [5, 2]]
    assert [r.static_lengths() for r in rows.batch(2)] == [[2, (3, 0), 2], [2, (4, 5), 2]]


def test_spec_merges_sizes():
    spec = Shape.Spec.from_value(Shape.from_lengths([6, 10, 4], num_row_partitions=1))
    assert spec.rank == 3 and spec._to_tensor_shape().as_list() == [6, 10, 4]
    assert spec._truncate(2)._to_tensor_shape().as_list() == [6, 10]
    with pytest.raises(ValueError, match="dtype must be tf.int32 or tf.int64"):
        Shape.Spec([], [2], tf.float32)
    with pytest.raises(TypeError, match="should be an Iterable of RowPartitionSpecs"):
        Shape.Spec([3], [2], tf.int64)


# Functions with an implementation for ragged tensors


def test_split():
    rows = tf.ragged.constant([[1], [2, 3], [4, 5], []])
    assert [p.to_list() for p in tf.split(rows, 2)] == [[[1], [2, 3]], [[4, 5], []]]
    assert [p.to_list() for p in tf.split(rows, [1, 3])] == [[[1]], [[2, 3], [4, 5], []]]
    with pytest.raises(ValueError, match="Cannot split a ragged dimension"):
        tf.split(rows, 2, axis=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot exactly split"):
        tf.split(rows, [1, 1])


def test_partitions():
    data = tf.ragged.constant([["a", "b"], ["c"], ["d", "e"]])
    made = tf.dynamic_partition(data, [1, 0, 1], 3)
    assert [m.to_list() for m in made] == [[[b"c"]], [[b"a", b"b"], [b"d", b"e"]], []]
    stacked = tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [2, 0, 2], 3)
    assert stacked.to_list() == [[b"b"], [], [b"a", b"c"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="less than num_partitions"):
        tf.ragged.stack_dynamic_partitions(["a"], [5], 3)


def test_matmul():
    a = tf.RaggedTensor.from_row_lengths(numpy.arange(9.0).reshape(3, 3), [1, 2])
    b = numpy.arange(12.0).reshape(2, 3, 2)
    made = tf.matmul(a, b)
    assert made[0].numpy().tolist() == (a[0].numpy() @ b[0]).tolist()
    assert made[1].numpy().tolist() == (a[1].numpy() @ b[1]).tolist()
    products = tf.matmul(a, a, transpose_b=True)
    assert products[1].to_tensor().numpy().tolist() == (a[1].numpy() @ a[1].numpy().T).tolist()
    with pytest.raises(ValueError, match="same rank"):
        tf.matmul(a, tf.ragged.constant([[1.0]], dtype=tf.float64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="may not be ragged"):
        tf.matmul(tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.ragged.constant([[1.0]]))


def test_reductions_by_segment():
    rows = tf.ragged.constant([[1, 2, 3], [4], [5, 6]])
    assert tf.math.unsorted_segment_sum(rows, [1, 0, 1], 3).to_list() == [[4], [6, 8, 3], []]
    means = tf.math.unsorted_segment_mean(tf.cast(rows, "float32"), [1, 0, 1], 2)
    assert means.to_list() == [[4], [3, 4, 3]]


def test_softmax_cumsum_and_one_hot():
    rows = tf.ragged.constant([[1.0, 2.0], [5.0]])
    assert numpy.allclose(tf.nn.softmax(rows).flat_values, [0.26894142, 0.7310586, 1.0])
    ints = tf.ragged.constant([[1, 2, 3], [], [4, 5]])
    assert tf.cumsum(ints, axis=1).to_list() == [[1, 3, 6], [], [4, 9]]
    made = tf.cumsum(ints, axis=1, exclusive=True, reverse=True)
    assert made.to_list() == [[5, 3, 0], [], [5, 0]]
    assert tf.one_hot(tf.ragged.constant([[0], [1, 0]]), 2).to_list() == [
        [[1, 0]],
        [[0, 1], [1, 0]],
    ]
    with pytest.raises(ValueError, match="must be greater than indices.ragged_rank"):
        tf.one_hot(ints, 2, axis=1)


def test_where():
    condition = tf.ragged.constant([[True, False], [True]])
    x, y = tf.ragged.constant([["A", "B"], ["C"]]), tf.ragged.constant([["a", "b"], ["c"]])
    assert tf.where(condition, x, y).to_list() == [[b"A", b"b"], [b"C"]]
    assert tf.where(condition, x, "-").to_list() == [[b"A", b"-"], [b"C"]]
    assert tf.where(condition).numpy().tolist() == [[0, 0], [1, 0]]
    rows = tf.compat.v1.where([True, False], x, y)
    assert rows.to_list() == [[b"A", b"B"], [b"c"]]


def test_images_of_different_sizes():
    images = tf.ragged.stack([tf.ones([2, 3, 1]), tf.ones([4, 2, 1])])
    assert tf.image.resize(images, [3, 3]).shape.as_list() == [2, 3, 3, 1]
    with pytest.raises(ValueError, match="must be 4 if images is ragged"):
        tf.image.resize(tf.ragged.constant([[1.0]]), [3, 3])


def test_static_values_of_comparisons():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def trace(x):
        size = tf.shape(x)[0]
        known.append(tf.get_static_value(tf.constant([1, 2]) < 2))
        known.append(tf.get_static_value(tf.equal(size, 3)))
        return x

    known = []
    trace([1])
    assert known[0].tolist() == [True, False] and known[1] is None


def test_checks_of_squeeze_and_sparse_conversion():
    rows = tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1)
    sparse = rows.to_sparse()
    assert sparse.indices.numpy().tolist()[3:] == [[0, 1, 1], [1, 0, 0], [1, 0, 1]]
    nested = tf.ragged.constant([[[1], [2]], [[3], [4]]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not squeezable"):
        tf.squeeze(nested, [0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not squeezable"):
        tf.function(lambda: tf.squeeze(nested, [0]).flat_values)()


def test_keywords_of_functions_of_ragged_tensors():
    rows = tf.ragged.constant([[1, 2], [3]])
    assert tf.expand_dims(input=rows, axis=0).shape.as_list() == [1, 2, None]
    assert tf.reverse(tensor=rows, axis=[1]).to_list() == [[2, 1], [3]]
    assert tf.reduce_sum(input_tensor=rows, axis=1).numpy().tolist() == [3, 3]
    assert int(tf.rank(input=rows)) == 2 and int(tf.size(input=rows)) == 3
    with pytest.raises(TypeError, match="may not be used as a boolean"):
        bool(rows)


def test_variance_is_not_negative():
    rows = tf.ragged.constant([[0.1, 0.1, 0.1], [3.0]])
    assert tf.math.reduce_variance(rows, axis=1).numpy().min() >= 0
    assert not numpy.isnan(tf.math.reduce_std(rows, axis=1).numpy()).any()


def test_images_of_rows():
    rows = tf.ragged.constant([[0.5, 0.25], [1.0]])
    assert tf.image.adjust_brightness(rows, 0.5).to_list() == [[1.0, 0.75], [1.5]]
