# SPDX-License-Identifier: Apache-2.0
"""mnist.py: tensorflow.examples.tutorials.mnist: the dataset of digits from local files, and
the network of the tutorial."""

from __future__ import annotations

import collections
import importlib
import math
import os
import struct

import numpy

from situ._src.framework import expansion
from situ._src.framework.api import BOTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Operation, Tensor, TensorLike

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
NUM_CLASSES, IMAGE_SIZE = 10, 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE
Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])


def _read(file, name, magic):
    """Returns the data of an IDX file and the sizes of its header."""
    data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = expansion.inflate(data, "A compressed file", gzip=True)
    if len(data) < 4 + 4 * (magic & 255):
        raise ValueError(f"{name} ends within its header")
    (result,) = struct.unpack(">I", data[:4])
    if result != magic:
        raise ValueError(f"Invalid magic number {result} in MNIST file: {name}")
    sizes = struct.unpack(f">{magic & 255}I", data[4 : 4 + 4 * (magic & 255)])
    array = numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * len(sizes))
    if array.size != math.prod(sizes):
        raise ValueError(f"{name} holds {array.size} bytes of {math.prod(sizes)}")
    return array.reshape(sizes)


def extract_images(f: Any) -> numpy.ndarray:
    """Reads images.

    Args:
      f: Open binary file in the IDX format, compressed with gzip or not.

    Returns:
      A uint8 array [index, y, x, 1].

    Raises:
      ValueError: If the file is damaged or of another kind.
    """
    return _read(f, getattr(f, "name", "images"), 2051)[..., None]


def dense_to_one_hot(labels_dense: Any, num_classes: int = NUM_CLASSES) -> numpy.ndarray:
    """Converts class ids to one-hot vectors.

    Args:
      labels_dense: Integer array [index] of numbers below num_classes.
      num_classes: Length of the vectors.

    Returns:
      A float64 array [index, num_classes].
    """
    return numpy.eye(num_classes)[labels_dense]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = NUM_CLASSES) -> numpy.ndarray:
    """Reads labels.

    Args:
      f: Open binary file in the IDX format, compressed with gzip or not.
      one_hot: Whether to return one-hot vectors instead of class ids.
      num_classes: Length of the one-hot vectors.

    Returns:
      A uint8 array [index], or a float64 array [index, num_classes].

    Raises:
      ValueError: If the file is damaged or of another kind.
    """
    labels = _read(f, getattr(f, "name", "labels"), 2049)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet:
    """Images and labels in batches, shuffled each epoch."""

    def __init__(
        self,
        images,
        labels,
        fake_data=False,
        one_hot=False,
        dtype="float32",
        reshape=True,
        seed=None,
    ):
        name = getattr(dtype, "name", str(dtype))
        if name not in ("uint8", "float32"):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self._random, self.one_hot = numpy.random.RandomState(seed), one_hot
        if fake_data:
            images, labels = numpy.zeros((10000, 28, 28, 1)), numpy.zeros(10000)
        if images.shape[0] != labels.shape[0]:
            raise AssertionError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        if reshape:
            images = images.reshape(images.shape[0], math.prod(images.shape[1:]))
        if name == "float32":
            images = images.astype(numpy.float32) * numpy.float32(1.0 / 255.0)
        self._images, self._labels = images, labels
        self._epochs, self._at = 0, 0

    images = property(lambda s: s._images)
    labels = property(lambda s: s._labels)
    num_examples = property(lambda s: s._images.shape[0])
    epochs_completed = property(lambda s: s._epochs)

    def _mix(self):
        order = self._random.permutation(self.num_examples)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """Returns the next images and labels; a batch may continue into the next epoch."""
        if fake_data:
            image, label = [1] * 784, [1] + [0] * 9 if self.one_hot else 0
            return [image] * batch_size, [label] * batch_size
        if self._at == 0 and self._epochs == 0 and shuffle:
            self._mix()
        start, parts = self._at, []
        if start + batch_size > self.num_examples:
            parts.append((self._images[start:], self._labels[start:]))
            batch_size -= self.num_examples - start
            self._epochs += 1
            if shuffle:
                self._mix()
            start = 0
        self._at = start + batch_size
        parts.append((self._images[start : self._at], self._labels[start : self._at]))
        if len(parts) == 1:
            return parts[0]
        return tuple(numpy.concatenate(p, axis=0) for p in zip(*parts))


