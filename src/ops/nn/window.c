/* SPDX-License-Identifier: Apache-2.0
 * window.c: see window.h. */
#include "ops/nn/window.h"

#include <string.h>

#include "schema/schema.h"
#include "tensor/shape.h"

/* The input of this name, or -1. */
static int find_input(const struct call *call, const char *name) {
  for (int i = 0; i < call->n_in; i++)
    if (strcmp(call->schema->inputs[i].name, name) == 0) return i;
  return -1;
}

/* Reads the integers of a list attribute or of an input; *count is 0 if the op has neither. */
static situ_status read_list(const struct call *call, const char *name,
                             int64_t items[SITU_MAX_RANK], int64_t *count) {
  const struct attr_value *attr = call_attr(call, name);
  const int input = attr ? -1 : find_input(call, name);
  int n = 0;
  if (input >= 0) TRY(call_integers(call, input, items, &n));
  *count = n;
  if (!attr || attr->kind != SITU_ATTR_INTS) return NULL;
  *count = attr->list.count;
  for (int d = 0; d < 4 && d < *count; d++) items[d] = attr->list.items[d];
  return NULL;
}

/* Four integers of a list attribute, or of an input: SITU_ANY if they are not known; `preset` where
 * the op has no such argument or it is empty. */
static situ_status read_four(const struct call *call, const char *name, int64_t preset,
                             int64_t out[4]) {
  int64_t items[SITU_MAX_RANK], count;
  TRY(read_list(call, name, items, &count));
  for (int d = 0; d < 4; d++) out[d] = count ? SITU_ANY : preset;
  if (!count || count == SITU_ANY) return NULL;
  if (count != 4)
    return INVALID("The attribute %s must specify 4 dimensions, but has %lld", name,
                   (long long)count);
  for (int d = 0; d < 4; d++) out[d] = items[d];
  for (int d = 0; d < 4; d++)
    if (out[d] < 1)
      return INVALID("The attribute %s must be positive, but has %lld", name, (long long)out[d]);
  return NULL;
}

static situ_status only_inside(const struct window *w, const char *what, const int64_t four[4]) {
  if (four[0] == SITU_ANY || (four[0] == 1 && four[w->channel] == 1)) return NULL;
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
  if (size == SITU_ANY || k == SITU_ANY || stride == SITU_ANY) return NULL;
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

static situ_status plan(const struct call *call, const situ_shape *x, const int64_t strides[4],
                        int64_t kh, int64_t kw, struct window *out) {
  const bool first = is_planes(call);
  const char *padding = call_text(call, "padding");
  int64_t dilations[4], rows[2], cols[2];
  *out = (struct window){.channel = first ? 1 : 3, .row = first ? 2 : 1, .col = first ? 3 : 2};
  if (x->rank != SITU_ANY && x->rank != 4)
    return INVALID("Shape must be rank 4 but is rank %d", x->rank);
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

situ_status window_plan(const struct call *call, const situ_shape *x, int64_t kh, int64_t kw,
                        struct window *out) {
  int64_t strides[4];
  TRY(read_four(call, "strides", 1, strides));
  return plan(call, x, strides, kh, kw, out);
}

/* Fails if a window contains only padding. */
static situ_status pad_less(const char *side, int64_t padding, int64_t window) {
  if (padding < window) return NULL;
  return INVALID("%s padding %lld needs to be smaller than the window size %lld", side,
                 (long long)padding, (long long)window);
}

static situ_status check_paddings(const struct call *call, const struct window *w) {
  int64_t rows[2], cols[2];
  TRY(read_paddings(call, w, rows, cols));
  TRY(pad_less("Top", rows[0], w->kh));
  TRY(pad_less("Bottom", rows[1], w->kh));
  TRY(pad_less("Left", cols[0], w->kw));
  return pad_less("Right", cols[1], w->kw);
}

static situ_status unsupported(const char *what) {
  return situ_status_create(SITU_UNIMPLEMENTED, "%s", what);
}

/* Makes the window one over `depth` channels: these become rows, and the pixels become images, each
 * of one column. NHWC images have the same order of elements either way. */
static situ_status across_channels(const struct call *call, int64_t depth, int64_t stride,
                                   struct window *w) {
  if (w->kh != 1 || w->kw != 1)
    return unsupported(
        "MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
  if (is_planes(call)) return unsupported("Depthwise max pooling needs the data format NHWC");
  if (w->c % depth)
    return unsupported(
        "Depthwise max pooling requires the depth window to evenly divide the input depth");
  if (stride != depth)
    return unsupported("Depthwise max pooling requires the depth window to equal the depth stride");
  w->n *= w->h * w->w;
  w->h = w->c;
  w->kh = w->sh = depth;
  w->oh = w->c / depth;
  w->w = w->ow = w->c = w->sw = 1;
  w->top = w->left = 0;
  return NULL;
}

situ_status window_pool(const struct call *call, const situ_shape *x, struct window *out) {
  const int row = is_planes(call) ? 2 : 1;
  int64_t size[4];
  TRY(read_four(call, "ksize", 1, size));
  TRY(window_plan(call, x, size[row], size[row + 1], out));
  if (!call->building) TRY(check_paddings(call, out));
  return only_inside(out, "windows", size);
}

situ_status window_max_pool(const struct call *call, const situ_shape *x, struct window *out,
                            int64_t *depth) {
  const int row = is_planes(call) ? 2 : 1, channel = is_planes(call) ? 1 : 3;
  int64_t size[4], strides[4];
  TRY(read_four(call, "ksize", 1, size));
  *depth = size[channel];
  if (*depth == 1 || *depth == SITU_ANY) return window_pool(call, x, out);
  TRY(read_four(call, "strides", 1, strides));
  const int64_t stride = strides[channel];
  strides[channel] = 1;
  TRY(plan(call, x, strides, size[row], size[row + 1], out));
  return call->building ? NULL : across_channels(call, *depth, stride, out);
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
