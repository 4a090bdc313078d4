# SPDX-License-Identifier: Apache-2.0
"""deferred_restore.py: restores of variables that are created after a checkpoint was read: pending
statuses are run again when objects are tracked."""

from __future__ import annotations

import _situ

pending: list = []  # restores that have unused values
_MAX_PENDING = 16


def wait(status) -> None:
    """Adds an incomplete restore; drops the oldest if there are too many."""
    pending.append(status)
    del pending[:-_MAX_PENDING]


def settle() -> None:
    """Restores variables that were created since: slots, layers, attributes."""
    graph = _situ.current_graph()
    if not pending or graph is not None and not graph.building_function:
        return
    before = _situ.swap_graph(None)
    try:
        for status in list(pending):
            status.run()
            if status.is_done() and status in pending:
                pending.remove(status)
    finally:
        _situ.swap_graph(before)
