/* SPDX-License-Identifier: Apache-2.0
 * copy.h: memory copies for collectives. The memcpy of the C library is slow on some processors for
 * sizes between a cache line and the cache. */
#ifndef SITU_CLUSTER_COPY_H
#define SITU_CLUSTER_COPY_H

#include <stddef.h>

/* As memcpy. */
void copy(void *to, const void *from, size_t bytes);

/* As memcpy with non-temporal stores if possible, for data that is not read again soon. */
void copy_nontemporal(void *to, const void *from, size_t bytes);

#endif
