# SPDX-License-Identifier: Apache-2.0
"""test_unsupported_types.py: errors about dtypes of TensorFlow that situ does not have name the
dtype, wherever it is used."""

import numpy as np
import pytest

import situ as tf

v1 = tf.compat.v1
TYPES = ["uint32", "uint64", "bfloat16", "complex64", "complex128"]


def in_graph(call):
    def run(dtype):
        with tf.Graph().as_default():
            return call(dtype)

    return run


USES = {
    "constant": lambda d: tf.constant([1], d),
    "constant in a graph": in_graph(lambda d: tf.constant([1], d)),
    "convert_to_tensor": lambda d: tf.convert_to_tensor([1], d),
    "cast": lambda d: tf.cast([1], d),
    "zeros": lambda d: tf.zeros([1], d),
    "zeros in a graph": in_graph(lambda d: tf.zeros([1], d)),
    "eye": lambda d: tf.eye(2, dtype=d),
    "range": lambda d: tf.range(3, dtype=d),
    "random": lambda d: tf.random.uniform([1], 0, 5, dtype=d),
    "Variable": lambda d: tf.Variable([1], dtype=d),
    "get_variable": in_graph(lambda d: v1.get_variable("a", [1], d)),
    "placeholder": in_graph(lambda d: v1.placeholder(d, [1])),
    "TensorSpec": lambda d: tf.function(
        lambda x: x, input_signature=[tf.TensorSpec([1], d)]
    ).get_concrete_function(),
    "decode_raw": lambda d: tf.io.decode_raw([b"abcdefgh"], d),
    "numpy_function": lambda d: tf.numpy_function(lambda: 1, [], d),
    "raw op": lambda d: tf.raw_ops.Cast(x=[1], DstT=d),
    "queue": lambda d: tf.queue.FIFOQueue(1, [d]),
    "from_generator": lambda d: tf.data.Dataset.from_generator(lambda: iter([1]), d),
    "output_signature": lambda d: tf.data.Dataset.from_generator(
        lambda: iter([1]), output_signature=tf.TensorSpec([], d)
    ),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("use", USES)
def test_errors_name_the_type(use, name):
    with pytest.raises(
        (TypeError, ValueError, tf.errors.InvalidArgumentError),
        match=f"{name} is not supported by situ yet",
    ):
        USES[use](getattr(tf, name))


@pytest.mark.parametrize("name", [t for t in TYPES if t != "bfloat16"])
@pytest.mark.parametrize(
    "use",
    [
        tf.constant,
        in_graph(tf.constant),
        lambda a: tf.constant([1.0]) + a,
        tf.data.Dataset.from_tensor_slices,
        tf.function(lambda x: x),
    ],
)
def test_errors_name_the_type_of_arrays(use, name):
    with pytest.raises((TypeError, ValueError), match=f"{name} is not supported by situ yet"):
        use(np.ones(1, name))


def test_graph_def_with_an_unsupported_type():
    with tf.Graph().as_default() as graph:
        v1.placeholder("float32", [1])
    data = graph.as_graph_def().SerializeToString()
    at = data.index(b"dtype") + data[data.index(b"dtype") :].index(b"\x30\x01")
    data = data[: at + 1] + bytes([tf.uint32.as_datatype_enum]) + data[at + 2 :]
    with (
        pytest.raises((TypeError, ValueError), match="uint32 is not supported by situ yet"),
        tf.Graph().as_default(),
    ):
        v1.import_graph_def(v1.GraphDef.FromString(data))
