# SPDX-License-Identifier: Apache-2.0
"""sequence_preprocessing.py: tf.keras.preprocessing.sequence: pairs of words near each other,
windows of a series."""

from __future__ import annotations

import random
from typing import Any

import numpy

from situ._src.keras.data_adapter import Sequence
from situ._src.keras.registry import keras_export


def _named(thing):
    return keras_export("preprocessing.sequence." + thing.__name__)(thing)


@_named
def make_sampling_table(size: int, sampling_factor: float = 1e-5):
    """Returns the probability of keeping a word by its rank, as in word2vec.

    Args:
      size: Number of words.
      sampling_factor: Factor of the frequencies.
    """
    gamma = 0.577
    rank = numpy.arange(size)
    rank[0] = 1
    inverse = rank * (numpy.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    share = sampling_factor * inverse
    return numpy.minimum(1.0, share / numpy.sqrt(share))


@_named
def skipgrams(
    sequence: Any,
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: Any = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
):
    """Returns pairs of a word and a word in its window (label 1) or a random word (label 0).

    Args:
      sequence: List of word indices.
      vocabulary_size: Number of words.
      window_size: Largest distance of two words.
      negative_samples: Number of negative pairs per positive one.
      shuffle: Whether to shuffle the pairs.
      categorical: Whether labels are one-hot.
      sampling_table: Probability of each word.
      seed: Seed of the random numbers.
    """
    couples, labels = [], []
    for i, word in enumerate(sequence):
        if not word:
            continue
        if sampling_table is not None and sampling_table[word] < random.random():
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                couples.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        targets = [c[0] for c in couples]
        random.shuffle(targets)
        count = int(len(labels) * negative_samples)
        couples += [
            [targets[i % len(targets)], random.randint(1, vocabulary_size - 1)]
            for i in range(count)
        ]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, 10**7) if seed is None else seed
        for some in (couples, labels):
            random.seed(seed)
            random.shuffle(some)
    return couples, labels


@_named
class TimeseriesGenerator(Sequence):
    """Batches of windows of a series, with the target after each window."""

    def __init__(
        self,
        data,
        targets,
        length,
        sampling_rate=1,
        stride=1,
        start_index=0,
        end_index=None,
        shuffle: Any = False,
        reverse: bool = False,
        batch_size: int | None = 128,
    ) -> None:
        if len(data) != len(targets):
            raise ValueError(
                "Data and targets have to be of same length. Data length is "
                f"{len(data)} while target length is {len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride = sampling_rate, stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index="
                f"{self.end_index}` is disallowed, as no part of the sequence would "
                "be left to be used as current step."
            )

    def __len__(self):
        return (self.end_index - self.start_index + self.batch_size * self.stride) // (
            self.batch_size * self.stride
        )

    def __getitem__(self, index):
        if self.shuffle:
            rows = numpy.random.randint(self.start_index, self.end_index + 1, self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = numpy.arange(
                first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride
            )
        x = numpy.array([self.data[r - self.length : r : self.sampling_rate] for r in rows])
        y = numpy.array([self.targets[r] for r in rows])
        return (x[:, ::-1, ...] if self.reverse else x), y
