# SPDX-License-Identifier: Apache-2.0
"""test_ragged.py: rows of different lengths, texts that are split into such, numbers of repeats."""

import numpy as np
import pytest

import situ as tf

ROWS = [[1, 2], [], [3, 4, 5]]


def test_parts_of_a_ragged_tensor():
    r = tf.ragged.constant(ROWS)
    assert r.to_list() == ROWS and r.shape.as_list() == [3, None] and len(r) == 3
    assert r.row_splits.numpy().tolist() == [0, 2, 2, 5]
    assert r.row_lengths().numpy().tolist() == [2, 0, 3]
    assert r.value_rowids().numpy().tolist() == [0, 0, 2, 2, 2]
    assert r.bounding_shape().numpy().tolist() == [3, 3]
    assert [x.numpy().tolist() for x in r] == ROWS
    assert r[2, 1].numpy() == 4 and r[1:].to_list() == ROWS[1:]
    assert repr(r) == "<tf.RaggedTensor [[1, 2], [], [3, 4, 5]]>"


def test_ways_in_and_out():
    made = tf.RaggedTensor
    assert made.from_row_splits([1, 2, 3], [0, 2, 3]).to_list() == [[1, 2], [3]]
    assert made.from_row_lengths([1, 2, 3], [1, 2]).to_list() == [[1], [2, 3]]
    assert made.from_value_rowids([1, 2, 3], [0, 2, 2]).to_list() == [[1], [], [2, 3]]
    assert made.from_tensor([[1, 0], [2, 3]], padding=0).to_list() == [[1], [2, 3]]
    assert made.from_tensor([[1, 0], [2, 3]], lengths=[2, 1]).to_list() == [[1, 0], [2]]
    assert tf.ragged.stack([[1], [2, 3]]).to_list() == [[1], [2, 3]]
    r = tf.ragged.constant(ROWS)
    assert r.to_tensor(-1).numpy().tolist() == [[1, 2, -1], [-1, -1, -1], [3, 4, 5]]
    assert r.to_tensor(shape=[None, 2]).numpy().tolist() == [[1, 2], [0, 0], [3, 4]]
    assert (tf.sparse.to_dense(r.to_sparse()).numpy() == r.to_tensor().numpy()).all()
    pairs = made.from_row_lengths([[1, 2], [3, 4], [5, 6]], [1, 2]).to_tensor()
    assert pairs.numpy().tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]


def test_sums_and_functions():
    r = tf.ragged.constant(ROWS)
    assert (r + 1).to_list() == [[2, 3], [], [4, 5, 6]]
    assert (r * r).to_list() == [[1, 4], [], [9, 16, 25]]
    assert tf.ragged.map_flat_values(tf.square, r).to_list() == [[1, 4], [], [9, 16, 25]]
    assert tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]).to_list() == [
        [1],
        [3, 4],
    ]


def test_split():
    split = tf.strings.split
    assert split("a b \t c").numpy().tolist() == [b"a", b"b", b"c"]
    assert split(["a b", "", "c"]).to_list() == [[b"a", b"b"], [], [b"c"]]
    table = split([",x", "y"], sep=",").to_tensor("-")
    assert table.numpy().tolist() == [[b"", b"x"], [b"y", b"-"]]
    assert split("a--b-c", sep="--").numpy().tolist() == [b"a", b"b-c"]
    words = tf.data.Dataset.from_tensor_slices(["a b", "c"]).map(split)
    assert [w.numpy().tolist() for w in words] == [[b"a", b"b"], [b"c"]]

    @tf.function
    def table(texts):
        return split(texts).to_tensor()

    assert table(tf.constant(["p q", "r"])).numpy().tolist() == [[b"p", b"q"], [b"r", b""]]


def test_split_at_most_so_often():
    split = tf.strings.split(["a b c", "  e  f  g ", "", "d"], maxsplit=1)
    assert split.to_list() == [[b"a", b"b c"], [b"e", b"f  g "], [], [b"d", b""]]
    split = tf.strings.split(["a,b,c", "d", ""], sep=",", maxsplit=1)
    assert split.to_list() == [[b"a", b"b,c"], [b"d"], [b""]]


