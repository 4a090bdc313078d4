/* SPDX-License-Identifier: Apache-2.0
 * png.h: reads PNG files with libpng. */
#ifndef SITU_OPS_IMAGE_PNG_H
#define SITU_OPS_IMAGE_PNG_H

#include "ops/image/decode_image.h"

/* Decodes a file into a buffer of one or two bytes a sample; channels: 0 (as the file has), 1, 3 or
 * 4. Samples of 16 bits lose their lower byte in a buffer of one; those of 8 bits are repeated in
 * both bytes in a buffer of two. */
situ_status png_decode(situ_string data, int64_t channels,
                       struct image_buffer *buffer) SITU_MUST_USE;

#endif
