# SPDX-License-Identifier: Apache-2.0
"""test_session_scopes.py: targets of sessions, sessions and graphs as context managers, runs of
empty graphs, device functions, and what monitored sessions leave. Expected results are those of
TensorFlow 2.21."""

import collections
import warnings

import pytest
from conftest import run_once

import situ.compat.v1 as tf
from situ.compat.v1.python.client import device_lib, timeline


@pytest.mark.parametrize("target", ["INVALID_TARGET", b"local", "localhost:2222", "http://a"])
@pytest.mark.parametrize("kind", [tf.Session, tf.InteractiveSession])
def test_a_target_is_empty_or_the_address_of_a_server(kind, target):
    text = target if isinstance(target, str) else target.decode()
    with pytest.raises(tf.errors.NotFoundError) as info:
        kind(target)
    assert info.value.message == (
        "No session factory registered for the given session options: "
        f'{{target: "{text}" config: }} Registered factories are {{DIRECT_SESSION, GRPC_SESSION}}.'
    )


@pytest.mark.parametrize("target", [3, [], tf.ConfigProto()])
def test_a_target_is_a_string(target):
    with pytest.raises(TypeError, match="target must be a string"):
        tf.Session(target)


def test_targets_of_other_functions(graph):
    tf.constant(1)
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.MonitoredTrainingSession(master="INVALID_TARGET")
    with pytest.raises(tf.errors.NotFoundError):
        tf.Session.reset("INVALID_TARGET")
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.SessionManager().wait_for_session("INVALID_TARGET", max_wait_secs=2)
    tf.Session(None).close()


def test_a_session_is_not_entered_twice(graph):
    value = tf.constant(1.0)
    session = tf.Session()
    with pytest.raises(RuntimeError, match="Session context managers are not re-entrant"):
        with session:
            with session:
                pass
    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(value)
    with session:  # after it was left
        assert tf.get_default_session() is session


def test_a_default_session_is_entered_twice(graph):
    value = tf.constant(1.0)
    session = tf.Session()
    with session.as_default(), session.as_default():
        assert value.eval() == 1.0
    assert tf.get_default_session() is None


def test_default_sessions_and_graphs_end_in_the_reverse_order(graph):
    stack = [tf.Session().as_default(), tf.Session()]
    stack[0].__enter__()
    with stack[1]:
        with pytest.raises(AssertionError, match="Nesting violated for default stack of .*Session"):
            stack[0].__exit__(None, None, None)
    stack[0].__exit__(None, None, None)
    outer = tf.Graph().as_default()
    outer.__enter__()
    inner = tf.Graph().as_default()
    inner.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated for default stack of .*Graph"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    from _situ import swap_graph

    swap_graph(graph)


def test_device_scopes_end_in_the_reverse_order(graph):
    outer, inner = tf.device("/cpu:0"), tf.device("/cpu:1")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="Exiting device scope without proper scope nesting"):
        outer.__exit__(None, None, None)


def test_an_interactive_session_leaves_its_graph(graph):
    other = tf.Graph()
    session = tf.InteractiveSession(graph=other)
    assert tf.get_default_graph() is other
    session.close()
    assert tf.get_default_graph() is graph
    assert tf.get_default_session() is None


@pytest.mark.parametrize("fetches", [[], {}, "a:0", None])
def test_a_run_of_an_empty_graph_fails(graph, fetches):
    session = tf.Session()
    with pytest.raises(RuntimeError, match="The Session graph is empty. Add operations to the"):
        session.run(fetches)
    tf.constant(1.0)
    assert session.run([]) == []
    session.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(fetches)
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed."):
        session.list_devices()


def test_empty_feeds(graph):
    value = tf.constant(1.0)
    for feeds in (None, {}, [], ()):
        assert run_once(value, feeds) == 1.0
    with pytest.raises(TypeError):
        run_once(value, [1])


@pytest.mark.parametrize("returned", [None, 3, []])
def test_a_device_function_returns_a_string(graph, returned):
    with tf.device(lambda op: returned):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got"):
            tf.constant(1.0)


