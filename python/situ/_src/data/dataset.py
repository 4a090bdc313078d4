# SPDX-License-Identifier: Apache-2.0
"""dataset.py: tf.data.Dataset: descriptions of elements; the engine walks along them."""

import _situ
from situ._src.data import padded_batch, structure
from situ._src.data.padded_batch import batched
from situ._src.data.structure import DatasetSpec, Traced, flatten, map_leaves, pack, tensor
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.random_ops import get_seed

AUTOTUNE, INFINITE, UNKNOWN = -1, -1, -2
DROP_REMAINDER, UNORDERED, RESHUFFLE = 1, 2, 4


def _number(value, dtype="int64"):
    value = tensor(value, None if hasattr(value, "dtype") else dtype)
    return value


def _known(value):
    """The number that a param is, or None."""
    return int(value.numpy()) if isinstance(value, EagerTensor) and not value.shape.rank else None


def _row_of(spec):
    dims = None if spec.shape.rank is None else spec.shape.as_list()[1:]
    return TensorSpec(dims, spec.dtype)


class Dataset:
    """A pipeline of elements: `Dataset.range(10).map(f).batch(2)`."""

    def __init__(self, kind, inputs, params, spec, traced=None, inner=None, **options):
        self._kind, self._inputs, self._params = kind, tuple(inputs), tuple(params)
        self._spec, self._traced, self._inner, self._options = spec, traced, inner, options
        self._made = None
        values = self._params + tuple(traced.captured if traced else ())
        self._symbolic = any(i._symbolic for i in self._inputs) or any(
            isinstance(p, GraphTensor) or structure.is_variable(p) for p in values
        )
        self._root = None

    element_spec = property(lambda s: s._spec)

    def _build(self, arguments):
        """What the engine walks along; tensors of a graph and variables become arguments, in this
        list."""
        if self._made is not None:
            return self._made
        inputs = tuple(i._build(arguments) for i in self._inputs)
        options = dict(self._options)
        if self._inner is not None:
            inside = []
            options["inner"] = self._inner._build(inside)
            outputs = inside
        elif self._traced is not None:
            outputs = flatten(self._traced.result)
        params = self._params
        if self._traced is not None and outputs:
            options["transform"] = self._traced.native(outputs)
            params += tuple(self._traced.captured)
        given = []
        for value in params:
            if isinstance(value, GraphTensor) or structure.is_variable(value):
                arguments.append(value)
                given.append(len(arguments) - 1)
            else:
                given.append(value)
        made = _situ.Dataset(self._kind, inputs, tuple(given), **options)
        if not self._symbolic:
            self._made = made
        return made

    def _begun(self):
        """What an iterator walks along, and its arguments now."""
        if self._root is None:
            arguments = []
            self._root = self._build(arguments), arguments
        made, arguments = self._root
        return made, structure.values_now(arguments)

    def _then(self, kind, *params, spec=None, **options):
        return Dataset(kind, (self,), params, self._spec if spec is None else spec, **options)

    # Where elements come from

    @staticmethod
    def from_tensors(tensors, name=None):
        parts = map_leaves(tensor, tensors)
        return Dataset("Tensor", (), flatten(parts), map_leaves(structure.spec_of, parts))

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        if any(hasattr(t, "with_flat_values") for t in flatten(tensors)):
            from situ._src.data.readers import ragged_slices

            return ragged_slices(tensors)
        parts = map_leaves(tensor, tensors)
        flat = flatten(parts)
        for part in flat:
            if part.shape.rank == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        rows = {p.shape.as_list()[0] for p in flat if p.shape.rank} - {None}
        if len(rows) > 1:
            first, *_, last = [p.shape.as_list()[0] for p in flat]
            raise ValueError(f"Dimensions {first} and {last} are not compatible")
        return Dataset(
            "TensorSlice", (), flat, map_leaves(lambda p: _row_of(structure.spec_of(p)), parts)
        )

    @staticmethod
    def range(*args, output_type="int64", name=None):
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
            [_number(v) for v in (start, stop, step)],
            TensorSpec([], dtype),
            type=dtype,
        )

    @staticmethod
    def from_generator(
        generator,
        output_types=None,
        output_shapes=None,
        args=None,
        output_signature=None,
        name=None,
    ):
        from situ._src.data import readers

        return readers.from_generator(
            generator, output_types, output_shapes, args, output_signature
        )

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None):
        from situ._src.data import readers

        return readers.list_files(file_pattern, shuffle, seed)

    @staticmethod
    def zip(*args, datasets=None, name=None):
        datasets = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(datasets, list):
            raise TypeError(
                "Invalid input to `zip`. Inputs are expected to be (nested) structures "
                "of `tf.data.Dataset` objects. Python `list` is not supported and you "
                "should use `tuple` instead."
            )
        for one in flatten(datasets):
            if not isinstance(one, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) "
                    "structures of `tf.data.Dataset` objects but encountered object "
                    f"of type {type(one)}."
                )
        return Dataset(
            "Zip",
            flatten(datasets),
            (),
            pack(datasets, [d.element_spec for d in flatten(datasets)]),
        )

    def concatenate(self, dataset, name=None):
        mine, other = flatten(self._spec), flatten(dataset.element_spec)
        if [a.dtype for a in mine] != [b.dtype for b in other]:
            raise TypeError(
                f"Incompatible dataset elements:\n  {self._spec} vs.   {dataset.element_spec}"
            )
        joined = [
            TensorSpec(a.shape.most_specific_compatible_shape(b.shape), a.dtype)
            if isinstance(a, TensorSpec)
            else a
            for a, b in zip(mine, other)
        ]
        return Dataset("Concatenate", (self, dataset), (), pack(self._spec, joined))

    # Which elements, in which order

    def repeat(self, count=None, name=None):
        return self._then("Repeat", _number(-1 if count is None else count))

    def take(self, count, name=None):
        return self._then("Take", _number(count))

    def skip(self, count, name=None):
        return self._then("Skip", _number(count))

    def shard(self, num_shards, index, name=None):
        shards, which = _number(num_shards), _number(index)
        if _known(shards) is not None and _known(shards) < 1:
            raise ValueError("num_shards must be >= 1; got " + str(_known(shards)))
        if None not in (_known(shards), _known(which)) and not 0 <= _known(which) < _known(shards):
            raise ValueError(f"index must be <= num_shards and >= 0; got {_known(which)}")
        return self._then("Shard", shards, which)

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None, name=None):
        one, two = get_seed(seed)
        flags = 0 if reshuffle_each_iteration is False else RESHUFFLE
        return self._then(
            "Shuffle", _number(buffer_size), _number(one or 0), _number(two or 0), flags=flags
        )

    def cache(self, filename="", name=None):
        if hasattr(filename, "__fspath__"):
            filename = str(filename)
        if isinstance(filename, (str, bytes)) and not filename:
            return self._then("Cache")
        return self._then("CacheFile", tensor(filename, "string"))

    def prefetch(self, buffer_size=AUTOTUNE, name=None):
        return self._then("Prefetch", _number(AUTOTUNE if buffer_size is None else buffer_size))

    def filter(self, predicate, name=None):
        return self._chosen("Filter", predicate)

    def take_while(self, predicate, name=None):
        return self._chosen("TakeWhile", predicate)

    def _chosen(self, kind, predicate):
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
                f"{map_leaves(structure.spec_of, result)}."
            )
        return self._then(kind, traced=traced)

    def enumerate(self, start=0, name=None):
        return Dataset.zip((Dataset.range(start, 2**63 - 1), self))

    # Elements together and apart

    def batch(
        self,
        batch_size,
        drop_remainder=False,
        num_parallel_calls=None,
        deterministic=None,
        name=None,
    ):
        size = _number(batch_size)
        rows = _known(size) if drop_remainder is True else None
        spec = map_leaves(lambda s: batched(s, rows), self._spec)
        return self._then("Batch", size, spec=spec, flags=DROP_REMAINDER if drop_remainder else 0)

    def padded_batch(
        self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None
    ):
        size, specs = _number(batch_size), flatten(self._spec)
        rows = _known(size) if drop_remainder is True else None
        shapes, late = padded_batch.shapes(padded_shapes, self._spec)
        values = padded_batch.values(padding_values, specs) + (late or [])
        spec = pack(
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

    def unbatch(self, name=None):
        shapes = [s.shape for s in flatten(self._spec)]
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
        return self._then(
            "Unbatch", spec=map_leaves(_row_of, self._spec), block=rows[0] if rows else 0
        )

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
        spec = map_leaves(DatasetSpec, self._spec)
        return self._then(
            "Window",
            _number(size),
            _number(size if shift is None else shift),
            _number(stride),
            spec=spec,
            flags=DROP_REMAINDER if drop_remainder else 0,
        )

    # Functions of elements

    def map(
        self,
        map_func,
        num_parallel_calls=None,
        deterministic=None,
        name=None,
        num_threads=None,
        output_buffer_size=None,
    ):  # the last two: of tf.contrib.data
        num_parallel_calls = num_parallel_calls or num_threads
        traced = Traced(map_func, self._spec)
        spec = map_leaves(structure.spec_of, traced.result)
        traced.give_tensors(_bound)
        return self._then(
            "Map",
            spec=spec,
            traced=traced,
            parallel=_parallel(num_parallel_calls),
            flags=UNORDERED if deterministic is False else 0,
        )

    def flat_map(self, map_func, name=None):
        return self._nested("FlatMap", map_func)

    def interleave(
        self,
        map_func,
        cycle_length=None,
        block_length=None,
        num_parallel_calls=None,
        deterministic=None,
        name=None,
    ):
        cycle, block = [
            default if given is None else _parallel(given)
            for given, default in ((cycle_length, AUTOTUNE), (block_length, 1))
        ]
        return self._nested(
            "Interleave", map_func, cycle=cycle, block=block, parallel=_parallel(num_parallel_calls)
        )

    def _nested(self, kind, map_func, **options):
        traced = Traced(map_func, self._spec)
        inner = traced.result
        if not isinstance(inner, Dataset):
            raise TypeError(
                f"The `map_func` argument must return a `Dataset` object. Got {type(inner)!r}."
            )
        return self._then(kind, spec=inner.element_spec, traced=traced, inner=inner, **options)

    def apply(self, transformation_func):
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(result)}."
            )
        return result

    def with_options(self, options, name=None):
        made = self._then("Take", _number(-1))
        made._user_options = options
        return made

    def options(self):
        from situ._src.data.experimental import Options

        merged = Options()
        for one in self._inputs:
            merged.take(one.options())
        return merged.take(getattr(self, "_user_options", None) or Options())

    # Iterating

    def _structure(self):
        return pack(
            self._spec,
            [
                s.at(i) if isinstance(s, DatasetSpec) else i
                for i, s in enumerate(flatten(self._spec))
            ],
        )

    def __iter__(self):
        from situ._src.data import iterators

        graph = _situ.current_graph()
        if graph is not None and graph.building_function:
            return iterators.in_function(self)
        if not _situ.executing_eagerly():
            raise RuntimeError(
                "`tf.data.Dataset` only supports Python-style iteration in eager "
                "mode or within tf.function."
            )
        return iterators.OwnedIterator.over(self)

    def as_numpy_iterator(self):
        if not _situ.executing_eagerly():
            raise RuntimeError(
                "`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode."
            )
        return (
            map_leaves(lambda t: t if isinstance(t, Dataset) else t.numpy(), element)
            for element in self
        )

    def get_single_element(self, name=None):
        from situ._src.data import iterators

        return iterators.single_element(self, name)

    def cardinality(self, name=None):
        if self._kind == "Handle" and _situ.current_graph() is not None:
            return op("DatasetSize", self._params[0])
        made = self._build([])
        return convert_to_tensor(made.cardinality(), "int64")

    def __len__(self):
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

    # As version 1 has it

    output_types = property(lambda s: map_leaves(lambda x: x.dtype, s._spec))
    output_shapes = property(lambda s: map_leaves(lambda x: x.shape, s._spec))
    output_classes = property(lambda s: map_leaves(lambda x: GraphTensor.__base__, s._spec))

    def make_one_shot_iterator(self):
        from situ._src.data import iterators

        return iterators.make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name=None):
        from situ._src.data import iterators

        return iterators.make_initializable_iterator(self, shared_name)


def _parallel(value):
    if value is None:
        return 0
    return int(value.numpy()) if hasattr(value, "numpy") else int(value)


def _bound(dataset):
    """A data set of a function of elements, as a tensor."""
    handle, arguments = handle_in_graph(dataset)
    return op("DatasetBind", handle, arguments, Targuments=[a.dtype.base_dtype for a in arguments])


def from_handle(handle, spec):
    return Dataset("Handle", (), [handle], spec, n_components=len(flatten(spec)))


def handle_in_graph(dataset):
    """A data set as a node, and the tensors of the graph that it needs."""
    arguments = []
    made = dataset._build(arguments)
    arguments = [convert_to_tensor(a) for a in arguments]
    return op("DatasetConstant", value=made.handle()), arguments


export("data.Dataset")(Dataset)
