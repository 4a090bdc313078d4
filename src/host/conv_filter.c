/* SPDX-License-Identifier: Apache-2.0
 * conv_filter.c: the gradient of a convolution for its filter: for each tap, a product of the
 * channels that it meets, and the results' gradients, summed over pixels and images. Both are
 * packed first, tile by tile, so that what one tile reads lies close together. */
#include <string.h>

#include "host/conv_parts.h"
#include "host/pool.h"

enum {
  PIXELS = 192,               /* that are summed at a time: their operands stay in the L1 cache */
  PIXELS_IN_PLACE = 96,       /* the same where the results' lie apart */
  PARTIAL_ELEMENTS = 1 << 16, /* filters up to here are summed in several places at once, */
  PARTIALS = 32,              /* in as many */
  ENOUGH_ITEMS = 8,           /* for each thread */
};

struct job {
  const struct conv_kernels *kernels;
  size_t size;
  struct conv conv;               /* with few channels: padded images, all taps of a row as one */
  bool padded;                    /* so they are */
  char *x, *y;                    /* packed images: all, or one for each group */
  int64_t tiles, tall;            /* of channels: how many, and how many channels each */
  int64_t x_pixel, x_tile;        /* elements from one pixel to the next, from tile to tile, */
  int64_t x_image;                /* and from image to image, */
  int64_t together;               /* so many of which are mixed: pixel by pixel, one of each */
  int64_t panels, y_pixels, deep; /* of results: panels, pixels of an image, columns in all */
  bool y_in_place;                /* results are read where they are */
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

/* The same call, with the parts of its space one after the other. */
static struct job plan(const struct conv_kernels *kernels, const struct conv *c) {
  struct job job = {.kernels = kernels,
                    .size = situ_type_size(c->type),
                    .conv = *c,
                    .panels = conv_ceil(c->o, kernels->cols),
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
  /* With few taps for each of them it does not pay to pack results. */
  job.y_in_place = job.padded && job.groups > 1 && job.deep == c->o;
  job.tiles = conv_ceil(job.conv.c, kernels->rows);
  job.tall = conv_ceil(job.conv.c, job.tiles);
  job.x_pixel = job.padded ? c->c : job.tall;
  job.x_tile = job.padded ? job.tall : c->h * c->w * job.tall;
  job.x_image = job.padded ? c->h * job.conv.w * c->c : job.tiles * job.x_tile;
  /* Sums over short rows are mostly beginnings and ends: rows of several images make long ones. */
  const bool can_mix = job.groups == 1 && !job.padded && c->sw == 1;
  job.together = can_mix ? conv_clip(PIXELS / c->ow, 1, c->n) : 1;
  return job;
}

/* Images that are kept packed at a time. */
static int64_t kept(const struct job *job) { return job->groups > 1 ? job->groups : job->conv.n; }

static size_t x_bytes(const struct job *job) {
  return conv_aligned((job->padded ? job->conv.n : kept(job)) * job->x_image, job->size);
}

static size_t y_bytes(const struct job *job) {
  return job->y_in_place ? 0 : conv_aligned(kept(job) * job->y_pixels * job->deep, job->size);
}

size_t conv_filter_space(const struct conv_kernels *kernels, const struct conv *c) {
  const struct job job = plan(kernels, c);
  const size_t parts = job.groups > 1 ? (size_t)job.groups : 0;
  return x_bytes(&job) + y_bytes(&job) +
         parts * conv_aligned(c->kh * c->kw * c->c * c->o, job.size);
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
  return min_i64(job->kernels->cols, job->deep - panel * job->kernels->cols);
}

/* Packs an image as number `at` of `mixed` ones, the first of which has place `to` among those that
 * are kept packed; padded images lie there already. */
static void pack_image(const struct job *job, int64_t image, int64_t to, int64_t at,
                       int64_t mixed) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, cols = job->kernels->cols, pixels = c->h * c->w;
  const char *x = (const char *)c->x + image * pixels * c->c * size;
  const char *y = (const char *)c->y + image * job->y_pixels * c->o * size;
  for (int64_t t = 0; t < job->tiles && !job->padded; t++)
    pack_columns(x, pixels, c->c, t * job->tall, job->tall, job->size, mixed,
                 job->x + (to * job->x_image + t * job->x_tile * mixed + at * job->tall) * size);
  for (int64_t p = 0; p < job->panels && !job->y_in_place; p++) {
    const int64_t wide = panel_width(job, p);
    pack_columns(y, job->y_pixels, c->o, p * cols, wide, job->size, mixed,
                 job->y + ((to * job->deep + p * cols * mixed) * job->y_pixels + at * wide) * size);
  }
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

static void sum_tap(const struct job *job, const struct part *part, int64_t r, int64_t k) {
  const struct conv *c = &job->conv;
  const int64_t size = (int64_t)job->size, j = part->panel * job->kernels->cols;
  const int64_t v = r * c->dh - c->top, u = k * c->dw - c->left,
                b_row = job->y_in_place ? c->o : panel_width(job, part->panel);
  int64_t top, bottom, left, right;
  conv_valid(v, c->sh, c->h, c->oh, &top, &bottom);
  conv_valid(u, c->sw, c->w, c->ow, &left, &right);
  top = max_i64(top, part->top);
  bottom = min_i64(bottom, part->bottom);
  struct conv_tile t = {.k = (right - left) * part->mixed,
                        .segments = bottom - top,
                        .a_row = 1,
                        .a_col = c->sw * job->x_pixel,
                        .a_segment = c->sh * c->w * job->x_pixel * part->mixed,
                        .b_row = b_row,
                        .b_segment = c->ow * b_row * part->mixed,
                        .c_row = c->o,
                        .add = !part->fresh};
  const int64_t a = part->x * job->x_image +
                    ((top * c->sh + v) * c->w + left * c->sw + u) * job->x_pixel * part->mixed;
  const int64_t b = (top * c->ow + left) * b_row * part->mixed +
                    (job->y_in_place ? part->image * job->y_pixels * c->o + j
                                     : (part->y * job->deep + j * part->mixed) * job->y_pixels);
  t.b = (job->y_in_place ? (const char *)c->y : job->y) + b * size;
  for (int64_t i = 0; i < job->tiles; i++) {
    const int64_t first = i * job->tall, rows = min_i64(job->tall, c->c - first);
    t.c = part->to + (((r * c->kw + k) * c->c + first) * c->o + j) * size;
    t.a = job->x + (a + i * job->x_tile * part->mixed) * size;
    if (t.k > 0 && t.segments > 0)
      job->kernels->tile(&t, true, rows, min_i64(job->kernels->cols, c->o - j));
    else
      conv_clear_tile(&t, job->size, rows, min_i64(job->kernels->cols, c->o - j));
  }
}

/* Rows of results that are summed at a time. */
static int64_t block_height(const struct job *job) {
  const int64_t most = job->y_in_place ? PIXELS_IN_PLACE : PIXELS;
  return conv_ceil(job->conv.oh, conv_ceil(job->y_pixels * job->together, most));
}

/* Taps side by side that are summed together, so that an image is read for all of them: a whole row
 * where there are enough rows and panels for all threads. */
static int64_t taps_together(const struct job *job) {
  const int64_t rows = job->conv.kh * job->panels;
  return rows >= ENOUGH_ITEMS * pool_threads() ? job->conv.kw : 1;
}

/* All images for some taps and one panel: nobody else writes there. */
static situ_status tap_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  const struct conv *c = &job->conv;
  const int64_t height = block_height(job), taps = args[1].integer;
  for (int64_t item = begin; item < end; item++) {
    struct part part = {.panel = item % job->panels, .to = job->to};
    const int64_t first = item / job->panels * taps;
    for (part.image = 0; part.image < c->n; part.image += part.mixed) {
      part.mixed = count_mixed(job, part.image);
      part.x = part.y = part.image;
      for (part.top = 0; part.top < c->oh; part.top = part.bottom) {
        part.bottom = min_i64(c->oh, part.top + height);
        part.fresh = !part.image && !part.top;
        for (int64_t tap = first; tap < first + taps; tap++)
          sum_tap(job, &part, tap / c->kw, tap % c->kw);
      }
    }
  }
  return NULL;
}

/* Asks for the results that are read next, row behind row, while there is much to compute. */
static void fetch_ahead(const struct job *job, int64_t image, int64_t row, int64_t rows) {
  const int64_t bytes = job->conv.ow * job->conv.o * (int64_t)job->size;
  const char *from = (const char *)job->conv.y + (image * job->conv.oh + row) * bytes;
  const int64_t left = ((job->conv.n - image) * job->conv.oh - row) * bytes;
  for (int64_t i = 0; i < min_i64(left, rows * bytes); i += 64) __builtin_prefetch(from + i, 0, 2);
}

/* All taps for a group of images, into a result of its own. */
static situ_status group_kernel(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  const struct conv *c = &job->conv;
  const int64_t height = block_height(job), taps = c->kh * c->kw;
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = c->n * group / job->groups, last = c->n * (group + 1) / job->groups;
    struct part part = {
        .mixed = 1, .to = job->to + (size_t)group * conv_aligned(taps * c->c * c->o, job->size)};
    for (part.image = first; part.image < last; part.image++) {
      pack_image(job, part.image, group, 0, 1);
      part.x = job->padded ? part.image : group;
      part.y = group;
      for (part.top = 0; part.top < c->oh; part.top = part.bottom) {
        part.bottom = min_i64(c->oh, part.top + height);
        part.fresh = part.image == first && !part.top;
        if (job->y_in_place) fetch_ahead(job, part.image, part.bottom, height);
        for (part.panel = 0; part.panel < job->panels; part.panel++)
          for (int64_t tap = 0; tap < taps; tap++) sum_tap(job, &part, tap / c->kw, tap % c->kw);
      }
    }
  }
  return NULL;
}

