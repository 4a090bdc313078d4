/* SPDX-License-Identifier: Apache-2.0
 * graphdef_tensor.c: reads and writes TensorProto and TensorShapeProto. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/attrs.h"
#include "graph/graphdef.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

enum { MAX_VALUES = 32 }; /* more are written as tensor_content */

/* The field of a TensorProto that holds elements of a type. */
static const char *field_of(situ_type type) {
  static const struct {
    situ_type type;
    const char *field;
  } fields[] = {{SITU_FLOAT, "float_val"},        {SITU_DOUBLE, "double_val"},
                {SITU_INT32, "int_val"},          {SITU_UINT8, "int_val"},
                {SITU_INT8, "int_val"},           {SITU_STRING, "string_val"},
                {SITU_INT64, "int64_val"},        {SITU_BOOL, "bool_val"},
                {SITU_HALF, "half_val"},          {SITU_INT16, "int_val"},
                {SITU_UINT16, "int_val"},         {SITU_BFLOAT16, "half_val"},
                {SITU_INT4, "int_val"},           {SITU_UINT4, "int_val"},
                {SITU_UINT32, "uint32_val"},      {SITU_UINT64, "uint64_val"},
                {SITU_COMPLEX64, "scomplex_val"}, {SITU_COMPLEX128, "dcomplex_val"}};
  for (size_t i = 0; i < COUNT_OF(fields); i++)
    if (fields[i].type == type) return fields[i].field;
  return "";
}

/* ---- Shapes ---- */

situ_status graphdef_read_shape(const struct proto_source *source, const struct proto_value *from,
                                situ_shape *out) {
  const situ_message *message = from->message;
  const struct proto_value *unknown = proto_get(message, "unknown_rank"), *dim = NULL;
  *out = SITU_SCALAR;
  while ((dim = proto_next(message, "dim", dim))) {
    const struct proto_value *size = proto_get(dim->message, "size");
    if (out->rank == SITU_MAX_RANK)
      return proto_error(source, dim->offset, "a shape of more than %d dimensions", SITU_MAX_RANK);
    out->dim[out->rank++] = size ? size->integer : 0;
  }
  if (unknown && unknown->integer) *out = SITU_ANY_SHAPE;
  return proto_add_location(source, from->offset, shape_check(out));
}

bool graphdef_write_shape(const situ_shape *shape, situ_message *out) {
  if (shape->rank == SITU_ANY) return graphdef_add_integer(out, "unknown_rank", true);
  bool ok = true;
  for (int i = 0; ok && i < shape->rank; i++) {
    situ_message *dim = graphdef_add_message(out, "dim");
    ok = dim && graphdef_add_integer(dim, "size", shape->dim[i]);
  }
  return ok;
}

/* ---- Reading ---- */

situ_status graphdef_check_type(const struct proto_source *source, const struct proto_value *type) {
  char text[TYPE_ERROR_TEXT];
  if (situ_type_size((situ_type)type->integer)) return NULL;
  return proto_error(source, type->offset, "%s", type_error(type->integer, NULL, text));
}

situ_status graphdef_reject(const struct proto_source *source, const situ_message *message,
                            const char *field) {
  const struct proto_value *value = proto_get(message, field);
  if (!value) return NULL;
  return proto_error(source, value->offset, "'%s' of %s is not supported", field,
                     schema_short_name(message->type->name));
}

static void store_real(situ_type type, double value, char *to) {
  const float single = (float)value;
  if (type == SITU_FLOAT)
    memcpy(to, &single, sizeof single);
  else
    memcpy(to, &value, sizeof value);
}

/* False if the value does not fit the type. Copies the low bytes: little-endian machines only. */
static bool store_integer(situ_type type, int64_t value, char *to) {
  const size_t size = situ_type_size(type);
  if (type == SITU_UINT8 && (value < 0 || value > UINT8_MAX)) return false;
  if (type == SITU_INT4 && (value < -8 || value > 7)) return false;
  if (type == SITU_UINT4 && (value < 0 || value > 15)) return false;
  if (type == SITU_INT8 && (value < INT8_MIN || value > INT8_MAX)) return false;
  if (type == SITU_INT16 && (value < INT16_MIN || value > INT16_MAX)) return false;
  const bool is_short = type == SITU_HALF || type == SITU_BFLOAT16 || type == SITU_UINT16;
  if (is_short && (value < 0 || value > UINT16_MAX)) return false;
  if (type == SITU_UINT32 && (value < 0 || value > UINT32_MAX)) return false;
  memcpy(to, &value, size);
  return true;
}

static situ_status store(const struct proto_source *source, situ_type type,
                         const struct proto_value *value, char *to) {
  if (type == SITU_FLOAT || type == SITU_DOUBLE) {
    store_real(type, value->real, to);
  } else if (type == SITU_STRING) {
    const situ_string string = {value->bytes->data, value->bytes->length};
    memcpy(to, &string, sizeof string);
  } else if (!store_integer(type, value->integer, to)) {
    return proto_error(source, value->offset, "%" PRId64 " is not a value of type %s",
                       value->integer, situ_type_name(type));
  }
  return NULL;
}

