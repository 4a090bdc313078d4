/* SPDX-License-Identifier: Apache-2.0
 * conv_nchw.c: convolutions of NCHW images: images and results are turned on the way in and out. */
#include "host/conv_common.h"
#include "host/thread_pool.h"

enum { SIDE = 16 }; /* of the squares that are turned at a time */

/* Matrices of rows x cols elements, one behind the other, that are turned. */
struct turn {
  const void *from;
  void *to;
  int64_t rows, cols;
};

#define TURN(word, type_)                                                                       \
  static void turn_##word(const struct turn *t, int64_t matrix, int64_t top, int64_t left) {    \
    const type_ *from = (const type_ *)t->from + matrix * t->rows * t->cols;                    \
    type_ *to = (type_ *)t->to + matrix * t->rows * t->cols;                                    \
    for (int64_t j = left; j < min_i64(t->cols, left + SIDE); j++)                              \
      for (int64_t i = top; i < min_i64(t->rows, top + SIDE); i++)                              \
        to[j * t->rows + i] = from[i * t->cols + j];                                            \
  }                                                                                             \
  static situ_status turn_kernel_##word(const union arg *args, int64_t begin, int64_t end) {    \
    const struct turn *t = args[0].pointer;                                                     \
    for (int64_t matrix = begin; matrix < end; matrix++)                                        \
      for (int64_t top = 0; top < t->rows; top += SIDE)                                         \
        for (int64_t left = 0; left < t->cols; left += SIDE) turn_##word(t, matrix, top, left); \
    return NULL;                                                                                \
  }
TURN(4, uint32_t)
TURN(8, uint64_t)
#undef TURN

static situ_status turn(const void *from, void *to, int64_t count, int64_t rows, int64_t cols,
                        size_t size) {
  const struct turn job = {from, to, rows, cols};
  const union arg args[] = {{.pointer = (void *)(uintptr_t)&job}};
  return thread_pool_run(size == 4 ? turn_kernel_4 : turn_kernel_8, args, count,
                         max_i64(1, 8192 / (rows * cols + 1)));
}

size_t conv_nchw_space(const struct conv *c) {
  const size_t size = situ_type_size(c->type);
  return conv_aligned(c->n * c->h * c->w * c->c, size) +
         conv_aligned(c->n * c->oh * c->ow * c->o, size);
}

situ_status conv_nchw_run(const struct conv *c, enum conv_pass want) {
  const size_t size = situ_type_size(c->type);
  const int64_t pixels = c->h * c->w, results = c->oh * c->ow;
  struct conv inner = *c;
  inner.planes = false;
  inner.x = c->space;
  inner.y = (char *)inner.x + conv_aligned(c->n * pixels * c->c, size);
  inner.space = (char *)c->space + conv_nchw_space(c);
  if (want != CONV_BACKWARD_DATA) TRY(turn(c->x, inner.x, c->n, c->c, pixels, size));
  if (want != CONV_FORWARD) TRY(turn(c->y, inner.y, c->n, c->o, results, size));
  TRY(conv_run(&inner, want));
  if (want == CONV_BACKWARD_DATA) return turn(inner.x, c->x, c->n, pixels, c->c, size);
  return want == CONV_FORWARD ? turn(inner.y, c->y, c->n, results, c->o, size) : NULL;
}