def test_sparse_texts_become_dense():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], ["a", "b"], [2, 2])
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[b"", b"a"], [b"b", b""]]
    assert tf.sparse.to_dense(sparse, "-").numpy().tolist() == [[b"-", b"a"], [b"b", b"-"]]


@pytest.mark.parametrize("axis", [0, 1])
def test_repeat_each_as_often_as_it_says(axis):
    x = np.arange(6).reshape(2, 3)
    counts = [2, 0] if axis == 0 else [1, 0, 3]
    assert (tf.repeat(x, counts, axis=axis).numpy() == np.repeat(x, counts, axis)).all()
    assert tf.repeat([5, 6], tf.constant([0, 2])).numpy().tolist() == [6, 6]


DIGITS = [[3, 1, 4, 1], [], [5, 9, 2], [6], []]


def test_several_ragged_dimensions():
    rt = tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]]])
    assert rt.ragged_rank == 2 and rt.shape.as_list() == [2, None, None]
    assert (rt + 10).to_list() == [[[11, 12], [13]], [[14, 15, 16]]]
    assert rt[0].to_list() == [[1, 2], [3]] and rt[1, 0].numpy().tolist() == [4, 5, 6]
    assert rt[:, :1].to_list() == [[[1, 2]], [[4, 5, 6]]]
    assert rt[:, :, :1].to_list() == [[[1], [3]], [[4]]]
    assert rt.to_tensor().numpy().tolist() == [[[1, 2, 0], [3, 0, 0]], [[4, 5, 6], [0, 0, 0]]]
    assert rt.bounding_shape().numpy().tolist() == [2, 2, 3]
    made = tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 2, 3]])
    assert made.to_list() == [[[1, 2]], [[3]]]
    assert rt.merge_dims(1, 2).to_list() == [[1, 2, 3], [4, 5, 6]]


def test_operations_on_ragged_rows():
    rt = tf.ragged.constant(DIGITS)
    assert tf.add(rt, 3).to_list() == [[6, 4, 7, 4], [], [8, 12, 5], [9], []]
    assert tf.cast(rt, tf.float32).dtype == tf.float32
    assert rt[:, :2].to_list() == [[3, 1], [], [5, 9], [6], []]
    assert rt[:, -2:].to_list() == [[4, 1], [], [9, 2], [6], []]
    assert tf.concat([rt, [[5, 3]]], 0).to_list()[-1] == [5, 3]
    assert tf.concat([rt, rt], 1).to_list()[2] == [5, 9, 2, 5, 9, 2]
    assert tf.tile(rt, [1, 2]).to_list()[3] == [6, 6]
    assert tf.reduce_sum(rt, 1).numpy().tolist() == [9, 0, 16, 6, 0]
    assert tf.reduce_sum(rt, 0).numpy().tolist() == [14, 10, 6, 1]
    assert tf.reduce_sum(rt).numpy() == 31
    assert tf.reduce_mean(rt, 1).numpy()[0] == 2.25
    assert tf.stack([rt, rt]).shape.as_list() == [2, None, None]
    assert tf.where(rt > 3, rt, 0).to_list() == [[0, 0, 4, 0], [], [5, 9, 0], [6], []]
    rows = tf.gather(tf.constant([10, 20]), tf.ragged.constant([[0, 1], [1]]))
    assert rows.to_list() == [[10, 20], [20]]
    assert tf.map_fn(tf.square, rt).to_list()[0] == [9, 1, 16, 1]
    assert tf.strings.substr(tf.ragged.constant([["long"], []]), 0, 2).to_list() == [[b"lo"], []]


