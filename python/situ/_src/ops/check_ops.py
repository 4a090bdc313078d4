# SPDX-License-Identifier: Apache-2.0
"""check_ops.py: tf.Assert and tf.debugging.assert_*: assertions at run time, or at once where
values and
shapes are known."""

from __future__ import annotations

import numpy

import _situ
from situ._src.framework import errors
from situ._src.framework.api import BOTH, OPS, V2, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.scopes import control_dependencies, name_scope
from situ._src.framework.tensor import EagerTensor, GraphTensor, constant_value
from situ._src.ops.array_ops import convert_to_tensor, is_sparse, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, Tensor, TensorLike


def _flat(item, summarize):
    """Returns the first elements of a tensor or array as strings, or None for other objects."""
    if not isinstance(item, (EagerTensor, numpy.ndarray, numpy.generic)):
        return None
    array = numpy.asarray(item)
    return [str(x) for x in array.reshape(-1)[: max(summarize, 0)]] + ["..."] * (
        array.size > summarize
    )


def _summary(item, summarize):
    """Formats one part of an assertion message as TensorFlow does in eager mode."""
    flat = _flat(item, summarize)
    return str(item) if flat is None else str(flat)


def _title(x):
    if isinstance(x, EagerTensor):
        return f"shape={tuple(x.shape.as_list())} dtype={x.dtype.name}"
    return x.name


def _fail(data, summarize):
    count = 3 if summarize is None else 10**9 if summarize < 0 else summarize
    raise errors.InvalidArgumentError(None, None, "\n".join(_summary(d, count) for d in data))


@export(v1="Assert", v2=("Assert", "debugging.Assert"))
def Assert(
    condition: TensorLike, data: TensorLike, summarize: int | None = None, name: str | None = None
) -> Any:
    """Asserts that a condition is true.

    Args:
      condition: A boolean scalar.
      data: A list of tensors and strings to print if the condition is false.
      summarize: The number of elements to print of each tensor.
      name: A name for the operation (optional).

    Returns:
      An operation that raises the error when it runs; None in eager mode.

    Raises:
      InvalidArgumentError: In eager mode, if the condition is false.
    """
    if _situ.current_graph() is None:
        if not bool(condition):
            count = 3 if summarize is None else summarize
            text = "\n".join(
                str(d.encode() if isinstance(d, str) else d)
                if _flat(d, count) is None
                else ", ".join(_flat(d, count))
                for d in data
            )
            raise errors.InvalidArgumentError(
                None, None, f"Expected '{condition!s}' to be true. Summarized data: {text}"
            )
        return None
    with name_scope(name, "Assert"):
        values = [convert_to_tensor(d, name=f"Assert/data_{i}") for i, d in enumerate(data)]
        return OPS["Assert"](
            convert_to_tensor(condition),
            values,
            summarize=3 if summarize is None else summarize,
            name="Assert",
        )


def checked(tensor, condition, message, error=errors.InvalidArgumentError):
    """Returns the tensor after asserting a condition on all elements, eagerly or at run time."""
    holds = OPS["All"](op("Reshape", condition, [-1]), [0])
    if isinstance(holds, EagerTensor):
        if not bool(holds):
            raise error(None, None, message)
        return tensor
    with control_dependencies([Assert(holds, [message])]):
        return op("Identity", tensor)


def _describe_failure(x, y, test, sym, count):
    """Describes where a comparison of two arrays fails."""
    a, b, good = numpy.asarray(x), numpy.asarray(y), numpy.asarray(test)
    parts = [f"Condition x {sym} y did not hold."]
    if count <= 0:
        return parts
    if a.shape == b.shape and a.shape:
        indices = numpy.argwhere(~good)
        n = min(count, len(indices))
        parts += [
            f"Indices of first {n} different values:",
            indices[:n].__str__(),
            "Corresponding x values:",
            a[~good].reshape(-1)[:n].__str__(),
            "Corresponding y values:",
            b[~good].reshape(-1)[:n].__str__(),
        ]
    for name, array in (("x", a), ("y", b)):
        n = min(count, array.size)
        parts += [f"First {n} elements of {name}:", str(array.reshape(-1)[:n])]
    return parts