/* A TensorProto being read. */
struct reader {
  const struct proto_source *source;
  const struct proto_value *from;
  situ_type type;
  situ_shape shape;
  size_t bytes;
};

static situ_status read_head(struct reader *in) {
  const situ_message *message = in->from->message;
  const struct proto_value *type = proto_get(message, "dtype");
  const struct proto_value *shape = proto_get(message, "tensor_shape");
  if (!type) return proto_error(in->source, in->from->offset, "a tensor has no dtype");
  TRY(graphdef_check_type(in->source, type));
  in->type = (situ_type)type->integer;
  in->shape = SITU_SCALAR;
  if (shape) TRY(graphdef_read_shape(in->source, shape, &in->shape));
  char shape_string[SHAPE_STRING_SIZE];
  if (in->type == SITU_RESOURCE || in->type == SITU_VARIANT ||
      !shape_bytes(in->type, &in->shape, &in->bytes))
    return proto_error(in->source, in->from->offset, "a tensor cannot have shape %s",
                       shape_print(&in->shape, shape_string));
  return NULL;
}

/* Values per element. */
static int parts_of(situ_type type) { return type_is_complex(type) ? 2 : 1; }

/* Counts the elements. All must be in the field of the type. */
static situ_status count_values(const struct reader *in, int64_t *count) {
  const char *name = field_of(in->type);
  const situ_message *message = in->from->message;
  *count = 0;
  for (uint16_t i = 0; i < message->count; i++) {
    const situ_field *field = proto_field_of(message, &message->slots[i]);
    const struct proto_list *list = field->is_repeated ? message->slots[i].list : NULL;
    if (!list || !list->count) continue;
    if (strcmp(field->name, name) != 0)
      return proto_error(in->source, list->items[0].offset,
                         "'%s' in a tensor of type %s, which has '%s'", field->name,
                         attrs_type_name(in->type), name);
    *count = ((int64_t)list->count + type_is_complex(in->type)) / parts_of(in->type);
  }
  return NULL;
}

/* Size of an element in the buffer of values. */
static size_t element_size(situ_type type) {
  return type == SITU_STRING ? sizeof(situ_string) : situ_type_size(type);
}

/* Stores the values and repeats the last one up to `end`. */
static situ_status fill(const struct reader *in, char *data, char *end) {
  const situ_type part = type_real(in->type);
  const size_t size = element_size(in->type), part_size = element_size(part);
  const char *field = field_of(in->type);
  const struct proto_value *value = NULL;
  char *to = data;
  while ((value = proto_next(in->from->message, field, value))) {
    TRY(store(in->source, part, value, to));
    to += part_size;
  }
  if ((size_t)(to - data) % size)
    return proto_error(in->source, in->from->offset, "a complex number without an imaginary part");
  for (; to < end && to > data; to += size) memcpy(to, to - size, size);
  return NULL;
}

/* The length of the last string of a tensor, which each repetition copies; 0 for other types. */
static size_t last_length(const struct reader *in) {
  const struct proto_value *value = NULL, *last = NULL;
  while (in->type == SITU_STRING &&
         (value = proto_next(in->from->message, field_of(in->type), value)))
    last = value;
  return last ? last->bytes->length : 0;
}

static situ_status spend_budget(const struct reader *in, int64_t repeated,
                                struct graphdef_budget *budget) {
  char shape_string[SHAPE_STRING_SIZE];
  const size_t length = last_length(in);
  const uint64_t left = in->bytes <= budget->bytes ? budget->bytes - in->bytes : 0;
  if (in->bytes > budget->bytes || (length && (size_t)repeated > left / length))
    return proto_add_location(
        in->source, in->from->offset,
        situ_status_create(SITU_RESOURCE_EXHAUSTED,
                           "A tensor of shape %s that repeats its last element exceeds the limit "
                           "for a %s of this size. SITU_EXPANSION_LIMIT raises it",
                           shape_print(&in->shape, shape_string), in->source->name));
  budget->bytes = left - (size_t)repeated * length;
  return NULL;
}

static situ_status read_values(const struct reader *in, struct graphdef_budget *budget,
                               situ_tensor **out) {
  int64_t n_values = 0;
  const int64_t count = situ_shape_count(in->shape);
  TRY(count_values(in, &n_values));
  if (n_values > count)
    return proto_error(in->source, in->from->offset,
                       "%" PRId64 " values for a tensor of %" PRId64 " elements", n_values, count);
  if (n_values < count) TRY(spend_budget(in, count - n_values, budget));
  if (!n_values) return situ_tensor_create(in->type, in->shape, NULL, out);
  const size_t bytes = (size_t)count * element_size(in->type);
  char *data = malloc(bytes + 1);
  if (!data) return NO_MEMORY();
  situ_status status = fill(in, data, data + bytes);
  if (!status && in->type == SITU_STRING)
    status = situ_tensor_create_strings(in->shape, (const situ_string *)(void *)data, out);
  else if (!status)
    status = situ_tensor_create(in->type, in->shape, data, out);
  free(data);
  return status;
}

