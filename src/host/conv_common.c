/* SPDX-License-Identifier: Apache-2.0
 * conv_common.c: helpers of the convolution algorithms: index arithmetic, padding of inputs, sizes
 * of packed filters. */
#include "host/conv_common.h"

#include <string.h>

#include "host/thread_pool.h"

enum { FEW_CHANNELS = 16 };

void conv_clear_tile(const struct conv_tile *t, size_t size, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows && !t->add; i++)
    memset((char *)t->c + (size_t)(i * t->c_row) * size, 0, (size_t)cols * size);
}

/* Copies rows into wider ones with zeros on both sides. */
struct padding {
  const char *from;
  char *to;
  size_t row_bytes, left_bytes,
      padded_bytes; /* in bytes: source row, left padding, destination row */
};

static situ_status pad_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct padding *p = args[0].pointer;
  for (int64_t i = begin; i < end; i++) {
    char *to = p->to + (size_t)i * p->padded_bytes;
    const size_t middle = p->row_bytes < p->padded_bytes - p->left_bytes
                              ? p->row_bytes
                              : p->padded_bytes - p->left_bytes;
    memset(to, 0, p->left_bytes);
    memcpy(to + p->left_bytes, p->from + (size_t)i * p->row_bytes, middle);
    memset(to + p->left_bytes + middle, 0, p->padded_bytes - p->left_bytes - middle);
  }
  return NULL;
}

static situ_status run_padding(const struct padding *p, int64_t rows) {
  const union arg args[] = {{.pointer = (void *)(uintptr_t)p}};
  return thread_pool_run(pad_kernel, args, rows,
                         max_i64(1, (int64_t)(65536 / (p->padded_bytes + 1))));
}

bool conv_few_channels(const struct conv *c) {
  return c->c < FEW_CHANNELS && c->kw > 1 && c->dw == 1;
}

int64_t conv_padded_width(const struct conv *c) {
  return (c->ow - 1) * c->sw + (c->kw - 1) * c->dw + 1;
}

situ_status conv_pad_images(const struct conv *c, char *to) {
  const size_t size = situ_type_size(c->type), pixel = (size_t)c->c * size;
  struct padding p = {.from = c->x,
                      .to = to,
                      .row_bytes = (size_t)c->w * pixel,
                      .left_bytes = (size_t)c->left * pixel,
                      .padded_bytes = (size_t)conv_padded_width(c) * pixel};
  return run_padding(&p, c->n * c->h);
}

size_t conv_padded_bytes(const struct conv *c) {
  if (!conv_few_channels(c)) return 0;
  return conv_aligned(c->n * c->h * conv_padded_width(c) * c->c, situ_type_size(c->type));
}

int64_t conv_packed_elements(const struct conv_kernels *kernels, int64_t taps, int64_t depth,
                             int64_t columns) {
  return conv_ceil(columns, kernels->cols) * kernels->cols * taps * depth;
}
