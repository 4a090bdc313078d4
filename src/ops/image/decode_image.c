/* SPDX-License-Identifier: Apache-2.0
 * decode_image.c: DecodeJpeg, DecodePng, DecodeBmp and DecodeImage. The format follows from the
 * contents; most ops accept several formats, as in TensorFlow. */
#include "ops/image/decode_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "ops/image/jpeg.h"
#include "ops/ops.h"
#include "ops/image/png.h"
#include "schema/schema.h"
#include "tensor/tensor.h"

situ_status decode_image_check(const struct compute *compute, int64_t height, int64_t width,
                               int64_t bytes_per_pixel) {
  const uint64_t pixels = (uint64_t)(height * width);
  const uint64_t limit = limits_expansion(situ_tensor_string(compute->in[0], 0).length);
  if (pixels > (uint64_t)limits_image_pixels())
    return INVALID("Image too large: %lld x %lld pixels; SITU_IMAGE_PIXELS allows %lld",
                   (long long)width, (long long)height, (long long)limits_image_pixels());
  if (pixels > limit / (uint64_t)bytes_per_pixel)
    return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                              "An image of %lld x %lld pixels in a file of %zu bytes needs more "
                              "than %llu bytes of memory. SITU_EXPANSION_LIMIT raises the limit.",
                              (long long)width, (long long)height,
                              situ_tensor_string(compute->in[0], 0).length,
                              (unsigned long long)limit);
  return NULL;
}

situ_status decode_image_allocate(struct image_buffer *buffer, int64_t height, int64_t width,
                                  int64_t channels) {
  const situ_shape shape = SITU_SHAPE(height, width, channels);
  const size_t sample = situ_type_size(buffer->compute->call->out[0].type);
  buffer->is_copy = sample != (size_t)buffer->sample_bytes;
  const int64_t sample_memory = (int64_t)sample + (buffer->is_copy ? buffer->sample_bytes : 0);
  TRY(decode_image_check(buffer->compute, height, width, channels * sample_memory));
  TRY(compute_output(buffer->compute, 0, shape, &buffer->output));
  buffer->count = situ_shape_count(shape);
  buffer->samples = buffer->is_copy
                        ? malloc((size_t)buffer->count * (size_t)buffer->sample_bytes + 1)
                        : buffer->output;
  return buffer->samples ? NULL : NO_MEMORY();
}

/* Samples in the type of the output: the range of an integer type is that of the other one, or 0 to
 * 1 of float. */
static void convert(const struct image_buffer *buffer) {
  const uint8_t *bytes = buffer->samples;
  const uint16_t *pairs = buffer->samples;
  const bool is_float = buffer->compute->call->out[0].type == SITU_FLOAT;
  float *fractions = buffer->output;
  uint16_t *wide = buffer->output;
  for (int64_t i = 0; i < buffer->count; i++) {
    if (!is_float)
      wide[i] = (uint16_t)(bytes[i] * 256);
    else if (buffer->sample_bytes == 1)
      fractions[i] = (float)bytes[i] * (1.0F / UINT8_MAX);
    else
      fractions[i] = (float)pairs[i] * (1.0F / UINT16_MAX);
  }
}

/* Little-endian numbers of a BMP header. */
static int32_t read_int32(const char *at) {
  int32_t value = 0;
  memcpy(&value, at, sizeof value);
  return value;
}

static int16_t read_int16(const char *at) {
  int16_t value = 0;
  memcpy(&value, at, sizeof value);
  return value;
}

/* A BMP pixel (gray, BGR or BGRA) as gray, RGB or RGBA. */
static void convert_pixel(const char *from, int64_t own, uint8_t *to, int64_t wanted) {
  const bool is_gray = own == 1;
  to[0] = (uint8_t)from[is_gray ? 0 : 2];
  if (wanted >= 3) {
    to[1] = (uint8_t)from[is_gray ? 0 : 1];
    to[2] = (uint8_t)from[0];
  }
  if (wanted == 4) to[3] = own == 4 ? (uint8_t)from[3] : UINT8_MAX;
}

