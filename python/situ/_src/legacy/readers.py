# SPDX-License-Identifier: Apache-2.0
"""readers.py: the readers of TensorFlow 1: TextLineReader, TFRecordReader and others."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import OPS, export
from situ._src.ops import tf_record
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.array_ops import op as emit


@export(v1="ReaderBase")
class ReaderBase:
    """Base class of readers, which read records of the files that a queue names."""

    def __init__(self, reader_ref: Any, supports_serialize: bool = False) -> None:
        self._reader_ref, self._serializes = reader_ref, supports_serialize

    reader_ref = property(lambda s: s._reader_ref)
    supports_serialize = property(lambda s: s._serializes)

    @staticmethod
    def _queue(queue):
        return getattr(queue, "queue_ref", queue)

    def read(self, queue: Any, name: str | None = None) -> tuple:
        """Returns the next record: (key, value)."""
        return tuple(OPS["ReaderReadV2"](self._reader_ref, self._queue(queue), name=name))

    def read_up_to(self, queue: Any, num_records: int, name: str | None = None) -> tuple:
        """Returns the next records, at most num_records: (keys, values)."""
        number = convert_to_tensor(num_records, "int64")
        return tuple(
            OPS["ReaderReadUpToV2"](self._reader_ref, self._queue(queue), number, name=name)
        )

    def num_records_produced(self, name: str | None = None) -> Any:
        """Returns the number of records that were read, a scalar tensor.

        Args:
          name: A name for the operation.
        """
        return OPS["ReaderNumRecordsProducedV2"](self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """Returns the number of files that were read, a scalar tensor.

        Args:
          name: A name for the operation.
        """
        return OPS["ReaderNumWorkUnitsCompletedV2"](self._reader_ref, name=name)

    def reset(self, name: str | None = None) -> Any:
        """Returns an operation that closes the current file.

        Args:
          name: A name for the operation.
        """
        return OPS["ReaderResetV2"](self._reader_ref, name=name)


@export(v1="WholeFileReader")
class WholeFileReader(ReaderBase):
    """Reads whole files; keys are the file names."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(emit("WholeFileReaderV2", name=name))


@export(v1="TextLineReader")
class TextLineReader(ReaderBase):
    """Reads lines without their line ends."""

    def __init__(self, skip_header_lines: Any = None, name: str | None = None) -> None:
        super().__init__(
            emit("TextLineReaderV2", skip_header_lines=skip_header_lines or 0, name=name)
        )


@export(v1="FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Reads records of a fixed length; encoding is the compression of the file, "GZIP" or
    "ZLIB".
    """

    def __init__(
        self,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        hop_bytes: Any = None,
        name: str | None = None,
        encoding: Any = None,
    ) -> None:
        super().__init__(
            emit(
                "FixedLengthRecordReaderV2",
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


@export(v1="TFRecordReader")
class TFRecordReader(ReaderBase):
    """Reads TFRecord files; options: tf.io.TFRecordOptions or a TFRecordCompressionType."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(
            emit(
                "TFRecordReaderV2",
                compression_type=tf_record.compression_type_of(options),
                name=name,
            )
        )