def test_other_ways_to_ragged_rows():
    sparse = tf.SparseTensor([[0, 0], [2, 0], [2, 1]], ["a", "b", "c"], [3, 3])
    assert tf.RaggedTensor.from_sparse(sparse).to_list() == [[b"a"], [], [b"b", b"c"]]
    assert tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 2]).to_list() == [[1, 2], [3]]
    assert tf.ragged.range([2, 3]).to_list() == [[0, 1], [0, 1, 2]]
    rows = tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[1, 2], [3]]), [7, 8]))
    assert [(x.numpy().tolist(), y.numpy()) for x, y in rows] == [([1, 2], 7), ([3], 8)]


def test_functions_of_ragged_rows():
    @tf.function
    def palindrome(x, axis):
        return tf.concat([x, tf.reverse(x, [axis])], axis)

    assert palindrome(tf.ragged.constant([[1, 2], [3]]), 1).to_list() == [[1, 2, 2, 1], [3, 3]]

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def most(rt):
        return tf.reduce_max(rt, 1)

    assert most(tf.ragged.constant([[1, 2, 3], [4]])).numpy().tolist() == [3, 4]

    class Grown(tf.Module):
        @tf.function
        def grow(self, x):
            return x * 2.0

    concrete = Grown().grow.get_concrete_function(tf.RaggedTensorSpec([None, None], tf.float32))
    assert concrete(tf.ragged.constant([[1.0], [2.0, 3.0]])).to_list() == [[2], [4, 6]]
    assert tf.fill([2, 1], "#").numpy().tolist() == [[b"#"], [b"#"]]

    @tf.function
    def same(sparse):
        return sparse

    made = same(tf.sparse.from_dense([[0, 1], [2, 0]]))
    assert tf.sparse.to_dense(made).numpy().tolist() == [[0, 1], [2, 0]]


def test_slices_by_tensors_of_both_types():
    @tf.function
    def part(x, first, last):
        return x[first:last], x[first], x[1:last]

    found = part(tf.range(6), tf.constant(2, tf.int64), tf.constant(4, tf.int64))
    assert [f.numpy().tolist() for f in found] == [[2, 3], 2, [1, 2, 3]]


def rows_of(dtype):
    return tf.RaggedTensor.from_row_splits([1.0, 2.0, 3.0, 4.0], tf.constant([0, 1, 4], dtype))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "make",
    [
        lambda c: tf.RaggedTensor.from_row_splits([1, 2, 3, 4], c([0, 1, 4])),
        lambda c: tf.RaggedTensor.from_row_lengths([1, 2, 3, 4], c([1, 3])),
        lambda c: tf.RaggedTensor.from_row_starts([1, 2, 3, 4], c([0, 1])),
        lambda c: tf.RaggedTensor.from_row_limits([1, 2, 3, 4], c([1, 4])),
        lambda c: tf.RaggedTensor.from_value_rowids([1, 2, 3, 4], c([0, 1, 1, 1])),
        lambda c: tf.RaggedTensor.from_nested_row_splits([1, 2, 3, 4], [c([0, 1, 4])]),
        lambda c: tf.ragged.constant([[1], [2, 3, 4]], row_splits_dtype=c([0]).dtype),
        lambda c: tf.RaggedTensor.from_tensor(
            [[1, 0, 0], [2, 3, 4]], padding=0, row_splits_dtype=c([0]).dtype
        ),
    ],
)
def test_row_splits_keep_their_dtype(make, dtype):
    made = make(lambda values: tf.constant(values, dtype))
    assert made.row_splits.dtype.name == dtype and made.to_list() == [[1], [2, 3, 4]]
    for sizes in (
        made.row_starts(),
        made.row_limits(),
        made.row_lengths(),
        made.value_rowids(),
        made.nrows(),
        made.bounding_shape(),
        made.nested_row_lengths()[0],
    ):
        assert sizes.dtype.name == dtype
    assert made.nrows(out_type=tf.int64).dtype.name == "int64"
    assert made.to_sparse().indices.dtype.name == "int64"
    for other in ("int32", "int64"):
        assert made.with_row_splits_dtype(other).row_splits.dtype.name == other


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "call,expected",
    [
        (lambda r: r[1:], [[2, 3, 4]]),
        (lambda r: r[:, :1], [[1], [2]]),
        (lambda r: r + r, [[2], [4, 6, 8]]),
        (lambda r: tf.sqrt(r * r), [[1], [2, 3, 4]]),
        (lambda r: tf.concat([r, r], 1), [[1, 1], [2, 3, 4, 2, 3, 4]]),
        (lambda r: tf.concat([r, r], 0), [[1], [2, 3, 4], [1], [2, 3, 4]]),
        (lambda r: tf.stack([r]), [[[1], [2, 3, 4]]]),
        (lambda r: tf.gather(r, [1, 0]), [[2, 3, 4], [1]]),
        (lambda r: tf.expand_dims(r, 0), [[[1], [2, 3, 4]]]),
        (lambda r: tf.tile(r, [1, 2]), [[1, 1], [2, 3, 4, 2, 3, 4]]),
        (lambda r: r.with_values(r.values), [[1], [2, 3, 4]]),
        (tf.function(lambda r: r * 1.0), [[1], [2, 3, 4]]),
    ],
)
def test_operations_keep_the_dtype_of_row_splits(call, expected, dtype):
    made = call(rows_of(dtype))
    assert made.row_splits.dtype.name == dtype and made.to_list() == expected


