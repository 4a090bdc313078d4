/* SPDX-License-Identifier: Apache-2.0
 * conv_direct.c: direct convolution with a packed filter: forward, and backward data as forward
 * convolutions over the output gradient, one per stride phase. */
#include <string.h>

#include "base/interrupt.h"
#include "host/conv_common.h"
#include "host/thread_pool.h"

enum {
  L2_BYTES = 256 * 1024, /* part of the filter that stays in the L2 cache */
  L1_BYTES = 24 * 1024,  /* part that stays in the L1 cache */
  MIN_ITEMS = 64,        /* work items needed to keep all threads busy */
};

/* A forward convolution with a packed filter. */
struct direct_conv {
  const struct conv_kernels *kernels;
  size_t size;        /* element size in bytes */
  int64_t rows, cols; /* largest tile */
  const char *x;
  int64_t n, h, w, c, kh, kw, sh, sw, dh, dw, top, left;
  int64_t oh, ow, o;
  char *y;
  int64_t y_image, y_row, y_col; /* strides in elements */
  const char *filter;            /* packed: panels of [kh * kw * c][cols] */
  int64_t height, blocks;        /* rows per work item, work items per image */
  bool is_unpadded;              /* no horizontal padding, and the taps of a row are contiguous */
};

/* A tile: `count` outputs of a row, for the taps r0 <= r < r1. */
struct tile_position {
  int64_t col, count, r0, r1, panel;
  bool add;
};

/* Accumulates runs of taps that cover the same outputs. Runs that cover the whole tile come first,
 * so that it need not be zeroed. */
static void accumulate_taps(const struct direct_conv *s, const struct tile_position *tile_position,
                            struct conv_tile *t, const char *a, const char *b, int64_t cols) {
  const int64_t count = tile_position->count;
  char *const c = t->c;
  bool is_initialized = t->add;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1 && !is_initialized) {
      conv_clear_tile(t, s->size, count, cols);
      is_initialized = true;
    }
    for (int64_t k = 0, next; k < s->kw; k = next) {
      int64_t from, to, from_next, to_next;
      const int64_t at = tile_position->col * s->sw - s->left;
      conv_valid_range(at + k * s->dw, s->sw, s->w, count, &from, &to);
      for (next = k + 1; next < s->kw && s->dw == 1; next++) {
        conv_valid_range(at + next, s->sw, s->w, count, &from_next, &to_next);
        if (from_next != from || to_next != to) break;
      }
      if (from == to || (to - from == count) != (pass == 0)) continue;
      t->a = a + (from * s->sw + k * s->dw) * s->c * (int64_t)s->size;
      t->b = b + k * s->c * s->cols * (int64_t)s->size;
      t->c = c + (size_t)(from * s->y_col) * s->size;
      t->k = (next - k) * s->c;
      t->add = is_initialized;
      s->kernels->tile(t, false, to - from, cols);
      if (pass == 0) is_initialized = true;
    }
  }
}

static void compute_tile(const struct direct_conv *s, int64_t image, int64_t row,
                         const struct tile_position *tile_position) {
  const int64_t size = (int64_t)s->size, wide = s->cols, j = tile_position->panel * wide;
  const int64_t cols = min_i64(wide, s->o - j), first = row * s->sh - s->top;
  struct conv_tile t = {
      .c = s->y + (image * s->y_image + row * s->y_row + tile_position->col * s->y_col + j) * size,
      .c_row = s->y_col,
      .a_row = s->sw * s->c,
      .a_col = 1,
      .a_segment = s->dh * s->w * s->c,
      .b_row = wide,
      .b_segment = s->kw * s->c * wide,
      .add = tile_position->add};
  const int64_t r0 = max_i64(tile_position->r0, conv_ceil(-first, s->dh));
  const int64_t r1 = min_i64(tile_position->r1, conv_ceil(s->h - first, s->dh));
  t.segments = r1 - r0;
  if (r0 >= r1) {
    conv_clear_tile(&t, s->size, tile_position->count, cols);
    return;
  }
  const int64_t pixel =
      (image * s->h + first + r0 * s->dh) * s->w + tile_position->col * s->sw - s->left;
  const int64_t tap = tile_position->panel * s->kh * s->kw + r0 * s->kw;
  accumulate_taps(s, tile_position, &t, s->x + pixel * s->c * size,
                  s->filter + tap * s->c * wide * size, cols);
}

