# SPDX-License-Identifier: Apache-2.0
"""loops.py: the functions that AutoGraph-converted code calls for while and for."""

from __future__ import annotations

import _situ
from situ._src.autograph.builtins import Range, Undefined, is_tensor, value_of
from situ._src.autograph.jumps import VALUE
from situ._src.autograph.operators import and_, carried, not_
from situ._src.framework import branch_graph, nest, tensor_shape
from situ._src.framework.api import OPS
from situ._src.ops.array_ops import convert_to_tensor, zeros
from situ._src.ops.tensor_array_ops import TensorArray
from situ._src.ops.while_loop import while_loop


class _Returned(Exception):
    """Raised while a loop body is traced to find the value that it returns."""

    def __init__(self, value):
        super().__init__()
        self.value = value


_tracing: list = []
_looking: list = []
_states: list = []


def result(value):
    """Converts a value returned from a loop to tensors if the loop is in a graph."""
    if _tracing:
        value = nest.map_structure(
            lambda x: x if x is None else convert_to_tensor(x), value, expand_composites=True
        )
    if _looking:
        raise _Returned(value)
    return value


def _blank(like):
    """Zeros in place of a return value that is not set yet."""
    sizes = like.shape.as_list() if like.shape.ndims is not None else []
    return zeros([n or 0 for n in sizes], like.dtype.base_dtype)


class _State:
    """The variables of a loop. `late` are those that code after the loop reads: they are loop
    variables even if they have no value before the loop."""

    limit = None  # maximum_iterations
    has_limit = True  # False: a loop over a dataset, of which TensorFlow takes all elements

    def __init__(self, get, put, names, late):
        self._get, self._put, self._names, self._late = get, put, names, late
        self._start, self._found, self._given = get(), {}, {}
        self._collect()

    def _collect(self):
        self.first = [leaf for leaf in self._leaves(self._start) if carried(leaf)]

    def name_of(self, index):
        """Returns the name in the program of a loop variable, or None."""
        names = [
            name
            for name, value in zip(self._names, self._start)
            for leaf in self._leaves((value,))
            if carried(leaf)
        ]
        return names[index] if 0 <= index < len(names) and names[index].isidentifier() else None

    def _missing(self, name):
        place = self._names.index(name) if name in self._names else None
        return place if place is not None and isinstance(self._start[place], Undefined) else None

    def expect(self, body):
        """Traces the body to find the type of a value that it returns, and of variables without
        a value before the loop, and makes them loop variables."""
        place = self._missing(VALUE)
        if place is not None and not _looking:
            self._look({}, body, place)
        late = {n: self._missing(n) for n in self._late if self._missing(n) is not None}
        if late:
            self._look(late, body, None)
        self._collect()

    def _look(self, late, body, place):
        """Traces the body only to find what it assigns or returns."""
        found = {}

        def trace(graph):
            body()
            values = self._get()
            for at in late.values():
                leaves = nest.flatten(values[at], True)
                if leaves and all(carried(leaf) for leaf in leaves):
                    found[at] = nest.map_structure(branch_graph.tensor_of, values[at])

        _tracing.append(None)
        _states.append(None)  # options are set when the loop is built
        if place is not None:
            _looking.append(None)
        try:
            self.set([branch_graph.tensor_of(leaf) for leaf in self.first])
            branch_graph.trace(_situ.current_graph(), trace)
        except _Returned as returned:
            found[place] = returned.value
        finally:
            if place is not None:
                _looking.pop()
            _states.pop()
            _tracing.pop()
            self._put(self._start)
        for at, value in found.items():  # the initial value is zeros of the final shape
            self._found[at] = [x for x in nest.flatten(value) if x is not None]
            blank = nest.map_structure(lambda x: x if x is None else _blank(x), value)
            self._start = tuple(blank if i == at else v for i, v in enumerate(self._start))

    def shapes(self):
        """Returns the shape invariants of the loop variables."""
        made = []
        for place, value in enumerate(self._start):
            made += self._found.get(place) or [
                branch_graph.tensor_of(x) for x in nest.flatten(value, True) if carried(x)
            ]
        relaxed = [] if self._found else self._composite_shapes()
        shapes = [relaxed[i] if i < len(relaxed) else x.shape for i, x in enumerate(made)]
        return [self._given.get(i, shape) for i, shape in enumerate(shapes)]

    def _composite_shapes(self):
        """Returns the shape of each variable, relaxed for the parts of composite tensors."""
        shapes = []
        for value in self._start:
            for leaf in nest.flatten(value):
                if hasattr(type(leaf), "_situ_tensors_"):
                    parts = zip(leaf._situ_tensors_, branch_graph.shapes_of(leaf))
                    shapes += [shape for part, shape in parts if carried(part)]
                elif carried(leaf):
                    shapes.append(branch_graph.tensor_of(leaf).shape)
        return shapes

    def allow(self, tensor, shape):
        """Sets a shape invariant of the program; returns whether it is new."""
        for i, value in enumerate(self._now):
            if value is tensor and i not in self._given:
                self._given[i] = tensor_shape.as_shape(shape)
                return True
        return False

    def allow_iterations(self, limit):
        """Sets the largest number of iterations; returns whether it is new."""
        if limit is None or not self.has_limit or self.limit is not None:
            return False
        self.limit = limit
        return True

    @staticmethod
    def _leaves(values):
        return [leaf for value in values for leaf in nest.flatten(value, True)]

    def set(self, round_):
        self._now = list(round_)
        given, values = iter(self._now), []
        for value in self._start:
            values.append(
                nest.pack_sequence_as(
                    value,
                    [next(given) if carried(x) else x for x in nest.flatten(value, True)],
                    True,
                )
            )
        self._put(tuple(values))

    def read(self):
        made = []
        for old, new, name in zip(self._start, self._get(), self._names):
            before, after = nest.flatten(old, True), nest.flatten(new, True)
            if any(carried(leaf) for leaf in before) and len(before) != len(after):
                raise ValueError(f"'{name}' changes its structure in a loop over tensors.")
            made += [value_of(a) for b, a in zip(before, after) if carried(b)]
        return made


