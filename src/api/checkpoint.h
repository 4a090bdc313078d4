/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h: what writing and reading a checkpoint share. */
#ifndef SITU_API_CHECKPOINT_H
#define SITU_API_CHECKPOINT_H

#include "base/base.h"
#include "base/strbuf.h"
#include "situ/checkpoint.h"

/* The checksum of bytes that zlib calls crc32. */
uint32_t checkpoint_sum(const void *data, size_t bytes);

/* The word of a type in files, or NULL where it has none; and the type of a word. */
const char *checkpoint_word(situ_type type);
situ_type checkpoint_type(const char *word);

/* The path of the file with the elements. */
void checkpoint_path(const char *prefix, struct strbuf *out);

#endif
