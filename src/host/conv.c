/* SPDX-License-Identifier: Apache-2.0
 * conv.c: convolutions: how they become tiles, and how those are dealt out to threads. */
#include "host/conv.h"

#include <string.h>

#include "device/backend.h"
#include "host/conv_kernels.h"
#include "host/gemm.h"
#include "host/pool.h"

enum {
  ALIGN = 64,
  FEW_CHANNELS = 16,          /* fewer: images get their padding, and taps of a row one run */
  PANEL_BYTES = 256 * 1024,   /* of the filter that are used again and again from the L2 cache */
  ENOUGH_ITEMS = 64,          /* to keep every thread busy */
  PARTIAL_ELEMENTS = 1 << 16, /* filters up to here are summed in several places at once, */
  PARTIALS = 32,              /* in as many */
};

static int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }
static int64_t clip(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}
static size_t aligned(int64_t elements, size_t size) {
  return round_up((size_t)elements * size, ALIGN);
}

/* The places 0 <= i < count whose element of tap `at` (relative to the first image element of place
 * 0) lies inside 0 <= i * stride + at < size. */
static void valid(int64_t at, int64_t stride, int64_t size, int64_t count, int64_t *from,
                  int64_t *to) {
  *from = clip(ceil_div(-at, stride), 0, count);
  *to = clip(ceil_div(size - at, stride), *from, count);
}

/* One walk over images: every result is a sum over the taps of a packed filter. */
struct sweep {
  const struct conv_kernels *kernels;
  size_t size; /* of an element */
  const char *x;
  int64_t n, h, w, c, kh, kw, sh, sw, dh, dw, top, left;
  int64_t oh, ow, o;
  char *y;
  int64_t y_image, y_row, y_col; /* strides, in elements */
  const char *filter;            /* panels of [kh * kw * c][cols] */
  int64_t height, blocks;        /* rows of an item, items of an image */
};

/* A tile: `count` results of a row, of which the taps r0 <= r < r1 see the image. */
struct spot {
  int64_t col, count, r0, r1, panel;
  bool add;
};

/* Clears a tile that nothing is added to. */
static void clear_tile(const struct conv_tile *t, size_t size, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows && !t->add; i++)
    memset((char *)t->c + (size_t)(i * t->c_row) * size, 0, (size_t)cols * size);
}

/* Adds the taps of each column that the same results see; those that all see come first, so that
 * nothing needs to be cleared. */
static void sweep_taps(const struct sweep *s, const struct spot *spot, struct conv_tile *t,
                       const char *a, const char *b, int64_t cols) {
  const int64_t count = spot->count;
  char *const c = t->c;
  bool started = t->add;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1 && !started) {
      clear_tile(t, s->size, count, cols);
      started = true;
    }
    for (int64_t k = 0, next; k < s->kw; k = next) {
      int64_t from, to, from_next, to_next;
      const int64_t at = spot->col * s->sw - s->left;
      valid(at + k * s->dw, s->sw, s->w, count, &from, &to);
      for (next = k + 1; next < s->kw && s->dw == 1; next++) {
        valid(at + next, s->sw, s->w, count, &from_next, &to_next);
        if (from_next != from || to_next != to) break;
      }
      if (from == to || (to - from == count) != (pass == 0)) continue;
      t->a = a + (from * s->sw + k * s->dw) * s->c * (int64_t)s->size;
      t->b = b + k * s->c * s->kernels->cols * (int64_t)s->size;
      t->c = c + (size_t)(from * s->y_col) * s->size;
      t->k = (next - k) * s->c;
      t->add = started;
      s->kernels->tile(t, false, to - from, cols);
      if (pass == 0) started = true;
    }
  }
}

