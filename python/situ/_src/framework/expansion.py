# SPDX-License-Identifier: Apache-2.0
"""expansion.py: reads compressed data and archives within SITU_EXPANSION_LIMIT: a small file cannot
take more memory than the limit, a large one than 64 times its size."""

from __future__ import annotations

import io
import os
import zlib
from typing import Any

import _situ
from situ._src.framework import errors

limit = _situ.expansion_limit  # of bytes, for an input of some bytes


def exceeded(what: str, count: int) -> errors.ResourceExhaustedError:
    """Returns the error for an input that expands to more than `count` bytes."""
    return errors.ResourceExhaustedError(
        None,
        None,
        f"{what} expands to more than {count} bytes. SITU_EXPANSION_LIMIT raises the limit.",
    )


def inflate(data: bytes, what: str, gzip: bool = False) -> bytes:
    """Returns decompressed bytes.

    Args:
      data: zlib or gzip data; several members may follow each other.
      what: names the data in errors.
      gzip: whether it is gzip.

    Raises:
      DataLossError: the data is damaged.
      ResourceExhaustedError: it expands to more than the limit.
    """
    with InflatedFile(io.BytesIO(data), gzip, what) as stream:
        allowed = limit(len(data))
        result = stream.read(allowed + 1)
    if len(result) > allowed:
        raise exceeded(what, allowed)
    return result


class InflatedFile(io.BufferedReader):
    """The stream of a compressed file.

    Args:
      file: a path or a binary file, which is closed with the stream.
      gzip: whether the data is gzip, else zlib.
      what: names the data in errors; by default the path.
    """

    def __init__(self, file: Any, gzip: bool = False, what: str | None = None) -> None:
        name = what if what is not None else os.fspath(file)
        source = file if hasattr(file, "read") else open(file, "rb")
        super().__init__(_Inflated(source, 31 if gzip else 15, name), 1 << 16)


class _Inflated(io.RawIOBase):
    def __init__(self, source: Any, window: int, name: str) -> None:
        self._source, self._window, self._name = source, window, name
        self._decompressor: Any = None  # of a member, once it has begun
        self._at, self._rest = 0, b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._source.close()
        super().close()

    def _loss(self, what: str) -> errors.DataLossError:
        text = f"{self._name}: damaged near byte {self._at - len(self._rest)}: {what}"
        return errors.DataLossError(None, None, text)

    def _fill(self) -> bool:
        """Reads compressed bytes if there are none; false at the end."""
        if not self._rest:
            self._rest = self._source.read(1 << 16)
            self._at += len(self._rest)
        return bool(self._rest)

    def readinto(self, buffer: Any) -> int:
        while self._fill():
            if self._decompressor is None:
                self._decompressor = zlib.decompressobj(self._window)
            try:
                data = self._decompressor.decompress(self._rest, len(buffer))
            except zlib.error as error:
                raise self._loss(str(error)) from None
            is_over = self._decompressor.eof
            self._rest = (
                self._decompressor.unused_data if is_over else self._decompressor.unconsumed_tail
            )
            if is_over:
                self._decompressor = None
            if data:
                buffer[: len(data)] = data
                return len(data)
        return self._finish(buffer)

    def _finish(self, buffer: Any) -> int:
        """Returns output that was pending when the input ended."""
        if self._decompressor is None:
            return 0
        data = self._decompressor.decompress(b"", len(buffer))
        if self._decompressor.eof:
            self._decompressor = None
        elif not data:
            raise self._loss("the data end too early")
        buffer[: len(data)] = data
        return len(data)


class Budget:
    """What the members of one archive may expand to.

    Args:
      size: the size of the archive in bytes.
      name: of the archive, for errors.
    """

    def __init__(self, size: int, name: Any) -> None:
        self._limit = self._left = limit(size)
        self._name = str(name)

    def read_member(self, archive: Any, name: str) -> bytes:
        """Returns a member of a zipfile.ZipFile.

        Raises:
          OSError: the member is damaged.
          ResourceExhaustedError: the archive expands to too much.
        """
        import zipfile

        try:
            with archive.open(name) as member:
                data = member.read(self._left + 1)
        except (zlib.error, zipfile.BadZipFile, EOFError, KeyError, RuntimeError) as error:
            raise OSError(f"{self._name}: member {name} is damaged: {error}") from None
        if len(data) > self._left:
            raise exceeded(self._name, self._limit)
        self._left -= len(data)
        return data
