/* SPDX-License-Identifier: Apache-2.0
 * copy.h: copies of pieces. The library's memcpy is slow on some processors at sizes between a
 * cache line and the cache. */
#ifndef SITU_CLUSTER_COPY_H
#define SITU_CLUSTER_COPY_H

#include <stddef.h>

/* As memcpy. */
void copy(void *to, const void *from, size_t bytes);

/* As memcpy, of what is not read again soon: leaves the cache to others where it can. */
void copy_nontemporal(void *to, const void *from, size_t bytes);

#endif
