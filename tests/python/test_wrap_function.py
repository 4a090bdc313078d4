# SPDX-License-Identifier: Apache-2.0
"""test_wrap_function.py: tf.compat.v1.wrap_function, tf.IndexedSlicesSpec, and properties of eager
variables."""

import numpy as np
import pytest

import situ as tf

v1 = tf.compat.v1
SCALAR = tf.TensorSpec([], tf.float32)


def test_variables_exist_once():
    def scale(x):
        return v1.get_variable("scale", initializer=3.0) * x

    wrapped = v1.wrap_function(scale, [SCALAR])
    assert wrapped(tf.constant(2.0)).numpy() == 6
    (variable,) = wrapped.variables
    variable.assign(5.0)
    assert wrapped(2.0).numpy() == 10
    x = tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrapped(x)
    assert tape.gradient(y, x).numpy() == 5


def test_prune():
    def steps(x):
        a = tf.identity(x * 2, name="a")
        return tf.identity(a + 1, name="b")

    wrapped = v1.wrap_function(steps, [SCALAR])
    graph = wrapped.graph
    assert wrapped(tf.constant(2.0)).numpy() == 5
    assert wrapped.prune("a:0", "b:0")(tf.constant(5.0)).numpy() == 6
    first = wrapped.prune(wrapped.inputs, graph.get_tensor_by_name("a:0"))
    assert first(tf.constant(2.0)).numpy() == 4
    both = wrapped.prune(wrapped.inputs[0], {"k": ["a:0", "b:0"], "run": "b"})
    found = both(tf.constant(3.0))
    assert [t.numpy() for t in found["k"]] == [6, 7] and found["run"] is None
    assert [t.name for t in both.outputs] == ["a:0", "b:0"]
    assert both.prune("a:0", "b:0")(1.0).numpy() == 2
    with pytest.raises(KeyError, match="does not exist"):
        wrapped.prune("a:0", "c:0")


def test_imported_graphs_become_functions():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        tf.add(tf.matmul(x, np.ones([2, 1], "f")), 1, name="y")
        graph_def = graph.as_graph_def()
    wrapped = v1.wrap_function(lambda: v1.import_graph_def(graph_def, name=""), [])
    infer = wrapped.prune(wrapped.graph.as_graph_element("x:0"), "y:0")
    assert infer(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist() == [[4], [8]]
    assert infer(tf.constant([[1.0, 1.0]])).numpy().tolist() == [[3]]


def test_slices_have_a_spec():
    spec = tf.IndexedSlicesSpec([None, 2], tf.float32)
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))
    assert repr(spec) == (
        "IndexedSlicesSpec(TensorShape([None, 2]), tf.float32, tf.int64, None, TensorShape([None]))"
    )
    assert spec.value_type is tf.IndexedSlices and not spec.is_compatible_with(slices)
    own = tf.type_spec_from_value(slices)
    wide = tf.IndexedSlicesSpec([None, 2], tf.float32, tf.int32, tf.int32)
    assert own == tf.IndexedSlicesSpec([3, 2], tf.float32, tf.int32, tf.int32, [1])
    assert wide.is_compatible_with(slices) and own.is_subtype_of(wide)
    assert not wide.is_subtype_of(own) and own.most_specific_compatible_type(wide) == wide
    assert len({own, tf.type_spec_from_value(slices)}) == 1
    sparse = tf.sparse.from_dense([[1, 0]])
    assert isinstance(tf.type_spec_from_value(sparse), tf.SparseTensorSpec)


def test_functions_take_and_return_slices():
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))

    @tf.function
    def twice(x):
        assert isinstance(x, tf.IndexedSlices)
        return tf.IndexedSlices(x.values * 2, x.indices, x.dense_shape)

    found = twice(slices)
    assert isinstance(found, tf.IndexedSlices) and found.values.numpy().tolist() == [[2, 2]]
    without = tf.function(lambda: tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1])))()
    assert without.dense_shape is None


def test_eager_variables_have_no_initializer():
    variable = tf.Variable(3.0)
    assert variable.initializer is None
    with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
        variable.initial_value
