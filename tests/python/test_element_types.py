# SPDX-License-Identifier: Apache-2.0
"""test_element_types.py: uint32, uint64, bfloat16, complex64 and complex128 tensors: creation,
conversion, the ops that move elements, serialization. Without ml_dtypes the NumPy type of bfloat16
is float32."""

import numpy as np
import pytest

import situ as tf

v1 = tf.compat.v1
TYPES = ["uint32", "uint64", "bfloat16", "complex64", "complex128"]
OTHERS = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16"]


def in_graph(call):
    def run(dtype):
        with tf.Graph().as_default():
            result = call(dtype)
            with v1.Session() as session:
                return session.run(result)

    return run


def values(dtype):
    return tf.constant([[1, 2, 3], [4, 5, 6]], dtype)


def array(tensor):
    return tensor.numpy() if hasattr(tensor, "numpy") else np.asarray(tensor)


USES = {
    "constant": lambda d: tf.constant([1], d),
    "constant in a graph": in_graph(lambda d: tf.constant([1], d)),
    "convert_to_tensor": lambda d: tf.convert_to_tensor([1], d),
    "cast": lambda d: tf.cast([1], d),
    "ones": lambda d: tf.ones([1], d),
    "ones in a graph": in_graph(lambda d: tf.ones([1], d)),
    "ones_like": lambda d: tf.ones_like(tf.zeros([1], d)),
    "eye": lambda d: tf.eye(1, dtype=d)[0],
    "one_hot": lambda d: tf.one_hot([0], 1, dtype=d)[0],
    "Variable": lambda d: tf.Variable([1], dtype=d),
    "numpy_function": lambda d: tf.numpy_function(lambda: np.ones(1, d.as_numpy_dtype), [], d),
    "raw op": lambda d: tf.raw_ops.Cast(x=[1], DstT=d),
    "from_generator": lambda d: next(iter(tf.data.Dataset.from_generator(lambda: iter([[1]]), d))),
    "array": lambda d: tf.constant(np.ones(1, d.as_numpy_dtype), d),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("use", USES)
def test_creation(use, name):
    dtype = getattr(tf, name)
    result = array(USES[use](dtype))
    assert result.dtype == dtype.as_numpy_dtype
    assert result.tolist() == [1]


MOVES = {
    "reshape": (lambda x: tf.reshape(x, [3, 2]), lambda n: n.reshape(3, 2)),
    "transpose": (tf.transpose, np.transpose),
    "concat": (lambda x: tf.concat([x, x], 0), lambda n: np.concatenate([n, n])),
    "split": (lambda x: tf.split(x, 3, 1)[1], lambda n: n[:, 1:2]),
    "strided_slice": (lambda x: x[::-1, 1:], lambda n: n[::-1, 1:]),
    "gather": (lambda x: tf.gather(x, [1, 0]), lambda n: n[[1, 0]]),
    "tile": (lambda x: tf.tile(x, [2, 2]), lambda n: np.tile(n, [2, 2])),
    "pad": (lambda x: tf.pad(x, [[1, 0], [0, 2]]), lambda n: np.pad(n, [[1, 0], [0, 2]])),
    "stack": (lambda x: tf.stack([x, x]), lambda n: np.stack([n, n])),
    "unstack": (lambda x: tf.unstack(x)[1], lambda n: n[1]),
    "where": (lambda x: tf.where([True, False], x[0, :2], x[1, :2]), lambda n: [n[0, 0], n[1, 1]]),
    "fill": (lambda x: tf.fill([2], x[0, 1]), lambda n: [n[0, 1]] * 2),
    "scatter_nd": (lambda x: tf.scatter_nd([[1], [1]], x[:, 0], [2]), lambda n: [0, 5]),
    "scatter_update": (
        lambda x: tf.tensor_scatter_nd_update(x, [[0, 0]], [x[1, 1]])[0],
        lambda n: [5, 2, 3],
    ),
    "diag": (lambda x: tf.linalg.diag(x[0]), lambda n: np.diag(n[0])),
    "cond": (
        lambda x: tf.function(lambda a: tf.cond(a.shape[0] > 1, lambda: a, lambda: a[:0]))(x),
        lambda n: n,
    ),
    "while_loop": (
        lambda x: tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a[::-1]), [0, x])[1],
        lambda n: n,
    ),
    "dataset": (lambda x: next(iter(tf.data.Dataset.from_tensors(x).batch(1)))[0], lambda n: n),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("move", MOVES)
def test_elements_are_moved(move, name):
    x = values(name)
    on_tensor, on_array = MOVES[move]
    np.testing.assert_array_equal(array(on_tensor(x)), on_array(x.numpy()))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("other", OTHERS + TYPES + ["bool"])