def test_row_splits_of_lists_and_of_two_dtypes():
    assert tf.RaggedTensor.from_row_splits([1], [0, 1]).row_splits.dtype.name == "int64"
    assert (
        tf.RaggedTensor.from_row_splits([1], np.array([0, 1], np.int32)).row_splits.dtype
        == tf.int32
    )
    with pytest.raises(ValueError, match="row_splits must have dtype int32 or int64"):
        tf.RaggedTensor.from_row_splits([1.0], [0.0, 1.0])
    for call in (
        lambda a, b: a + b,
        lambda a, b: tf.concat([a, b], 0),
        lambda a, b: tf.stack([a, b]),
    ):
        with pytest.raises(ValueError, match="mismatched row_splits dtypes"):
            call(rows_of("int32"), rows_of("int64"))
    with pytest.raises(ValueError, match="same dtype"):
        tf.RaggedTensor.from_row_splits(rows_of("int64"), tf.constant([0, 2], tf.int32))
    assert (rows_of("int32") + rows_of("int64").with_row_splits_dtype("int32")).to_list() == [
        [2],
        [4, 6, 8],
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda r: r.from_row_splits([1, 2, 3], [0, 2, 9]),
        lambda r: r.from_row_splits([1, 2, 3], [1, 2, 3]),
        lambda r: r.from_row_splits([1, 2, 3], [0, 2, 1, 3]),
        lambda r: r.from_row_splits([1, 2, 3], []),
        lambda r: r.from_row_lengths([1, 2, 3], np.array([1, 1], "int32")),
        lambda r: r.from_row_lengths([1, 2, 3], [4, -1]),
        lambda r: r.from_row_starts([1, 2, 3], [1, 2]),
        lambda r: r.from_row_starts([1, 2, 3], [0, 7]),
        lambda r: r.from_row_limits([1, 2, 3], [1, 2]),
        lambda r: r.from_value_rowids([1, 2, 3], [1, 0, 2]),
        lambda r: r.from_value_rowids([1, 2, 3], [0, 1]),
        lambda r: r.from_nested_row_splits([1, 2, 3], [[0, 2], [0, 1, 5]]),
        lambda r: r.from_nested_row_lengths([1, 2, 3], [[2], [1, 1]]),
    ],
)
def test_invalid_rows_are_errors(make):
    texts = "valid (RaggedTensor|RowPartition)|may not be empty|are incompatible"
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=texts):
        make(tf.RaggedTensor)


def test_rows_without_validation():
    made = tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1], validate=False)
    assert made.to_list() == [[1]]