/* Computes a row of outputs without horizontal padding for the panels first <= p < last: one run of
 * taps per row of the window. */
static void compute_unpadded_row(const struct direct_conv *s, int64_t image, int64_t row,
                                 int64_t first, int64_t last, int64_t wide) {
  const int64_t size = (int64_t)s->size, cols = s->cols, at = row * s->sh - s->top;
  const int64_t r0 = conv_clamp(conv_ceil(-at, s->dh), 0, s->kh);
  const int64_t r1 = conv_clamp(conv_ceil(s->h - at, s->dh), r0, s->kh);
  struct conv_tile t = {.c_row = s->y_col,
                        .k = s->kw * s->c,
                        .segments = r1 - r0,
                        .a_row = s->sw * s->c,
                        .a_col = 1,
                        .a_segment = s->dh * s->w * s->c,
                        .b_row = cols,
                        .b_segment = s->kw * s->c * cols};
  const int64_t x = ((image * s->h + at + r0 * s->dh) * s->w - s->left) * s->c;
  const int64_t y = image * s->y_image + row * s->y_row;
  for (int64_t col = 0; col < s->ow; col += wide) {
    t.a = s->x + (x + col * t.a_row) * size;
    for (int64_t p = first; p < last; p++) {
      t.b = s->filter + (p * s->kh + r0) * t.b_segment * size;
      t.c = s->y + (y + col * s->y_col + p * cols) * size;
      s->kernels->tile(&t, false, min_i64(wide, s->ow - col), min_i64(cols, s->o - p * cols));
    }
  }
}

/* Computes a block of rows of an image. Each cache-sized part of the filter is used for all rows
 * before the next one. */
static void compute_block(const struct direct_conv *s, int64_t image, int64_t top, int64_t bottom) {
  const int64_t tiles = conv_ceil(s->ow, s->rows), wide = conv_ceil(s->ow, tiles);
  const int64_t row_bytes = s->kw * s->c * s->cols * (int64_t)s->size;
  const int64_t group = max_i64(1, L2_BYTES / row_bytes);
  const int64_t panels = conv_ceil(s->o, s->cols);
  const int64_t panels_per_pass = max_i64(1, L1_BYTES / (row_bytes * s->kh)); /* panels per pass */
  struct tile_position tile_position;
  for (int64_t first = 0; first < panels && s->is_unpadded && group >= s->kh;
       first += panels_per_pass)
    for (int64_t row = top; row < bottom && !interrupt_pending(); row++)
      compute_unpadded_row(s, image, row, first, min_i64(panels, first + panels_per_pass), wide);
  if (s->is_unpadded && group >= s->kh) return;
  for (int64_t first = 0; first < panels; first += panels_per_pass)
    for (tile_position.r0 = 0; tile_position.r0 < s->kh; tile_position.r0 = tile_position.r1) {
      tile_position.r1 = min_i64(s->kh, tile_position.r0 + group);
      tile_position.add = tile_position.r0 > 0;
      for (int64_t row = top; row < bottom && !interrupt_pending(); row++)
        for (tile_position.col = 0; tile_position.col < s->ow; tile_position.col += wide) {
          tile_position.count = min_i64(wide, s->ow - tile_position.col);
          for (tile_position.panel = first;
               tile_position.panel < min_i64(panels, first + panels_per_pass);
               tile_position.panel++)
            compute_tile(s, image, row, &tile_position);
        }
    }
}

static situ_status direct_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct direct_conv *s = args[0].pointer;
  for (int64_t item = begin; item < end; item++) {
    const int64_t top = item % s->blocks * s->height;
    compute_block(s, item / s->blocks, top, min_i64(s->oh, top + s->height));
  }
  return NULL;
}

