/* SPDX-License-Identifier: Apache-2.0
 * picture.c: pictures out of the bytes of files: PNG (libpng, loaded at run time) and BMP. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "ops/ops.h"
#include "ops/picture.h"
#include "tensor/tensor.h"

/* libpng's simple interface, as version 1.6 has it. */
struct png_image {
  void *opaque;
  uint32_t version, width, height, format, flags, colormap_entries, warning_or_error;
  char message[64];
};
enum { PNG_VERSION = 1, PNG_ALPHA = 1, PNG_COLOR = 2, PNG_16BIT_SRGB = 4 };

#define PNG_SYMBOLS(X)                                                                       \
  X(int, png_image_begin_read_from_memory, (struct png_image *, const void *, size_t))       \
  X(int, png_image_finish_read, (struct png_image *, const void *, void *, int32_t, void *)) \
  X(void, png_image_free, (struct png_image *))

struct png_table {
  PNG_SYMBOLS(DL_FIELD)
};
#define PNG_NEED(result, name, args) DL_SYMBOL(struct png_table, name)
static const struct dl_symbol png_symbols[] = {PNG_SYMBOLS(PNG_NEED)};

static struct png_table png;
static char png_why[DL_WHY];
static bool has_png;

static void load_png(void) {
  static const char *const libraries[] = {"libpng16.so.16", "libpng16.so", NULL};
  has_png = dl_load(libraries, png_symbols, (int)COUNT_OF(png_symbols), &png, png_why);
}

/* A picture: rows of pixels of so many channels. */
static situ_status check_channels(int64_t channels) {
  if (channels == 0 || channels == 1 || channels == 3 || channels == 4) return NULL;
  return INVALID("channels must be 0, 1, 3, or 4, got %lld", (long long)channels);
}

/* Whether the chunks of a file go on to the last one. */
static bool ends_well(situ_text data) {
  static const unsigned char last[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
  for (size_t at = 8; at + sizeof last <= data.length;) {
    const unsigned char *chunk = (const unsigned char *)data.data + at;
    if (!memcmp(chunk, last, sizeof last)) return true;
    at += 12 + ((size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3]);
  }
  return false;
}

/* The grey of a colour, as libpng weighs it where it is told TensorFlow's weights. */
static uint8_t gray_of(const uint8_t *color) {
  enum { RED = 9797, GREEN = 19234, BLUE = 3737, SHIFT = 15 };
  return (uint8_t)((RED * color[0] + GREEN * color[1] + BLUE * color[2]) >> SHIFT);
}

/* A pixel with other channels: alpha is added or left out, never mixed into the colours. */
static void change_pixel(const uint8_t *from, int64_t n_from, uint8_t *to, int64_t n_to) {
  const bool colored = n_from >= 3, opaque = n_from % 2;
  for (int i = 0; i < 3 && n_to >= 3; i++) to[i] = colored ? from[i] : from[0];
  if (n_to < 3) to[0] = colored ? gray_of(from) : from[0];
  if (n_to % 2 == 0) to[n_to - 1] = opaque ? UINT8_MAX : from[n_from - 1];
}

/* All pixels of a file, with the channels that it has, as libpng gives them. What it would do to
 * get others (mixing with a background, greys by brightness) is not what is wanted. */
static situ_status read_png(struct png_image *image, int64_t own, uint8_t *pixels, int64_t wanted,
                            size_t length) {
  const int64_t count = (int64_t)image->width * image->height;
  uint8_t *raw = wanted == own ? pixels : malloc((size_t)(count * own) + 1);
  if (!raw) return NO_MEMORY();
  const bool good = png.png_image_finish_read(image, NULL, raw, 0, NULL);
  for (int64_t i = 0; good && raw != pixels && i < count; i++)
    change_pixel(raw + i * own, own, pixels + i * wanted, wanted);
  if (raw != pixels) free(raw);
  return good ? NULL : INVALID("Invalid PNG data, size %zu: %s", length, image->message);
}

static situ_status decode_png(const struct compute *compute, situ_text data, int64_t channels) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_png);
  if (!has_png)
    return situ_status_create(SITU_UNIMPLEMENTED, "PNG needs libpng (Debian: libpng16-16): %s",
                              png_why);
  if (!ends_well(data))
    return INVALID("Invalid PNG data, size %zu: the file ends too early", data.length);
  struct png_image image = {.version = PNG_VERSION};
  if (!png.png_image_begin_read_from_memory(&image, data.data, data.length))
    return INVALID("Invalid PNG data, size %zu: %s", data.length, image.message);
  image.format &= PNG_ALPHA | PNG_COLOR;
  image.flags |= PNG_16BIT_SRGB;
  const int64_t own = 1 + (image.format & PNG_ALPHA ? 1 : 0) + (image.format & PNG_COLOR ? 2 : 0);
  const int64_t count = channels ? channels : own;
  void *pixels = NULL;
  situ_status status = compute_output(
      compute, 0, SITU_SHAPE((int64_t)image.height, (int64_t)image.width, count), &pixels);
  if (!status) status = read_png(&image, own, pixels, count, data.length);
  png.png_image_free(&image);
  return status;
}

