# SPDX-License-Identifier: Apache-2.0
"""test_import_loops.py: while loops and TensorArrays in GraphDefs of TensorFlow 1."""

import numpy as np
import pytest

import situ.compat.v1 as tf


class Builder:
    """Writes the nodes of a GraphDef."""

    def __init__(self):
        self.graph_def = tf.GraphDef()

    def add(self, op, name, inputs=(), **attrs):
        node = self.graph_def.node.add(op=op, name=name, input=list(inputs))
        for key, value in attrs.items():
            attr = node.attr[key]
            if isinstance(value, tf.DType):
                attr.type = value.as_datatype_enum
            elif isinstance(value, bool):
                attr.b = value
            elif isinstance(value, int):
                attr.i = value
            elif isinstance(value, str):
                attr.s = value.encode()
            elif isinstance(value, tf.TensorShape):
                attr.shape.CopyFrom(value.as_proto())
            else:
                attr.tensor.CopyFrom(tf.make_tensor_proto(value))
        return name

    def constant(self, name, value, inputs=()):
        value = np.asarray(value)
        dtype = tf.as_dtype(value.dtype)
        return self.add("Const", name, inputs, dtype=dtype, value=value)

    def loop(self, frame, starts, constants, test, body):
        """Adds a frame: `test` and `body` get the names of the variables and of the constants, and
        add nodes. Returns the names of the Exit nodes."""
        types = [dtype for _, dtype in starts]
        merges = []
        for i, (start, dtype) in enumerate(starts):
            name = f"{frame}/Enter_{i}"
            self.add("Enter", name, [start], T=dtype, frame_name=frame, is_constant=False)
            merge = f"{frame}/Merge_{i}"
            merges.append(self.add("Merge", merge, [name, f"{frame}/Next_{i}"], T=dtype, N=2))
        fixed = [
            self.add(
                "Enter", f"{frame}/Const_{i}", [c], T=dtype, frame_name=frame, is_constant=True
            )
            for i, (c, dtype) in enumerate(constants)
        ]
        self.add("LoopCond", f"{frame}/LoopCond", [test(merges, fixed)])
        variables, exits = [], []
        for i, dtype in enumerate(types):
            switch = f"{frame}/Switch_{i}"
            self.add("Switch", switch, [merges[i], f"{frame}/LoopCond"], T=dtype)
            exits.append(self.add("Exit", f"{frame}/Exit_{i}", [switch], T=dtype))
            variables.append(
                self.add("Identity", f"{frame}/Identity_{i}", [switch + ":1"], T=dtype)
            )
        for i, value in enumerate(body(variables, fixed)):
            self.add("NextIteration", f"{frame}/Next_{i}", [value], T=types[i])
        return exits


def run(builder, fetches, **feeds):
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(builder.graph_def, name="")
        with tf.Session(graph=graph) as session:
            names = [f"{name}:0" for name in fetches]
            return session.run(names, {f"{k}:0": v for k, v in feeds.items()})


@pytest.fixture
def counting():
    """A loop with the variables i < n, x * 2 and a vector that grows."""
    builder = Builder()
    builder.add("Placeholder", "n", dtype=tf.int32, shape=tf.TensorShape([]))
    builder.constant("zero", np.int32(0))
    builder.constant("x", np.float32(1))
    builder.constant("v", np.float32([0]))

    def test(merges, fixed):
        return builder.add("Less", "w/Less", [merges[0], fixed[0]], T=tf.int32)

    def body(variables, fixed):
        del fixed
        i, x, v = variables
        one = builder.constant("w/one", np.int32(1), ["^" + i])
        axis = builder.constant("w/axis", np.int32(0), ["^" + i])
        return (
            builder.add("AddV2", "w/add", [i, one], T=tf.int32),
            builder.add("AddV2", "w/twice", [x, x], T=tf.float32),
            builder.add("ConcatV2", "w/grow", [v, v, axis], N=2, T=tf.float32, Tidx=tf.int32),
        )

    starts = [("zero", tf.int32), ("x", tf.float32), ("v", tf.float32)]
    return builder, builder.loop("w", starts, [("n", tf.int32)], test, body)


def test_frames_are_loops(counting):
    builder, exits = counting
    for n in (0, 3):
        i, x, v = run(builder, exits, n=n)
        assert (i, x, v.shape) == (n, 2.0**n, (2**n,))


def test_gradients_of_imported_loops(counting):
    builder, exits = counting
    with tf.Graph().as_default():
        x = tf.constant(3.0)
        (result,) = tf.import_graph_def(
            builder.graph_def, {"x:0": x}, [exits[1] + ":0"], name="loop"
        )
        assert result.name.startswith("loop/w/Exit_1")
        (gradient,) = tf.gradients(result, x)
        with tf.Session() as session:
            assert session.run([result, gradient], {"loop/n:0": 4}) == [48.0, 16.0]


def test_meta_graphs_have_loops(counting, tmp_path):
    builder, exits = counting
    meta = tf.MetaGraphDef()
    meta.graph_def.CopyFrom(builder.graph_def)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        with tf.Session() as session:
            assert session.run(exits[1] + ":0", {"n:0": 5}) == 32.0


