/* SPDX-License-Identifier: Apache-2.0
 * picture.h: formats of pictures that have files of their own. */
#ifndef SITU_OPS_PICTURE_H
#define SITU_OPS_PICTURE_H

#include "schema/compute.h"

/* The pixels of a JPEG file as output 0; channels as the file has them (0), 1 or 3. */
situ_status picture_decode_jpeg(const struct compute *compute, situ_text data,
                                int64_t channels) SITU_MUST_USE;

#endif
