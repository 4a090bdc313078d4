# SPDX-License-Identifier: Apache-2.0
"""tf_record.py: tf.io.TFRecordWriter and tf_record_iterator: TFRecord files from Python."""

from __future__ import annotations

import os
import zlib

from situ._src.framework import errors, expansion
from situ._src.framework.api import BOTH, V1, export
from situ._src.summary.event_file import read_records, records_of
from situ._src.summary.event_file import record as framed

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


class TFRecordCompressionType:
    NONE, ZLIB, GZIP = 0, 1, 2


class TFRecordOptions:
    """The compression of a TFRecord file: "", "ZLIB" or "GZIP"."""

    compression_type_map = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type=None,
        flush_mode=None,
        input_buffer_size=None,
        output_buffer_size=None,
        window_bits=None,
        compression_level=None,
        compression_method=None,
        mem_level=None,
        compression_strategy=None,
    ):
        if isinstance(compression_type, TFRecordOptions):
            compression_type = compression_type.compression_type
        self.compression_type = (
            self.compression_type_map.get(compression_type, compression_type) or ""
        )
        self.compression_level, self.compression_method = compression_level, compression_method
        self.window_bits, self.mem_level = window_bits, mem_level
        self.compression_strategy = compression_strategy
        self.flush_mode, self.input_buffer_size = flush_mode, input_buffer_size
        self.output_buffer_size = output_buffer_size

    def compressor(self):
        """Returns a zlib compressor. When it is flushed changes no record: `flush_mode` and the
        sizes of buffers are not read."""
        is_gzip = self.compression_type == "GZIP"
        values = (
            (self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            (self.compression_method, zlib.DEFLATED),
            (self.window_bits, zlib.MAX_WBITS + (16 if is_gzip else 0)),
            (self.mem_level, zlib.DEF_MEM_LEVEL),
            (self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )
        return zlib.compressobj(*[default if v is None else v for v, default in values])

    @classmethod
    def get_compression_type_string(cls, options):
        return compression_type_of(options)


def compression_type_of(options):
    """Returns the compression type of options, of a number or of a string."""
    if options is None or options == "":
        return ""
    if isinstance(options, TFRecordOptions):
        return options.compression_type
    if isinstance(options, int):
        return TFRecordOptions.compression_type_map[options]
    if options not in ("", "ZLIB", "GZIP"):
        raise ValueError(
            f'Not a valid compression_type: "{options}". Valid values are ["", "ZLIB", "GZIP"].'
        )
    return options


@export("io.TFRecordWriter", v1="python_io.TFRecordWriter")
class TFRecordWriter:
    """Writes records with checksums to a file."""

    _file: Any

    def __init__(self, path: str, options: Any = None):
        kind, self._compressor = compression_type_of(options), None
        self._path = path
        with errors.convert_os_errors(path):
            self._file = open(path, "wb")
        if kind:
            is_complete = isinstance(options, TFRecordOptions)
            self._compressor = (options if is_complete else TFRecordOptions(kind)).compressor()

    def write(self, record: Any) -> None:
        """Appends a record."""
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer is closed.")
        data = framed(bytes(record))
        with errors.convert_os_errors(self._path):
            self._file.write(self._compressor.compress(data) if self._compressor else data)

    def flush(self) -> None:
        """Writes buffered data to the file."""
        with errors.convert_os_errors(self._path):
            self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with errors.convert_os_errors(self._path), file:
            if self._compressor:
                file.write(self._compressor.flush())

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


@export(v1=("python_io.tf_record_iterator", "io.tf_record_iterator"))
def tf_record_iterator(path: Any, options: Any = None) -> Any:
    """Yields the records of a file.

    Args:
      path: Path of the file.
      options: A TFRecordOptions, or a compression type.
    """
    kind = compression_type_of(options)
    if not kind:
        yield from read_records(path)
        return
    with expansion.InflatedFile(path, gzip=kind == "GZIP") as stream:
        yield from records_of(stream, path, expansion.limit(os.path.getsize(path)))


BOTH["io.TFRecordOptions"] = TFRecordOptions
V1["python_io.TFRecordOptions"] = TFRecordOptions
V1["python_io.TFRecordCompressionType"] = TFRecordCompressionType
V1["io.TFRecordCompressionType"] = TFRecordCompressionType
