/* SPDX-License-Identifier: Apache-2.0
 * tensor.c: creates, copies, reference-counts and reads tensors. */
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "base/huge_pages.h"
#include "base/interrupt.h"
#include "base/strbuf.h"
#include "device/host_memory.h"
#include "tensor/shape.h"
#include "tensor/type.h"

enum { STRINGS_PER_CHECK = 1024 }; /* for interrupts */

/* Checks that the type is valid, the shape is known and valid, and the size does not overflow. */
static situ_status check_args(situ_type type, const situ_shape *shape, size_t *bytes) {
  char text[SHAPE_STRING_SIZE], reason[TYPE_ERROR_TEXT];
  if (!situ_type_size(type)) return INVALID("%s.", type_error((int)type, NULL, reason));
  TRY(shape_check(shape));
  if (!shape_is_known(shape))
    return INVALID("A tensor needs a known shape, not %s.", shape_print(shape, text));
  if (!shape_bytes(type, shape, bytes))
    return INVALID("A tensor of type %s and shape %s has more than 2^63 - 1 bytes.",
                   situ_type_name(type), shape_print(shape, text));
  return NULL;
}

static situ_status host_oom(situ_type type, const situ_shape *shape, size_t bytes) {
  return host_memory_oom(bytes, &(struct memory_tag){.type = type, .shape = *shape});
}

static situ_status allocate(situ_type type, const situ_shape *shape, size_t bytes,
                            struct buffer **out) {
  const situ_status status = buffer_host(bytes, out);
  if (situ_status_code(status) != SITU_RESOURCE_EXHAUSTED) return status;
  situ_status_release(status);
  return host_oom(type, shape, bytes);
}

/* A string element is stored as its length followed by the bytes; the element points to the bytes.
 */
static size_t string_size(size_t length) { return round_up(sizeof length + length + 1, 8); }

static char *store_string(char *at, situ_string text) {
  memcpy(at, &text.length, sizeof text.length);
  char *data = at + sizeof text.length;
  if (text.length) memcpy(data, text.data, text.length);
  data[text.length] = 0;
  return data;
}

/* Source of the strings of a tensor: one of the two, or neither for empty strings. */
struct strings {
  const situ_string *strings;
  const char *const *c_strings; /* null-terminated */
};

static situ_string get_string(const struct strings *from, size_t i) {
  if (from->strings) return from->strings[i];
  const char *c_string = from->c_strings && from->c_strings[i] ? from->c_strings[i] : "";
  return (situ_string){c_string, strlen(c_string)};
}

/* Stores the pointers followed by the strings in one block. */
static situ_status copy_strings(const situ_shape *shape, const struct strings *from, size_t bytes,
                                struct buffer **out) {
  if (!huge_pages_available(bytes)) return host_oom(SITU_STRING, shape, bytes);
  const size_t count = bytes / sizeof(char *);
  size_t total = bytes;
  for (size_t i = 0; i < count; i++) {
    if (i % STRINGS_PER_CHECK == 0) TRY(interrupt_check());
    const size_t length = get_string(from, i).length;
    if (length > PTRDIFF_MAX || __builtin_add_overflow(total, string_size(length), &total))
      return host_oom(SITU_STRING, shape, SIZE_MAX);
  }
  TRY(allocate(SITU_STRING, shape, total, out));
  const char **pointers = (*out)->host;
  char *next = (char *)(*out)->host + bytes;
  for (size_t i = 0; i < count; i++) {
    const situ_string text = get_string(from, i);
    pointers[i] = store_string(next, text);
    next += string_size(text.length);
    if (i % STRINGS_PER_CHECK == 0 && interrupt_pending()) break;
  }
  const situ_status status = interrupt_check();
  if (!status) return NULL;
  buffer_release(*out);
  *out = NULL;
  return status;
}

static situ_status copy_elements(situ_type type, const situ_shape *shape, const void *data,
                                 size_t bytes, struct buffer **out) {
  if (type == SITU_STRING)
    return copy_strings(shape, &(struct strings){.c_strings = data}, bytes, out);
  TRY(allocate(type, shape, bytes, out));
  if (!bytes) return NULL;
  if (data)
    memcpy((*out)->host, data, bytes);
  else
    memset((*out)->host, 0, bytes);
  return NULL;
}