def test_nested_frames():
    builder = Builder()
    builder.constant("zero", np.int32(0))
    builder.constant("n", np.int32(4))

    def count(prefix, fixed):
        return lambda merges, constants: builder.add(
            "Less", f"{prefix}/Less", [merges[0], (constants or fixed)[0]], T=tf.int32
        )

    def step(prefix, i):
        one = builder.constant(f"{prefix}/one", np.int32(1), ["^" + i])
        return builder.add("AddV2", f"{prefix}/step", [i, one], T=tf.int32)

    def outer(variables, fixed):
        i, total = variables

        def inner(inside, constants):
            j, partial = inside
            added = builder.add("AddV2", "o/w/sum", [partial, constants[0]], T=tf.int32)
            return step("o/w", j), added

        zero = builder.constant("o/zero", np.int32(0), ["^" + i])
        starts = [(zero, tf.int32), (total, tf.int32)]
        exits = builder.loop("o/w", starts, [(i, tf.int32)], count("o/w", None), inner)
        return step("o", i), exits[1]

    starts = [("zero", tf.int32), ("zero", tf.int32)]
    exits = builder.loop("o", starts, [("n", tf.int32)], count("o", None), outer)
    assert run(builder, exits) == [4, sum(i * i for i in range(4))]


def test_tensor_arrays():
    builder = Builder()
    builder.constant("zero", np.int32(0))
    builder.constant("n", np.int32(3))
    builder.constant("values", np.float32([1, 2, 3]))
    builder.constant("all", np.int32([0, 1, 2]))
    kinds = dict(dtype=tf.float32, dynamic_size=False)
    builder.add("TensorArrayV3", "source", ["n"], **kinds)
    builder.add("TensorArrayV3", "target", ["n"], element_shape=tf.TensorShape([]), **kinds)
    scattered = ["source", "all", "values", "source:1"]
    builder.add("TensorArrayScatterV3", "full", scattered, T=tf.float32)

    def test(merges, fixed):
        return builder.add("Less", "w/Less", [merges[0], fixed[0]], T=tf.int32)

    def body(variables, fixed):
        i, flow = variables
        value = builder.add(
            "TensorArrayReadV3", "w/read", [fixed[1], i, fixed[2]], dtype=tf.float32
        )
        square = builder.add("Mul", "w/square", [value, value], T=tf.float32)
        written = builder.add(
            "TensorArrayWriteV3", "w/write", [fixed[3], i, square, flow], T=tf.float32
        )
        one = builder.constant("w/one", np.int32(1), ["^" + i])
        return builder.add("AddV2", "w/add", [i, one], T=tf.int32), written

    constants = [
        ("n", tf.int32),
        ("source", tf.resource),
        ("full", tf.float32),
        ("target", tf.resource),
    ]
    exits = builder.loop("w", [("zero", tf.int32), ("target:1", tf.float32)], constants, test, body)
    builder.add("TensorArrayGatherV3", "result", ["target", "all", exits[1]], dtype=tf.float32)
    builder.add("TensorArraySizeV3", "size", ["target", exits[1]])
    builder.add("TensorArrayConcatV3", "joined", ["source", "full"], dtype=tf.float32)
    result, size = run(builder, ["result", "size"])
    assert result.tolist() == [1.0, 4.0, 9.0] and size == 3


def test_frames_without_a_condition():
    builder = Builder()
    builder.constant("zero", np.int32(0))
    builder.add("Enter", "enter", ["zero"], T=tf.int32, frame_name="w")
    builder.add("Exit", "exit", ["enter"], T=tf.int32)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="no LoopCond"):
        tf.import_graph_def(builder.graph_def)


def test_stacks_save_values_for_backward_loops():
    """The graph of a gradient: a loop pushes its values, another one pops and adds them."""
    builder = Builder()
    builder.constant("zero", np.int32(0))
    builder.constant("n", np.int32(4))
    builder.constant("none", np.int32(-1))
    builder.add("StackV2", "stack", ["none"], elem_type=tf.int32)

    def forward_test(merges, fixed):
        return builder.add("Less", "f/Less", [merges[0], fixed[0]], T=tf.int32)

    def forward(variables, fixed):
        (i,) = variables
        square = builder.add("Mul", "f/square", [i, i], T=tf.int32)
        builder.add("StackPushV2", "f/push", [fixed[1], square], T=tf.int32)
        one = builder.constant("f/one", np.int32(1), ["^" + i])
        return (builder.add("AddV2", "f/add", [i, one], T=tf.int32),)

    constants = [("n", tf.int32), ("stack", tf.resource)]
    (count,) = builder.loop("f", [("zero", tf.int32)], constants, forward_test, forward)
    ends = [node for node in builder.graph_def.node if node.op == "NextIteration"]
    ends[0].input.append("^f/push")

    def backward_test(merges, fixed):
        return builder.add("Greater", "b/Greater", [merges[0], fixed[0]], T=tf.int32)

    def backward(variables, fixed):
        i, total = variables
        popped = builder.add("StackPopV2", "b/pop", [fixed[1], "^" + i], elem_type=tf.int32)
        one = builder.constant("b/one", np.int32(1), ["^" + i])
        mixed = builder.add("AddV2", "b/twice", [total, total], T=tf.int32)
        return (
            builder.add("Sub", "b/sub", [i, one], T=tf.int32),
            builder.add("AddV2", "b/sum", [mixed, popped], T=tf.int32),
        )

    starts = [(count, tf.int32), ("zero", tf.int32)]
    constants = [("zero", tf.int32), ("stack", tf.resource)]
    _, total = builder.loop("b", starts, constants, backward_test, backward)
    expected = 0
    for i in reversed(range(4)):
        expected = 2 * expected + i * i
    assert run(builder, [total]) == [expected]
    builder.add("StackPopV2", "empty", ["stack"], elem_type=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Stack is empty"):
        run(builder, ["empty"])
