/* SPDX-License-Identifier: Apache-2.0
 * component.c: operations on components of elements: slicing, and copying to the host. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/tensor.h"

static void drop_parent(void *context) { buffer_release(context); }

situ_status component_slice(situ_tensor *tensor, int64_t index, situ_tensor **out) {
  situ_shape shape = tensor->shape;
  shape.rank--;
  memmove(shape.dim, shape.dim + 1, sizeof *shape.dim * (size_t)shape.rank);
  const int64_t n = situ_shape_count(shape);
  if (tensor->type == SITU_STRING) {
    situ_string inline_buffer[8],
        *strings = n <= 8 ? inline_buffer : malloc(sizeof *strings * (size_t)n);
    if (!strings) return NO_MEMORY();
    for (int64_t i = 0; i < n; i++) strings[i] = situ_tensor_string(tensor, index * n + i);
    const situ_status status = situ_tensor_create_strings(shape, strings, out);
    if (strings != inline_buffer) free(strings);
    return status;
  }
  const size_t bytes = (size_t)n * situ_type_size(tensor->type);
  const char *data = (const char *)situ_tensor_data(tensor) + (size_t)index * bytes;
  if (bytes < 256) return situ_tensor_create(tensor->type, shape, data, out);
  struct buffer *parent = buffer_retain(tensor->buffer);
  const situ_status status = situ_tensor_wrap(tensor->type, shape, data, drop_parent, parent, out);
  if (status) buffer_release(parent);
  return status;
}

situ_status component_to_host(situ_tensor **component) {
  if (situ_tensor_data(*component)) return NULL;
  situ_tensor *host = NULL;
  TRY(tensor_host(*component, &host));
  situ_tensor_release(*component);
  *component = host;
  return NULL;
}
