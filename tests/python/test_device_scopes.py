# SPDX-License-Identifier: Apache-2.0
"""test_device_scopes.py: the requested devices of ops, as in TensorFlow: device scopes, device
functions, colocation, variables and optimizers."""

import json
import os

import pytest
from conftest import ROOT, run_once
from device_cases import CASES, devices, setter

import situ.compat.v1 as tf

with open(os.path.join(ROOT, "tests", "golden", "devices.json"), encoding="utf-8") as _file:
    EXPECTED = json.load(_file)


@pytest.mark.parametrize("name", sorted(CASES))
def test_devices_are_those_of_tensorflow(name):
    found = devices(tf, name)
    assert {op: found.get(op) for op in EXPECTED[name]} == EXPECTED[name]


def test_a_variable_is_initialized_where_it_is(graph):
    with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
        v = tf.Variable([1.0, 2.0])
    assert v.initializer.device == v.device == "/job:ps/task:0"


def test_a_cluster_def_sets_the_number_of_parameter_servers(graph):
    message = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["w:1"]}).as_cluster_def()
    with tf.device(tf.train.replica_device_setter(cluster=message)):
        found = [tf.Variable(1.0).device for _ in range(3)]
    assert found == [f"/job:ps/task:{i}" for i in (0, 1, 0)]


def test_the_values_of_variables_are_placed_with_them(graph):
    v = tf.get_variable("v", [2])
    values = v.initializer.inputs[1].op
    assert values.colocation_groups() == v.initializer.colocation_groups() == [b"loc:@v"]
    with tf.variable_scope("r", use_resource=True):
        r = tf.get_variable("v", initializer=[1.0, 2.0])
    assert r.initial_value.op.colocation_groups() == [b"loc:@r/v"]
    graph_def = graph.as_graph_def()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(graph_def, name="")
    assert [op.device for op in other.get_operations()] == [
        op.device for op in graph.get_operations()
    ]


def test_colocation_needs_an_operation(graph):
    with pytest.raises(
        ValueError, match="Trying to reset colocation .op is None. but ignore_existing is not True"
    ):
        with tf.colocate_with(None):
            pass


def test_functions_are_not_asked_about_colocated_ops(graph):
    asked = []

    def choose(op):
        asked.append(op.name)
        return "/cpu:0"

    with tf.device(choose):
        v = tf.Variable([1.0], name="v")
        tf.assign(v, [2.0], name="assign")
        with tf.colocate_with(v):
            tf.constant(1.0, name="inside")
        tf.gradients(v * 2.0, v)
    assert "v" in asked and "assign/value" in asked
    assert not {"v/Assign", "v/read", "assign", "inside"} & set(asked)
    assert len(asked) == len(set(asked)) and any(n.startswith("gradients/") for n in asked)


@pytest.mark.parametrize("result", [None, 3])
def test_functions_return_names(graph, result):
    with tf.device(lambda op: result):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got"):
            tf.constant(1.0)


def test_shapes_that_a_strategy_sees(graph):
    seen = []

    def place(op):
        seen.append((op.type, op.outputs[0].get_shape().as_list(), op.get_attr("shape").as_list()))
        return 0

    with tf.device(setter(tf, ps_strategy=place)):
        tf.get_variable("a", [2, 3])
        tf.get_variable("b", [2, 3], use_resource=True)
    assert seen == [("VariableV2", [2, 3], [2, 3]), ("VarHandleOp", [], [2, 3])]


@pytest.mark.parametrize("resource", [False, True])
def test_cached_variables_have_their_values(graph, resource):
    v = tf.Variable([1.0, 2.0], caching_device="/cpu:0", use_resource=resource)
    double = v * 2.0
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        later = v.read_value() + 0.0
    assert run_once(double, begin=True).tolist() == [2.0, 4.0]
    assert run_once(later, begin=True).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("device", ["/gpu:0", None])
@pytest.mark.parametrize("resource", [False, True])
def test_every_initializer_serves_a_variable_of_a_gpu(python, device, resource):
    done = python(
        f"""
        import numpy
        import situ.compat.v1 as tf

        def called(shape, dtype=None, partition_info=None):
            made = tf.py_func(lambda: numpy.ones([4, 4], "f"), [], tf.float32)
            return tf.reshape(made, shape)
        with tf.device({device!r}):
            for i, kind in enumerate([
                    tf.zeros_initializer(), tf.constant_initializer(3.),
                    tf.random_normal_initializer(), tf.glorot_uniform_initializer(),
                    tf.orthogonal_initializer(), tf.initializers.identity(), called]):
                tf.get_variable(f"v{{i}}", [4, 4], initializer=kind, use_resource={resource})
        x = sum(tf.matmul(v, v) for v in tf.global_variables())
        train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(x))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = tf.RunMetadata()
            session.run(train, options=tf.RunOptions(trace_level=3), run_metadata=found)
        print({{d.device[-5:] for d in found.step_stats.dev_stats for n in d.node_stats
               if "ApplyAdam" in n.node_name}})
    """,
        gpus=1,
    )
    assert (done.err, done.out) == ("", "{'GPU:0'}\n")


def test_whether_a_variable_has_a_value(graph):
    v = tf.Variable([1.0], name="v")
    is_set = tf.is_variable_initialized(v)
    assert is_set.op.type == "IsVariableInitialized"
    with tf.Session() as session:
        assert session.run(is_set) is not True and not session.run(is_set)
        session.run(v.initializer)
        assert session.run(is_set)