INVALID_ROWS = [
    ("from_row_splits", [0, 2, 9]),
    ("from_row_splits", [1, 2, 3]),
    ("from_row_splits", [0, 2, 1, 3]),
    ("from_row_splits", []),
    ("from_row_lengths", [1, 1]),
    ("from_row_lengths", [4, -1]),
    ("from_row_starts", [1, 2]),
    ("from_row_starts", [0, 7]),
    ("from_row_limits", [1, 2]),
    ("from_row_limits", [2, 1, 3]),
    ("from_value_rowids", [1, 0, 2]),
    ("from_value_rowids", [-1, 0, 1]),
    ("from_value_rowids", [0, 1]),
]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("method, rows", INVALID_ROWS)
def test_invalid_rows_of_functions_are_errors(method, rows, dtype):
    @tf.function(input_signature=[tf.TensorSpec([None], "int32"), tf.TensorSpec([None], dtype)])
    def values(v, r):
        return getattr(tf.RaggedTensor, method)(v, r).values

    with pytest.raises(tf.errors.InvalidArgumentError, match="do not form a valid R"):
        values(tf.constant([1, 2, 3]), tf.constant(rows, dtype))


@pytest.mark.parametrize("method, rows", INVALID_ROWS)
@pytest.mark.parametrize("fed", [False, True])
def test_invalid_rows_of_graphs_are_errors(method, rows, fed):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        given = v1.placeholder("int64", [None]) if fed else tf.constant(rows, "int64")
        texts = "do not form a valid R|are incompatible"
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=texts):
            made = getattr(tf.RaggedTensor, method)(tf.constant([1, 2, 3]), given)
            session.run(made.row_splits, {given: rows} if fed else None)
        values = tf.constant(list(range(2 if rows == [0, 1] else 3)))
        getattr(tf.RaggedTensor, method)(values, given, validate=False)
        assert not [o for o in session.graph.get_operations() if o.type == "Assert"][5:]


@pytest.mark.parametrize(
    "method, rows",
    [
        ("from_row_splits", [0, 2, 2, 3]),
        ("from_row_lengths", [2, 0, 1]),
        ("from_row_starts", [0, 2, 2]),
        ("from_row_limits", [2, 2, 3]),
        ("from_value_rowids", [0, 0, 2]),
    ],
)
def test_valid_rows_of_functions(method, rows):
    made = tf.function(lambda v, r: getattr(tf.RaggedTensor, method)(v, r))
    assert made(tf.constant([1, 2, 3]), tf.constant(rows)).to_list() == [[1, 2], [], [3]]


@pytest.mark.parametrize("method", ["from_row_lengths", "from_value_rowids", "from_row_limits"])
def test_no_rows_of_functions(method):
    made = tf.function(lambda v, r: getattr(tf.RaggedTensor, method)(v, r))
    assert made(tf.zeros([0]), tf.zeros([0], tf.int64)).to_list() == []


def test_components_of_nested_composite_tensors():
    import situ as tf

    sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 3])
    ragged = tf.RaggedTensor.from_nested_row_splits([1.0, 2.0, 3.0], [[0, 1, 2], [0, 1, 3]])
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([2, 1]))
    value = {"a": sparse, "b": (ragged, slices), "c": tf.constant(1.0)}
    assert len(tf.nest.flatten(value)) == 4
    leaves = [t.numpy().tolist() for t in tf.nest.flatten(value, expand_composites=True)]
    assert leaves[:3] == [[[0, 1]], [5], [2, 3]]
    assert leaves[3:6] == [[1, 2, 3], [0, 1, 2], [0, 1, 3]]
    assert leaves[6:] == [[[1]], [0], [2, 1], 1]
    double = lambda t: t * 2.0 if t.dtype == tf.float32 else t
    made = tf.nest.map_structure(double, value, expand_composites=True)
    assert isinstance(made["a"], tf.SparseTensor) and made["a"].values.numpy() == [10]
    assert made["b"][0].to_list() == [[[2]], [[4, 6]]]
    assert isinstance(made["b"][1], tf.IndexedSlices) and made["b"][1].values.numpy() == [[2]]
    tf.nest.assert_same_structure(sparse, tf.constant(1.0))
    tf.nest.assert_same_structure(value, made, expand_composites=True)
    for other in (tf.constant(1.0), ragged):
        with pytest.raises(ValueError, match="same nested structure"):
            tf.nest.assert_same_structure(sparse, other, expand_composites=True)


