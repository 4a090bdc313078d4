# SPDX-License-Identifier: Apache-2.0
"""callbacks_logging.py: callbacks that log the results of epochs: CSVLogger, RemoteMonitor."""

from __future__ import annotations

import csv
import json
import os
import urllib.parse
import urllib.request

import numpy

from situ._src.framework import logs as messages
from situ._src.keras.callbacks import Callback
from situ._src.keras.registry import keras_export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@keras_export("callbacks.CSVLogger")
class CSVLogger(Callback):
    """Writes the results of each epoch as a line of a CSV file.

    Args:
      filename: Path of the file.
      separator: String between values.
      append: Whether to append to an existing file.
    """

    keys: Any
    writer: Any
    _file: Any

    def __init__(
        self, filename: str | os.PathLike, separator: str = ",", append: bool = False
    ) -> None:
        super().__init__()
        self.filename, self.sep, self.append = os.fspath(filename), separator, append
        self.keys = self.writer = self._file = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        has_lines = (
            self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        )
        self.append_header = not has_lines
        self._file = open(self.filename, "a" if self.append else "w", newline="")
        self.writer = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if self.writer is None:
            self.keys = sorted(logs)
            self.writer = csv.DictWriter(
                self._file, ["epoch", *self.keys], delimiter=self.sep, lineterminator="\n"
            )
            if self.append_header:
                self.writer.writeheader()
        row: dict[str, Any] = {"epoch": epoch}
        row.update(
            (
                k,
                logs.get(k, "NA")
                if not isinstance(logs.get(k), numpy.ndarray)
                else f'"[{", ".join(map(str, logs[k]))}]"',
            )
            for k in self.keys
        )
        self.writer.writerow(row)
        self._file.flush()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._file.close()
        self.writer = None


@keras_export("callbacks.RemoteMonitor")
class RemoteMonitor(Callback):
    """Sends the results of each epoch to a web server by POST.

    Args:
      root: Address of the server.
      path: Path of the request.
      field: Name of the form field that holds the JSON.
      headers: Dictionary of HTTP headers.
      send_as_json: Whether to send JSON instead of a form.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Any = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root, self.path, self.field, self.headers = root, path, field, headers or {}
        self.send_as_json = send_as_json

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        body, headers = json.dumps({"epoch": epoch, **(logs or {})}), dict(self.headers)
        if self.send_as_json:
            headers["Content-Type"] = "application/json"
        else:
            body = urllib.parse.urlencode({self.field: body})
        try:
            urllib.request.urlopen(
                urllib.request.Request(self.root + self.path, body.encode(), headers), timeout=5
            ).close()
        except OSError:
            messages.warn("Could not reach RemoteMonitor root server at %s", self.root)
