/* SPDX-License-Identifier: Apache-2.0
 * png.c: decodes PNG files with libpng, loaded at run time or bundled, in the steps that TensorFlow
 * takes: alpha is added or dropped, never blended; no gamma. */
#include "ops/image/png.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "base/interrupt.h"
#include "base/limits.h"

/* libpng's structs are opaque: it is used without its header. Constants as version 1.6 has them. */
struct png;
struct png_info;
enum { COLOR_PALETTE = 3, MASK_COLOR = 2, MASK_ALPHA = 4, INFO_TRNS = 0x10, FILLER_AFTER = 1 };
typedef void png_message(struct png *, const char *);
typedef void png_read(struct png *, unsigned char *, size_t);

#define PNG_FUNCTIONS(X)                                                                        \
  X(struct png *, png_create_read_struct, (const char *, void *, png_message *, png_message *)) \
  X(struct png_info *, png_create_info_struct, (struct png *))                                  \
  X(void, png_destroy_read_struct, (struct png **, struct png_info **, struct png_info **))     \
  X(void *, png_get_error_ptr, (const struct png *))                                            \
  X(void *, png_get_io_ptr, (const struct png *))                                               \
  X(void, png_set_read_fn, (struct png *, void *, png_read *))                                  \
  X(void, png_read_info, (struct png *, struct png_info *))                                     \
  X(uint32_t, png_get_image_width, (const struct png *, const struct png_info *))               \
  X(uint32_t, png_get_image_height, (const struct png *, const struct png_info *))              \
  X(unsigned char, png_get_bit_depth, (const struct png *, const struct png_info *))            \
  X(unsigned char, png_get_color_type, (const struct png *, const struct png_info *))           \
  X(unsigned char, png_get_channels, (const struct png *, const struct png_info *))             \
  X(uint32_t, png_get_valid, (const struct png *, const struct png_info *, uint32_t))           \
  X(size_t, png_get_rowbytes, (const struct png *, const struct png_info *))                    \
  X(void, png_set_tRNS_to_alpha, (struct png *))                                                \
  X(void, png_set_add_alpha, (struct png *, uint32_t, int))                                     \
  X(void, png_set_strip_alpha, (struct png *))                                                  \
  X(void, png_set_strip_16, (struct png *))                                                     \
  X(void, png_set_packing, (struct png *))                                                      \
  X(int, png_set_interlace_handling, (struct png *))                                            \
  X(void, png_set_swap, (struct png *))                                                         \
  X(void, png_set_palette_to_rgb, (struct png *))                                               \
  X(void, png_set_expand_gray_1_2_4_to_8, (struct png *))                                       \
  X(void, png_set_rgb_to_gray, (struct png *, int, double, double))                             \
  X(void, png_set_gray_to_rgb, (struct png *))                                                  \
  X(void, png_read_update_info, (struct png *, struct png_info *))                              \
  X(void, png_read_row, (struct png *, unsigned char *, unsigned char *))                       \
  X(void, png_read_end, (struct png *, struct png_info *))

PNG_FUNCTIONS(DL_DECLARE)
static struct png_functions { PNG_FUNCTIONS(DL_FIELD) } png;
#define NEEDED(result, name, args) DL_BUNDLED(struct png_functions, name)
static const struct dl_symbol symbols[] = {PNG_FUNCTIONS(NEEDED)};
static const char *const libraries[] = {"libpng16.so.16", "libpng16.so", NULL};

static char why_not[DL_REASON_SIZE];
static bool is_loaded;

static void load(void) {
  is_loaded = dl_load(libraries, symbols, (int)COUNT_OF(symbols), &png, why_not);
}

/* State that must survive the longjmp with which libpng reports errors. */
struct decoder {
  struct png *png;
  struct png_info *info;
  jmp_buf jump;
  char message[96];
  situ_string data;
  size_t offset; /* in data */
  int64_t height, width, channels;
  int passes, sample_bytes; /* of the samples that libpng returns */
  size_t line;              /* bytes of one */
  unsigned char *samples;
};

static void fail(struct png *context, const char *message) {
  struct decoder *decoder = png.png_get_error_ptr(context);
  snprintf(decoder->message, sizeof decoder->message, "%s", message);
  longjmp(decoder->jump, 1);
}

static void ignore_warning(struct png *context, const char *message) {
  (void)context, (void)message;
}

static void read_bytes(struct png *context, unsigned char *to, size_t count) {
  struct decoder *decoder = png.png_get_io_ptr(context);
  if (decoder->data.length - decoder->offset < count) fail(context, "the file ends too early");
  memcpy(to, decoder->data.data + decoder->offset, count);
  decoder->offset += count;
}

static bool guard(struct decoder *decoder, void (*step)(struct decoder *)) {
  if (setjmp(decoder->jump)) return false;
  step(decoder);
  return true;
}

static void read_header(struct decoder *decoder) {
  decoder->png = png.png_create_read_struct("1.6.0", decoder, fail, ignore_warning);
  decoder->info = decoder->png ? png.png_create_info_struct(decoder->png) : NULL;
  if (!decoder->info) {
    snprintf(decoder->message, sizeof decoder->message, "libpng could not be initialized");
    longjmp(decoder->jump, 1);
  }
  png.png_set_read_fn(decoder->png, decoder, read_bytes);
  png.png_read_info(decoder->png, decoder->info);
  decoder->width = png.png_get_image_width(decoder->png, decoder->info);
  decoder->height = png.png_get_image_height(decoder->png, decoder->info);
}

