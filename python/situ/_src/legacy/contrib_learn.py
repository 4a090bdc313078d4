# SPDX-License-Identifier: Apache-2.0
"""contrib_learn.py: words as numbers (tf.contrib.learn.preprocessing), names for the projector
of TensorBoard, and lists of variables."""

from __future__ import annotations

import json
import os
import re
import sys
import types
from typing import Any

import numpy

import _situ
from situ._src.framework import errors
from situ._src.framework.api import V1, export
from situ._src.framework.message_classes import message_class
from situ._src.legacy import pickle_reader
from situ._src.summary.file_writer import FileWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable

_PARTS = ("contrib.learn.preprocessing.", "contrib.learn.python.learn.preprocessing.text.")
_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def _exported(*names):
    return export(v1=tuple(part + n for part in _PARTS for n in names))


@_exported("tokenizer")
def tokenizer(iterator: Any) -> Any:
    """Yields the words of each string.

    Args:
      iterator: An iterable of strings.
    """
    for value in iterator:
        yield _TOKEN.findall(value)


@_exported("CategoricalVocabulary")
class CategoricalVocabulary:
    """Maps words to ids in the order of their first occurrence; 0 is the id of unknown words.

    Args:
      unknown_token: The word of id 0.
      support_reverse: Whether reverse works; False: it raises a ValueError.
    """

    _frequency: dict

    _support_reverse = True  # of files without the attribute

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True):
        self._unknown, self._reverse, self._mapping = unknown_token, [unknown_token], {}
        self._frozen, self._frequency, self._support_reverse = False, {}, support_reverse
        self._mapping[unknown_token] = 0

    def __len__(self):
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Sets whether unknown categories are left out, instead of added.

        Args:
          freeze: Whether they are.
        """
        self._frozen = freeze

    def get(self, category: Any) -> Any:
        """Returns the id of a category; an unknown one is added, or has id 0 if the vocabulary
        is frozen.

        Args:
          category: The category.
        """
        if category not in self._mapping:
            if self._frozen:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Adds to the number of occurrences of a category.

        Args:
          category: The category.
          count: The number to add.
        """
        if self.get(category) > 0:
            self._frequency[category] = self._frequency.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Removes words that are too rare or too frequent and sorts the others by frequency."""
        kept = sorted(sorted(self._frequency.items()), key=lambda x: x[1], reverse=True)
        kept = [
            (w, n)
            for w, n in kept
            if n > min_frequency and (max_frequency < 0 or n < max_frequency)
        ]
        self._reverse = [self._unknown] + [w for w, _ in kept]
        self._mapping = {w: i for i, w in enumerate(self._reverse)}
        self._frequency = dict(kept)

    def reverse(self, class_id: Any) -> Any:
        """Returns the category of an id.

        Args:
          class_id: The id.
        """
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() "
                "function."
            )
        return self._reverse[class_id]


@_exported("VocabularyProcessor")
class VocabularyProcessor:
    """Converts documents to arrays of word ids of one length."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: Any = None,
        tokenizer_fn: Callable | None = None,
    ) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Any, unused_y: Any = None) -> Any:
        """Adds the words of documents to the vocabulary; returns the processor.

        Args:
          raw_documents: Iterable of strings.
          unused_y: Has no effect.
        """
        del unused_y  # of the interface of scikit-learn; there are no labels
        for tokens in self._tokenizer(raw_documents):
            for word in tokens:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Any, unused_y: Any = None) -> Any:
        """Adds the words of documents to the vocabulary and yields their ids.

        Args:
          raw_documents: Iterable of strings.
          unused_y: Has no effect.
        """
        del unused_y  # of the interface of scikit-learn; there are no labels
        raw_documents = list(raw_documents)
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Any) -> Any:
        """Yields the ids of the words of each document, an array of fixed length.

        Args:
          raw_documents: Iterable of strings.
        """
        for tokens in self._tokenizer(raw_documents):
            row = numpy.zeros(self.max_document_length, numpy.int64)
            for i, word in enumerate(tokens[: self.max_document_length]):
                row[i] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Any) -> Any:
        """Yields the words of ids, joined by blanks.

        Args:
          documents: Iterable of arrays of ids.
        """
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(i) for i in row)

    def save(self, filename: str | os.PathLike) -> None:
        """Writes the processor as JSON. A function that divides texts into words is written as its
        name."""
        words, function = self.vocabulary_, self._tokenizer
        data = {
            "format": _FORMAT,
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "tokenizer": [function.__module__, function.__qualname__],
            "words": words._reverse,
            "frequency": words._frequency,
            "frozen": words._frozen,
            "support_reverse": words._support_reverse,
        }
        with errors.as_os_errors():
            _situ.replace_file(filename, json.dumps(data).encode())

    @classmethod
    def restore(cls, filename: str | os.PathLike) -> Any:
        """The processor that save wrote, here or in TensorFlow. No code of the file is run: a
        function that divides texts into words must be one of this program."""
        with open(filename, "rb") as file:
            data = file.read()
        if data[:1] == b"{":
            return _restored(cls, filename, json.loads, data)
        return _restored(cls, filename, _read_pickle, data)


