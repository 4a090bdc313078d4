# SPDX-License-Identifier: Apache-2.0
"""test_string_ngrams.py: tf.strings.ngrams and the op StringNGrams."""

import pytest

import situ as tf


def test_of_a_vector():
    assert tf.strings.ngrams(["a", "b", "c"], 2).numpy().tolist() == [b"a b", b"b c"]
    assert tf.strings.ngrams(["a", "b"], [2, 1], separator="|").numpy().tolist() == [
        b"a|b",
        b"a",
        b"b",
    ]


def test_of_rows():
    rows = tf.ragged.constant([["a", "b", "c"], ["d"], []])
    assert tf.strings.ngrams(rows, 2).to_list() == [[b"a b", b"b c"], [], []]
    kept = tf.strings.ngrams(rows, 2, preserve_short_sequences=True)
    assert kept.to_list() == [[b"a b", b"b c"], [b"d"], []]
    nested = tf.ragged.constant([[["a", "b"]], [["c", "d", "e"], []]])
    assert tf.strings.ngrams(nested, 2).to_list() == [[[b"a b"]], [[b"c d", b"d e"], []]]
    dense = tf.strings.ngrams(tf.constant([["a", "b"], ["c", "d"]]), 2)
    assert dense.numpy().tolist() == [[b"a b"], [b"c d"]]


@pytest.mark.parametrize("pads", [("<", ">"), (b"<", b">")])
def test_padding(pads):
    made = tf.strings.ngrams(["a", "b"], 3, separator="", pad_values=pads)
    assert made.numpy().tolist() == [b"<<a", b"<ab", b"ab>", b"b>>"]
    one = tf.strings.ngrams(["a", "b"], 3, separator="", pad_values=pads, padding_width=1)
    assert one.numpy().tolist() == [b"<ab", b"ab>"]


def test_in_a_function():
    made = tf.function(lambda x: tf.strings.ngrams(x, 2))(tf.ragged.constant([["a", "b"], ["c"]]))
    assert made.to_list() == [[b"a b"], []]


def test_errors():
    with pytest.raises(TypeError, match="pad_values must be a string"):
        tf.strings.ngrams(["a"], 2, pad_values=3)
    with pytest.raises(ValueError, match="padding_width must be greater than 0"):
        tf.strings.ngrams(["a"], 2, pad_values="x", padding_width=0)
    with pytest.raises(ValueError, match="All ngram_widths"):
        tf.strings.ngrams(["a"], [1, 0])
    with pytest.raises(ValueError, match="rank>0"):
        tf.strings.ngrams("a", 2)
    for splits in ([0, 2, 1, 2], [0, 9]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid split value"):
            tf.raw_ops.StringNGrams(
                data=["a", "b"],
                data_splits=splits,
                separator="",
                ngram_widths=[2],
                left_pad="",
                right_pad="",
                pad_width=0,
                preserve_short_sequences=False,
            )