static void sweep_tile(const struct sweep *s, int64_t image, int64_t row, const struct spot *spot) {
  const int64_t size = (int64_t)s->size, wide = s->kernels->cols, j = spot->panel * wide;
  const int64_t cols = min_i64(wide, s->o - j), first = row * s->sh - s->top;
  struct conv_tile t = {
      .c = s->y + (image * s->y_image + row * s->y_row + spot->col * s->y_col + j) * size,
      .c_row = s->y_col,
      .a_row = s->sw * s->c,
      .a_col = 1,
      .a_segment = s->dh * s->w * s->c,
      .b_row = wide,
      .b_segment = s->kw * s->c * wide,
      .add = spot->add};
  const int64_t r0 = max_i64(spot->r0, ceil_div(-first, s->dh));
  const int64_t r1 = min_i64(spot->r1, ceil_div(s->h - first, s->dh));
  t.segments = r1 - r0;
  if (r0 >= r1) {
    clear_tile(&t, s->size, spot->count, cols);
    return;
  }
  const int64_t pixel = (image * s->h + first + r0 * s->dh) * s->w + spot->col * s->sw - s->left;
  const int64_t tap = spot->panel * s->kh * s->kw + r0 * s->kw;
  sweep_taps(s, spot, &t, s->x + pixel * s->c * size, s->filter + tap * s->c * wide * size, cols);
}

/* Blocks of rows of images. A part of the filter that stays in the cache is used for all of them
 * before the next one is. */
static situ_status sweep_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct sweep *s = args[0].pointer;
  const int64_t tiles = ceil_div(s->ow, s->kernels->rows), wide = ceil_div(s->ow, tiles);
  const int64_t row_bytes = s->kw * s->c * s->kernels->cols * (int64_t)s->size;
  const int64_t group = max_i64(1, PANEL_BYTES / row_bytes);
  for (int64_t item = begin; item < end; item++) {
    const int64_t image = item / s->blocks, top = item % s->blocks * s->height;
    const int64_t bottom = min_i64(s->oh, top + s->height);
    struct spot spot;
    for (spot.panel = 0; spot.panel * s->kernels->cols < s->o; spot.panel++)
      for (spot.r0 = 0; spot.r0 < s->kh; spot.r0 = spot.r1) {
        spot.r1 = min_i64(s->kh, spot.r0 + group);
        spot.add = spot.r0 > 0;
        for (int64_t row = top; row < bottom; row++)
          for (spot.col = 0; spot.col < s->ow; spot.col += wide) {
            spot.count = min_i64(wide, s->ow - spot.col);
            sweep_tile(s, image, row, &spot);
          }
      }
  }
  return NULL;
}

static situ_status run_sweep(struct sweep *s) {
  const union arg args[] = {{.pointer = s}};
  if (!s->n || !s->oh || !s->ow) return NULL;
  s->blocks = min_i64(s->oh, ceil_div(ENOUGH_ITEMS, s->n));
  s->height = ceil_div(s->oh, s->blocks);
  s->blocks = ceil_div(s->oh, s->height);
  return pool_run(sweep_kernel, args, s->n * s->blocks, 1);
}

/* Packing */

/* Which taps of a filter go into panels, and how. */
struct packing {
  const struct conv *conv;
  const struct conv_kernels *kernels;
  bool turned;                                      /* columns are the channels of the images */
  int64_t kh, kw, r_first, r_step, k_first, k_step; /* the taps */
  char *to;
};

#define PACK(word, type_)                                                                          \
  static void pack_##word(const struct packing *p, int64_t line, int64_t columns, int64_t depth) { \
    const int64_t wide = p->kernels->cols, panel = line / (p->kh * p->kw),                         \
                  tap = line % (p->kh * p->kw);                                                    \
    const int64_t r = p->r_first + tap / p->kw * p->r_step,                                        \
                  k = p->k_first + tap % p->kw * p->k_step;                                        \
    const type_ *from =                                                                            \
        (const type_ *)p->conv->filter + (r * p->conv->kw + k) * p->conv->c * p->conv->o;          \
    type_ *to = (type_ *)p->to + line * depth * wide;                                              \
    const int64_t have = min_i64(wide, columns - panel * wide);                                    \
    const int64_t row = p->turned ? 1 : p->conv->o, col = p->turned ? p->conv->o : 1;              \
    for (int64_t d = 0; d < depth; d++)                                                            \
      for (int64_t j = 0; j < wide; j++)                                                           \
        to[d * wide + j] = j < have ? from[d * row + (panel * wide + j) * col] : 0;                \
  }
PACK(4, uint32_t)
PACK(8, uint64_t)
#undef PACK

