# SPDX-License-Identifier: Apache-2.0
"""event_file.py: TFRecord framing (length and masked CRC-32C), and event files for TensorBoard."""

from __future__ import annotations

import itertools
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import _situ
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.summary.protos import Event

_file_ids = itertools.count()


def masked_crc(data) -> int:
    """Returns the masked CRC-32C of data, as TFRecord files store it."""
    crc = _situ.crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """Returns data as a record: length, its checksum, data, its checksum."""
    head = struct.pack("<Q", len(data))
    return b"".join(
        (head, struct.pack("<I", masked_crc(head)), data, struct.pack("<I", masked_crc(data)))
    )


def _loss(path, at, what):
    return errors.DataLossError(None, None, f"{path}: corrupted record at {at}: {what}")


def read_records(path):
    """Yields the records of a file.

    Raises:
      DataLossError: a record is damaged; the message has the file and the offset.
    """
    with open(path, "rb") as file:
        yield from records_of(file, path, os.path.getsize(path))


def records_of(file: Any, path: Any, limit: int) -> Iterator[bytes]:
    """Yields the records of a stream; none can have more than `limit` bytes.

    Raises:
      DataLossError: a record is damaged; the message has the file and the offset.
    """
    at = 0
    while head := file.read(12):
        if len(head) < 12:
            raise _loss(path, at, "the file ends within a length")
        size, crc = struct.unpack("<QI", head)
        if masked_crc(head[:8]) != crc:
            raise _loss(path, at, "wrong checksum of a length")
        if size > limit:
            raise _loss(path, at, f"a record of {size} bytes does not fit in the file")
        data, crc = file.read(size), file.read(4)
        if len(data) < size or len(crc) < 4:
            raise _loss(path, at, "the file ends within a record")
        if masked_crc(data) != struct.unpack("<I", crc)[0]:
            raise _loss(path, at, "wrong checksum of a record")
        yield data
        at += size + 16


@export("compat.v1.train.summary_iterator", v1=("train.summary_iterator",))
def summary_iterator(path: str) -> Any:
    """Yields the events of an event file.

    Args:
      path: the file.

    Raises:
      DataLossError: the file is damaged.
    """
    for data in read_records(path):
        yield Event.FromString(data)


class EventFile:
    """Event files, one after the other: `reopen` begins the next one. Events are buffered until
    `flush`, `max_queue` events or `flush_secs`."""

    def __init__(self, folder, suffix="", max_queue=10, flush_secs=120):
        self._folder, self._suffix = os.fspath(folder), suffix or ""
        with errors.convert_os_errors(self._folder):
            os.makedirs(self._folder, exist_ok=True)
        self._lock = threading.Lock()
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._open()

    def _open(self):
        number = next(_file_ids)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}"
        if number:
            name += f".{os.getpid()}.{number}"
        self.path = os.path.join(self._folder, name + self._suffix)
        with errors.convert_os_errors(self.path):
            self._file = open(self.path, "ab")
        self._buffered, self._flushed = 0, time.time()
        self.write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        self.flush()

    closed = property(lambda s: s._file is None)

    def write(self, event):
        """Appends an event; ignored if the file is closed."""
        with self._lock:
            if self._file is None:
                return
            with errors.convert_os_errors(self.path):
                self._file.write(record(event.SerializeToString()))
            self._buffered += 1
            is_due = time.time() - self._flushed > self._flush_secs
        if is_due or self._buffered > self._max_queue:
            self.flush()

    def flush(self):
        """Writes buffered events to the file."""
        with self._lock:
            if self._file is not None:
                with errors.convert_os_errors(self.path):
                    self._file.flush()
                self._buffered, self._flushed = 0, time.time()

    def close(self):
        """Closes the file."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                with errors.convert_os_errors(self.path):
                    file.close()

    def reopen(self):
        """Opens a new file in the same directory if this one is closed."""
        if self._file is None:
            self._open()
