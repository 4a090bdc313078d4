/* SPDX-License-Identifier: Apache-2.0
 * conv_nchw.c: convolution in NCHW layout: transposes inputs to NHWC and outputs back. */
#include "host/conv_common.h"
#include "host/thread_pool.h"

enum { BLOCK = 16 }; /* edge of the blocks that are transposed at a time */

/* A batch of matrices of rows x cols elements. */
struct transpose {
  const void *from;
  void *to;
  int64_t rows, cols;
};

#define TRANSPOSE(suffix, type_)                                                         \
  static void transpose_##suffix(const struct transpose *t, int64_t matrix, int64_t top, \
                                 int64_t left) {                                         \
    const type_ *from = (const type_ *)t->from + matrix * t->rows * t->cols;             \
    type_ *to = (type_ *)t->to + matrix * t->rows * t->cols;                             \
    for (int64_t j = left; j < min_i64(t->cols, left + BLOCK); j++)                      \
      for (int64_t i = top; i < min_i64(t->rows, top + BLOCK); i++)                      \
        to[j * t->rows + i] = from[i * t->cols + j];                                     \
  }                                                                                      \
  static situ_status transpose_kernel_##suffix(const union arg *args, int64_t begin,     \
                                               int64_t end) {                            \
    const struct transpose *t = args[0].pointer;                                         \
    for (int64_t matrix = begin; matrix < end; matrix++)                                 \
      for (int64_t top = 0; top < t->rows; top += BLOCK)                                 \
        for (int64_t left = 0; left < t->cols; left += BLOCK)                            \
          transpose_##suffix(t, matrix, top, left);                                      \
    return NULL;                                                                         \
  }
TRANSPOSE(4, uint32_t)
TRANSPOSE(8, uint64_t)
#undef TRANSPOSE

static situ_status transpose(const void *from, void *to, int64_t count, int64_t rows, int64_t cols,
                             size_t size) {
  const struct transpose job = {from, to, rows, cols};
  const union arg args[] = {{.pointer = (void *)(uintptr_t)&job}};
  return thread_pool_run(size == 4 ? transpose_kernel_4 : transpose_kernel_8, args, count,
                         max_i64(1, 8192 / (rows * cols + 1)));
}

size_t conv_nchw_workspace_size(const struct conv *c) {
  const size_t size = situ_type_size(c->type);
  return conv_aligned(c->n * c->h * c->w * c->c, size) +
         conv_aligned(c->n * c->oh * c->ow * c->o, size);
}

situ_status conv_nchw_run(const struct conv *c, enum conv_pass pass) {
  const size_t size = situ_type_size(c->type);
  const int64_t pixels = c->h * c->w, outputs = c->oh * c->ow;
  struct conv inner = *c;
  inner.is_nchw = false;
  inner.x = c->workspace;
  inner.y = (char *)inner.x + conv_aligned(c->n * pixels * c->c, size);
  inner.workspace = (char *)c->workspace + conv_nchw_workspace_size(c);
  if (pass != CONV_BACKWARD_DATA) TRY(transpose(c->x, inner.x, c->n, c->c, pixels, size));
  if (pass != CONV_FORWARD) TRY(transpose(c->y, inner.y, c->n, c->o, outputs, size));
  TRY(conv_run(&inner, pass));
  if (pass == CONV_BACKWARD_DATA) return transpose(inner.x, c->x, c->n, pixels, c->c, size);
  return pass == CONV_FORWARD ? transpose(inner.y, c->y, c->n, outputs, c->o, size) : NULL;
}
