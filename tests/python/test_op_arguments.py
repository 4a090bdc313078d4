# SPDX-License-Identifier: Apache-2.0
"""test_op_arguments.py: each argument of an op function has the effect that it has in TensorFlow
2.21: on the result, the error or the names of nodes."""

import gzip
import zlib

import numpy
import pytest

import situ as tf

v1 = tf.compat.v1
INVALID = tf.errors.InvalidArgumentError


def sparse(indices, values, shape=(2, 2)):
    return tf.sparse.SparseTensor(indices, values, shape)


def test_order_of_sparse_indices_is_checked():
    unordered = sparse([[1, 0], [0, 1]], [1.0, 2.0])
    with pytest.raises(INVALID, match=r"indices\[1\] = \[0,1\] is out of order"):
        tf.sparse.to_dense(unordered)
    dense = tf.sparse.to_dense(unordered, validate_indices=False)
    assert dense.numpy().tolist() == [[0, 2], [1, 0]]
    repeated = sparse([[1, 0], [1, 0]], [1.0, 2.0])
    with pytest.raises(INVALID, match=r"indices\[1\] = \[1,0\] is repeated"):
        tf.sparse.to_dense(repeated)
    dense = tf.sparse.to_dense(repeated, validate_indices=False)
    assert dense.numpy().tolist() == [[0, 0], [2, 0]]
    with pytest.raises(INVALID, match=r"\[1,5\] is out of bounds: need 0 <= index < \[2,2\]"):
        tf.sparse.to_dense(sparse([[1, 5]], [1.0]))
    with pytest.raises(INVALID, match="out of order"):
        v1.sparse_to_dense([3, 1], [4], [1.0, 2.0])
    assert v1.sparse_to_dense(2, [4], 1.0).numpy().tolist() == [0, 0, 1, 0]
    assert tf.sparse.add(unordered, tf.zeros([2, 2])).numpy().tolist() == [[0, 2], [1, 0]]


def test_order_of_sparse_indices_is_checked_in_functions():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.int64), tf.TensorSpec([None])])
    def dense(indices, values):
        return tf.sparse.to_dense(tf.sparse.SparseTensor(indices, values, [2, 2]))

    one, two = tf.constant([1.0]), tf.constant([1.0, 2.0])
    assert dense(tf.constant([[0, 1], [1, 0]], tf.int64), two).numpy().tolist() == [[0, 1], [2, 0]]
    assert dense(tf.zeros([0, 2], tf.int64), one[:0]).numpy().tolist() == [[0, 0], [0, 0]]
    for wrong in ([[1, 0], [0, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 2]]):
        with pytest.raises(INVALID, match="out of bounds, repeated or out of order|is not in"):
            dense(tf.constant(wrong, tf.int64), two)


def test_order_of_set_indices_is_checked():
    unordered = sparse([[1, 0], [0, 1]], [1, 2])
    for call in (
        lambda: tf.sets.union(unordered, [[1], [2]]),
        lambda: tf.sets.difference([[1], [2]], unordered),
        lambda: tf.sets.size(unordered),
    ):
        with pytest.raises(INVALID, match="out of order"):
            call()
    assert tf.sets.size(unordered, validate_indices=False).numpy().tolist() == [1, 1]


def test_algorithms_of_random_numbers():
    expected = tf.random.stateless_uniform([2], [1, 2])
    assert expected.numpy() == pytest.approx([0.8440604, 0.19204533])
    for alg in ("philox", "auto_select", 1, tf.random.Algorithm.PHILOX):
        found = tf.random.stateless_uniform([2], [1, 2], alg=alg)
        assert found.numpy().tolist() == expected.numpy().tolist()
    for call in (
        lambda alg: tf.random.stateless_uniform([2], [1, 2], alg=alg),
        lambda alg: tf.random.stateless_normal([2], [1, 2], alg=alg),
        lambda alg: tf.random.split([1, 2], alg=alg),
    ):
        with pytest.raises(NotImplementedError, match="threefry"):
            call("threefry")
        with pytest.raises(ValueError, match="unsupported value bogus"):
            call("bogus")