static situ_status pack_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct packing *p = args[0].pointer;
  const int64_t columns = p->turned ? p->conv->c : p->conv->o;
  const int64_t depth = p->turned ? p->conv->o : p->conv->c;
  for (int64_t line = begin; line < end; line++) {
    if (situ_type_size(p->conv->type) == 4)
      pack_4(p, line, columns, depth);
    else
      pack_8(p, line, columns, depth);
  }
  return NULL;
}

static int64_t packed_elements(const struct conv_kernels *kernels, int64_t taps, int64_t depth,
                               int64_t columns) {
  return ceil_div(columns, kernels->cols) * kernels->cols * taps * depth;
}

static situ_status run_packing(const struct packing *p) {
  const union arg args[] = {{.pointer = (void *)(uintptr_t)p}};
  const int64_t columns = p->turned ? p->conv->c : p->conv->o;
  return pool_run(pack_kernel, args, ceil_div(columns, p->kernels->cols) * p->kh * p->kw, 8);
}

/* Images with their padding at the sides: rows are copied to the middle of wider ones. */
struct padding {
  const char *from;
  char *to;
  size_t have, before, whole; /* bytes: of a row, in front of it, of a new row */
};

static situ_status pad_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct padding *p = args[0].pointer;
  for (int64_t i = begin; i < end; i++) {
    char *to = p->to + (size_t)i * p->whole;
    const size_t middle = p->have < p->whole - p->before ? p->have : p->whole - p->before;
    memset(to, 0, p->before);
    memcpy(to + p->before, p->from + (size_t)i * p->have, middle);
    memset(to + p->before + middle, 0, p->whole - p->before - middle);
  }
  return NULL;
}

static situ_status run_padding(const struct padding *p, int64_t rows) {
  const union arg args[] = {{.pointer = (void *)(uintptr_t)p}};
  return pool_run(pad_kernel, args, rows, max_i64(1, (int64_t)(65536 / (p->whole + 1))));
}

static bool few_channels(const struct conv *c) {
  return c->c < FEW_CHANNELS && c->kw > 1 && c->dw == 1;
}

/* Columns of the images that the windows touch, padding included. */
static int64_t padded_width(const struct conv *c) {
  return (c->ow - 1) * c->sw + (c->kw - 1) * c->dw + 1;
}

static situ_status pad_images(const struct conv *c, char *to) {
  const size_t size = situ_type_size(c->type), pixel = (size_t)c->c * size;
  struct padding p = {.from = c->x,
                      .to = to,
                      .have = (size_t)c->w * pixel,
                      .before = (size_t)c->left * pixel,
                      .whole = (size_t)padded_width(c) * pixel};
  return run_padding(&p, c->n * c->h);
}

/* Results */

static situ_status run_result(const struct conv_kernels *kernels, const struct conv *c) {
  const size_t size = situ_type_size(c->type);
  struct packing packing = {.conv = c,
                            .kernels = kernels,
                            .kh = c->kh,
                            .kw = c->kw,
                            .r_step = 1,
                            .k_step = 1,
                            .to = c->space};
  struct sweep s = {.kernels = kernels,
                    .size = size,
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
                    .filter = c->space};
  TRY(run_packing(&packing));
  if (few_channels(c)) {
    char *to =
        (char *)c->space + aligned(packed_elements(kernels, c->kh * c->kw, c->c, c->o), size);
    TRY(pad_images(c, to));
    s.x = to;
    s.w = padded_width(c);
    s.left = 0;
  }
  return run_sweep(&s);
}

/* Gradient of the images: results scattered back. Pixels that are `sh` and `sw` apart see the same
 * taps: each such phase is a sweep over the results with the taps backwards. */

/* One dimension of a phase: its pixels are first, first + stride, ...; its taps begin at `tap` and
 * are `stride` apart. */
struct phase {
  int64_t pixels, tap, taps, before;
};

static struct phase find_phase(int64_t first, int64_t size, int64_t k, int64_t stride, int64_t pad,
                               int64_t apart) {
  if (stride == 1)
    return (struct phase){.pixels = size, .taps = k, .before = (k - 1) * apart - pad};
  struct phase p = {.pixels = ceil_div(size - first, stride), .tap = (first + pad) % stride};
  p.taps = max_i64(0, ceil_div(k - p.tap, stride));
  p.before = p.taps - 1 - (first + pad - p.tap) / stride;
  return p;
}