def _open(folder, name):
    for path in (os.path.join(folder, name), os.path.join(folder, name[:-3])):
        if os.path.exists(path):
            return open(path, "rb")
    raise FileNotFoundError(
        f"MNIST: there is no {os.path.join(folder, name)}. situ does not download it. Put these "
        f"four files of the dataset (packed or not) into the folder {folder!r}: "
        f"{TRAIN_IMAGES}, {TRAIN_LABELS}, {TEST_IMAGES}, {TEST_LABELS}"
    )


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str | None = None,
) -> Any:
    """Reads MNIST from the files of a folder.

    Args:
      train_dir: The folder.
      fake_data: Whether to return images and labels of zeros instead.
      one_hot: Whether labels are one-hot vectors.
      dtype: Type of the images: "uint8", or "float32" from 0 to 1.
      reshape: Whether images are vectors.
      validation_size: Number of training images for validation.
      seed: Seed of the shuffling.
      source_url: Where the files come from; nothing is downloaded.

    Returns:
      Named tuple of DataSets: train, validation, test.
    """
    del source_url  # the files must exist: a missing one is an error
    if fake_data:
        result = [DataSet([], [], True, one_hot, dtype, seed=seed) for _ in range(3)]
        return Datasets(*result)

    def images(name):
        with _open(train_dir, name) as file:
            return extract_images(file)

    def labels(name):
        with _open(train_dir, name) as file:
            return extract_labels(file, one_hot)

    x, y = images(TRAIN_IMAGES), labels(TRAIN_LABELS)
    test_x, test_y = images(TEST_IMAGES), labels(TEST_LABELS)
    if not 0 <= validation_size <= len(x):
        raise ValueError(
            f"Validation size should be between 0 and {len(x)}. Received: {validation_size}."
        )
    kwargs = {"dtype": dtype, "reshape": reshape, "seed": seed, "one_hot": one_hot}
    return Datasets(
        DataSet(x[validation_size:], y[validation_size:], **kwargs),
        DataSet(x[:validation_size], y[:validation_size], **kwargs),
        DataSet(test_x, test_y, **kwargs),
    )


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Returns the path of a file in a folder; nothing is downloaded.

    Args:
      filename: Name of the file.
      work_directory: Path of the folder.
      source_url: Where to get the file; it is part of the error message.

    Raises:
      FileNotFoundError: If the file does not exist.
    """
    path = os.path.join(work_directory, filename)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"There is no {path}. situ does not download {source_url}: put it there"
        )
    return path


# The network of the tutorial


def _tf(name):
    """A function of graph style, when it is needed."""
    at = importlib.import_module("situ.compat.v1")
    for part in name.split("."):
        at = getattr(at, part)
    return at


def _layer(scope, x, inputs, units):
    with _tf("name_scope")(scope):
        weights = _tf("Variable")(
            _tf("truncated_normal")([inputs, units], stddev=1.0 / math.sqrt(float(inputs))),
            name="weights",
        )
        biases = _tf("Variable")(_tf("zeros")([units]), name="biases")
        return _tf("matmul")(x, weights) + biases


def inference(images: TensorLike, hidden1_units: int, hidden2_units: int) -> Tensor:
    """Builds a network with two hidden layers.

    Args:
      images: Float tensor [batch, 784].
      hidden1_units: Units of the first hidden layer.
      hidden2_units: Units of the second hidden layer.

    Returns:
      The logits, a tensor [batch, 10].
    """
    hidden1 = _tf("nn.relu")(_layer("hidden1", images, IMAGE_PIXELS, hidden1_units))
    hidden2 = _tf("nn.relu")(_layer("hidden2", hidden1, hidden1_units, hidden2_units))
    return _layer("softmax_linear", hidden2, hidden2_units, NUM_CLASSES)


def loss(logits: TensorLike, labels: TensorLike) -> Tensor:
    """Returns the mean cross-entropy.

    Args:
      logits: Float tensor [batch, 10].
      labels: Integer tensor [batch] of class ids.
    """
    return _tf("losses.sparse_softmax_cross_entropy")(
        labels=_tf("cast")(labels, "int64"), logits=logits
    )


def training(loss_value: Tensor, learning_rate: float) -> Operation:
    """Returns the operation of a step of gradient descent; it also writes a summary of the loss.

    Args:
      loss_value: Scalar tensor to minimize.
      learning_rate: Factor of the gradients.
    """
    _tf("summary.scalar")("loss", loss_value)
    step = _tf("Variable")(0, name="global_step", trainable=False)
    return _tf("train.GradientDescentOptimizer")(learning_rate).minimize(
        loss_value, global_step=step
    )


def evaluation(logits: TensorLike, labels: TensorLike) -> Tensor:
    """Returns the number of correct predictions of a batch.

    Args:
      logits: Float tensor [batch, 10].
      labels: Integer tensor [batch] of class ids.
    """
    right = _tf("nn.in_top_k")(logits, labels, 1)
    return _tf("reduce_sum")(_tf("cast")(right, "int32"))


_DATA = {
    "read_data_sets": read_data_sets,
    "DataSet": DataSet,
    "extract_images": extract_images,
    "extract_labels": extract_labels,
    "dense_to_one_hot": dense_to_one_hot,
}
_NET = {
    "inference": inference,
    "loss": loss,
    "training": training,
    "evaluation": evaluation,
    "IMAGE_PIXELS": IMAGE_PIXELS,
    "IMAGE_SIZE": IMAGE_SIZE,
    "NUM_CLASSES": NUM_CLASSES,
}
BOTH.update({"examples.tutorials.mnist.input_data." + k: v for k, v in _DATA.items()})
BOTH.update({"contrib.learn.python.learn.datasets.mnist." + k: v for k, v in _DATA.items()})
BOTH.update({"contrib.learn.datasets.mnist." + k: v for k, v in _DATA.items()})
for _part in ("contrib.learn.datasets.", "contrib.learn.python.learn.datasets."):
    BOTH[_part + "base.maybe_download"] = maybe_download
    BOTH[_part + "base.Datasets"] = Datasets
    BOTH[_part + "base.Dataset"] = collections.namedtuple("Dataset", ["data", "target"])
BOTH.update({"examples.tutorials.mnist.mnist." + k: v for k, v in _NET.items()})
