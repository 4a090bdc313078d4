# SPDX-License-Identifier: Apache-2.0
"""datasets.py: tf.keras.datasets from local files, in the formats in which they are published."""

from __future__ import annotations

import io
import json
import os
import pickle
import tarfile
import zipfile

import numpy

from situ._src.framework import expansion
from situ._src.framework.api import export
from situ._src.legacy.mnist import (
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    extract_images,
    extract_labels,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def folder():
    """Returns the folder in which Keras keeps datasets."""
    return os.path.join(os.environ.get("KERAS_HOME", os.path.expanduser("~/.keras")), "datasets")


def _missing(name, *paths):
    places = " or ".join(paths)
    return FileNotFoundError(
        f"tf.keras.datasets.{name}: situ does not download it. Put it to {places}"
    )


def _path(path, usual=""):
    """Returns the path of a file in the cache. A program can give the copy that it would download
    a name of its own, such as one for each process: the usual file is the same."""
    found = path if os.path.isabs(path) else os.path.join(folder(), path)
    other = os.path.join(folder(), usual)
    return other if usual and not os.path.exists(found) and os.path.exists(other) else found


@export("keras.datasets.mnist.load_data")
def load_mnist(path: str = "mnist.npz") -> Any:
    """Returns (x_train, y_train), (x_test, y_test) of MNIST: uint8 [n, 28, 28] and [n].

    Args:
      path: Name of the file in the cache folder of Keras.
    """
    path = _path(path, "mnist.npz")
    if os.path.exists(path):
        with numpy.load(path, allow_pickle=False) as data:
            return (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])
    return _idx("mnist", os.path.join(folder(), "mnist"), path)


@export("keras.datasets.fashion_mnist.load_data")
def load_fashion_mnist() -> Any:
    """Returns (x_train, y_train), (x_test, y_test) of Fashion-MNIST: uint8 [n, 28, 28] and [n]."""
    return _idx("fashion_mnist", os.path.join(folder(), "fashion-mnist"))


def _idx(name, where, *others):
    """Reads the four IDX files of a dataset in a folder."""
    result = []
    for file_name in (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS):
        path = os.path.join(where, file_name)
        path = path if os.path.exists(path) else path[:-3]
        if not os.path.exists(path):
            raise _missing(
                name, *others, os.path.join(where, file_name) + " (and its three companions)"
            )
        with open(path, "rb") as file:
            result.append(
                extract_images(file)[..., 0] if "images" in file_name else extract_labels(file)
            )
    return (result[0], result[1]), (result[2], result[3])


class _Plain(pickle.Unpickler):
    """Unpickles arrays and nothing that could run code."""

    def find_class(self, module, name):
        if (
            (module, name) == ("_codecs", "encode")
            or module.split(".")[0] == "numpy"
            and name in ("_reconstruct", "ndarray", "dtype")
        ):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a dataset")


def _pickled(archive, folder_, name):
    """Returns a part of CIFAR from the folder or the archive."""
    path = os.path.join(folder_, name)
    if os.path.exists(path):
        with open(path, "rb") as file:
            return _Plain(file, encoding="bytes").load()
    with tarfile.open(archive) as tar:
        member = tar.extractfile(os.path.basename(folder_) + "/" + name)
        return _Plain(member, encoding="bytes").load()


def _cifar(name, stem, train, test, label):
    where = os.path.join(folder(), stem)
    archive = where + ".tar.gz"
    if not os.path.isdir(where) and not os.path.exists(archive):
        raise _missing(name, archive, where)

    def load(parts):
        read = [_pickled(archive, where, p) for p in parts]
        images = numpy.concatenate([numpy.asarray(r[b"data"], numpy.uint8) for r in read])
        labels = numpy.concatenate([numpy.asarray(r[label], numpy.uint8) for r in read])
        return images.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels.reshape(-1, 1)

    return load(train), load(test)


@export("keras.datasets.cifar10.load_data")
def load_cifar10() -> Any:
    """Returns (x_train, y_train), (x_test, y_test) of CIFAR-10: uint8 [n, 32, 32, 3] and [n, 1]."""
    return _cifar(
        "cifar10",
        "cifar-10-batches-py",
        [f"data_batch_{i}" for i in range(1, 6)],
        ["test_batch"],
        b"labels",
    )


