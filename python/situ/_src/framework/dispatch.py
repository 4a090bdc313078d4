# SPDX-License-Identifier: Apache-2.0
"""dispatch.py: tf.experimental.dispatch_for_api and related functions: a program overrides
public functions for arguments of its own types."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing

from situ._src.framework import api
from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_UNARY = """abs acos acosh angle asin asinh atan atanh bitwise.invert cast clip_by_value cos cosh
debugging.check_numerics dtypes.saturate_cast exp floor identity image.adjust_brightness
image.adjust_gamma image.convert_image_dtype image.random_brightness
image.stateless_random_brightness io.decode_base64 io.decode_compressed io.encode_base64
math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e math.ceil math.conj math.digamma
math.erf math.erfc math.erfcinv math.erfinv math.expm1 math.imag math.is_finite math.is_inf
math.is_nan math.lgamma math.log math.log1p math.log_sigmoid math.logical_not math.ndtri
math.negative math.nextafter math.real math.reciprocal math.reciprocal_no_nan math.rint math.rsqrt
math.sigmoid math.sign math.softplus math.special.bessel_j0 math.special.bessel_j1
math.special.bessel_k0 math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e
math.special.bessel_y0 math.special.bessel_y1 math.special.dawsn math.special.expint
math.special.fresnel_cos math.special.fresnel_sin math.special.spence math.sqrt math.square nn.elu
nn.gelu nn.leaky_relu nn.log_softmax nn.relu nn.relu6 nn.selu nn.sigmoid nn.silu nn.softsign
nn.swish ones_like round sin sinh strings.as_string strings.length strings.lower
strings.regex_full_match strings.regex_replace strings.strip strings.substr
strings.to_hash_bucket strings.to_hash_bucket_fast strings.to_hash_bucket_strong
strings.to_number strings.unicode_script strings.unicode_transcode strings.upper tan tanh
zeros_like"""
_BINARY = """bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift
bitwise.right_shift dtypes.complex math.add math.atan2 math.divide math.divide_no_nan math.equal
math.floordiv math.floormod math.greater math.greater_equal math.less math.less_equal
math.logical_and math.logical_or math.logical_xor math.maximum math.minimum math.multiply
math.multiply_no_nan math.not_equal math.pow math.scalar_mul math.squared_difference math.subtract
math.truediv math.xdivy math.xlog1py math.xlogy math.zeta nn.sigmoid_cross_entropy_with_logits
realdiv truncatediv truncatemod"""
_ASSERTS = """debugging.assert_equal debugging.assert_greater debugging.assert_greater_equal
debugging.assert_less debugging.assert_less_equal debugging.assert_near
debugging.assert_none_equal"""
_GROUPS = {"unary": (_UNARY, 1), "binary": (_BINARY, 2), "assert": (_ASSERTS, 2)}


class Dispatcher:
    """Replaces a public function: calls handlers whose types match, otherwise the function."""

    def __init__(self, function):
        self.function, self.handlers = function, []
        functools.update_wrapper(self, function, updated=())
        self.__signature__ = inspect.signature(function)

    def __call__(self, *args, **kwargs):
        for matches, handler in reversed(self.handlers):
            bound = self._bound(args, kwargs)
            if bound is None:
                break
            if matches(bound):
                result = handler(bound, args, kwargs)
                if result is not NotImplemented:
                    return result
        return self.function(*args, **kwargs)

    def _bound(self, args, kwargs):
        """Returns the arguments by name; None if they do not fit the signature."""
        try:
            return self.__signature__.bind(*args, **kwargs).arguments
        except TypeError:
            return None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self):
        return repr(self.function)


_dispatchers: dict[int, Dispatcher] = {}  # by the id of the function, which they keep alive


def dispatcher_of(function) -> Dispatcher:
    """Returns the dispatcher of a public function, which replaces it in the public modules.

    Raises:
      ValueError: the function is not public.
    """
    if isinstance(function, Dispatcher):
        return function
    if id(function) in _dispatchers:
        return _dispatchers[id(function)]
    if not callable(function) or isinstance(function, type) or not api.is_public(function):
        raise ValueError(f"{function} does not support dispatch.")
    made = _dispatchers[id(function)] = Dispatcher(function)
    api.replace(function, made)
    return made


# Types


def _is_union(origin):
    return origin is typing.Union or origin is getattr(types, "UnionType", typing.Union)


def _check_annotation(annotation):
    """Raises a ValueError for an annotation that dispatch does not support."""
    origin = typing.get_origin(annotation)
    if origin is None:
        if isinstance(annotation, type):
            return
    elif _is_union(origin) or origin in (list, collections.abc.Sequence):
        for one in typing.get_args(annotation):
            _check_annotation(one)
        return
    raise ValueError(
        f"Type annotation {annotation} is not currently supported by dispatch. Supported "
        "annotations: type objects, List[...], and Union[...]"
    )


def _matches(annotation, value):
    """Returns whether a value has the type of an annotation."""
    origin = typing.get_origin(annotation)
    if origin is None:
        return isinstance(value, annotation)
    arguments = typing.get_args(annotation)
    if origin in (list, collections.abc.Sequence):
        return isinstance(value, (list, tuple)) and all(_matches(arguments[0], v) for v in value)
    return any(_matches(one, value) for one in arguments)


def _contains(annotation, value):
    """Returns whether a value matches an annotation and is, or contains, a composite tensor: plain
    tensors alone do not call a handler."""
    return _matches(annotation, value) and _has_composite(value)


def _has_composite(value):
    if isinstance(value, (list, tuple)):
        return any(map(_has_composite, value))
    return hasattr(type(value), "_situ_tensors_")


def _signature_matcher(signature):
    """Returns a function that tests arguments by the types of their parameters."""

    def matches(bound):
        if any(name in bound and not _matches(kind, bound[name]) for name, kind in signature):
            return False
        return any(name in bound and _contains(kind, bound[name]) for name, kind in signature)

    return matches


def _normalized(dispatcher, signature, names):
    """Returns the (parameter, type) pairs of a signature, whose keys are names or positions."""
    pairs = []
    for key, kind in signature.items():
        if isinstance(key, int) and not -len(names) <= key < len(names):
            raise ValueError(
                f"signature has annotation for position {key}, but {dispatcher.__name__} has only "
                f"{len(names)} parameters"
            )
        name = names[key] if isinstance(key, int) else key
        if name not in names:
            raise ValueError(
                f"signature has annotation for unknown parameter {name!r} of {dispatcher.__name__}."
            )
        kind = type(None) if kind is None else kind
        _check_annotation(kind)
        pairs.append((name, kind))
    return pairs


def _check_parameters(dispatcher, target):
    """Raises a ValueError if a handler has other parameters than the function."""
    names = list(dispatcher.__signature__.parameters)
    own = list(inspect.signature(target).parameters)
    if own != names and not (own + ["name"] == names):
        raise ValueError(
            f"Dispatch function's signature {inspect.signature(target)} does not match API's "
            f"signature {dispatcher.__signature__}."
        )


@export("experimental.dispatch_for_api")
def dispatch_for_api(api: Any, *signatures: Any) -> Any:
    """Returns a decorator: the function handles calls of a public function whose arguments have
    types.

    Args:
      api: the public function, such as tf.concat.
      *signatures: dictionaries from names or positions of parameters to types: classes, or lists
        and unions of them; default: the annotations of the decorated function.

    Raises:
      ValueError: the function is not public, its parameters differ, or there are no types.
    """
    dispatcher = dispatcher_of(api)
    names = list(dispatcher.__signature__.parameters)
    given = [_normalized(dispatcher, signature, names) for signature in signatures]

    def decorate(target):
        if not callable(target):
            raise TypeError(f"Expected dispatch_target to be callable; got {target!r}")
        _check_parameters(dispatcher, target)
        found = given
        if not found:
            hints = {k: v for k, v in typing.get_type_hints(target).items() if k in names}
            if not hints:
                raise ValueError(
                    "The signature must contain at least one parameter with a type annotation: "
                    f"{target} has none."
                )
            found = [_normalized(dispatcher, hints, names)]
        for signature in found:
            handler = _named_handler(target)
            dispatcher.handlers.append((_signature_matcher(signature), handler))
        return target

    return decorate


def _named_handler(target):
    def handler(bound, args, kwargs):
        del bound  # the arguments are passed as they were given
        return target(*args, **kwargs)

    handler.target = target
    return handler


# Element-wise functions


def _elementwise(group, *kinds):
    """Returns a decorator that registers a handler of a group of functions."""
    for kind in kinds:
        _check_annotation(kind)
    names, count = _GROUPS[group]

    def decorate(handler):
        for name in names.split():
            try:
                function = api.named(name)
            except KeyError:
                continue  # situ does not have it
            _register_elementwise(dispatcher_of(function), count, kinds, handler)
        return handler

    return decorate


def _register_elementwise(dispatcher, count, kinds, handler):
    """Adds a handler that is called with the function and its first arguments; the function it
    gets has all others bound."""
    parameters = list(dispatcher.__signature__.parameters)[:count]

    def matches(bound):
        values = [bound.get(name) for name in parameters]
        if any(name not in bound for name in parameters):
            return False
        fit = all(_matches(kind, value) for kind, value in zip(kinds, values))
        return fit and any(_contains(kind, value) for kind, value in zip(kinds, values))

    def call(bound, args, kwargs):
        del args, kwargs  # bound
        values = [bound[name] for name in parameters]
        rest = {k: v for k, v in bound.items() if k not in parameters}
        function = functools.partial(dispatcher, **rest) if rest else dispatcher
        return handler(function, *values)

    call.target = handler
    dispatcher.handlers.append((matches, call))


@export("experimental.dispatch_for_unary_elementwise_apis")
def dispatch_for_unary_elementwise_apis(x_type: Any) -> Any:
    """Returns a decorator of a handler `f(api_func, x)` of element-wise functions of one tensor.

    Args:
      x_type: the type of x.
    """
    return _elementwise("unary", x_type)


@export("experimental.dispatch_for_binary_elementwise_apis")
def dispatch_for_binary_elementwise_apis(x_type: Any, y_type: Any) -> Any:
    """Returns a decorator of a handler `f(api_func, x, y)` of element-wise functions of two
    tensors.

    Args:
      x_type: the type of x.
      y_type: the type of y.
    """
    return _elementwise("binary", x_type, y_type)


@export("experimental.dispatch_for_binary_elementwise_assert_apis")
def dispatch_for_binary_elementwise_assert_apis(x_type: Any, y_type: Any) -> Any:
    """Returns a decorator of a handler `f(api_func, x, y)` of assertions that compare two tensors.

    Args:
      x_type: the type of x.
      y_type: the type of y.
    """
    return _elementwise("assert", x_type, y_type)


@export("experimental.unregister_dispatch_for")
def unregister_dispatch_for(dispatch_target: Any) -> None:
    """Removes a handler from all functions that it was registered for.

    Args:
      dispatch_target: the function that was decorated.

    Raises:
      ValueError: it was not registered.
    """
    found = False
    for dispatcher in _dispatchers.values():
        kept = [h for h in dispatcher.handlers if h[1].target is not dispatch_target]
        found = found or len(kept) < len(dispatcher.handlers)
        dispatcher.handlers[:] = kept
    if not found:
        raise ValueError(f"Function {dispatch_target} was not registered.")