static situ_status run_direct(struct direct_conv *s) {
  const union arg args[] = {{.pointer = s}};
  if (!s->n || !s->oh || !s->ow) return NULL;
  const int64_t end = (s->ow - 1) * s->sw - s->left + (s->kw - 1) * s->dw;
  s->is_unpadded = s->left <= 0 && end < s->w && (s->dw == 1 || s->kw == 1);
  s->blocks = min_i64(s->oh, conv_ceil(MIN_ITEMS, s->n));
  s->height = conv_ceil(s->oh, s->blocks);
  s->blocks = conv_ceil(s->oh, s->height);
  return thread_pool_run(direct_kernel, args, s->n * s->blocks, 1);
}

/* ---- Packing ---- */

/* Which taps of a filter are packed into panels, and how. */
struct packing {
  const struct conv *conv;
  int64_t wide;                                     /* columns per panel */
  bool is_transposed;                               /* columns are the input channels */
  int64_t kh, kw, r_first, r_step, k_first, k_step; /* selected taps */
  char *to;
};

#define PACK(suffix, type_)                                                                     \
  static void pack_##suffix(const struct packing *p, int64_t line, int64_t columns,             \
                            int64_t depth) {                                                    \
    const int64_t wide = p->wide, panel = line / (p->kh * p->kw), tap = line % (p->kh * p->kw); \
    const int64_t r = p->r_first + tap / p->kw * p->r_step,                                     \
                  k = p->k_first + tap % p->kw * p->k_step;                                     \
    const type_ *from =                                                                         \
        (const type_ *)p->conv->filter + (r * p->conv->kw + k) * p->conv->c * p->conv->o;       \
    type_ *to = (type_ *)p->to + line * depth * wide;                                           \
    const int64_t n_columns = min_i64(wide, columns - panel * wide);                            \
    const int64_t row = p->is_transposed ? 1 : p->conv->o,                                      \
                  col = p->is_transposed ? p->conv->o : 1;                                      \
    for (int64_t d = 0; d < depth; d++)                                                         \
      for (int64_t j = 0; j < wide; j++)                                                        \
        to[d * wide + j] = j < n_columns ? from[d * row + (panel * wide + j) * col] : 0;        \
  }
PACK(4, uint32_t)
PACK(8, uint64_t)
#undef PACK

static situ_status pack_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct packing *p = args[0].pointer;
  const int64_t columns = p->is_transposed ? p->conv->c : p->conv->o;
  const int64_t depth = p->is_transposed ? p->conv->o : p->conv->c;
  for (int64_t line = begin; line < end; line++) {
    if (situ_type_size(p->conv->type) == 4)
      pack_4(p, line, columns, depth);
    else
      pack_8(p, line, columns, depth);
  }
  return NULL;
}

static situ_status run_packing(const struct packing *p) {
  const union arg args[] = {{.pointer = (void *)(uintptr_t)p}};
  const int64_t columns = p->is_transposed ? p->conv->c : p->conv->o;
  return thread_pool_run(pack_kernel, args, conv_ceil(columns, p->wide) * p->kh * p->kw, 8);
}

/* ---- Forward ---- */

situ_status conv_forward(const struct conv_kernels *kernels, const struct conv *c) {
  const size_t size = situ_type_size(c->type);
  const bool wide = conv_few_channels(c) && conv_is_wide(kernels, c->o);
  struct packing packing = {.conv = c,
                            .wide = wide ? kernels->wide_cols : kernels->cols,
                            .kh = c->kh,
                            .kw = c->kw,
                            .r_step = 1,
                            .k_step = 1,
                            .to = c->workspace};
  struct direct_conv s = {.kernels = kernels,
                          .size = size,
                          .rows = wide ? kernels->wide_rows : kernels->rows,
                          .cols = packing.wide,
                          .x = c->x,
                          .n = c->n,
                          .h = c->h,
                          .w = c->w,
                          .c = c->c,
                          .kh = c->kh,
                          .kw = c->kw,
                          .sh = c->sh,
                          .sw = c->sw,
                          .dh = c->dh,
                          .dw = c->dw,
                          .top = c->top,
                          .left = c->left,
                          .oh = c->oh,
                          .ow = c->ow,
                          .o = c->o,
                          .y = c->y,
                          .y_image = c->oh * c->ow * c->o,
                          .y_row = c->ow * c->o,
                          .y_col = c->o,
                          .filter = c->workspace};
  TRY(run_packing(&packing));
  if (conv_few_channels(c)) {
    char *to = (char *)c->workspace +
               conv_aligned(conv_packed_elements(kernels, c->kh * c->kw, c->c, c->o), size);
    TRY(conv_pad_images(c, to));
    s.x = to;
    s.w = conv_padded_width(c);
    s.left = 0;
  }
  return run_direct(&s);
}