static void clear_phase(const struct sweep *s) {
  for (int64_t i = 0; i < s->n; i++)
    for (int64_t row = 0; row < s->oh; row++)
      for (int64_t col = 0; col < s->ow; col++)
        memset(s->y + (size_t)(i * s->y_image + row * s->y_row + col * s->y_col) * s->size, 0,
               (size_t)s->o * s->size);
}

static situ_status run_phase(const struct conv_kernels *kernels, const struct conv *c, int64_t row,
                             int64_t col, char **space) {
  const size_t size = situ_type_size(c->type);
  const struct phase v = find_phase(row, c->h, c->kh, c->sh, c->top, c->dh);
  const struct phase u = find_phase(col, c->w, c->kw, c->sw, c->left, c->dw);
  struct packing packing = {.conv = c,
                            .kernels = kernels,
                            .turned = true,
                            .kh = v.taps,
                            .kw = u.taps,
                            .r_first = v.tap + (v.taps - 1) * c->sh,
                            .r_step = -c->sh,
                            .k_first = u.tap + (u.taps - 1) * c->sw,
                            .k_step = -c->sw,
                            .to = *space};
  struct sweep s = {.kernels = kernels,
                    .size = size,
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
                    .top = v.before,
                    .left = u.before,
                    .oh = v.pixels,
                    .ow = u.pixels,
                    .o = c->c,
                    .y = (char *)c->x + (size_t)((row * c->w + col) * c->c) * size,
                    .y_image = c->h * c->w * c->c,
                    .y_row = c->sh * c->w * c->c,
                    .y_col = c->sw * c->c,
                    .filter = *space};
  if (!v.taps || !u.taps) return clear_phase(&s), NULL;
  *space += packed_elements(kernels, v.taps * u.taps, c->o, c->c) * (int64_t)size;
  TRY(run_packing(&packing));
  return run_sweep(&s);
}

static situ_status run_images(const struct conv_kernels *kernels, const struct conv *c) {
  char *space = c->space;
  for (int64_t row = 0; row < min_i64(c->sh, c->h); row++)
    for (int64_t col = 0; col < min_i64(c->sw, c->w); col++)
      TRY(run_phase(kernels, c, row, col, &space));
  return NULL;
}

/* Gradient of the filter */

struct filter_job {
  const struct conv_kernels *kernels;
  size_t size;
  struct conv conv;   /* with few channels: padded images, all taps of a row as one */
  int64_t pixel;      /* elements from one pixel of the images to the next */
  int64_t y_pixel;    /* and of the results: whole vectors */
  int64_t image_size; /* elements */
  char *to;           /* results, one after the other: */
  int64_t groups, panels;
};

/* What the images first <= i < last give to the tap (r, k), columns of one panel; unless the first
 * is `fresh`, all is added to what is there. */
static void filter_tap(const struct filter_job *job, int64_t fresh, int64_t first, int64_t last,
                       int64_t r, int64_t k, int64_t panel, char *to) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, j = panel * job->kernels->cols;
  const int64_t cols = min_i64(job->kernels->cols, c->o - j);
  const int64_t tiles = ceil_div(c->c, job->kernels->rows), tall = ceil_div(c->c, tiles);
  const int64_t v = r * c->dh - c->top, u = k * c->dw - c->left;
  int64_t top, bottom, left, right;
  valid(v, c->sh, c->h, c->oh, &top, &bottom);
  valid(u, c->sw, c->w, c->ow, &left, &right);
  struct conv_tile t = {.k = right - left,
                        .segments = bottom - top,
                        .a_row = 1,
                        .a_col = c->sw * job->pixel,
                        .a_segment = c->sh * c->w * job->pixel,
                        .b_row = job->y_pixel,
                        .b_segment = c->ow * job->y_pixel,
                        .c_row = c->o};
  const int64_t a = ((top * c->sh + v) * c->w + left * c->sw + u) * job->pixel;
  const int64_t b = (top * c->ow + left) * job->y_pixel + j;
  for (int64_t image = first; image < last; image++)
    for (int64_t i = 0; i < c->c; i += tall) {
      const int64_t rows = min_i64(tall, c->c - i);
      t.c = to + (((r * c->kw + k) * c->c + i) * c->o + j) * size;
      t.add = image > fresh;
      t.a = (const char *)c->x + (image * job->image_size + a + i) * size;
      t.b = (const char *)c->y + (image * c->oh * c->ow * job->y_pixel + b) * size;
      if (t.k > 0 && t.segments > 0)
        job->kernels->tile(&t, true, rows, cols);
      else
        clear_tile(&t, job->size, rows, cols);
    }
}

