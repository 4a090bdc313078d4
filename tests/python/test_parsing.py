# SPDX-License-Identifier: Apache-2.0
"""test_parsing.py: tf.Example records, images, IndexedSlices."""

import struct
import zlib

import numpy as np
import pytest

import situ as tf


def _example(**features):
    lists = {
        bytes: ("bytes_list", tf.train.BytesList),
        float: ("float_list", tf.train.FloatList),
        int: ("int64_list", tf.train.Int64List),
    }
    made = {}
    for name, values in features.items():
        field, kind = lists[type(values[0])]
        made[name] = tf.train.Feature(**{field: kind(value=values)})
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


EXAMPLES = [
    _example(i=[1, -2, 3], f=[1.5, 2.5], s=[b"a", b"bc"], v=[7]),
    _example(i=[4, 5, 6], f=[0.5, 2.0], s=[b"z", b"y"], v=[8, 9]),
]


@pytest.mark.parametrize(
    "feature, error, text",
    [
        (
            tf.io.FixedLenFeature([3], tf.float32, [3.0, 4.0]),
            tf.errors.InvalidArgumentError,
            "tensor with 2 values, but the requested shape has 3",
        ),
        (
            tf.io.FixedLenFeature([2], tf.string, ["a"]),
            tf.errors.InvalidArgumentError,
            "tensor with 1 values, but the requested shape has 2",
        ),
        (
            tf.io.FixedLenFeature([], tf.int32, [7]),
            tf.errors.InvalidArgumentError,
            "attr 'Tdense' of int32 is not in the list of allowed values",
        ),
        (
            tf.io.VarLenFeature(tf.int32),
            tf.errors.InvalidArgumentError,
            "attr 'sparse_types' of int32 is not in the list of allowed values",
        ),
        (
            tf.io.FixedLenFeature([0], tf.float32, []),
            tf.errors.InvalidArgumentError,
            "is required but could not be found",
        ),
        (
            tf.io.FixedLenFeature([None], tf.float32),
            ValueError,
            "First dimension of shape for feature",
        ),
        (tf.io.FixedLenFeature([2, None], tf.float32), ValueError, "need to be known"),
        (tf.io.FixedLenSequenceFeature([], tf.float32), ValueError, "requires allow_missing"),
    ],
)
@pytest.mark.parametrize("serialized", [EXAMPLES[0], EXAMPLES])
def test_features_that_cannot_be_filled(serialized, feature, error, text):
    parse = tf.io.parse_example if isinstance(serialized, list) else tf.io.parse_single_example
    with pytest.raises(error, match=text):
        parse(serialized, {"absent": feature})


@pytest.mark.parametrize(
    "feature, error, text",
    [
        (
            tf.io.FixedLenFeature([3], tf.float32, [3.0, 4.0]),
            tf.errors.InvalidArgumentError,
            r"Feature: absent \(data type: float\) .* with 2 values, but the requested shape has 3",
        ),
        (
            tf.io.FixedLenFeature([], tf.int64, [3, 4]),
            tf.errors.InvalidArgumentError,
            r"Feature: absent \(data type: int64\) .* tensor with 2 values",
        ),
        (
            tf.io.FixedLenFeature([2], tf.float32, ["a", "b"]),
            TypeError,
            r"Feature: absent \(data type: float\) ",
        ),
        (
            tf.io.FixedLenSequenceFeature([2], tf.float32, True, [3.0, 4.0]),
            tf.errors.InvalidArgumentError,
            r"Feature: absent \(data type: float\) ",
        ),
        (tf.io.FixedLenFeature(None, tf.float32), ValueError, "Missing shape for feature absent"),
        (tf.io.FixedLenFeature([], None), ValueError, "Missing type for feature absent"),
        (tf.io.VarLenFeature(None), ValueError, "Missing type for feature absent"),
        (3, ValueError, "Unsupported int 3 for key 'absent'"),
    ],
)
def test_errors_of_features_name_them(feature, error, text):
    with pytest.raises(error, match=text):
        tf.io.parse_example(EXAMPLES, {"absent": feature})
    with pytest.raises((error, ValueError), match=r"absent"), tf.Graph().as_default():
        tf.io.parse_example(EXAMPLES, {"absent": feature})


def raised(parse, *args, **kwargs):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        parse(*args, **kwargs)
    return str(caught.value)


