# SPDX-License-Identifier: Apache-2.0
"""module.py: tf.Module: an object that tracks its variables and submodules."""

from __future__ import annotations

import functools
import re

from situ._src.framework import nest
from situ._src.framework.api import export
from situ._src.framework.autotrackable import AutoTrackable
from situ._src.framework.scopes import name_scope
from situ._src.variables.variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import (
        Any,
        Callable,
    )


def _snake(name):
    return re.sub(
        r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    ).lower()


def _leaves(name, value):
    """Returns the leaves of an attribute."""
    try:
        return nest.flatten(value)
    except Exception as cause:
        raise ValueError(f"Error processing property {name!r} of {value!r}") from cause


@export("Module")
class Module(AutoTrackable):
    """A container of variables and other modules: in attributes, and in lists, tuples and dicts of
    attributes.

    Args:
      name: a Python identifier; by default the class name in snake case.

    Raises:
      ValueError: the name is not an identifier.
    """

    def __init__(self, name: str | None = None):
        if name is None:
            name = _snake(type(self).__name__)
        elif not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(
                f"'{name}' is not a valid module name. Module names must be valid "
                "Python identifiers (e.g. a valid class name)."
            )
        self._name = name
        with name_scope(name) as full:
            self._scope_name = full

    name = property(lambda s: s.__dict__.get("_name") or _snake(type(s).__name__))

    @property
    def name_scope(self) -> Any:
        """The scope of the module, as it was when the module was made."""
        return name_scope(self.__dict__.get("_scope_name") or self.name + "/")

    def _flatten(self, recursive=True, predicate=lambda v: True):
        """Returns the variables and modules that satisfy `predicate`: by attributes in the order of
        their names, then those of the submodules."""
        seen, result = {id(self)}, []

        def members(module):
            below = []
            for key in sorted(vars(module)):
                for leaf in _leaves(key, vars(module)[key]):
                    if id(leaf) in seen or not isinstance(leaf, (Variable, Module)):
                        continue
                    seen.add(id(leaf))
                    if predicate(leaf):
                        result.append(leaf)
                    if isinstance(leaf, Module) and recursive:
                        below.append(leaf)
            for inner in below:
                members(inner)

        members(self)
        return tuple(result)

    @property
    def variables(self) -> Any:
        """The variables of this module and its submodules."""
        return self._flatten(predicate=lambda v: isinstance(v, Variable))

    @property
    def trainable_variables(self) -> Any:
        """The trainable variables of this module and its submodules."""
        return self._flatten(predicate=lambda v: isinstance(v, Variable) and v.trainable)

    @property
    def non_trainable_variables(self) -> Any:
        """The variables that are not trainable."""
        return self._flatten(predicate=lambda v: isinstance(v, Variable) and not v.trainable)

    @property
    def submodules(self) -> Any:
        """The submodules, recursively."""
        return self._flatten(predicate=lambda v: isinstance(v, Module))

    @classmethod
    def with_name_scope(cls, method: Callable) -> Any:
        """Decorates a method to run in the name scope of the module.

        Args:
          method: the method.
        """

        @functools.wraps(method)
        def call(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        return call
