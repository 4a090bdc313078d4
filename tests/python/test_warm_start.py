# SPDX-License-Identifier: Apache-2.0
"""test_warm_start.py: tf.train.warm_start: which variables, and vocabularies that have changed."""

import numpy as np
import pytest

import situ.compat.v1 as tf

OLD = np.arange(8, dtype="f").reshape(4, 2)  # a row per word of the old vocabulary


@pytest.fixture
def saved(graph, tmp_path):
    """A checkpoint of the variable "words" and "other", and its vocabulary and a new one."""
    (tmp_path / "old").write_text("apple\nbanana\ncherry\ndate\n")
    (tmp_path / "new").write_text("date\nelder\napple\nfig\n")
    words, other = tf.Variable(OLD, name="words"), tf.Variable([1.0], name="other")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver([words, other]).save(session, str(tmp_path / "model"))
    return tmp_path


def started(folder, shape, *args, partitioner=None, name="words", **options):
    """Returns the values of a new variable that is warm-started."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.get_variable(
            name, shape, initializer=tf.ones_initializer, partitioner=partitioner
        )
        tf.train.warm_start(str(folder), *args, **options)
        session.run(tf.global_variables_initializer())
        parts = list(made) if partitioner is not None else [made]
        return np.concatenate(session.run(parts)).tolist()


def vocabulary(folder, size=4, buckets=1, **options):
    return tf.train.VocabInfo(str(folder / "new"), size, buckets, str(folder / "old"), **options)


@pytest.mark.parametrize("partitioner", [None, tf.fixed_size_partitioner(2)])
def test_rows_follow_their_words(saved, partitioner):
    found = started(
        saved,
        [5, 2],
        var_name_to_vocab_info={"words": vocabulary(saved)},
        partitioner=partitioner,
    )
    assert found == [[6, 7], [0, 0], [0, 1], [0, 0], [0, 0]]


def test_options_of_a_vocabulary(saved):
    info = vocabulary(
        saved, 3, 0, old_vocab_size=3, backup_initializer=tf.constant_initializer(9.0)
    )
    assert info.axis == 0 and info.num_oov_buckets == 0
    found = started(saved, [3, 2], None, {"words": info})
    assert found == [[9, 9], [9, 9], [0, 1]]  # "date" is not among the first three words
    with pytest.raises(ValueError, match="fewer than new_vocab_size=9"):
        started(saved, [9, 2], None, {"words": vocabulary(saved, 9, 0)})
    with pytest.raises(ValueError, match="axis argument are 0 and 1"):
        vocabulary(saved, axis=2)


def test_columns_follow_their_words(graph, tmp_path):
    (tmp_path / "old").write_text("a\nb\n")
    (tmp_path / "new").write_text("b\nc\na\n")
    with tf.Session() as session:
        words = tf.Variable(OLD, name="words")
        session.run(words.initializer)
        tf.train.Saver([words]).save(session, str(tmp_path / "model"))
    info = vocabulary(tmp_path, 3, 0, axis=1)
    found = started(tmp_path, [4, 3], var_name_to_vocab_info={"words": info})
    assert found == [[1, 0, 0], [3, 0, 2], [5, 0, 4], [7, 0, 6]]


def test_which_variables(saved):
    before = {"var_name_to_prev_var_name": {"mine": "words"}}
    assert started(saved, [4, 2], name="mine", **before) == OLD.tolist()
    assert started(saved, [4, 2], ["min."], name="mine", **before) == OLD.tolist()
    assert started(saved, [4, 2], None) == np.ones([4, 2]).tolist()
    for argument in ("var_name_to_prev_var_name", "var_name_to_vocab_info"):
        with pytest.raises(ValueError, match=f"in {argument} that were not used: {{'none'}}"):
            started(saved, [4, 2], **{argument: {"none": "words"}})
    with pytest.raises(ValueError, match="must be a `list` or `str`"):
        started(saved, [4, 2], 3)
    with pytest.raises(ValueError, match="all `Variable` or all `str`"):
        started(saved, [4, 2], ["words", 3])
