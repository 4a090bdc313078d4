# SPDX-License-Identifier: Apache-2.0
"""composite.py: sparse and ragged tensors as components of elements.

An element of a dataset is a list of dense tensors; a composite tensor is several of them
(structure.PARTS). Only batches need more: elements are encoded as tensors that differ in their
first dimension, padded to a batch, and decoded to a sparse or ragged tensor of a higher rank."""

from situ._src.data import padded_batch
from situ._src.data.dataset import Dataset
from situ._src.data.structure import DatasetSpec, NoneSpec, Nothing, spec_of
from situ._src.framework import tensor_shape
from situ._src.framework.api import BOTH
from situ._src.framework.nest import DATA, PARTS
from situ._src.framework.scopes import control_dependencies
from situ._src.framework.type_spec import SparseTensorSpec, TensorSpec
from situ._src.ops.array_ops import cast, concat, constant, op
from situ._src.ops.check_ops import Assert
from situ._src.ops.composite_map import encoded, row
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec
from situ._src.ops.sparse_ops import SparseTensor


def _dims(shape):
    return None if shape.rank is None else shape.as_list()


def batched(spec, rows):
    """Returns the spec of a batch of `rows` elements, None if their number is not known."""
    if isinstance(spec, NoneSpec):
        return spec
    if hasattr(spec, "_situ_encode_"):
        return spec._batch(rows)
    if hasattr(spec, "_component_specs"):
        raise TypeError(f"Elements of type {spec} cannot be batched.")
    dims = _dims(spec.shape)
    shape = None if dims is None else [rows, *dims]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
    if isinstance(spec, (SparseTensorSpec, TensorSpec)):
        return type(spec)(shape, spec.dtype)
    if isinstance(spec, DatasetSpec):
        return TensorSpec(shape, spec.dtype)
    raise TypeError(f"Elements of type {spec} cannot be batched.")


def unbatched(spec):
    """Returns the spec of a slice along the first dimension."""
    if isinstance(spec, NoneSpec):
        return spec
    if hasattr(spec, "_situ_encode_"):
        return spec._unbatch()
    if hasattr(spec, "_component_specs"):
        raise TypeError(f"Elements of type {spec} cannot be unbatched.")
    dims = _dims(spec.shape)
    shape = None if dims is None else dims[1:]
    if isinstance(spec, RaggedTensorSpec):
        # A rank below 0 is that of a scalar, which a batch makes a vector again.
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    if isinstance(spec, (SparseTensorSpec, TensorSpec)):
        return type(spec)(shape, spec.dtype)
    raise TypeError(f"Elements of type {spec} cannot be unbatched.")


def dense_to_ragged(spec, row_splits_dtype):
    """Returns the spec of a dense tensor as a component of ragged batches."""
    if not isinstance(spec, TensorSpec) or spec.shape.is_fully_defined():
        return spec
    if spec.shape.rank is None:
        raise ValueError(
            "Datasets with unknown rank cannot be batched to ragged tensors: give the elements a "
            "static rank with `set_shape`."
        )
    dims = spec.shape.as_list()
    ragged_rank = max(i for i, size in enumerate(dims) if size is None)
    return RaggedTensorSpec(dims, spec.dtype, ragged_rank, row_splits_dtype)


def dense_to_sparse(value, row_shape):
    """Converts a tensor to a SparseTensor with all its elements and the shape of a row."""
    row = tensor_shape.as_shape(row_shape).as_list()
    sizes = op("Shape", value, out_type="int64")
    wanted = constant([-1 if n is None else n for n in row], "int64")
    text = "An element is larger than `row_shape`. Shapes of the element and of rows:"
    fits = op("LogicalOr", op("LessEqual", sizes, wanted), op("Less", wanted, constant(0, "int64")))
    with control_dependencies([Assert(op("All", fits, [0]), [text, sizes, wanted])]):
        everywhere = op("Fill", op("Identity", sizes), constant(True))
    dense_shape = op("Maximum", sizes, wanted)
    made = SparseTensor(op("Where", everywhere), op("Reshape", value, [-1]), dense_shape)
    made._static = row
    return made


# Batches


class _Code:
    """How the values of a component are batched."""

    def __init__(self, spec):
        self.spec = spec

    def to_own(self, value):
        """Converts a dense value to one of the spec, if dense components become ragged."""
        return value

    def encode(self, value):
        """Returns the tensors of a value: those of `shapes`."""
        return [value]

    def shapes(self):
        """Returns the padded shapes of the tensors of a value."""
        return [self.spec.shape]

    def decode(self, parts, rows):
        """Returns the batch of values, of the batched tensors."""
        del rows  # known from the tensors
        return parts[0]


