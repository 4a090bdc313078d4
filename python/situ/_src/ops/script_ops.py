# SPDX-License-Identifier: Apache-2.0
"""script_ops.py: tf.py_func, tf.numpy_function, tf.py_function: calls of Python from graphs."""

import itertools

import numpy

import _situ
from situ._src.framework import dtypes
from situ._src.framework.api import OPS, export
from situ._src.ops.array_ops import convert_to_tensor

_functions, _numbers = {}, itertools.count()


def call(token, arrays):
    """What nodes call: a function by its token."""
    if token.startswith(("send ", "receive ")):
        from situ._src.cluster import steps

        return steps.transfer(token, arrays)
    if token not in _functions:
        raise NotImplementedError(f"{token} is a function of another process.")
    function, types = _functions[token]
    results = function(*arrays)
    if not types:
        return []
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if len(results) != len(types):
        raise ValueError(
            f"pyfunc_{token} returns {len(results)} values, but expects to see {len(types)} values."
        )
    arrays = []
    for index, (value, dtype) in enumerate(zip(results, types)):
        array = numpy.asarray(value)
        if dtype.name != "string" and array.dtype != dtype.as_numpy_dtype:
            if array.dtype.kind in "OUS" or dtype.name == "bool":
                raise TypeError(
                    f"{index}-th value returned by pyfunc_{token} is "
                    f"{array.dtype.name}, but expects {dtype.name}"
                )
            array = array.astype(dtype.as_numpy_dtype)
        arrays.append(array)
    return arrays


def _emit(func, inp, tout, stateful, name):
    single = not isinstance(tout, (list, tuple))
    types = [dtypes.as_dtype(t).base_dtype for t in ([tout] if single else tout)]
    inputs = [convert_to_tensor(x) for x in (inp if isinstance(inp, (list, tuple)) else [inp])]
    if _situ.current_graph() is None:
        results = [
            convert_to_tensor(a, t)
            for a, t in zip(_with_token(func, types, [x.numpy() for x in inputs]), types)
        ]
    else:
        token = f"pyfunc_{next(_numbers)}"
        _functions[token] = (func, types)
        _situ.set_callback(call)
        results = OPS["PyFunc" if stateful else "PyFuncStateless"](
            inputs, token=token, Tin=[x.dtype.base_dtype for x in inputs], Tout=types, name=name
        )
        if not types:
            return results
    return results[0] if single else list(results)


def _with_token(func, types, arrays):
    token = f"pyfunc_{next(_numbers)}"
    _functions[token] = (func, types)
    try:
        return call(token, arrays)
    finally:
        del _functions[token]


@export("numpy_function", v1="py_func")
def py_func(func=None, inp=(), Tout=None, stateful=True, name=None):
    """Calls a function of NumPy arrays when the graph runs; without one a decorator."""
    if func is None:
        return lambda f: lambda *args: py_func(f, args, Tout, stateful, name)
    return _emit(func, inp, Tout, stateful, name)


def on_host(function, inputs, types, shapes=()):
    """Results of a function of arrays, now or when a graph runs, one of each type; of a graph,
    their shapes as far as they are known."""

    def call(*values):
        return list(
            function(*[numpy.asarray(v, object if isinstance(v, bytes) else None) for v in values])
        )

    made = py_func(call, inputs, types)
    for tensor, shape in zip(made, shapes if _situ.current_graph() is not None else ()):
        tensor.set_shape(shape)
    return made


def _listed(values):
    return list(values) if isinstance(values, (list, tuple)) else [] if values is None else [values]


def _eagerly(func, arrays):
    """Calls a function of eager tensors, also while a graph is built."""
    before = _situ.swap_graph(None)
    try:
        return func(*[convert_to_tensor(a) for a in arrays])
    finally:
        _situ.swap_graph(before)


def _backward(func, inputs):
    """The gradient of a call: a call, too, which makes the values again under a tape."""
    reals = [i for i, x in enumerate(inputs) if x.dtype.is_floating]

    def slopes(*arrays):
        from situ._src.framework.gradient_tape import GradientTape

        xs, dys = list(arrays[: len(inputs)]), arrays[len(inputs) :]
        with GradientTape() as tape:
            for i in reals:
                tape.watch(xs[i])
            ys = _listed(func(*xs))
        found = tape.gradient(
            ys, [xs[i] for i in reals], output_gradients=list(dys), unconnected_gradients="zero"
        )
        return [numpy.asarray(convert_to_tensor(g)) for g in found]

    def back(operation, grads):
        given = [
            OPS["ZerosLike"](o) if g is None else convert_to_tensor(g)
            for g, o in zip(grads, operation.outputs)
        ]
        made = _emit(
            lambda *arrays: _eagerly(slopes, arrays),
            [*inputs, *given],
            [inputs[i].dtype for i in reals],
            True,
            None,
        )
        found = dict(zip(reals, made))
        for i, gradient in found.items():
            gradient.set_shape(inputs[i].shape)
        return [found.get(i) for i in range(len(inputs))]

    return back if reals else None


@export("py_function")
def py_function(func=None, inp=(), Tout=None, name=None):
    """The same of a function of eager tensors, which gradients go through; without one a
    decorator."""
    if func is None:
        return lambda f: lambda *args: py_function(f, args, Tout, name)
    inputs = [convert_to_tensor(x) for x in (inp if isinstance(inp, (list, tuple)) else [inp])]
    single = not isinstance(Tout, (list, tuple))
    if _situ.current_graph() is None:
        values = _listed(func(*inputs))
        if len(values) != len(_listed(Tout)):
            raise ValueError(
                f"The function of py_function returns {len(values)} values, but "
                f"{len(_listed(Tout))} are expected."
            )
        made = [convert_to_tensor(v, t) for v, t in zip(values, _listed(Tout))]
        return made[0] if single and made else made

    def call(*arrays):
        results = _eagerly(func, arrays)
        if isinstance(results, (list, tuple)):
            return [numpy.asarray(r) for r in results]
        return numpy.asarray(results) if results is not None else results

    made = _emit(call, inputs, Tout, True, name)
    first = _listed(made)[0] if _listed(made) else None
    back = _backward(func, inputs)
    if back is not None and getattr(first, "dtype", None) is not None:
        from situ._src.framework.gradients import override

        override(first.op, back)
    return made