_FORMAT = "situ vocabulary processor 1"


def _restored(kind, filename, read, data):
    """Returns the processor of a file that `read` makes the dictionary of that save writes."""
    try:
        saved = read(data)
        words = [str(w) for w in saved["words"]]
        lengths = int(saved["max_document_length"]), int(saved["min_frequency"])
        frequency = {str(w): int(n) for w, n in saved["frequency"].items()}
        module, name = (str(part) for part in saved["tokenizer"])
        if saved["format"] != _FORMAT or not words:
            raise ValueError("another format")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{filename} holds no VocabularyProcessor: {error!r}") from None
    vocabulary = CategoricalVocabulary(words[0], bool(saved.get("support_reverse", True)))
    vocabulary._reverse, vocabulary._frequency = words, frequency
    vocabulary._mapping = {w: i for i, w in enumerate(words)}
    vocabulary.freeze(bool(saved.get("frozen", True)))
    own = name == "tokenizer" and (module == __name__ or module.startswith(_TEXT))
    return kind(*lengths, vocabulary, None if own else _resolve(module, name))


_TEXT = (
    "tensorflow.contrib.learn.python.learn.preprocessing.",
    "tensorflow_core.contrib.learn.python.learn.preprocessing.",
)


def _plain(value):
    """Returns a dict or a value of a pickle: a Record of defaultdict is its items."""
    if isinstance(value, pickle_reader.Record) and value.name == "collections.defaultdict":
        return value.state or {}
    return value


def _read_pickle(data):
    """Returns what save would write for a file of TensorFlow, a pickle, which is not unpickled."""
    record = pickle_reader.read(data)
    if not getattr(record, "name", "").endswith(".VocabularyProcessor"):
        raise ValueError("another class")
    state, vocabulary = record.state, record.state["vocabulary_"].state
    mapping = _plain(vocabulary["_mapping"])
    frequency = _plain(vocabulary.get("_freq", vocabulary.get("_frequency", {})))
    return {
        "format": _FORMAT,
        "max_document_length": state["max_document_length"],
        "min_frequency": state["min_frequency"],
        "tokenizer": state["_tokenizer"].name.rpartition(".")[::2],
        "words": sorted(mapping, key=mapping.__getitem__),
        "frequency": frequency,
        "frozen": vocabulary.get("_freeze", vocabulary.get("_frozen", True)),
        "support_reverse": vocabulary.get("_support_reverse", True),
    }


def _resolve(module, name):
    """Returns a function by name, if the program has defined it itself."""
    result: Any = sys.modules.get(module)
    for part in name.split("."):
        result = getattr(result, part, None)
    library = module.split(".")[0] in getattr(sys, "stdlib_module_names", ())
    own = isinstance(result, types.FunctionType) and result.__module__ == module
    if library or not own:
        raise ValueError(
            f"The file names '{module}.{name}' as the function that divides texts into words. Only "
            "functions that the program itself has defined are taken: import its module first."
        )
    return result


# The embedding projector of TensorBoard

_PROJECTOR = ("contrib.tensorboard.plugins.projector.",)


for _name in ("ProjectorConfig", "EmbeddingInfo", "SpriteMetadata"):
    V1[_PROJECTOR[0] + _name] = message_class("tensorflow." + _name)


@export(v1=_PROJECTOR[0] + "visualize_embeddings")
def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Writes the configuration of the projector next to the summaries.

    Args:
      summary_writer: The summary writer, whose directory is used.
      config: The ProjectorConfig.
    """
    folder = (
        summary_writer.get_logdir()
        if isinstance(summary_writer, FileWriter)
        else os.fspath(summary_writer)
    )
    path = os.path.join(folder, "projector_config.pbtxt")
    _situ.replace_file(path, str(config).encode())


@export(v1="contrib.slim.model_analyzer.analyze_vars")
def analyze_vars(variables: Any, print_info: bool = False) -> Any:
    """Returns (number of elements, number of bytes) of variables.

    Args:
      variables: List of variables.
      print_info: Whether to print each variable.
    """
    numbers = size = 0
    for var in variables:
        count = int(numpy.prod(var.shape.as_list()))
        numbers, size = numbers + count, size + count * var.dtype.base_dtype.size
        if print_info:
            print(
                f"{var.name} {var.shape.as_list()} [{count}, bytes: "
                f"{count * var.dtype.base_dtype.size}]"
            )
    if print_info:
        print(f"Total size of variables: {numbers}\nTotal bytes of variables: {size}")
    return numbers, size


@export(v1="contrib.slim.model_analyzer.analyze_ops")
def analyze_ops(graph: Any, print_info: bool = False) -> Any:
    """Returns the number of elements of all outputs of a graph with static shapes.

    Args:
      graph: The graph; the default graph if it is None.
      print_info: Whether to print each operation.
    """
    total = 0
    for node in graph.get_operations():
        for out in node.outputs:
            count = out.shape.num_elements()
            total += count or 0
            if print_info and count:
                print(f"{node.name} {node.type} {out.shape} {count}")
    return total