situ_status tensor_from_buffer(situ_type type, situ_shape shape, struct buffer *buffer,
                               situ_tensor **out) {
  size_t bytes = 0;
  const size_t capacity = buffer ? buffer->bytes : 0;
  situ_status status = check_args(type, &shape, &bytes);
  if (!status && bytes > capacity)
    status = INTERNAL("A tensor of %zu bytes over a buffer of %zu.", bytes, capacity);
  situ_tensor *tensor = status ? NULL : malloc(sizeof *tensor);
  if (!tensor) {
    buffer_release(buffer);
    return status ? status : NO_MEMORY();
  }
  *tensor = (situ_tensor){1, type, shape, bytes, buffer};
  *out = tensor;
  return NULL;
}

situ_status tensor_create_raw(situ_type type, situ_shape shape, situ_tensor **out) {
  size_t bytes = 0;
  struct buffer *buffer = NULL;
  if (type == SITU_RESOURCE || type == SITU_VARIANT)
    return INVALID("The elements of a tensor of type %s cannot be copied.", situ_type_name(type));
  TRY(check_args(type, &shape, &bytes));
  TRY(allocate(type, &shape, bytes, &buffer));
  return tensor_from_buffer(type, shape, buffer, out);
}

situ_status tensor_copy_strings(const situ_tensor *tensor, situ_tensor **out) {
  const int64_t count = situ_shape_count(tensor->shape);
  situ_string *strings = malloc(sizeof *strings * (size_t)(count + 1));
  if (!strings) return NO_MEMORY();
  for (int64_t i = 0; i < count; i++) strings[i] = situ_tensor_string(tensor, i);
  const situ_status status = situ_tensor_create_strings(tensor->shape, strings, out);
  free(strings);
  return status;
}

situ_status tensor_reshape(const situ_tensor *tensor, situ_shape shape, situ_tensor **out) {
  if (situ_shape_count(shape) != situ_shape_count(tensor->shape)) {
    char from[SHAPE_STRING_SIZE], to[SHAPE_STRING_SIZE];
    return INVALID("A tensor of shape %s cannot have shape %s.", shape_print(&tensor->shape, from),
                   shape_print(&shape, to));
  }
  return tensor_from_buffer(tensor->type, shape, buffer_retain(tensor->buffer), out);
}

situ_status tensor_host(situ_tensor *tensor, situ_tensor **out) {
  if (tensor->buffer->host) {
    *out = situ_tensor_retain(tensor);
    return NULL;
  }
  struct buffer *buffer = NULL;
  TRY(allocate(tensor->type, &tensor->shape, tensor->bytes, &buffer));
  const situ_status status =
      tensor->bytes ? buffer_read(tensor->buffer, 0, buffer->host, tensor->bytes) : NULL;
  if (!status) return tensor_from_buffer(tensor->type, tensor->shape, buffer, out);
  buffer_release(buffer);
  return status;
}

situ_status tensor_copy(const situ_tensor *tensor, struct device *to, const char *op,
                        situ_tensor **out) {
  const struct memory_tag tag = {.op = op, .type = tensor->type, .shape = tensor->shape};
  const size_t bytes = tensor->bytes;
  struct buffer *buffer = NULL, *staged = NULL;
  situ_status status = buffer_device(to, bytes, &tag, &buffer);
  if (!status && tensor->buffer->device) status = buffer_host(bytes, &staged);
  if (!status && staged) status = buffer_read(tensor->buffer, 0, staged->host, bytes);
  if (!status)
    status = buffer_write(buffer, 0, staged ? staged->host : tensor->buffer->host, bytes);
  buffer_release(staged);
  if (!status) return tensor_from_buffer(tensor->type, tensor->shape, buffer, out);
  buffer_release(buffer);
  return status;
}

situ_status tensor_own(situ_tensor **tensor) {
  situ_tensor *from = *tensor, *copy = NULL;
  if (!from->buffer->lent) return NULL;
  if (from->type == SITU_STRING) {
    TRY(tensor_copy_strings(from, &copy));
  } else if (from->buffer->device) {
    TRY(tensor_copy(from, from->buffer->device, "copy", &copy));
  } else {
    TRY(situ_tensor_create(from->type, from->shape, from->buffer->host, &copy));
  }
  if (copy->buffer && from->buffer->is_variable) {
    copy->buffer->is_variable = true;
    copy->buffer->is_assigned = from->buffer->is_assigned;
  }
  situ_tensor_release(from);
  *tensor = copy;
  return NULL;
}

