/* SPDX-License-Identifier: Apache-2.0
 * conv_filter.c: gradient of a convolution with respect to its filter: for each tap, the product of
 * the input channels that it covers and the output gradient, summed over pixels and images. Both
 * operands are packed by tile first. Inputs with few channels are padded instead, and their output
 * gradient is read in place if its channels are whole vectors. */
#include <string.h>

#include "host/conv_common.h"
#include "host/thread_pool.h"

enum {
  PIXELS = 192, /* pixels per pass, whose operands stay in the L1 cache */
  BLOCK_BYTES =
      24 << 10, /* output gradient per pass when it is packed on demand or read in place */
  MAX_PARTIAL_ELEMENTS =
      1 << 16,       /* filters up to this size are summed in several partial results */
  MAX_PARTIALS = 32, /* maximum number of partial results */
  ENOUGH_ITEMS = 8,  /* work items per thread */
  PAGE = 4096,
};

struct job {
  const struct conv_kernels *kernels;
  size_t size;
  struct conv conv;              /* with few channels: padded input, all taps of a row as one tap */
  bool is_padded;                /* input has few channels and is padded */
  int64_t channels, width, side; /* original channels and width, left padding */
  char *x, *y;                   /* packed operands: of all images, or of one per group */
  int64_t tiles, tile_channels, rows; /* channel tiles: count, channels per tile, maximum */
  int64_t x_pixel, x_tile;            /* strides in elements: pixel, tile */
  int64_t x_image;                    /* stride in elements */
  int64_t n_interleaved;              /* number of images interleaved pixel by pixel */
  int64_t panels, y_pixels,
      packed_cols;  /* output gradient: panels, pixels per image, packed columns */
  int64_t cols;     /* columns of a panel */
  bool is_blocked;  /* output gradient is read block by block: packed on demand, */
  bool is_in_place; /* or in place */
  int64_t height;   /* output rows per pass */
  int64_t groups;   /* groups of images with a partial result each; 1: none */
  char *to;
};

static int64_t round_up_to_vectors(const struct conv_kernels *kernels, int64_t o) {
  return conv_ceil(o, kernels->lanes) * kernels->lanes;
}

static int64_t count_groups(const struct conv *c) {
  const int64_t count = c->kh * c->kw * c->c * c->o;
  return count <= MAX_PARTIAL_ELEMENTS ? conv_clamp(c->n, 1, MAX_PARTIALS) : 1;
}

/* Chooses how to read the output gradient of padded inputs with partial results. */
static void plan_blocks(struct job *job, const struct conv_kernels *kernels) {
  job->is_blocked = job->is_padded && job->groups > 1;
  job->is_in_place = job->is_blocked && job->conv.o % kernels->lanes == 0;
  if (job->is_blocked && conv_is_wide(kernels, job->conv.o)) {
    job->rows = kernels->wide_rows;
    job->cols = kernels->wide_cols;
  }
}

/* Plans the pass and the sections of the workspace. */
static struct job plan(const struct conv_kernels *kernels, const struct conv *c) {
  struct job job = {.kernels = kernels,
                    .size = situ_type_size(c->type),
                    .conv = *c,
                    .channels = c->c,
                    .width = c->w,
                    .side = c->left,
                    .rows = kernels->rows,
                    .cols = kernels->cols,
                    .y_pixels = c->oh * c->ow,
                    .packed_cols = round_up_to_vectors(kernels, c->o),
                    .groups = count_groups(c)};
  job.is_padded = conv_few_channels(c);
  if (job.is_padded) {
    job.conv.w = conv_padded_width(c);
    job.conv.left = 0;
    job.conv.c = c->kw * c->c;
    job.conv.kw = 1;
  }
  plan_blocks(&job, kernels);
  job.panels = conv_ceil(c->o, job.cols);
  job.tiles = conv_ceil(job.conv.c, job.rows);
  job.tile_channels = conv_ceil(job.conv.c, job.tiles);
  job.x_pixel = job.is_padded ? c->c : job.tile_channels;
  job.x_tile = job.is_padded ? job.tile_channels : c->h * c->w * job.tile_channels;
  job.x_image = job.is_padded ? c->h * job.conv.w * c->c : job.tiles * job.x_tile;
  /* short rows have much overhead: interleave the rows of several images */
  const bool can_mix = job.groups == 1 && !job.is_padded && c->sw == 1;
  job.n_interleaved = can_mix ? conv_clamp(PIXELS / c->ow, 1, c->n) : 1;
  const int64_t block = BLOCK_BYTES / (job.packed_cols * (int64_t)job.size);
  const int64_t max_pixels = job.is_blocked ? max_i64(1, block) : PIXELS;
  job.height = conv_ceil(c->oh, conv_ceil(job.y_pixels * job.n_interleaved, max_pixels));
  return job;
}