def test_candidates_of_all_classes():
    classes = tf.constant([[1], [2]], tf.int64)
    with pytest.raises(INVALID, match="num_true columns, expected: 1 was: 2"):
        tf.random.all_candidate_sampler(classes, 2, 3, True)
    found = tf.random.all_candidate_sampler(classes, 1, 3, False, seed=4)
    assert found.sampled_candidates.numpy().tolist() == [0, 1, 2]


def test_least_squares_without_normal_equations():
    matrix = tf.constant([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])  # of rank 1
    found = tf.linalg.lstsq(matrix, [[1.0], [2.0], [4.0]], l2_regularizer=5.0, fast=False)
    assert found.numpy().ravel() == pytest.approx([0.24285713, 0.4857142], rel=1e-5)
    for call in (tf.linalg.pinv, tf.linalg.matrix_rank):
        with pytest.raises(ValueError, match="at least 2 dimensions"):
            call(tf.ones([3]), validate_args=True)


def test_hints_of_linear_operators():
    full = tf.linalg.LinearOperatorFullMatrix
    matrix = tf.constant([[2.0, 1.0], [0.0, 4.0]])
    found = full(matrix).solve(tf.constant([[1.0, 2], [3, 4], [5, 6]]), adjoint_arg=True)
    assert found.numpy().tolist() == [[0.25, 1, 1.75], [0.5, 1, 1.5]]
    lower = tf.linalg.LinearOperatorLowerTriangular([[2.0, 0], [1, 4]])
    found = lower.solve(tf.constant([[2.0, 5.0]]), adjoint_arg=True)
    assert found.numpy().tolist() == [[1], [1]]
    assert full(matrix).is_square and full(matrix).is_non_singular is None
    assert full(matrix, is_positive_definite=True).is_non_singular
    assert full(matrix, name="q").name == "q" and full(matrix).name == "LinearOperatorFullMatrix"
    assert tf.linalg.LinearOperatorDiag([1.0, 2.0]).is_self_adjoint and lower.is_square
    for call in (
        lambda: full(matrix, is_non_singular=False).solve(matrix),
        lambda: full(tf.ones([2, 3])).solve(tf.ones([2, 1])),
        lambda: full(tf.ones([2, 3])).determinant(),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for an operator"):
            call()
    for call in (
        lambda: full(matrix, is_positive_definite=True, is_non_singular=False),
        lambda: full(matrix, is_self_adjoint=True, is_square=False),
        lambda: tf.linalg.LinearOperatorDiag([1.0], is_square=False),
        lambda: tf.linalg.LinearOperatorDiag([1.0], is_self_adjoint=False),
        lambda: tf.linalg.LinearOperatorLowerTriangular(matrix, is_square=False),
    ):
        with pytest.raises(ValueError, match="always|Only square"):
            call()


def test_rows_of_one_length():
    made = tf.RaggedTensor.from_uniform_row_length
    assert made(tf.zeros([0]), 0, nrows=3).to_list() == [[], [], []]
    assert made(tf.zeros([0]), 0).to_list() == []
    assert made([1, 2, 3, 4], 2, nrows=2).to_list() == [[1, 2], [3, 4]]
    for values, rows in (([1, 2, 3, 4], 3), ([1, 2, 3, 4, 5], None)):
        with pytest.raises(ValueError, match="uniform_row_length=2 times nrows=. must equal nvals"):
            made(values, 2, nrows=rows)


def test_spec_of_flat_values():
    flat = tf.TensorSpec([None, 3], tf.int32)
    spec = tf.RaggedTensorSpec([None, None, 3], tf.int32, 1, flat_values_spec=flat)
    assert spec.flat_values_spec is flat
    assert tf.RaggedTensorSpec([None, None], None, 1, flat_values_spec=flat).dtype == tf.int32
    with pytest.raises(ValueError, match="dtype must be the same as flat_values_spec"):
        tf.RaggedTensorSpec([None, None], tf.float32, 1, flat_values_spec=flat)


def test_types_and_shapes_of_sums():
    one, two = tf.constant([1.0]), tf.constant([2.0])
    assert tf.math.accumulate_n([one, two], [1], tf.float32).numpy().tolist() == [3]
    with pytest.raises(TypeError, match="`tensor_dtype` argument is"):
        tf.math.accumulate_n([one, two], tensor_dtype=tf.int32)
    with pytest.raises(ValueError, match="not compatible"):
        tf.math.accumulate_n([one, two], shape=[2])


def test_results_of_string_split():
    found = v1.string_split(["a b", "c"], result_type="RaggedTensor")
    assert found.to_list() == [[b"a", b"b"], [b"c"]]
    for call in (v1.string_split, v1.strings.split):
        with pytest.raises(ValueError, match="result_type must be"):
            call(["a b"], result_type="bogus")


def test_lines_of_print(capfd):
    for n in range(3):
        v1.Print(tf.constant(n), [tf.constant(n)], "eager ", first_n=2)
    assert capfd.readouterr().err == "eager [0]\neager [1]\n"
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.int32, [])
        some = v1.Print(x, [x], "some ", first_n=1)
        every = v1.Print(x, [x], "all ")
        assert [session.run([some, every], {x: n}) for n in (5, 6)] == [[5, 5], [6, 6]]
    lines = sorted(capfd.readouterr().err.splitlines())
    assert lines == ["all [5]", "all [6]", "some [5]"]


