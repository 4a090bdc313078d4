# SPDX-License-Identifier: Apache-2.0
"""experimental.py: tf.data.experimental and tf.contrib.data."""

from __future__ import annotations

import _situ
from situ._src.data import iterators, native
from situ._src.data.dataset import (
    AUTOTUNE,
    INFINITE,
    LOG_WARNING,
    UNKNOWN,
    Dataset,
    from_handle,
    number,
)
from situ._src.data.iterators import Optional
from situ._src.data.structure import DatasetSpec
from situ._src.framework import device_spec, errors, nest
from situ._src.framework.api import BOTH, OPS, export
from situ._src.framework.nest import DATA
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable, DTypeLike

for _prefix in ("data.", "data.experimental.", "contrib.data."):
    BOTH[_prefix + "AUTOTUNE"] = AUTOTUNE
    BOTH[_prefix + "INFINITE_CARDINALITY"] = INFINITE
    BOTH[_prefix + "UNKNOWN_CARDINALITY"] = UNKNOWN
BOTH["contrib.data.Dataset"] = Dataset
BOTH["data.DatasetSpec"] = DatasetSpec
BOTH["data.experimental.Optional"] = Optional


def _device(name):
    return device_spec.to_engine_name(name)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Callable:
    """Returns a transformation that copies elements to a device; in graphs it has no effect.

    Args:
      target_device: The name of the device, such as "/gpu:0".
      source_device: Has no effect: elements are computed on the CPU.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    del source_device  # datasets run on the CPU

    def apply(dataset):
        if not _situ.executing_eagerly():
            return dataset
        return dataset._then("CopyToDevice", device=_device(target_device))

    return apply


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Callable:
    """Returns a transformation that prefetches elements to a device.

    Args:
      device: The name of the device, such as "/gpu:0"; in graphs it has no effect.
      buffer_size: The number of elements to prefetch, 1 by default.

    Returns:
      A function of a dataset, for Dataset.apply.
    """

    def apply(dataset):
        size = 1 if buffer_size is None else buffer_size
        return copy_to_device(device)(dataset).prefetch(size)

    return apply


def map_and_batch(
    map_func: Callable,
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Callable:
    """Returns a transformation: map, then batch.

    Args:
      map_func: A function of an element, as of Dataset.map.
      batch_size: The number of elements of a batch.
      num_parallel_batches: If it is given without `num_parallel_calls`, elements are computed in
        parallel, one per core, whatever the number.
      drop_remainder: Whether the last batch is dropped if it is smaller.
      num_parallel_calls: The number of elements to compute in parallel, or tf.data.AUTOTUNE.

    Returns:
      A function of a dataset, for Dataset.apply.
    """

    def apply(dataset):
        calls = num_parallel_calls or (num_parallel_batches and AUTOTUNE)
        return dataset.map(map_func, calls).batch(batch_size, drop_remainder)

    return apply


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: int | None = None) -> Callable:
    """Returns a transformation: shuffle, then repeat.

    Args:
      buffer_size: The number of elements in the buffer that elements are drawn from.
      count: How often to repeat; endlessly if it is None or -1.
      seed: The seed of the random numbers (optional).

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Callable,
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Callable:
    """Returns a transformation that interleaves datasets, which are read in parallel. The order is
    deterministic: `sloppy` is ignored, as are the sizes of buffers.

    Args:
      map_func: A function of an element that returns a dataset.
      cycle_length: The number of datasets to read in turn.
      block_length: The number of consecutive elements to take from each.
      sloppy: Ignored.
      buffer_output_elements: Ignored.
      prefetch_input_elements: Ignored.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    del sloppy, buffer_output_elements, prefetch_input_elements  # hints for speed
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE)


def unbatch() -> Callable:
    """Returns a transformation: Dataset.unbatch.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    return lambda dataset: dataset.unbatch()


def batch_and_drop_remainder(batch_size: Any) -> Callable:
    """Returns a transformation: Dataset.batch with drop_remainder.

    Args:
      batch_size: The number of elements of a batch.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    return lambda dataset: dataset.batch(batch_size, True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Callable:
    """Returns a transformation: Dataset.padded_batch with drop_remainder.

    Args:
      batch_size: The number of elements of a batch.
      padded_shapes: The shape of each component; None or -1 pads to the longest element.
      padding_values: The value to pad each component with, 0 or "" by default.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, True)


