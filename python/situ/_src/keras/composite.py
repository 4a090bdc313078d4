# SPDX-License-Identifier: Apache-2.0
"""composite.py: composite tensors in Keras: symbolic ones, rows of those that fit and predict are
called with, and the specs that steps are traced for."""

from __future__ import annotations

import numpy

from situ._src.framework.api import named
from situ._src.framework.tensor_shape import as_shape
from situ._src.framework.type_spec import SparseTensorSpec, TensorSpec, TypeSpec, spec_of
from situ._src.ops.array_ops import concat, op
from situ._src.ops.ragged_ops import with_same_rows
from situ._src.ops.ragged_tensor import RaggedTensor, is_ragged, to_ragged
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec
from situ._src.ops.sparse_layout import concat_ as sparse_concat
from situ._src.ops.sparse_ops import SparseTensor, SparseTensorValue


def is_composite(value) -> bool:
    """Returns whether a value is a composite tensor: ragged, sparse or an extension type."""
    return hasattr(value, "_situ_tensors_") and not isinstance(value, TypeSpec)


def is_scipy(value) -> bool:
    """Returns whether a value is a sparse matrix of SciPy."""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocoo")


def as_composite(value):
    """Converts values of sparse and ragged tensors and matrices of SciPy to composite tensors;
    other values stay."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if is_ragged(value):
        return to_ragged(value)
    if is_scipy(value):
        rows = value.tocoo()
        pairs = numpy.stack([rows.row, rows.col], 1).astype("int64")
        order = numpy.lexsort((pairs[:, 1], pairs[:, 0]))
        return SparseTensor(pairs[order], rows.data[order], rows.shape)
    return value


def is_convertible(value) -> bool:
    """Returns whether a value is a composite tensor or converts to one."""
    return (
        is_composite(value)
        or isinstance(value, SparseTensorValue)
        or is_ragged(value)
        or is_scipy(value)
    )


# Symbolic composite tensors


def input_spec(shape, dtype, is_sparse):
    """Returns the spec of tf.keras.Input(sparse=True) or, by default, of Input(ragged=True), whose
    last dimension of unknown size is the last ragged one."""
    if is_sparse:
        return SparseTensorSpec(shape, dtype)
    inner = [i for i, size in enumerate(shape) if i and size is None]
    return RaggedTensorSpec(shape, dtype, inner[-1] if inner else 0)


def spec_config(spec) -> dict:
    """Returns a spec as a dictionary for configurations of layers.

    Raises:
      NotImplementedError: the type of the spec cannot be saved.
    """
    shape = None if spec.shape.rank is None else spec.shape.as_list()
    config = {"class_name": type(spec).__name__, "shape": shape, "dtype": spec.dtype.name}
    if isinstance(spec, RaggedTensorSpec):
        ragged = {"ragged_rank": spec.ragged_rank, "row_splits_dtype": spec.row_splits_dtype.name}
        return {**config, **ragged}
    if isinstance(spec, (TensorSpec, SparseTensorSpec)):
        return config
    raise NotImplementedError(
        f"A model with symbolic tensors of type {type(spec).__name__} has no configuration."
    )


def spec_from_config(config):
    """Returns the spec of a result of spec_config."""
    if isinstance(config, TypeSpec):
        return config
    kinds = {k.__name__: k for k in (TensorSpec, SparseTensorSpec, RaggedTensorSpec)}
    config = dict(config)
    return kinds[config.pop("class_name")](**config)


# Rows of arrays


class Rows:
    """Rows of a composite tensor, which data_adapter.Arrays slices into batches like an array."""

    def __init__(self, value):
        self._value = value

    def __getitem__(self, rows):
        start, stop, _ = rows.indices(len(self))
        return self.take(numpy.arange(start, stop), 0)


class _RaggedRows(Rows):
    def __len__(self):
        return int(self._value.nrows())

    def __getitem__(self, rows):
        return self._value[rows]

    def take(self, rows, axis):
        """Returns the rows with some indices."""
        del axis  # it is 0
        return self._value.take(rows)


class _SparseRows(Rows):
    def __init__(self, value):
        super().__init__(value)
        self._indices, self._values = value.indices.numpy(), value.values.numpy()
        self._sizes = value.dense_shape.numpy()
        order = numpy.argsort(self._indices[:, 0], kind="stable")
        self._indices, self._values = self._indices[order], self._values[order]
        self._starts = numpy.searchsorted(self._indices[:, 0], numpy.arange(len(self) + 1))

    def __len__(self):
        return int(self._sizes[0])

    def take(self, rows, axis):
        """Returns the rows with some indices."""
        del axis  # it is 0
        counts = self._starts[rows + 1] - self._starts[rows]
        ends = numpy.cumsum(counts)
        at = numpy.arange(counts.sum()) + numpy.repeat(self._starts[rows] - ends + counts, counts)
        indices = self._indices[at].copy()
        indices[:, 0] = numpy.repeat(numpy.arange(len(rows)), counts)
        return SparseTensor(indices, self._values[at], [len(rows), *self._sizes[1:]])


class _FieldRows(Rows):
    """Rows of an extension type, whose spec takes elements apart."""

    def __init__(self, value):
        super().__init__(value)
        self._spec = spec_of(value)
        if not hasattr(self._spec, "_situ_take_rows_"):
            raise ValueError(
                f"Data of type {type(value).__name__} cannot be sliced into batches. Use a "
                "tf.experimental.BatchableExtensionType or a tf.data.Dataset of batches."
            )

    def __len__(self):
        return self._spec._situ_row_count_(self._value)

    def take(self, rows, axis):
        """Returns the rows with some indices."""
        del axis  # it is 0
        return self._spec._situ_take_rows_(self._value, rows)


def rows_of(value) -> Rows:
    """Returns the rows of a composite tensor."""
    if isinstance(value, RaggedTensor):
        return _RaggedRows(value)
    return _SparseRows(value) if isinstance(value, SparseTensor) else _FieldRows(value)


def join(parts):
    """Concatenates the outputs of batches: arrays, or composite tensors of one type."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, RaggedTensor):
        return concat(parts, 0)
    if isinstance(first, SparseTensor):
        return sparse_concat(0, list(parts))
    if not is_composite(first):
        return numpy.concatenate(parts)
    joined = [op("ConcatV2", list(some), 0) for some in zip(*[p._situ_tensors_ for p in parts])]
    return first._situ_from_tensors_(joined)


