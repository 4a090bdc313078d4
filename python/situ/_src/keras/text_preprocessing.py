# SPDX-License-Identifier: Apache-2.0
"""text_preprocessing.py: tf.keras.preprocessing.text: texts as lists of numbers of words, in
Python."""

from __future__ import annotations

import collections
import json
from hashlib import md5
from typing import Any, Callable

import numpy

from situ._src.keras.registry import keras_export

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def _named(thing):
    return keras_export("preprocessing.text." + thing.__name__)(thing)


@_named
def text_to_word_sequence(
    input_text: str, filters: Any = _FILTERS, lower: bool = True, split: str = " "
):
    """Splits a string into words.

    Args:
      input_text: The string.
      filters: Characters that separate words.
      lower: Whether to convert to lower case.
      split: Separator.

    Returns:
      List of words.
    """
    text = input_text.lower() if lower else input_text
    return [w for w in text.translate({ord(c): split for c in filters}).split(split) if w]


@_named
def hashing_trick(
    text: str,
    n: int,
    hash_function: Callable | str | None = None,
    filters: Any = _FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable | None = None,
):
    """Converts a string to a list of word indices from 1 to n - 1 by a hash function.

    Args:
      text: The text.
      n: Number of indices.
      hash_function: Function of a word, or "md5"; default: hash.
      filters: Characters that separate words.
      lower: Whether to convert to lower case.
      split: Separator.
      analyzer: Function that splits the text.
    """
    if hash_function == "md5":
        hash_function = lambda w: int(md5(w.encode()).hexdigest(), 16)
    find: Any = hash_function or hash
    words = (
        text_to_word_sequence(text, filters, lower, split) if analyzer is None else analyzer(text)
    )
    return [find(w) % (n - 1) + 1 for w in words]


@_named
def one_hot(
    input_text: str,
    n: int,
    filters: Any = _FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable | None = None,
):
    """Converts a string to a list of word indices from 1 to n - 1 by Python's hash.

    Args:
      input_text: The string.
      n: Number of indices.
      filters: Characters that separate words.
      lower: Whether to convert to lower case.
      split: Separator.
      analyzer: Function that splits the text.
    """
    return hashing_trick(input_text, n, hash, filters, lower, split, analyzer)


@_named
class Tokenizer:
    """Maps words to indices, the most frequent first; index 0 is reserved."""

    def __init__(
        self,
        num_words=None,
        filters=_FILTERS,
        lower=True,
        split=" ",
        char_level=False,
        oov_token=None,
        analyzer=None,
        document_count=0,
        **kwargs,
    ):
        if "nb_words" in kwargs:  # its name before Keras 2
            num_words = kwargs.pop("nb_words")
        if kwargs:
            raise TypeError("Unrecognized keyword arguments: " + str(kwargs))
        self.analyzer = analyzer
        self.word_counts = collections.OrderedDict()
        self.word_docs, self.index_docs = collections.defaultdict(int), collections.defaultdict(int)
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_index, self.index_word = {}, {}

    def _split(self, text):
        if self.analyzer is not None:
            return self.analyzer(text)
        if isinstance(text, list):
            return [w.lower() for w in text] if self.lower else text
        if self.char_level:
            return list(text.lower() if self.lower else text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts):
        """Counts the words of a list of strings and updates the vocabulary."""
        for text in texts:
            self.document_count += 1
            words = self._split(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        order = sorted(self.word_counts.items(), key=lambda kv: kv[1], reverse=True)
        known = ([] if self.oov_token is None else [self.oov_token]) + [w for w, _ in order]
        self.word_index = {w: i + 1 for i, w in enumerate(known)}
        self.index_word = {i: w for w, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def _indices_of(self, text):
        unknown = self.word_index.get(self.oov_token)
        for word in self._split(text):
            i = self.word_index.get(word)
            if i is not None and (not self.num_words or i < self.num_words):
                yield i
            elif unknown is not None:
                yield unknown

    def texts_to_sequences_generator(self, texts):
        """Yields the word indices of each string."""
        for text in texts:
            yield list(self._indices_of(text))

    def texts_to_sequences(self, texts):
        """Returns the word indices of each string."""
        return list(self.texts_to_sequences_generator(texts))

    def sequences_to_texts(self, sequences):
        """Returns the strings of lists of word indices."""
        unknown = self.index_word.get(self.word_index.get(self.oov_token))
        known = lambda i: i in self.index_word and not (self.num_words and i >= self.num_words)
        return [
            " ".join(
                w
                for w in (self.index_word[i] if known(i) else unknown for i in row)
                if w is not None
            )
            for row in sequences
        ]

    def texts_to_matrix(self, texts, mode: str = "binary"):
        """Returns one row per string; mode: "binary", "count", "freq" or "tfidf"."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences, mode: str = "binary"):
        """Returns one row per list of word indices; mode: "binary", "count", "freq" or "tfidf"."""
        if not self.num_words and not self.word_index:
            raise ValueError(
                "Specify a dimension (`num_words` argument), or fit on some text data first."
            )
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError("Unknown vectorization mode:", mode)
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        width = self.num_words or len(self.word_index) + 1
        result = numpy.zeros((len(sequences), width))
        for row, sequence in zip(result, sequences):
            counts = collections.Counter(i for i in sequence if i < width)
            for i, count in counts.items():
                row[i] = (
                    {"binary": 1, "count": count, "freq": count / len(sequence)}.get(mode)
                    if mode != "tfidf"
                    else (1 + numpy.log(count))
                    * numpy.log(1 + self.document_count / (1 + self.index_docs.get(i, 0)))
                )
        return result

    def get_config(self) -> dict[str, Any]:
        return {
            "num_words": self.num_words,
            "filters": self.filters,
            "lower": self.lower,
            "split": self.split,
            "char_level": self.char_level,
            "oov_token": self.oov_token,
            "document_count": self.document_count,
            "word_counts": json.dumps(self.word_counts),
            "word_docs": json.dumps(self.word_docs),
            "index_docs": json.dumps(self.index_docs),
            "index_word": json.dumps(self.index_word),
            "word_index": json.dumps(self.word_index),
        }

    def to_json(self, **kwargs) -> str:
        return json.dumps(
            {"class_name": type(self).__name__, "config": self.get_config()}, **kwargs
        )


@_named
def tokenizer_from_json(json_string: str):
    """Creates a Tokenizer from the result of to_json.

    Args:
      json_string: The result of to_json.
    """
    config = json.loads(json_string)["config"]
    parts = {
        k: json.loads(config.pop(k))
        for k in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    result = Tokenizer(**config)
    result.word_counts = collections.OrderedDict(parts["word_counts"])
    result.word_docs.update(parts["word_docs"])
    result.index_docs.update({int(k): v for k, v in parts["index_docs"].items()})
    result.index_word = {int(k): v for k, v in parts["index_word"].items()}
    result.word_index = parts["word_index"]
    return result