static uint32_t little(const char *at, int bytes) {
  uint32_t value = 0;
  memcpy(&value, at, (size_t)bytes);
  return value;
}

/* Windows bitmaps of 8, 24 or 32 bits without compression. */
static situ_status decode_bmp(const struct compute *compute, situ_text data, int64_t channels) {
  if (data.length < 32) return INVALID("Incomplete bmp content, requires at least 32 bytes");
  const uint32_t begin = little(data.data + 10, 4);
  const int32_t width = (int32_t)little(data.data + 18, 4);
  const int32_t rows = (int32_t)little(data.data + 22, 4);
  const int64_t count = little(data.data + 28, 2) / 8, height = rows < 0 ? -(int64_t)rows : rows;
  if (channels && channels != count)
    return INVALID("channels attribute %lld does not match bits per pixel from file %lld",
                   (long long)channels, (long long)count);
  const int64_t line = (width * count + 3) / 4 * 4;
  int64_t bytes = 0;
  if (width <= 0 || (count != 1 && count != 3 && count != 4) ||
      __builtin_mul_overflow(line, height, &bytes) ||
      __builtin_add_overflow(bytes, (int64_t)begin, &bytes) || (uint64_t)bytes > data.length)
    return INVALID("Invalid bmp data, size %zu", data.length);
  void *pixels = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(height, width, count), &pixels));
  uint8_t *to = pixels;
  for (int64_t y = 0; y < height; y++) {
    const char *from = data.data + begin + (rows < 0 ? y : height - 1 - y) * line;
    for (int64_t x = 0; x < width; x++, to += count, from += count) {
      memcpy(to, from, (size_t)count);
      if (count >= 3) { /* blue comes first */
        to[0] = (uint8_t)from[2];
        to[2] = (uint8_t)from[0];
      }
    }
  }
  return NULL;
}

static situ_status compute_decode(struct compute *compute) {
  const int64_t channels = call_integer(compute->call, "channels");
  if (situ_shape_count(compute->in[0]->shape) != 1)
    return INVALID("contents must be scalar, got %d dimensions", compute->in[0]->shape.rank);
  TRY(check_channels(channels));
  const situ_text data = situ_tensor_text(compute->in[0], 0);
  if (data.length > 8 && !memcmp(data.data, "\x89PNG", 4))
    return decode_png(compute, data, channels);
  if (data.length > 2 && !memcmp(data.data, "BM", 2)) return decode_bmp(compute, data, channels);
  if (data.length > 3 && !memcmp(data.data, "\xff\xd8\xff", 3))
    return picture_decode_jpeg(compute, data, channels);
  return INVALID("Unknown image file format. One of JPEG, PNG, BMP required.");
}

static situ_status decode_shape(struct call *call) {
  const int64_t channels = call_integer(call, "channels");
  call->out[0].shape = SITU_SHAPE(SITU_ANY, SITU_ANY, channels ? channels : SITU_ANY);
  return NULL;
}

#define ROW(op, names, attributes, text)                                                   \
  {                                                                                        \
    .name = op, .inputs = "contents:string", .outputs = "image:uint8",                     \
    .attrs = "channels:int=0 " attributes, .python = names, .doc = text, .devices = "CPU", \
    .flags = OP_NO_GRADIENT, .shape = decode_shape, .compute = compute_decode              \
  }

static const struct op rows[] = {
    ROW("DecodePng", "", "", "The pixels of a PNG file."),
    ROW("DecodeBmp", "image.decode_bmp io.decode_bmp", "", "The pixels of a Windows bitmap."),
    ROW("DecodeJpeg", "image.decode_jpeg io.decode_jpeg",
        "ratio:int=1 fancy_upscaling:bool=true try_recover_truncated:bool=false "
        "acceptable_fraction:float=1.0 dct_method:string=''",
        "The pixels of a JPEG file."),
};

OP_FAMILY(picture, rows);
