/* SPDX-License-Identifier: Apache-2.0
 * shape.c: shape operations shared by ops. */
#include "tensor/shape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static bool rank_is_legal(int rank) { return rank >= 0 && rank <= SITU_MAX_RANK; }

/* Returns `size` times the product of the dimensions, counting those of 0 as 1, so that strides
 * cannot overflow either; SITU_ANY if unknown or above 2^63 - 1. Sets *empty if a dimension is 0.
 */
static inline int64_t extent(const situ_shape *shape, int64_t size, bool *empty) {
  if (!rank_is_legal(shape->rank)) return SITU_ANY;
  bool zero = false;
  for (int i = 0; i < shape->rank; i++) {
    const int64_t dim = shape->dim[i];
    if (dim < 0) return SITU_ANY;
    zero |= dim == 0;
    if (dim && __builtin_mul_overflow(size, dim, &size)) return SITU_ANY;
  }
  *empty = zero;
  return size;
}

int64_t situ_shape_count(situ_shape shape) {
  bool empty = false;
  const int64_t product = extent(&shape, 1, &empty);
  return empty ? 0 : product;
}

bool shape_is_known(const situ_shape *shape) {
  if (!rank_is_legal(shape->rank)) return false;
  for (int i = 0; i < shape->rank; i++)
    if (shape->dim[i] < 0) return false;
  return true;
}

bool shape_equal(const situ_shape *a, const situ_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

bool shape_compatible(const situ_shape *a, const situ_shape *b) {
  if (a->rank == SITU_ANY || b->rank == SITU_ANY) return true;
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i] && a->dim[i] >= 0 && b->dim[i] >= 0) return false;
  return true;
}

situ_shape shape_merge(const situ_shape *a, const situ_shape *b) {
  if (a->rank == SITU_ANY) return *b;
  if (b->rank == SITU_ANY) return *a;
  situ_shape merged = *a;
  for (int i = 0; i < a->rank; i++)
    if (merged.dim[i] < 0) merged.dim[i] = b->dim[i];
  return merged;
}

/* Broadcasts one dimension; -2 if impossible. An unknown one may be 1. */
static int64_t broadcast_dim(int64_t a, int64_t b) {
  if (a == b) return a;
  if (a == 1) return b;
  if (b == 1) return a;
  if (a == SITU_ANY) return b > 1 ? b : SITU_ANY;
  if (b == SITU_ANY) return a > 1 ? a : SITU_ANY;
  return -2;
}

bool shape_broadcast(const situ_shape *a, const situ_shape *b, situ_shape *out) {
  if (a->rank == SITU_ANY || b->rank == SITU_ANY) {
    *out = SITU_ANY_SHAPE;
    return true;
  }
  const int rank = a->rank > b->rank ? a->rank : b->rank;
  situ_shape result = {.rank = rank};
  for (int i = 1; i <= rank; i++) {
    const int64_t dim_a = i <= a->rank ? a->dim[a->rank - i] : 1;
    const int64_t dim_b = i <= b->rank ? b->dim[b->rank - i] : 1;
    const int64_t dim = broadcast_dim(dim_a, dim_b);
    if (dim < SITU_ANY) return false;
    result.dim[rank - i] = dim;
  }
  *out = result;
  return true;
}

bool shape_bytes(situ_type type, const situ_shape *shape, size_t *bytes) {
  bool empty = false;
  const int64_t size = (int64_t)situ_type_size(type);
  const int64_t total = size ? extent(shape, size, &empty) : SITU_ANY;
  if (total == SITU_ANY) return false;
  *bytes = empty ? 0 : (size_t)total;
  return true;
}

situ_status shape_check(const situ_shape *shape) {
  if (shape->rank == SITU_ANY) return NULL;
  if (!rank_is_legal(shape->rank))
    return INVALID("A shape of rank %d: the rank must be from 0 to %d.", shape->rank,
                   SITU_MAX_RANK);
  char text[SHAPE_STRING_SIZE];
  int64_t product = 1;
  for (int i = 0; i < shape->rank; i++) {
    const int64_t dim = shape->dim[i];
    if (dim < SITU_ANY)
      return INVALID("Shape %s: dimension %d is negative.", shape_print(shape, text), i);
    if (dim > 0 && __builtin_mul_overflow(product, dim, &product))
      return INVALID(
          "Encountered overflow when multiplying the dimensions of shape %s: more than 2^63 - 1 "
          "elements.",
          shape_print(shape, text));
  }
  return NULL;
}

/* Appends formatted text at *at, truncated to fit. */
static void SITU_FORMAT(3, 4) append(char *out, int *at, const char *format, ...) {
  va_list list;
  va_start(list, format);
  const int length = vsnprintf(out + *at, (size_t)(SHAPE_STRING_SIZE - *at), format, list);
  va_end(list);
  if (length > 0) *at = *at + length < SHAPE_STRING_SIZE ? *at + length : SHAPE_STRING_SIZE - 1;
}

static void append_dim(char *out, int *at, int64_t dim) {
  if (dim == SITU_ANY)
    append(out, at, "?");
  else
    append(out, at, "%" PRId64, dim);
}

const char *shape_print(const situ_shape *shape, char out[SHAPE_STRING_SIZE]) {
  int at = 0;
  if (!rank_is_legal(shape->rank)) {
    if (shape->rank == SITU_ANY)
      append(out, &at, "<unknown>");
    else
      append(out, &at, "<rank %d>", shape->rank);
    return out;
  }
  append(out, &at, "[");
  for (int i = 0; i < shape->rank; i++) {
    if (i) append(out, &at, ",");
    append_dim(out, &at, shape->dim[i]);
  }
  append(out, &at, "]");
  return out;
}

const char *shape_print_python(const situ_shape *shape, char out[SHAPE_STRING_SIZE]) {
  int at = 0;
  if (!rank_is_legal(shape->rank)) return shape_print(shape, out);
  append(out, &at, "(");
  for (int i = 0; i < shape->rank; i++) {
    if (i) append(out, &at, ", ");
    append_dim(out, &at, shape->dim[i]);
  }
  append(out, &at, shape->rank == 1 ? ",)" : ")");
  return out;
}