/* Items are taps and panels, or, for small filters, groups of images with a result of their own. */
static situ_status filter_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct filter_job *job = args[0].pointer;
  const struct conv *c = &job->conv;
  const int64_t count = c->kh * c->kw * job->panels;
  for (int64_t item = begin; item < end; item++) {
    if (job->groups == 1) {
      const int64_t tap = item / job->panels;
      filter_tap(job, 0, 0, c->n, tap / c->kw, tap % c->kw, item % job->panels, job->to);
      continue;
    }
    const int64_t first = c->n * item / job->groups, last = c->n * (item + 1) / job->groups;
    char *to = job->to + item * c->kh * c->kw * c->c * c->o * (int64_t)job->size;
    for (int64_t image = first; image < last; image++)
      for (int64_t i = 0; i < count; i++) {
        const int64_t tap = i / job->panels;
        filter_tap(job, first, image, image + 1, tap / c->kw, tap % c->kw, i % job->panels, to);
      }
  }
  return NULL;
}

#define SUM(word, type_)                                                             \
  static situ_status sum_##word(const union arg *args, int64_t begin, int64_t end) { \
    const struct filter_job *job = args[0].pointer;                                  \
    const int64_t count = args[2].integer;                                           \
    const type_ *from = (const type_ *)job->to;                                      \
    type_ *to = args[1].pointer;                                                     \
    for (int64_t i = begin; i < end; i++) to[i] = from[i];                           \
    for (int64_t g = 1; g < job->groups; g++)                                        \
      for (int64_t i = begin; i < end; i++) to[i] += from[g * count + i];            \
    return NULL;                                                                     \
  }
SUM(4, float)
SUM(8, double)
#undef SUM

/* How many results of their own groups of images get; 1: none. */
static int64_t count_groups(const struct conv *c) {
  return c->kh * c->kw * c->c * c->o <= PARTIAL_ELEMENTS ? clip(c->n, 1, PARTIALS) : 1;
}

static int64_t whole_vectors(const struct conv_kernels *kernels, int64_t o) {
  return ceil_div(o, kernels->lanes) * kernels->lanes;
}

static situ_status run_filter(const struct conv_kernels *kernels, const struct conv *c) {
  const size_t size = situ_type_size(c->type);
  const int64_t count = c->kh * c->kw * c->c * c->o;
  char *space = c->space;
  struct filter_job job = {.kernels = kernels,
                           .size = size,
                           .conv = *c,
                           .pixel = c->c,
                           .y_pixel = whole_vectors(kernels, c->o),
                           .to = c->filter,
                           .groups = count_groups(c),
                           .panels = ceil_div(c->o, kernels->cols)};
  if (few_channels(c)) {
    TRY(pad_images(c, space));
    job.conv.x = space;
    job.conv.w = padded_width(c);
    job.conv.left = 0;
    job.conv.c = c->kw * c->c;
    job.conv.kw = 1;
    space += aligned(c->n * c->h * job.conv.w * c->c, size);
  }
  job.image_size = c->h * job.conv.w * c->c;
  if (job.y_pixel != c->o) {
    const struct padding p = {c->y, space, (size_t)c->o * size, 0, (size_t)job.y_pixel * size};
    TRY(run_padding(&p, c->n * c->oh * c->ow));
    job.conv.y = space;
    space += aligned(c->n * c->oh * c->ow * job.y_pixel, size);
  }
  const union arg args[] = {{.pointer = &job}, {.pointer = c->filter}, {.integer = count}};
  if (job.groups == 1)
    return pool_run(filter_kernel, args, job.conv.kh * job.conv.kw * job.panels, 1);
  job.to = space;
  TRY(pool_run(filter_kernel, args, job.groups, 1));
  return pool_run(size == 4 ? sum_4 : sum_8, args, count, 4096);
}