def _binary(sym, opname, op_name, x, y, data, summarize, message, name):
    with name_scope(name, opname):
        if x is y and op_name == "Equal":
            return None if _situ.current_graph() is None else OPS["NoOp"](name="static_checks")
        if not hasattr(x, "dtype") and hasattr(y, "dtype"):
            y = convert_to_tensor(y, name="y")
            x = convert_to_tensor(x, y.dtype.base_dtype, "x")
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, None if hasattr(y, "dtype") else x.dtype.base_dtype, "y")
        test = OPS[op_name](x, y)
        if isinstance(test, EagerTensor):
            if bool(op("All", test, list(range(test.shape.ndims)))):
                return None
            count = 3 if summarize is None else 10**9 if summarize < 0 else summarize
            if data is None:
                data = _describe_failure(x, y, test, sym, count)
            _fail(([message] if message else []) + list(data), summarize)
        if data is None:
            data = [
                f"Condition x {sym} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        if message:
            data = [message] + list(data)
        _check_known(op_name, x, y, data, summarize)
        return Assert(OPS["All"](test, _axes(test)), data, summarize=summarize)


def _axes(tensor):
    rank = tensor.shape.ndims
    return OPS["Range"](0, OPS["Rank"](tensor), 1) if rank is None else list(range(rank))


def _check_known(op_name, x, y, data, summarize):
    """Fails at once if both values are constants and the comparison is false."""
    a, b = constant_value(x), constant_value(y)
    if a is None or b is None:
        return
    compare = {
        "Equal": numpy.equal,
        "NotEqual": numpy.not_equal,
        "Less": numpy.less,
        "LessEqual": numpy.less_equal,
        "Greater": numpy.greater,
        "GreaterEqual": numpy.greater_equal,
    }[op_name]
    if not numpy.all(compare(numpy.asarray(a), numpy.asarray(b))):
        known = [
            numpy.asarray(constant_value(d))
            if isinstance(d, GraphTensor) and constant_value(d) is not None
            else d
            for d in data
        ]
        _fail(known, summarize)


def _compare(name, op_name, sym):
    """Defines and exports an assertion that compares two tensors."""
    full = "assert_" + name

    @export(v1=(full, "debugging." + full))
    def old(
        x: TensorLike,
        y: TensorLike,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Asserts an element-wise comparison of `x` and `y`.

        Args:
          x: A tensor.
          y: A tensor that broadcasts with `x`.
          data: What to print instead of `x` and `y` if the assertion fails.
          summarize: The number of elements to print of each tensor.
          message: A prefix of the error message.
          name: A name for the operation (optional).

        Returns:
          An operation that raises InvalidArgumentError when it runs; None in eager mode.
        """
        return _binary(sym, full, op_name, x, y, data, summarize, message, name)

    @export(v2=(full, "debugging." + full))
    def new(
        x: TensorLike,
        y: TensorLike,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Asserts an element-wise comparison of `x` and `y`.

        Args:
          x: A tensor.
          y: A tensor that broadcasts with `x`.
          message: A prefix of the error message.
          summarize: The number of elements to print of each tensor.
          name: A name for the operation (optional).

        Returns:
          An operation that raises InvalidArgumentError when it runs; None in eager mode.
        """
        return _binary(sym, full, op_name, x, y, None, summarize, message, name)

    old.__name__ = new.__name__ = full
    return old


assert_equal = _compare("equal", "Equal", "==")
assert_none_equal = _compare("none_equal", "NotEqual", "!=")
export(v2="debugging.assert_none_equal")(
    with_order(V2["debugging.assert_none_equal"], "x", "y", "summarize", "message", "name")
)
assert_less = _compare("less", "Less", "<")
assert_less_equal = _compare("less_equal", "LessEqual", "<=")
assert_greater = _compare("greater", "Greater", ">")
assert_greater_equal = _compare("greater_equal", "GreaterEqual", ">=")


def _sign(name, op_name, sym):
    """Defines and exports an assertion that compares a tensor with 0."""
    full = "assert_" + name

    def check(x, data, summarize, message, scope):
        with name_scope(scope, full):
            x = convert_to_tensor(x, name="x")
            if data is None:
                data = [
                    message + ".  " if message else "",
                    f"Condition x {sym} 0 did not hold element-wise:",
                    f"x ({_title(x)}) = ",
                    x,
                ]
            return _binary(
                sym,
                full,
                op_name,
                x,
                convert_to_tensor(0, x.dtype.base_dtype),
                data,
                summarize,
                None,
                None,
            )

    @export(v1=(full, "debugging." + full))
    def old(
        x: TensorLike,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Asserts the sign of all elements of `x`.

        Args:
          x: A tensor.
          data: What to print instead of `x` if the assertion fails.
          message: A prefix of the error message.
          summarize: The number of elements to print of each tensor.
          name: A name for the operation (optional).

        Returns:
          An operation that raises InvalidArgumentError when it runs; None in eager mode.
        """
        return check(x, data, summarize, message, name)

    @export(v2="debugging." + full)
    def new(
        x: TensorLike,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Asserts the sign of all elements of `x`.

        Args:
          x: A tensor.
          message: A prefix of the error message.
          summarize: The number of elements to print of each tensor.
          name: A name for the operation (optional).

        Returns:
          An operation that raises InvalidArgumentError when it runs; None in eager mode.
        """
        return check(x, None, summarize, message, name)

    old.__name__ = new.__name__ = full
    return old


assert_positive = _sign("positive", "Greater", ">")
assert_negative = _sign("negative", "Less", "<")
assert_non_negative = _sign("non_negative", "GreaterEqual", ">=")
assert_non_positive = _sign("non_positive", "LessEqual", "<=")


def _near(x, y, rtol, atol, data, summarize, message, name):
    with name_scope(name, "assert_near"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, None if hasattr(y, "dtype") else x.dtype.base_dtype, "y")
        eps = 10 * {"float16": 9.77e-4, "float64": 2.220446049250313e-16}.get(
            x.dtype.base_dtype.name, 1.1920929e-07
        )
        rtol, atol = eps if rtol is None else rtol, eps if atol is None else atol
        real = x.dtype.real_dtype
        bound = OPS["Add"](
            convert_to_tensor(atol, real),
            OPS["Mul"](convert_to_tensor(rtol, real), BOTH["abs"](y)),
        )
        test = OPS["LessEqual"](BOTH["abs"](OPS["Sub"](x, y)), bound)
        if data is None:
            data = [
                message or "",
                f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                f"x ({_title(x)}) = ",
                x,
                f"y ({_title(y)}) = ",
                y,
            ]
        return Assert(OPS["All"](test, _axes(test)), data, summarize=summarize)


@export(v1=("assert_near", "debugging.assert_near"))
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike = None,
    atol: TensorLike = None,
    data: TensorLike = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that `x` and `y` are close: `|x - y| <= atol + rtol * |y|`.

    Args:
      x: A floating-point tensor.
      y: A tensor that broadcasts with `x`.
      rtol: The relative tolerance; by default 10 times the machine epsilon.
      atol: The absolute tolerance; by default 10 times the machine epsilon.
      data: What to print instead of `x` and `y` if the assertion fails.
      summarize: The number of elements to print of each tensor.
      message: A prefix of the error message.
      name: A name for the operation (optional).

    Returns:
      An operation that raises InvalidArgumentError when it runs; None in eager mode.
    """
    return _near(x, y, rtol, atol, data, summarize, message, name)


@export(v2="debugging.assert_near")
def assert_near_v2(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike = None,
    atol: TensorLike = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that `x` and `y` are close: `|x - y| <= atol + rtol * |y|`.

    Args:
      x: A tensor.
      y: A tensor of the same type.
      rtol: The relative tolerance.
      atol: The absolute tolerance.
      message: A prefix of the error message (optional).
      summarize: The number of elements in the error message.
      name: A name for the operation (optional).
    """
    return _near(x, y, rtol, atol, None, summarize, message, name)


def as_checked(x):
    """Returns a sparse or ragged tensor as it is, any other value as a tensor."""
    return x if hasattr(x, "_situ_tensors_") else convert_to_tensor(x, name="x")


def _rank_value(rank, message):
    """Returns an expected rank as a tensor and, if it is known, as an int.

    Raises:
      TypeError: the rank is no int32.
      ValueError: the rank is known to be no scalar.
    """
    rank = convert_to_tensor(rank, name="rank")
    assert_type(rank, "int32", message)
    known = constant_value(rank)
    if known is None:
        return rank, None
    if known.ndim:
        raise ValueError("Rank must be a scalar.")
    return rank, int(known)


def _rank(x, ranks, holds, relation, message, name, data, summarize):
    """Asserts the rank of a tensor: at once if it is known, otherwise at run time."""
    x, pairs = as_checked(x), [_rank_value(r, message) for r in ranks]
    ranks, static_ranks = [r for r, _ in pairs], [known for _, known in pairs]
    static, message = x.shape.ndims, message + ".  " if message else ""
    if static is not None and all(k is not None for k in static_ranks):
        if holds(static, static_ranks):
            return None if _situ.current_graph() is None else OPS["NoOp"](name="static_checks")
        rank = tuple(static_ranks) if relation == "in" else static_ranks[0]
        expectation = f"must have rank {relation + ' ' if relation else ''}{rank}."
        title = x.name if isinstance(x, GraphTensor) else ""
        raise ValueError(
            f"{message}Tensor {title} {expectation}  Received rank {static}, shape {x.shape}"
        )
    with name_scope(name, "assert_rank"):
        test = _rank_holds(BOTH["rank"](x), ranks, static_ranks, relation)
        if data is None:
            data = [
                message,
                f"Tensor {_title(x)} must have rank{' ' + relation if relation else ''}",
                *ranks,
                "Received shape: ",
                BOTH["shape"](x),
            ]
        return Assert(test, data, summarize=summarize)


def _rank_holds(actual, ranks, static_ranks, relation):
    """Returns whether the actual rank is as asserted, after a check that ranks are scalars."""
    tests = []
    for rank, static in zip(ranks, static_ranks):
        checks = []
        if static is None:
            shown = ["Rank must be a scalar. Received rank: ", rank]
            checks = [assert_rank(rank, 0, data=shown)]
        with control_dependencies(checks):
            name = "GreaterEqual" if relation == "at least" else "Equal"
            tests.append(OPS[name](actual, op("Identity", rank) if checks else rank))
    result = tests[0]
    for other in tests[1:]:
        result = OPS["LogicalOr"](result, other)
    return result


def _ranks(name, relation, holds, several=False):
    """Defines and exports an assertion about the rank of a tensor."""
    full = "assert_" + name

    def check(x, rank, message, scope, data, summarize):
        return _rank(
            x, list(rank) if several else [rank], holds, relation, message, scope, data, summarize
        )

    @export(v1=(full, "debugging." + full))
    def old(
        x: TensorLike,
        rank: Any = None,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
        ranks: Any = None,
    ) -> Any:
        """Asserts the rank of `x`; raises ValueError at once if the static rank is wrong.

        Args:
          x: A tensor.
          rank: The rank.
          data: Tensors to print if the assertion fails.
          summarize: Number of elements of each to print.
          message: Start of the error message.
          name: A name for the operation (optional).
          ranks: The ranks, of assert_rank_in.
        """
        return check(x, ranks if rank is None else rank, message, name, data, summarize)

    @export(v2=(full, "debugging." + full))
    def new(
        x: TensorLike,
        rank: Any = None,
        message: str | None = None,
        name: str | None = None,
        ranks: Any = None,
    ) -> Any:
        """Asserts the rank of `x`; raises ValueError at once if the static rank is wrong.

        Args:
          x: A tensor.
          rank: The rank.
          message: Start of the error message.
          name: A name for the operation (optional).
          ranks: The ranks, of assert_rank_in.
        """
        return check(x, ranks if rank is None else rank, message, name, None, None)

    old.__name__ = new.__name__ = full
    return old


assert_rank = _ranks("rank", "", lambda rank, ranks: rank == ranks[0])
assert_rank_at_least = _ranks("rank_at_least", "at least", lambda rank, ranks: rank >= ranks[0])
assert_rank_in = _ranks("rank_in", "in", lambda rank, ranks: rank in ranks, True)


def _type_name(tensor):
    return tensor.name if isinstance(tensor, GraphTensor) else "tensor"


@export(v1=("assert_type", "debugging.assert_type"))
def assert_type(
    tensor: TensorLike, tf_type: TensorLike, message: str | None = None, name: str | None = None
) -> Any:
    """Raises TypeError if a tensor does not have the type `tf_type`.

    Args:
      tensor: A tensor.
      tf_type: A type.
      message: A prefix of the error message (optional).
      name: A name for the operation (optional).
    """
    with scope(name, "assert_type"):
        tensor = as_checked(tensor)
        if tensor.dtype.base_dtype != as_dtype(tf_type):
            raise TypeError(
                f"{message + '.  ' if message else ''}{_type_name(tensor)} must be of type "
                f"{as_dtype(tf_type)!r}; got {tensor.dtype.base_dtype!r}"
            )
        return None if _situ.current_graph() is None else OPS["NoOp"](name="statically_determined")


@export(v2="debugging.assert_type")
def assert_type_v2(
    tensor: TensorLike, tf_type: TensorLike, message: str | None = None, name: str | None = None
) -> None:
    """Raises TypeError if a tensor does not have the type `tf_type`.

    Args:
      tensor: A tensor.
      tf_type: A type.
      message: A prefix of the error message (optional).
      name: A name for the operation (optional).
    """
    assert_type(tensor, tf_type, message, name)


@export(v1=("assert_integer", "debugging.assert_integer"))
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Any:
    """Raises TypeError if a tensor does not have an integer type.

    Args:
      x: A tensor.
      message: A prefix of the error message (optional).
      name: A name for the operation (optional).
    """
    with scope(name, "assert_integer"):
        x = convert_to_tensor(x)
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message + ".  " if message else ""}Expected "x" to be integer type.  '
                f"Found: {_type_name(x)} of dtype {x.dtype}"
            )
        return None if _situ.current_graph() is None else OPS["NoOp"](name="statically_determined")


@export(v2="debugging.assert_integer")
def assert_integer_v2(x: TensorLike, message: str | None = None, name: str | None = None) -> None:
    """Raises TypeError if a tensor does not have an integer type.

    Args:
      x: A tensor.
      message: A prefix of the error message (optional).
      name: A name for the operation (optional).
    """
    assert_integer(x, message, name)


@export("debugging.assert_scalar", v1="assert_scalar")
def assert_scalar(
    tensor: TensorLike, name: str | None = None, message: str | None = None
) -> Tensor:
    """Returns a tensor; raises ValueError if it is not a scalar.

    Args:
      tensor: A tensor.
      name: A name for the operation (optional).
      message: A prefix of the error message (optional).
    """
    with scope(name, "assert_scalar"):
        tensor = convert_to_tensor(tensor)
        if tensor.shape.ndims != 0:
            raise ValueError(f"{message or ''}Expected scalar shape, saw shape: {tensor.shape}.")
        return tensor


export(v2="debugging.assert_scalar")(with_order(assert_scalar, "tensor", "message", "name"))


@export("debugging.assert_same_float_dtype", v1="assert_same_float_dtype")
def assert_same_float_dtype(tensors: TensorLike = None, dtype: DTypeLike = None) -> Any:
    """Returns the floating-point type that all tensors have; ValueError if they differ.

    Args:
      tensors: A list of tensors.
      dtype: The type that they must have (optional).
    """
    result, title = None if dtype is None else as_dtype(dtype), None
    for tensor in tensors or ():
        if tensor is None:
            continue
        if not hasattr(tensor, "dtype"):
            tensor = convert_to_tensor(tensor)
        own, named = tensor.dtype.base_dtype, getattr(tensor, "name", None) or str(tensor)
        if result is None:
            result, title = own, named
        elif result != own:
            raise ValueError(
                f"{named}, type={own}, must be of the same type ({result})"
                f"{f' as {title}' if title else ''}."
            )
    result = as_dtype("float32") if result is None else result
    if not result.is_floating:
        raise ValueError(f"Expected floating point type, got {result}.")
    return result


@export("debugging.assert_proper_iterable", v1="assert_proper_iterable")
def assert_proper_iterable(values: TensorLike) -> None:
    """Raises TypeError if `values` is not a list of tensors.

    Args:
      values: The object to check.
    """
    arrays = (EagerTensor, GraphTensor, numpy.ndarray, str, bytes)
    if isinstance(values, arrays) or is_sparse(values):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@export("debugging.is_numeric_tensor", v1="is_numeric_tensor")
def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Returns whether an object is a tensor of numbers.

    Args:
      tensor: A tensor.
    """
    return isinstance(tensor, (EagerTensor, GraphTensor)) and (
        tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex
    )
