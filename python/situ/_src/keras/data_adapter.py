# SPDX-License-Identifier: Apache-2.0
"""data_adapter.py: turns the data of fit, evaluate and predict into batches: arrays, tensors,
tf.data datasets, generators and Sequence."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy

import _situ
from situ._src.framework import default_session, errors, nest, style
from situ._src.framework.function import function
from situ._src.framework.session import Session
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import TensorSpec
from situ._src.keras import composite, context
from situ._src.keras.registry import keras_export
from situ._src.ops import random_ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable


@keras_export("utils.Sequence")
class Sequence:
    """Base class of batches by index; subclasses implement `__len__` and `__getitem__`."""

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Called between epochs."""

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def unpack(data: Any) -> tuple:
    """Returns (x, y, sample_weight) of a batch; missing parts are None.

    Args:
      data: x, (x,), (x, y) or (x, y, sample_weight).

    Raises:
      ValueError: If the tuple has more than 3 elements.
    """
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None, None
    if len(data) > 3:
        raise ValueError(
            "Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, "
            f"sample_weight)`, found: {data}"
        )
    return (*data, None, None)[:3]


keras_export("utils.unpack_x_y_sample_weight")(unpack)


@keras_export("utils.pack_x_y_sample_weight")
def pack(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Returns x, (x, y) or (x, y, sample_weight), the inverse of unpack.

    Args:
      x: Inputs.
      y: Targets, or None.
      sample_weight: Weights, or None.
    """
    if y is None:
        return x if not isinstance(x, (list, tuple)) else (x,)
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def array(value):
    """Converts data to an array; float64 becomes `tf.keras.backend.floatx()`."""
    if value is None or isinstance(value, numpy.ndarray):
        result = value
    elif isinstance(value, EagerTensor) or hasattr(value, "_situ_tensor_"):
        result = numpy.asarray(value.numpy())
    elif hasattr(value, "values") and hasattr(value, "index"):  # of pandas
        result = numpy.asarray(value.values)
    else:
        result = numpy.asarray(value)
    if result is not None and result.dtype == numpy.float64:
        result = result.astype(context.setting("float"), copy=False)
    return result


def rows(value):
    """Converts data to an array, or to the rows of a composite tensor."""
    return composite.rows_of(value) if composite.is_composite(value) else array(value)


def is_arrays(x):
    """Whether x consists of arrays or tensors that can be sliced into batches."""
    if isinstance(x, Sequence) or hasattr(x, "element_spec") or hasattr(x, "__next__"):
        return False
    return all(
        v is None
        or isinstance(v, (numpy.ndarray, EagerTensor, float, int))
        or hasattr(v, "_situ_tensor_")
        or hasattr(v, "__array__")
        or composite.is_convertible(v)
        for v in nest.flatten(x)
    )


def as_tensor(value):
    if isinstance(value, EagerTensor) or composite.is_composite(value):
        return value
    if value is None:
        return None
    value = array(value)
    return _situ.host(value, None)


class Arrays:
    """Batches of arrays."""

    def __init__(self, x, y=None, sample_weight=None, batch_size=None, shuffle=False):
        listed = lambda s: _listed(s)
        self.structure = (listed(x), listed(y), listed(sample_weight))
        self.structure = nest.map_structure(composite.as_composite, self.structure)
        self.leaves = [rows(v) for v in nest.flatten(self.structure)]
        self._is_flat = not any(nest.is_nested(part) for part in self.structure)
        sizes = {len(a) for a in self.leaves if a is not None}
        if len(sizes) > 1:
            raise ValueError(
                "Data cardinality is ambiguous. Make sure all arrays contain the same "
                f"number of samples.{self._sizes()}"
            )
        self.count = sizes.pop() if sizes else 0
        self.batch_size = batch_size or 32
        self.shuffle, self._order = shuffle, None
        self.steps = -(-self.count // self.batch_size)

    def _sizes(self):
        """Returns a line for each argument with the numbers of samples in its arrays."""
        text = ""
        for name, part in zip(("x", "y", "sample_weight"), self.structure):
            found = [str(len(rows(v))) for v in nest.flatten(part) if v is not None]
            text += f"\n'{name}' sizes: {', '.join(found)}" if found else ""
        return text

    def _seeded_order(self):
        """Returns the order that the seed of tf.random.set_seed determines. As in Keras 3, a
        function shuffles the indices of an epoch, or with "batch" those of each batch, and starts
        again in each epoch: the order is the same in all epochs."""
        if self._order is None:
            shuffled = function(
                lambda indices: random_ops.random_shuffle(indices),
                input_signature=[TensorSpec([None], "int64")],
            )
            indices, length = numpy.arange(self.count), max(1, self.count)
            length = self.batch_size if self.shuffle == "batch" else length
            parts = range(0, self.count, length)
            self._order = numpy.concatenate(
                [shuffled(indices[i : i + length]).numpy() for i in parts] or [indices]
            )
        return self._order

    def __iter__(self):
        starts, order = range(0, self.count, self.batch_size), None
        if self.shuffle and not style.is_graph() and random_ops.global_seed() is not None:
            order = self._seeded_order()
        elif self.shuffle == "batch":
            starts = numpy.random.permutation(list(starts))
        elif self.shuffle:
            order = numpy.random.permutation(self.count)
        for start in starts:
            stop = min(start + self.batch_size, self.count)
            if order is None:
                cut = [None if a is None else a[start:stop] for a in self.leaves]
            else:
                rows = order[start:stop]
                cut = [None if a is None else a.take(rows, 0) for a in self.leaves]
            yield tuple(cut) if self._is_flat else nest.pack_sequence_as(self.structure, cut)


def _listed(structure):
    """Converts nested lists of numbers and strings to arrays; lists of arrays stay."""
    if isinstance(structure, (list, tuple)):
        if structure and all(
            isinstance(v, (int, float, bool, str, bytes, numpy.generic))
            or isinstance(v, (list, tuple))
            and _is_numbers(v)
            for v in structure
        ):
            return numpy.asarray(structure)
        return [_listed(v) for v in structure]
    if isinstance(structure, dict):
        return {k: _listed(v) for k, v in structure.items()}
    return structure


def _is_numbers(value):
    if isinstance(value, (list, tuple)):
        return all(_is_numbers(v) for v in value)
    return isinstance(value, (int, float, bool, str, bytes, numpy.generic))


class Batches:
    """Batches of a dataset, a Sequence or a generator."""

    def __init__(self, source, steps=None, shuffle=False):
        self.source, self.limit, self.count, self.batch_size = source, steps, None, None
        self.shuffle = shuffle
        self.is_endless = hasattr(source, "__next__") and not isinstance(source, Sequence)
        self.steps = steps
        self._iterator = None
        if steps is None and not self.is_endless:
            self.steps = _length(source)

    def __iter__(self):
        if self.is_endless or self.limit is not None:
            return self._limited()
        return self._whole()

    def _whole(self):
        """Yields the batches of the source. Like Keras 3, opens one more iterator of a dataset of
        known length at the end: with a seed, that determines the order of the next epoch."""
        for batch in self._round():
            yield unpack(batch)
        if self.steps is not None and hasattr(self.source, "cardinality") and not style.is_graph():
            iter(self.source)

    def _round(self):
        """Returns an iterator from the start of the source; an image generator ends after one
        epoch.
        """
        if isinstance(self.source, Sequence):
            order = list(range(len(self.source)))
            if self.shuffle:
                random.shuffle(order)
            return (self.source[i] for i in order)
        return iter(self.source)

    def _limited(self):
        """Yields `limit` batches; continues where the last epoch ended and restarts a source
        that ends.
        """
        done = 0
        while self.limit is None or done < self.limit:
            if self._iterator is None:
                self._iterator = self._round()
            try:
                batch = next(self._iterator)
            except StopIteration:
                self._iterator = None
                if self.is_endless or done == 0 or _length(self.source) in (None, 0):
                    return
                continue
            done += 1
            yield unpack(batch)


def _length(source):
    if hasattr(source, "cardinality"):
        try:
            count = int(source.cardinality())
        except (TypeError, ValueError, NotImplementedError, RuntimeError):
            return None
        return count if count >= 0 else None
    try:
        return len(source)
    except TypeError:
        return None


@keras_export("utils.experimental.DatasetCreator")
class DatasetCreator:
    """A function that creates the dataset of `fit`, for a ParameterServerStrategy.

    Args:
      dataset_fn: A function of a tf.distribute.InputContext that returns a dataset of batches.
      input_options: A tf.distribute.InputOptions; has no effect.

    Raises:
      TypeError: dataset_fn cannot be called.
    """

    def __init__(self, dataset_fn: Callable, input_options: Any = None):
        if not callable(dataset_fn):
            raise TypeError(
                f"`dataset_fn` for `DatasetCreator` must be a `callable`. Received: {dataset_fn}"
            )
        self.dataset_fn, self.input_options = dataset_fn, input_options

    def __call__(self, *args, **kwargs):
        """Returns the dataset."""
        return self.dataset_fn(*args, **kwargs)


def make(x, y=None, sample_weight=None, batch_size=None, shuffle=False, steps=None):
    """Returns the batches of the data of fit, evaluate or predict."""
    if isinstance(x, (Arrays, Batches)):
        return x
    if isinstance(x, DatasetCreator):
        from situ._src.distribute.input import InputContext

        if steps is None:
            raise ValueError(
                "When using a `tf.keras.utils.experimental.DatasetCreator`, `steps_per_epoch`, "
                "`validation_steps` or `steps` argument must be provided in `Model.fit`, "
                "`Model.evaluate`, or `Model.predict`."
            )
        x = x(InputContext())
    if any(isinstance(v, GraphTensor) for v in nest.flatten(x)):
        return Batches(_Evaluated((x, y, sample_weight)), steps)
    if is_arrays(x) or isinstance(x, (list, tuple)) and _is_numbers(x):
        result = Arrays(x, y, sample_weight, batch_size, shuffle)
        if steps is not None:
            endless = Batches(_Again(result), steps)
            endless.count, endless.batch_size = result.count, result.batch_size
            return endless
        return result
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ValueError(
                f"`{name}` argument is not supported when using dataset, `keras.utils.Sequence` "
                "or generator as input."
            )
    return Batches(x, steps, shuffle)


class _Evaluated:
    """Batches that are values of graph tensors, one per session run."""

    def __init__(self, parts):
        self._parts = tuple(p for i, p in enumerate(parts) if not i or p is not None)

    def __iter__(self):
        leaves = nest.flatten(self._parts)
        tensors = [v for v in leaves if isinstance(v, GraphTensor)]
        session = default_session.current()
        if session is None or session.graph is not tensors[0].graph:
            session = Session(graph=tensors[0].graph)
        while True:
            try:
                result = iter(session.run(tensors))
            except errors.OutOfRangeError:
                return
            yield nest.pack_sequence_as(
                self._parts, [next(result) if isinstance(v, GraphTensor) else v for v in leaves]
            )


class _Again:
    """Repeats batches of arrays endlessly."""

    def __init__(self, arrays):
        self._arrays = arrays

    def __iter__(self):
        while True:
            yield from self._arrays

    def __len__(self):
        return self._arrays.steps


def split(x, y, sample_weight, share):
    """Splits arrays into training and validation data, which is the last `share` of each."""
    if not is_arrays(x) and not (isinstance(x, (list, tuple)) and _is_numbers(x)):
        raise ValueError(
            "`validation_split` is only supported for Tensors or NumPy arrays, found following "
            f"types in the input: {type(x)}"
        )
    structure = nest.map_structure(composite.as_composite, tuple(_listed((x, y, sample_weight))))
    leaves = [rows(v) for v in nest.flatten(structure)]
    count = next(len(a) for a in leaves if a is not None)
    at = int(math.floor(count * (1.0 - share)))
    if at in (0, count):
        raise ValueError(
            f"Training data contains {count} samples, which is not sufficient to "
            f"split it into a validation and training set as specified by "
            f"`validation_split={share}`. Either provide more data, or a different "
            "value for the `validation_split` argument."
        )
    first = nest.pack_sequence_as(structure, [None if a is None else a[:at] for a in leaves])
    second = nest.pack_sequence_as(structure, [None if a is None else a[at:] for a in leaves])
    return first, second


def with_class_weight(batches, class_weight):
    """Returns batches whose sample weights include the weights of their classes."""
    most = max(int(k) for k in class_weight) + 1
    table = numpy.ones(most, context.setting("float"))
    for key, value in class_weight.items():
        table[int(key)] = value

    class Weighted:
        steps, batch_size, count = batches.steps, batches.batch_size, batches.count
        source = getattr(batches, "source", None)  # for its on_epoch_end

        def __iter__(self):
            for x, y, weight in batches:
                labels = array(nest.flatten(y)[0])
                if labels.ndim > 1:
                    labels = labels.argmax(-1) if labels.shape[-1] > 1 else labels[..., 0]
                result = table[labels.astype("int64")]
                yield x, y, result if weight is None else array(weight) * result

    return Weighted()