/* A filter of one tap is a matrix, images and results are tall ones. */

static bool is_product(const struct conv *c) {
  return c->kh == 1 && c->kw == 1 && c->sh == 1 && c->sw == 1 && !c->top && !c->left &&
         c->oh == c->h && c->ow == c->w;
}

static struct gemm product_of(const struct conv *c, enum conv_want want) {
  const int64_t pixels = c->n * c->h * c->w;
  struct gemm g = {.type = c->type, .m = pixels, .n = c->o, .k = c->c, .space = c->space};
  g.a = c->x, g.a_row = c->c, g.a_col = 1;
  g.b = c->filter, g.b_row = c->o, g.b_col = 1;
  g.c = c->y, g.c_row = c->o, g.c_col = 1;
  if (want == CONV_IMAGES) {
    g.n = c->c, g.k = c->o;
    g.a = c->y, g.a_row = c->o;
    g.b_row = 1, g.b_col = c->o;
    g.c = c->x, g.c_row = c->c;
  } else if (want == CONV_FILTER) {
    g.m = c->c, g.k = pixels;
    g.a_row = 1, g.a_col = c->c;
    g.b = c->y;
    g.c = c->filter;
  }
  return g;
}

bool conv_can(const struct conv *c, enum conv_want want) {
  if (!conv_kernels(c->type)) return false;
  return want != CONV_IMAGES || (c->dh == 1 && c->dw == 1) || (c->sh == 1 && c->sw == 1);
}

size_t conv_space(const struct conv *c, enum conv_want want) {
  const struct conv_kernels *kernels = conv_kernels(c->type);
  const size_t size = situ_type_size(c->type);
  if (!kernels) return 0;
  if (is_product(c)) {
    const struct gemm g = product_of(c, want);
    return gemm_space(g.type, g.m, g.n, g.k);
  }
  const size_t images = few_channels(c) ? aligned(c->n * c->h * padded_width(c) * c->c, size) : 0;
  if (want == CONV_RESULT)
    return aligned(packed_elements(kernels, c->kh * c->kw, c->c, c->o), size) + images;
  if (want == CONV_IMAGES)
    return aligned(packed_elements(kernels, c->kh * c->kw, c->o, c->c), size);
  const int64_t y_pixel = whole_vectors(kernels, c->o);
  const int64_t groups = count_groups(c), count = c->kh * c->kw * c->c * c->o;
  return images + (y_pixel != c->o ? aligned(c->n * c->oh * c->ow * y_pixel, size) : 0) +
         (groups > 1 ? aligned(groups * count, size) : 0);
}

static void clear(void *to, int64_t elements, situ_type type) {
  memset(to, 0, (size_t)elements * situ_type_size(type));
}

situ_status conv_run_with(const struct conv_kernels *kernels, const struct conv *c,
                          enum conv_want want) {
  const int64_t x = c->n * c->h * c->w * c->c, y = c->n * c->oh * c->ow * c->o;
  const int64_t filter = c->kh * c->kw * c->c * c->o;
  const int64_t wanted = want == CONV_RESULT ? y : want == CONV_IMAGES ? x : filter;
  void *to = want == CONV_RESULT ? c->y : want == CONV_IMAGES ? c->x : c->filter;
  if (!wanted) return NULL;
  if (!x || !y || !filter) return clear(to, wanted, c->type), NULL;
  if (want == CONV_RESULT) return run_result(kernels, c);
  return want == CONV_IMAGES ? run_images(kernels, c) : run_filter(kernels, c);
}

situ_status conv_run(const struct conv *c, enum conv_want want) {
  const struct conv_kernels *kernels = conv_kernels(c->type);
  if (!kernels || !conv_can(c, want))
    return INTERNAL("No convolution of %s.", situ_type_name(c->type));
  if (is_product(c)) {
    const struct gemm g = product_of(c, want);
    return gemm_run(&g);
  }
  return conv_run_with(kernels, c, want);
}
