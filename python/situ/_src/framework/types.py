# SPDX-License-Identifier: Apache-2.0
"""types.py: tf.types.experimental: classes for annotations, isinstance checks and the tracing
protocol."""

from __future__ import annotations

import abc
import typing

from situ._src.framework.api import export
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.function import Function
from situ._src.framework.type_spec import Signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import (
        Any,
        Sequence,
    )

export("types.experimental.GenericFunction", "types.experimental.PolymorphicFunction")(Function)
export("types.experimental.ConcreteFunction")(ConcreteFunction)
export("types.experimental.FunctionType")(Signature)
export("types.experimental.TensorLike")(typing.Any)
export("types.experimental.Callable")(typing.Callable)


@export("types.experimental.TraceType")
class TraceType(abc.ABC):
    """The type of an argument of tf.function: equal types share a trace. Objects define theirs with
    the method `__tf_tracing_type__(context)`."""

    @abc.abstractmethod
    def is_subtype_of(self, other: object) -> None:
        """Returns whether a trace for `other` can be used for this type."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others: Sequence) -> None:
        """Returns a type that includes this one and the others, or None."""

    @abc.abstractmethod
    def placeholder_value(self, placeholder_context: Any) -> None:
        """Returns the value that the function is traced with."""

    @abc.abstractmethod
    def __hash__(self):
        """Returns a hash; equal types have equal hashes."""

    @abc.abstractmethod
    def __eq__(self, other):
        """Returns whether both types can share a trace."""


@export("types.experimental.SupportsTracingProtocol")
class SupportsTracingProtocol(typing.Protocol):
    """Objects that define their own TraceType."""

    def __tf_tracing_type__(self, context):
        """Returns the TraceType of the object."""
