# SPDX-License-Identifier: Apache-2.0
"""test_session_ops.py: tensors that a session keeps between runs."""

import gc

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def test_a_handle_names_a_tensor_in_later_runs():
    x = tf.placeholder(tf.float32, [None])
    fetch = tf.get_session_handle(x * 2)
    with tf.Session() as session:
        handle, plain = session.run([fetch, x], {x: [1, 2]})
        holder, tensor = tf.get_session_tensor(handle.handle, tf.float32)
        assert plain.tolist() == [1, 2]
        assert session.run(tensor + 1, {holder: handle.handle}).tolist() == [3, 5]
        assert handle.eval().tolist() == [2, 4]
        assert session.run(x + 1, {x: handle}).tolist() == [3, 5]  # the handle itself
        assert fetch.eval({x: [7]}).eval().tolist() == [14]
        with pytest.raises(tf.errors.InvalidArgumentError, match="has type float, not int32"):
            other, wrong = tf.get_session_tensor(handle.handle, tf.int32)
            session.run(wrong, {other: handle.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="'none' is not in the session"):
            session.run(tensor, {holder: "none"})
    with pytest.raises(TypeError, match="must be of type Tensor"):
        tf.get_session_handle([1.0])


def test_kept_tensors_do_not_follow_variables():
    v = tf.Variable([1.0, 2.0])
    with tf.Session() as session:
        session.run(v.initializer)
        handle = session.run(tf.get_session_handle(v.read_value()))
        session.run(v.assign_add([10.0, 10.0]))
        assert handle.eval().tolist() == [1, 2]


def test_deletion():
    fetch = tf.get_session_handle(tf.constant([b"a", b"b"]))
    with tf.Session() as session:
        handle = session.run(fetch)
        assert handle.eval().tolist() == [b"a", b"b"]
        handle.delete()
        for call in (handle.eval, handle.delete):
            with pytest.raises(TypeError, match="may have already been deleted"):
                call()
        raw = session.run(fetch).get_raw_handle()
        holder, deleter = tf.delete_session_tensor(raw)
        session.run(deleter, {holder: raw})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete a tensor"):
            session.run(deleter, {holder: raw})


def test_tensors_of_dead_handles_are_deleted():
    fetch = tf.get_session_handle(tf.constant(np.arange(3)))
    tf.get_default_graph().finalize()
    with tf.Session() as session:
        names = [session.run(fetch).handle for _ in range(12)]
        gc.collect()
        kept = session.run(fetch)
        holder, deleter = (
            tf.get_default_graph().get_operation_by_name("Placeholder").outputs[0],
            tf.get_default_graph().get_operation_by_name("DeleteSessionTensor"),
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete"):
            session.run(deleter, {holder: names[0]})
        session.run(deleter, {holder: kept.get_raw_handle()})


@pytest.mark.parametrize(
    "create",
    [
        lambda: tf.constant(1.0),
        lambda: tf.SparseTensor([[0]], [1.0], [2]),
        lambda: tf.ragged.constant([[1.0], []]),
        lambda: tf.get_session_handle(tf.constant(1.0)),
        lambda: tf.report_uninitialized_variables([tf.Variable(1.0)]),
        lambda: tf.summary.scalar("loss", 1.0),
    ],
    ids=["tensor", "sparse", "ragged", "handle", "uninitialized", "summary"],
)
def test_eval_needs_a_session(create):
    with pytest.raises(ValueError, match=r"Cannot evaluate tensor using `eval\(\)`: No default"):
        create().eval()


def test_load_needs_a_session():
    with pytest.raises(ValueError, match="Either session argument should be provided"):
        tf.Variable(1.0).load(2.0)
