# SPDX-License-Identifier: Apache-2.0
"""traces.py: the traces of a tf.function, a cache with a byte budget."""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from typing import Any

BUDGET = 6 << 20  # bytes for the traces of one function
MIN_TRACES = 16  # stay, however large they are: tracing again takes long
BYTES_PER_TRACE, BYTES_PER_NODE = 40 << 10, 3 << 10  # measured


class Traces(dict):
    """Concrete functions by key, in the order in which they were traced.

    If they need more than BUDGET, those that were used least recently are dropped; a call traces
    them again. A concrete function that the program refers to stays usable.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count = 0  # traces so far, dropped ones included
        self._bytes = self._clock = 0
        self._used: dict[Any, int] = {}

    def __getitem__(self, key: Any) -> Any:
        self._clock += 1
        self._used[key] = self._clock
        return super().__getitem__(key)

    def __setitem__(self, key: Any, concrete: Any) -> None:
        self._clock += 1
        self.count += 1
        self._used[key] = self._clock
        self._bytes += _size(concrete)
        super().__setitem__(key, concrete)
        while self._bytes > BUDGET and len(self) > MIN_TRACES:
            oldest = min(self._used, key=self._used.__getitem__)
            del self._used[oldest]
            self._bytes -= _size(self.pop(oldest))

    def clear(self) -> None:
        """Drops all traces."""
        super().clear()
        self._used.clear()
        self._bytes = 0


def _size(concrete: Any) -> int:
    """About the memory of a concrete function."""
    return BYTES_PER_TRACE + BYTES_PER_NODE * int(concrete.graph.version)
