# SPDX-License-Identifier: Apache-2.0
"""test_raw_ops.py: tf.raw_ops has the argument names of TensorFlow for every op
(tests/golden/raw_ops.txt)."""

import inspect
import json
import pathlib

import numpy
import pytest

import situ as tf

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "raw_ops.txt"


def read(line):
    """Returns op, {argument: default or REQUIRED}, outputs of a line."""
    left, _, outputs = line.partition(" ->")
    op, *arguments = left.split()
    pairs = [argument.partition("=") for argument in arguments]
    defaults = {n: json.loads(text) if equals else REQUIRED for n, equals, text in pairs}
    return op, defaults, outputs.split()


REQUIRED = object()
LINES = [read(line) for line in GOLDEN.read_text().splitlines()]
EXPECTED = {op: list(defaults) for op, defaults, _ in LINES}
DEFAULTS = {op: defaults for op, defaults, _ in LINES}
OUTPUTS = {op: outputs for op, _, outputs in LINES}
MISSING = {  # arguments of TensorFlow that situ does not have: a TypeError names them
    "VarHandleOp": ["allowed_devices"],  # op definitions have no lists of strings
}
# Defaults that differ: a queue without components is of no use.
OTHER_DEFAULTS = {
    ("PriorityQueueV2", "component_types"),
}


def understood(op):
    """The names of each parameter, in order: Python's and the op's."""
    if not hasattr(op, "parameters"):  # takes functions: written in Python
        return [{name} for name in inspect.signature(op).parameters]
    return [{name, meant} for name, meant, _ in op.parameters]


@pytest.mark.parametrize("op", sorted(EXPECTED))
def test_arguments(op):
    names = understood(getattr(tf.raw_ops, op))
    known = set().union(*names) if names else set()
    lacking = [name for name in EXPECTED[op] if name not in known]
    assert lacking == MISSING.get(op, [])


@pytest.mark.parametrize("op", sorted(set(EXPECTED) - set(MISSING)))
def test_no_name_means_another_parameter(op):
    names = understood(getattr(tf.raw_ops, op))
    meant = [next(i for i, both in enumerate(names) if name in both) for name in EXPECTED[op]]
    assert len(set(meant)) == len(meant)


