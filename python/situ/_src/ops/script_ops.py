# SPDX-License-Identifier: Apache-2.0
"""script_ops.py: tf.py_func, tf.numpy_function and tf.py_function: ops that call Python
functions."""

from __future__ import annotations

import functools
import itertools

import numpy

import _situ
from situ._src.cluster import steps
from situ._src.framework import dtypes, errors, nest, style
from situ._src.framework.api import OPS, export
from situ._src.framework.gradient_tape import GradientTape
from situ._src.framework.gradients import override
from situ._src.framework.type_spec import TypeSpec
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any

_functions: dict = {}  # token -> (function, dtypes of its results)
_numbers = itertools.count()


def call(token, arrays):
    """Calls the function of a PyFunc node, found by its token."""
    if token.startswith(("send ", "receive ")):
        return steps.transfer(token, arrays)
    if token not in _functions:
        raise NotImplementedError(
            f"{token} is a Python function of another process, which cannot be called here."
        )
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
        _check_numpy_type(array)
        if dtype.name != "string" and array.dtype != dtype.as_numpy_dtype:
            if array.dtype.kind in "OUS" or dtype.name == "bool":
                raise TypeError(
                    f"{index}-th value returned by pyfunc_{token} is "
                    f"{array.dtype.name}, but expects {dtype.name}"
                )
            array = array.astype(dtype.as_numpy_dtype)
        arrays.append(array)
    return arrays


def _check_numpy_type(array):
    """Raises InternalError if no tensor has the type of an array."""
    fault = None
    if array.dtype.kind == "V" and array.dtype.names:
        fault = "Unsupported numpy data type"
    elif array.dtype.kind == "O":
        others = (x for x in array.ravel() if not isinstance(x, (str, bytes)))
        fault = next((f"Unsupported object type {type(x).__name__}" for x in others), None)
    if fault:
        raise errors.InternalError(None, None, fault)


def _call_once(func):
    """Returns a function that calls `func` on its first call only."""
    results: list = []

    def call(*arrays):
        if not results:
            results.append(func(*arrays))
        return results[0]

    return call


def _emit(func, inp, tout, stateful, name):
    """Emits a PyFunc node, or calls the function in eager mode."""
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
        if not stateful and all(x.op.type == "Const" for x in inputs):
            func = _call_once(func)  # TensorFlow folds it to a constant
        _functions[token] = (func, types)
        _situ.set_callback(call)
        results = OPS["PyFunc" if stateful else "PyFuncStateless"](
            inputs, token=token, Tout=types, name=name
        )
        if not types:
            return results if stateful else []
    return results[0] if single else list(results)


def _with_token(func, types, arrays):
    token = f"pyfunc_{next(_numbers)}"
    _functions[token] = (func, types)
    try:
        return call(token, arrays)
    finally:
        del _functions[token]


