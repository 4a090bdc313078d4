/* SPDX-License-Identifier: Apache-2.0
 * inflate.h: streams of GZIP and ZLIB files; zlib is loaded on first use. */
#ifndef SITU_OPS_IO_INFLATE_H
#define SITU_OPS_IO_INFLATE_H

#include <stdio.h>

#include "base/base.h"

struct inflater;

struct inflated_file {
  FILE *stream; /* of the decompressed data, cannot seek; fclose frees everything */
  struct inflater *inflater;
  int64_t packed_bytes; /* size of the file */
};

/* Opens a file; `how` is "GZIP" or "ZLIB". */
situ_status inflate_open(const char *path, const char *how,
                         struct inflated_file *out) SITU_MUST_USE;

/* Returns the error of the stream (ferror) once: DataLoss if the file is damaged. */
situ_status inflate_take_error(struct inflater *inflater) SITU_MUST_USE;

#endif