def test_keys_of_dense_hash_tables():
    def table(**kwargs):
        given = {"empty_key": 0, "deleted_key": -1, **kwargs}
        return tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, **given)

    made = table()
    made.insert(tf.constant([5], tf.int64), tf.constant([7], tf.int64))
    assert made.lookup(tf.constant([5, 6], tf.int64)).numpy().tolist() == [7, -1]
    for key, name in ((0, "empty_key"), (-1, "deleted_key")):
        keys = tf.constant([key], tf.int64)
        for call in (lambda k: made.insert(k, k), made.lookup, made.remove):
            with pytest.raises(INVALID, match=f"Using the {name} as a table key"):
                call(keys)
    with pytest.raises(INVALID, match="power of 2, got: 3"):
        table(initial_num_buckets=3)
    with pytest.raises(INVALID, match="cannot be equal"):
        table(deleted_key=0)


def test_types_of_lookups():
    words = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([0], tf.int64))
    numbers = tf.lookup.KeyValueTensorInitializer(
        tf.constant([5, 7], tf.int64), tf.constant([0, 1], tf.int64)
    )
    made = tf.lookup.StaticVocabularyTable
    for dtype in (tf.int64, tf.float32):
        with pytest.raises(TypeError, match="Invalid `key_dtype`"):
            made(words, 1, lookup_key_dtype=dtype)
    table = made(numbers, 1, lookup_key_dtype=tf.int32)
    assert table.lookup(tf.constant([5, 8])).numpy().tolist() == [0, 2]
    with pytest.raises(TypeError, match="Dtype of argument `keys` must be"):
        table.lookup(tf.constant([5], tf.int64))
    assert made(None, 3).lookup(tf.constant(["a"])).numpy()[0] in (0, 1, 2)


def test_columns_of_vocabulary_files(tmp_path):
    from situ._src.ops import vocabulary_tables

    path = tmp_path / "words.txt"
    path.write_text("4;a\n9;b\n")
    table = vocabulary_tables.index_table_from_file(str(path), key_column_index=1, delimiter=";")
    assert table.lookup(tf.constant(["b", "a", "c"])).numpy().tolist() == [1, 0, -1]
    table = vocabulary_tables.index_table_from_file(
        str(path), key_column_index=1, value_column_index=0, delimiter=";"
    )
    assert table.lookup(tf.constant(["b", "a"])).numpy().tolist() == [9, 4]
    table = vocabulary_tables.index_to_string_table_from_file(
        str(path), key_column_index=0, value_column_index=1, delimiter=";"
    )
    assert table.lookup(tf.constant([9, 5], tf.int64)).numpy().tolist() == [b"b", b"UNK"]
    table = vocabulary_tables.index_table_from_tensor([3, 7], dtype="int64")
    assert table.lookup(tf.constant([7], tf.int64)).numpy().tolist() == [1]
    for words, dtype in (([3, 7], "string"), (["a"], "int64")):
        with pytest.raises(ValueError, match="Invalid `dtype`: Expected"):
            vocabulary_tables.index_table_from_tensor(words, dtype=dtype)


def test_flags_of_resize_bicubic():
    with pytest.raises(INVALID, match="align_corners must be False"):
        v1.image.resize_bicubic(
            tf.zeros([1, 2, 2, 1]), [4, 4], align_corners=True, half_pixel_centers=True
        )