situ_status situ_tensor_create(situ_type type, situ_shape shape, const void *data,
                               situ_tensor **out) {
  if (!out) return INVALID("situ_tensor_create: out is NULL.");
  *out = NULL;
  size_t bytes = 0;
  struct buffer *buffer = NULL;
  TRY(check_args(type, &shape, &bytes));
  TRY(copy_elements(type, &shape, data, bytes, &buffer));
  return tensor_from_buffer(type, shape, buffer, out);
}

situ_status situ_tensor_create_strings(situ_shape shape, const situ_string *strings,
                                       situ_tensor **out) {
  if (!out) return INVALID("situ_tensor_create_strings: out is NULL.");
  *out = NULL;
  size_t bytes = 0;
  struct buffer *buffer = NULL;
  TRY(check_args(SITU_STRING, &shape, &bytes));
  TRY(copy_strings(&shape, &(struct strings){.strings = strings}, bytes, &buffer));
  return tensor_from_buffer(SITU_STRING, shape, buffer, out);
}

situ_string tensor_string_at(const void *data, int64_t index) {
  situ_string text = {((const char *const *)data)[index], 0};
  if (!text.data) return (situ_string){"", 0};
  memcpy(&text.length, text.data - sizeof text.length, sizeof text.length);
  return text;
}

situ_string situ_tensor_string(const situ_tensor *tensor, int64_t index) {
  const int64_t count = tensor ? situ_shape_count(tensor->shape) : 0;
  if (index < 0 || index >= count || tensor->type != SITU_STRING || !tensor->buffer->host)
    return (situ_string){"", 0};
  return tensor_string_at(tensor->buffer->host, index);
}

/* The caller's strings lack the length prefix, so that they are copied. */
static situ_status wrap_strings(situ_shape shape, const void *data, void (*release)(void *context),
                                void *context, situ_tensor **out) {
  TRY(situ_tensor_create(SITU_STRING, shape, data, out));
  if (release) release(context);
  return NULL;
}

situ_status situ_tensor_wrap(situ_type type, situ_shape shape, const void *data,
                             void (*release)(void *context), void *context, situ_tensor **out) {
  if (!out) return INVALID("situ_tensor_wrap: out is NULL.");
  *out = NULL;
  size_t bytes = 0;
  TRY(check_args(type, &shape, &bytes));
  if (!data && bytes) return INVALID("situ_tensor_wrap: data is NULL.");
  if (type == SITU_STRING) return wrap_strings(shape, data, release, context, out);
  struct buffer *buffer = NULL;
  /* On failure the memory stays with the caller: set `release` only after the tensor exists. */
  TRY(buffer_wrap((void *)(uintptr_t)data, bytes, NULL, context, &buffer));
  TRY(tensor_from_buffer(type, shape, buffer, out));
  buffer->release = release;
  return NULL;
}

situ_type situ_tensor_type(const situ_tensor *tensor) {
  return tensor ? tensor->type : SITU_NO_TYPE;
}

situ_shape situ_tensor_shape(const situ_tensor *tensor) {
  return tensor ? tensor->shape : SITU_ANY_SHAPE;
}

size_t situ_tensor_bytes(const situ_tensor *tensor) { return tensor ? tensor->bytes : 0; }

const char *situ_tensor_device(const situ_tensor *tensor) {
  if (!tensor) return "";
  const struct device *device = tensor->buffer->device;
  return device ? device->full : "/job:localhost/replica:0/task:0/device:CPU:0";
}

const void *situ_tensor_data(const situ_tensor *tensor) {
  return tensor ? tensor->buffer->host : NULL;
}

situ_status situ_tensor_read(const situ_tensor *tensor, void *to, size_t bytes) {
  if (!tensor) return INVALID("situ_tensor_read: tensor is NULL.");
  if (!to && bytes) return INVALID("situ_tensor_read: to is NULL.");
  if (bytes != tensor->bytes)
    return INVALID("situ_tensor_read: room for %zu bytes, but the tensor has %zu.", bytes,
                   tensor->bytes);
  return buffer_read(tensor->buffer, 0, to, bytes);
}

situ_tensor *situ_tensor_retain(situ_tensor *tensor) {
  if (tensor) __atomic_add_fetch(&tensor->references, 1, __ATOMIC_RELAXED);
  return tensor;
}

void situ_tensor_release(situ_tensor *tensor) {
  if (!tensor || __atomic_sub_fetch(&tensor->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  buffer_release(tensor->buffer);
  free(tensor);
}
