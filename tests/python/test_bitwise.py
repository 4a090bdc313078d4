# SPDX-License-Identifier: Apache-2.0
"""test_bitwise.py: & | ^ ~ of tensors and tf.bitwise: ops, names of nodes, results, errors."""

import numpy
import pytest

import situ as tf
from situ.testing import simulated_gpus

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16")
BINARY = {
    "bitwise_and": numpy.bitwise_and,
    "bitwise_or": numpy.bitwise_or,
    "bitwise_xor": numpy.bitwise_xor,
}


def described(tensor):
    return tensor.op.name, tensor.op.type, [i.op.name for i in tensor.op.inputs]


def test_nodes_of_operators_of_integers():
    with tf.Graph().as_default():
        a, b = tf.constant([5, 6], name="a"), tf.constant([3, 1], name="b")
        assert described(a & b) == ("and/BitwiseAnd", "BitwiseAnd", ["a", "b"])
        assert described(a & 3) == ("and_1/BitwiseAnd", "BitwiseAnd", ["a", "and_1/BitwiseAnd/y"])
        assert described(3 & a) == ("and_2/BitwiseAnd", "BitwiseAnd", ["and_2/x", "a"])
        assert described(a | b) == ("or/BitwiseOr", "BitwiseOr", ["a", "b"])
        assert described(a ^ b) == ("xor/BitwiseXor", "BitwiseXor", ["a", "b"])
        assert described(~a) == ("Invert", "Invert", ["a"])
        assert (a & b).shape == (2,) and (a & b).dtype == tf.int32


def test_nodes_of_operators_of_bools():
    with tf.Graph().as_default():
        a = tf.constant([True], name="a")
        assert described(a & True) == ("and", "LogicalAnd", ["a", "and/y"])
        assert described(a | False) == ("or", "LogicalOr", ["a", "or/y"])
        assert described(a ^ False) == ("xor", "LogicalAnd", ["xor/LogicalOr", "xor/LogicalNot"])
        assert described(~a) == ("LogicalNot", "LogicalNot", ["a"])


def test_nodes_of_functions():
    with tf.Graph().as_default():
        a = tf.constant([5, 6], name="a")
        for name, op in (
            ("bitwise_and", "BitwiseAnd"),
            ("bitwise_or", "BitwiseOr"),
            ("bitwise_xor", "BitwiseXor"),
            ("left_shift", "LeftShift"),
            ("right_shift", "RightShift"),
        ):
            function = getattr(tf.bitwise, name)
            assert described(function(a, 3)) == (op, op, ["a", op + "/y"])
            assert described(function(x=a, y=a, name=name)) == (name, op, ["a", "a"])
        assert described(tf.bitwise.invert(a)) == ("Invert", "Invert", ["a"])
        assert tf.gradients(a & 1, [a]) == [None]


@pytest.mark.parametrize("device", ["/CPU:0", "/GPU:0"])
@pytest.mark.parametrize("kind", TYPES)
def test_results(kind, device):
    limits = numpy.iinfo(kind)
    x = numpy.array([0, 1, 3, limits.max, limits.min, limits.max - 5], kind)
    y = x[::-1].copy()
    with simulated_gpus(1), tf.device(device):
        for name, function in BINARY.items():
            got = getattr(tf.bitwise, name)(x, y)
            assert got.dtype.name == kind and got.numpy().tolist() == function(x, y).tolist()
            got = getattr(tf.bitwise, name)(x[:, None], y).numpy()
            assert got.tolist() == function(x[:, None], y).tolist()
        assert tf.bitwise.invert(x).numpy().tolist() == numpy.invert(x).tolist()
        assert (~tf.constant(x)).numpy().tolist() == (~x).tolist()