def test_row_partitions():
    partition = tf.experimental.RowPartition
    rows = partition.from_row_lengths([2, 0, 1])
    assert rows.row_splits().numpy().tolist() == [0, 2, 2, 3] and int(rows.nvals()) == 3
    assert rows.value_rowids().numpy().tolist() == [0, 0, 2] and rows.static_nrows == 3
    assert rows.offsets_in_rows().numpy().tolist() == [0, 1, 0] and not rows.is_uniform()
    assert repr(rows) == "tf.RowPartition(row_splits=[0 2 2 3])"
    even = partition.from_uniform_row_length(2, nvals=6)
    assert int(even.nrows()) == 3 and even.static_uniform_row_length == 2 and even.is_uniform()
    assert rows.with_dtype("int32").row_splits().dtype == tf.int32
    with pytest.raises(ValueError, match="constructor is private"):
        partition(tf.constant([0, 1]))
    with pytest.raises(ValueError, match="Expected nrows >= 0; got -2"):
        partition.from_value_rowids([0, 1], nrows=-2)
    with pytest.raises(ValueError, match="times nrows=4 must equal nvals=6"):
        partition.from_uniform_row_length(2, nvals=6, nrows=4)
    with pytest.raises(ValueError, match="Either"):
        partition.from_uniform_row_length(2)


def test_uniform_rows_have_a_static_length():
    even = tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2)
    assert even.shape.as_list() == [2, 2] and int(even.uniform_row_length) == 2
    assert even[:, 1].numpy().tolist() == [2, 4] and even[:, -2].numpy().tolist() == [1, 3]
    assert tf.RaggedTensor.from_uniform_row_length([], 0, nrows=10).shape.as_list() == [10, 0]
    with pytest.raises(ValueError, match="Cannot index into an inner ragged dimension"):
        tf.ragged.constant(ROWS)[:, 0]


@pytest.mark.parametrize(
    "key, expected",
    [
        (slice(None, None, -1), [[3, 4, 5], [], [1, 2]]),
        ((slice(None), slice(None, None, 2)), [[1], [], [3, 5]]),
        ((slice(None), slice(-1, None)), [[2], [], [5]]),
        ((slice(None), slice(None, None, -1)), [[2, 1], [], [5, 4, 3]]),
        ((Ellipsis, slice(1)), [[1], [], [3]]),
        ((slice(1, 3), slice(1, None)), [[], [4, 5]]),
        (None, [[[1, 2], [], [3, 4, 5]]]),
        ((slice(None), None), [[[1, 2]], [[]], [[3, 4, 5]]]),
    ],
)
def test_slices_of_ragged_rows(key, expected):
    assert tf.ragged.constant(ROWS)[key].to_list() == expected


def test_nested_value_rowids_and_dimensions():
    made = tf.RaggedTensor.from_nested_value_rowids([1, 2, 3, 4], [[0, 0, 1], [0, 0, 1, 2]])
    assert made.to_list() == [[[1, 2], [3]], [[4]]] and made.ragged_rank == 2
    assert [i.numpy().tolist() for i in made.nested_value_rowids()] == [[0, 0, 1], [0, 0, 1, 2]]
    assert made.merge_dims(0, 1).to_list() == [[1, 2], [3], [4]]
    assert made.merge_dims(1, 2).to_list() == [[1, 2, 3], [4]]
    assert made.to_tensor().numpy().tolist() == [[[1, 2], [3, 0]], [[4, 0], [0, 0]]]
    assert made.to_tensor(shape=[1, 1, 3]).numpy().tolist() == [[[1, 2, 0]]]
    sparse = made.to_sparse()
    assert sparse.indices.numpy().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert tf.reduce_sum(made, 0).to_list() == [[5, 2], [3]]
    assert tf.reduce_sum(made, 1).to_list() == [[4, 2], [4]]
    assert tf.reduce_max(made, [0, 1, 2]).numpy() == 4
    assert made.row_lengths(2).to_list() == [[2, 1], [1]]
    with pytest.raises(TypeError, match="must be a list of Tensors"):
        tf.RaggedTensor.from_nested_row_splits([1], tf.constant([0, 1]))