def test_both_seeds_of_bounding_boxes():
    def box(**seeds):
        with tf.Graph().as_default(), v1.Session() as session:
            made = v1.image.sample_distorted_bounding_box([90, 90, 3], [[[0, 0, 1, 1.0]]], **seeds)
            return session.run(made[2]).tolist()

    assert box(seed=1, seed2=2) == box(seed=1, seed2=2)
    assert box(seed=1, seed2=2) != box(seed=1, seed2=3)


def test_partial_static_values():
    with tf.Graph().as_default():
        x = tf.stack([v1.placeholder(tf.int32, []), 3])
        assert tf.get_static_value(x) is None
        assert tf.get_static_value(x, partial=True).tolist() == [None, 3]
        both = tf.get_static_value(tf.stack([x, [1, 2]]), partial=True)
        assert both.tolist() == [[None, 3], [1, 2]]


def test_priority_of_conversions():
    class Thing:
        pass

    def convert_to(number):
        return lambda value, dtype=None, name=None, as_ref=False: number

    tf.register_tensor_conversion_function(Thing, convert_to(tf.constant(1)), priority=100)
    assert tf.convert_to_tensor(Thing()).numpy() == 1
    tf.register_tensor_conversion_function(Thing, convert_to(tf.constant(2)), priority=50)
    assert tf.convert_to_tensor(Thing()).numpy() == 2
    tf.register_tensor_conversion_function(Thing, convert_to(NotImplemented), priority=10)
    assert tf.convert_to_tensor(Thing()).numpy() == 2


def test_shapes_that_are_known_at_run_time():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def square(x):
        tf.debugging.assert_shapes([(x, ("N", "N"))], message="m", summarize=4)
        return x + 1

    assert square(tf.zeros([2, 2])).shape == (2, 2)
    with pytest.raises(INVALID, match=r"m\.  .*Tensor .* dimension.*1.*must have size"):
        square(tf.zeros([2, 3]))

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def matrix(x):
        tf.debugging.assert_shapes([(x, ("N", 3))], data=["mine", x])
        return x + 1

    assert matrix(tf.zeros([2, 3])).shape == (2, 3)
    for shape in ([2], [2, 4]):
        with pytest.raises(INVALID, match="mine"):
            matrix(tf.zeros(shape))


def test_shapes_of_mapped_results():
    for infer, error in ((True, ValueError), (False, INVALID)):
        with pytest.raises(error, match="shapes|Shapes"):
            tf.map_fn(tf.range, tf.constant([1, 2]), infer_shape=infer)


def test_names_of_records_in_errors():
    features = tf.train.FeatureLists(
        feature_list={
            "a": tf.train.FeatureList(
                feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))]
            )
        }
    )
    record = tf.train.SequenceExample(feature_lists=features).SerializeToString()
    with pytest.raises(INVALID, match="Name: mine, Key: a, Index: 0"):
        tf.io.parse_single_sequence_example(
            record,
            sequence_features={"a": tf.io.FixedLenSequenceFeature([3], tf.int64)},
            example_name="mine",
        )


def test_compression_of_record_files(tmp_path):
    path, record = str(tmp_path / "records"), bytes(range(256)) * 40

    def write(kind, **options):
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(kind, **options)) as writer:
            writer.write(record)
        with open(path, "rb") as file:
            return file.read()

    for kind, decompress in (("GZIP", gzip.decompress), ("ZLIB", zlib.decompress)):
        stored, best = write(kind, compression_level=0), write(kind, compression_level=9)
        assert len(stored) > len(record) > len(best)
        assert decompress(stored) == decompress(best)
        huffman = write(kind, compression_strategy=zlib.Z_HUFFMAN_ONLY, mem_level=9)
        assert len(huffman) > len(best)
        found = [r.numpy() for r in tf.data.TFRecordDataset(path, kind)]
        assert found == [record]


def test_numbers_of_linspace():
    assert tf.linspace(0.0, 1.0, 0).numpy().tolist() == []
    assert tf.linspace(2.0, 3.0, 1).numpy().tolist() == [2]
    assert tf.linspace(tf.constant(0.0), 1.0, 0).shape == (0,)
    with pytest.raises(INVALID):
        tf.linspace(0.0, 1.0, -1)


