# SPDX-License-Identifier: Apache-2.0
"""types.py: tf.types.experimental: classes to annotate with, to ask for, to derive from."""

from __future__ import annotations

import abc
import typing

from situ._src.framework.api import export
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.function import Function
from situ._src.framework.type_spec import Signature

export("types.experimental.GenericFunction", "types.experimental.PolymorphicFunction")(Function)
export("types.experimental.ConcreteFunction")(ConcreteFunction)
export("types.experimental.FunctionType")(Signature)
export("types.experimental.TensorLike")(typing.Any)
export("types.experimental.Callable")(typing.Callable)


@export("types.experimental.TraceType")
class TraceType(abc.ABC):
    """What arguments of functions are alike: equal ones share a trace. An object says it by its
    method `__tf_tracing_type__(context)`."""

    @abc.abstractmethod
    def is_subtype_of(self, other):
        """Whether a trace for the other serves this one."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others):
        """One that serves all of them, or None."""

    @abc.abstractmethod
    def placeholder_value(self, placeholder_context):
        """What the function is traced with."""

    @abc.abstractmethod
    def __hash__(self):
        """Equal ones have equal numbers."""

    @abc.abstractmethod
    def __eq__(self, other):
        """Whether a trace for the one serves the other."""


@export("types.experimental.SupportsTracingProtocol")
class SupportsTracingProtocol(typing.Protocol):
    """Objects that say themselves what they are alike."""

    def __tf_tracing_type__(self, context):
        """The TraceType of the object."""
