/* SPDX-License-Identifier: Apache-2.0
 * unpack.h: files that are packed by GZIP or ZLIB; zlib is loaded when the first one is read. */
#ifndef SITU_OPS_UNPACK_H
#define SITU_OPS_UNPACK_H

#include "base/base.h"

struct text;

/* Appends what a file holds; `how` is "GZIP" or "ZLIB". DataLoss where it is damaged. */
situ_status unpack_file(const char *path, const char *how, struct text *out) SITU_MUST_USE;

#endif