/* ---- Backward data: pixels `sh` and `sw` apart are covered by the same taps, so that each such
 * phase is a forward convolution over the output gradient with reversed taps. ---- */

/* One dimension of a phase: its pixels are first, first + stride, ...; its taps start at `tap` and
 * are `stride` apart. */
struct phase {
  int64_t pixels, tap, taps, padding;
};

static struct phase find_phase(int64_t first, int64_t size, int64_t k, int64_t stride, int64_t pad,
                               int64_t dilation) {
  if (stride == 1)
    return (struct phase){.pixels = size, .taps = k, .padding = (k - 1) * dilation - pad};
  struct phase p = {.pixels = conv_ceil(size - first, stride), .tap = (first + pad) % stride};
  p.taps = max_i64(0, conv_ceil(k - p.tap, stride));
  p.padding = p.taps - 1 - (first + pad - p.tap) / stride;
  return p;
}

static void clear_phase(const struct direct_conv *s) {
  for (int64_t i = 0; i < s->n; i++)
    for (int64_t row = 0; row < s->oh; row++)
      for (int64_t col = 0; col < s->ow; col++)
        memset(s->y + (size_t)(i * s->y_image + row * s->y_row + col * s->y_col) * s->size, 0,
               (size_t)s->o * s->size);
}

static situ_status run_phase(const struct conv_kernels *kernels, const struct conv *c, int64_t row,
                             int64_t col, char **workspace) {
  const size_t size = situ_type_size(c->type);
  const struct phase v = find_phase(row, c->h, c->kh, c->sh, c->top, c->dh);
  const struct phase u = find_phase(col, c->w, c->kw, c->sw, c->left, c->dw);
  struct packing packing = {.conv = c,
                            .wide = kernels->cols,
                            .is_transposed = true,
                            .kh = v.taps,
                            .kw = u.taps,
                            .r_first = v.tap + (v.taps - 1) * c->sh,
                            .r_step = -c->sh,
                            .k_first = u.tap + (u.taps - 1) * c->sw,
                            .k_step = -c->sw,
                            .to = *workspace};
  struct direct_conv s = {.kernels = kernels,
                          .size = size,
                          .rows = kernels->rows,
                          .cols = kernels->cols,
                          .x = c->y,
                          .n = c->n,
                          .h = c->oh,
                          .w = c->ow,
                          .c = c->o,
                          .kh = v.taps,
                          .kw = u.taps,
                          .sh = 1,
                          .sw = 1,
                          .dh = c->dh,
                          .dw = c->dw,
                          .top = v.padding,
                          .left = u.padding,
                          .oh = v.pixels,
                          .ow = u.pixels,
                          .o = c->c,
                          .y = (char *)c->x + (size_t)((row * c->w + col) * c->c) * size,
                          .y_image = c->h * c->w * c->c,
                          .y_row = c->sh * c->w * c->c,
                          .y_col = c->sw * c->c,
                          .filter = *workspace};
  if (!v.taps || !u.taps) return clear_phase(&s), NULL;
  *workspace += conv_packed_elements(kernels, v.taps * u.taps, c->o, c->c) * (int64_t)size;
  TRY(run_packing(&packing));
  return run_direct(&s);
}

situ_status conv_backward_data(const struct conv_kernels *kernels, const struct conv *c) {
  char *workspace = c->workspace;
  for (int64_t row = 0; row < min_i64(c->sh, c->h); row++)
    for (int64_t col = 0; col < min_i64(c->sw, c->w); col++)
      TRY(run_phase(kernels, c, row, col, &workspace));
  return NULL;
}
