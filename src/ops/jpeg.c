/* SPDX-License-Identifier: Apache-2.0
 * jpeg.c: pictures out of JPEG files (ITU-T T.81): baseline and progressive, Huffman-coded, 8 bits,
 * grey or YCbCr. A file is read into coefficients of blocks; those become samples, and samples
 * pixels. */
#include <stdlib.h>
#include <string.h>

#include "ops/picture.h"

enum { MAX_COMPONENTS = 3, BLOCK = 64, FAST_BITS = 9 };

static const uint8_t zigzag[BLOCK] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* A Huffman code: of each length, the first code and where its values begin. */
struct huffman {
  uint8_t values[256];
  int32_t first[18], last[18], index[18]; /* last is one behind; by length 1 ... 16 */
  bool given;
};

struct component {
  int id, h, v, table;    /* sampling, and which quantisation */
  int dc, ac;             /* Huffman tables of the scan */
  int blocks_x, blocks_y; /* with those that fill up */
  int width, height;      /* blocks that hold samples */
  int predictor;
  int16_t *coefficients;
  uint8_t *samples; /* blocks_x * 8 in a row */
};

struct jpeg {
  const uint8_t *at, *end;
  uint32_t bits;
  int n_bits;
  bool damaged, is_cut, progressive, adobe_rgb;
  int width, height, n_components, h_most, v_most, restart;
  int eob_run;
  uint16_t quantisation[4][BLOCK];
  struct huffman huffman[2][4]; /* dc, ac */
  struct component components[MAX_COMPONENTS];
  int n_scan;
  struct component *scan[MAX_COMPONENTS];
  int from, to, high, low; /* of the scan: coefficients, and their bits */
};

/* Bits */

static void fill_bits(struct jpeg *in) {
  while (in->n_bits <= 24) {
    uint32_t byte = 0;
    if (in->at < in->end && !(in->at[0] == 0xff && (in->at + 1 >= in->end || in->at[1] != 0))) {
      byte = *in->at++;
      if (byte == 0xff) in->at++; /* a zero behind it */
    }
    in->bits |= byte << (24 - in->n_bits);
    in->n_bits += 8;
  }
}

static int take_bits(struct jpeg *in, int n) {
  if (!n) return 0;
  if (in->n_bits < n) fill_bits(in);
  const int value = (int)(in->bits >> (32 - n));
  in->bits <<= n;
  in->n_bits -= n;
  return value;
}

/* A number of n bits with a sign. */
static int take_number(struct jpeg *in, int n) {
  const int value = take_bits(in, n);
  return n && value < 1 << (n - 1) ? value - (1 << n) + 1 : value;
}

static int take_code(struct jpeg *in, const struct huffman *table) {
  if (in->n_bits < 16) fill_bits(in);
  for (int length = 1; length <= 16; length++) {
    const int32_t code = (int32_t)(in->bits >> (32 - length));
    if (code >= table->last[length]) continue;
    in->bits <<= length;
    in->n_bits -= length;
    return table->values[table->index[length] + code - table->first[length]];
  }
  in->damaged = true;
  return 0;
}

/* Segments. Each function reads one; false: it is damaged. */

static int word(const uint8_t *at) { return at[0] << 8 | at[1]; }

static bool read_quantisation(struct jpeg *in, const uint8_t *at, const uint8_t *end) {
  while (at < end) {
    const int wide = *at >> 4, number = *at & 15;
    at++;
    if (number > 3 || wide > 1 || end - at < BLOCK * (1 + wide)) return false;
    for (int i = 0; i < BLOCK; i++, at += 1 + wide)
      in->quantisation[number][zigzag[i]] = (uint16_t)(wide ? word(at) : *at);
  }
  return true;
}

static bool read_huffman(struct jpeg *in, const uint8_t *at, const uint8_t *end) {
  while (at < end) {
    const int class = *at >> 4, number = *at & 15;
    if (class > 1 || number > 3 || end - at < 17) return false;
    struct huffman *table = &in->huffman[class][number];
    const uint8_t *counts = at;
    int32_t code = 0, total = 0;
    for (int length = 1; length <= 16; length++) {
      table->first[length] = code;
      table->index[length] = total;
      code += counts[length];
      total += counts[length];
      table->last[length] = code;
      code <<= 1;
    }
    at += 17;
    if (total > 256 || end - at < total) return false;
    memcpy(table->values, at, (size_t)total);
    table->given = true;
    at += total;
  }
  return true;
}

