# SPDX-License-Identifier: Apache-2.0
"""arg_scope.py: slim.arg_scope: default arguments of functions within a scope."""

from __future__ import annotations

import contextlib
import functools
import inspect

from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_stack: list[dict] = [{}]  # function -> arguments, the innermost scope last
_NAMES = ("contrib.framework.", "contrib.slim.", "contrib.framework.python.ops.")


def _under(name):
    return tuple(prefix + name for prefix in _NAMES)


@export(v1=_under("add_arg_scope"))
def add_arg_scope(func: Any) -> Any:
    """Decorator: a function whose arguments an arg_scope may set.

    Args:
      func: The function.
    """

    @functools.wraps(func)
    def scoped(*args, **kwargs):
        given = _stack[-1].get(scoped)
        return func(*args, **({**given, **kwargs} if given else kwargs))

    scoped.__dict__["_takes_arg_scope"] = True
    return scoped


@export(v1=_under("has_arg_scope"))
def has_arg_scope(func: Any) -> bool:
    """Whether a function is decorated with add_arg_scope.

    Args:
      func: The function.
    """
    return hasattr(func, "_takes_arg_scope")


@export(v1=_under("arg_scoped_arguments"))
def arg_scoped_arguments(func: Any) -> Any:
    """Returns the names of the arguments that an arg_scope may set.

    Args:
      func: The function.
    """
    if not has_arg_scope(func):
        return ()
    return tuple(
        p.name for p in inspect.signature(func).parameters.values() if p.default is not p.empty
    )


@contextlib.contextmanager
def _entered(scope):
    _stack.append(scope)
    try:
        yield scope
    finally:
        _stack.pop()


@export(v1=_under("arg_scope"))
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Any:
    """Context that sets default arguments of functions.

    Args:
      list_ops_or_scope: List of functions decorated with add_arg_scope, or a scope that an earlier
        `with arg_scope(...) as scope` returned.
      **kwargs: The arguments; empty with a scope.

    Yields:
      The scope.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling a dictionary, kwargs must be empty."
            )
        return _entered(dict(list_ops_or_scope))
    if not isinstance(list_ops_or_scope, (list, tuple)):
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    scope = dict(_stack[-1])
    for func in list_ops_or_scope:
        if not has_arg_scope(func):
            raise ValueError(
                f"{getattr(func, '__name__', func)} is not decorated with @add_arg_scope"
            )
        scope[func] = {**scope.get(func, {}), **kwargs}
    return _entered(scope)