@export("keras.datasets.cifar100.load_data")
def load_cifar100(label_mode: str = "fine") -> Any:
    """Returns (x_train, y_train), (x_test, y_test) of CIFAR-100; label_mode: "fine" or "coarse".

    Args:
      label_mode: "fine" (100 classes) or "coarse" (20).
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError(
            f'`label_mode` must be one of `"fine"`, `"coarse"`. Received: label_mode={label_mode}.'
        )
    return _cifar(
        "cifar100", "cifar-100-python", ["train"], ["test"], label_mode.encode() + b"_labels"
    )


@export("keras.datasets.boston_housing.load_data")
def load_boston_housing(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int | None = 113
) -> Any:
    """Returns (x_train, y_train), (x_test, y_test) of the Boston housing prices.

    Args:
      path: Name of the file in the cache folder of Keras.
      test_split: Fraction of the examples for tests.
      seed: Seed of the order.
    """
    path = _path(path, "boston_housing.npz")
    if not os.path.exists(path):
        raise _missing("boston_housing", path)
    with numpy.load(path, allow_pickle=False) as data:
        x, y = data["x"], data["y"]
    order = numpy.random.RandomState(seed).permutation(len(x))
    x, y, at = x[order], y[order], int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


def _filter_indices(sequences, labels, given):
    """Returns sequences of word indices without the rarest and the most frequent words."""
    start, oov, index = given["start_char"], given["oov_char"], given["index_from"]
    most, skip = given["num_words"], given["skip_top"]
    head = [] if start is None else [start]
    rows = [head + [w + index for w in row] for row in sequences]
    if given["maxlen"]:
        kept = [i for i, row in enumerate(rows) if len(row) < given["maxlen"]]
        rows, labels = [rows[i] for i in kept], labels[kept]
        if not rows:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen="
                f"{given['maxlen']}, no sequence was kept. Increase maxlen."
            )
    most = most or max(max(row, default=0) for row in rows) + 1
    keep = lambda w: skip <= w < most
    rows = [
        [w if keep(w) else oov for w in row] if oov is not None else [w for w in row if keep(w)]
        for row in rows
    ]
    result = numpy.empty(len(rows), object)
    result[:] = rows
    return result, labels


def _read_words(name, path, keys):
    path = _path(path, f"{name}.npz")
    if not os.path.exists(path):
        raise _missing(name, path)
    with open(path, "rb") as file:  # an archive of arrays of lists, which are pickled
        result, budget = [], expansion.Budget(os.path.getsize(path), path)
        with zipfile.ZipFile(file) as archive:
            for key in keys:
                data = budget.read_member(archive, key + ".npy")
                result.append(_array_of_lists(io.BytesIO(data)))
    return result


def _array_of_lists(file):
    version = numpy.lib.format.read_magic(file)
    read = (
        numpy.lib.format.read_array_header_1_0
        if version[0] == 1
        else numpy.lib.format.read_array_header_2_0
    )
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        return _Plain(file, encoding="latin1").load().reshape(shape)
    return numpy.frombuffer(file.read(), dtype).reshape(shape, order="F" if fortran else "C")


def _old_words(num_words, kwargs):
    """Returns num_words, whose name was nb_words before Keras 2; rejects other keywords."""
    num_words = kwargs.pop("nb_words", num_words)
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}.")
    return num_words


@export("keras.datasets.imdb.load_data")
def load_imdb(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int | None = 113,
    start_char: int = 1,
    oov_char: int = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Any:
    """Returns (x_train, y_train), (x_test, y_test) of IMDB: lists of word indices and sentiment
    labels.

    Args:
      path: Name of the file in the cache folder of Keras.
      num_words: Number of words to keep, the most frequent ones; None: all.
      skip_top: Number of most frequent words to leave out.
      maxlen: Longest sequence to keep; None: all.
      seed: Seed of the order.
      start_char: Index that begins each sequence.
      oov_char: Index of words that are left out.
      index_from: Offset of the indices of words.
      **kwargs: nb_words, the old name of num_words.
    """
    num_words = _old_words(num_words, kwargs)
    given = locals()
    x, y, x_test, y_test = _read_words("imdb", path, ("x_train", "y_train", "x_test", "y_test"))
    random = numpy.random.RandomState(seed)
    parts = []
    for rows, labels in ((x, y), (x_test, y_test)):
        order = numpy.arange(len(rows))
        random.shuffle(order)
        parts.append((rows[order], labels[order]))
    examples = _filter_indices(
        numpy.concatenate([parts[0][0], parts[1][0]]),
        numpy.concatenate([parts[0][1], parts[1][1]]),
        given,
    )
    at = len(x)
    return (examples[0][:at], examples[1][:at]), (examples[0][at:], examples[1][at:])


@export("keras.datasets.reuters.load_data")
def load_reuters(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int | None = 113,
    start_char: int = 1,
    oov_char: int = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Any:
    """Returns (x_train, y_train), (x_test, y_test) of Reuters: lists of word indices and topic
    labels.

    Args:
      path: Name of the file in the cache folder of Keras.
      num_words: Number of words to keep, the most frequent ones; None: all.
      skip_top: Number of most frequent words to leave out.
      maxlen: Longest sequence to keep; None: all.
      test_split: Fraction of the examples for tests.
      seed: Seed of the order.
      start_char: Index that begins each sequence.
      oov_char: Index of words that are left out.
      index_from: Offset of the indices of words.
      **kwargs: nb_words, the old name of num_words.
    """
    num_words = _old_words(num_words, kwargs)
    given = locals()
    x, y = _read_words("reuters", path, ("x", "y"))
    order = numpy.arange(len(x))
    numpy.random.RandomState(seed).shuffle(order)
    rows, labels = _filter_indices(x[order], y[order], given)
    at = int(len(rows) * (1 - test_split))
    return (rows[:at], labels[:at]), (rows[at:], labels[at:])


def _index(name, path):
    path = _path(path, f"{name}_word_index.json")
    if not os.path.exists(path):
        raise _missing(name, path)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@export("keras.datasets.imdb.get_word_index")
def imdb_words(path: str = "imdb_word_index.json") -> Any:
    """Returns the dictionary from words to indices of IMDB.

    Args:
      path: Name of the file in the cache folder of Keras.
    """
    return _index("imdb", path)


@export("keras.datasets.reuters.get_word_index")
def reuters_words(path: str = "reuters_word_index.json") -> Any:
    """Returns the dictionary from words to indices of Reuters.

    Args:
      path: Name of the file in the cache folder of Keras.
    """
    return _index("reuters", path)
