# SPDX-License-Identifier: Apache-2.0
"""test_checkpoint_graph.py: tf.train.Checkpoint with graphs and sessions."""

import pytest

import situ.compat.v1 as tf


@pytest.fixture
def saved(tmp_path):
    """(a variable of the default graph, a session, the path of a checkpoint where it is [1, 2])"""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        session.run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(v=v).save(str(tmp_path / "c"), session=session)
        session.run(v.assign([0.0, 0.0]))
        yield v, session, path


def test_is_consumed_before_it_is_run(saved):
    v, session, path = saved
    status = tf.train.Checkpoint(v=v).restore(path).assert_consumed()
    assert status.assert_nontrivial_match() is status
    assert session.run(v).tolist() == [0, 0]
    status.run_restore_ops(session)
    assert session.run(v).tolist() == [1, 2]


def test_may_be_restored_in_several_sessions(saved):
    v, session, path = saved
    status = tf.train.Checkpoint(v=v).restore(path)
    status.run_restore_ops(session)
    with tf.Session() as second:
        status.run_restore_ops(second)
        assert second.run(v).tolist() == [1, 2]


def test_what_is_not_in_it(saved):
    v, session, path = saved
    more = tf.get_variable("more", initializer=7.0, use_resource=True)
    status = tf.train.Checkpoint(v=v, more=more).restore(path)
    with pytest.raises(AssertionError, match="more"):
        status.assert_consumed()
    status.initialize_or_restore(session)
    assert session.run(v).tolist() == [1, 2] and session.run(more) == 7
    with pytest.raises(AssertionError, match="Unresolved object in checkpoint: v/"):
        tf.train.Checkpoint().restore(path).assert_consumed()


def test_saves_are_counted(saved, tmp_path):
    v, session, _ = saved
    checkpoint = tf.train.Checkpoint(v=v)
    paths = [checkpoint.save(str(tmp_path / "d"), session=session) for _ in range(3)]
    assert paths == [str(tmp_path / f"d-{i}") for i in (1, 2, 3)]