/* Returns the number of images that are packed at a time. */
static int64_t count_packed_images(const struct job *job) {
  return job->groups > 1 ? job->groups : job->conv.n;
}

static size_t x_bytes(const struct job *job) {
  return conv_aligned((job->is_padded ? job->conv.n : count_packed_images(job)) * job->x_image,
                      job->size);
}

/* Returns the number of output pixels per image that are packed at a time. */
static int64_t count_packed_pixels(const struct job *job) {
  if (job->is_in_place) return 0;
  return job->is_blocked ? job->height * job->conv.ow : job->y_pixels;
}

static size_t y_bytes(const struct job *job) {
  return conv_aligned(count_packed_images(job) * count_packed_pixels(job) * job->packed_cols,
                      job->size);
}

/* Returns the size of a partial result in bytes; it is stored panel by panel. */
static size_t partial_bytes(const struct job *job) {
  return conv_aligned(job->conv.kh * job->conv.kw * job->conv.c * job->packed_cols, job->size);
}

size_t conv_backward_filter_workspace_size(const struct conv_kernels *kernels,
                                           const struct conv *c) {
  const struct job job = plan(kernels, c);
  const size_t parts = job.groups > 1 ? (size_t)job.groups : 0;
  return x_bytes(&job) + y_bytes(&job) + parts * partial_bytes(&job);
}

/* ---- Packing ---- */

/* Copies `count` pieces of `bytes` bytes with strides `step` and `to_step`. Common sizes are
 * compile-time constants, so that memcpy is inlined. */
#define COPY(n)                                                                       \
  case n:                                                                             \
    for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * step, n); \
    return;
static void copy_pieces(const char *from, int64_t step, int64_t count, int64_t bytes, char *to,
                        int64_t to_step) {
  switch (bytes) {
    COPY(16)
    COPY(20)
    COPY(24)
    COPY(32)
    COPY(36)
    COPY(40)
    COPY(44)
    COPY(48)
    COPY(64)
    COPY(128)
    default:
      for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * step, (size_t)bytes);
  }
}
#undef COPY

/* Packs the columns first <= j < first + wide of `pixels` pixels with interleaving `mixed`; pads
 * with zeros behind the last column. */
static void pack_columns(const char *from, int64_t pixels, int64_t columns, int64_t first,
                         int64_t wide, size_t size, int64_t interleaved, char *to) {
  const int64_t each = (int64_t)size, n_valid = min_i64(wide, columns - first);
  const int64_t to_step = interleaved * wide * each;
  from += first * each;
  if (n_valid == wide) {
    copy_pieces(from, columns * each, pixels, wide * each, to, to_step);
    return;
  }
  for (int64_t i = 0; i < pixels; i++, from += columns * each, to += to_step) {
    memcpy(to, from, (size_t)(n_valid * each));
    memset(to + n_valid * each, 0, (size_t)((wide - n_valid) * each));
  }
}

static int64_t panel_width(const struct job *job, int64_t panel) {
  return min_i64(job->cols, job->packed_cols - panel * job->cols);
}

/* Packs the output gradient of the rows top <= i < bottom as image `at` of `mixed` interleaved
 * ones. */