def test_monitored_sessions_leave_the_graph_writable(graph):
    tf.constant(1.0)
    tf.train.get_or_create_global_step()
    for kind in (
        tf.train.MonitoredSession,
        tf.train.SingularMonitoredSession,
        tf.train.MonitoredTrainingSession,
    ):
        with kind() as session:
            assert session.graph.finalized
            with pytest.raises(RuntimeError, match="finalized"):
                tf.constant(2.0)
        assert not graph.finalized
        tf.constant(2.0)
    with pytest.raises(ValueError):
        with tf.train.MonitoredSession():
            raise ValueError
    assert not graph.finalized


def test_monitored_sessions_leave_a_finalized_graph_finalized(graph):
    scaffold = tf.train.Scaffold().finalize()
    tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)).close()
    assert graph.finalized


CPUS = """
import situ.compat.v1 as tf
def session(count=None):
    return tf.Session(config=None if count is None else tf.ConfigProto(device_count={"CPU": count}))
def names(made):
    return [d.name[-5:] for d in made.list_devices()]
def run(made):
    try:
        return float(made.run(value))
    except tf.errors.InvalidArgumentError as error:
        return "Devices: " + error.message.partition("Devices: ")[2].splitlines()[0][-5:]
with tf.device("/cpu:1"):
    value = tf.cond(tf.constant(True), lambda: tf.constant(1.) + 1., lambda: tf.constant(1.))
"""


@pytest.mark.parametrize("first", ["session()", "session(1)", "session(3)"])
def test_each_session_has_its_own_number_of_cpus(python, first):
    done = python(
        CPUS
        + f"""
first = {first}
two = session(2)
print(names(two), run(two), names(session()), run(session()), run(two), run(session(1)))
print(names(session(3)), len(dict((d.incarnation, d) for d in session(3).list_devices())))
try:
    session(0)
except tf.errors.NotFoundError as error:
    print(error.message)
""",
        gpus=1,
    )
    assert done.err == ""
    assert done.out.splitlines() == [
        "['CPU:0', 'CPU:1', 'GPU:0'] 2.0 ['CPU:0', 'GPU:0'] Devices: GPU:0 2.0 Devices: GPU:0",
        "['CPU:0', 'CPU:1', 'CPU:2', 'GPU:0'] 4",
        "No CPU devices are available in this process",
    ]


def test_devices_have_a_locality():
    for device in device_lib.list_local_devices():
        place = device.locality
        assert (place.bus_id, place.numa_node, list(place.links.link)) == (0, 0, [])
        assert str(place) == ""
        assert device.HasField("locality")
        with pytest.raises(ValueError, match="no message field"):
            device.HasField("place")


def test_gpus_hold_no_variables_of_int32(python):
    done = python(
        """
import situ.compat.v1 as tf
with tf.device("/gpu:0"):
    for dtype in (tf.int32, tf.int64, tf.float32, tf.bool, tf.uint8):
        for use_resource in (False, True):
            name = dtype.name + "_" + "vr"[use_resource]
            tf.Variable(tf.cast(tf.constant(1), dtype), name=name, use_resource=use_resource)
    tf.assign_add(tf.global_variables()[0], 2, name="update")
for soft in (True, False):
    session = tf.Session(config=tf.ConfigProto(allow_soft_placement=soft))
    try:
        session.run(tf.global_variables_initializer())
        places = {row[0]: row[3][-5:] for row in session.placement()}
        print({v.op.name: places[v.op.name] for v in tf.global_variables()})
        print(places["update"], places["int32_v/Assign"], places["int32_r/Assign"])
        print(session.run("update:0"))
    except tf.errors.InvalidArgumentError as error:
        print(error.message.splitlines()[0])
""",
        gpus=1,
    )
    names = [f"{t}_{k}" for t in ("int32", "int64", "float32", "bool", "uint8") for k in "vr"]
    on_cpu = ("int32_v", "int32_r", "uint8_v")
    lines = done.out.splitlines()
    assert lines[:3] == [
        str({name: "CPU:0" if name in on_cpu else "GPU:0" for name in names}),
        "CPU:0 CPU:0 CPU:0",
        "3",
    ]
    assert "Could not satisfy explicit device specification '/gpu:0'" in lines[3]


