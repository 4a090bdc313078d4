# SPDX-License-Identifier: Apache-2.0
"""test_variable_store.py: get_variable: scopes and their options, reuse, partitions, threads,
creators and stores."""

import threading

import numpy
import pytest

import situ as tf2
import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def halves(shape, dtype=None):
    return [2] + [1] * (len(shape) - 1)


def test_arguments_of_scopes_are_checked():
    with pytest.raises(ValueError, match="reuse parameter"):
        tf.variable_scope("a", reuse="yes")
    with pytest.raises(TypeError, match="auxiliary_name_scope must be"):
        tf.variable_scope("a", auxiliary_name_scope=1)
    with pytest.raises(ValueError, match="reuse=True cannot be used without"):
        with tf.variable_scope(None, "a", reuse=True):
            pass
    with pytest.raises(TypeError, match="must be a string or VariableScope"):
        with tf.variable_scope(3):
            pass


def test_a_scope_without_an_auxiliary_name_scope_keeps_the_name_scope():
    with tf.name_scope("outer"):
        with tf.variable_scope("v", auxiliary_name_scope=False) as scope:
            assert scope.original_name_scope == "outer/"
            assert tf.get_variable("a", []).name == "v/a:0"
            assert tf.constant(1.0, name="c").op.name == "outer/c"


def test_scopes_are_left_in_order():
    scope = tf.variable_scope("b")
    scope.__enter__()
    with tf.variable_scope("c"):
        with pytest.raises(RuntimeError, match="Improper nesting"):
            scope.__exit__(None, None, None)
    scope.__exit__(None, None, None)
    assert tf.get_variable_scope().name == ""


def test_collections_of_a_scope():
    with tf.variable_scope("a") as scope:
        tf.get_variable("v", [])
        tf.get_local_variable("w", [], trainable=True)
    tf.get_variable("ab", [])
    assert [v.name for v in scope.global_variables()] == ["a/v:0"]
    assert [v.name for v in scope.local_variables()] == ["a/w:0"]
    assert scope.get_collection("none") == []


def test_options_that_are_false_override_those_of_the_outer_scope():
    with tf.variable_scope("a", caching_device="/cpu:0", regularizer=tf.nn.l2_loss):
        with tf.variable_scope("b", caching_device="", regularizer=tf.no_regularizer) as inner:
            assert inner.caching_device == ""
            tf.get_variable("v", [])
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == []


def test_initializers_of_several_kinds():
    value = tf.constant([1.0, 2.0])
    with tf.variable_scope("a", initializer=value):
        assert tf.get_variable("v").shape == [2]
    assert tf.get_variable("f", initializer=lambda scale=2.0: scale * tf.ones([3])).shape == [3]
    with pytest.raises(ValueError, match="initializer passed is not valid"):
        tf.get_variable("g", initializer=lambda size: tf.ones([3]))
    with pytest.raises(ValueError, match="explicit dtype"):
        tf.get_variable("h", initializer=1, dtype=tf.float32)
    with pytest.raises(ValueError, match="do not specify shape"):
        tf.get_variable("i", [1], initializer=[1.0])


def test_custom_getters():
    with pytest.raises(ValueError, match="custom_getter which is not callable"):
        tf.get_variable("a", [], custom_getter=3)
    seen = []

    def note(getter, *args, **kwargs):
        seen.append((kwargs["reuse"], kwargs["synchronization"], kwargs["aggregation"]))
        return tf.identity(getter(*args, **kwargs), name="got")

    with tf.variable_scope("s", custom_getter=note):
        assert tf.get_variable("v", [1]).name == "got:0"
    assert seen == [(False, tf.VariableSynchronization.AUTO, tf.VariableAggregation.NONE)]


def test_partitioned_variables_are_reused():
    with tf.variable_scope("s", partitioner=halves):
        made = tf.get_variable("v", [4, 3])
        assert tf.get_variable("scalar", []).name == "s/scalar:0"
    assert made.name == "s/v" and made.as_tensor().name == "s/v:0"
    with tf.variable_scope("s", reuse=True):
        assert tf.get_variable("v", [4, 3]) is made
        with pytest.raises(ValueError, match="specified partitions .* and found partitions"):
            tf.get_variable("v", [4, 3], partitioner=lambda shape, dtype: [1, 3])
        with pytest.raises(ValueError, match="specified shape"):
            tf.get_variable("v", [4, 4])
    with tf.variable_scope("s"), pytest.raises(ValueError, match="No partitioner was provided"):
        tf.get_variable("v", [4, 3])
    with tf.variable_scope("s"), pytest.raises(ValueError, match="unpartitioned version"):
        tf.get_variable("scalar", [2], partitioner=halves)
    with pytest.raises(ValueError, match="zero partitions"):
        tf.get_variable("z", [2], partitioner=lambda shape, dtype: [0])
    with pytest.raises(ValueError, match="Partitioner must be callable"):
        tf.get_variable("z", [2], partitioner=2)


