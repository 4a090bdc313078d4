/* SPDX-License-Identifier: Apache-2.0
 * kernel_cache.h: compiled kernels in files of the user's cache folder ($XDG_CACHE_HOME/situ, or
 * ~/.cache/situ; SITU_KERNEL_CACHE names another, empty turns it off).
 *
 * A file is written aside and renamed: writers at the same time do not disturb each other. It
 * holds a checksum: one that is damaged counts as none.
 */
#ifndef SITU_HOST_KERNEL_CACHE_H
#define SITU_HOST_KERNEL_CACHE_H

#include "base/base.h"

/* What a compiled kernel depends on, as a number. */
struct kernel_cache_key {
  uint64_t hash[2];
};

/* The key of texts, ending in NULL. */
struct kernel_cache_key kernel_cache_make_key(const char *const *texts);

/* Whether files are to be kept. */
bool kernel_cache_enabled(void);

/* The contents of a file, to be freed; NULL where there is none, or a damaged one. */
unsigned char *kernel_cache_read(const struct kernel_cache_key *key, size_t *size);

/* Writes a file; that it cannot be written is no error. */
void kernel_cache_write(const struct kernel_cache_key *key, const unsigned char *data, size_t size);

#endif