def test_errors_of_examples_are_tensorflows():
    one, many = tf.io.parse_single_example, tf.io.parse_example
    absent = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    text = "Feature: x (data type: float) is required but could not be found."
    assert raised(one, EXAMPLES[0], absent).startswith(text)
    assert raised(many, EXAMPLES, absent).startswith("Name: <unknown>, " + text)
    assert raised(many, EXAMPLES, absent, example_names=["a", "b"]).startswith("Name: a, " + text)
    wrong = {"f": tf.io.FixedLenFeature([2], tf.int64)}
    text = "Data types don't match. Data type: float but expected type: int64"
    assert raised(one, EXAMPLES[0], wrong).startswith("Key: f.  " + text)
    assert raised(many, EXAMPLES, wrong).startswith("Name: <unknown>, Key: f, Index: 0.  " + text)
    wrong = {"f": tf.io.VarLenFeature(tf.int64)}
    text = "Key: f.  Data types don't match. Expected type: int64, Actual type: float"
    assert raised(one, EXAMPLES[0], wrong).startswith(text)
    wrong = {"i": tf.io.FixedLenFeature([4], tf.int64)}
    assert raised(many, EXAMPLES, wrong).startswith(
        "Name: <unknown>, Key: i, Index: 0.  Number of int64 values != expected.  Values size: 3 "
        "but output shape: [4]"
    )
    assert raised(many, [b"abc"], wrong).startswith("Could not parse example input, value: 'abc'")
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="Expected len.names."):
        many(EXAMPLES, absent, example_names=["a"])


@pytest.mark.parametrize(
    "feature", [tf.io.VarLenFeature(tf.int64), tf.io.FixedLenSequenceFeature([], tf.int64)]
)
def test_feature_list_of_another_type(feature):
    steps = [tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))]
    record = tf.train.SequenceExample(
        feature_lists=tf.train.FeatureLists(feature_list={"l": tf.train.FeatureList(feature=steps)})
    ).SerializeToString()
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="Feature list: l, Index: 0.  Data types don't match. Expected type: int64",
    ):
        tf.io.parse_single_sequence_example(record, sequence_features={"l": feature})


def test_default_has_the_shape_of_the_feature():
    parsed = tf.io.parse_example(
        EXAMPLES,
        {
            "absent": tf.io.FixedLenFeature([2, 2], tf.float32, [3.0, 4.0, 5.0, 6.0]),
            "scalar": tf.io.FixedLenFeature([], tf.int64, [7]),
        },
    )
    assert parsed["absent"].numpy().tolist() == [[[3, 4], [5, 6]]] * 2
    assert parsed["scalar"].numpy().tolist() == [7, 7]


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"num_sparse": 1}, "num_sparse is 1, but there are 0 sparse_types"),
        ({"dense_shapes": [[2], [2]]}, "Tdense has 1 types, but there are 2 dense_shapes"),
        ({"dense_keys": ["a", "b"]}, "Expected dense_keys to be a vector of 1 elements"),
        ({"dense_defaults": [[1.0, 2.0, 3.0]]}, "is not compatible with dense_shapes"),
        ({"serialized": [[b""]]}, "Expected serialized to be a scalar or vector, got rank 2"),
    ],
)
def test_arguments_of_the_op_must_agree(changes, text):
    arguments = {
        "serialized": [b""],
        "names": tf.constant([], tf.string),
        "sparse_keys": tf.constant([], tf.string),
        "dense_keys": ["a"],
        "ragged_keys": tf.constant([], tf.string),
        "dense_defaults": [[1.0, 2.0]],
        "num_sparse": 0,
        "sparse_types": [],
        "dense_shapes": [[2]],
        **changes,
    }
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=text):
        tf.raw_ops.ParseExampleV2(**arguments)


def test_one_example():
    parsed = tf.io.parse_single_example(
        EXAMPLES[0],
        {
            "i": tf.io.FixedLenFeature([3], tf.int64),
            "s": tf.io.FixedLenFeature([2], tf.string),
            "d": tf.io.FixedLenFeature([], tf.float32, default_value=5.0),
            "v": tf.io.VarLenFeature(tf.int64),
        },
    )
    assert parsed["i"].numpy().tolist() == [1, -2, 3]
    assert parsed["s"].numpy().tolist() == [b"a", b"bc"]
    assert parsed["d"].numpy() == 5 and parsed["d"].shape == ()
    assert tf.sparse.to_dense(parsed["v"]).numpy().tolist() == [7]


