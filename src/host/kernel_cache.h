/* SPDX-License-Identifier: Apache-2.0
 * kernel_cache.h: on-disk cache of compiled kernels in $XDG_CACHE_HOME/situ or ~/.cache/situ
 * (SITU_KERNEL_CACHE names another folder; empty disables the cache).
 *
 * Files are written to a temporary name and renamed, so that concurrent writers are safe. A
 * checksum detects damaged files, which are ignored.
 */
#ifndef SITU_HOST_KERNEL_CACHE_H
#define SITU_HOST_KERNEL_CACHE_H

#include "base/base.h"

/* Hash of everything that a compiled kernel depends on. */
struct kernel_cache_key {
  uint64_t hash[2];
};

/* Hashes strings, terminated by NULL. */
struct kernel_cache_key kernel_cache_make_key(const char *const *strings);

/* Returns whether the cache is enabled. */
bool kernel_cache_enabled(void);

/* Returns the contents of a file, to be freed; NULL if it is missing or damaged. */
unsigned char *kernel_cache_read(const struct kernel_cache_key *key, size_t *size);

/* Writes a file; errors are ignored. */
void kernel_cache_write(const struct kernel_cache_key *key, const unsigned char *data, size_t size);

#endif
