/* SPDX-License-Identifier: Apache-2.0
 * window.c: see window.h. */
#include "ops/nn/window.h"

#include <string.h>

#include "tensor/shape.h"

/* Four integers of a list attribute; `preset` where the op has no such attribute or it is empty. */
static situ_status read_four(const struct call *call, const char *name, int64_t preset,
                             int64_t out[4]) {
  const struct attr_value *attr = call_attr(call, name);
  for (int d = 0; d < 4; d++) out[d] = preset;
  if (!attr || attr->kind != SITU_ATTR_INTS || !attr->list.count) return NULL;
  if (attr->list.count != 4)
    return INVALID("The attribute %s must specify 4 dimensions, but has %lld", name,
                   (long long)attr->list.count);
  for (int d = 0; d < 4; d++) out[d] = attr->list.items[d];
  for (int d = 0; d < 4; d++)
    if (out[d] < 1)
      return INVALID("The attribute %s must be positive, but has %lld", name, (long long)out[d]);
  return NULL;
}

static situ_status only_inside(const struct window *w, const char *what, const int64_t four[4]) {
  if (four[0] == 1 && four[w->channel] == 1) return NULL;
  return situ_status_create(
      SITU_UNIMPLEMENTED,
      "Current implementation does not yet support %s in the batch and depth dimensions.", what);
}

/* Whether the data format is NCHW; an op without the attribute has NHWC. */
static bool is_planes(const struct call *call) {
  return strcmp(call_text(call, "data_format"), "NCHW") == 0;
}

/* Padding of one dimension: in front, and the number of results. */
static situ_status pad(const char *padding, int64_t size, int64_t k, int64_t stride,
                       int64_t dilation, const int64_t given[2], int64_t *before, int64_t *count) {
  const int64_t reach = (k - 1) * dilation + 1; /* of the window */
  *before = 0;
  *count = SITU_ANY;
  if (*padding == 'E') *before = given[0];
  if (size == SITU_ANY || k == SITU_ANY) return NULL;
  if (*padding == 'S') {
    *count = (size + stride - 1) / stride;
    *before = max_i64(0, (*count - 1) * stride + reach - size) / 2;
    return NULL;
  }
  const int64_t all = *padding == 'E' ? size + given[0] + given[1] : size;
  if (all < reach)
    return INVALID("Negative dimension size caused by subtracting %lld from %lld", (long long)reach,
                   (long long)all);
  *count = (all - reach) / stride + 1;
  return NULL;
}

/* The paddings of rows and columns, where they are given one by one. */
static situ_status read_paddings(const struct call *call, const struct window *w, int64_t rows[2],
                                 int64_t cols[2]) {
  const struct attr_value *attr = call_attr(call, "explicit_paddings");
  const bool asked = *call_text(call, "padding") == 'E';
  const int64_t count = attr ? attr->list.count : 0;
  rows[0] = rows[1] = cols[0] = cols[1] = 0;
  if (!asked && count)
    return INVALID("explicit_paddings must be empty if the padding attribute is not EXPLICIT");
  if (!asked) return NULL;
  if (count != 8)
    return INVALID("explicit_paddings attribute must contain 8 values, but got: %lld",
                   (long long)count);
  for (int i = 0; i < 8; i++)
    if (attr->list.items[i] < 0)
      return INVALID("All elements of explicit_paddings must be nonnegative, but got %lld",
                     (long long)attr->list.items[i]);
  for (int i = 0; i < 2; i++) {
    if (attr->list.items[i] || attr->list.items[2 * w->channel + i])
      return INVALID("Nonzero explicit padding in the batch or depth dimensions is not supported");
    rows[i] = attr->list.items[2 * w->row + i];
    cols[i] = attr->list.items[2 * w->col + i];
  }
  return NULL;
}

situ_status window_plan(const struct call *call, const situ_shape *x, int64_t kh, int64_t kw,
                        struct window *out) {
  const bool first = is_planes(call);
  const char *padding = call_text(call, "padding");
  int64_t strides[4], dilations[4], rows[2], cols[2];
  *out = (struct window){.channel = first ? 1 : 3, .row = first ? 2 : 1, .col = first ? 3 : 2};
  if (x->rank != SITU_ANY && x->rank != 4)
    return INVALID("Shape must be rank 4 but is rank %d", x->rank);
  TRY(read_four(call, "strides", 1, strides));
  TRY(read_four(call, call_attr(call, "rates") ? "rates" : "dilations", 1, dilations));
  TRY(only_inside(out, "strides", strides));
  TRY(only_inside(out, "dilations", dilations));
  TRY(read_paddings(call, out, rows, cols));
  const bool known = x->rank == 4;
  out->n = known ? x->dim[0] : SITU_ANY;
  out->c = known ? x->dim[out->channel] : SITU_ANY;
  out->h = known ? x->dim[out->row] : SITU_ANY;
  out->w = known ? x->dim[out->col] : SITU_ANY;
  out->kh = kh, out->kw = kw;
  out->sh = strides[out->row], out->sw = strides[out->col];
  out->dh = dilations[out->row], out->dw = dilations[out->col];
  TRY(pad(padding, out->h, kh, out->sh, out->dh, rows, &out->top, &out->oh));
  return pad(padding, out->w, kw, out->sw, out->dw, cols, &out->left, &out->ow);
}

/* Fails if a window contains only padding. */
static situ_status pad_less(const char *side, int64_t padding, int64_t window) {
  if (padding < window) return NULL;
  return INVALID("%s padding %lld needs to be smaller than the window size %lld", side,
                 (long long)padding, (long long)window);
}

situ_status window_pool(const struct call *call, const situ_shape *x, struct window *out) {
  const bool first = is_planes(call);
  int64_t size[4], rows[2], cols[2];
  TRY(read_four(call, "ksize", 1, size));
  TRY(window_plan(call, x, size[first ? 2 : 1], size[first ? 3 : 2], out));
  TRY(read_paddings(call, out, rows, cols));
  TRY(pad_less("Top", rows[0], out->kh));
  TRY(pad_less("Bottom", rows[1], out->kh));
  TRY(pad_less("Left", cols[0], out->kw));
  TRY(pad_less("Right", cols[1], out->kw));
  return only_inside(out, "windows", size);
}

situ_shape window_shape(const struct window *window, int64_t n, int64_t h, int64_t w, int64_t c) {
  situ_shape shape = {.rank = 4};
  shape.dim[0] = n;
  shape.dim[window->row] = h;
  shape.dim[window->col] = w;
  shape.dim[window->channel] = c;
  return shape;
}

void window_place(const struct window *w, int64_t out[SITU_MAX_RANK]) {
  const int64_t all[SITU_MAX_RANK] = {w->h, w->w, w->sh, w->sw, w->top, w->left, w->dh, w->dw};
  memcpy(out, all, sizeof all);
}

void window_steps(const struct window *window, int64_t h, int64_t w, int64_t c, int64_t out[4]) {
  const bool first = window->channel == 1;
  out[0] = h * w * c;
  out[1] = first ? w : w * c;
  out[2] = first ? 1 : c;
  out[3] = first ? h * w : 1;
}
