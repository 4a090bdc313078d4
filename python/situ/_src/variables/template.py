# SPDX-License-Identifier: Apache-2.0
"""template.py: tf.make_template: functions whose calls share the variables of the first call."""

from __future__ import annotations

import contextlib
import functools

import _situ
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys
from situ._src.variables.variable_scope import variable_scope
from situ._src.variables.variable_store import EagerVariableStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export(
    "make_template", v1=("contrib.eager.make_template", "contrib.eager.python.tfe.make_template")
)
def make_template(
    name_: Any,
    func_: Any,
    create_scope_now_: bool = False,
    unique_name_: Any = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Any:
    """Wraps a function so that all calls share the variables of the first one.

    Args:
      name_: the name of the variable scope.
      func_: the function.
      create_scope_now_: whether to open the scope now instead of at the first call.
      unique_name_: a name of the scope that is not made unique.
      custom_getter_: a custom getter for the scope.
      **kwargs: keyword arguments for all calls.

    Returns:
      A callable.
    """
    return _Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class _Template:
    """The callable that make_template returns."""

    def __init__(self, name, function, now, unique_name, getter, kwargs):
        self._function = functools.partial(function, **kwargs) if kwargs else function
        self._name, self._unique, self._getter = name, unique_name, getter
        self.__name__ = name
        self._scope = self._made = None
        if now:
            with self._enter() as here:
                self._scope = here

        self._store = EagerVariableStore() if _situ.current_graph() is None else None

    def _enter(self):
        if self._unique:
            return variable_scope(self._unique, custom_getter=self._getter)
        return variable_scope(None, self._name, custom_getter=self._getter)

    def __call__(self, *args, **kwargs):
        with self._store.as_default() if self._store else contextlib.nullcontext():
            if self._scope is None:
                with self._enter() as here:
                    self._scope = here
                    return self._call(args, kwargs)
            with variable_scope(self._scope, reuse=True if self._made else None):
                return self._call(args, kwargs)

    def _call(self, args, kwargs):
        result = self._function(*args, **kwargs)
        if not self._made:
            self._made = bool(self.global_variables)
        return result

    def _collected(self, key):
        return self._scope.get_collection(key) if self._scope else []

    @property
    def global_variables(self):
        """The global variables of the calls."""
        if self._store:
            return self._store.variables()
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self):
        """The local variables of the calls."""
        return [] if self._store else self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def variables(self):
        """The global and local variables of the calls."""
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self):
        """The trainable variables of the calls."""
        if self._store:
            return self._store.trainable_variables()
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self):
        """The global variables of the calls that are not trainable."""
        trainable = {id(v) for v in self.trainable_variables}
        return [v for v in self.global_variables if id(v) not in trainable]

    name = property(lambda s: s._name)
    func = property(lambda s: s._function)
    variable_scope = var_scope = property(lambda s: s._scope)
    variable_scope_name = property(lambda s: s._scope.name if s._scope else None)
    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables
