# SPDX-License-Identifier: Apache-2.0
"""composite_map.py: tf.map_fn over the rows of sparse and ragged tensors, or with such results."""

from __future__ import annotations

from situ._src.framework import nest
from situ._src.framework.api import BOTH
from situ._src.framework.type_spec import SparseTensorSpec, TensorSpec, spec_of
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.functional_ops import loop
from situ._src.ops.ragged_tensor import RaggedTensor, to_ragged
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec
from situ._src.ops.sparse_ops import SparseTensor
from situ._src.ops.tensor_array_ops import TensorArray


def sparse_row(value, index):
    """Returns a row of a sparse tensor."""
    at = op("Reshape", op("Where", op("Equal", value.indices[:, 0], cast(index, "int64"))), [-1])
    made = SparseTensor(
        op("GatherV2", value.indices, at, 0)[:, 1:],
        op("GatherV2", value.values, at, 0),
        value.dense_shape[1:],
    )
    made._static = None if value.shape.rank is None else value.shape.as_list()[1:]
    return made


def row(value, index):
    """Returns a row of a tensor or composite tensor."""
    if isinstance(value, SparseTensor):
        return sparse_row(value, index)
    if hasattr(value, "_situ_spec_"):  # an extension type
        spec = value._situ_spec_
        parts = [row(part, index) for part in encoded(value)]
        return spec._unbatch()._situ_decode_(parts)
    return value[index]


def encoded(value):
    """Returns the tensors and composite tensors that encode a batch of extension types.

    Raises:
      TypeError: the type is not batchable.
    """
    spec = value._situ_spec_
    if not hasattr(spec, "_situ_encode_"):
        raise TypeError(f"Elements of type {spec} cannot be unbatched.")
    return spec._situ_encode_(value, 1)


def _count(value):
    """Returns the number of rows as an int32 tensor, and as an int or None."""
    if hasattr(value, "_situ_spec_"):
        return _count(encoded(value)[0])
    static = value.shape.as_list()[0] if value.shape.rank else None
    if static is not None:
        return convert_to_tensor(static, "int32"), static
    if isinstance(value, RaggedTensor):
        return value.nrows(out_type="int32"), None
    if isinstance(value, SparseTensor):
        return cast(value.dense_shape[0], "int32"), None
    return op("Shape", value)[0], None


def _row_spec(value):
    """The spec of a result that is like a row of an element."""
    spec = spec_of(value)
    if hasattr(spec, "_situ_encode_"):
        return spec._unbatch()
    shape = None if spec.shape.rank is None else spec.shape.as_list()[1:]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
    return type(spec)(shape, spec.dtype)


class _Dense:
    """Collects results that are dense tensors of one shape."""

    def __init__(self, spec):
        self.spec = spec

    def types(self):
        """Returns the type of each part of a result."""
        return [self.spec.dtype]

    def parts(self, value):
        """Returns the parts of a result."""
        return [value if hasattr(value, "dtype") else convert_to_tensor(value, self.spec.dtype)]

    def collect(self, arrays):
        """Returns the result of all rows from the arrays of its parts."""
        return arrays[0].stack()


class _Ragged(_Dense):
    """Collects ragged results, or dense ones of different sizes (ragged_rank 0)."""

    def types(self):
        spec = self.spec
        return [spec.dtype, "int64", *("int64", "int64") * max(spec.ragged_rank, 0)]

    def parts(self, value):
        value = to_ragged(value)
        flat, lengths = value, []
        if isinstance(value, RaggedTensor):
            flat, lengths = value.flat_values, list(value.nested_row_lengths())
        if flat.shape.rank == 0:
            raise ValueError(
                "tf.map_fn: fn returns a scalar for a row of a ragged tensor: pass its type as "
                "`fn_output_signature`."
            )
        if len(lengths) != self.spec.ragged_rank:
            raise ValueError(
                f"tf.map_fn: fn returns a tensor with {len(lengths)} ragged dimensions, but "
                f"fn_output_signature has {self.spec.ragged_rank}."
            )
        lengths = [cast(n, "int64") for n in lengths]
        counts = [op("Shape", t, out_type="int64")[0] for t in (flat, *lengths)]
        return [part for pair in zip((flat, *lengths), counts) for part in pair]

    def collect(self, arrays):
        flat, *inner = [a.concat() for a in arrays[::2]]
        outer = op("Reshape", arrays[1 if not inner else 3].stack(), [-1])
        lengths = [cast(n, self.spec.row_splits_dtype) for n in (outer, *inner)]
        return RaggedTensor.from_nested_row_lengths(flat, lengths, validate=False)


