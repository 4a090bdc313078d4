/* SPDX-License-Identifier: Apache-2.0
 * binaries.h: compiled kernels in files of the user's cache folder ($XDG_CACHE_HOME/situ, or
 * ~/.cache/situ; SITU_KERNEL_CACHE names another, empty turns it off).
 *
 * A file is written aside and renamed: writers at the same time do not disturb each other. It
 * holds a checksum: one that is damaged counts as none.
 */
#ifndef SITU_HOST_BINARIES_H
#define SITU_HOST_BINARIES_H

#include "base/base.h"

/* What a compiled kernel depends on, as a number. */
struct binary_key {
  uint64_t hash[2];
};

/* The key of texts, ending in NULL. */
struct binary_key binaries_key(const char *const *texts);

/* Whether files are to be kept. */
bool binaries_wanted(void);

/* The contents of a file, to be freed; NULL where there is none, or a damaged one. */
unsigned char *binaries_read(const struct binary_key *key, size_t *size);

/* Writes a file; that it cannot be written is no error. */
void binaries_write(const struct binary_key *key, const unsigned char *data, size_t size);

#endif