/* The layout of the pixels in a BMP file. */
struct bitmap {
  int64_t begin, width, height, channels, line;
  bool top_down;
};

/* Reads the header. Fails unless the file has exactly the size in its header. */
static situ_status read_bitmap(situ_string data, struct bitmap *out) {
  enum { HEADER = 32, MAX_PIXELS = INT32_MAX / 8 };
  if (data.length < HEADER)
    return INVALID(
        "Incomplete bmp content, requires at least 32 bytes to find the header size, width, "
        "height, and bpp, got %zu bytes",
        data.length);
  const int64_t rows = read_int32(data.data + 22);
  *out = (struct bitmap){.begin = read_int32(data.data + 10),
                         .width = read_int32(data.data + 18),
                         .height = rows < 0 ? -rows : rows,
                         .channels = read_int16(data.data + 28) / 8,
                         .top_down = rows < 0};
  if (out->channels != 1 && out->channels != 3 && out->channels != 4)
    return INVALID("Number of channels inherent in the image must be 1, 3 or 4, was %lld",
                   (long long)out->channels);
  if (out->width <= 0) return INVALID("Width must be positive");
  if (!out->height) return INVALID("Height must be nonzero");
  if (out->begin < 0) return INVALID("header size must be nonnegative");
  if (out->width * out->height >= MAX_PIXELS)
    return INVALID("Total possible pixel bytes must be less than 2^30");
  out->line = (out->width * out->channels + 3) / 4 * 4;
  const int64_t difference = (int64_t)data.length - out->begin - out->line * out->height;
  if (difference)
    return INVALID(
        "Input size should match (header_size + row_size * abs_height) but they differ "
        "by %lld",
        (long long)difference);
  return NULL;
}

static situ_status decode_bmp(situ_string data, int64_t channels, struct image_buffer *buffer) {
  struct bitmap bitmap;
  if (channels == 1) return INVALID("`channels` must be 0, 3 or 4 for BMP, but got 1");
  TRY(read_bitmap(data, &bitmap));
  const int64_t wanted = channels ? channels : bitmap.channels;
  TRY(decode_image_allocate(buffer, bitmap.height, bitmap.width, wanted));
  uint8_t *to = buffer->samples;
  for (int64_t y = 0; y < bitmap.height; y++) {
    const int64_t line = bitmap.top_down ? y : bitmap.height - 1 - y;
    const char *from = data.data + bitmap.begin + line * bitmap.line;
    for (int64_t x = 0; x < bitmap.width; x++, to += wanted, from += bitmap.channels)
      convert_pixel(from, bitmap.channels, to, wanted);
  }
  return NULL;
}

enum format { FORMAT_UNKNOWN, FORMAT_JPEG, FORMAT_PNG, FORMAT_GIF, FORMAT_BMP };
static const char *const format_names[] = {"", "JPEG", "PNG", "GIF", "BMP"};