static void set_alpha(struct decoder *decoder, int color, int depth, bool has_transparency) {
  struct png *context = decoder->png;
  const bool has_alpha = color & MASK_ALPHA;
  if (decoder->channels % 2) {
    if (has_alpha || has_transparency) png.png_set_strip_alpha(context);
  } else if (!has_alpha && has_transparency) {
    png.png_set_tRNS_to_alpha(context);
  } else if (!has_alpha) {
    png.png_set_add_alpha(context, (1U << depth) - 1, FILLER_AFTER);
  }
}

static void set_colors(struct decoder *decoder, int color, int depth) {
  struct png *context = decoder->png;
  const bool is_gray = !(color & MASK_COLOR), wants_gray = decoder->channels < 3;
  if (color == COLOR_PALETTE) png.png_set_palette_to_rgb(context);
  if (is_gray && depth < 8) png.png_set_expand_gray_1_2_4_to_8(context);
  if (wants_gray && !is_gray) png.png_set_rgb_to_gray(context, 1, 0.299, 0.587);
  if (!wants_gray && is_gray) png.png_set_gray_to_rgb(context);
}

/* Requests the format of the samples; sets `sample_bytes`. */
static void set_transformations(struct decoder *decoder) {
  struct png *context = decoder->png;
  const int color = png.png_get_color_type(context, decoder->info);
  const int depth = png.png_get_bit_depth(context, decoder->info);
  const bool has_transparency = png.png_get_valid(context, decoder->info, INFO_TRNS) != 0;
  if (!decoder->channels && color == COLOR_PALETTE) decoder->channels = has_transparency ? 4 : 3;
  if (!decoder->channels) decoder->channels = png.png_get_channels(context, decoder->info);
  set_alpha(decoder, color, depth, has_transparency);
  if (depth > 8 && decoder->sample_bytes == 1) png.png_set_strip_16(context);
  if (depth <= 8) decoder->sample_bytes = 1;
  png.png_set_packing(context);
  decoder->passes = png.png_set_interlace_handling(context);
  if (decoder->sample_bytes == 2) png.png_set_swap(context); /* files are big-endian */
  set_colors(decoder, color, depth);
  png.png_read_update_info(context, decoder->info);
  decoder->line = (size_t)(decoder->width * decoder->channels * decoder->sample_bytes);
  if (png.png_get_rowbytes(context, decoder->info) != decoder->line)
    fail(context, "its color type cannot have these channels");
}

static void read_lines(struct decoder *decoder) {
  for (int pass = 0; pass < decoder->passes; pass++)
    for (int64_t y = 0; y < decoder->height; y++) {
      if (interrupt_pending()) return;
      png.png_read_row(decoder->png, decoder->samples + (size_t)y * decoder->line, NULL);
    }
  png.png_read_end(decoder->png, decoder->info);
}

/* Rejects sizes that TensorFlow rejects and those that the data cannot fill: deflate expands a byte
 * to at most 1032. */
static situ_status check_size(const struct decoder *decoder) {
  enum { MAX_SIDE = 1 << 27, MAX_EXPANSION = 1032 };
  const int64_t width = decoder->width, height = decoder->height;
  if (width >= MAX_SIDE || height >= MAX_SIDE || width * height > limits_image_pixels())
    return INVALID("PNG size too large for int: %lld by %lld", (long long)width, (long long)height);
  const uint64_t least = (uint64_t)(width / 8 + 1) * (uint64_t)height;
  if (least / MAX_EXPANSION > decoder->data.length)
    return INVALID("Invalid PNG data, size %zu: too little for %lld by %lld pixels",
                   decoder->data.length, (long long)width, (long long)height);
  return NULL;
}

static situ_status guarded(struct decoder *decoder, void (*step)(struct decoder *)) {
  if (guard(decoder, step)) return NULL;
  return INVALID("Invalid PNG data, size %zu: %s", decoder->data.length, decoder->message);
}

/* Widens 8 bits to 16: 255 becomes 65535. In place, the last sample first. */
static void widen(const unsigned char *from, uint16_t *to, int64_t count) {
  for (int64_t i = count - 1; i >= 0; i--) to[i] = (uint16_t)(from[i] * 257);
}

situ_status png_decode(situ_string data, int64_t channels, struct image_buffer *buffer) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!is_loaded) return dl_missing("PNG", "libpng16.so.16", "libpng16-16", why_not);
  struct decoder *decoder = calloc(1, sizeof *decoder);
  if (!decoder) return NO_MEMORY();
  decoder->data = data;
  decoder->channels = channels;
  decoder->sample_bytes = buffer->sample_bytes;
  situ_status status = guarded(decoder, read_header);
  if (!status) status = check_size(decoder);
  if (!status) status = guarded(decoder, set_transformations);
  if (!status)
    status = decode_image_allocate(buffer, decoder->height, decoder->width, decoder->channels);
  decoder->samples = buffer->samples;
  if (!status) status = guarded(decoder, read_lines);
  if (!status && decoder->sample_bytes < buffer->sample_bytes)
    widen(buffer->samples, buffer->samples, buffer->count);
  if (decoder->png) png.png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
  free(decoder);
  return status;
}