@export("numpy_function", v1="py_func")
def py_func(
    func: Any = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls a function of NumPy arrays when the graph runs.

    Args:
      func: A function of arrays that returns an array or a list of arrays. Without it a decorator
        is
        returned.
      inp: A list of tensors.
      Tout: The type of the result, or a list of types.
      stateful: Whether the function has side effects or state; if not, its result may be reused.
      name: A name for the operation (optional).

    Returns:
      A tensor, or a list of tensors if `Tout` is a list. They have no gradient.
    """
    decorator = _decorator(py_func, "numpy_function", func, inp, Tout, stateful=stateful, name=name)
    if decorator is not None:
        return decorator
    _check_callable(func)
    if _situ.current_graph() is None:
        return _call_numpy(func, inp)
    return _emit(func, inp, Tout, stateful, name)


def _call_numpy(func, inp):
    """Calls a function of arrays in eager mode. As in TensorFlow, `Tout` does not matter there."""
    inputs = inp if isinstance(inp, (list, tuple)) else [inp]
    values = [convert_to_tensor(x).numpy() for x in inputs]
    # NumPy's type of bytes would drop zeros at their end.
    arrays = [numpy.array(v, object if isinstance(v, bytes) else None) for v in values]
    results = nest.flatten(func(*arrays))
    tensors = [x if x is None else convert_to_tensor(x) for x in results]
    return tensors[0] if len(tensors) == 1 else tensors


def _decorator(call, title, func, inp, tout, **kwargs):
    """Checks the arguments of py_function or numpy_function. Returns a decorator if `func` is None,
    otherwise None."""
    if tout is None:
        raise TypeError(
            f"Missing required argument: 'Tout'\n  If using {title} as a decorator, set `Tout`\n"
            f"  **by name** above the function:\n  `@{title}(Tout=tout)`"
        )
    if func is None and inp is not None:
        raise TypeError(
            f"Don't set the `inp` argument when using {title} as a decorator (`func=None`)."
        )
    if func is None:
        return lambda f: functools.wraps(f)(lambda *args: call(f, args, tout, **kwargs))
    if inp is None:
        raise TypeError(
            "Missing argument `inp`:\n  You must set the `inp` argument (the list of arguments to "
            f"the\n  function), unless you use `{title}` as a decorator (`func=None`)."
        )
    return None


def on_host(function, inputs, types, shapes=(), name=None):
    """Calls a function of arrays on the host and returns one tensor per type. In a graph their
    static
    shapes are set."""

    def call(*values):
        return list(
            function(*[numpy.asarray(v, object if isinstance(v, bytes) else None) for v in values])
        )

    result = _emit(call, inputs, types, True, name)
    for tensor, shape in zip(result, shapes if _situ.current_graph() is not None else ()):
        tensor.set_shape(shape)
    return result


def _check_callable(func):
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )


def _listed(values):
    """Returns a value as a list."""
    return list(values) if isinstance(values, (list, tuple)) else [] if values is None else [values]


def _eagerly(func, arrays):
    """Calls a function with eager tensors, even while a graph is built."""
    with style.eagerly():
        return func(*[convert_to_tensor(a) for a in arrays])


_VARIABLE_RETURNED = (
    "Attempting to return a variable from an eagerly executed py_func. Only numeric data "
    "structures like Tensors or NumPy arrays should be returned; to return the value of a "
    "variable, make sure to obtain the Tensor backing it by calling `.read_value()` on the "
    "variable in question: "
)


def _call_with_composites(func, inputs, outputs, name):
    """Calls py_function with the components of composite tensors, which the function receives and
    returns as a whole. Its types may be tf.TypeSpecs."""
    specs = _listed(outputs)

    def call(*components):
        results = _listed(func(*nest.COMPOSITES.pack(inputs, list(components))))
        for value, spec in zip(results, specs):
            _check_result(func, results, specs, value, spec)
        return nest.COMPOSITES.flatten(results[: len(specs)])

    types = [getattr(s, "dtype", s) for s in nest.COMPOSITES.flatten(specs)]
    flat = py_function(call, nest.COMPOSITES.flatten(inputs), types, name)
    for tensor, spec in zip(flat, nest.COMPOSITES.flatten(specs)):
        if hasattr(spec, "shape") and _situ.current_graph() is not None:
            tensor.set_shape(spec.shape)
    packed = nest.COMPOSITES.pack(specs, list(flat)) if specs else flat
    return packed if isinstance(outputs, (list, tuple)) else packed[0]


def _check_result(func, results, specs, value, spec):
    """Raises ValueError if a result is composite and no such type is expected, or the reverse."""
    fault = None
    if hasattr(spec, "_situ_tensors_") and not spec.is_compatible_with(value):
        fault = f"is not compatible with {spec!r}."
    elif not hasattr(spec, "_situ_tensors_") and hasattr(value, "_situ_tensors_"):
        fault = "is not a Tensor."
    if fault:
        raise ValueError(
            f"py_function: func={func} returned {results!r}, which did not match Tout={specs!r}.\n"
            f"In particular, {value!r} {fault}"
        )


def _backward(func, inputs):
    """Returns the gradient function: a PyFunc that recomputes the call under a tape."""
    reals = [i for i, x in enumerate(inputs) if x.dtype.is_floating or x.dtype.is_complex]

    def compute_gradients(*arrays):
        xs, dys = list(arrays[: len(inputs)]), arrays[len(inputs) :]
        with GradientTape() as tape:
            for i in reals:
                tape.watch(xs[i])
            ys = _listed(func(*xs))
        gradients = tape.gradient(
            ys, [xs[i] for i in reals], output_gradients=list(dys), unconnected_gradients="zero"
        )
        return [numpy.asarray(convert_to_tensor(g)) for g in gradients]

    def back(operation, grads):
        output_grads = [
            OPS["ZerosLike"](o) if g is None else convert_to_tensor(g)
            for g, o in zip(grads, operation.outputs)
        ]
        result = _emit(
            lambda *arrays: _eagerly(compute_gradients, arrays),
            [*inputs, *output_grads],
            [inputs[i].dtype for i in reals],
            True,
            None,
        )
        gradients = dict(zip(reals, result))
        for i, gradient in gradients.items():
            gradient.set_shape(inputs[i].shape)
        return [gradients.get(i) for i in range(len(inputs))]

    return back if reals else None


@export("py_function")
def py_function(
    func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None
) -> Any:
    """Calls a function of eager tensors when the graph runs; gradients flow through it.

    Args:
      func: A function of eager tensors that returns tensors. Without it a decorator is returned.
      inp: A list of tensors.
      Tout: The type of the result, or a list of types.
      name: A name for the operation (optional).

    Returns:
      A tensor, or a list of tensors if `Tout` is a list.

    Raises:
      TypeError: If `Tout` or `inp` is missing.
      ValueError: If the function returns another number of values than `Tout`.
    """
    decorator = _decorator(py_function, "py_function", func, inp, Tout, name=name)
    if decorator is not None:
        return decorator
    _check_callable(func)
    listed = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    if any(hasattr(v, "_situ_tensors_") or isinstance(v, TypeSpec) for v in listed + _listed(Tout)):
        return _call_with_composites(func, listed, Tout, name)
    inputs = [convert_to_tensor(x) for x in (inp if isinstance(inp, (list, tuple)) else [inp])]
    single = not isinstance(Tout, (list, tuple))
    if _situ.current_graph() is None:
        values = _listed(func(*inputs))
        if len(values) != len(_listed(Tout)):
            raise ValueError(
                f"tf.py_function: the function returns {len(values)} values, but Tout has "
                f"{len(_listed(Tout))}."
            )
        result = [convert_to_tensor(v, t) for v, t in zip(values, _listed(Tout))]
        return result[0] if single and result else result

    def call(*arrays):
        results = _eagerly(func, arrays)
        for value in _listed(results):
            if hasattr(value, "assign"):
                raise RuntimeError(_VARIABLE_RETURNED + str(value))
        if isinstance(results, (list, tuple)):
            return [numpy.asarray(r) for r in results]
        return numpy.asarray(results) if results is not None else results

    result = _emit(call, inputs, Tout, True, name)
    first: Any = _listed(result)[0] if _listed(result) else None
    back = _backward(func, inputs)
    if back is not None and getattr(first, "dtype", None) is not None:
        override(first.op, back)
    return result
