/* SPDX-License-Identifier: Apache-2.0
 * parse_size.h: parses sizes and rates: `12GiB`, `1.5GiB`, `300`, `3.5T`. */
#ifndef SITU_BASE_PARSE_SIZE_H
#define SITU_BASE_PARSE_SIZE_H

#include "base/base.h"

/* Parses a size: digits with an optional fraction, and a unit: B, KiB, MiB, GiB, TiB (1024), KB,
 * MB, GB, TB (1000) or none for bytes, in any case, optionally after blanks. Fractions of a byte
 * are dropped. InvalidArgument with the position (from 0) if malformed or above 64 bits. */
situ_status parse_size(const char *text, uint64_t *out) SITU_MUST_USE;

/* Parses the first `length` characters; on failure `*position` is set to where. */
situ_status parse_size_n(const char *text, size_t length, uint64_t *out,
                         size_t *position) SITU_MUST_USE;

/* Parses a count or rate (`250`, `12G`, `1.5e12`): a number above 0 with an optional K, M, G or T
 * (1000 each). `position` as above. */
situ_status parse_rate_n(const char *text, size_t length, double *out,
                         size_t *position) SITU_MUST_USE;

#endif