def restore(value, spec):
    """Sets the static shape of a composite argument of a step."""
    if isinstance(value, SparseTensor):
        value._static = None if spec.shape.rank is None else spec.shape.as_list()
    elif isinstance(value, RaggedTensor) and spec.shape.rank is not None:
        value._set_shape(as_shape(spec.shape))
    return value


# Ragged inputs of layers


def padded(inputs):
    """Returns the dense tensor of a ragged one, and the mask of its steps; for other tensors the
    tensor itself and None."""
    if not isinstance(inputs, RaggedTensor):
        return inputs, None
    dense = inputs.to_tensor()
    return dense, named("sequence_mask")(inputs.row_lengths(), op("Shape", dense)[1])


def ragged_steps(outputs, inputs, is_backwards=False):
    """Returns the outputs of the steps of a ragged tensor as a ragged tensor.

    Args:
      outputs: Dense tensor of shape (batch, steps, ...).
      inputs: The ragged tensor whose row lengths the result has.
      is_backwards: Whether the outputs are in reverse order, with padding first.
    """
    lengths = inputs.row_lengths()
    if not is_backwards:
        return RaggedTensor.from_tensor(outputs, lengths)
    forward = RaggedTensor.from_tensor(op("ReverseV2", outputs, [1]), lengths)
    return named("reverse")(forward, [1])


def flat_labels(y_true, y_pred, sample_weight=None):
    """Returns labels, predictions and weights of ragged predictions as dense tensors of their flat
    values, as metrics take them; of dense predictions the same."""
    if not any(isinstance(t, RaggedTensor) for t in (y_true, y_pred)):
        return y_true, y_pred, sample_weight
    if not isinstance(y_true, RaggedTensor) or not isinstance(y_pred, RaggedTensor):
        dense = [t.to_tensor() if isinstance(t, RaggedTensor) else t for t in (y_true, y_pred)]
        return (*dense, sample_weight)
    with_same_rows([t.with_flat_values(t.flat_values) for t in (y_true, y_pred)])
    if isinstance(sample_weight, RaggedTensor):
        sample_weight = sample_weight.flat_values
    elif sample_weight is not None and getattr(sample_weight, "shape", ()):
        for rows in y_pred.nested_value_rowids():
            sample_weight = op("GatherV2", sample_weight, rows, 0)
    return y_true.flat_values, y_pred.flat_values, sample_weight


def row_means(values, like):
    """Returns the means of the innermost rows of a ragged tensor with other flat values."""
    return named("reduce_mean")(like.with_flat_values(values), axis=like.ragged_rank)
