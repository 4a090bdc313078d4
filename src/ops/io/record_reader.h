/* SPDX-License-Identifier: Apache-2.0
 * record_reader.h: record formats of readers and datasets: whole files, lines, fixed-length
 * records, TFRecord. Files are read as streams, compressed ones too. */
#ifndef SITU_OPS_IO_RECORD_READER_H
#define SITU_OPS_IO_RECORD_READER_H

#include <stdio.h>

#include "base/strbuf.h"
#include "situ/tensor.h"

enum record_format { RECORD_WHOLE, RECORD_LINE, RECORD_FIXED, RECORD_TF };

/* A file that is being read. Zero except for the format and its options, it is closed. */
struct record_file {
  enum record_format format;
  int64_t skip; /* lines at the beginning */
  int64_t record_bytes, header_bytes, footer_bytes, hop_bytes;
  const char *packing;       /* "GZIP", "ZLIB"; NULL: none. Borrowed */
  FILE *stream;              /* NULL: closed */
  struct inflater *inflater; /* of the stream of a compressed file, or NULL */
  struct strbuf window;      /* of fixed-length records: bytes read ahead */
  char *path;
  int64_t line, offset;
  int64_t size;        /* SITU_ANY: not known before the end */
  uint64_t max_record; /* bytes */
};

/* Opens a file and closes the previous one. */
situ_status record_open(struct record_file *file, const char *path) SITU_MUST_USE;
void record_close(struct record_file *file);

/* Appends the next record and its key; *end is set at the end of the file. */
situ_status record_next(struct record_file *file, struct strbuf *key, struct strbuf *value,
                        bool *end) SITU_MUST_USE;

#endif
