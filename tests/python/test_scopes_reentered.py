# SPDX-License-Identifier: Apache-2.0
"""test_scopes_reentered.py: name and variable scopes that are kept and entered again, also
nested, as in TensorFlow."""

import pytest

import situ as tf2
import situ.compat.v1 as tf

EAGER = """
    import situ as tf

    def twice(scope, probe):
        found = []
        with scope:
            found.append(probe())
        with scope:
            found.append(probe())
            with scope:
                found.append(probe())
            found.append(probe())
        return found, probe()
"""


def name():
    return tf.constant(1.0, name="c").op.name


def device():
    return tf.constant(1.0).op.device


@pytest.mark.parametrize(
    "make, inside",
    [
        (lambda g: tf.device("/cpu:0"), "/device:CPU:0"),
        (lambda g: g.device("/gpu:1"), "/device:GPU:1"),
        (lambda g: tf.device(lambda op: "/cpu:1"), "/cpu:1"),
        (lambda g: tf.device(None), ""),
    ],
)
def test_devices_of_graphs(graph, make, inside):
    scope = make(graph)
    with scope:
        assert device() == inside
    assert device() == ""
    with scope:
        with scope:
            assert device() == inside
        assert device() == inside
    assert device() == ""


def test_devices_after_an_error(graph):
    scope = tf.device("/cpu:0")
    for _ in range(2):
        with pytest.raises(KeyError), scope, scope:
            raise KeyError
    assert device() == ""


def test_name_scopes(graph):
    scope = tf2.name_scope("a")
    with scope:
        assert name() == "a/c"
    with scope:
        assert name() == "a_1/c"
        with scope:
            assert name() == "a_1/a/c"
        assert name() == "a_1/c_1"
    assert name() == "c"


def test_variable_scopes(graph):
    for scope, names in (
        (tf.variable_scope("s"), ["s/c", "s_1/c"]),
        (tf.variable_scope(None, "d"), ["d/c", "d_1/c"]),
    ):
        found = []
        for _ in range(2):
            with scope as inside:
                found.append(name())
                assert tf.get_variable_scope() is inside
                assert inside.name == names[0][0]
        assert found == names
    with scope:
        tf.get_variable("v", [1])
    with scope as inside:
        inside.reuse_variables()
        assert tf.get_variable("v", [1]).op.name == "d/v"
    with pytest.raises(RuntimeError, match="Improper nesting of variable_scope"):
        with scope, scope:
            pass
    assert tf.get_variable_scope().name == ""


@pytest.mark.parametrize("none", [False, True])
def test_control_dependencies(graph, none):
    first = tf.no_op(name="first")
    scope = tf.control_dependencies(None if none else [first])
    expected = [] if none else [first]
    for _ in range(2):
        with scope:
            assert tf.no_op().control_inputs == expected
            with scope:
                assert tf.no_op().control_inputs == expected
    assert tf.no_op().control_inputs == []


def test_colocation(graph):
    with tf.device("/gpu:3"):
        scope = tf.colocate_with(tf.constant(1.0, name="k"))
    for _ in range(2):
        with scope:
            assert device() == "/device:GPU:3"
    assert device() == ""


def test_devices_of_eager_style(python):
    done = python(
        EAGER
        + """
    where = lambda: (tf.constant(1.) + 1.).device[-5:]
    print(twice(tf.device("/cpu:0"), where))
    print(twice(tf.device("/gpu:1"), where))
    print(twice(tf.device(tf.config.list_logical_devices("CPU")[0]), where))
    gpu = tf.device("/gpu:1")

    @tf.function
    def f(x):
        with gpu:
            y = x + 1.
        with gpu, gpu:
            return y + 1.
    print(float(f(1.)), f(tf.constant(1.)).device[-5:])

    @tf.function
    def g(x):
        inside = tf.device("/gpu:1")
        with inside:
            y = x + 1.
        with inside:
            return y + 1.
    print(float(g(1.)))
    """,
        gpus=2,
    )
    assert done.err == ""
    assert done.out.splitlines() == [
        "(['CPU:0', 'CPU:0', 'CPU:0', 'CPU:0'], 'GPU:0')",
        "(['GPU:1', 'GPU:1', 'GPU:1', 'GPU:1'], 'GPU:0')",
        "(['CPU:0', 'CPU:0', 'CPU:0', 'CPU:0'], 'GPU:0')",
        "3.0 GPU:1",
        "3.0",
    ]


def test_names_strategies_and_writers_of_eager_style(python, tmp_path):
    done = python(
        EAGER
        + f"""
    print(twice(tf.name_scope("a"), lambda: tf.Variable(1., name="v").name))
    for one in (tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.get_strategy()):
        print(twice(one.scope(), lambda: tf.distribute.get_strategy() is one))
    writer = tf.summary.create_file_writer({str(tmp_path)!r})
    print(twice(writer.as_default(), lambda: bool(tf.summary.scalar("x", 1., step=1))))
    x, tape = tf.Variable(3.), tf.GradientTape(persistent=True)
    with tape:
        y = x * x
    with tape:
        z = y * x
    print(float(tape.gradient(y, x)), float(tape.gradient(z, x)))
    try:
        with tape, tape:
            pass
    except ValueError as e:
        print(e)
    """
    )
    assert done.out.splitlines() == [
        "(['a/v:0', 'a/v:0', 'a/a/v:0', 'a/v:0'], 'v:0')",
        "([True, True, True, True], False)",
        "([True, True, True, True], True)",
        "([True, True, True, True], False)",
        "6.0 27.0",
        "Tape is still recording, This can happen if you try to re-enter an already-active tape.",
    ]
