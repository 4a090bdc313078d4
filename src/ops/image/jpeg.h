/* SPDX-License-Identifier: Apache-2.0
 * jpeg.h: reads and writes JPEG files with libjpeg-turbo. */
#ifndef SITU_OPS_IMAGE_JPEG_H
#define SITU_OPS_IMAGE_JPEG_H

#include "base/strbuf.h"
#include "ops/image/decode_image.h"

/* The attributes of DecodeJpeg and DecodeAndCropJpeg. */
struct jpeg_decode_options {
  int64_t channels; /* 0 (as the file has), 1 or 3 */
  int64_t ratio;    /* of downscaling: 1, 2, 4 or 8 */
  bool fancy_upscaling, try_recover_truncated, is_accurate, has_crop;
  double acceptable_fraction;
  int64_t crop_y, crop_x, crop_height, crop_width;
};

/* Decodes a file into a buffer of one byte a sample. */
situ_status jpeg_decode(situ_string data, const struct jpeg_decode_options *options,
                        struct image_buffer *buffer) SITU_MUST_USE;

/* Reads height, width and channels from the header. */
situ_status jpeg_read_shape(situ_string data, int64_t shape[3]) SITU_MUST_USE;

/* The attributes of EncodeJpeg. */
struct jpeg_encode_options {
  int64_t height, width, channels; /* of the pixels; 1 or 3 channels */
  int64_t quality;                 /* 0 to 100 */
  bool progressive, optimize_size, chroma_downsampling;
  uint8_t density_unit; /* 1: per inch, 2: per centimeter */
  int64_t x_density, y_density;
  const char *xmp_metadata;
};

/* Appends the file to `out`. */
situ_status jpeg_encode(const uint8_t *pixels, const struct jpeg_encode_options *options,
                        struct strbuf *out) SITU_MUST_USE;

#endif