static void pack_output_grad(const struct job *job, int64_t image, int64_t top, int64_t bottom,
                             int64_t to, int64_t at, int64_t interleaved) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, cols = job->cols;
  const char *y = (const char *)c->y + (image * c->oh + top) * c->ow * c->o * size;
  for (int64_t p = 0; p < job->panels; p++) {
    const int64_t wide = panel_width(job, p);
    pack_columns(
        y, (bottom - top) * c->ow, c->o, p * cols, wide, job->size, interleaved,
        job->y + ((to * job->packed_cols + p * cols * interleaved) * count_packed_pixels(job) +
                  at * wide) *
                     size);
  }
}

/* Packs an image as image `at` of `mixed` interleaved ones, the first of which is packed image
 * `to`; padded inputs are stored already. */
static void pack_image(const struct job *job, int64_t image, int64_t to, int64_t at,
                       int64_t interleaved) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, pixels = c->h * c->w;
  const char *x = (const char *)c->x + image * pixels * c->c * size;
  for (int64_t t = 0; t < job->tiles && !job->is_padded; t++)
    pack_columns(
        x, pixels, c->c, t * job->tile_channels, job->tile_channels, job->size, interleaved,
        job->x +
            (to * job->x_image + t * job->x_tile * interleaved + at * job->tile_channels) * size);
  if (!job->is_blocked) pack_output_grad(job, image, 0, c->oh, to, at, interleaved);
}

/* Returns the number of images interleaved with image `first`. */
static int64_t count_mixed(const struct job *job, int64_t first) {
  return min_i64(job->n_interleaved, job->conv.n - first);
}

static situ_status pack_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = i * job->n_interleaved, interleaved = count_mixed(job, first);
    for (int64_t at = 0; at < interleaved; at++)
      pack_image(job, first + at, first, at, interleaved);
  }
  return NULL;
}

/* ---- Summation ---- */

/* The output rows top <= i < bottom of an image, for one panel. */
struct part {
  int64_t image, top, bottom, panel; /* image, and its index among the packed ones: */
  int64_t x, y;
  int64_t interleaved; /* number of interleaved images */
  bool is_first;       /* first pass: stores instead of accumulating */
  char *to;
};

/* Returns the address of a row of the result. Partial results are stored panel by panel, so that a
 * panel fits into the cache. */
static char *find_result(const struct job *job, const struct part *part, int64_t row,
                         int64_t *c_row) {
  const struct conv *c = &job->conv;
  const int64_t first = part->panel * job->cols, rows = c->kh * c->kw * c->c;
  const bool has_partials = job->groups > 1;
  *c_row = has_partials ? panel_width(job, part->panel) : c->o;
  return part->to +
         (has_partials ? first * rows + row * *c_row : row * c->o + first) * (int64_t)job->size;
}

/* Returns the address of the output gradient from this row and column on, and its pixel stride. */
static const char *find_output_grad(const struct job *job, const struct part *part, int64_t row,
                                    int64_t col, int64_t *pixel) {
  const struct conv *c = &job->conv;
  const int64_t first = part->panel * job->cols, wide = panel_width(job, part->panel);
  int64_t at;
  if (job->is_in_place) {
    *pixel = c->o;
    at = ((part->image * c->oh + row) * c->ow + col) * c->o + first;
  } else {
    const int64_t behind = job->is_blocked ? part->top : 0;
    *pixel = wide;
    at = (part->y * job->packed_cols + first * part->interleaved) * count_packed_pixels(job) +
         ((row - behind) * c->ow + col) * wide * part->interleaved;
  }
  return (job->is_in_place ? (const char *)c->y : job->y) + at * (int64_t)job->size;
}

/* Returns the output columns covered by the channels of a tile, by tap k. For padded inputs a tile
 * spans several taps, and columns outside of all of them are skipped. */
static void find_columns(const struct job *job, int64_t k, int64_t first, int64_t rows,
                         int64_t *left, int64_t *right) {
  const struct conv *c = &job->conv;
  int64_t unused;
  if (!job->is_padded) {
    conv_valid_range(k * c->dw - c->left, c->sw, c->w, c->ow, left, right);
    return;
  }
  conv_valid_range((first + rows - 1) / job->channels - job->side, c->sw, job->width, c->ow, left,
                   &unused);
  conv_valid_range(first / job->channels - job->side, c->sw, job->width, c->ow, &unused, right);
}

