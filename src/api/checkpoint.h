/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h: shared by the checkpoint writer and reader. */
#ifndef SITU_API_CHECKPOINT_H
#define SITU_API_CHECKPOINT_H

#include "base/base.h"
#include "base/strbuf.h"
#include "situ/checkpoint.h"

/* Returns the CRC-32 of zlib. */
uint32_t checkpoint_crc32(const void *data, size_t bytes);

/* Convert between types and their safetensors names; NULL and SITU_NO_TYPE if there is none. */
const char *checkpoint_type_name(situ_type type);
situ_type checkpoint_type(const char *word);

/* Appends the path of the data file. */
void checkpoint_path(const char *prefix, struct strbuf *out);

#endif
