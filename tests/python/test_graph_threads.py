# SPDX-License-Identifier: Apache-2.0
"""test_graph_threads.py: scopes of a graph that several threads build."""

import threading

import pytest

import situ.compat.v1 as tf


def in_thread(function):
    """Returns what a function returns in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_name_scopes_belong_to_a_thread():
    graph = tf.Graph()

    def build():
        with graph.as_default(), tf.name_scope("b"):
            return tf.constant(1, name="x").name

    with graph.as_default(), tf.name_scope("a"):
        assert in_thread(build) == "b/x:0"
        assert tf.constant(1, name="x").name == "a/x:0"
        assert graph.get_name_scope() == "a"


@pytest.mark.parametrize("separate", [False, True])
def test_device_scopes(separate):
    graph = tf.Graph()

    def build():
        with graph.as_default():
            first = tf.constant(1).device
            manager = graph.device("/gpu:1")
            manager.__enter__()
            return first, tf.constant(1).device, manager

    with graph.as_default(), tf.device("/job:worker"):
        if separate:
            graph.switch_to_thread_local()
        first, second, manager = in_thread(build)
        assert (first, second) == ("/job:worker", "/job:worker/device:GPU:1")
        if separate:
            assert tf.constant(1).device == "/job:worker"
        else:
            assert tf.constant(1).device == "/job:worker/device:GPU:1"
            manager.__exit__(None, None, None)
    assert tf.get_default_graph() is not graph
    with graph.as_default():
        assert tf.constant(1).device == ""


def test_device_functions_belong_to_a_thread():
    graph = tf.Graph()
    graph.switch_to_thread_local()
    barrier = threading.Barrier(2)

    def build():
        with graph.as_default(), tf.device(lambda op: "/gpu:7"):
            barrier.wait()
            device = tf.constant(1).device
            barrier.wait()
            return device

    found = []
    thread = threading.Thread(target=lambda: found.append(build()))
    thread.start()
    with graph.as_default(), tf.device("/cpu:0"):
        barrier.wait()
        assert tf.constant(1).device == "/device:CPU:0"
        barrier.wait()
        thread.join()
        assert tf.constant(1).device == "/device:CPU:0"
    assert found == ["/gpu:7"]


def test_control_dependencies_and_colocation_belong_to_a_thread():
    graph = tf.Graph()
    with graph.as_default():
        a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    graph.switch_to_thread_local()

    def build():
        with graph.as_default():
            with graph.control_dependencies([b]), graph.colocate_with(b.op):
                return tf.constant(3, name="c").op

    with graph.as_default(), graph.control_dependencies([a]), graph.colocate_with(a.op):
        c = in_thread(build)
        d = tf.constant(4, name="d").op
    assert [op.name for op in c.control_inputs] == ["b"]
    assert [op.name for op in d.control_inputs] == ["a"]
    assert (c.colocation_groups(), d.colocation_groups()) == ([b"loc:@b"], [b"loc:@a"])