static bool read_frame(struct jpeg *in, const uint8_t *at, const uint8_t *end) {
  if (end - at < 6 || at[0] != 8 || in->width) return false;
  in->height = word(at + 1);
  in->width = word(at + 3);
  in->n_components = at[5];
  if (!in->width || !in->height || in->width > (1 << 28) / in->height ||
      (in->n_components != 1 && in->n_components != 3) || end - at < 6 + 3 * in->n_components)
    return false;
  for (int i = 0; i < in->n_components; i++) {
    const uint8_t *from = at + 6 + 3 * i;
    struct component *c = &in->components[i];
    *c = (struct component){.id = from[0], .h = from[1] >> 4, .v = from[1] & 15, .table = from[2]};
    if (c->h < 1 || c->h > 4 || c->v < 1 || c->v > 4 || c->table > 3) return false;
    in->h_most = c->h > in->h_most ? c->h : in->h_most;
    in->v_most = c->v > in->v_most ? c->v : in->v_most;
  }
  const int units_x = (in->width + 8 * in->h_most - 1) / (8 * in->h_most);
  const int units_y = (in->height + 8 * in->v_most - 1) / (8 * in->v_most);
  for (int i = 0; i < in->n_components; i++) {
    struct component *c = &in->components[i];
    c->blocks_x = units_x * c->h;
    c->blocks_y = units_y * c->v;
    c->width = ((in->width * c->h + in->h_most - 1) / in->h_most + 7) / 8;
    c->height = ((in->height * c->v + in->v_most - 1) / in->v_most + 7) / 8;
    const size_t blocks = (size_t)c->blocks_x * (size_t)c->blocks_y;
    c->coefficients = calloc(blocks * BLOCK, sizeof *c->coefficients);
    c->samples = malloc(blocks * BLOCK);
    if (!c->coefficients || !c->samples) return false;
  }
  return true;
}

static bool read_scan(struct jpeg *in, const uint8_t *at, const uint8_t *end) {
  if (end - at < 1 || !in->width) return false;
  in->n_scan = at[0];
  if (in->n_scan < 1 || in->n_scan > in->n_components || end - at < 4 + 2 * in->n_scan)
    return false;
  for (int i = 0; i < in->n_scan; i++) {
    struct component *found = NULL;
    for (int k = 0; k < in->n_components; k++)
      if (in->components[k].id == at[1 + 2 * i]) found = &in->components[k];
    if (!found) return false;
    found->dc = at[2 + 2 * i] >> 4 & 3;
    found->ac = at[2 + 2 * i] & 3;
    in->scan[i] = found;
  }
  at += 1 + 2 * in->n_scan;
  in->from = at[0];
  in->to = at[1];
  in->high = at[2] >> 4;
  in->low = at[2] & 15;
  return in->from <= in->to && in->to < BLOCK && in->low < 14;
}

/* Blocks. Each function reads what a scan says of one. */

static void read_dc(struct jpeg *in, struct component *c, int16_t *block) {
  if (in->high) { /* one more bit */
    if (take_bits(in, 1)) block[0] = (int16_t)(block[0] | 1 << in->low);
    return;
  }
  const int size = take_code(in, &in->huffman[0][c->dc]);
  c->predictor += take_number(in, size > 15 ? 15 : size);
  block[0] = (int16_t)(c->predictor * (1 << in->low));
}

static void read_ac_first(struct jpeg *in, const struct component *c, int16_t *block) {
  if (in->eob_run) {
    in->eob_run--;
    return;
  }
  for (int k = in->from; k <= in->to && !in->damaged; k++) {
    const int code = take_code(in, &in->huffman[1][c->ac]), run = code >> 4, size = code & 15;
    if (size) {
      k += run;
      if (k >= BLOCK) return;
      block[zigzag[k]] = (int16_t)(take_number(in, size) * (1 << in->low));
    } else if (run == 15) {
      k += 15;
    } else {
      in->eob_run = (1 << run) - 1 + take_bits(in, run);
      return;
    }
  }
}