def default_of(text):
    """The value of a default as an op definition writes it; a type is its name."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("'"):
        return text[1:-1]
    if text == "<unknown>":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return tf.as_dtype(text).name


@pytest.mark.parametrize("op", sorted(EXPECTED))
def test_defaults(op):
    """What TensorFlow requires may have a default."""
    for name, meant, text in getattr(getattr(tf.raw_ops, op), "parameters", ()):
        want = DEFAULTS[op].get(name, DEFAULTS[op].get(meant, REQUIRED))
        if want is REQUIRED or (op, meant) in OTHER_DEFAULTS:
            continue
        assert text is not None and default_of(text) == want, name


@pytest.mark.parametrize("op", sorted(op for op in OUTPUTS if len(OUTPUTS[op]) > 1))
def test_names_of_outputs(op):
    assert list(getattr(tf.raw_ops, op).fields) == OUTPUTS[op]


def test_calls_by_name():
    x = numpy.arange(4, dtype="float32")
    first, second = tf.raw_ops.Split(axis=0, value=x, num_split=2)
    assert first.numpy().tolist() == [0, 1] and second.numpy().tolist() == [2, 3]
    parts = tf.raw_ops.SplitV(value=x, size_splits=[1, 3], axis=0, num_split=2)
    assert [p.shape[0] for p in parts] == [1, 3]
    chosen = tf.raw_ops.Select(condition=[True, False], x=[1, 2], y=[3, 4])
    assert chosen.numpy().tolist() == [1, 4]
    assert tf.raw_ops.Where(condition=[False, True]).numpy().tolist() == [[1]]
    total = tf.raw_ops.Sum(input=[[1, 2], [3, 4]], axis=0, keep_dims=True)
    assert total.numpy().tolist() == [[4, 6]]


def test_inputs_of_atan2_and_polygamma():
    for atan2 in (tf.raw_ops.Atan2, tf.math.atan2):
        assert atan2(y=1.0, x=2.0).numpy() == pytest.approx(numpy.arctan2(1.0, 2.0))
    for polygamma in (tf.raw_ops.Polygamma, tf.math.polygamma):
        assert polygamma(a=1.0, x=2.0).numpy() == pytest.approx(numpy.pi**2 / 6 - 1, rel=1e-5)
    with tf.GradientTape(persistent=True) as tape:
        y, x = tf.constant(1.0), tf.constant(2.0)
        tape.watch([y, x])
        z = tf.math.atan2(y, x)
    assert tape.gradient(z, y).numpy() == pytest.approx(0.4)
    assert tape.gradient(z, x).numpy() == pytest.approx(-0.2)


def test_values_that_are_not_supported():
    with pytest.raises(tf.errors.UnimplementedError, match="Truncate"):
        tf.raw_ops.Cast(x=tf.constant([0.1], tf.float64), DstT=tf.float32, Truncate=True)
    assert tf.raw_ops.Cast(x=[1.5], DstT=tf.int32, Truncate=True).numpy().tolist() == [1]
    with pytest.raises(tf.errors.UnimplementedError, match="ragged_keys"):
        tf.raw_ops.ParseExampleV2(
            serialized=[b""],
            names=[],
            sparse_keys=tf.constant([], tf.string),
            dense_keys=["b"],
            ragged_keys=["a"],
            dense_defaults=[tf.constant([], tf.int64)],
            num_sparse=0,
            sparse_types=[],
            dense_shapes=[[]],
        )


def test_leading_dimensions_of_unset_elements():
    items = tf.raw_ops.TensorListReserve(
        element_shape=tf.constant(-1), num_elements=2, element_dtype=tf.float32
    )
    items = tf.raw_ops.TensorListSetItem(input_handle=items, index=0, item=tf.constant([1.0, 2.0]))
    for given, lengths in (([], [2, 2]), ([2, 3], [2, 3]), ([5, 3], [2, 3]), ([2], [2, 2])):
        whole, found = tf.raw_ops.TensorListConcatV2(
            input_handle=items,
            element_shape=tf.constant([-1]),
            leading_dims=tf.constant(given, tf.int64),
            element_dtype=tf.float32,
        )
        assert found.numpy().tolist() == lengths
        assert whole.numpy().tolist() == [1, 2] + [0] * lengths[1]


def test_indices_out_of_bounds_are_ignored():
    raw, x = tf.raw_ops, tf.constant([1.0, 5.0, 3.0])
    at = [[1], [9], [-1]]
    found = raw.GatherNd(params=x, indices=at, bad_indices_policy="IGNORE")
    assert found.numpy().tolist() == [5, 0, 0]
    given = {"indices": at, "updates": [10.0, 20.0, 0.0], "bad_indices_policy": "IGNORE"}
    assert raw.ScatterNd(shape=[3], **given).numpy().tolist() == [0, 10, 0]
    with tf.GradientTape() as tape:
        tape.watch(x)
        largest = raw.TensorScatterMax(tensor=x, **given)
    assert largest.numpy().tolist() == [1, 10, 3]
    assert tape.gradient(largest, x).numpy().tolist() == [1, 0, 1]
    for policy in ("", "DEFAULT", "ERROR"):
        with pytest.raises(tf.errors.InvalidArgumentError):
            raw.GatherNd(params=x, indices=at, bad_indices_policy=policy)
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad_indices_policy"):
        raw.GatherNd(params=x, indices=at, bad_indices_policy="SKIP")


def test_shapes_that_cannot_be_broadcast_are_unequal():
    shapes = {"x": [1, 2, 3], "y": [1, 2], "incompatible_shape_error": False}
    equal, differs = tf.raw_ops.Equal(**shapes), tf.raw_ops.NotEqual(**shapes)
    assert equal.numpy() == numpy.False_ and differs.numpy() == numpy.True_
    assert equal.shape == differs.shape == ()

    @tf.function
    def compare(x, y):
        return tf.raw_ops.Equal(x=x, y=y, incompatible_shape_error=False)

    spec = tf.TensorSpec([None], tf.int32)
    assert compare.get_concrete_function(spec, spec).outputs[0].shape.rank is None
    assert compare(tf.constant([1, 2]), tf.constant([1, 3])).numpy().tolist() == [True, False]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        tf.raw_ops.Equal(x=[1, 2, 3], y=[1, 2])


def test_batch_dims_of_gather():
    params = tf.constant(numpy.arange(24.0).reshape(2, 3, 4))
    for axis, batch_dims, indices in (
        (1, 1, [[0, 1], [1, 0]]),
        (2, 1, [[0, 3, 3], [1, 1, 0]]),
        (2, -1, [[0, 3], [1, 1]]),
        (2, 2, [[0, 1, 2], [3, 3, 3]]),
    ):
        with tf.GradientTape() as tape:
            tape.watch(params)
            result = tf.raw_ops.GatherV2(
                params=params, indices=indices, axis=axis, batch_dims=batch_dims
            )
            weights = numpy.arange(float(result.numpy().size)).reshape(result.shape)
            loss = tf.reduce_sum(result * weights)
        batch = batch_dims % 2 or batch_dims
        want, slope = [], numpy.zeros([2, 3, 4])
        for at in numpy.ndindex(params.numpy().shape[:batch]):
            pick = numpy.array(indices)[at]
            want.append(numpy.take(params.numpy()[at], pick, axis - batch))
            places = (slice(None),) * (axis - batch) + (pick,)
            numpy.add.at(slope[at], places, weights[at])
        assert result.numpy().tolist() == numpy.reshape(want, result.shape).tolist()
        assert tape.gradient(loss, params).numpy().tolist() == slope.tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch_dims"):
        tf.raw_ops.GatherV2(params=params, indices=[[0], [0]], axis=0, batch_dims=1)


def test_types_of_top_k_and_multiples_of_tile_grad():
    for kind in (tf.int16, tf.int32, tf.int64):
        values, indices = tf.raw_ops.TopKV2(
            input=[1.0, 5.0, 3.0], k=tf.constant(2, kind), index_type=kind
        )
        assert values.numpy().tolist() == [5, 3] and indices.numpy().tolist() == [1, 2]
        assert indices.dtype == kind
    summed = tf.raw_ops.TileGrad(input=[[1, 2, 3, 4]], multiples=[1, 2])
    assert summed.numpy().tolist() == [[4, 6]]


def test_several_outputs_are_a_namedtuple():
    raw = tf.raw_ops
    best = raw.TopKV2(input=[1.0, 5.0, 3.0], k=2)
    assert best.values.numpy().tolist() == [5, 3] and best.indices.numpy().tolist() == [1, 2]
    assert type(best).__name__ == "TopKV2" and best._fields == ("values", "indices")
    found = tf.function(lambda x: raw.Unique(x=x))(tf.constant([3, 3, 1]))
    assert found.y.numpy().tolist() == [3, 1] and found.idx.numpy().tolist() == [0, 0, 1]
    decoded = raw.CTCBeamSearchDecoder(
        inputs=tf.zeros([2, 1, 3]), sequence_length=[2], beam_width=4, top_paths=2
    )
    assert [len(part) for part in decoded[:3]] == [2, 2, 2]
    assert decoded.log_probability.shape == (1, 2)
    assert raw.TopKV2.__doc__ and raw.TopKV2.parameters[0][0] == "input"


def test_types_of_lists_are_inferred():
    parts = tf.raw_ops.IdentityN(input=[1, 2.5, "x"])
    assert [p.dtype for p in parts] == [tf.int32, tf.float32, tf.string]
    assert tf.raw_ops.Assert(condition=True, data=["x", 1.5]) is None
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[x\] \[1.5\]"):
        tf.raw_ops.Assert(condition=False, data=["x", 1.5])
    with tf.Graph().as_default() as graph:
        parts = tf.raw_ops.IdentityN(input=[1, 2.5])
        assert graph.get_operations()[-1].get_attr("T") == [tf.int32, tf.float32]
    parsed = tf.raw_ops.ParseExampleV2(
        serialized=[b""],
        names=[],
        sparse_keys=["s", "t"],
        dense_keys=["d"],
        ragged_keys=tf.constant([], tf.string),
        dense_defaults=[tf.constant([4], tf.int64)],
        num_sparse=2,
        sparse_types=[tf.float32, tf.string],
        dense_shapes=[[]],
    )
    assert [p.dtype for p in parsed.sparse_values] == [tf.float32, tf.string]
    assert [p.numpy().tolist() for p in parsed.dense_values] == [[4]]


def test_units_and_encodings_of_strings():
    raw = tf.raw_ops
    texts = ["äbc", "日本", b"\xff\xfe\x80a"]
    assert raw.StringLength(input=texts).numpy().tolist() == [4, 6, 4]
    assert raw.StringLength(input=texts, unit="UTF8_CHAR").numpy().tolist() == [3, 2, 3]

    def cases(text, encoding):
        ops = (raw.StringLower, raw.StringUpper)
        return [op(input=text, encoding=encoding).numpy() for op in ops]

    assert cases("ÄbÇ", "") == ["ÄbÇ".encode(), "ÄBÇ".encode()]
    for text in ("ÄBç éİss ß", "ΑΣ ΣΑΣ, ας", "Ǆ ǆ ŉ ﬁ ᾳ", "Straße 𐐀𐐨"):
        assert cases(text, "utf-8") == [text.lower().encode(), text.upper().encode()]
    assert cases(b"a\xffB\xe2\x82", "utf-8") == ["a\ufffdb\ufffd\ufffd".encode()] + [
        "A\ufffdB\ufffd\ufffd".encode()
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="received latin"):
        cases("a", "latin")


def test_columns_and_types_of_decode_csv():
    def decode(records, defaults, **kwargs):
        found = tf.raw_ops.DecodeCSV(records=records, record_defaults=defaults, **kwargs)
        return [column.numpy().tolist() for column in found]

    lines = ["1,2,NA", "NA,5,6"]
    chosen = {"na_value": "NA", "select_cols": [0, 2]}
    assert decode(lines, [[7], ["k"]], **chosen) == [[1, 7], [b"k", b"6"]]
    none = tf.constant([], tf.float64)
    assert decode(["1,3,2.5"], [tf.constant(1, tf.int64), [2.0], none]) == [[1], [3], [2.5]]
    wide = [str(i) for i in range(40)]
    assert decode([",".join(wide)], [[0]] * 20, select_cols=list(range(0, 40, 2))) == [
        [i] for i in range(0, 40, 2)
    ]
    for select_cols, text in (
        ([2, 0], "strictly increasing"),
        ([-1, 1], "non-negative"),
        ([0], "match output size"),
        ([0, 3], "Expect 2 fields but have 1 in record 0"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            decode(lines, [[7], ["k"]], select_cols=select_cols)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field 1 in record 0 is not a valid"):
        decode(["1,x"], [[1], [2]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field 1 is required but missing"):
        decode(["1,"], [[1], none])


def test_templates_of_string_format():
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    text = tf.raw_ops.StringFormat(inputs=[x, "s"], template="{} and {}.", placeholder="{}")
    assert text.numpy() == b'[[1 2 3]\n [4 5 6]] and "s".'
    text = tf.raw_ops.StringFormat(inputs=[x], template="%s", summarize=1)
    assert text.numpy() == b"[[1 ... 3]\n [4 ... 6]]"
    assert tf.raw_ops.StringFormat(inputs=[], template="none").numpy() == b"none"
    with pytest.raises(tf.errors.InvalidArgumentError, match="must match: 2 vs. 1"):
        tf.raw_ops.StringFormat(inputs=[x], template="%s %s")


def test_algorithms_of_keyed_random_numbers():
    def numbers(alg):
        return tf.raw_ops.StatelessRandomUniformV2(
            shape=[2],
            key=tf.constant([7], tf.uint64),
            counter=tf.constant([0, 1], tf.uint64),
            alg=alg,
        ).numpy()

    assert numbers(1).tolist() == numbers(3).tolist()
    for alg in (0, 2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"algorithm id: {alg}"):
            numbers(alg)


def test_iterators():
    raw, v1 = tf.raw_ops, tf.compat.v1
    kinds = {"output_types": [tf.int64], "output_shapes": [[]]}
    with tf.Graph().as_default() as graph:
        v1.data.make_one_shot_iterator(tf.data.Dataset.range(5, 8))
        nodes = [n for n in graph.get_operations() if n.type == "DatasetOneShotIterator"]
        dataset = nodes[0].inputs[0]
        iterator = raw.AnonymousIterator(**kinds)
        with graph.control_dependencies([raw.MakeIterator(dataset=dataset, iterator=iterator)]):
            element = raw.IteratorGetNext(iterator=iterator, **kinds)
        single = raw.DatasetToSingleElement(dataset=dataset, metadata="m", **kinds)
        with v1.Session() as session:
            assert session.run(element) == [5] and session.run(element) == [5]
            with pytest.raises(tf.errors.InvalidArgumentError, match="more than one element"):
                session.run(single)