/* Accumulates one tile of channels for the tap in row r and column k. */
static void sum_channels(const struct job *job, const struct part *part, int64_t r, int64_t k,
                         int64_t tile) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, v = r * c->dh - c->top, u = k * c->dw - c->left;
  const int64_t wide = panel_width(job, part->panel);
  const int64_t cols = job->groups > 1 ? wide : min_i64(wide, c->o - part->panel * job->cols);
  const int64_t first = tile * job->tile_channels, rows = min_i64(job->tile_channels, c->c - first);
  int64_t top, bottom, left, right;
  conv_valid_range(v, c->sh, c->h, c->oh, &top, &bottom);
  find_columns(job, k, first, rows, &left, &right);
  top = max_i64(top, part->top);
  struct conv_tile t = {.k = (right - left) * part->interleaved,
                        .segments = min_i64(bottom, part->bottom) - top,
                        .a_row = 1,
                        .a_col = c->sw * job->x_pixel,
                        .a_segment = c->sh * c->w * job->x_pixel * part->interleaved,
                        .add = !part->is_first};
  const int64_t a = ((top * c->sh + v) * c->w + left * c->sw + u) * job->x_pixel;
  t.a = job->x + (part->x * job->x_image + (a + tile * job->x_tile) * part->interleaved) * size;
  t.b = find_output_grad(job, part, top, left, &t.b_row);
  t.b_segment = c->ow * t.b_row * part->interleaved;
  t.c = find_result(job, part, (r * c->kw + k) * c->c + first, &t.c_row);
  if (t.k > 0 && t.segments > 0)
    job->kernels->tile(&t, true, rows, cols);
  else
    conv_clear_tile(&t, job->size, rows, cols);
}

/* Returns the number of adjacent taps per work item, which share the reads of the input: a whole
 * row if there are enough rows and panels for all threads. */
static int64_t taps_together(const struct job *job) {
  const int64_t rows = job->conv.kh * job->panels;
  return rows >= ENOUGH_ITEMS * thread_pool_threads() ? job->conv.kw : 1;
}

/* Sums all images for some taps and one panel, which no other item writes. */
static situ_status tap_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  const struct conv *c = &job->conv;
  const int64_t taps = args[1].integer;
  for (int64_t item = begin; item < end; item++) {
    struct part part = {.panel = item % job->panels, .to = job->to};
    const int64_t first = item / job->panels * taps;
    for (part.image = 0; part.image < c->n; part.image += part.interleaved) {
      part.interleaved = count_mixed(job, part.image);
      part.x = part.y = part.image;
      for (part.top = 0; part.top < c->oh; part.top = part.bottom) {
        part.bottom = min_i64(c->oh, part.top + job->height);
        part.is_first = !part.image && !part.top;
        for (int64_t i = first * job->tiles; i < (first + taps) * job->tiles; i++)
          sum_channels(job, &part, i / job->tiles / c->kw, i / job->tiles % c->kw, i % job->tiles);
      }
    }
  }
  return NULL;
}

/* Software prefetch of the output gradient of the next part, spread over the tiles of the current
 * one. */
struct prefetch {
  const char *from;
  int64_t bytes, share;
};

static struct prefetch plan_prefetch(const struct job *job, const struct part *part,
                                     int64_t shares) {
  const int64_t row_bytes = job->conv.ow * job->conv.o * (int64_t)job->size;
  const int64_t row = part->image * job->conv.oh + part->bottom;
  const int64_t bytes = min_i64(job->height, job->conv.n * job->conv.oh - row) * row_bytes;
  const char *from = (const char *)job->conv.y + row * row_bytes;
  return (struct prefetch){from, bytes, conv_ceil(bytes, shares * 64) * 64};
}

/* Prefetches one share. Prefetches to pages not in the TLB are dropped, so that each page is
 * touched once, a share before it is needed. */
static void prefetch_share(struct prefetch *prefetch) {
  const int64_t now = min_i64(prefetch->share, prefetch->bytes);
  const int64_t next = min_i64(2 * prefetch->share, prefetch->bytes);
  const char *from = prefetch->from;
  const int64_t page = (int64_t)(-(uintptr_t)(from + now) % PAGE);
  for (int64_t i = now + page; i < next; i += PAGE) (void)*(const volatile char *)(from + i);
  for (int64_t i = 0; i < now; i += 64) __builtin_prefetch(from + i, 0, 2);
  prefetch->from += now;
  prefetch->bytes -= now;
}

