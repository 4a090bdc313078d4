/* SPDX-License-Identifier: Apache-2.0
 * limits.h: how much memory and time a small input may cost. The limits are environment variables,
 * which are read at each use. */
#ifndef SITU_BASE_LIMITS_H
#define SITU_BASE_LIMITS_H

#include <stdint.h>

/* Returns how many bytes an input (file, message, record) of `size` bytes may expand to in memory:
 * SITU_EXPANSION_LIMIT (256MiB), or 64 times its size if that is more. */
uint64_t limits_expansion(uint64_t size);

/* Returns the most pixels of an image: SITU_IMAGE_PIXELS (2^29 - 1, as in TensorFlow). */
int64_t limits_image_pixels(void);

/* Returns the most scans of a JPEG file: SITU_JPEG_SCANS (500). Each can visit every pixel. */
int64_t limits_jpeg_scans(void);

#endif