def test_partitions_of_a_constant_have_the_type_of_the_variable():
    parts = tf.create_partitioned_variables([3, 2], [2, 1], numpy.arange(6).reshape(3, 2), name="p")
    assert [p.name for p in parts] == ["p/part_0:0", "p/part_1:0"]
    assert [p.dtype.base_dtype for p in parts] == [tf.float32] * 2
    with pytest.raises(ValueError, match="must have the length"):
        tf.create_partitioned_variables([3, 2], [2], tf.zeros_initializer())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(parts[1]).tolist() == [[4.0, 5.0]]


def test_assignments_of_partitioned_variables():
    whole = tf.get_variable("v", [3], initializer=tf.ones_initializer(), partitioner=halves)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(whole.assign_add([1.0, 2.0, 3.0]))
        session.run(whole.assign_sub([0.5, 0.5, 0.5]))
        assert session.run(whole.as_tensor()).tolist() == [1.5, 2.5, 3.5]
        session.run(whole.assign([tf.zeros([2]), tf.ones([1])]))
        assert session.run(whole.as_tensor()).tolist() == [0.0, 0.0, 1.0]


def test_partitioners_check_sizes():
    with pytest.raises(ValueError, match="max_partitions must be positive, but got: 0"):
        tf.min_max_variable_partitioner(max_partitions=0)
    with pytest.raises(ValueError, match="max_shard_bytes must be positive, but got: 0"):
        tf.variable_axis_size_partitioner(0)
    split = tf.min_max_variable_partitioner(max_partitions=3, axis=None, min_slice_size=1)
    assert split(tf.TensorShape([2, 9]), tf.float32) == [1, 3]


def test_a_partitioned_variable_needs_slices():
    with pytest.raises(TypeError, match="variable_list is not a list"):
        tf.PartitionedVariable("v", [2], tf.float32, 3, [1])
    with pytest.raises(ValueError, match="missing its _save_slice_info"):
        tf.PartitionedVariable("v", [2], tf.float32, [tf.get_variable("w", [2])], [1])


def test_a_thread_begins_without_a_variable_scope(graph):
    found = []

    def name():
        with graph.as_default():
            found.append(tf.get_variable_scope().name)

    with tf.variable_scope("a"):
        thread = threading.Thread(target=name)
        thread.start()
        thread.join()
    assert found == [""]


def test_variable_creators():
    names = []

    def note(next_creator, **kwargs):
        names.append((kwargs["name"], kwargs["synchronization"]))
        return next_creator(**kwargs)

    def rename(next_creator, **kwargs):
        return next_creator(**{**kwargs, "name": "new"})

    with tf.variable_creator_scope(note), tf2.variable_creator_scope(rename):
        assert tf.Variable(1.0, name="old").name == "new:0"
        tf.get_variable("v", [])
    assert names == [("new", tf.VariableSynchronization.AUTO)] * 2
    assert tf.Variable(1.0, name="old").name == "old:0"


EAGER = """
    import situ.compat.v1 as tf
    import situ as tf2
    tf.enable_eager_execution()
"""


def test_eager_variables_are_not_reused(python):
    done = python(
        EAGER
        + """
    assert tf.get_variable("v", []) is not tf.get_variable("v", [])
    store = tf.contrib.eager.EagerVariableStore()
    for _ in range(2):
        with store.as_default():
            tf.get_variable("v", [])
            tf.get_variable("w", [], trainable=False)
    assert [v.name for v in store.variables()] == ["v:0", "w:0"]
    assert [v.name for v in store.trainable_variables()] == ["v:0"]
    assert [v.name for v in store.copy().non_trainable_variables()] == ["w:0"]
    ones = tf.ones_initializer()
    template = tf.make_template("t", lambda x: x * tf.get_variable("a", [], initializer=ones))
    assert float(template(2.0)) == float(template(2.0)) == 2.0
    assert [v.name for v in template.variables] == ["t/a:0"]
    """
    )
    assert done.code == 0, done.err


def test_wrap_function_passes_other_values(python):
    done = python(
        EAGER
        + """
    made = tf.wrap_function(lambda scale, x: x * scale, [3.0, tf.TensorSpec([], tf.float32)])
    assert float(made(tf2.constant(2.0))) == 6.0
    """
    )
    assert done.code == 0, done.err