/* Sums all taps and panels of a part. */
static void sum_part(const struct job *job, struct part *part) {
  const int64_t taps = job->conv.kh * job->conv.kw;
  struct prefetch prefetch = {0};
  if (job->is_blocked) prefetch = plan_prefetch(job, part, job->panels * taps * job->tiles);
  for (part->panel = 0; part->panel < job->panels; part->panel++)
    for (int64_t r = 0; r < job->conv.kh; r++)
      for (int64_t k = 0; k < job->conv.kw; k++)
        for (int64_t tile = 0; tile < job->tiles; tile++) {
          if (job->is_blocked) prefetch_share(&prefetch);
          sum_channels(job, part, r, k, tile);
        }
}

/* Sums all taps for a group of images into its partial result. */
static situ_status group_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  const struct conv *c = &job->conv;
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = c->n * group / job->groups, last = c->n * (group + 1) / job->groups;
    struct part part = {.interleaved = 1, .to = job->to + (size_t)group * partial_bytes(job)};
    for (part.image = first; part.image < last; part.image++) {
      pack_image(job, part.image, group, 0, 1);
      part.x = job->is_padded ? part.image : group;
      part.y = group;
      for (part.top = 0; part.top < c->oh; part.top = part.bottom) {
        part.bottom = min_i64(c->oh, part.top + job->height);
        part.is_first = part.image == first && !part.top;
        if (job->is_blocked && !job->is_in_place)
          pack_output_grad(job, part.image, part.top, part.bottom, group, 0, 1);
        sum_part(job, &part);
      }
    }
  }
  return NULL;
}

/* Adds the partial results, row by row. */
#define REDUCE(suffix, type_)                                                             \
  static situ_status reduce_##suffix(const union arg *args, int64_t begin, int64_t end) { \
    const struct job *job = args[0].pointer;                                              \
    const int64_t rows = args[1].integer, o = job->conv.o, cols = job->cols;              \
    for (int64_t i = begin * job->panels; i < end * job->panels; i++) {                   \
      const int64_t row = i / job->panels, panel = i % job->panels, first = panel * cols; \
      const int64_t at = first * rows + row * panel_width(job, panel);                    \
      type_ *to = (type_ *)job->conv.filter + row * o + first;                            \
      for (int64_t g = 0; g < job->groups; g++) {                                         \
        const type_ *from =                                                               \
            (const type_ *)(const void *)(job->to + (size_t)g * partial_bytes(job));      \
        for (int64_t j = 0; j < min_i64(cols, o - first); j++)                            \
          to[j] = g ? to[j] + from[at + j] : from[at + j];                                \
      }                                                                                   \
    }                                                                                     \
    return NULL;                                                                          \
  }
REDUCE(4, float)
REDUCE(8, double)
#undef REDUCE

situ_status conv_backward_filter(const struct conv_kernels *kernels, const struct conv *c) {
  struct job job = plan(kernels, c);
  const int64_t rows = c->kh * c->kw * c->c;
  const union arg args[] = {{.pointer = &job}, {.integer = rows}};
  job.x = c->workspace;
  job.y = job.x + x_bytes(&job);
  job.to = c->filter;
  if (job.is_padded) TRY(conv_pad_images(c, job.x));
  if (job.groups == 1) {
    const int64_t taps = taps_together(&job);
    const union arg tap_args[] = {{.pointer = &job}, {.integer = taps}};
    TRY(thread_pool_run(pack_kernel, args, conv_ceil(c->n, job.n_interleaved), 1));
    return thread_pool_run(tap_kernel, tap_args, job.conv.kh * job.conv.kw / taps * job.panels, 1);
  }
  job.to = job.y + y_bytes(&job);
  TRY(thread_pool_run(group_kernel, args, job.groups, 1));
  return thread_pool_run(job.size == 4 ? reduce_4 : reduce_8, args, rows, conv_ceil(4096, c->o));
}
