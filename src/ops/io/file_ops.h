/* SPDX-License-Identifier: Apache-2.0
 * file_ops.h: file access that several ops share. */
#ifndef SITU_OPS_IO_FILE_OPS_H
#define SITU_OPS_IO_FILE_OPS_H

#include "base/file.h"

/* Whether four bytes are the masked checksum (CRC-32C) of others, as TFRecord files have it. */
bool file_crc_matches(const char *data, size_t bytes, const char *crc);

#endif