class _Sparse(_Dense):
    """Collects sparse results."""

    def types(self):
        return ["int64", self.spec.dtype, "int64", "int64"]

    def parts(self, value):
        count = op("Shape", value.indices, out_type="int64")[0]
        return [value.indices, value.values, count, value.dense_shape]

    def collect(self, arrays):
        indices, values = arrays[0].concat(), arrays[1].concat()
        counts, shapes = op("Reshape", arrays[2].stack(), [-1]), arrays[3].stack()
        zero, one = constant(0, "int64"), constant(1, "int64")
        size = op("Shape", counts, out_type="int64")
        ids = BOTH["repeat"](op("Range", zero, size[0], one), counts)
        indices = concat([op("ExpandDims", ids, 1), indices], 1)
        return SparseTensor(indices, values, concat([size, op("Max", shapes, [0])], 0))


class _Fields(_Dense):
    """Collects results that are batchable extension types."""

    def __init__(self, spec):
        super().__init__(spec)
        self._parts = [_collector(part) for part in spec._situ_encoding_specs_()]

    def types(self):
        return [kind for part in self._parts for kind in part.types()]

    def parts(self, value):
        values = self.spec._situ_encode_(value)
        return [p for part, one in zip(self._parts, values) for p in part.parts(one)]

    def collect(self, arrays):
        made = []
        for part in self._parts:
            count = len(part.types())
            made.append(part.collect(arrays[:count]))
            arrays = arrays[count:]
        return self.spec._batch(None)._situ_decode_(made)


def _collector(spec):
    if hasattr(spec, "_situ_encode_"):
        return _Fields(spec)
    if isinstance(spec, RaggedTensorSpec):
        return _Ragged(spec) if spec.ragged_rank >= 0 and spec.shape.rank != 0 else _Dense(spec)
    if isinstance(spec, SparseTensorSpec):
        return _Sparse(spec)
    return _Dense(spec if hasattr(spec, "dtype") else TensorSpec(None, spec))


def map_rows(fn, elems, signature, back_prop):
    """Implements tf.map_fn for elements or results that are composite tensors.

    Args:
      fn: a function of a row of each of `elems`.
      elems: a structure of tensors, some of which may be sparse or ragged.
      signature: the specs or types of the results; None for those of the rows.
      back_prop: whether the results have a gradient.
    """
    elems = nest.map_structure(
        lambda x: x if hasattr(x, "_situ_tensors_") else convert_to_tensor(x), elems
    )
    counts = [_count(x) for x in nest.flatten(elems)]
    count = next((c for c, static in counts if static is not None), counts[0][0])
    structure = nest.map_structure(_row_spec, elems) if signature is None else signature
    collectors = [_collector(s) for s in nest.flatten(structure)]

    def call(index):
        result = nest.flatten(fn(nest.map_structure(lambda x: row(x, index), elems)))
        if len(result) != len(collectors):
            raise ValueError(
                f"tf.map_fn: fn returns {len(result)} values, but dtype has {len(collectors)}."
            )
        return result

    if signature is None and all(hasattr(t, "numpy") for t in nest.flatten(elems, True)):
        results = [call(i) for i in range(int(count))]
        collectors = [_by_value(c, k, results) for k, c in enumerate(collectors)]
        call = lambda index: results[int(index)]
    done = _loop(call, collectors, count, back_prop)
    return nest.pack_sequence_as(structure, done)


def _loop(call, collectors, count, back_prop):
    """Runs a loop over all rows and returns the collected results."""
    arrays = [
        TensorArray(t, count, clear_after_read=False, infer_shape=type(c) is _Dense)
        for c in collectors
        for t in c.types()
    ]

    def body(index, *arrays):
        parts = [p for c, value in zip(collectors, call(index)) for p in c.parts(value)]
        return [array.write(index, part) for array, part in zip(arrays, parts)]

    done, made = list(loop(body, arrays, count, back_prop=back_prop)), []
    for collector in collectors:
        n = len(collector.types())
        made.append(collector.collect(done[:n]))
        done = done[n:]
    return made


def _by_value(collector, place, results):
    """Returns the collector of scalars if results are scalars, which eager results show."""
    first = results[0][place] if results else None
    if first is None or hasattr(first, "_situ_tensors_"):
        return collector
    first = convert_to_tensor(first)
    return collector if first.shape.rank else _Dense(TensorSpec([], first.dtype))
