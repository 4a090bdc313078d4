# SPDX-License-Identifier: Apache-2.0
"""trace_recorder.py: execution records (what ran where and when) for `situ run --trace`,
tf.profiler and tf.summary.trace_on, and their Chrome trace format."""

from __future__ import annotations

import json
import os

import _situ

_QUEUES = ("compute", "copies in", "copies out")
_shared: dict = {"recording": None, "users": 0}


class Recording:
    """Records from construction until `end`. The engine has one recording, which concurrent users
    share."""

    def __init__(self):
        if not _shared["users"]:
            _shared["recording"] = _situ.Recording()
            _shared["recording"].everything(True)
        _shared["users"] += 1
        self._recording = _shared["recording"]
        self._first = len(self._recording.records())

    def end(self) -> list:
        """Stops recording.

        Returns:
          A list of (node, op, device, source, queue, bytes, start, end), with times in nanoseconds
          since 1970.
        """
        rows = self._recording.records()[self._first :]
        _shared["users"] -= 1
        if not _shared["users"]:
            self._recording.everything(False)
            _shared["recording"] = None
        return rows


def chrome_trace(rows: list, spans: list | tuple = ()) -> str:
    """Formats records for chrome://tracing, Perfetto and TensorBoard's trace viewer: a process per
    device, a thread per queue, and a process for the spans of the program.

    Args:
      rows: the records that Recording.end returns.
      spans: (name, thread, start, end, arguments) of each span.

    Returns:
      A JSON string.
    """
    devices = sorted({row[2] for row in rows})
    begin = min([row[6] for row in rows] + [span[2] for span in spans], default=0)
    events = []
    for pid, device in enumerate(devices):
        events.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": device}})
        events += [
            {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}
            for tid, name in enumerate(_QUEUES)
        ]
    for node, op, device, source, queue, size, start, end in rows:
        args = {"name": node} if source is None else {"name": node, "from": source, "bytes": size}
        events.append(
            {
                "ph": "X",
                "cat": "op",
                "name": op if source is None else "copy",
                "pid": devices.index(device),
                "tid": queue,
                "ts": (start - begin) / 1000,
                "dur": (end - start) / 1000,
                "args": args,
            }
        )
    if spans:
        events.append(
            {"ph": "M", "pid": len(devices), "name": "process_name", "args": {"name": "program"}}
        )
    for name, thread, start, end, args in spans:
        events.append(
            {
                "ph": "X",
                "cat": "span",
                "name": name,
                "pid": len(devices),
                "tid": thread,
                "ts": (start - begin) / 1000,
                "dur": (end - start) / 1000,
                "args": args,
            }
        )
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})


def check_writable(path: str) -> None:
    """Raises OSError if a file cannot be written; leaves an existing one unchanged."""
    is_new = not os.path.exists(path)
    with open(path, "ab"):
        pass
    if is_new:
        os.unlink(path)