def enumerate_dataset(start: Any = 0) -> Callable:
    """Returns a transformation: Dataset.enumerate.

    Args:
      start: The index of the first element.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    return lambda dataset: dataset.enumerate(start)


def take_while(predicate: Callable) -> Callable:
    """Returns a transformation: Dataset.take_while.

    Args:
      predicate: A function of an element that returns a boolean scalar; the first false one ends
        the dataset.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Any, scan_func: Callable) -> Callable:
    """Returns a transformation: Dataset.scan.

    Args:
      initial_state: The initial state, a structure of tensors.
      scan_func: A function (state, element) that returns (new state, output).

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


def cardinality(dataset: Any) -> Any:
    """Returns the number of elements: -1 if infinite, -2 if unknown.

    Args:
      dataset: A dataset.

    Returns:
      An int64 scalar.
    """
    return dataset.cardinality()


def assert_cardinality(expected_cardinality: Any) -> Callable:
    """Returns a transformation that fails if the number of elements differs.

    Args:
      expected_cardinality: The number of elements; -1: infinite; -2: unknown, which is not checked.

    Returns:
      A function of a dataset, for Dataset.apply; iterating over its result raises a
      FailedPreconditionError if there are too many or too few elements.
    """
    return lambda dataset: dataset._then("AssertCardinality", number(expected_cardinality))


@export("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """Returns the element spec.

    Args:
      dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.element_spec


@export("data.experimental.at")
def at(dataset: Any, index: int) -> Any:
    """Returns the element at an index.

    Args:
      dataset: A dataset.
      index: The index of the element.

    Raises:
      OutOfRangeError: There is no such element.
    """
    rest = dataset.skip(index)
    if not _situ.executing_eagerly():
        return iterators.in_function(rest).get_next()
    for element in rest.take(1):
        return element
    count = max(int(dataset.cardinality()), 0)
    raise errors.OutOfRangeError(None, None, f"Index out of range [0, {count}):{int(index)}")


@export("data.experimental.from_list")
def from_list(elements: Any, name: str | None = None) -> Any:
    """Creates a dataset of the elements of a list.

    Args:
      elements: A list of elements of one structure.
      name: Has no effect.
    """
    del name  # a name for debugging only

    if not elements:
        raise ValueError(
            "Invalid `elements`. `elements` should not be empty. If you want an empty "
            "dataset, use `tf.data.Dataset.range(0)`."
        )
    if not isinstance(elements, list):
        raise ValueError("Invalid `elements`. `elements` must be a list.")
    columns = [nest.flatten(e) for e in elements]
    joined = [convert_to_tensor(list(column)) for column in zip(*columns)]
    return Dataset.from_tensor_slices(nest.pack_sequence_as(elements[0], joined))


def get_single_element(dataset: Any) -> Any:
    """Returns the element of a dataset that has exactly one.

    Args:
      dataset: A dataset.

    Raises:
      InvalidArgumentError: If the dataset is empty or has more than one element.
    """
    return dataset.get_single_element()


def counter(
    start: Any = 0, step: Any = 1, dtype: DTypeLike = "int64", name: str | None = None
) -> Any:
    """Creates an endless dataset of numbers from `start` in steps of `step`.

    Args:
      start: The first number.
      step: The difference of consecutive numbers; may be negative.
      dtype: The type of the numbers.
      name: Ignored.

    Returns:
      A dataset.
    """
    del name  # a name for debugging only
    return Dataset.range(start, (2**63 - 1) if step > 0 else -(2**63), step, output_type=dtype)


def ignore_errors(log_warning: bool = False) -> Callable:
    """Returns a transformation that drops elements whose computation fails.

    Args:
      log_warning: Whether each error is printed on standard error.

    Returns:
      A function of a dataset, for Dataset.apply.
    """
    flags = LOG_WARNING if log_warning else 0
    return lambda dataset: dataset._then("IgnoreErrors", flags=flags)