@pytest.mark.parametrize("device", ["/CPU:0", "/GPU:0"])
@pytest.mark.parametrize("kind", TYPES)
def test_amounts_of_shifts_are_clamped(kind, device):
    limits = numpy.iinfo(kind)
    x = numpy.array([1, 3, limits.max, limits.min, limits.max - 5], kind)
    amounts = [0, 1, limits.bits - 1, limits.bits, limits.bits + 1, 100, limits.max]
    amounts += [-1, -5, limits.min] if limits.min else []
    with simulated_gpus(1), tf.device(device):
        for amount in amounts:
            y = numpy.full(x.shape, amount, kind)
            bits = numpy.array(min(max(amount, 0), limits.bits - 1), kind)
            assert tf.bitwise.left_shift(x, y).numpy().tolist() == (x << bits).tolist(), amount
            assert tf.bitwise.right_shift(x, y).numpy().tolist() == (x >> bits).tolist(), amount


def test_operators_at_once():
    a = tf.constant([5, 6])
    assert (a & 3).numpy().tolist() == [1, 2]
    assert (3 | a).numpy().tolist() == [7, 7]
    assert (numpy.array([1, 1], "int32") ^ a).numpy().tolist() == [4, 7]
    assert (a & True).numpy().tolist() == [1, 0]
    assert (tf.Variable([5, 6]) & a).numpy().tolist() == [5, 6]
    assert (~tf.Variable([5])).numpy().tolist() == [-6]
    assert (tf.constant([True, False]) ^ True).numpy().tolist() == [False, True]
    assert (True ^ tf.constant([True, False])).numpy().tolist() == [False, True]


def test_wrong_types():
    real, whole = tf.constant([1.0]), tf.constant([1])
    for call in (
        lambda: real & real,
        lambda: ~real,
        lambda: tf.bitwise.left_shift(real, real),
        lambda: tf.bitwise.invert([True]),
        lambda: whole & tf.constant([1], "int64"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            call()
    for call in (lambda: whole & 1.5, lambda: tf.constant([True]) & 1):
        with pytest.raises(TypeError):
            call()
    with tf.Graph().as_default():
        whole = tf.constant([1])
        with pytest.raises(
            TypeError,
            match="Input 'y' of 'BitwiseAnd' Op has type int64 that does "
            "not match type int32 of argument 'x'",
        ):
            whole & tf.constant([1], "int64")
        with pytest.raises(TypeError, match="has DataType float32 not in list of allowed values"):
            ~tf.constant([1.0])


def test_function_has_no_python_callback():
    @tf.function
    def mixed(x):
        return ~((x & 12) | 3) ^ tf.bitwise.left_shift(x, 2)

    x = numpy.arange(20, dtype="int32")
    assert mixed(x).numpy().tolist() == (~((x & 12) | 3) ^ (x << 2)).tolist()
    types = {o.type for o in mixed.get_concrete_function(x).graph.get_operations()}
    assert not types & {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def test_graph_def_goes_round():
    with tf.Graph().as_default() as graph:
        a = tf.compat.v1.placeholder("int32", [None], name="a")
        tf.identity(tf.bitwise.right_shift(~(a ^ 9), 1), name="out")
    definition = graph.as_graph_def()
    assert {"Invert", "BitwiseXor", "RightShift"} <= {n.op for n in definition.node}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.import_graph_def(definition, name="")
        assert session.run("out:0", {"a:0": [5, 6]}).tolist() == [~(5 ^ 9) >> 1, ~(6 ^ 9) >> 1]


def test_saved_model(tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def call(self, x):
            return ~x & 255

    tf.saved_model.save(Model(), str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert loaded.call(tf.constant([5, 6])).numpy().tolist() == [250, 249]


def test_keras_functional_model():
    x = tf.keras.Input([2], dtype="int32")
    model = tf.keras.Model(x, (x & 6) | tf.bitwise.left_shift(x, 4))
    assert model(tf.constant([[5, 3]])).numpy().tolist() == [[5 & 6 | 80, 3 & 6 | 48]]
