# SPDX-License-Identifier: Apache-2.0
"""test_graph_tensors.py: tensors and operations of graphs: their properties, and invalid uses."""

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    tf.disable_v2_behavior()
    with tf.Graph().as_default() as g:
        yield g
    tf.enable_v2_behavior()


def real():
    return tf.constant([1.0, 2.0], name="a")


def whole():
    return tf.constant([1, 2], name="i")


def test_printing():
    a, p = real(), tf.placeholder(tf.float32, name="p")
    q = tf.placeholder(tf.float32, [None, 3], name="q")
    assert str(a) == 'Tensor("a:0", shape=(2,), dtype=float32)'
    assert repr(a) == "<tf.Tensor 'a:0' shape=(2,) dtype=float32>"
    assert str(p) == 'Tensor("p:0", dtype=float32)' and "shape=(?, 3)" in str(q)
    assert repr(a.op) == "<tf.Operation 'a' type=Const>"
    with tf.device("/gpu:1"):
        assert (
            str(tf.constant(1.0, name="b"))
            == 'Tensor("b:0", shape=(), dtype=float32, device=/device:GPU:1)'
        )


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda: bool(real()),
            TypeError,
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use",
        ),
        (
            lambda: list(real()),
            tf.errors.OperatorNotAllowedInGraphError,
            "iterating over `tf.Tensor` is not allowed in Graph execution",
        ),
        (lambda: len(real()), TypeError, "len is not well defined for symbolic Tensors. (a:0)"),
        (lambda: np.array(real()), NotImplementedError, "Cannot convert a symbolic Tensor (a:0)"),
        (lambda: int(real()), TypeError, ""),
        (
            lambda: real() + whole(),
            TypeError,
            "Input 'y' of 'Add' Op has type int32 that does not match type float32 of "
            "argument 'x'.",
        ),
        (lambda: real() + "x", TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
        (
            lambda: tf.add(whole(), 1.5),
            TypeError,
            "Expected int32, got 1.5 of type 'float' instead.",
        ),
        (
            lambda: whole() / real(),
            TypeError,
            "must have the same dtype, got tf.int32 != tf.float32",
        ),
        (
            lambda: tf.concat([real(), whole()], 0),
            TypeError,
            "of 'ConcatV2' Op have types [float32, int32] that don't all match.",
        ),
        (
            lambda: tf.matmul([[1.0, 2.0]], [[1.0, 2.0]]),
            ValueError,
            "Dimensions must be equal, but are 2 and 1 for 'MatMul' (op: 'MatMul') with input "
            "shapes: [1,2], [1,2].",
        ),
        (lambda: tf.add([1.0, 2.0], [1.0, 2.0, 3.0]), ValueError, "must be equal, but are 2 and 3"),
        (lambda: tf.constant(None), ValueError, "None values not supported."),
        (
            lambda: tf.gather(whole(), [0.5]),
            TypeError,
            "Value passed to parameter 'indices' has DataType float32 not in list of allowed "
            "values: int32,",
        ),
        (
            lambda: tf.constant([1.5], tf.int32),
            TypeError,
            "Expected int32, got 1.5 of type 'float'",
        ),
        (lambda: real().set_shape([3]), ValueError, "Shapes (2,) and (3,) are not compatible"),
        (lambda: real().numpy(), AttributeError, "numpy"),
        (lambda: real()[0, 0], ValueError, "Index out of range using input dim 1"),
        (lambda: real().op.get_attr("zz"), ValueError, "No attr named 'zz'"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_equality_is_identity():
    a, b = real(), real()
    assert (a == a) is True and (a == b) is False and (a == None) is False  # noqa: E711
    assert len({a, b, a}) == 2


def test_run_time_shapes():
    x, y = (tf.placeholder(tf.float32, [None, None]) for _ in range(2))
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(tf.matmul(x, y), {x: [[1.0, 2.0]], y: [[1.0, 2.0]]})
    assert str(caught.value).startswith("Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2]")


def test_node_def():
    a, i = real(), whole()
    with tf.control_dependencies([i]):
        b = tf.add(a, a, name="b")
    node = b.op.node_def
    assert (node.name, node.op, node.input) == ("b", "Add", ["a", "a", "^i"])
    assert node.attr["T"].type == tf.float32.as_datatype_enum
    assert b.op.get_attr("T") == tf.float32 and 'name: "b"' in str(b.op)
    assert [c.name for c in b.op.control_inputs] == ["i"] and b.op.inputs[0] is a


def test_node_def_does_not_write_the_graph(graph):
    for i in range(2000):
        tf.constant(i).op.get_attr("dtype")
    assert len(graph.get_operations()) == 2000


def test_devices(graph):
    with tf.device("/job:ps/task:7/gpu:1"), tf.device("/task:3"):
        a = tf.constant(1.0)
    assert a.op.device == a.device == "/job:ps/task:3/device:GPU:1"
    a.op._set_device("/gpu:5")
    assert a.device == "/gpu:5"
    b = tf.constant(1.0)
    with tf.Session(graph=tf.Graph()):
        pass
    a.op._set_device("")
    assert b.op.device == "" and b.op.assigned_device.endswith("/device:CPU:0")
    assert a.op.assigned_device == b.op.assigned_device


def test_assigned_devices(python):
    result = python(
        """
        import situ.compat.v1 as tf
        with tf.device('/gpu:1'):
            a = tf.placeholder(tf.float32, [None])
        b = a * 2
        with tf.device('/cpu:0'):
            c = b * 2
        for op in (a.op, b.op, c.op):
            print(repr(op.device), op.assigned_device[-5:])
        with tf.device('/gpu:7'):
            d = c * 2
        sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
        print(d.op.device, d.op.assigned_device[-5:])
        """,
        gpus=2,
    )
    assert result.out.splitlines() == [
        "'/device:GPU:1' GPU:1",
        "'' GPU:0",
        "'/device:CPU:0' CPU:0",
        "/device:GPU:7 GPU:0",
    ]


def test_a_key_of_a_feed_may_be_a_structure():
    with tf.Graph().as_default(), tf.Session() as sess:
        state = tf.nn.rnn_cell.LSTMStateTuple(
            tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
        )
        c, h = sess.run(
            [state.c * 2.0, state.h], {state: (np.array([1.0, 2.0]), np.array([3.0, 4.0]))}
        )
        assert c.tolist() == [2.0, 4.0] and h.tolist() == [3.0, 4.0]
        with pytest.raises(ValueError, match="Key had 2 elements, but value had 1"):
            sess.run(state.c, {state: (np.ones(2),)})
        with pytest.raises(ValueError, match="is not unique"):
            sess.run(state.c, {state: (np.ones(2), np.ones(2)), state.c: [1.0, 1.0]})


def test_columns_of_texts_are_tensors():
    class Column:
        """As a column of pandas."""

        def __array__(self, dtype=None, copy=None):
            return np.array(["a", "bc"], object)

    with tf.Session() as sess:
        assert sess.run(tf.constant(Column())).tolist() == [b"a", b"bc"]


def test_a_graph_with_lists_of_inputs_is_imported():
    with tf.control_dependencies([tf.Assert(tf.constant(True), [tf.constant(1), "text"])]):
        tf.identity(tf.constant(3.0), name="end")
    text = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(text, name="")
        assert sess.run("end:0") == 3.0
