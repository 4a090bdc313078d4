# SPDX-License-Identifier: Apache-2.0
"""test_string_formats.py: tensors as strings, regular expressions, tokenizers; windows of
images."""

import time

import numpy as np
import pytest

import situ as tf


def test_texts_of_tensors():
    assert tf.strings.format("x: {}, y: {}", (tf.constant([1, 2]), 3)).numpy() == b"x: [1 2], y: 3"
    assert tf.function(lambda x: tf.strings.format("<{}>", x))(tf.constant(7)).numpy() == b"<7>"
    with pytest.raises(ValueError, match="placeholder"):
        tf.strings.format("{} {}", 1)


def test_time():
    before = time.time()
    now = tf.function(tf.timestamp)()
    assert before <= float(now) <= time.time() and tf.timestamp().dtype == tf.float64


def test_regular_expressions():
    texts = tf.constant(["a-1", "b22"])
    made = tf.strings.regex_replace(texts, r"(\d)", r"<\1>")
    assert made.numpy().tolist() == [b"a-<1>", b"b<2><2>"]
    once = tf.function(lambda t: tf.strings.regex_replace(t, "[0-9]", "", replace_global=False))
    assert once(texts).numpy().tolist() == [b"a-", b"b2"]
    assert tf.strings.regex_full_match(texts, "[a-z]22").numpy().tolist() == [False, True]


def test_tokenizer():
    module = tf.keras.preprocessing.text
    tokens = module.Tokenizer(num_words=4, oov_token="?")
    tokens.fit_on_texts(["The cat, the dog.", "the cat"])
    assert tokens.word_index == {"?": 1, "the": 2, "cat": 3, "dog": 4}
    assert tokens.texts_to_sequences(["the dog cat bird"]) == [[2, 1, 3, 1]]
    assert tokens.sequences_to_texts([[2, 3]]) == ["the cat"]
    np.testing.assert_array_equal(tokens.texts_to_matrix(["cat cat"], "count"), [[0, 0, 0, 2]])
    wanted = (1 + np.log(2)) * np.log(1 + 2 / 3)
    np.testing.assert_allclose(tokens.texts_to_matrix(["cat cat"], "tfidf")[0, 3], wanted)
    again = module.tokenizer_from_json(tokens.to_json())
    assert again.texts_to_sequences(["the dog"]) == tokens.texts_to_sequences(["the dog"])
    assert module.text_to_word_sequence("Hello, World!") == ["hello", "world"]


@pytest.mark.parametrize("rate", [1, 2])
def test_windows_of_images(rate):
    images = np.arange(2 * 6 * 6 * 2).reshape(2, 6, 6, 2).astype("f")
    made = tf.image.extract_patches(
        images, [1, 2, 2, 1], [1, 2, 2, 1], [1, rate, rate, 1], "VALID"
    ).numpy()
    assert made.shape == (2, 3 if rate == 1 else 2, 3 if rate == 1 else 2, 8)
    window = images[1, 2 : 2 + 2 * rate : rate, 0 : 2 * rate : rate]
    np.testing.assert_array_equal(made[1, 1, 0], window.reshape(-1))
