/* SPDX-License-Identifier: Apache-2.0
 * conv_filter.c: the gradient of a convolution for its filter: for each tap, a product of the
 * channels that it meets, and the results' gradients, summed over pixels and images. Both are
 * packed first, tile by tile, so that what one tile reads lies close together; where images have
 * few channels they get padding instead, and results are read in place if whole vectors fit. */
#include <string.h>

#include "host/conv_common.h"
#include "host/thread_pool.h"

enum {
  PIXELS = 192,               /* that are summed at a time: their operands stay in the L1 cache */
  BLOCK_BYTES = 24 << 10,     /* of results, where they are read as they are needed */
  PARTIAL_ELEMENTS = 1 << 16, /* filters up to here are summed in several places at once, */
  PARTIALS = 32,              /* in as many */
  ENOUGH_ITEMS = 8,           /* for each thread */
  PAGE = 4096,
};

struct job {
  const struct conv_kernels *kernels;
  size_t size;
  struct conv conv;               /* with few channels: padded images, all taps of a row as one */
  bool padded;                    /* so they are: */
  int64_t channels, width, side;  /* channels and columns without that, columns in front */
  char *x, *y;                    /* packed images: all, or one for each group */
  int64_t tiles, tall, rows;      /* of channels: how many, how many channels each, at most */
  int64_t x_pixel, x_tile;        /* elements from one pixel to the next, from tile to tile, */
  int64_t x_image;                /* and from image to image, */
  int64_t together;               /* so many of which are mixed: pixel by pixel, one of each */
  int64_t panels, y_pixels, deep; /* of results: panels, pixels of an image, columns in all, */
  int64_t cols;                   /* columns of a panel */
  bool blocks;                    /* results are read block by block: packed just before that, */
  bool in_place;                  /* or not at all */
  int64_t height;                 /* rows of results that are summed at a time */
  int64_t groups;                 /* of images that have a result of their own; 1: none has */
  char *to;
};

static int64_t whole_vectors(const struct conv_kernels *kernels, int64_t o) {
  return conv_ceil(o, kernels->lanes) * kernels->lanes;
}

static int64_t count_groups(const struct conv *c) {
  const int64_t count = c->kh * c->kw * c->c * c->o;
  return count <= PARTIAL_ELEMENTS ? conv_clip(c->n, 1, PARTIALS) : 1;
}

/* How results are read where images are padded and groups take parts of them. */
static void plan_blocks(struct job *job, const struct conv_kernels *kernels) {
  job->blocks = job->padded && job->groups > 1;
  job->in_place = job->blocks && job->conv.o % kernels->lanes == 0;
  if (job->blocks && conv_is_wide(kernels, job->conv.o)) {
    job->rows = kernels->wide_rows;
    job->cols = kernels->wide_cols;
  }
}

/* The same call, with the parts of its space one after the other. */
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
                    .deep = whole_vectors(kernels, c->o),
                    .groups = count_groups(c)};
  job.padded = conv_few_channels(c);
  if (job.padded) {
    job.conv.w = conv_padded_width(c);
    job.conv.left = 0;
    job.conv.c = c->kw * c->c;
    job.conv.kw = 1;
  }
  plan_blocks(&job, kernels);
  job.panels = conv_ceil(c->o, job.cols);
  job.tiles = conv_ceil(job.conv.c, job.rows);
  job.tall = conv_ceil(job.conv.c, job.tiles);
  job.x_pixel = job.padded ? c->c : job.tall;
  job.x_tile = job.padded ? job.tall : c->h * c->w * job.tall;
  job.x_image = job.padded ? c->h * job.conv.w * c->c : job.tiles * job.x_tile;
  /* Sums over short rows are mostly beginnings and ends: rows of several images make long ones. */
  const bool can_mix = job.groups == 1 && !job.padded && c->sw == 1;
  job.together = can_mix ? conv_clip(PIXELS / c->ow, 1, c->n) : 1;
  const int64_t block = BLOCK_BYTES / (job.deep * (int64_t)job.size);
  const int64_t most = job.blocks ? max_i64(1, block) : PIXELS;
  job.height = conv_ceil(c->oh, conv_ceil(job.y_pixels * job.together, most));
  return job;
}

/* Images that are kept packed at a time. */
static int64_t kept(const struct job *job) { return job->groups > 1 ? job->groups : job->conv.n; }

static size_t x_bytes(const struct job *job) {
  return conv_aligned((job->padded ? job->conv.n : kept(job)) * job->x_image, job->size);
}

/* Pixels of results that are kept packed of an image. */
static int64_t y_kept(const struct job *job) {
  if (job->in_place) return 0;
  return job->blocks ? job->height * job->conv.ow : job->y_pixels;
}

