/* SPDX-License-Identifier: Apache-2.0
 * file_ops.h: file access that several ops share. */
#ifndef SITU_OPS_IO_FILE_OPS_H
#define SITU_OPS_IO_FILE_OPS_H

#include "base/base.h"

struct strbuf;

/* The status for an errno about a path: "path; No such file or directory". */
situ_status file_failure(const char *path, int error) SITU_MUST_USE;

/* Appends the contents of a file. */
situ_status file_read(const char *path, struct strbuf *out) SITU_MUST_USE;

/* Whether four bytes are the masked checksum (CRC-32C) of others, as TFRecord files have it. */
bool file_crc_matches(const char *data, size_t bytes, const char *crc);

#endif