/* Reads the elements of an 8-bit type, which are one field of bytes; the last one counts for the
 * rest. */
static situ_status read_float8(const struct reader *in, struct graphdef_budget *budget,
                               situ_tensor **out) {
  const struct proto_value *value = proto_get(in->from->message, "float8_val");
  const size_t length = value ? value->bytes->length : 0;
  if (length > in->bytes)
    return proto_error(in->source, value->offset, "%zu values for a tensor of %zu elements", length,
                       in->bytes);
  if (length < in->bytes) TRY(spend_budget(in, (int64_t)(in->bytes - length), budget));
  if (!length) return situ_tensor_create(in->type, in->shape, NULL, out);
  char *data = malloc(in->bytes);
  if (!data) return NO_MEMORY();
  memcpy(data, value->bytes->data, length);
  memset(data + length, data[length - 1], in->bytes - length);
  const situ_status status = situ_tensor_create(in->type, in->shape, data, out);
  free(data);
  return status;
}

situ_status graphdef_read_tensor(const struct proto_source *source, const struct proto_value *from,
                                 struct graphdef_budget *budget, situ_tensor **out) {
  struct reader in = {.source = source, .from = from};
  const struct proto_value *content = proto_get(from->message, "tensor_content");
  TRY(read_head(&in));
  if ((!content || !content->bytes->length) && type_is_float8(in.type))
    return read_float8(&in, budget, out);
  if (!content || !content->bytes->length) return read_values(&in, budget, out);
  if (in.type == SITU_STRING)
    return proto_error(source, content->offset, "'tensor_content' in a tensor of strings");
  if (content->bytes->length != in.bytes)
    return proto_error(source, content->offset, "%zu bytes for a tensor of %zu",
                       content->bytes->length, in.bytes);
  return situ_tensor_create(in.type, in.shape, content->bytes->data, out);
}

situ_status situ_message_read_tensor(const situ_message *message, uint64_t *limit,
                                     situ_tensor **out) {
  if (!message || !limit || !out || strcmp(message->type->name, "tensorflow.TensorProto") != 0)
    return INVALID("situ_message_read_tensor: an argument is NULL or no TensorProto.");
  const struct proto_source source = {.name = "TensorProto", .is_binary = true};
  const struct proto_value from = {.message = (situ_message *)(uintptr_t)message,
                                   .offset = message->offset};
  struct graphdef_budget budget = {.bytes = *limit};
  *out = NULL;
  const situ_status status = graphdef_read_tensor(&source, &from, &budget, out);
  *limit = budget.bytes;
  return status;
}

/* ---- Writing ---- */

static bool is_real(situ_type type) {
  return type_real(type) == SITU_FLOAT || type_real(type) == SITU_DOUBLE;
}

static bool add_element(situ_type type, const void *data, int64_t index, situ_message *out) {
  const char *field = field_of(type);
  if (type == SITU_STRING) {
    const situ_string string = tensor_string_at(data, index);
    return graphdef_add_bytes(out, field, string.data, string.length);
  }
  const int n = parts_of(type);
  bool ok = true;
  for (int i = 0; is_real(type) && ok && i < n; i++)
    ok = graphdef_add_real(out, field, number_at(type_real(type), data, index * n + i));
  if (is_real(type)) return ok;
  const bool is_short = type == SITU_HALF || type == SITU_BFLOAT16;
  return graphdef_add_integer(out, field,
                              number_integer_at(is_short ? SITU_UINT16 : type, data, index));
}

/* NaN payloads would be lost in text format. */
static bool has_nan(situ_type type, const void *data, int64_t count) {
  for (int64_t i = 0; is_real(type) && i < count * parts_of(type); i++)
    if (isnan(number_at(type_real(type), data, i))) return true;
  return false;
}

bool graphdef_write_tensor(const situ_tensor *tensor, situ_message *out) {
  const situ_type type = situ_tensor_type(tensor);
  const situ_shape shape = situ_tensor_shape(tensor);
  const int64_t count = situ_shape_count(shape);
  const void *data = situ_tensor_data(tensor);
  bool ok = graphdef_add_integer(out, "dtype", type);
  situ_message *dims = ok ? graphdef_add_message(out, "tensor_shape") : NULL;
  ok = dims && graphdef_write_shape(&shape, dims);
  if (type == SITU_RESOURCE || type == SITU_VARIANT) return ok; /* valid in this process only */
  if (type != SITU_STRING &&
      (count > MAX_VALUES || type_is_float8(type) || has_nan(type, data, count)))
    return ok && graphdef_add_bytes(out, "tensor_content", data, situ_tensor_bytes(tensor));
  for (int64_t i = 0; ok && i < count; i++) ok = add_element(type, data, i, out);
  return ok;
}
