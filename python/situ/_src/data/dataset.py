# SPDX-License-Identifier: Apache-2.0
"""dataset.py: tf.data.Dataset: an immutable description of an input pipeline."""

from __future__ import annotations

import itertools
import os

import _situ
from situ._src.data import iterators, native, padded_batch, structure
from situ._src.data.options import Options, merge_options
from situ._src.data.padded_batch import batched
from situ._src.data.structure import DatasetSpec, Traced, component, tensor
from situ._src.framework import errors
from situ._src.framework.api import BOTH, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.nest import DATA, PARTS
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.random_ops import get_seed

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Callable, DTypeLike

AUTOTUNE, INFINITE, UNKNOWN = -1, -1, -2
DROP_REMAINDER, RESHUFFLE, LOG_WARNING = 1, 4, 8


def number(value, dtype="int64"):
    """Converts a parameter to an int64 tensor."""
    return tensor(value, None if hasattr(value, "dtype") else dtype)


def static_value(value):
    """Returns the value of a scalar parameter, or None if it is unknown."""
    return int(value.numpy()) if isinstance(value, EagerTensor) and not value.shape.rank else None


def _slice_spec(spec):
    """Returns the spec of a slice along the first dimension."""
    dims = None if spec.shape.rank is None else spec.shape.as_list()[1:]
    return TensorSpec(dims, spec.dtype)


