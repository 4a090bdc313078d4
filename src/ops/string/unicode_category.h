/* SPDX-License-Identifier: Apache-2.0
 * unicode_category.h: the general categories of Unicode. */
#ifndef SITU_OPS_STRING_UNICODE_CATEGORY_H
#define SITU_OPS_STRING_UNICODE_CATEGORY_H

#include <situ/tensor.h>

#include "base/base.h"

/* Whether there is a category ("Lu") or a group of categories ("L") of that name. */
bool unicode_category_exists(situ_string name);

/* Finds the next range of characters of an existing category from run *at on, which it advances. */
bool unicode_category_next(situ_string name, size_t *at, uint32_t *first, uint32_t *last);

#endif