def test_arguments_that_are_not_supported():
    with pytest.raises(NotImplementedError, match="var="):
        tf.strided_slice([1, 2, 3], [0], [1], var=tf.Variable([1, 2, 3]))
    with pytest.raises(TypeError, match="bogus"):
        tf.reduce_logsumexp([1.0], bogus=1)
    found = v1.reduce_logsumexp([[2.0, 1.0], [0.0, 4.0]], reduction_indices=[0], keep_dims=True)
    assert found.numpy()[0] == pytest.approx([2.126928, 4.0485873])


def test_parts_of_initial_values():
    class Part:
        full_shape, var_offset = [4, 4], [2, 0]

    made = v1.initializers.identity(gain=3.0)([2, 4], tf.float32, partition_info=Part())
    assert made.numpy().tolist() == [[0, 0, 3, 0], [0, 0, 0, 3]]
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        v1.constant_initializer([1.0, 2.0])([3], verify_shape=True)


CALLS = [
    ("rc/", lambda n: tf.ragged.constant([[1], [2, 3]], name=n).flat_values),
    ("rt/", lambda n: tf.ragged.constant([[1], [2, 3]]).to_tensor(name=n)),
    ("fd/", lambda n: tf.sparse.from_dense([[1.0, 0.0]], name=n).values),
    ("rs/", lambda n: tf.sparse.reduce_sum(tf.sparse.from_dense([[1.0]]), name=n)),
    ("rr", lambda n: tf.strings.regex_replace(["a"], "a", "b", name=n)),
    ("ReduceJoin/rj", lambda n: tf.strings.reduce_join(["a", "b"], name="rj")),
    ("ss", lambda n: tf.strings.substr(["abc"], 1, 1, name=n)),
    ("ps/", lambda n: tf.image.psnr(tf.zeros([2, 2, 2]), tf.ones([2, 2, 2]), 1.0, name=n)),
    ("gb", lambda n: tf.gather([[1.0]], [[0]], batch_dims=1, name=n)),
    ("an", lambda n: tf.math.accumulate_n([tf.constant(1.0), tf.constant(2.0)], name=n)),
    ("rb", lambda n: v1.image.resize_bicubic(tf.zeros([1, 2, 2, 1]), [4, 4], name=n)),
    ("mp/", lambda n: tf.nn.max_pool3d(tf.zeros([1, 2, 2, 2, 1]), 2, 2, "VALID", name=n)),
    ("ex/", lambda n: tf.linalg.expm(tf.eye(2), name=n)),
    ("ts", lambda n: tf.timestamp(name=n)),
    ("us/", lambda n: tf.strings.unicode_decode("a", "UTF-8", name=n)),
    (
        "op/solve/",
        lambda n: tf.linalg.LinearOperatorFullMatrix(tf.eye(2), name="op").solve([[1.0], [2]]),
    ),
]


@pytest.mark.parametrize("expected, call", CALLS)
def test_names_of_nodes(expected, call):
    with tf.Graph().as_default():
        name = call(expected.rstrip("/")).op.name
    assert name.startswith(expected) if expected.endswith("/") else name == expected


def test_noise_of_dropout_wrappers():
    cell = v1.nn.rnn_cell.BasicRNNCell(3)
    wrap = v1.nn.rnn_cell.DropoutWrapper
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="dtype must be provided"):
            wrap(cell, 0.5, variational_recurrent=True, input_size=2)
        made = wrap(cell, 0.5, variational_recurrent=True, input_size=2, dtype=tf.float64)
        assert made._noise["input"][0].dtype == tf.float64


def test_what_is_a_tensor():
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    sparse, ragged = tf.sparse.from_dense([0, 1]), tf.ragged.constant([[1], [2, 3]])
    for value in (tf.constant(1), tf.Variable(1), slices, sparse, ragged):
        assert tf.is_tensor(value)
    values = tf.compat.v1.SparseTensorValue([[0]], [1], [1]), tf.data.Dataset.range(2)
    for value in (1, "a", numpy.zeros(2), [tf.constant(1)], tf.TensorSpec([]), *values):
        assert not tf.is_tensor(value)


def test_the_static_value_of_other_values_is_themselves():
    array = numpy.zeros(2)
    for value in ("hi", 3, array, None):
        assert tf.get_static_value(value) is value
    assert tf.get_static_value(tf.constant(3)) == 3
    assert tf.get_static_value(tf.Variable(3)) is None
