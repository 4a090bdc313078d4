# SPDX-License-Identifier: Apache-2.0
"""module.py: tf.Module: an object that finds its variables."""
import functools
import re

from situ._lib.api import export
from situ._lib.scopes import name_scope
from situ._lib.variables import Variable


def _snake(name):
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2",
                  re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


@export("Module")
class Module:
    """Holds variables and other modules as attributes, in lists and dicts, too."""

    def __init__(self, name=None):
        if name is None:
            name = _snake(type(self).__name__)
        elif not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"'{name}' is not a valid module name. Module names must be valid "
                             "Python identifiers (e.g. a valid class name).")
        self._name = name

    name = property(lambda s: s.__dict__.get("_name") or _snake(type(s).__name__))

    @property
    def name_scope(self):
        return name_scope(self.name)

    def _flatten(self, recursive=True, predicate=lambda v: True):
        """What is held, attribute by attribute in the order of their names."""
        seen, found = {id(self)}, []

        def visit(thing):
            if id(thing) in seen:
                return
            if isinstance(thing, (Variable, Module)):
                seen.add(id(thing))
                if predicate(thing):
                    found.append(thing)
                if isinstance(thing, Module) and recursive:
                    members(thing)
            elif isinstance(thing, dict):
                for key in sorted(thing, key=str):
                    visit(thing[key])
            elif isinstance(thing, (list, tuple)):
                for part in thing:
                    visit(part)

        def members(module):
            for key in sorted(vars(module)):
                visit(vars(module)[key])
        members(self)
        return tuple(found)

    @property
    def variables(self):
        return self._flatten(predicate=lambda v: isinstance(v, Variable))

    @property
    def trainable_variables(self):
        return self._flatten(predicate=lambda v: isinstance(v, Variable) and v.trainable)

    @property
    def non_trainable_variables(self):
        return self._flatten(predicate=lambda v: isinstance(v, Variable) and not v.trainable)

    @property
    def submodules(self):
        return self._flatten(predicate=lambda v: isinstance(v, Module))

    @classmethod
    def with_name_scope(cls, method):
        """A decorator: names of what the method makes begin with the module's."""
        @functools.wraps(method)
        def call(self, *args, **words):
            with self.name_scope:
                return method(self, *args, **words)
        return call
