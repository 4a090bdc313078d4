/* SPDX-License-Identifier: Apache-2.0
 * decode_image.h: the output buffer that the image decoders share. */
#ifndef SITU_OPS_IMAGE_DECODE_IMAGE_H
#define SITU_OPS_IMAGE_DECODE_IMAGE_H

#include "schema/compute.h"

/* Output 0 of an op for a decoder: samples of one or two bytes, allocated when the size of the
 * image is known. If the op has another output type, the decoder writes to a buffer that is
 * converted. */
struct image_buffer {
  const struct compute *compute;
  int sample_bytes; /* of a sample: 1 (uint8) or 2 (uint16) */
  void *samples;
  bool is_copy; /* `samples` is not the memory of the output */
  int64_t count;
  void *output;
};

/* Checks that an image is not larger than limits.h allows for its file. Sides are at most 2^31. */
situ_status decode_image_check(const struct compute *compute, int64_t height, int64_t width,
                               int64_t bytes_per_pixel) SITU_MUST_USE;

/* Allocates samples of [height, width, channels] and the output. The memory is not cleared. */
situ_status decode_image_allocate(struct image_buffer *buffer, int64_t height, int64_t width,
                                  int64_t channels) SITU_MUST_USE;

#endif