def test_constants_and_their_errors():
    constant, value = tf.ragged.constant, tf.compat.v1.ragged.constant_value
    assert constant([1, 2]).numpy().tolist() == [1, 2] and constant(3).numpy() == 3
    assert constant([[[1, 2]], []], ragged_rank=1).shape.as_list() == [2, None, 2]
    rows = value(ROWS, row_splits_dtype="int32")
    assert rows.to_list() == ROWS and rows.row_splits.dtype == np.int32 and rows.shape == (3, None)
    assert str(rows) == f"<tf.RaggedTensorValue {ROWS}>"
    assert tf.ragged.constant(rows.to_list()).dtype == tf.int32
    for arguments, text in [
        (([1, [2]],), "all scalar values must have the same nesting depth"),
        (([[1]], None, -1), "must be nonnegative"),
        (([1, 2], None, 1), "scalar value depth greater than 1"),
        (([[[1], [2, 3]]], None, 1), "inner values have inconsistent shape"),
        (([[], [[[]]], [[1]]],), "empty list nesting is greater than scalar value nesting"),
        ((5, None, 1), "incompatible with ragged_rank=1"),
    ]:
        for make in (constant, value):
            with pytest.raises(ValueError, match=text):
                make(*arguments)


def test_sessions_fetch_and_feed_ragged_tensors():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.ragged.placeholder("float32", 2)
        twice = fed * 2.0
        rows = v1.ragged.constant_value([[[1.0, 2.0]], [], [[3.0], []]])
        result, total = session.run([twice, tf.reduce_sum(twice)], {fed: rows})
        assert isinstance(result, v1.ragged.RaggedTensorValue) and total == 12
        assert result.to_list() == [[[2.0, 4.0]], [], [[6.0], []]]
        assert twice.eval({fed: rows}).to_list() == result.to_list()
        grad = tf.gradients(tf.reduce_sum(twice * fed), fed)[0]
        assert session.run(grad, {fed: rows}).to_list() == [[[4.0, 8.0]], [], [[12.0], []]]


def test_gradients_of_ragged_tensors():
    rows = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        squares = rows * rows
    assert tape.gradient(squares, rows).to_list() == [[2.0, 4.0], [], [6.0]]


def test_dense_operands_are_broadcast():
    rows = tf.ragged.constant(ROWS)
    assert (rows + tf.constant([[10], [20], [30]])).to_list() == [[11, 12], [], [33, 34, 35]]
    assert (10 - rows).to_list() == [[9, 8], [], [7, 6, 5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot broadcast"):
        rows + tf.ragged.constant([[1], [2], [3, 4, 5]])


def test_the_type_of_a_ragged_tensor():
    spec = tf.RaggedTensorSpec([3, None], "int32")
    rows = tf.ragged.constant(ROWS)
    assert tf.type_spec_from_value(rows) == spec and spec.is_compatible_with(rows)
    wider = spec.most_specific_common_supertype([tf.RaggedTensorSpec([5, None], "int32")])
    assert wider == tf.RaggedTensorSpec([None, None], "int32") and spec.is_subtype_of(wider)
    assert not spec.is_compatible_with(tf.RaggedTensorSpec([3, None], "int64"))
    assert tf.RaggedTensorSpec([2], ragged_rank=0).value_type is tf.Tensor
    with pytest.raises(ValueError, match="Must specify ragged_rank"):
        tf.RaggedTensorSpec()


def test_control_flow_over_ragged_tensors():
    rows = tf.ragged.constant([[1.0, 2.0], [], [3.0]])

    @tf.function
    def branch(condition, x):
        if condition:
            y = x
        else:
            y = x * 3.0
        return y, tf.cond(condition, lambda: x, lambda: x * 2.0)

    @tf.function
    def loop(x):
        for _ in tf.range(2):
            x = tf.concat([x, x], 0) if x.ragged_rank > 1 else x * 2.0
        longer = tf.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, tf.concat([y, y], 1)), [0, x]
        )[1]
        return x, longer

    one, two = branch(tf.constant(False), rows)
    assert one.to_list() == [[3, 6], [], [9]] and two.to_list() == [[2, 4], [], [6]]
    scaled, longer = loop(rows)
    assert scaled.to_list() == [[4, 8], [], [12]]
    assert longer.to_list() == [[4, 8] * 4, [], [12] * 4]