static enum format format_of(situ_string data) {
  static const char *const signatures[] = {"", "\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "GIF8", "BM"};
  for (int i = FORMAT_JPEG; i <= FORMAT_BMP; i++) {
    const size_t length = strlen(signatures[i]);
    if (data.length >= length && !memcmp(data.data, signatures[i], length)) return (enum format)i;
  }
  return FORMAT_UNKNOWN;
}

/* The formats that an op decodes: DecodeBmp BMP only, DecodeAndCropJpeg JPEG only, DecodeImage all,
 * the others all but animated GIF. */
static situ_status check_format(const char *op, enum format format) {
  const char *name = format_names[format];
  if (format == FORMAT_UNKNOWN)
    return INVALID("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
  if (format != FORMAT_JPEG && !strcmp(op, "DecodeAndCropJpeg"))
    return INVALID("DecodeAndCropJpeg operation can run on JPEG only, but detected %s.", name);
  if (format != FORMAT_BMP && !strcmp(op, "DecodeBmp"))
    return INVALID("Trying to decode %s format using DecodeBmp op. Use `decode_image` instead.",
                   name);
  if (format == FORMAT_BMP && strcmp(op, "DecodeBmp") != 0 && strcmp(op, "DecodeImage") != 0)
    return INVALID(
        "Trying to decode BMP format using a wrong op. Use `decode_bmp` or "
        "`decode_image` instead. Op used: %s",
        op);
  if (format == FORMAT_GIF)
    return situ_status_create(SITU_UNIMPLEMENTED, "%s does not support GIF: use tf.io.decode_gif.",
                              op);
  return NULL;
}

static situ_status read_crop_window(const struct compute *compute,
                                    struct jpeg_decode_options *options) {
  const situ_tensor *window = compute->in[1];
  if (window->shape.rank != 1 || window->shape.dim[0] != 4)
    return INVALID(
        "crop_window must be 1-D and have four elements, got %d dimensions and %lld "
        "elements",
        window->shape.rank, (long long)situ_shape_count(window->shape));
  const int32_t *at = situ_tensor_data(window);
  options->has_crop = true;
  options->crop_y = at[0];
  options->crop_x = at[1];
  options->crop_height = at[2];
  options->crop_width = at[3];
  return NULL;
}

static situ_status read_options(const struct compute *compute, int64_t channels,
                                struct jpeg_decode_options *options) {
  const struct call *call = compute->call;
  *options = (struct jpeg_decode_options){
      .channels = channels, .ratio = 1, .fancy_upscaling = true, .acceptable_fraction = 1};
  if (channels == 4) return INVALID("JPEG does not support 4 channels");
  if (schema_attr(call->schema, "ratio") < 0) return NULL; /* an op without such options */
  options->ratio = call_integer(call, "ratio");
  options->fancy_upscaling = call_bool(call, "fancy_upscaling");
  options->try_recover_truncated = call_bool(call, "try_recover_truncated");
  options->acceptable_fraction = call_real(call, "acceptable_fraction");
  options->is_accurate = !strcmp(call_text(call, "dct_method"), "INTEGER_ACCURATE");
  return compute->call->n_in > 1 ? read_crop_window(compute, options) : NULL;
}

static situ_status decode(enum format format, situ_string data, int64_t channels,
                          struct image_buffer *buffer) {
  struct jpeg_decode_options options;
  const bool is_bytes = buffer->compute->call->out[0].type == SITU_UINT8;
  buffer->sample_bytes = format == FORMAT_PNG && !is_bytes ? 2 : 1;
  if (format == FORMAT_PNG) return png_decode(data, channels, buffer);
  if (format == FORMAT_BMP) return decode_bmp(data, channels, buffer);
  TRY(read_options(buffer->compute, channels, &options));
  return jpeg_decode(data, &options, buffer);
}

static situ_status check_scalar(const struct compute *compute) {
  return compute->in[0]->shape.rank ? INVALID("`contents` must be scalar but got %d dimensions",
                                              compute->in[0]->shape.rank)
                                    : NULL;
}

static situ_status compute_decode(struct compute *compute) {
  TRY(check_scalar(compute));
  const situ_string data = situ_tensor_string(compute->in[0], 0);
  const enum format format = format_of(data);
  struct image_buffer buffer = {.compute = compute};
  if (!data.length) return INVALID("Input is empty.");
  TRY(check_format(compute->call->schema->op->name, format));
  situ_status status = decode(format, data, call_integer(compute->call, "channels"), &buffer);
  if (!status && buffer.is_copy) convert(&buffer);
  if (buffer.is_copy) free(buffer.samples);
  return status;
}

static situ_status check_ratio(const struct call *call) {
  const char *method = call_text(call, "dct_method");
  const int64_t ratio = call_integer(call, "ratio");
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
    return INVALID("ratio must be 1, 2, 4, or 8, got %lld", (long long)ratio);
  if (*method && strcmp(method, "INTEGER_FAST") != 0 && strcmp(method, "INTEGER_ACCURATE") != 0)
    return INVALID("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
  return NULL;
}

static situ_status decode_shape(struct call *call) {
  const int64_t channels = call_integer(call, "channels");
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4)
    return INVALID("`channels` must be 0, 1, 3 or 4 but got %lld", (long long)channels);
  if (schema_attr(call->schema, "ratio") >= 0) TRY(check_ratio(call));
  if (call->in[0].shape.rank > 0)
    return INVALID("`contents` must be scalar but got %d dimensions", call->in[0].shape.rank);
  call->out[0].shape = SITU_SHAPE(SITU_ANY, SITU_ANY, channels ? channels : SITU_ANY);
  return NULL;
}

static situ_status compute_jpeg_shape(struct compute *compute) {
  int64_t shape[3];
  void *data = NULL;
  TRY(check_scalar(compute));
  TRY(jpeg_read_shape(situ_tensor_string(compute->in[0], 0), shape));
  TRY(compute_output(compute, 0, SITU_SHAPE(3), &data));
  const bool is_short = compute->call->out[0].type == SITU_INT32;
  for (int i = 0; i < 3; i++)
    if (is_short)
      ((int32_t *)data)[i] = (int32_t)shape[i];
    else
      ((int64_t *)data)[i] = shape[i];
  return NULL;
}

static situ_status jpeg_shape_shape(struct call *call) {
  call->out[0].shape = SITU_SHAPE(3);
  return NULL;
}

#define DECODER(op, names, more, output, attributes, text)                                \
  {                                                                                       \
    .name = op, .inputs = "contents:string[]" more, .outputs = "image:" output,           \
    .attrs = "channels:int=0" attributes, .python = names, .doc = text, .devices = "CPU", \
    .flags = OP_NO_GRADIENT, .shape = decode_shape, .compute = compute_decode             \
  }
#define JPEG_ATTRS                                                           \
  " ratio:int=1 fancy_upscaling:bool=true try_recover_truncated:bool=false " \
  "acceptable_fraction:float=1.0 dct_method:string=''"

static const struct op_def op_defs[] = {
    DECODER("DecodePng", "image.decode_png io.decode_png", "", "dtype",
            " dtype:{uint8 uint16}=uint8",
            "Decodes a PNG image to a tensor [height, width, channels]."),
    DECODER("DecodeBmp", "image.decode_bmp io.decode_bmp", "", "uint8", "",
            "Decodes a BMP image to a tensor [height, width, channels]."),
    DECODER("DecodeJpeg", "image.decode_jpeg io.decode_jpeg", "", "uint8", JPEG_ATTRS,
            "Decodes a JPEG image to a tensor [height, width, channels]."),
    DECODER("DecodeAndCropJpeg", "image.decode_and_crop_jpeg io.decode_and_crop_jpeg",
            " crop_window:int32[4]", "uint8", JPEG_ATTRS, "Decodes a rectangle of a JPEG image."),
    DECODER("DecodeImage", "", "", "dtype",
            " dtype:{uint8 uint16 float}=uint8 expand_animations:bool=true",
            "Decodes a JPEG, PNG or BMP image to a tensor [height, width, channels]."),
    {.name = "ExtractJpegShape",
     .inputs = "contents:string[]",
     .outputs = "image_shape:output_type",
     .attrs = "output_type:{int32 int64}=int32",
     .python = "image.extract_jpeg_shape io.extract_jpeg_shape",
     .doc = "Height, width and channels of a JPEG image, read from its header.",
     .args = "contents: Contents of the file, a scalar.\n"
             "output_type: Integer type of the result.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = jpeg_shape_shape,
     .compute = compute_jpeg_shape},
};

OP_FAMILY(decode_image, op_defs);
