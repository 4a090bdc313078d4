# SPDX-License-Identifier: Apache-2.0
"""test_partitioned_variables.py: partitioners, and checkpoints of partitioned variables, which
store whole tensors."""

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def _model(parts, name="a/v"):
    """Builds a variable in that many parts (0: not partitioned), and an optimizer with slots."""
    tf.reset_default_graph()
    cut = tf.fixed_size_partitioner(parts) if parts else None
    v = tf.get_variable(
        name, [7, 2], initializer=tf.random_normal_initializer(seed=1), partitioner=cut
    )
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    step = optimizer.minimize(tf.reduce_sum(tf.convert_to_tensor(v) ** 2))
    slots = [optimizer.get_slot(p, "momentum") for p in (v if parts else [v])]
    return tf.convert_to_tensor(v), tf.concat(slots, 0), step


@pytest.fixture(name="saved")
def fixture_saved(tmp_path):
    """(name of a checkpoint of two parts, values of the variable and of its slot)"""
    v, slot, step = _model(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        return tf.train.Saver().save(session, str(tmp_path / "m")), session.run([v, slot])


def test_a_checkpoint_keeps_the_whole(saved):
    assert tf.train.list_variables(saved[0]) == [("a/v", [7, 2]), ("a/v/Momentum", [7, 2])]


@pytest.mark.parametrize("parts", [0, 1, 2, 3, 7])
def test_restored_in_other_parts(saved, parts):
    v, slot, _ = _model(parts)
    with tf.Session() as session:
        tf.train.Saver().restore(session, saved[0])
        for have, want in zip(session.run([v, slot]), saved[1]):
            np.testing.assert_array_equal(have, want)


def test_a_whole_is_restored_in_parts(tmp_path):
    v, slot, step = _model(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        path, want = tf.train.Saver().save(session, str(tmp_path / "m")), session.run([v, slot])
    v, slot, _ = _model(3)
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run([v, slot]), want)


def test_one_part_alone(saved, tmp_path):
    _model(2)
    part = tf.trainable_variables()[1]
    with tf.Session() as session:
        tf.train.Saver([part]).restore(session, saved[0])
        np.testing.assert_array_equal(session.run(part), saved[1][0][4:])
        path = tf.train.Saver([part]).save(session, str(tmp_path / "part"))
        assert tf.train.list_variables(path) == [("a/v/part_1", [3, 2])]
        session.run(part.initializer)
        tf.train.Saver([part]).restore(session, path)
        np.testing.assert_array_equal(session.run(part), saved[1][0][4:])


def test_averages_of_parts_are_not_the_parts(tmp_path):
    def model(parts):
        tf.reset_default_graph()
        v = tf.get_variable(
            "v",
            [4],
            initializer=tf.ones_initializer(),
            partitioner=tf.fixed_size_partitioner(parts),
        )
        average = tf.train.ExponentialMovingAverage(0.5)
        return v, average, average.apply(list(v))

    v, average, update = model(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([p.assign([3.0, 3.0]) for p in v])
        session.run(update)
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
    v, average, _ = model(4)
    with tf.Session() as session:
        tf.train.Saver(average.variables_to_restore()).restore(session, path)
        assert session.run(tf.convert_to_tensor(v)).tolist() == [2.0] * 4


def test_by_name_and_as_first_values(saved):
    tf.reset_default_graph()
    v = tf.get_variable("z", [7, 2], partitioner=tf.fixed_size_partitioner(4))
    with tf.Session() as session:
        tf.train.Saver({"a/v": v}).restore(session, saved[0])
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(v)), saved[1][0])
    v, _, _ = _model(3, "b/v")
    tf.train.init_from_checkpoint(saved[0], {"a/": "b/"})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(v), saved[1][0])


def test_a_graph_from_a_file_knows_the_parts(saved, tmp_path):
    tf.reset_default_graph()
    saver = tf.train.import_meta_graph(saved[0] + ".meta")
    with tf.Session() as session:
        saver.restore(session, saved[0])
        have = np.concatenate(session.run(tf.trainable_variables()))
        np.testing.assert_array_equal(have, saved[1][0])
        path = saver.save(session, str(tmp_path / "again"))
    assert tf.train.list_variables(path)[0] == ("a/v", [7, 2])


def test_partitioners_of_bytes():
    x = tf.get_variable("x", [6, 10], partitioner=tf.variable_axis_size_partitioner(100))
    y = tf.get_variable(
        "y",
        [6, 10],
        partitioner=tf.min_max_variable_partitioner(max_partitions=3, min_slice_size=64),
    )
    assert [p.shape.as_list() for p in x] == [p.shape.as_list() for p in y] == [[2, 10]] * 3
    assert [p._get_save_slice_info().spec for p in x] == [
        "6 10 0,2:0,10",
        "6 10 2,2:0,10",
        "6 10 4,2:0,10",
    ]


def test_sizes_that_are_not_known_compare_as_unknown():
    known, unknown = tf.Dimension(7), tf.Dimension(None)
    assert (known < unknown, unknown >= 3, known > 3) == (None, None, True)
    assert (100 // known, 100 % known) == (14, 2)
    assert (100 // unknown).value is None
