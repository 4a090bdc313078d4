/* SPDX-License-Identifier: Apache-2.0
 * grow.h: arrays that grow by doubling. */
#ifndef SITU_GRAPH_GROW_H
#define SITU_GRAPH_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Doubles the capacity; false when memory runs out, with the array unchanged. */
static inline bool grow_array(void *array, int32_t *capacity, size_t size) {
  if (*capacity > INT32_MAX / 2) return false;
  const int32_t more = *capacity ? *capacity * 2 : 16;
  void *old = NULL; /* copied by memcpy, since `array` points to a pointer of any type */
  memcpy(&old, array, sizeof old);
  void *grown = realloc(old, (size_t)more * size);
  if (!grown) return false;
  memcpy(array, &grown, sizeof grown);
  *capacity = more;
  /* cppcheck-suppress memleak ; it went back through memcpy */
  return true;
}

/* Makes room for one more element; false when memory runs out. */
#define GROW(array, count, capacity) \
  ((count) < (capacity) || grow_array(&(array), &(capacity), sizeof *(array)))

#endif
