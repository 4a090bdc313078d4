/* SPDX-License-Identifier: Apache-2.0
 * tensor.h: the internals of a tensor: type, shape and a reference-counted buffer. */
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

/* Creates a tensor in uninitialized host memory. Fails for resources and variants, whose elements
 * are references. */
situ_status tensor_create_raw(situ_type type, situ_shape shape, situ_tensor **out) SITU_MUST_USE;

/* Creates a tensor over a buffer; takes ownership of the reference, also on failure. */
situ_status tensor_from_buffer(situ_type type, situ_shape shape, struct buffer *buffer,
                               situ_tensor **out) SITU_MUST_USE;

/* Creates a tensor with the same buffer and another shape of as many elements. */
situ_status tensor_reshape(const situ_tensor *tensor, situ_shape shape,
                           situ_tensor **out) SITU_MUST_USE;

/* Returns element `index` of string data; NULL pointers are empty strings. */
situ_string tensor_string_at(const void *data, int64_t index);

/* Copies a string tensor with its strings, which may be owned by others. */
situ_status tensor_copy_strings(const situ_tensor *tensor, situ_tensor **out) SITU_MUST_USE;

/* Returns the tensor with one more reference if it is in host memory, otherwise a copy in host
 * memory. */
situ_status tensor_host(situ_tensor *tensor, situ_tensor **out) SITU_MUST_USE;

/* Copies a tensor to a device through the host; `op` is the owner in memory reports. */
situ_status tensor_copy(const situ_tensor *tensor, struct device *to, const char *op,
                        situ_tensor **out) SITU_MUST_USE;

/* Replaces a tensor whose buffer is lent by a copy on the same device that can be retained. */
situ_status tensor_own(situ_tensor **tensor) SITU_MUST_USE;

#endif
