# SPDX-License-Identifier: Apache-2.0
"""deferred_restore.py: what a checkpoint has for variables that are not made yet: they get it
when an object that was restored takes them up."""

from __future__ import annotations

import _situ

pending: list = []  # restores whose objects may still get variables
_MOST = 16


def wait(status):
    """Keeps a restore that is not done; of too many, the oldest is given up."""
    pending.append(status)
    del pending[:-_MOST]


def settle():
    """Restores variables that were made after a restore: slots, layers, attributes."""
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
