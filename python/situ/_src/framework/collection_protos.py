# SPDX-License-Identifier: Apache-2.0
"""collection_protos.py: which message the items of a collection of a graph are written as."""

from __future__ import annotations

import functools

from situ._src.framework import graph_scopes
from situ._src.framework.api import BOTH, export
from situ._src.framework.graph import GraphKeys
from situ._src.framework.message_classes import message_class
from situ._src.legacy.queue_runner import QueueRunner
from situ._src.variables import variable, variable_def

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

_registered: dict[str, tuple] = {}  # key -> message type, to_proto, from_proto


@export("python.framework.ops.register_proto_function")
def register_proto_function(
    collection_name: str, proto_type: Any = None, to_proto: Any = None, from_proto: Any = None
) -> None:
    """Registers how the items of a collection are written to MetaGraphDefs.

    Args:
      collection_name: the key of the collection.
      proto_type: the message class.
      to_proto: a function of an item and `export_scope` that returns a message.
      from_proto: a function of a message and `import_scope` that returns an item.

    Raises:
      TypeError: `to_proto` or `from_proto` is not callable.
    """
    for name, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be callable.")
    _registered[collection_name] = proto_type, to_proto, from_proto


def proto_functions(key: str) -> tuple | None:
    """Returns message type, to_proto and from_proto of a collection, or None."""
    return {**_standard(), **_registered}.get(key)


@functools.cache
def _standard() -> dict[str, tuple]:
    from situ._src.checkpoint.saver import Saver

    def variable_from(proto: Any, import_scope: str | None = None) -> Any:
        return variable_def.from_proto(variable.RefVariable, proto, import_scope)

    functions = variable_def.VariableDef, variable_def.to_proto, variable_from
    keys = (
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        GraphKeys.METRIC_VARIABLES,
        GraphKeys.GLOBAL_STEP,
    )
    return {
        **dict.fromkeys(keys, functions),
        GraphKeys.SAVERS: (
            message_class("tensorflow.SaverDef"),
            Saver.to_proto,
            Saver.from_proto,
        ),
        GraphKeys.QUEUE_RUNNERS: (
            message_class("tensorflow.QueueRunnerDef"),
            QueueRunner.to_proto,
            QueueRunner.from_proto,
        ),
    }


def _part(index: int) -> Any:
    def get(collection_name: str) -> Any:
        functions = proto_functions(collection_name)
        return None if functions is None else functions[index]

    return get


BOTH["python.framework.ops.get_collection_proto_type"] = _part(0)
BOTH["python.framework.ops.get_to_proto_function"] = _part(1)
BOTH["python.framework.ops.get_from_proto_function"] = _part(2)
BOTH["python.framework.ops.strip_name_scope"] = graph_scopes.strip_name_scope
BOTH["python.framework.ops.prepend_name_scope"] = graph_scopes.prepend_name_scope