@pytest.mark.parametrize("decorate", [lambda f: f, tf.function])
def test_map_fn_over_composite_tensors(decorate):
    ragged = lambda dtype, shape=(None,): tf.RaggedTensorSpec(shape, dtype)
    rows = tf.ragged.constant(ROWS)
    sums = decorate(lambda x: tf.map_fn(tf.reduce_sum, x, fn_output_signature=tf.int32))
    assert sums(rows).numpy().tolist() == [3, 0, 12]
    more = decorate(lambda x: tf.map_fn(lambda r: r + 1, x, fn_output_signature=ragged(tf.int32)))
    assert more(rows).to_list() == [[2, 3], [], [4, 5, 6]]
    ranges = decorate(lambda x: tf.map_fn(tf.range, x, fn_output_signature=ragged(tf.int32)))
    assert ranges(tf.constant([1, 3])).to_list() == [[0], [0, 1, 2]]
    nested = tf.ragged.constant([[[1], [2, 3]], []])
    twice = decorate(lambda x: tf.map_fn(lambda r: r * 2, x))
    assert twice(nested).to_list() == [[[2], [4, 6]], []]
    sparse = tf.sparse.from_dense([[1, 0], [2, 3]])
    counts = decorate(
        lambda x: tf.map_fn(lambda r: tf.reduce_sum(r.values), x, fn_output_signature=tf.int32)
    )
    assert counts(sparse).numpy().tolist() == [1, 5]
    same = decorate(lambda x: tf.map_fn(lambda r: r, x))
    assert tf.sparse.to_dense(same(sparse)).numpy().tolist() == [[1, 0], [2, 3]]


def test_functions_of_flat_values_and_rows():
    rows = tf.ragged.constant([[1.0, 3.0], [], [5.0]])
    assert tf.zeros_like(rows).to_list() == [[0, 0], [], [0]]
    assert tf.ones_like(rows, tf.int32).to_list() == [[1, 1], [], [1]]
    assert tf.clip_by_value(rows, 2.0, 4.0).to_list() == [[2, 3], [], [4]]
    assert tf.math.reduce_variance(rows, 1).numpy()[[0, 2]].tolist() == [1, 0]
    assert tf.boolean_mask(rows, [True, False, True]).to_list() == [[1, 3], [5]]
    mask = tf.ragged.constant([[False, True], [], [True]], tf.bool)
    assert tf.boolean_mask(rows, mask).to_list() == [[3], [], [5]]
    assert tf.ragged.row_splits_to_segment_ids([0, 2, 2, 3]).numpy().tolist() == [0, 0, 2]
    assert tf.ragged.segment_ids_to_row_splits([0, 0, 2], 4).numpy().tolist() == [0, 2, 2, 3, 3]
    with pytest.raises(ValueError, match="Invalid row_splits"):
        tf.ragged.row_splits_to_segment_ids(tf.constant([], tf.int64))