static size_t y_bytes(const struct job *job) {
  return conv_aligned(kept(job) * y_kept(job) * job->deep, job->size);
}

/* Bytes of the result that a group has of its own: panel by panel. */
static size_t part_bytes(const struct job *job) {
  return conv_aligned(job->conv.kh * job->conv.kw * job->conv.c * job->deep, job->size);
}

size_t conv_filter_space(const struct conv_kernels *kernels, const struct conv *c) {
  const struct job job = plan(kernels, c);
  const size_t parts = job.groups > 1 ? (size_t)job.groups : 0;
  return x_bytes(&job) + y_bytes(&job) + parts * part_bytes(&job);
}

/* Packing */

/* Copies `bytes` of each of `count` pieces that lie `step` bytes apart, to places that lie
 * `to_step` apart. The usual sizes are constants, so that no call is made for each piece. */
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

/* Packs the columns first <= j < first + wide of `pixels` pixels, to every `mixed`-th place; behind
 * the last column are zeros. */
static void pack_columns(const char *from, int64_t pixels, int64_t columns, int64_t first,
                         int64_t wide, size_t size, int64_t mixed, char *to) {
  const int64_t each = (int64_t)size, have = min_i64(wide, columns - first);
  const int64_t to_step = mixed * wide * each;
  from += first * each;
  if (have == wide) {
    copy_pieces(from, columns * each, pixels, wide * each, to, to_step);
    return;
  }
  for (int64_t i = 0; i < pixels; i++, from += columns * each, to += to_step) {
    memcpy(to, from, (size_t)(have * each));
    memset(to + have * each, 0, (size_t)((wide - have) * each));
  }
}

static int64_t panel_width(const struct job *job, int64_t panel) {
  return min_i64(job->cols, job->deep - panel * job->cols);
}

/* Packs the results of the rows top <= i < bottom as number `at` of `mixed` images. */
static void pack_results(const struct job *job, int64_t image, int64_t top, int64_t bottom,
                         int64_t to, int64_t at, int64_t mixed) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, cols = job->cols;
  const char *y = (const char *)c->y + (image * c->oh + top) * c->ow * c->o * size;
  for (int64_t p = 0; p < job->panels; p++) {
    const int64_t wide = panel_width(job, p);
    pack_columns(y, (bottom - top) * c->ow, c->o, p * cols, wide, job->size, mixed,
                 job->y + ((to * job->deep + p * cols * mixed) * y_kept(job) + at * wide) * size);
  }
}

/* Packs an image as number `at` of `mixed` ones, the first of which has place `to` among those that
 * are kept packed; padded images lie there already. */
static void pack_image(const struct job *job, int64_t image, int64_t to, int64_t at,
                       int64_t mixed) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, pixels = c->h * c->w;
  const char *x = (const char *)c->x + image * pixels * c->c * size;
  for (int64_t t = 0; t < job->tiles && !job->padded; t++)
    pack_columns(x, pixels, c->c, t * job->tall, job->tall, job->size, mixed,
                 job->x + (to * job->x_image + t * job->x_tile * mixed + at * job->tall) * size);
  if (!job->blocks) pack_results(job, image, 0, c->oh, to, at, mixed);
}

/* Images that are mixed with image number `first`. */
static int64_t count_mixed(const struct job *job, int64_t first) {
  return min_i64(job->together, job->conv.n - first);
}

static situ_status pack_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = i * job->together, mixed = count_mixed(job, first);
    for (int64_t at = 0; at < mixed; at++) pack_image(job, first + at, first, at, mixed);
  }
  return NULL;
}

/* Summing */

/* What a part of an image gives: results of the rows top <= i < bottom, one panel. */
struct part {
  int64_t image, top, bottom, panel; /* the image by its places among the packed ones: */
  int64_t x, y;
  int64_t mixed; /* so many images */
  bool fresh;    /* nothing is there yet to be added to */
  char *to;
};

/* Where the part of a result for this tap and these channels lies. Results of groups lie panel by
 * panel, so that the cache holds all of one. */
static char *place_result(const struct job *job, const struct part *part, int64_t row,
                          int64_t *c_row) {
  const struct conv *c = &job->conv;
  const int64_t first = part->panel * job->cols, rows = c->kh * c->kw * c->c;
  const bool apart = job->groups > 1;
  *c_row = apart ? panel_width(job, part->panel) : c->o;
  return part->to + (apart ? first * rows + row * *c_row : row * c->o + first) * (int64_t)job->size;
}

