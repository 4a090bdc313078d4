/* SPDX-License-Identifier: Apache-2.0
 * tensor.h: a tensor from the inside: a type, a shape, and a part of a counted buffer. */
#ifndef SITU_TENSOR_TENSOR_H
#define SITU_TENSOR_TENSOR_H

#include "device/buffer.h"
#include "situ/tensor.h"

struct situ_tensor {
  int references; /* atomic */
  situ_type type;
  situ_shape shape;
  size_t bytes;
  struct buffer *buffer;
};

/* A tensor over a buffer; takes over the caller's reference to the buffer, also on failure. */
situ_status tensor_over(situ_type type, situ_shape shape, struct buffer *buffer,
                        situ_tensor **out) SITU_MUST_USE;

/* The same buffer under another shape of as many elements. */
situ_status tensor_reshape(const situ_tensor *tensor, situ_shape shape,
                           situ_tensor **out) SITU_MUST_USE;

/* The tensor itself with one more reference, or a copy in host memory. */
situ_status tensor_host(situ_tensor *tensor, situ_tensor **out) SITU_MUST_USE;

#endif