@pytest.mark.parametrize(
    "dtype, value",
    [(tf.int32, 2**63 - 1), (tf.uint8, 256), (tf.bool, 2), (tf.string, 1)],
)
def test_integers_that_the_type_of_a_feed_cannot_represent(graph, dtype, value):
    x = tf.placeholder(dtype, [])
    with tf.Session() as sess:
        with pytest.raises(TypeError, match=f"feed value {value} .* is not compatible with Tensor"):
            sess.run(x, {x: value})


@pytest.mark.parametrize(
    "dtype, value", [(tf.int32, -5), (tf.uint8, 255), (tf.float32, 2**24), (tf.bool, 1)]
)
def test_integers_that_the_type_of_a_feed_can_represent(graph, dtype, value):
    x = tf.placeholder(dtype, [])
    with tf.Session() as sess:
        assert sess.run(x, {x: value}) == value


def test_a_sparse_feed_may_omit_the_shape(graph):
    sparse = tf.sparse_placeholder(tf.float32, shape=[7, 9])
    with tf.Session() as sess:
        indices, values = sess.run(
            [sparse.indices, sparse.values], {sparse: ([[3, 2], [4, 5]], [1.0, 2.0])}
        )
    assert indices.tolist() == [[3, 2], [4, 5]] and values.tolist() == [1.0, 2.0]


def test_fetched_dicts_keep_their_default_factory(graph):
    fetches = collections.defaultdict(list, a=tf.constant(1))
    with tf.Session() as sess:
        result = sess.run(fetches)
    assert result == {"a": 1} and result.default_factory is list


def test_names_as_bytes(graph):
    with tf.name_scope(b"scope"):
        assert tf.constant(1.0, name=b"c").name == "scope/c:0"
        assert tf.negative(1.0, name=b"n").name == "scope/n:0"


def test_infer_shapes_adds_them_to_the_graph_def(graph):
    tf.constant([[1, 2]])
    config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    assert "_output_shapes" in tf.Session(config=config).graph_def.node[0].attr
    assert "_output_shapes" not in tf.Session().graph_def.node[0].attr


def test_several_interactive_sessions_warn(graph):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        first = tf.InteractiveSession()
        first.close()
        first = tf.InteractiveSession()
        assert not shown
        second = tf.InteractiveSession()
        assert "An interactive session is already active" in str(shown[0].message)
    second.close()
    first.close()


def test_the_cost_model_is_built_every_n_steps(graph):
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=3))
    x = tf.placeholder(tf.float32, [2])
    y = tf.square(x, name="y")
    built = []
    with tf.Session(config=config) as sess:
        for _ in range(7):
            metadata = tf.RunMetadata()
            sess.run(y, {x: [1, 2]}, run_metadata=metadata)
            built.append(metadata.HasField("cost_graph"))
            if built[-1]:
                (node,) = [n for n in metadata.cost_graph.node if n.name == "y"]
                assert node.output_info[0].size == 8
    assert built == [False, False, True, False, False, True, False]


def test_steps_show_the_memory_and_all_devices(graph):
    config = tf.ConfigProto(device_count={"CPU": 3})
    with tf.device("/cpu:1"):
        a = tf.Variable(1.0)
    with tf.device("/cpu:2"):
        b = tf.square(a)
    metadata = tf.RunMetadata()
    with tf.Session(config=config) as sess:
        sess.run(a.initializer)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(b, options=options, run_metadata=metadata)
    devices = {d.device[-5:] for d in metadata.step_stats.dev_stats}
    assert devices == {"CPU:1", "CPU:2"}
    analysis = timeline.Timeline(metadata.step_stats).analyze_step_stats()
    assert analysis.allocator_maximums["cpu"].num_bytes >= 8
    assert "traceEvents" in analysis.chrome_trace.format_to_string()
