/* SPDX-License-Identifier: Apache-2.0
 * crc32.h: the checksums of file formats. */
#ifndef SITU_BASE_CRC32_H
#define SITU_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC-32 of zlib (polynomial 0x04c11db7). */
uint32_t crc32_zlib(const void *data, size_t bytes);

/* Returns the CRC-32C of TFRecord files and SSTables (Castagnoli's polynomial, 0x1edc6f41). */
uint32_t crc32_castagnoli(const void *data, size_t bytes);

#endif
