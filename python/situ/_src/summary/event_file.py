# SPDX-License-Identifier: Apache-2.0
"""event_file.py: files of records, and event files for TensorBoard made of them."""

from __future__ import annotations

import itertools
import os
import socket
import struct
import threading
import time

import _situ
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.summary.protos import Event

_numbers = itertools.count()


def masked_crc(data):
    """The checksum of a record: CRC-32C, turned so that a checksum of checksums differs."""
    crc = _situ.crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    """A record: its length and that one's checksum, its bytes and theirs."""
    head = struct.pack("<Q", len(data))
    return b"".join(
        (head, struct.pack("<I", masked_crc(head)), data, struct.pack("<I", masked_crc(data)))
    )


def _loss(path, at, what):
    return errors.DataLossError(None, None, f"{path}: corrupted record at {at}: {what}")


def read_records(path):
    """The records of a file; DataLossError names the file and the place of a damaged one."""
    with open(path, "rb") as file:
        while True:
            at = file.tell()
            head = file.read(12)
            if not head:
                return
            if len(head) < 12:
                raise _loss(path, at, "the file ends within a length")
            size, crc = struct.unpack("<QI", head)
            if masked_crc(head[:8]) != crc:
                raise _loss(path, at, "wrong checksum of a length")
            data, crc = file.read(size), file.read(4)
            if len(data) < size or len(crc) < 4:
                raise _loss(path, at, "the file ends within a record")
            if masked_crc(data) != struct.unpack("<I", crc)[0]:
                raise _loss(path, at, "wrong checksum of a record")
            yield data


@export("compat.v1.train.summary_iterator", v1=("train.summary_iterator",))
def summary_iterator(path):
    """The events of an event file."""
    for data in read_records(path):
        yield Event.FromString(data)


class EventFile:
    """An event file that grows. Records wait in memory until flush, or for so many seconds."""

    def __init__(self, folder, suffix="", max_queue=10, flush_secs=120):
        folder = os.fspath(folder)
        with errors.convert_os_errors(folder):
            os.makedirs(folder, exist_ok=True)
        number = next(_numbers)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}"
        if number:
            name += f".{os.getpid()}.{number}"
        self.path = os.path.join(folder, name + (suffix or ""))
        with errors.convert_os_errors(self.path):
            self._file, self._lock = open(self.path, "ab"), threading.Lock()
        self._most, self._seconds = max_queue, flush_secs
        self._waiting, self._flushed = 0, time.time()
        self.write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        self.flush()

    closed = property(lambda s: s._file is None)

    def write(self, event):
        with self._lock:
            if self._file is None:
                return
            with errors.convert_os_errors(self.path):
                self._file.write(record(event.SerializeToString()))
            self._waiting += 1
            late = time.time() - self._flushed > self._seconds
        if late or self._waiting > self._most:
            self.flush()

    def flush(self):
        with self._lock:
            if self._file is not None:
                with errors.convert_os_errors(self.path):
                    self._file.flush()
                self._waiting, self._flushed = 0, time.time()

    def close(self):
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                with errors.convert_os_errors(self.path):
                    file.close()

    def reopen(self):
        with self._lock:
            if self._file is None:
                self._file = open(self.path, "ab")