/* One more bit of a coefficient that is not zero. */
static void refine(struct jpeg *in, int16_t *coefficient) {
  const int bit = 1 << in->low;
  if (take_bits(in, 1) && !(abs(*coefficient) & bit))
    *coefficient = (int16_t)(*coefficient + (*coefficient > 0 ? bit : -bit));
}

static void read_ac_more(struct jpeg *in, const struct component *c, int16_t *block) {
  int k = in->from;
  while (!in->eob_run && k <= in->to && !in->damaged) {
    const int code = take_code(in, &in->huffman[1][c->ac]), size = code & 15;
    int run = code >> 4, value = 0;
    if (size)
      value = take_bits(in, 1) ? 1 << in->low : -(1 << in->low);
    else if (run < 15)
      in->eob_run = (1 << run) + take_bits(in, run);
    if (!size && run < 15) break;
    for (; k <= in->to; k++) {
      int16_t *at = &block[zigzag[k]];
      if (*at)
        refine(in, at);
      else if (!run--)
        break;
    }
    if (k <= in->to && value) block[zigzag[k]] = (int16_t)value;
    k++;
  }
  if (!in->eob_run) return;
  for (; k <= in->to; k++)
    if (block[zigzag[k]]) refine(in, &block[zigzag[k]]);
  in->eob_run--;
}

static void read_block(struct jpeg *in, struct component *c, int16_t *block) {
  if (!in->from) read_dc(in, c, block);
  if (!in->to) return;
  const int from = in->from;
  if (!from) in->from = 1;
  if (in->high)
    read_ac_more(in, c, block);
  else
    read_ac_first(in, c, block);
  in->from = from;
}

/* Looks for the mark that a part of a scan ends with, and forgets what the part knew. */
static void next_part(struct jpeg *in) {
  while (in->at + 1 < in->end && !(in->at[0] == 0xff && in->at[1] >= 0xd0 && in->at[1] <= 0xd7))
    if (in->at[0] == 0xff && in->at[1] && in->at[1] != 0xff)
      return;
    else
      in->at++;
  in->at += 2;
  in->bits = 0;
  in->n_bits = in->eob_run = 0;
  for (int i = 0; i < in->n_components; i++) in->components[i].predictor = 0;
}

static void read_unit(struct jpeg *in, int unit) {
  if (in->n_scan == 1) { /* only blocks that hold samples */
    struct component *c = in->scan[0];
    const int x = unit % c->width, y = unit / c->width;
    read_block(in, c, c->coefficients + ((size_t)y * (size_t)c->blocks_x + (size_t)x) * BLOCK);
    return;
  }
  for (int i = 0; i < in->n_scan; i++) {
    struct component *c = in->scan[i];
    const int per_row = c->blocks_x / c->h, x = unit % per_row * c->h, y = unit / per_row * c->v;
    for (int v = 0; v < c->v; v++)
      for (int h = 0; h < c->h; h++)
        read_block(
            in, c,
            c->coefficients + ((size_t)(y + v) * (size_t)c->blocks_x + (size_t)(x + h)) * BLOCK);
  }
}

static void read_units(struct jpeg *in) {
  const struct component *c = in->scan[0];
  const int units =
      in->n_scan == 1 ? c->width * c->height : c->blocks_x / c->h * (c->blocks_y / c->v);
  in->bits = 0;
  in->n_bits = in->eob_run = 0;
  for (int i = 0; i < in->n_components; i++) in->components[i].predictor = 0;
  for (int i = 0; i < units && !in->damaged; i++) {
    if (in->restart && i && i % in->restart == 0) next_part(in);
    read_unit(in, i);
  }
}

/* Samples: the inverse cosine transform, in whole numbers with 13 bits behind the point (Loeffler,
 * Ligtenberg and Moschytz, 1989), as libjpeg's slow one. */

enum { CONST_BITS = 13, PASS_BITS = 2 };

static int32_t descale(int64_t value, int bits) {
  return (int32_t)((value + ((int64_t)1 << (bits - 1))) >> bits);
}

