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

/* A tensor in host memory that is not cleared. */
situ_status tensor_create_raw(situ_type type, situ_shape shape, situ_tensor **out) SITU_MUST_USE;

/* A tensor over a buffer; takes over the caller's reference to the buffer, also on failure. */
situ_status tensor_from_buffer(situ_type type, situ_shape shape, struct buffer *buffer,
                               situ_tensor **out) SITU_MUST_USE;

/* The same buffer under another shape of as many elements. */
situ_status tensor_reshape(const situ_tensor *tensor, situ_shape shape,
                           situ_tensor **out) SITU_MUST_USE;

/* Element `index` of string elements; memory that was never written counts as empty. */
situ_string tensor_string_at(const void *data, int64_t index);

/* A tensor of strings whose texts are its own: the elements of `tensor` may point to others'. */
situ_status tensor_copy_strings(const situ_tensor *tensor, situ_tensor **out) SITU_MUST_USE;

/* The tensor itself with one more reference, or a copy in host memory. */
situ_status tensor_host(situ_tensor *tensor, situ_tensor **out) SITU_MUST_USE;

/* A copy of a tensor on a device, through the host; `op` is who asks, for reports of memory. */
situ_status tensor_copy(const situ_tensor *tensor, struct device *to, const char *op,
                        situ_tensor **out) SITU_MUST_USE;

/* Replaces a tensor whose memory is lent by a copy that may be kept, on the same device. */
situ_status tensor_own(situ_tensor **tensor) SITU_MUST_USE;

#endif
