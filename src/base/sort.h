/* SPDX-License-Identifier: Apache-2.0
 * sort.h: sorts arrays that may be long. */
#ifndef SITU_BASE_SORT_H
#define SITU_BASE_SORT_H

#include <stddef.h>

#include "base/base.h"

/* As qsort_r, stable, and ends if the program is interrupted (base/interrupt.h). Fails if there is
 * no memory for a second array, or with Cancelled; then the order is undefined. */
situ_status sort_array(void *items, size_t count, size_t size,
                       int (*compare)(const void *, const void *, void *),
                       void *context) SITU_MUST_USE;

#endif
