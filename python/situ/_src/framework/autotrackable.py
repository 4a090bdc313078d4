# SPDX-License-Identifier: Apache-2.0
"""autotrackable.py: AutoTrackable: an object whose attributes checkpoints and SavedModels keep."""

from __future__ import annotations

from situ._src.checkpoint import deferred_restore
from situ._src.framework.api import BOTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AutoTrackable:
    """An object that depends on what its attributes hold: variables, tables, functions and other
    such objects, also in lists, tuples and dicts. tf.train.Checkpoint and tf.saved_model.save keep
    these; an attribute that is deleted is forgotten.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        may_hold = hasattr(value, "__dict__") or isinstance(value, (list, tuple, dict))
        if may_hold and deferred_restore.pending:
            deferred_restore.settle()


for _module in ("trackable.autotrackable", "training.tracking.tracking"):
    BOTH[f"python.{_module}.AutoTrackable"] = AutoTrackable