/* Eight values, `step` apart, to `to`. */
static void transform_line(const int32_t *in, int32_t *to, int step, int bits) {
  const int64_t x2 = in[2 * step], x6 = in[6 * step], z1 = (x2 + x6) * 4433;
  const int64_t t2 = z1 - x6 * 15137, t3 = z1 + x2 * 6270;
  const int64_t x0 = in[0], x4 = in[4 * step];
  const int64_t t0 = (x0 + x4) * (1 << CONST_BITS), t1 = (x0 - x4) * (1 << CONST_BITS);
  const int64_t e0 = t0 + t3, e3 = t0 - t3, e1 = t1 + t2, e2 = t1 - t2;
  const int64_t a = in[7 * step], b = in[5 * step], c = in[3 * step], d = in[step];
  const int64_t z5 = (a + c + b + d) * 9633;
  const int64_t y1 = (a + d) * -7373, y2 = (b + c) * -20995;
  const int64_t y3 = (a + c) * -16069 + z5, y4 = (b + d) * -3196 + z5;
  const int64_t o0 = a * 2446 + y1 + y3, o1 = b * 16819 + y2 + y4;
  const int64_t o2 = c * 25172 + y2 + y3, o3 = d * 12299 + y1 + y4;
  to[0] = descale(e0 + o3, bits);
  to[7 * step] = descale(e0 - o3, bits);
  to[step] = descale(e1 + o2, bits);
  to[6 * step] = descale(e1 - o2, bits);
  to[2 * step] = descale(e2 + o1, bits);
  to[5 * step] = descale(e2 - o1, bits);
  to[3 * step] = descale(e3 + o0, bits);
  to[4 * step] = descale(e3 - o0, bits);
}

static uint8_t clamp(int value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

static void transform_block(const int16_t *block, const uint16_t *quantisation, uint8_t *to,
                            size_t row) {
  int32_t work[BLOCK];
  for (int i = 0; i < BLOCK; i++) work[i] = block[i] * quantisation[i];
  for (int i = 0; i < 8; i++) transform_line(work + i, work + i, 8, CONST_BITS - PASS_BITS);
  for (int i = 0; i < 8; i++)
    transform_line(work + 8 * i, work + 8 * i, 1, CONST_BITS + PASS_BITS + 3);
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 8; x++) to[(size_t)y * row + (size_t)x] = clamp(work[8 * y + x] + 128);
}

static void make_samples(struct jpeg *in) {
  for (int i = 0; i < in->n_components; i++) {
    const struct component *c = &in->components[i];
    const size_t row = (size_t)c->blocks_x * 8;
    for (int y = 0; y < c->blocks_y; y++)
      for (int x = 0; x < c->blocks_x; x++)
        transform_block(c->coefficients + ((size_t)y * (size_t)c->blocks_x + (size_t)x) * BLOCK,
                        in->quantisation[c->table],
                        c->samples + (size_t)y * 8 * row + (size_t)x * 8, row);
  }
}

/* Pixels */

/* A sample where the component has half as many: three quarters of the nearer one, in each
 * direction that is halved. */
static int sample_at(const struct jpeg *in, const struct component *c, int x, int y) {
  const int wide = in->h_most / c->h, high = in->v_most / c->v;
  const size_t row = (size_t)c->blocks_x * 8;
  const int columns = (in->width * c->h + in->h_most - 1) / in->h_most;
  const int rows = (in->height * c->v + in->v_most - 1) / in->v_most;
  const int x0 = x / wide, y0 = y / high;
  const uint8_t *at = c->samples + (size_t)y0 * row + (size_t)x0;
  if (wide != 2 || high > 2) return *at;
  const int dx = x % 2 ? (x0 + 1 < columns) : -(x0 > 0);
  const int dy = high == 1 ? 0 : y % 2 ? (y0 + 1 < rows) : -(y0 > 0);
  const int near = high == 1 ? at[0] * 4 : at[0] * 3 + at[dy * (ptrdiff_t)row];
  const int far = high == 1 ? at[dx] * 4 : at[dx] * 3 + at[dy * (ptrdiff_t)row + dx];
  return (near * 3 + far + (x % 2 ? 7 : 8)) >> 4;
}