/* Where the results of a part lie from this row and column on, and how far apart two are. */
static const char *find_results(const struct job *job, const struct part *part, int64_t row,
                                int64_t col, int64_t *pixel) {
  const struct conv *c = &job->conv;
  const int64_t first = part->panel * job->cols, wide = panel_width(job, part->panel);
  int64_t at;
  if (job->in_place) {
    *pixel = c->o;
    at = ((part->image * c->oh + row) * c->ow + col) * c->o + first;
  } else {
    const int64_t behind = job->blocks ? part->top : 0;
    *pixel = wide;
    at = (part->y * job->deep + first * part->mixed) * y_kept(job) +
         ((row - behind) * c->ow + col) * wide * part->mixed;
  }
  return (job->in_place ? (const char *)c->y : job->y) + at * (int64_t)job->size;
}

/* The columns of results that the channels of a tile meet, by tap k: of padded images the tile is
 * of several taps, and what all of them miss is left out. */
static void meet_columns(const struct job *job, int64_t k, int64_t first, int64_t rows,
                         int64_t *left, int64_t *right) {
  const struct conv *c = &job->conv;
  int64_t none;
  if (!job->padded) {
    conv_valid(k * c->dw - c->left, c->sw, c->w, c->ow, left, right);
    return;
  }
  conv_valid((first + rows - 1) / job->channels - job->side, c->sw, job->width, c->ow, left, &none);
  conv_valid(first / job->channels - job->side, c->sw, job->width, c->ow, &none, right);
}

/* One tile of channels, for the tap in row r and column k. */
static void sum_channels(const struct job *job, const struct part *part, int64_t r, int64_t k,
                         int64_t tile) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, v = r * c->dh - c->top, u = k * c->dw - c->left;
  const int64_t wide = panel_width(job, part->panel);
  const int64_t cols = job->groups > 1 ? wide : min_i64(wide, c->o - part->panel * job->cols);
  const int64_t first = tile * job->tall, rows = min_i64(job->tall, c->c - first);
  int64_t top, bottom, left, right;
  conv_valid(v, c->sh, c->h, c->oh, &top, &bottom);
  meet_columns(job, k, first, rows, &left, &right);
  top = max_i64(top, part->top);
  struct conv_tile t = {.k = (right - left) * part->mixed,
                        .segments = min_i64(bottom, part->bottom) - top,
                        .a_row = 1,
                        .a_col = c->sw * job->x_pixel,
                        .a_segment = c->sh * c->w * job->x_pixel * part->mixed,
                        .add = !part->fresh};
  const int64_t a = ((top * c->sh + v) * c->w + left * c->sw + u) * job->x_pixel;
  t.a = job->x + (part->x * job->x_image + (a + tile * job->x_tile) * part->mixed) * size;
  t.b = find_results(job, part, top, left, &t.b_row);
  t.b_segment = c->ow * t.b_row * part->mixed;
  t.c = place_result(job, part, (r * c->kw + k) * c->c + first, &t.c_row);
  if (t.k > 0 && t.segments > 0)
    job->kernels->tile(&t, true, rows, cols);
  else
    conv_clear_tile(&t, job->size, rows, cols);
}

/* Taps side by side that are summed together, so that an image is read for all of them: a whole row
 * where there are enough rows and panels for all threads. */
static int64_t taps_together(const struct job *job) {
  const int64_t rows = job->conv.kh * job->panels;
  return rows >= ENOUGH_ITEMS * thread_pool_threads() ? job->conv.kw : 1;
}

/* All images for some taps and one panel: nobody else writes there. */
static situ_status tap_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  const struct conv *c = &job->conv;
  const int64_t taps = args[1].integer;
  for (int64_t item = begin; item < end; item++) {
    struct part part = {.panel = item % job->panels, .to = job->to};
    const int64_t first = item / job->panels * taps;
    for (part.image = 0; part.image < c->n; part.image += part.mixed) {
      part.mixed = count_mixed(job, part.image);
      part.x = part.y = part.image;
      for (part.top = 0; part.top < c->oh; part.top = part.bottom) {
        part.bottom = min_i64(c->oh, part.top + job->height);
        part.fresh = !part.image && !part.top;
        for (int64_t i = first * job->tiles; i < (first + taps) * job->tiles; i++)
          sum_channels(job, &part, i / job->tiles / c->kw, i / job->tiles % c->kw, i % job->tiles);
      }
    }
  }
  return NULL;
}

/* The results behind a part, which are read next: they are asked for in shares, while there is much
 * to compute. */
struct ahead {
  const char *from;
  int64_t bytes, share;
};

static struct ahead plan_ahead(const struct job *job, const struct part *part, int64_t shares) {
  const int64_t row_bytes = job->conv.ow * job->conv.o * (int64_t)job->size;
  const int64_t row = part->image * job->conv.oh + part->bottom;
  const int64_t bytes = min_i64(job->height, job->conv.n * job->conv.oh - row) * row_bytes;
  const char *from = (const char *)job->conv.y + row * row_bytes;
  return (struct ahead){from, bytes, conv_ceil(bytes, shares * 64) * 64};
}