def test_cast(name, other):
    x = values(name)
    there = tf.cast(x, other)
    assert there.dtype == getattr(tf, other)
    expected = np.ones([2, 3]) if other == "bool" else [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(there.numpy(), expected)
    np.testing.assert_array_equal(tf.cast(there, name).numpy(), expected)


def test_cast_of_complex_numbers_takes_the_real_part():
    x = tf.constant([1 + 2j, -3 - 4j])
    assert x.dtype == tf.complex128
    assert tf.cast(x, "float32").numpy().tolist() == [1, -3]
    assert tf.cast(x, "complex64").numpy().tolist() == [1 + 2j, -3 - 4j]


BFLOAT16 = """
    import sys
    if {block}:
        sys.modules["ml_dtypes"] = None
    import numpy as np
    import situ as tf
    x = tf.constant([1.5, 2.25], tf.bfloat16)
    array = (x + x).numpy()
    print(array.dtype, np.dtype(tf.bfloat16.as_numpy_dtype), array.astype(float).tolist())
    again = tf.constant(array, tf.bfloat16)
    variable = tf.Variable(np.ones(2, tf.bfloat16.as_numpy_dtype), dtype=tf.bfloat16)
    print(again.dtype.name, variable.dtype.name, bool(tf.reduce_all(again == x + x)))
    print(tf.convert_to_tensor(array).dtype.name)
"""


def test_bfloat16_arrays_of_ml_dtypes(python):
    pytest.importorskip("ml_dtypes")
    result = python(BFLOAT16.format(block=False))
    assert result.out.split("\n")[:3] == [
        "bfloat16 bfloat16 [3.0, 4.5]",
        "bfloat16 bfloat16 True",
        "bfloat16",
    ], result.err


def test_bfloat16_arrays_without_ml_dtypes(python):
    result = python(BFLOAT16.format(block=True))
    assert result.out.split("\n")[:3] == [
        "float32 float32 [3.0, 4.5]",
        "bfloat16 bfloat16 True",
        "float32",
    ], result.err


def test_bfloat16_rounds_to_nearest_even():
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF], np.uint32)
    x = tf.cast(tf.constant(bits.view(np.float32)), "bfloat16")
    back = tf.cast(x, "float32").numpy().view(np.uint32)
    assert [hex(b) for b in back] == ["0x3f800000", "0x3f820000", "0x3f810000", "0x7f800000"]
    nan = tf.cast(tf.constant(float("nan")), "bfloat16")
    assert np.isnan(float(nan.numpy()))


@pytest.mark.parametrize("name", TYPES)
def test_graph_def(name):
    n = values(name).numpy()
    with tf.Graph().as_default() as graph:
        fed = v1.placeholder(name, [2, 3], name="fed")
        tf.constant(n, name, name="whole")
        tf.constant(n[1, 1], name, name="scalar")
        with v1.Session() as session:
            np.testing.assert_array_equal(session.run(tf.identity(fed), {fed: n}), n)
    proto = graph.as_graph_def()
    with tf.Graph().as_default():
        read = v1.import_graph_def(proto, return_elements=["whole:0", "scalar:0"])
        with v1.Session() as session:
            whole, scalar = session.run(read)
    np.testing.assert_array_equal(whole, n)
    assert scalar == 5


@pytest.mark.parametrize("name", TYPES)
def test_tensor_proto(name):
    x = values(name)
    for part in (x, x[0, 1]):
        proto = tf.make_tensor_proto(part.numpy(), name)
        np.testing.assert_array_equal(tf.make_ndarray(proto), part.numpy())
        text = tf.io.serialize_tensor(part)
        np.testing.assert_array_equal(tf.io.parse_tensor(text, name).numpy(), part.numpy())


@pytest.mark.parametrize("name", TYPES)
def test_checkpoint(name, tmp_path):
    x = values(name)
    variable = tf.Variable(x)
    path = tf.train.Checkpoint(v=variable).write(str(tmp_path / "all"))
    variable.assign(tf.zeros_like(x))
    tf.train.Checkpoint(v=variable).read(path)
    np.testing.assert_array_equal(variable.numpy(), x.numpy())
    read = tf.train.load_checkpoint(path).get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE")
    np.testing.assert_array_equal(read, x.numpy())


def test_printing():
    assert str(tf.constant([1 + 2j, -1.5 - 0.5j]).numpy()) == "[ 1. +2.j  -1.5-0.5j]"
    for x in ([1 + 2j, -1.5 - 0.5j], [1e10 + 1j, 2], 3 - 1j, 2j, [np.nan + 1j, 1 + np.inf * 1j]):
        tensor = tf.constant(x, "complex128")
        assert str(tensor.numpy()) in str(tensor)
    assert "[18446744073709551615" in str(tf.constant([2**64 - 1, 1], "uint64"))


def test_dtypes():
    assert tf.complex64.real_dtype == tf.float32 and tf.complex128.real_dtype == tf.float64
    assert tf.complex64.is_complex and not tf.complex64.is_floating
    assert tf.bfloat16.is_floating and tf.bfloat16.real_dtype == tf.bfloat16
    assert tf.uint32.is_integer and tf.uint32.is_unsigned and tf.uint32.max == 2**32 - 1
    assert float(tf.bfloat16.max) == 3.3895313892515355e38
    with pytest.raises(TypeError):
        tf.complex64.max


def test_graph_def_with_an_unsupported_type():
    with tf.Graph().as_default() as graph:
        v1.placeholder("float32", [1])
    data = graph.as_graph_def().SerializeToString()
    at = data.index(b"dtype") + data[data.index(b"dtype") :].index(b"\x30\x01")
    data = data[: at + 1] + bytes([11]) + data[at + 2 :]
    with (
        pytest.raises((TypeError, ValueError), match="qint8|11"),
        tf.Graph().as_default(),
    ):
        v1.import_graph_def(v1.GraphDef.FromString(data))