def _ignore_errors(self, log_warning=False, name=None):
    """Drops elements whose computation fails; see tf.data.experimental.ignore_errors."""
    del name  # a name for debugging only
    return self.apply(ignore_errors(log_warning))


Dataset.counter = staticmethod(counter)
Dataset.ignore_errors = _ignore_errors

for _function in (
    copy_to_device,
    prefetch_to_device,
    map_and_batch,
    shuffle_and_repeat,
    parallel_interleave,
    unbatch,
    enumerate_dataset,
    take_while,
    scan,
    cardinality,
    assert_cardinality,
    get_single_element,
    ignore_errors,
    batch_and_drop_remainder,
    padded_batch_and_drop_remainder,
):
    for _prefix in ("data.experimental.", "contrib.data."):
        BOTH[_prefix + _function.__name__] = _function
BOTH["data.experimental.Counter"] = BOTH["contrib.data.Counter"] = counter


SHARD_HINT = -1
BOTH["data.experimental.SHARD_HINT"] = SHARD_HINT


@export("data.experimental.RandomDataset")
def random_dataset(seed: int | None = None) -> Any:
    """Creates an endless dataset of random int64; see Dataset.random.

    Args:
      seed: The seed of the numbers (optional).
    """
    return Dataset.random(seed)


@export("data.experimental.enable_debug_mode")
def enable_debug_mode() -> None:
    """Has no effect: functions of datasets are always traced."""


@export("data.experimental.to_variant")
def to_variant(dataset: Any) -> Any:
    """Returns the handle of a dataset as a tensor.

    Args:
      dataset: a tf.data.Dataset.
    """
    return native.handle(dataset)


@export("data.experimental.from_variant")
def from_variant(variant: Any, structure: Any) -> Any:
    """Creates a dataset from the handle of `to_variant`.

    Args:
      variant: the handle.
      structure: the element spec of the dataset.
    """
    return from_handle(variant, structure)


@export("data.experimental.pad_to_cardinality")
def pad_to_cardinality(cardinality: Any, mask_key: str = "valid") -> Any:
    """Returns a transformation that adds elements of zeros until there are `cardinality`.

    Args:
      cardinality: The number of elements of the result.
      mask_key: The key of a component that is true for elements of the input.
    """

    def apply(dataset):
        count = int(dataset.cardinality())
        text = "The dataset passed into `pad_to_cardinality` must have a "
        if count < 0:
            raise ValueError(f"{text}known cardinalty, but has cardinality {count}")
        if count > cardinality:
            raise ValueError(
                f"{text}cardinalty less than the target cardinality ({cardinality}), but has "
                f"cardinality {count}"
            )
        if not isinstance(dataset.element_spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        zeros = lambda element: DATA.map(lambda v: OPS["ZerosLike"](v), element)
        filler = dataset.take(1).map(lambda e: {**zeros(e), mask_key: False})
        marked = dataset.map(lambda e: {**e, mask_key: True})
        return marked.concatenate(filler.repeat(cardinality - count))

    return apply


@export("data.experimental.parse_example_dataset")
def parse_example_dataset(
    features: Any, num_parallel_calls: int = 1, deterministic: bool | None = None
) -> Any:
    """Returns a transformation that parses batches of serialized tf.Example records.

    Args:
      features: A dictionary of features, as of tf.io.parse_example.
      num_parallel_calls: As of Dataset.map.
      deterministic: As of Dataset.map.

    Returns:
      A function of a dataset of vectors of strings.

    Raises:
      ValueError: If `features` is None.
      TypeError: When applied, if the elements are not vectors of strings.
    """
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")

    def apply(dataset):
        spec = dataset.element_spec
        if not DATA.flatten(spec) == [spec] or not spec.is_compatible_with(_SERIALIZED):
            raise TypeError("Input dataset should be a dataset of vectors of strings.")
        parse = BOTH["io.parse_example"]
        return dataset.map(
            lambda serialized: parse(serialized, features),
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
        )

    return apply


_SERIALIZED = TensorSpec([None], "string")