class _Unknown(_Code):
    """Dense tensors whose shape is not known; all must have the same."""

    def encode(self, value):
        return [op("Reshape", value, [-1]), op("Shape", value, out_type="int64")]

    def shapes(self):
        return [tensor_shape.as_shape([None]), tensor_shape.as_shape([self.spec.shape.rank])]

    def decode(self, parts, rows):
        flat, shapes = parts
        first = shapes[0]
        text = "Cannot batch tensors with different shapes in a component. Shapes of the elements:"
        same = op("All", op("Equal", shapes, first), [0, 1])
        sizes = concat([op("Shape", flat, out_type="int64")[:1], first], 0)
        rank = self.spec.shape.rank
        if rank is not None:  # a shape that fits, so that it is the assertion that fails
            ones = constant([1] * (rank - 1), "int64")
            sizes = op(
                "SelectV2", same, sizes, concat([op("Shape", flat, out_type="int64"), ones], 0)
            )
        with control_dependencies([Assert(same, [text, shapes], summarize=100)]):
            result = op("Reshape", op("Identity", flat), sizes)
        result.set_shape(batched(self.spec, rows).shape)
        return result


class _Sparse(_Code):
    def encode(self, value):
        count = op("Shape", value.indices, out_type="int64")[0]
        return [value.indices, value.values, count, value.dense_shape]

    def shapes(self):
        rank = self.spec.shape.rank
        return [tensor_shape.as_shape(s) for s in ([None, rank], [None], [], [rank])]

    def decode(self, parts, rows):
        indices, values, counts, shapes = parts
        zero, one = constant(0, "int64"), constant(1, "int64")
        size = op("Shape", counts, out_type="int64")
        ids = BOTH["repeat"](op("Range", zero, size[0], one), counts)
        joined = concat([op("ExpandDims", ids, 1), _joined(indices, counts)], 1)
        dense_shape = concat([size, op("Max", shapes, [0])], 0)
        result = SparseTensor(joined, _joined(values, counts), dense_shape)
        result._static = _dims(batched(self.spec, rows).shape)
        return result


class _Ragged(_Code):
    """Ragged tensors, or dense tensors of different lengths (ragged_rank 0)."""

    def to_own(self, value):
        spec = self.spec
        if spec.ragged_rank <= 0 or isinstance(value, RaggedTensor):
            return value
        return RaggedTensor.from_tensor(
            value, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype
        )

    def encode(self, value):
        flat, lengths = value, []
        if self.spec.ragged_rank > 0:
            flat, lengths = value.flat_values, list(value.nested_row_lengths())
        counts = [op("Shape", t, out_type="int64")[0] for t in (flat, *lengths)]
        return [part for pair in zip((flat, *lengths), counts) for part in pair]

    def shapes(self):
        flat, *splits = self.spec._situ_tensors_
        dims = _dims(flat.shape)
        flat = [None, *dims[1:]] if dims else None
        return [tensor_shape.as_shape(s) for s in (flat, [], *([None], []) * len(splits))]

    def decode(self, parts, rows):
        spec = self.spec
        joined = [_joined(t, n) for t, n in zip(parts[::2], parts[1::2])]
        outer = parts[1] if len(parts) == 2 else parts[3]
        lengths = [cast(n, spec.row_splits_dtype) for n in (outer, *joined[1:])]
        made = RaggedTensor.from_nested_row_lengths(joined[0], lengths, validate=False)
        made._set_shape(batched(spec, rows).shape)
        return made


class _Fields(_Code):
    """Batchable extension types, of which each encoded component is batched."""

    def __init__(self, spec):
        super().__init__(spec)
        self._codes = [_code(part) for part in spec._situ_encoding_specs_()]

    def encode(self, value):
        parts = self.spec._situ_encode_(value)
        return [t for code, part in zip(self._codes, parts) for t in code.encode(part)]

    def shapes(self):
        return [shape for code in self._codes for shape in code.shapes()]

    def decode(self, parts, rows):
        made, parts = [], list(parts)
        for code in self._codes:
            count = len(code.shapes())
            made.append(code.decode(parts[:count], rows))
            parts = parts[count:]
        return batched(self.spec, rows)._situ_decode_(made)


class _None(_Code):
    """Components that are None, which have no tensors."""

    def encode(self, value):
        del value  # it has no tensors
        return []

    def shapes(self):
        return []

    def decode(self, parts, rows):
        del parts, rows  # there are none


def _joined(padded, counts):
    """Concatenates the first rows of each element of a batch."""
    width = op("Shape", padded, out_type="int64")[1]
    return BOTH["boolean_mask"](padded, BOTH["sequence_mask"](counts, width))