def _loop(test, body, state, more):
    """Builds a while_loop over the variables `more` and those of the state."""
    try:
        _loop_once(test, body, state, more)
    except _Again:
        _loop(test, body, state, more)


class _Again(Exception):
    """Raised when the body sets loop options: the loop is built again."""


def set_options(shapes, limit):
    """Sets options of the innermost loop: the shapes that values may take, as pairs of a tensor and
    a shape, and the largest number of iterations."""
    state = _states[-1] if _states else None
    if state is None:
        return
    new = [state.allow(value_of(t), s) for t, s in shapes]
    if any([*new, state.allow_iterations(_outside(limit))]):
        raise _Again()


def _outside(limit):
    """Returns the number of iterations as a value that a loop can read before its body runs."""
    limit = value_of(limit)
    if not is_tensor(limit) or limit.graph is not _situ.current_graph():
        return limit
    if limit.op.type != "Const":
        raise NotImplementedError(
            f"set_loop_options: maximum_iterations={limit!r}, a tensor that the body of the loop "
            "computes, is not supported yet: compute it before the loop."
        )
    return int(limit.graph._known(limit))


def _loop_once(test, body, state, more):
    n = len(more)
    state.expect(lambda: body(*more))

    def next_test(*args):
        state.set(args[n:])
        return test(*args[:n])

    def next_body(*args):
        state.set(args[n:])
        _tracing.append(None)
        _states.append(state)
        try:
            return [*body(*args[:n]), *state.read()]
        finally:
            _states.pop()
            _tracing.pop()

    start = [value_of(x) for x in state.first]
    try:
        done = while_loop(
            next_test,
            next_body,
            [*more, *start],
            maximum_iterations=state.limit,
            return_same_structure=True,
            shape_invariants=[*[x.shape for x in more], *state.shapes()],
        )
    except (ValueError, TypeError) as error:
        changed = getattr(error, "loop_variable", None)
        name = state.name_of(changed[0] - n) if changed else None
        if name is None:
            raise
        raise _named_error(changed, name) from None
    state.set(list(done)[n:])


def _named_error(changed, name):
    """Returns the error of a loop that changes the type or shape of a variable of the program."""
    _, before, after = changed
    if before.dtype.base_dtype != after.dtype.base_dtype:
        return TypeError(
            f"'{name}' has dtype {before.dtype.name} before the loop, but dtype "
            f"{after.dtype.name} after one iteration"
        )
    error = ValueError(
        f"'{name}' has shape {before.shape} before the loop, but shape {after.shape} after one "
        "iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants."
    )
    error.loop_variable = changed  # type: ignore[attr-defined]
    return error


def while_stmt(test, body, get, put, names, late):
    truth = value_of(test())
    while not is_tensor(truth):
        if not truth:
            return
        body()
        truth = value_of(test())
    state = _State(get, put, names, late)

    def go():
        body()
        return []

    if not state.first:
        raise ValueError(f"A loop over tensors sets no tensors: {names}")
    _loop(test, go, state, [])


