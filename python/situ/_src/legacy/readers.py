# SPDX-License-Identifier: Apache-2.0
"""readers.py: tf.TextLineReader and its relatives."""

from situ._src.framework.api import OPS, export
from situ._src.ops import tf_record
from situ._src.ops.array_ops import convert_to_tensor


@export(v1="ReaderBase")
class ReaderBase:
    """Gives the records of files whose names come from a queue."""

    def __init__(self, reader_ref, supports_serialize=False):
        self._reader_ref, self._serializes = reader_ref, supports_serialize

    reader_ref = property(lambda s: s._reader_ref)
    supports_serialize = property(lambda s: s._serializes)

    @staticmethod
    def _queue(queue):
        return getattr(queue, "queue_ref", queue)

    def read(self, queue, name=None):
        """The next record: (key, value)."""
        return tuple(OPS["ReaderReadV2"](self._reader_ref, self._queue(queue), name=name))

    def read_up_to(self, queue, num_records, name=None):
        """The next records, at most so many."""
        number = convert_to_tensor(num_records, "int64")
        return tuple(
            OPS["ReaderReadUpToV2"](self._reader_ref, self._queue(queue), number, name=name)
        )

    def num_records_produced(self, name=None):
        return OPS["ReaderNumRecordsProducedV2"](self._reader_ref, name=name)

    def num_work_units_completed(self, name=None):
        return OPS["ReaderNumWorkUnitsCompletedV2"](self._reader_ref, name=name)

    def reset(self, name=None):
        return OPS["ReaderResetV2"](self._reader_ref, name=name)


@export(v1="WholeFileReader")
class WholeFileReader(ReaderBase):
    """Whole files: keys are their names."""

    def __init__(self, name=None):
        super().__init__(OPS["WholeFileReaderV2"](name=name))


@export(v1="TextLineReader")
class TextLineReader(ReaderBase):
    """Lines of text, without their ends."""

    def __init__(self, skip_header_lines=None, name=None):
        super().__init__(
            OPS["TextLineReaderV2"](skip_header_lines=skip_header_lines or 0, name=name)
        )


@export(v1="FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Records of a fixed length. encoding: how the file is compressed, "GZIP" or "ZLIB"."""

    def __init__(
        self,
        record_bytes,
        header_bytes=None,
        footer_bytes=None,
        hop_bytes=None,
        name=None,
        encoding=None,
    ):
        super().__init__(
            OPS["FixedLengthRecordReaderV2"](
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
    """Records of TFRecord files. options: tf.io.TFRecordOptions or a TFRecordCompressionType."""

    def __init__(self, name=None, options=None):
        super().__init__(
            OPS["TFRecordReaderV2"](compression_type=tf_record.packing(options), name=name)
        )
