/* SPDX-License-Identifier: Apache-2.0
 * inflate.h: GZIP and ZLIB decompression of files; zlib is loaded on first use. */
#ifndef SITU_OPS_IO_INFLATE_H
#define SITU_OPS_IO_INFLATE_H

#include "base/base.h"

struct strbuf;

/* Appends what a file holds; `how` is "GZIP" or "ZLIB". DataLoss where it is damaged. */
situ_status inflate_file(const char *path, const char *how, struct strbuf *out) SITU_MUST_USE;

#endif