def test_many_examples():
    parsed = tf.io.parse_example(
        EXAMPLES, {"f": tf.io.FixedLenFeature([2], tf.float32), "v": tf.io.VarLenFeature(tf.int64)}
    )
    assert parsed["f"].numpy().tolist() == [[1.5, 2.5], [0.5, 2]]
    assert tf.sparse.to_dense(parsed["v"]).numpy().tolist() == [[7, 0], [8, 9]]
    parsed = tf.io.parse_example(
        EXAMPLES, {"v": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
    )
    assert parsed["v"].numpy().tolist() == [[7, 0], [8, 9]]


def test_in_a_pipeline():
    data = (
        tf.data.Dataset.from_tensor_slices(EXAMPLES)
        .map(
            lambda e: tf.io.parse_single_example(e, {"i": tf.io.FixedLenFeature([3], tf.int64)})[
                "i"
            ],
            num_parallel_calls=2,
        )
        .batch(2)
    )
    assert data.element_spec.shape.as_list() == [None, 3]
    assert next(iter(data)).numpy().tolist() == [[1, -2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    "feature, text",
    [
        ({"x": tf.io.FixedLenFeature([], tf.int64)}, "Feature: x .* is required but could not be"),
        ({"f": tf.io.FixedLenFeature([2], tf.int64)}, "Data types don't match. Data type: float"),
        ({"i": tf.io.FixedLenFeature([2], tf.int64)}, "Number of int64 values != expected"),
    ],
)
def test_wrong_examples(feature, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.io.parse_single_example(EXAMPLES[0], feature)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
        tf.io.parse_single_example(b"garbage!", feature)


def _png(pixels):
    height, width, _ = pixels.shape

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def test_png_and_bmp():
    pixels = np.arange(5 * 3 * 3, dtype=np.uint8).reshape(5, 3, 3)
    assert np.array_equal(tf.image.decode_png(_png(pixels)).numpy(), pixels)
    assert tf.image.decode_image(_png(pixels), channels=4).numpy()[0, 0].tolist() == [0, 1, 2, 255]
    fractions = tf.io.decode_image(_png(pixels), dtype=tf.float32)
    np.testing.assert_allclose(fractions.numpy(), pixels / np.float32(255), rtol=1e-6)
    lines = b"".join(row[:, ::-1].tobytes() + b"\0" * 3 for row in pixels[::-1])
    bmp = (
        b"BM"
        + struct.pack("<IHHIIiiHHI", 54 + len(lines), 0, 0, 54, 40, 3, 5, 1, 24, 0)
        + b"\0" * 20
        + lines
    )
    assert np.array_equal(tf.image.decode_bmp(bmp).numpy(), pixels)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        tf.image.decode_image(b"no picture at all")


def test_indexed_slices():
    rows = tf.IndexedSlices([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 2, 0], [3, 2])
    assert tf.convert_to_tensor(rows).numpy().tolist() == [[6, 8], [0, 0], [3, 4]]


def test_records_of_sequences():
    import situ.compat.v1 as tf

    def numbers(*values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    record = tf.train.SequenceExample(
        context=tf.train.Features(feature={"n": numbers(3)}),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                "t": tf.train.FeatureList(feature=[numbers(1), numbers(2)]),
                "v": tf.train.FeatureList(feature=[numbers(1, 2), numbers(), numbers(3)]),
            }
        ),
    )
    text = record.SerializeToString()
    with tf.Graph().as_default(), tf.Session() as session:
        context, lists = tf.parse_single_sequence_example(
            text,
            {"n": tf.FixedLenFeature([], tf.int64)},
            {
                "t": tf.FixedLenSequenceFeature([], tf.int64),
                "v": tf.VarLenFeature(tf.int64),
                "m": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
            },
        )
        assert lists["t"].shape.as_list() == [None] and lists["m"].shape.as_list() == [None, 2]
        context, lists = session.run([context, lists])
        assert context["n"] == 3 and lists["t"].tolist() == [1, 2] and lists["m"].shape == (0, 2)
        assert lists["v"].indices.tolist() == [[0, 0], [0, 1], [2, 0]]
        assert lists["v"].dense_shape.tolist() == [3, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="is required but could not"):
            session.run(
                tf.parse_single_sequence_example(
                    text, None, {"q": tf.FixedLenSequenceFeature([], tf.int64)}
                )
            )


def test_pairs_of_words():
    import situ.compat.v1 as tf

    sequence = tf.keras.preprocessing.sequence
    pairs, labels = sequence.skipgrams([1, 2, 3], 10, 1, negative_samples=0.5, seed=1)
    assert sorted(p for p, y in zip(pairs, labels) if y) == [[1, 2], [2, 1], [2, 3], [3, 2]]
    assert labels.count(0) == 2 and sequence.make_sampling_table(9).shape == (9,)


SEQUENCES = {
    "int64": (list(range(1, 7)), 0, -1, "int64"),
    "float32": ([0.5 * i for i in range(1, 7)], 0.0, -1.0, "float"),
    "string": ([b"a", b"b", b"c", b"d", b"e", b"f"], b"", b"none", "bytes"),
}


def sequence_example(dtype, count):
    values = SEQUENCES[dtype][0][:count]
    feature = {
        "int64": lambda: tf.train.Feature(int64_list=tf.train.Int64List(value=values)),
        "float32": lambda: tf.train.Feature(float_list=tf.train.FloatList(value=values)),
        "string": lambda: tf.train.Feature(bytes_list=tf.train.BytesList(value=values)),
    }[dtype]()
    features = {"x": feature} if count else {}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@pytest.mark.parametrize("dtype", SEQUENCES)
@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize("counts, bad", [([2, 3], 0), ([3, 2], 1), ([3, 6, 4], 2), ([4], 0)])
def test_each_sequence_is_a_multiple_of_its_shape(dtype, default, counts, bad):
    padding = SEQUENCES[dtype][2] if default else None
    feature = tf.io.FixedLenSequenceFeature([3], dtype, True, padding)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=rf"Key: x, Index: {bad}.  Number of {SEQUENCES[dtype][3]} values is not a multiple "
        rf"of stride length. Saw {counts[bad]} values but output shape is: \[\?,3\]",
    ):
        tf.io.parse_example([sequence_example(dtype, n) for n in counts], {"x": feature})


@pytest.mark.parametrize("dtype", SEQUENCES)
@pytest.mark.parametrize("default", [False, True])
def test_sequences_are_padded_to_the_longest(dtype, default):
    values, zero, other, _ = SEQUENCES[dtype]
    feature = tf.io.FixedLenSequenceFeature([3], dtype, True, other if default else None)
    pad = other if default else zero
    found = tf.io.parse_example([sequence_example(dtype, n) for n in (3, 0, 6)], {"x": feature})
    assert found["x"].numpy().tolist() == [
        [values[:3], [pad] * 3],
        [[pad] * 3, [pad] * 3],
        [values[:3], values[3:]],
    ]
    none = tf.io.parse_example([sequence_example(dtype, 0)] * 2, {"x": feature})
    assert none["x"].shape == [2, 0, 3]
    one = tf.io.parse_single_example(sequence_example(dtype, 6), {"x": feature})
    assert one["x"].numpy().tolist() == [values[:3], values[3:]]
    missing = tf.io.parse_single_example(sequence_example(dtype, 0), {"x": feature})
    assert missing["x"].shape == [0, 3]


@pytest.mark.parametrize("dtype", SEQUENCES)
def test_single_sequence_is_a_multiple_of_its_shape(dtype):
    features = {"x": tf.io.FixedLenSequenceFeature([3], dtype, True)}
    text = "feature with key x: number of elements should be divisible by 3, found 2 instead"
    record = sequence_example(dtype, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.io.parse_single_example(record, features)
    with pytest.raises(ValueError, match="Unsupported FixedLenSequenceFeature .* for key 'x'"):
        tf.io.parse_single_sequence_example(record, features)
    features = {"y": tf.io.FixedLenSequenceFeature([3], dtype, True, SEQUENCES[dtype][2])}
    with pytest.raises(ValueError, match=r"feature_list.dense_defaults\[y\] must be None"):
        tf.io.parse_single_sequence_example(record, None, features)


def test_sequences_of_a_traced_batch():
    features = {"x": tf.io.FixedLenSequenceFeature([3], "int64", True)}
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def parse(records):
        found = tf.io.parse_example(records, features)["x"]
        shapes.append(found.shape.as_list())
        return found

    assert parse([sequence_example("int64", 3)]).numpy().tolist() == [[[1, 2, 3]]]
    assert shapes == [[None, None, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a multiple of stride length"):
        parse([sequence_example("int64", n) for n in (2, 3)])


def test_sequence_of_parts_without_elements():
    features = {"x": tf.io.FixedLenSequenceFeature([0], "int64", True)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a multiple of stride length"):
        tf.io.parse_example([sequence_example("int64", 3)], features)
    features = {"x": tf.io.FixedLenSequenceFeature([None], "int64", True)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown inner dimensions"):
        tf.io.parse_example([sequence_example("int64", 3)], features)