def _code(spec):
    if isinstance(spec, NoneSpec):
        return _None(spec)
    if isinstance(spec, RaggedTensorSpec):
        return _Ragged(spec) if spec.ragged_rank >= 0 and spec.shape.rank != 0 else _Code(spec)
    if isinstance(spec, SparseTensorSpec):
        return _Sparse(spec)
    if hasattr(spec, "_situ_encode_"):
        return _Fields(spec)
    if hasattr(spec, "_component_specs"):
        raise TypeError(f"Elements of type {spec} cannot be batched.")
    return _Code(spec) if spec.shape.is_fully_defined() else _Unknown(spec)


def batch(dataset, size, rows, flags, spec=None):
    """Returns batches of elements with composite components.

    Args:
      dataset: the dataset.
      size: the batch size, a tensor.
      rows: the number of elements of each batch, None if it is not known.
      flags: those of the batched dataset.
      spec: the specs of the components if dense ones become ragged; else those of the dataset.
    """
    spec = dataset.element_spec if spec is None else spec
    codes = [_code(s) for s in DATA.flatten(spec)]

    def encode(*element):
        element = element if type(dataset.element_spec) is tuple else element[0]
        values = zip(codes, DATA.flatten(element))
        return tuple(part for code, value in values for part in code.encode(code.to_own(value)))

    def decode(*parts):
        parts, made = list(parts), []
        for code in codes:
            n = len(code.shapes())
            made.append(code.decode(parts[:n], rows))
            parts = parts[n:]
        return DATA.pack(spec, made)

    encoded = dataset.map(encode)
    shapes = [s for code in codes for s in code.shapes()]
    parts = encoded.element_spec
    padding = padded_batch.values(None, parts)
    batches = encoded._then(
        "PaddedBatch",
        size,
        *padding,
        spec=tuple(
            TensorSpec(None if s.rank is None else [rows, *s.as_list()], p.dtype)
            for s, p in zip(shapes, parts)
        ),
        shapes=shapes,
        flags=flags,
    )
    result = batches.map(decode)
    result._spec = DATA.map(lambda s: batched(s, rows), spec)
    return result


# Slices


def _row_counts(values):
    counts = []
    for value in DATA.flatten(values):
        if isinstance(value, Nothing):
            continue
        if hasattr(value, "_situ_spec_"):
            counts += _row_counts(tuple(encoded(value)))
        elif isinstance(value, RaggedTensor):
            counts.append(value.nrows(out_type="int64"))
        elif isinstance(value, SparseTensor):
            counts.append(value.dense_shape[0])
        else:
            counts.append(op("Shape", value, out_type="int64")[0])
    return counts


def _encoded(values):
    """Returns the tensors of elements; of extension types those of their encoding."""
    found = []
    for value in DATA.flatten(values):
        if isinstance(value, Nothing):
            continue
        if not hasattr(value, "_situ_spec_"):
            found.append(value)
            continue
        found += _encoded(tuple(encoded(value)))
    return found


def slices(values):
    """Returns a dataset of the rows of tensors, some of which are sparse, ragged or None."""
    specs, tensors = [], _encoded(values)
    if not tensors:
        raise ValueError("Invalid `element`. `element` should not be empty.")
    for value in tensors:
        if value.shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        specs.append(value.shape.as_list()[0] if value.shape.rank else None)
    known = [n for n in dict.fromkeys(specs) if n is not None]
    if len(known) > 1:
        raise ValueError(f"Dimensions {known[0]} and {known[-1]} are not compatible")
    count = _row_counts(values)[0] if not known else constant(known[0], "int64")
    part = lambda value, i: None if isinstance(value, Nothing) else row(value, i)
    result = Dataset.range(count).map(lambda i: DATA.map(lambda v: part(v, i), values))

    result._spec = DATA.map(lambda v: unbatched(spec_of(v)), values)
    return result


def unbatch(dataset):
    """Splits elements with composite components along their first dimension."""
    spec = dataset.element_spec
    is_tuple = type(spec) is tuple
    result = dataset.flat_map(lambda *element: slices(element if is_tuple else element[0]))
    result._spec = DATA.map(unbatched, spec)
    return result


def windows(dataset, spec):
    """Converts windows with a dataset of each part to windows with one of each component."""
    dataset._spec = tuple(DatasetSpec(part) for part in PARTS.flatten(spec))

    def join(*parts):
        left = list(parts)

        def one(component):
            if not hasattr(component, "_situ_tensors_"):
                return left.pop(0)
            own = [left.pop(0) for _ in component._situ_tensors_]
            made = Dataset.zip(tuple(own)).map(lambda *t: component._situ_from_tensors_(list(t)))
            made._spec = component
            return made

        return DATA.map(one, spec)

    return dataset.map(join)