static void put_pixel(const struct jpeg *in, int x, int y, int64_t channels, uint8_t *to) {
  const int first = sample_at(in, &in->components[0], x, y);
  if (in->n_components == 1 || (channels == 1 && !in->adobe_rgb)) {
    for (int64_t i = 0; i < channels; i++) to[i] = (uint8_t)first;
    return;
  }
  const int cb = sample_at(in, &in->components[1], x, y) - (in->adobe_rgb ? 0 : 128);
  const int cr = sample_at(in, &in->components[2], x, y) - (in->adobe_rgb ? 0 : 128);
  int rgb[3] = {first, cb, cr};
  if (!in->adobe_rgb) {
    rgb[0] = first + ((91881 * cr + 32768) >> 16);
    rgb[1] = first + ((-22554 * cb - 46802 * cr + 32768) >> 16);
    rgb[2] = first + ((116130 * cb + 32768) >> 16);
  }
  if (channels == 1) {
    to[0] = (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
    return;
  }
  for (int i = 0; i < 3; i++) to[i] = clamp(rgb[i]);
}

/* The file */

/* Reads a segment with its mark; *done at the end of the picture. */
static bool read_segment(struct jpeg *in, bool *done) {
  while (in->at < in->end && *in->at != 0xff) in->at++;
  while (in->at < in->end && *in->at == 0xff) in->at++;
  if (in->at >= in->end) { /* cut off, also where what is there makes a picture */
    in->is_cut = *done = true;
    return true;
  }
  const int mark = *in->at++;
  if (mark == 0xd9) return *done = true;
  if (mark == 0 || mark == 1 || (mark >= 0xd0 && mark <= 0xd8)) return true;
  if (in->end - in->at < 2) return false;
  const uint8_t *at = in->at + 2, *end = in->at + word(in->at);
  if (end < at || end > in->end) return false;
  in->at = end;
  if (mark == 0xdb) return read_quantisation(in, at, end);
  if (mark == 0xc4) return read_huffman(in, at, end);
  if (mark == 0xdd && end - at >= 2) in->restart = word(at);
  if (mark == 0xee && end - at >= 12 && !memcmp(at, "Adobe", 5)) in->adobe_rgb = at[11] == 0;
  if (mark >= 0xc0 && mark <= 0xcf && mark != 0xc8 && mark != 0xcc) {
    in->progressive = mark == 0xc2;
    return mark <= 0xc2 && read_frame(in, at, end);
  }
  if (mark != 0xda) return true;
  if (!read_scan(in, at, end)) return false;
  read_units(in);
  return !in->damaged;
}

static situ_status give_pixels(const struct compute *compute, const struct jpeg *in,
                               int64_t channels) {
  void *pixels = NULL;
  if (!channels) channels = in->n_components;
  TRY(compute_output(compute, 0, SITU_SHAPE(in->height, in->width, channels), &pixels));
  uint8_t *to = pixels;
  for (int y = 0; y < in->height; y++)
    for (int x = 0; x < in->width; x++, to += channels) put_pixel(in, x, y, channels, to);
  return NULL;
}

situ_status picture_decode_jpeg(const struct compute *compute, situ_text data, int64_t channels) {
  if (channels != 0 && channels != 1 && channels != 3)
    return INVALID("channels must be 0, 1 or 3 for JPEG, got %lld", (long long)channels);
  if (call_integer(compute->call, "ratio") > 1)
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "JPEG files are decoded in full size: make the picture smaller with "
                              "tf.image.resize instead of `ratio`.");
  struct jpeg *in = calloc(1, sizeof *in);
  if (!in) return NO_MEMORY();
  in->at = (const uint8_t *)data.data;
  in->end = in->at + data.length;
  bool good = true, done = false;
  while (good && !done) good = read_segment(in, &done);
  situ_status status = NULL;
  const bool recover = call_bool(compute->call, "try_recover_truncated");
  if (!good || !in->width || !in->n_scan || (in->is_cut && !recover))
    status = INVALID("Invalid JPEG data or crop window, data size %zu", data.length);
  if (!status) {
    make_samples(in);
    status = give_pixels(compute, in, channels);
  }
  for (int i = 0; i < in->n_components && i < MAX_COMPONENTS; i++) {
    free(in->components[i].coefficients);
    free(in->components[i].samples);
  }
  free(in);
  return status;
}