#define GATHER(word, type_)                                                             \
  static situ_status gather_##word(const union arg *args, int64_t begin, int64_t end) { \
    const struct job *job = args[0].pointer;                                            \
    const size_t bytes = (size_t)args[1].integer;                                       \
    type_ *to = job->conv.filter;                                                       \
    memcpy(to + begin, (const type_ *)(const void *)job->to + begin,                    \
           (size_t)(end - begin) * sizeof *to);                                         \
    for (int64_t g = 1; g < job->groups; g++) {                                         \
      const type_ *from = (const void *)(job->to + (size_t)g * bytes);                  \
      for (int64_t i = begin; i < end; i++) to[i] += from[i];                           \
    }                                                                                   \
    return NULL;                                                                        \
  }
GATHER(4, float)
GATHER(8, double)
#undef GATHER

situ_status conv_filter(const struct conv_kernels *kernels, const struct conv *c) {
  struct job job = plan(kernels, c);
  const int64_t count = c->kh * c->kw * c->c * c->o;
  const size_t bytes = conv_aligned(count, job.size);
  const union arg args[] = {{.pointer = &job}, {.integer = (int64_t)bytes}};
  job.x = c->space;
  job.y = job.x + x_bytes(&job);
  job.to = c->filter;
  if (job.padded) TRY(conv_pad_images(c, job.x));
  if (job.groups == 1) {
    const int64_t taps = taps_together(&job);
    const union arg tap_args[] = {{.pointer = &job}, {.integer = taps}};
    TRY(pool_run(pack_kernel, args, conv_ceil(c->n, job.together), 1));
    return pool_run(tap_kernel, tap_args, job.conv.kh * job.conv.kw / taps * job.panels, 1);
  }
  job.to = job.y + y_bytes(&job);
  TRY(pool_run(group_kernel, args, job.groups, 1));
  return pool_run(job.size == 4 ? gather_4 : gather_8, args, count, 4096);
}
