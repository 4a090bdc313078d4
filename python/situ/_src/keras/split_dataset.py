# SPDX-License-Identifier: Apache-2.0
"""split_dataset.py: keras.utils.split_dataset: data in two parts, such as for training and
validation."""

from __future__ import annotations

import random
from typing import Any

import numpy

from situ._src.framework import nest
from situ._src.framework.api import named
from situ._src.framework.keywords import unsupported
from situ._src.keras.registry import keras_export


def _batch_size(dataset):
    """Returns the batch size of the result of Dataset.batch; None for other data."""
    return dataset._params[0] if getattr(dataset, "_kind", None) == "Batch" else None


def _samples(dataset):
    """Returns the samples of a dataset (batches are taken apart), of arrays, or of an iterable."""
    if hasattr(dataset, "element_spec"):
        whole = dataset if _batch_size(dataset) is None else dataset.unbatch()
        return list(whole.as_numpy_iterator())
    if isinstance(dataset, numpy.ndarray):
        return list(dataset)
    if isinstance(dataset, (tuple, list, dict)):
        leaves = [numpy.asarray(leaf) for leaf in nest.flatten(dataset)]
        if not leaves:
            raise ValueError("Received an empty dataset.")
        counts = {len(leaf) for leaf in leaves}
        if len(counts) > 1:
            raise ValueError(f"Arrays of the dataset have different lengths: {sorted(counts)}")
        return [
            nest.pack_sequence_as(dataset, [leaf[i] for leaf in leaves])
            for i in range(counts.pop())
        ]
    raise TypeError(
        "The `dataset` argument must be a tf.data.Dataset, an array, or a structure of arrays. "
        f"Received: {type(dataset)}"
    )


def _count(size, total, name):
    """Returns a size, which may be a fraction, as a number of samples; None stays."""
    if size is None:
        return None
    if not isinstance(size, (int, float)) or isinstance(size, bool):
        raise TypeError(f"`{name}` must be either an integer or a float. Received: {type(size)}")
    limit = 1 if isinstance(size, float) else total
    if not 0 < size < limit:
        raise ValueError(
            f"`{name}` should be positive and smaller than {limit}. Received: {name}={size}"
        )
    return round(size * total) if isinstance(size, float) else size


def _dataset(samples, batch_size):
    """Returns a dataset of samples, in batches if the size is not None."""
    first = samples[0]
    columns = zip(*[nest.flatten(sample) for sample in samples])
    packed = nest.pack_sequence_as(first, [numpy.stack(column) for column in columns])
    packed = tuple(packed) if isinstance(packed, list) else packed
    made = named("data.Dataset").from_tensor_slices(packed)
    return made if batch_size is None else made.batch(batch_size)


@keras_export("utils.split_dataset")
def split_dataset(
    dataset: Any,
    left_size: Any = None,
    right_size: Any = None,
    shuffle: bool = False,
    seed: int | None = None,
    preferred_backend: str | None = None,
) -> Any:
    """Splits data into two datasets.

    Args:
      dataset: A tf.data.Dataset, an array, or a structure of arrays of one length.
      left_size: Size of the first part: a number of samples, or a fraction below 1.
      right_size: Size of the second part; default: the rest.
      shuffle: Whether to shuffle the samples before.
      seed: Seed of the order.
      preferred_backend: Only None and "tensorflow" are supported.

    Returns:
      Two tf.data.Datasets.

    Raises:
      TypeError: If the data, or a size, has a wrong type.
      ValueError: If sizes are missing, not positive or too large.
    """
    if preferred_backend != "tensorflow":
        unsupported("split_dataset", preferred_backend=(preferred_backend, None))
    if left_size is None and right_size is None:
        raise ValueError(
            "At least one of the `left_size` or `right_size` must be specified. Received: "
            "left_size=None, right_size=None"
        )
    samples = _samples(dataset)
    if shuffle:
        random.Random(random.randint(0, 10**6) if seed is None else seed).shuffle(samples)
    total = len(samples)
    left, right = _count(left_size, total, "left_size"), _count(right_size, total, "right_size")
    left = total - right if left is None else left
    right = total - left if right is None else right
    if left + right > total or not left or not right:
        raise ValueError(
            f"The parts of {left} and {right} samples do not fit {total} samples. Received: "
            f"left_size={left_size}, right_size={right_size}"
        )
    size = _batch_size(dataset)
    return _dataset(samples[:left], size), _dataset(samples[total - right :], size)
