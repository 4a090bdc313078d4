/* SPDX-License-Identifier: Apache-2.0
 * parse_size.h: parses sizes and rates: `12GiB`, `1.5GiB`, `300`, `3.5T`. */
#ifndef SITU_BASE_PARSE_SIZE_H
#define SITU_BASE_PARSE_SIZE_H

#include "base/base.h"

/* Reads a size that fills the text: digits, perhaps with a fraction, and a unit: B, KiB, MiB, GiB,
 * TiB (1024), KB, MB, GB (1000), or none for bytes; blanks between them allowed, letters in any
 * case. A part of a byte is dropped. InvalidArgument with the place (counted from 0) where the text
 * is anything else or the size does not fit into 64 bits. */
situ_status parse_size(const char *text, uint64_t *out) SITU_MUST_USE;

/* The same for the first `length` characters; where it fails `*place` gets the place in them. */
situ_status parse_size_n(const char *text, size_t length, uint64_t *out,
                         size_t *place) SITU_MUST_USE;

/* Reads a count or rate (`250`, `12G`, `1.5e12`): a number above 0, perhaps with K, M, G or T
 * (1000 each). `place` as above. */
situ_status parse_rate_n(const char *text, size_t length, double *out, size_t *place) SITU_MUST_USE;

#endif