def for_stmt(items, stop, body, get, put, names, late):
    items = value_of(items)
    if isinstance(items, Range):
        _for_range(items, stop, body, _State(get, put, names, late))
    elif is_tensor(items):
        _for_rows(items, stop, body, _State(get, put, names, late))
    elif hasattr(items, "element_spec") and _situ.current_graph() is not None:
        _for_dataset(items, stop, body, _State(get, put, names, late))
    else:
        for item in items:
            body(item)
            if stop is not None and _stopped(stop):
                break


def _stopped(stop):
    flag = value_of(stop())
    if is_tensor(flag):
        raise NotImplementedError(
            "A tensor decides about a break of a loop that Python does: loop over tf.range(n)."
        )
    return flag


def _going(test, stop):
    return test if stop is None else and_(lambda: not_(stop()), lambda: test)


def _for_range(items, stop, body, state):
    def test(i):
        up = OPS["Less"](i, items.limit)
        down = OPS["LogicalAnd"](
            OPS["Less"](items.delta, convert_to_tensor(0, items.delta.dtype)),
            OPS["Greater"](i, items.limit),
        )
        known = items.delta.op.type == "Const"
        return _going(
            up
            if known and int(items.delta.graph._known(items.delta)) > 0
            else OPS["LogicalOr"](
                OPS["LogicalAnd"](
                    up, OPS["Greater"](items.delta, convert_to_tensor(0, items.delta.dtype))
                ),
                down,
            ),
            stop,
        )

    def go(i):
        body(i)
        return [i + items.delta]

    _loop(test, go, state, [items.start])


def _for_rows(items, stop, body, state):
    size = items.shape.as_list()[0] if items.shape.ndims else None
    if items.shape.ndims == 0:
        raise TypeError("iteration over a 0-d tensor")
    count = OPS["Shape"](items)[0] if size is None else convert_to_tensor(size, "int32")
    rows = TensorArray(items.dtype, count, clear_after_read=False).unstack(items)

    def go(i):
        body(rows.read(i))
        return [i + 1]

    _loop(lambda i: _going(OPS["Less"](i, count), stop), go, state, [convert_to_tensor(0, "int32")])


class _Spread:
    """The elements of a distributed dataset, which Python code reads."""

    def __init__(self, items):
        self._items, self._specs = items, nest.flatten(items.element_spec, True)
        self._iterator = self._last = None

    def start(self):
        import numpy

        self._iterator = iter(self._items)
        sizes = lambda shape: [] if shape.ndims is None else [d or 0 for d in shape.as_list()]
        self._last = [numpy.zeros(sizes(s.shape), s.dtype.as_numpy_dtype) for s in self._specs]
        return self.following()

    def following(self):
        """Returns whether there is another element, and it; at the end the last element again."""
        import numpy

        before = _situ.swap_graph(None)
        try:
            element = next(self._iterator, None)
        finally:
            _situ.swap_graph(before)
        if element is None:
            return [numpy.bool_(False), *self._last]
        self._last = [x.numpy() for x in nest.flatten(element, True)]
        return [numpy.bool_(True), *self._last]

    def ask(self, function):
        from situ._src.ops.script_ops import py_func

        found = list(py_func(function, [], ["bool", *[s.dtype for s in self._specs]]))
        found[0].set_shape([])
        for tensor, spec in zip(found[1:], self._specs):
            tensor.set_shape(spec.shape)
        return found

    def first(self):
        return self.ask(self.start)

    def after(self, *_):
        return self.ask(self.following)

    def element(self, parts):
        return nest.pack_sequence_as(self._items.element_spec, list(parts), True)


def _for_dataset(items, stop, body, state):
    from situ._src.data.dataset import Dataset
    from situ._src.data.iterators import Elements, Iterator, OwnedIterator

    plain = isinstance(items, (Dataset, Iterator, OwnedIterator))
    state.has_limit = not isinstance(items, Dataset)
    elements = Elements(items) if plain else _Spread(items)

    def go(more, *parts):
        body(elements.element(parts))
        return elements.after(_going(convert_to_tensor(True), stop), *parts)

    begin = lambda: _loop(lambda more, *_: _going(more, stop), go, state, elements.first())
    try:
        begin()
    except ValueError as error:
        if not hasattr(error, "loop_variable"):
            raise
        state.shapes = lambda: [tensor_shape.as_shape(None)] * len(state.first)
        begin()  # elements of unknown shapes may change shapes