/* A processor drops what it is asked for in pages that it does not have at hand: so each page is
 * read once, a share before it is needed. */
static void fetch_ahead(struct ahead *ahead) {
  const int64_t now = min_i64(ahead->share, ahead->bytes);
  const int64_t next = min_i64(2 * ahead->share, ahead->bytes);
  const char *from = ahead->from;
  const int64_t page = (int64_t)(-(uintptr_t)(from + now) % PAGE);
  for (int64_t i = now + page; i < next; i += PAGE) (void)*(const volatile char *)(from + i);
  for (int64_t i = 0; i < now; i += 64) __builtin_prefetch(from + i, 0, 2);
  ahead->from += now;
  ahead->bytes -= now;
}

/* All taps and panels of a part. */
static void sum_part(const struct job *job, struct part *part) {
  const int64_t taps = job->conv.kh * job->conv.kw;
  struct ahead ahead = {0};
  if (job->blocks) ahead = plan_ahead(job, part, job->panels * taps * job->tiles);
  for (part->panel = 0; part->panel < job->panels; part->panel++)
    for (int64_t r = 0; r < job->conv.kh; r++)
      for (int64_t k = 0; k < job->conv.kw; k++)
        for (int64_t tile = 0; tile < job->tiles; tile++) {
          if (job->blocks) fetch_ahead(&ahead);
          sum_channels(job, part, r, k, tile);
        }
}

/* All taps for a group of images, into a result of its own. */
static situ_status group_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  const struct conv *c = &job->conv;
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = c->n * group / job->groups, last = c->n * (group + 1) / job->groups;
    struct part part = {.mixed = 1, .to = job->to + (size_t)group * part_bytes(job)};
    for (part.image = first; part.image < last; part.image++) {
      pack_image(job, part.image, group, 0, 1);
      part.x = job->padded ? part.image : group;
      part.y = group;
      for (part.top = 0; part.top < c->oh; part.top = part.bottom) {
        part.bottom = min_i64(c->oh, part.top + job->height);
        part.fresh = part.image == first && !part.top;
        if (job->blocks && !job->in_place)
          pack_results(job, part.image, part.top, part.bottom, group, 0, 1);
        sum_part(job, &part);
      }
    }
  }
  return NULL;
}

/* Adds up the results of the groups, row by row. */
#define GATHER(word, type_)                                                                       \
  static situ_status gather_##word(const union arg *args, int64_t begin, int64_t end) {           \
    const struct job *job = args[0].pointer;                                                      \
    const int64_t rows = args[1].integer, o = job->conv.o, cols = job->cols;                      \
    for (int64_t i = begin * job->panels; i < end * job->panels; i++) {                           \
      const int64_t row = i / job->panels, panel = i % job->panels, first = panel * cols;         \
      const int64_t at = first * rows + row * panel_width(job, panel);                            \
      type_ *to = (type_ *)job->conv.filter + row * o + first;                                    \
      for (int64_t g = 0; g < job->groups; g++) {                                                 \
        const type_ *from = (const type_ *)(const void *)(job->to + (size_t)g * part_bytes(job)); \
        for (int64_t j = 0; j < min_i64(cols, o - first); j++)                                    \
          to[j] = g ? to[j] + from[at + j] : from[at + j];                                        \
      }                                                                                           \
    }                                                                                             \
    return NULL;                                                                                  \
  }
GATHER(4, float)
GATHER(8, double)
#undef GATHER

situ_status conv_filter(const struct conv_kernels *kernels, const struct conv *c) {
  struct job job = plan(kernels, c);
  const int64_t rows = c->kh * c->kw * c->c;
  const union arg args[] = {{.pointer = &job}, {.integer = rows}};
  job.x = c->space;
  job.y = job.x + x_bytes(&job);
  job.to = c->filter;
  if (job.padded) TRY(conv_pad_images(c, job.x));
  if (job.groups == 1) {
    const int64_t taps = taps_together(&job);
    const union arg tap_args[] = {{.pointer = &job}, {.integer = taps}};
    TRY(thread_pool_run(pack_kernel, args, conv_ceil(c->n, job.together), 1));
    return thread_pool_run(tap_kernel, tap_args, job.conv.kh * job.conv.kw / taps * job.panels, 1);
  }
  job.to = job.y + y_bytes(&job);
  TRY(thread_pool_run(group_kernel, args, job.groups, 1));
  return thread_pool_run(job.size == 4 ? gather_4 : gather_8, args, rows, conv_ceil(4096, c->o));
}
