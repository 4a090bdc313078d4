# SPDX-License-Identifier: Apache-2.0
"""test_graph_building.py: Graph.create_op, partial runs, traces of constants."""

import pytest

import situ as tf

v1 = tf.compat.v1
InvalidArgumentError = tf.errors.InvalidArgumentError


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_create_op(graph):
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    added = graph.create_op("Add", [a, b], [tf.float32], name="sum")
    assert (added.name, added.type) == ("sum", "Add")
    with graph.name_scope("outer"), graph.device("/cpu:0"), graph.control_dependencies([added]):
        again = graph.create_op("Add", [a, b], name="sum", compute_device=False)
        other = graph.create_op("Mul", [a, b])
    assert again.name == "outer/sum" and other.name == "outer/Mul"
    assert (again.device, other.device) == ("", "/device:CPU:0")
    assert again.control_inputs == [added]
    assert graph.create_op("Add", [a, b], name="sum").name == "sum_1"
    assert graph.create_op("Add", [a, b], name="exact/").name == "exact"
    joined = graph.create_op(
        "ConcatV2", [a, b, tf.constant(0)], attrs={"N": 2, "Tidx": tf.int32}, name="joined"
    )
    cast = graph.create_op("Cast", [a], attrs={"DstT": other.outputs[0].op.node_def.attr["T"]})
    kept = graph.create_op("Const", [], attrs={k: v for k, v in a.op.node_def.attr.items()})
    with v1.Session() as session:
        found = session.run([added.outputs[0], joined.outputs[0], cast.outputs[0], kept.outputs[0]])
    assert [f.tolist() for f in found] == [[4, 6], [1, 2, 3, 4], [1, 2], [1, 2]]


def test_create_op_checks_its_arguments(graph):
    a = tf.constant(1.0)
    with pytest.raises(ValueError, match="No op named Nothing"):
        graph.create_op("Nothing", [a])
    with pytest.raises(TypeError, match="Input #1 is not a tensor: 2.0"):
        graph.create_op("Add", [a, 2.0])
    with pytest.raises(TypeError, match="input types .* are not compatible"):
        graph.create_op("Add", [a, a], input_types=[tf.float32, tf.int32])
    with pytest.raises(ValueError, match="do not match 1 inputs"):
        graph.create_op("Add", [a])
    with pytest.raises(ValueError, match="needs the attr 'N'"):
        graph.create_op("AddN", [a, a])
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    with pytest.raises(ValueError, match="not an element of this graph"):
        graph.create_op("Add", [a, foreign])


def placeholders(count):
    return [v1.placeholder(tf.float32, []) for _ in range(count)]


def test_partial_runs(graph):
    a, b, c = placeholders(3)
    first = a + b
    second = first * c
    with v1.Session() as session:
        handle = session.partial_run_setup([first, second], [a, b, c])
        found = session.partial_run(handle, first, {a: 1, b: 2})
        assert found == 3 and session.partial_run(handle, second, {c: found * 17}) == 153
        handle = session.partial_run_setup([first, second.op], [a, b, c])
        other = session.partial_run_setup([second], [a, b, c])
        assert session.partial_run(handle, [first], {a: 1, b: 2}) == [3]
        assert session.partial_run(other, {"x": second}, {a: 1, b: 1, c: 1}) == {"x": 2}
        assert session.partial_run(handle, second.op, {c: 1}) is None


def test_operations_run_once_in_a_partial_run(graph):
    a, b = placeholders(2)
    number = tf.random.normal([])
    steps = v1.get_variable("steps", initializer=0.0, use_resource=True)
    counted = tf.identity(steps.assign_add(1.0))
    first, second = number + counted + a, number + counted + b
    with v1.Session() as session:
        session.run(steps.initializer)
        handle = session.partial_run_setup([first, second], [a, b])
        one = session.partial_run(handle, first, {a: 0})
        two = session.partial_run(handle, second, {b: 0})
        assert one == two and session.run(steps) == 1


def test_partial_runs_check_feeds_and_fetches(graph):
    a, b = placeholders(2)
    x, y = a + 1, a + b
    with v1.Session() as session:
        with pytest.raises(InvalidArgumentError, match="Must run 'setup'"):
            session.partial_run("nothing", x)
        handle = session.partial_run_setup([x, y], [a])
        with pytest.raises(InvalidArgumentError, match="needs the feed Placeholder:0"):
            session.partial_run(handle, x)
        assert session.partial_run(handle, x, {a: 1}) == 2
        with pytest.raises(InvalidArgumentError, match="has already been fetched"):
            session.partial_run(handle, x)
        with pytest.raises(InvalidArgumentError, match="has already been fed"):
            session.partial_run(handle, y, {a: 1})
        with pytest.raises(InvalidArgumentError, match="was not specified in partial_run_setup"):
            session.partial_run(handle, y, {b: 1})
        with pytest.raises(InvalidArgumentError, match="was not specified in partial_run_setup"):
            session.partial_run(handle, a * 2)


def test_traces_of_constants(graph):
    a, b = tf.constant([1.0, 2.0], name="a"), tf.constant(3.0, name="b")
    unused = v1.placeholder_with_default(b, [])
    with v1.Session() as session:
        metadata = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        session.run({"x": [a, unused]}, {unused: 1}, options=options, run_metadata=metadata)
        (device,) = metadata.step_stats.dev_stats
        assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
        assert [n.node_name for n in device.node_stats] == ["a"]
        session.run(a + b, options=options, run_metadata=metadata)
        names = {n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats}
        assert {"a", "b"} <= names
