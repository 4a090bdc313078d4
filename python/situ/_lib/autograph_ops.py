# SPDX-License-Identifier: Apache-2.0
"""autograph_ops.py: what converted functions call: statements over tensors, or over all else."""
import types

import _situ
from situ._lib import branches, nest
from situ._lib.api import OPS, export
from situ._lib.array_ops import convert_to_tensor, zeros
from situ._lib.autograph_jumps import VALUE
from situ._lib.control_flow import cond
from situ._lib.tensor_array import TensorArray
from situ._lib.tensors import GraphTensor
from situ._lib.while_loop import while_loop

_converter = []


def set_converter(function):
    _converter.append(function)


class Undefined:
    """A name that was not set on every way that leads here."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def _fail(self, *args, **words):
        raise UnboundLocalError(f"'{self._name}' is used undefined: it must be set before the "
                                "if, while or for over tensors, or on all its ways.")

    __getattr__ = __call__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = \
        __getitem__ = __iter__ = __bool__ = __len__ = __lt__ = __gt__ = __truediv__ = _fail


def _is_tensor(value):
    return isinstance(value, GraphTensor)


def _value(thing):
    behind = getattr(thing, "_situ_tensor_", None) if not isinstance(thing, Undefined) else None
    return behind() if behind is not None else thing


def converted(function):
    """A function that is called: its own control flow is converted, too."""
    if function is range:
        return range_
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return _converter[0](function)
    call = getattr(type(function), "__call__", None)
    if not isinstance(function, type) and isinstance(call, types.FunctionType):
        made = _converter[0](call)
        return function if made is call else types.MethodType(made, function)
    return function


class _Range:
    def __init__(self, *args):
        args = [convert_to_tensor(a) for a in args]
        self.start = args[0] if len(args) > 1 else convert_to_tensor(0, args[0].dtype)
        self.limit = args[1] if len(args) > 1 else args[0]
        self.delta = args[2] if len(args) > 2 else convert_to_tensor(1, self.limit.dtype)


def range_(*args):
    args = [_value(a) for a in args]
    return _Range(*args) if any(_is_tensor(a) for a in args) else \
        range(*[int(a) for a in args])


# Values of names


def _is_number(value):
    return isinstance(value, (bool, int, float)) or type(value).__module__ == "numpy"


def _carried(leaf):
    if isinstance(leaf, Undefined):
        return False
    return _is_tensor(leaf) or _is_number(leaf) or hasattr(leaf, "_flow") or \
        isinstance(leaf, _situ.EagerTensor)


def _merge(one, other, made, name):
    """A name behind an if: what the operations made of its parts, or what both ways left alone."""
    if isinstance(one, Undefined) or isinstance(other, Undefined):
        return Undefined(name)
    flat = [next(made) if _carried(a) or _carried(b) else a if a is b else Undefined(name)
            for a, b in zip(nest.flatten(one), nest.flatten(other))]
    return nest.pack_sequence_as(one, flat)


def if_stmt(test, body, orelse, get, put, names):
    test = _value(test)
    if not _is_tensor(test):
        body() if test else orelse()
        return
    start, ends = get(), []

    def way(function):
        def call():
            put(start)
            function()
            ends.append(get())
            return [leaf if _carried(leaf) else None for value in ends[-1]
                    for leaf in nest.flatten(value)]
        return call
    _check_ways(names)
    made = iter([v for v in _aligned(test, way(body), way(orelse), ends) if v is not None])
    put(tuple(_merge(a, b, made, n) for a, b, n in zip(*ends, names)))


def _check_ways(names):
    if _situ.current_graph() is None:
        raise RuntimeError(f"A tensor of a graph decides about {names} outside of it.")


def _aligned(test, yes, no, ends):
    """cond, where a part that only one way gives is left out."""
    from situ._lib import control_flow
    return control_flow.choose_aligned(test, yes, no)


def if_return(test, body, orelse):
    test = _value(test)
    if not _is_tensor(test):
        return body() if test else orelse()
    return cond(test, body, orelse, strict=True)


def if_exp(test, body, orelse):
    return if_return(test, body, orelse)


def and_(first, second):
    value = _value(first())
    return OPS["LogicalAnd"](value, convert_to_tensor(second())) if _is_tensor(value) else \
        value and second()


def or_(first, second):
    value = _value(first())
    return OPS["LogicalOr"](value, convert_to_tensor(second())) if _is_tensor(value) else \
        value or second()


def not_(value):
    value = _value(value)
    return OPS["LogicalNot"](value) if _is_tensor(value) else not value


def assert_stmt(test, message):
    from situ._lib.asserts import Assert
    test = _value(test)
    if _is_tensor(test):
        Assert(test, [str(message)])
    else:
        assert test, message


# Loops


class _Returned(Exception):
    """What a loop would return, while that is looked for."""

    def __init__(self, value):
        super().__init__()
        self.value = value


_tracing, _looking = [], []


def result(value):
    """A value that is returned out of a loop: tensors, where that loop is of a graph."""
    if _tracing:
        value = nest.map_structure(lambda x: x if x is None else convert_to_tensor(x), value)
    if _looking:
        raise _Returned(value)
    return value


def _blank(like):
    """Zeros in place of a value that is returned: nobody reads them before that is set."""
    sizes = like.shape.as_list() if like.shape.ndims is not None else []
    return zeros([n or 0 for n in sizes], like.dtype.base_dtype)


class _State:
    """The names of a loop: what of them goes round."""

    def __init__(self, get, put, names):
        self._get, self._put, self._names = get, put, names
        self._start, self._returned = get(), []
        self.first = [leaf for leaf in self._leaves(self._start) if _carried(leaf)]

    def expect(self, body):
        """Finds out what a return out of the loop gives, and lets it go round."""
        here = self._names.index(VALUE) if VALUE in self._names else None
        if here is None or not isinstance(self._start[here], Undefined) or _looking:
            return
        _tracing.append(None)
        _looking.append(None)
        try:
            self.set([branches.tensor_of(leaf) for leaf in self.first])
            branches.trace(_situ.current_graph(), lambda graph: body())
        except _Returned as found:
            self._returned = nest.flatten(found.value)
            blank = nest.map_structure(lambda x: x if x is None else _blank(x), found.value)
            self._start = tuple(blank if i == here else v for i, v in enumerate(self._start))
        finally:
            _looking.pop()
            _tracing.pop()
            self._put(self._start)
        self.first = [leaf for leaf in self._leaves(self._start) if _carried(leaf)]

    def shapes(self):
        """Shapes that the values keep on all ways round: of what is returned, those it has."""
        made, returned = [], [x for x in self._returned if x is not None]
        for name, value in zip(self._names, self._start):
            made += returned if name == VALUE and returned else \
                [branches.tensor_of(x) for x in nest.flatten(value) if _carried(x)]
        return [x.shape for x in made]

    @staticmethod
    def _leaves(values):
        return [leaf for value in values for leaf in nest.flatten(value)]

    def set(self, carried):
        carried, values = iter(carried), []
        for value in self._start:
            values.append(nest.pack_sequence_as(value, [
                next(carried) if _carried(leaf) else leaf for leaf in nest.flatten(value)]))
        self._put(tuple(values))

    def read(self):
        made = []
        for old, new, name in zip(self._start, self._get(), self._names):
            before, after = nest.flatten(old), nest.flatten(new)
            if any(_carried(leaf) for leaf in before) and len(before) != len(after):
                raise ValueError(f"'{name}' changes its structure in a loop over tensors.")
            made += [a for b, a in zip(before, after) if _carried(b)]
        return made

    def finish(self, carried):
        self.set(carried)


def _loop(test, body, state, more):
    """while_loop over `more` variables and those of the state."""
    n = len(more)
    state.expect(lambda: body(*more))

    def next_test(*args):
        state.set(args[n:])
        return test(*args[:n])

    def next_body(*args):
        state.set(args[n:])
        _tracing.append(None)
        try:
            return [*body(*args[:n]), *state.read()]
        finally:
            _tracing.pop()
    done = while_loop(next_test, next_body, [*more, *state.first], return_same_structure=True,
                      shape_invariants=[*[x.shape for x in more], *state.shapes()])
    state.finish(list(done)[n:])


def while_stmt(test, body, get, put, names):
    truth = _value(test())
    while not _is_tensor(truth):
        if not truth:
            return
        body()
        truth = _value(test())
    state = _State(get, put, names)

    def go():
        body()
        return []
    if not state.first:
        raise ValueError(f"A loop over tensors sets no tensors: {names}")
    _loop(test, go, state, [])


def for_stmt(items, stop, body, get, put, names):
    items = _value(items)
    if isinstance(items, _Range):
        _for_range(items, stop, body, _State(get, put, names))
    elif _is_tensor(items):
        _for_rows(items, stop, body, _State(get, put, names))
    elif hasattr(items, "element_spec") and _situ.current_graph() is not None:
        _for_dataset(items, stop, body, _State(get, put, names))
    else:
        for item in items:
            body(item)
            if stop is not None and _stopped(stop):
                break


def _stopped(stop):
    flag = _value(stop())
    if _is_tensor(flag):
        raise NotImplementedError("A tensor decides about a break of a loop that Python does: "
                                  "loop over tf.range(n).")
    return flag


def _going(test, stop):
    return test if stop is None else and_(lambda: not_(stop()), lambda: test)


def _for_range(items, stop, body, state):
    def test(i):
        up = OPS["Less"](i, items.limit)
        down = OPS["LogicalAnd"](OPS["Less"](items.delta, convert_to_tensor(
            0, items.delta.dtype)), OPS["Greater"](i, items.limit))
        known = items.delta.op.type == "Const"
        return _going(up if known and int(items.delta.graph._known(items.delta)) > 0 else
                      OPS["LogicalOr"](OPS["LogicalAnd"](up, OPS["Greater"](
                          items.delta, convert_to_tensor(0, items.delta.dtype))), down), stop)

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
    _loop(lambda i: _going(OPS["Less"](i, count), stop), go, state,
          [convert_to_tensor(0, "int32")])


class _Elements:
    """The elements of a data set, one after another, for a program that asks for them."""

    def __init__(self, items):
        self._items, self._specs = items, nest.flatten(items.element_spec)
        self._iterator = self._last = None

    def start(self):
        import numpy
        self._iterator = iter(self._items)
        self._last = [numpy.zeros([d or 0 for d in s.shape.as_list() or ()],
                                  s.dtype.as_numpy_dtype) for s in self._specs]
        return self.next()

    def next(self):
        """Whether there is one more, and that; at the end the last one again."""
        import numpy
        before = _situ.swap_graph(None)
        try:
            element = next(self._iterator, None)
        finally:
            _situ.swap_graph(before)
        if element is None:
            return [numpy.bool_(False), *self._last]
        self._last = [x.numpy() for x in nest.flatten(element)]
        return [numpy.bool_(True), *self._last]

    def ask(self, function):
        from situ._lib.readers import py_func
        found = list(py_func(function, [], ["bool", *[s.dtype for s in self._specs]]))
        found[0].set_shape([])
        for tensor, spec in zip(found[1:], self._specs):
            tensor.set_shape(spec.shape)
        return found


def _for_dataset(items, stop, body, state):
    elements = _Elements(items)

    def go(more, *parts):
        body(nest.pack_sequence_as(items.element_spec, list(parts)))
        return elements.ask(elements.next)
    _loop(lambda more, *_: _going(more, stop), go, state, elements.ask(elements.start))


@export("autograph.experimental.set_loop_options")
def set_loop_options(parallel_iterations=None, swap_memory=None, maximum_iterations=None,
                     shape_invariants=None):
    """Taken for programs that call it; loops find out by themselves."""


