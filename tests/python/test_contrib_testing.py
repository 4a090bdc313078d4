# SPDX-License-Identifier: Apache-2.0
"""test_contrib_testing.py: tf.contrib.testing, and the summaries of hooks."""

import unittest

import pytest

import situ.compat.v1 as tf

case = unittest.TestCase()


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def summary(**values):
    return tf.Summary(value=[tf.Summary.Value(tag=t, simple_value=v) for t, v in values.items()])


def test_fake_writer_records():
    writer = tf.contrib.testing.FakeSummaryWriter("logs", tf.get_default_graph())
    writer.add_summary(summary(loss=2.0), 3)
    writer.add_summary(summary(rate=0.5).SerializeToString(), 3)
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="global_step/sec")]), 3)
    writer.add_graph(tf.get_default_graph(), 1)
    writer.assert_summaries(
        case,
        expected_logdir="logs",
        expected_graph=tf.get_default_graph(),
        expected_summaries={3: {"loss": 2.0, "rate": 0.5}},
        expected_added_graphs=[tf.get_default_graph()],
        expected_added_meta_graphs=[],
        expected_session_logs=[],
    )
    for wrong in ({4: {}}, {3: {"loss": 2.0}}):
        with pytest.raises(AssertionError):
            writer.assert_summaries(case, expected_summaries=wrong)
    with pytest.raises(ValueError, match="Invalid global_step -1"):
        writer.add_graph(tf.get_default_graph(), -1)


def test_installed_writer_takes_the_place_of_cached_ones(tmp_path):
    fake = tf.contrib.testing.FakeSummaryWriter
    with pytest.raises(ValueError, match="not installed"):
        fake.uninstall()
    fake.install()
    try:
        with pytest.raises(ValueError, match="already installed"):
            fake.install()
        tf.summary.FileWriterCache.clear()
        writer = tf.summary.FileWriterCache.get(str(tmp_path))
        assert isinstance(writer, fake)
        tf.train.create_global_step()
        step = tf.assign_add(tf.train.get_global_step(), 1)
        hook = tf.train.ProfilerHook(save_steps=1, output_dir=str(tmp_path))
        with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
            session.run(step)
            session.run(step)
        assert list(writer._added_run_metadata) == ["step_2"]
    finally:
        fake.uninstall()
        tf.summary.FileWriterCache.clear()


def test_latest_summaries(tmp_path):
    testing = tf.contrib.testing
    assert testing.latest_event_file(str(tmp_path)) is None
    assert list(testing.latest_events(str(tmp_path))) == []
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step, value in ((2, 5.0), (1, 7.0)):
            writer.add_summary(summary(loss=value, other=1.0), step)
    events = testing.latest_summaries(str(tmp_path))
    assert [event.step for event in events] == [2, 1]
    assert testing.simple_values_from_events(events, ["loss"]) == {"loss": 5.0}
    testing.assert_summary(["loss", "other"], {"loss": 5.001}, events[0].summary)
    with pytest.raises(ValueError, match="Expected tags"):
        testing.assert_summary(["loss"], {}, events[0].summary)
    with pytest.raises(AssertionError):
        testing.assert_summary(["loss", "other"], {"loss": 5.1}, events[0].summary)


def test_final_ops_at_the_end_of_input_say_why(monkeypatch):
    warnings = []
    monkeypatch.setattr("situ._src.framework.logs.warn", lambda *a: warnings.append(a[0] % a[1:]))
    hook = tf.train.FinalOpsHook(tf.data.Dataset.range(0).make_one_shot_iterator().get_next())
    with tf.Session() as session, pytest.raises(tf.errors.OutOfRangeError):
        hook.end(session)
    assert "dependency back to some input source" in warnings[0]