class Dataset:
    """An input pipeline: `Dataset.range(10).map(f).batch(2)`."""

    def __init__(self, kind, inputs, params, spec, traced=None, inner=None, **options):
        self._kind, self._from, self._params = kind, tuple(inputs), tuple(params)
        self._spec, self._traced, self._inner, self._options = spec, traced, inner, options
        self._made = None
        values = self._params + tuple(traced.captured if traced else ())
        self._symbolic = any(i._symbolic for i in self._from) or any(
            isinstance(p, GraphTensor) or structure.is_variable(p) for p in values
        )
        self._root = None

    # Methods that other modules of this folder define.
    choose_from_datasets: Any
    counter: Any
    ignore_errors: Any
    load: Any
    ragged_batch: Any
    random: Any
    reduce: Any
    rejection_resample: Any
    sample_from_datasets: Any
    scan: Any
    snapshot: Any
    sparse_batch: Any

    element_spec = property(lambda s: s._spec)

    def _build(self, arguments):
        """Returns the native dataset; graph tensors and variables become arguments, appended to
        the list."""
        return self._definition(arguments).native

    def _definition(self, arguments):
        """Returns the definition of the native dataset, which is created once."""
        if self._made is not None:
            return self._made
        result = native.create(self, arguments)
        if not self._symbolic:
            self._made = result
        return result

    def _inputs(self):
        """Returns the datasets that this one transforms."""
        return list(self._from)

    def _has_effects(self):
        """Returns whether a function of this dataset or of an input assigns variables."""
        inner = [] if self._inner is None else [self._inner]
        own = self._traced is not None and self._traced.has_effects
        return own or any(one._has_effects() for one in (*self._from, *inner))

    def _start(self):
        """Returns the native dataset and the current values of its arguments."""
        if self._root is None:
            arguments = []
            self._root = self._build(arguments), arguments
        result, arguments = self._root
        return result, structure.values_now(arguments)

    def _then(self, kind, *params, spec=None, **options):
        """Returns a dataset that transforms this one."""
        return Dataset(kind, (self,), params, self._spec if spec is None else spec, **options)

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Creates a dataset with one element, a structure of tensors."""
        del name  # a name for debugging only
        parts = DATA.map(component, tensors)
        flat = [native.handle(p) if isinstance(p, Dataset) else p for p in PARTS.flatten(parts)]
        return Dataset("Tensor", (), flat, DATA.map(structure.spec_of, parts))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Creates a dataset of the slices of tensors along their first dimension.

        Args:
          tensors: A tensor, or a structure of tensors with equal first dimensions.
          name: Ignored.

        Returns:
          A dataset.

        Raises:
          ValueError: If a tensor is a scalar or first dimensions differ.
        """
        del name  # a name for debugging only
        if any(isinstance(leaf, (list, Dataset)) for leaf in DATA.flatten(tensors)):
            from situ._src.data import nested

            if nested.has_datasets(tensors):
                return nested.slices(tensors)
        parts = DATA.map(component, tensors)
        flat = DATA.flatten(parts)
        if not flat:
            raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
        if any(hasattr(part, "_situ_tensors_") for part in flat):
            from situ._src.data import composite

            return composite.slices(parts)
        for part in flat:
            if part.shape.rank == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        rows = {p.shape.as_list()[0] for p in flat if p.shape.rank} - {None}
        if len(rows) > 1:
            first, *_, last = [p.shape.as_list()[0] for p in flat]
            raise ValueError(f"Dimensions {first} and {last} are not compatible")
        return Dataset(
            "TensorSlice", (), flat, DATA.map(lambda p: _slice_spec(structure.spec_of(p)), parts)
        )

    @staticmethod
    def range(*args: Any, output_type: DTypeLike = "int64", name: str | None = None) -> Dataset:
        """Creates a dataset of a range of numbers.

        Args:
          *args: `stop`, or `start, stop`, or `start, stop, step`.
          output_type: The type of the elements.
          name: Ignored.

        Returns:
          A dataset.

        Raises:
          ValueError: If there are no arguments or more than three.
        """
        del name  # a name for debugging only
        if not 1 <= len(args) <= 3:
            raise ValueError(
                "Invalid `args`. The length of `args` should be between 1 and 3 but "
                f"was {len(args)}."
            )
        start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        dtype = as_dtype(output_type)
        return Dataset(
            "Numbers",
            (),
            [number(v) for v in (start, stop, step)],
            TensorSpec([], dtype),
            type=dtype,
        )

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Creates a dataset of the elements of a Python generator.

        Args:
          generator: A function that returns an iterable; it is called for each iteration.
          output_types: The types of the elements, if there is no `output_signature`.
          output_shapes: The shapes of the elements (optional).
          args: Tensors that are passed to `generator` as NumPy arrays.
          output_signature: A structure of tf.TensorSpec.
          name: Ignored.

        Returns:
          A dataset.

        Raises:
          TypeError: If `generator` is not callable, or not exactly one of `output_types` and
            `output_signature` is given.
        """
        del name  # a name for debugging only
        from situ._src.data import readers

        return readers.from_generator(
            generator, output_types, output_shapes, args, output_signature
        )

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: Any = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """Creates a dataset of the names of files that match patterns.

        Args:
          file_pattern: A glob pattern, or a list of them.
          shuffle: Whether names are shuffled, true by default.
          seed: The seed of the shuffle.
          name: Ignored.

        Returns:
          A dataset of strings.

        Raises:
          InvalidArgumentError: If no file matches.
        """
        del name  # a name for debugging only
        from situ._src.data import readers

        return readers.list_files(file_pattern, shuffle, seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Creates a dataset of tuples of the elements of several datasets.

        Args:
          *args: Datasets, or one structure of datasets.
          datasets: A structure of datasets.
          name: Ignored.

        Returns:
          A dataset that ends with the shortest input.

        Raises:
          TypeError: If an argument is not a dataset or a structure of datasets; lists are not
            allowed.
        """
        del name  # a name for debugging only
        datasets = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(datasets, list):
            raise TypeError(
                "Invalid input to `zip`. Inputs are expected to be (nested) structures "
                "of `tf.data.Dataset` objects. Python `list` is not supported and you "
                "should use `tuple` instead."
            )
        for one in DATA.flatten(datasets):
            if not isinstance(one, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) "
                    "structures of `tf.data.Dataset` objects but encountered object "
                    f"of type {type(one)}."
                )
        return Dataset(
            "Zip",
            DATA.flatten(datasets),
            (),
            DATA.pack(datasets, [d.element_spec for d in DATA.flatten(datasets)]),
        )

    def concatenate(self, dataset: Any, name: str | None = None) -> Dataset:
        """Returns the elements of this dataset followed by those of another one."""
        del name  # a name for debugging only
        mine, other = DATA.flatten(self._spec), DATA.flatten(dataset.element_spec)
        joined = [a.most_specific_common_supertype([b]) for a, b in zip(mine, other)]
        if None in joined or DATA._difference(self._spec, dataset.element_spec, True):
            raise TypeError(
                f"Incompatible dataset elements:\n  {self._spec} vs.   {dataset.element_spec}"
            )
        return Dataset("Concatenate", (self, dataset), (), DATA.pack(self._spec, joined))

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Repeats the dataset `count` times; endlessly if it is None or -1."""
        del name  # a name for debugging only
        return self._then("Repeat", number(-1 if count is None else count))

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Returns the first `count` elements."""
        del name  # a name for debugging only
        return self._then("Take", number(count))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Returns the elements after the first `count`."""
        del name  # a name for debugging only
        return self._then("Skip", number(count))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Returns every `num_shards`-th element, beginning with `index`."""
        del name  # a name for debugging only
        shards, which = number(num_shards), number(index)
        count, at = static_value(shards), static_value(which)
        if count is not None and count < 1:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Number of shards must be greater than zero (currently num_shards = {count}).",
            )
        if at is not None and (at < 0 or (count is not None and at >= count)):
            last = "num_shards - 1" if count is None else count - 1
            raise errors.InvalidArgumentError(
                None, None, f"Index must be between 0 and {last} (currently index = {at})."
            )
        return self._then("Shard", shards, which)

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Shuffles the elements.

        Each element is drawn at random from a buffer, which the next element of the input refills.

        Args:
          buffer_size: The number of elements in the buffer.
          seed: The seed of the random numbers.
          reshuffle_each_iteration: Whether each iteration has another order, true by default.
          name: Ignored.

        Returns:
          A dataset.
        """
        del name  # a name for debugging only
        one, two = get_seed(seed)
        flags = 0 if reshuffle_each_iteration is False else RESHUFFLE
        return self._then(
            "Shuffle", number(buffer_size), number(one or 0), number(two or 0), flags=flags
        )

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Caches the elements in memory, or in files that begin with `filename`."""
        del name  # a name for debugging only
        if hasattr(filename, "__fspath__"):
            filename = str(filename)
        if isinstance(filename, (str, bytes)) and not filename:
            return self._then("Cache")
        return self._then("CacheFile", tensor(filename, "string"))

    def prefetch(self, buffer_size: Any = AUTOTUNE, name: str | None = None) -> Dataset:
        """Computes elements ahead in a background thread.

        Args:
          buffer_size: The number of elements to prefetch; tf.data.AUTOTUNE, the default, stands for
            a fixed number.
          name: Ignored.

        Returns:
          A dataset.
        """
        del name  # a name for debugging only
        return self._then("Prefetch", number(AUTOTUNE if buffer_size is None else buffer_size))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keeps the elements for which a function is true.

        Args:
          predicate: A function of an element that returns a boolean scalar.
          name: Ignored.

        Returns:
          A dataset.

        Raises:
          ValueError: If the predicate returns something else.
        """
        del name  # a name for debugging only
        return self._filter_by("Filter", predicate)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Returns the elements before the first for which `predicate` is false."""
        del name  # a name for debugging only
        return self._filter_by("TakeWhile", predicate)

    def _filter_by(self, kind, predicate):
        traced = Traced(predicate, self._spec)
        result = traced.result
        if (
            not isinstance(result, GraphTensor)
            or result.dtype.name != "bool"
            or result.shape.rank not in (0, None)
        ):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar "
                "tensor, but its return type is "
                f"{DATA.map(structure.spec_of, result)}."
            )
        return self._then(kind, traced=traced)

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Returns pairs (index, element), counting from `start`."""
        del name  # a name for debugging only
        return Dataset.zip((Dataset.range(start, 2**63 - 1), self))

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Combines consecutive elements into batches.

        Args:
          batch_size: The number of elements of a batch.
          drop_remainder: Whether the last batch is dropped if it is smaller.
          num_parallel_calls: Ignored; a batch is made in the thread that asks for it.
          deterministic: Ignored; elements keep their order.
          name: Ignored.

        Returns:
          A dataset whose components have a new first dimension.
        """
        del name  # a name for debugging only
        del num_parallel_calls, deterministic  # batches are made in order, by the thread that asks
        size = number(batch_size)
        rows = static_value(size) if drop_remainder is True else None
        return self._batched(size, DROP_REMAINDER if drop_remainder else 0, rows)

    def _batched(self, size, flags, rows):
        """Returns batches, of `rows` elements each if that is not None."""
        if self._has_composites():
            from situ._src.data import composite

            return composite.batch(self, size, rows, flags)
        spec = DATA.map(lambda s: batched(s, rows), self._spec)
        return self._then("Batch", size, spec=spec, flags=flags)

    def _has_composites(self):
        return any(hasattr(s, "_situ_tensors_") for s in DATA.flatten(self._spec))

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Combines consecutive elements of different sizes into padded batches.

        Args:
          batch_size: The number of elements of a batch.
          padded_shapes: The shape of each component; None or -1 pads to the longest element.
          padding_values: The value to pad each component with, 0 or "" by default.
          drop_remainder: Whether the last batch is dropped if it is smaller.
          name: Ignored.

        Returns:
          A dataset.
        """
        del name  # a name for debugging only
        padded_batch.check_types(self._spec)
        size, specs = number(batch_size), DATA.flatten(self._spec)
        rows = static_value(size) if drop_remainder is True else None
        shapes, late = padded_batch.shapes(padded_shapes, self._spec)
        values = padded_batch.values(padding_values, specs) + (late or [])
        spec = DATA.pack(
            self._spec,
            [batched(TensorSpec(shape, s.dtype), rows) for shape, s in zip(shapes, specs)],
        )
        return self._then(
            "PaddedBatch",
            size,
            *values,
            spec=spec,
            shapes=shapes,
            flags=DROP_REMAINDER if drop_remainder else 0,
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Splits elements along their first dimension."""
        del name  # a name for debugging only
        shapes = [s.shape for s in DATA.flatten(self._spec) if not hasattr(s, "_component_specs")]
        if any(s.rank == 0 for s in shapes):
            raise ValueError("Cannot unbatch an input with scalar components.")
        rows = list(
            dict.fromkeys(s.as_list()[0] for s in shapes if s.rank and s.as_list()[0] is not None)
        )
        if len(rows) > 1:
            raise ValueError(
                "`unbatch()` is only supported for datasets of elements whose "
                "components have a matching leading dimension. Encountered both "
                f"{rows[0]} and {rows[1]}."
            )
        if self._has_composites():
            from situ._src.data import composite

            return composite.unbatch(self)
        return self._then(
            "Unbatch", spec=DATA.map(_slice_spec, self._spec), block=rows[0] if rows else 0
        )

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset of windows, each a dataset of consecutive elements.

        Args:
          size: The number of elements of a window.
          shift: The distance of windows, `size` by default.
          stride: The distance of elements of a window.
          drop_remainder: Whether windows that are smaller are dropped.
          name: Ignored.

        Returns:
          A dataset of (structures of) datasets.
        """
        del name  # a name for debugging only
        windows = self._then(
            "Window",
            number(size),
            number(size if shift is None else shift),
            number(stride),
            spec=DATA.map(DatasetSpec, self._spec),
            flags=DROP_REMAINDER if drop_remainder else 0,
        )
        if self._has_composites():
            from situ._src.data import composite

            return composite.windows(windows, self._spec)
        return windows

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        num_threads: Any = None,
        output_buffer_size: Any = None,
    ) -> Dataset:
        """Applies a function to each element.

        Args:
          map_func: A function of an element; a tuple is passed as several arguments. It is traced
            into a graph.
          num_parallel_calls: The number of elements to compute in parallel, or tf.data.AUTOTUNE for
            one per core. By default elements are computed in the thread that asks for them.
          deterministic: Ignored; elements keep their order.
          synchronous: Whether elements must be computed in the thread that asks for them.
          use_unbounded_threadpool: Ignored; a hint for speed.
          name: Ignored.
          num_threads: The name of `num_parallel_calls` in tf.contrib.data.
          output_buffer_size: Ignored.

        Returns:
          A dataset.
        """
        del name  # a name for debugging only
        del output_buffer_size, use_unbounded_threadpool  # hints for speed
        del deterministic  # elements keep their order
        num_parallel_calls = num_parallel_calls or num_threads
        if synchronous and num_parallel_calls is not None:
            raise ValueError(
                "`synchronous` is not supported with `num_parallel_calls`, but "
                f"`num_parallel_calls` was set to {num_parallel_calls}"
            )
        traced = Traced(map_func, self._spec)
        spec = DATA.map(structure.spec_of, traced.result)
        traced.datasets_to_tensors(native.bind)
        return self._then(
            "Map",
            spec=spec,
            traced=traced,
            parallel=_parallel(num_parallel_calls),
        )

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Applies a function that returns datasets to each element and concatenates the
        results."""
        del name  # a name for debugging only
        return self._nested("FlatMap", map_func)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Applies a function that returns datasets to each element and interleaves the results.

        Args:
          map_func: A function of an element that returns a dataset.
          cycle_length: The number of datasets to read in turn; by default and for
            tf.data.AUTOTUNE one per core.
          block_length: The number of consecutive elements to take from each, 1 by default.
          num_parallel_calls: If it is given and not 0, each open dataset is read ahead in a thread
            of its own.
          deterministic: Ignored; the order is deterministic.
          name: Ignored.

        Returns:
          A dataset.
        """
        del deterministic  # the order is always deterministic
        del name  # a name for debugging only
        cycle, block = [
            default if given is None else _parallel(given)
            for given, default in ((cycle_length, AUTOTUNE), (block_length, 1))
        ]
        calls = _parallel(num_parallel_calls)
        if cycle == AUTOTUNE and calls > 0:
            cycle = min(calls, len(os.sched_getaffinity(0)))
        return self._nested("Interleave", map_func, cycle=cycle, block=block, parallel=calls)

    def _nested(self, kind, map_func, **options):
        traced = Traced(map_func, self._spec)
        inner = traced.result
        if not isinstance(inner, Dataset):
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got {type(inner)!r}."
            )
        return self._then(kind, spec=inner.element_spec, traced=traced, inner=inner, **options)

    def apply(self, transformation_func: Callable[..., Any]) -> Dataset:
        """Applies a function that transforms a dataset."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(result)}."
            )
        return result

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """Returns the dataset with tf.data.Options."""
        del name  # a name for debugging only

        result = self._then("Take", number(-1))
        result._user_options = merge_options(self.options(), options)
        return result

    def options(self) -> Any:
        """Returns the merged options of this dataset and its inputs."""

        own = getattr(self, "_user_options", None)
        inherited = [one.options() for one in self._from] if own is None else [own]
        return merge_options(Options(), *inherited)._freeze()

    def _structure(self):
        indices = itertools.count()
        at = lambda s, i: s.at(i) if isinstance(s, DatasetSpec) else i
        return PARTS.template(self._spec, lambda s: at(s, next(indices)))

    def __iter__(self):
        graph = _situ.current_graph()
        if graph is not None and graph.building_function:
            return iterators.in_function(self)
        if not _situ.executing_eagerly():
            raise RuntimeError(
                "`tf.data.Dataset` only supports Python-style iteration in eager "
                "mode or within tf.function."
            )
        return iterators.OwnedIterator.over(self)

    def as_numpy_iterator(self) -> Any:
        """Returns an iterator over elements converted to NumPy arrays."""
        if not _situ.executing_eagerly():
            raise RuntimeError(
                "`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode."
            )
        return iterators.NumpyIterator(self)

    def get_single_element(self, name: str | None = None) -> Any:
        """Returns the element of a dataset that has exactly one."""
        return iterators.single_element(self, name)

    def cardinality(self, name: str | None = None) -> Any:
        """Returns the number of elements: -1 if infinite, -2 if unknown."""
        del name  # a name for debugging only
        if self._kind == "Handle" and _situ.current_graph() is not None:
            return op("DatasetSize", self._params[0])
        result = self._build([])
        return convert_to_tensor(result.cardinality(), "int64")

    def fingerprint(self) -> Any:
        """Returns a number that is the same for equal datasets, as a uint64 scalar."""
        from situ._src.data import serialization

        return convert_to_tensor(serialization.fingerprint(self._definition([])), "uint64")

    def __len__(self):
        if not _situ.executing_eagerly():
            raise TypeError(
                "`tf.data.Dataset` only supports `len` in eager mode. Use "
                "`tf.data.Dataset.cardinality()` instead."
            )
        length = self._build([]).cardinality()
        if length == INFINITE:
            raise TypeError("The dataset is infinite.")
        if length == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return length

    def __bool__(self):
        return True

    def __repr__(self):
        kind = {"Numbers": "Range"}.get(self._kind, self._kind)
        kind = "Parallel" + kind if self._options.get("parallel") else kind
        return f"<_{kind}Dataset element_spec={self._spec!r}>"

    # TensorFlow 1

    output_types = property(lambda s: DATA.map(lambda x: x.dtype, s._spec))
    output_shapes = property(lambda s: DATA.map(lambda x: x.shape, s._spec))
    output_classes = property(
        lambda s: DATA.map(
            lambda x: x.value_type if hasattr(x, "_situ_tensors_") else GraphTensor.__base__,
            s._spec,
        )
    )

    def make_one_shot_iterator(self) -> Any:
        """Creates an iterator that needs no initialization."""
        return iterators.make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: Any = None) -> Any:
        """Creates an iterator that its initializer starts."""
        return iterators.make_initializable_iterator(self, shared_name)


def _parallel(value):
    if value is None:
        return 0
    return int(value.numpy()) if hasattr(value, "numpy") else int(value)


def from_handle(handle, spec):
    """Returns the dataset of a handle."""
    return Dataset("Handle", (), [handle], spec, n_components=len(PARTS.flatten(spec)))


export("data.Dataset")(Dataset)
BOTH["python.data.ops.dataset_ops.INFINITE"] = INFINITE
BOTH["python.data.ops.dataset_ops.UNKNOWN"] = UNKNOWN
