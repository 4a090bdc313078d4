# SPDX-License-Identifier: Apache-2.0
"""keywords.py: errors for keyword arguments that a function does not have or support."""

from __future__ import annotations

import difflib
import functools
import inspect

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def _known_names(function: Callable | Iterable[str]) -> list:
    if not callable(function):
        return list(function)
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind not in kinds and p.name != "self"]


def unexpected(name: str, keyword: str, known: Callable | Iterable[str] = ()) -> TypeError:
    """Returns Python's error for an unknown keyword, with the most similar name that is known.

    Args:
      name: the function's name, without parentheses.
      keyword: the argument that it does not have.
      known: the names that it has, or the function itself.
    """
    similar = difflib.get_close_matches(keyword, _known_names(known), 1)
    hint = f". Did you mean '{similar[0]}'?" if similar else ""
    return TypeError(f"{name}() got an unexpected keyword argument '{keyword}'{hint}")


def reject_unknown(function: Callable, kwargs: Mapping[str, Any], name: str = "") -> None:
    """Raises a TypeError if kwargs, the rest of a call's keyword arguments, is not empty."""
    for keyword in kwargs:
        raise unexpected(name or function.__name__, keyword, function)


def unsupported(function: str, **arguments: Any) -> None:
    """Raises a NotImplementedError for arguments of TensorFlow with a value that situ cannot obey.

    Each argument is a pair: the value that was given, and the default, which is fine.
    """
    for keyword, (value, default) in arguments.items():
        if value is not default and not _same(value, default):
            raise NotImplementedError(f"{function}: {keyword}={value!r} is not supported yet.")


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except (TypeError, ValueError):
        return False


def bind(name: str, defaults: Mapping[str, Any], args: tuple, kwargs: Mapping[str, Any]) -> dict:
    """Returns the values of a call's arguments by name, as Python would bind them.

    Args:
      name: the function's name, for errors.
      defaults: the names of its parameters in their order, with their defaults.
      args, kwargs: what it was called with.
    """
    names = list(defaults)
    if len(args) > len(names):
        raise TypeError(
            f"{name}() takes at most {len(names)} positional arguments but {len(args)} were given"
        )
    found = dict(zip(names, args))
    for keyword, value in kwargs.items():
        if keyword not in defaults:
            raise unexpected(name, keyword, names)
        if keyword in found:
            raise TypeError(f"{name}() got multiple values for argument '{keyword}'")
        found[keyword] = value
    for keyword, value in defaults.items():
        if value is inspect.Parameter.empty and keyword not in found:
            raise TypeError(f"{name}() missing 1 required positional argument: '{keyword}'")
    return {**defaults, **found}


def with_order(function: Callable, *names: str) -> Callable:
    """Returns a function whose positional arguments are in another order.

    TensorFlow 1 and 2 have functions with the same arguments in different orders.

    Args:
      function: a function whose arguments can all be passed by keyword.
      *names: the arguments of the result in their order; it accepts no others.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) > len(names):
            raise TypeError(
                f"{function.__name__}() takes at most {len(names)} positional arguments but "
                f"{len(args)} were given"
            )
        for keyword in kwargs:
            if keyword not in names:
                raise unexpected(function.__name__, keyword, names)
            if keyword in names[: len(args)]:
                raise TypeError(
                    f"{function.__name__}() got multiple values for argument '{keyword}'"
                )
        return function(**dict(zip(names, args)), **kwargs)

    parameters = inspect.signature(function).parameters
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_optional_after_required(parameters[n], parameters, names) for n in names],
        return_annotation=inspect.signature(function).return_annotation,
    )
    return call


def _optional_after_required(parameter, parameters, names):
    """Returns a parameter; as required if a required one follows it."""
    rest = names[names.index(parameter.name) + 1 :]
    if any(parameters[n].default is inspect.Parameter.empty for n in rest):
        return parameter.replace(default=inspect.Parameter.empty)
    return parameter


def signature(defaults: Mapping[str, Any], first: Iterable[str] = ()) -> inspect.Signature:
    """Returns the signature of a function that binds its arguments with `bind`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            *[inspect.Parameter(n, kind) for n in first],
            *[inspect.Parameter(n, kind, default=value) for n, value in defaults.items()],
        ]
    )
