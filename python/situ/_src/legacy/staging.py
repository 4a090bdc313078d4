# SPDX-License-Identifier: Apache-2.0
"""staging.py: tf.contrib.staging: StagingArea and MapStagingArea, buffers of tensors between the
steps of a graph."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.scopes import colocate_with
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import convert_to_tensor, identity, op


def _per_component(values, dtypes, what):
    if values is not None and len(values) != len(dtypes):
        raise ValueError(f"StagingArea {what} must be the same length as dtypes")
    return values


class _BaseStagingArea:
    """What StagingArea and MapStagingArea have in common."""

    def __init__(self, dtypes, shapes, names, shared_name, capacity, memory_limit):
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name}")
        graph = get_default_graph()
        self._name = shared_name or graph.unique_name(type(self).__name__)
        self._dtypes = [as_dtype(t).base_dtype for t in dtypes]
        _per_component(shapes, dtypes, "shapes")
        self._shapes = [TensorShape(s) for s in shapes or [None] * len(self._dtypes)]
        self._names = _per_component(names, dtypes, "names")
        self._capacity, self._memory_limit = capacity, memory_limit
        with graph.name_scope(f"{self._name}_root"):
            self._root = op("NoOp")

    name = property(lambda s: s._name, doc="The name that the ops of the area share.")
    dtypes = property(lambda s: s._dtypes, doc="The types of the components.")
    shapes = property(lambda s: s._shapes, doc="The shapes of the components.")
    names = property(lambda s: s._names, doc="The names of the components, or None.")
    capacity = property(lambda s: s._capacity, doc="The largest number of elements; 0: any.")
    memory_limit = property(lambda s: s._memory_limit, doc="The largest number of bytes; 0: any.")

    def _attrs(self, name):
        return {
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
            "name": name,
        }

    def _components(self, values, indices):
        """Returns the tensors to put, checked against dtypes and shapes, and their indices."""
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. "
                    f"Dictionary: {sorted(values)}Queue: {sorted(self._names)}"
                )
            indices = [i for i, name in enumerate(self._names) if name in values]
            values = [values[self._names[i]] for i in indices]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        elif indices is None:
            raise ValueError("Indices must be supplied when inserting a list of tensors")
        elif len(indices) != len(values):
            raise ValueError(
                f"Number of indices {len(indices)} doesn't match number of values {len(values)}"
            )
        if len(values) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(values)} vs {len(self._dtypes)}")
        return [self._component(v, i) for v, i in zip(values, indices)], list(indices)

    def _component(self, value, index):
        value = convert_to_tensor(value)
        if value.dtype.base_dtype != self._dtypes[index]:
            raise ValueError(
                f"Datatypes do not match. Received val.dtype {value.dtype} and "
                f"dtype {self._dtypes[index]}"
            )
        value.shape.assert_is_compatible_with(self._shapes[index])
        return value

    def _run(self, kind, *inputs, name, dtypes=None):
        """Adds an op on the device of the area. Returns its outputs as a list."""
        with colocate_with(self._root):
            result = op(kind, *inputs, dtypes=dtypes or self._dtypes, **self._attrs(name))
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def _state_op(self, kind, name):
        return op(kind, dtypes=self._dtypes, **self._attrs(name))

    def _here(self, tensors):
        """Copies tensors to the device of the scope if the area is on another one."""
        if self._root is None or op("NoOp").device == self._root.device:
            return tensors
        return [identity(t) for t in tensors]

    def _values(self, tensors, indices):
        tensors = self._here(tensors)
        for tensor, i in zip(tensors, indices):
            tensor.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: tensor for tensor, i in zip(tensors, indices)}
        return tensors


@export("python.ops.data_flow_ops.StagingArea", v1="contrib.staging.StagingArea")
class StagingArea(_BaseStagingArea):
    """A buffer of tuples of tensors between steps, first in, first out, on the device of the scope.

    Args:
      dtypes: the types of the components.
      shapes: the shapes of the components; None: any.
      names: the names of the components, which make the values dictionaries.
      shared_name: the name under which areas share their values.
      capacity: the largest number of elements; 0: any.
      memory_limit: the largest number of bytes of all tensors; 0: any.

    Raises:
      ValueError: `shapes` or `names` do not fit `dtypes`, or `shared_name` is not a string.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)

    def put(self, values: Any, name: str | None = None) -> Any:
        """Adds an element; waits for room.

        Args:
          values: a tensor, a list of tensors, or a dictionary if the components have names.
          name: a name for the operation.

        Returns:
          The operation.

        Raises:
          ValueError: the values do not fit the types, shapes or names of the area.
        """
        values = values if isinstance(values, (list, tuple, dict)) else [values]
        with scope(name, f"{self._name}_put") as full:
            tensors, _ = self._components(values, list(range(len(values))))
            with colocate_with(self._root):
                return op("Stage", tensors, **self._attrs(full))

    def get(self, name: str | None = None) -> Any:
        """Removes and returns the oldest element; waits for one.

        Args:
          name: a name for the operation.

        Returns:
          A list of tensors, or a dictionary if the components have names.
        """
        tensors = self._run("Unstage", name=name or f"{self._name}_get")
        return self._values(tensors, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Returns the element at an index, from the oldest on; waits for it.

        Args:
          index: an int32 scalar.
          name: a name for the operation.

        Returns:
          A list of tensors, or a dictionary if the components have names.
        """
        tensors = self._run("StagePeek", index, name=name or f"{self._name}_peek")
        return self._values(tensors, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Any:
        """Returns the number of elements.

        Args:
          name: a name for the operation.
        """
        return self._state_op("StageSize", name or f"{self._name}_size")

    def clear(self, name: str | None = None) -> Any:
        """Returns an operation that removes all elements.

        Args:
          name: a name for the operation.
        """
        return self._state_op("StageClear", name or f"{self._name}_clear")


@export("python.ops.data_flow_ops.MapStagingArea", v1="contrib.staging.MapStagingArea")
class MapStagingArea(_BaseStagingArea):
    """A buffer of tuples of tensors between steps that are found by an int64 key.

    Args:
      dtypes: the types of the components.
      shapes: the shapes of the components; None: any.
      names: the names of the components, which make the values dictionaries.
      shared_name: the name under which areas share their values.
      ordered: whether `get` without a key takes the smallest key first.
      capacity: the largest number of complete elements; 0: any.
      memory_limit: the largest number of bytes of all tensors; 0: any.

    Raises:
      ValueError: `shapes` or `names` do not fit `dtypes`, or `shared_name` is not a string.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._kind = "OrderedMap" if ordered else "Map"

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Any:
        """Adds the components of a key, or some of them; waits for room.

        Args:
          key: an int64 scalar.
          vals: a list of tensors, or a dictionary if the components have names.
          indices: the indices of the components in a list, in ascending order.
          name: a name for the operation.

        Returns:
          The operation.

        Raises:
          ValueError: the values do not fit the types, shapes or names of the area.
        """
        with scope(name, f"{self._name}_put") as full:
            tensors, indices = self._components(vals, indices)
            with colocate_with(self._root):
                return op(
                    f"{self._kind}Stage",
                    as_int64(key),
                    indices,
                    tensors,
                    dtypes=self._dtypes,
                    **self._attrs(full),
                )

    def _chosen(self, indices):
        """Returns the indices and types of components, which may be given by name."""
        if indices is None:
            indices = list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            if self._names is None:
                raise ValueError(
                    f"String indices provided {indices}, but this Staging Area was not created "
                    "with names."
                )
            if not set(indices) <= set(self._names):
                raise ValueError(f"Named index not in Staging Area names {self._names}")
            indices = [list(self._names).index(n) for n in indices]
        elif not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        return indices, [self._dtypes[i] for i in indices]

    def _take(self, kind, inputs, indices, name):
        indices, dtypes = self._chosen(indices)
        tensors = self._run(self._kind + kind, *inputs, indices, name=name, dtypes=dtypes)
        return tensors, indices

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """Returns components of a key; waits until the element is complete.

        Args:
          key: an int64 scalar.
          indices: the indices or names of the components; None: all.
          name: a name for the operation.

        Returns:
          A list of tensors, or a dictionary if the components have names.
        """
        name = name or f"{self._name}_pop"
        tensors, indices = self._take("Peek", [as_int64(key)], indices, name)
        return self._values(tensors, indices)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> Any:
        """Removes and returns components of a key; waits until the element is complete.

        Args:
          key: an int64 scalar; None: of any element.
          indices: the indices or names of the components; None: all.
          name: a name for the operation.

        Returns:
          The key, and a list of tensors, or a dictionary if the components have names.
        """
        if key is not None:
            name = name or f"{self._name}_get"
            tensors, indices = self._take("Unstage", [as_int64(key)], indices, name)
            return key, self._values(tensors, indices)
        name = name or f"{self._name}_get_nokey"
        (found, *tensors), indices = self._take("UnstageNoKey", [], indices, name)
        return self._here([found])[0], self._values(tensors, indices)

    def size(self, name: str | None = None) -> Any:
        """Returns the number of complete elements.

        Args:
          name: a name for the operation.
        """
        return self._state_op(f"{self._kind}Size", name or f"{self._name}_size")

    def incomplete_size(self, name: str | None = None) -> Any:
        """Returns the number of incomplete elements.

        Args:
          name: a name for the operation.
        """
        name = name or f"{self._name}_incomplete_size"
        return self._state_op(f"{self._kind}IncompleteSize", name)

    def clear(self, name: str | None = None) -> Any:
        """Returns an operation that removes all elements.

        Args:
          name: a name for the operation.
        """
        return self._state_op(f"{self._kind}Clear", name or f"{self._name}_clear")


def as_int64(key):
    """Returns a key as a tensor."""
    return convert_to_tensor(key, "int64")
