/* SPDX-License-Identifier: Apache-2.0
 * parse_example.c: ParseExampleV2: parses tf.Example protocol buffers into sparse and dense
 * features. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/ops.h"
#include "proto/wire.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* The last field of that number that holds bytes. */
static bool find_bytes(struct wire wire, uint32_t number, struct wire *out) {
  struct wire_field field;
  bool found = false;
  while (wire.at < wire.end && wire_read_field(&wire, &field))
    if (field.number == number && field.type == WIRE_LENGTH) {
      *out = field.inside;
      found = true;
    }
  return found;
}

/* The feature of that name in an example. */
static bool find_feature(struct wire example, situ_string key, struct wire *out) {
  struct wire features, name;
  struct wire_field entry;
  bool found = false;
  if (!find_bytes(example, 1, &features)) return false;
  while (features.at < features.end && wire_read_field(&features, &entry)) {
    if (entry.number != 1 || entry.type != WIRE_LENGTH || !find_bytes(entry.inside, 1, &name))
      continue;
    if ((size_t)(name.end - name.at) == key.length && !memcmp(name.at, key.data, key.length))
      found = find_bytes(entry.inside, 2, out) || found;
  }
  return found;
}

/* The values of a feature, in the order of the record. */
struct values {
  situ_type type;
  int64_t count, capacity;
  int64_t *integers;
  float *reals;
  situ_string *strings;
};

static void values_free(struct values *values) {
  free(values->integers);
  free(values->reals);
  free(values->strings);
  *values = (struct values){0};
}

static bool push(struct values *values, const struct wire_field *field) {
  if (values->count == values->capacity) {
    const int64_t capacity = values->capacity ? values->capacity * 2 : 16;
    const size_t n = (size_t)capacity;
    void **at = values->type == SITU_INT64   ? (void **)&values->integers
                : values->type == SITU_FLOAT ? (void **)&values->reals
                                             : (void **)&values->strings;
    const size_t size = values->type == SITU_INT64   ? sizeof(int64_t)
                        : values->type == SITU_FLOAT ? sizeof(float)
                                                     : sizeof(situ_string);
    void *more = realloc(*at, n * size);
    if (!more) return false;
    *at = more;
    values->capacity = capacity;
  }
  const int64_t i = values->count++;
  if (values->type == SITU_INT64) values->integers[i] = (int64_t)field->value;
  if (values->type == SITU_FLOAT) memcpy(&values->reals[i], &field->value, sizeof(float));
  if (values->type == SITU_STRING)
    values->strings[i] = (situ_string){(const char *)field->inside.at,
                                       (size_t)(field->inside.end - field->inside.at)};
  return true;
}

/* Numbers may be packed or not. */
static situ_status read_list(struct wire list, struct values *out) {
  struct wire_field field;
  while (list.at < list.end) {
    if (!wire_read_field(&list, &field)) return INVALID("Could not parse example input.");
    if (field.number != 1) continue;
    if (out->type == SITU_STRING || field.type != WIRE_LENGTH) {
      if (!push(out, &field)) return NO_MEMORY();
      continue;
    }
    for (struct wire packed = field.inside; packed.at < packed.end;) {
      struct wire_field one = {0};
      if (!(out->type == SITU_FLOAT ? wire_read_fixed(&packed, 4, &one.value)
                                    : wire_read_varint(&packed, &one.value)))
        return INVALID("Could not parse example input.");
      if (!push(out, &one)) return NO_MEMORY();
    }
  }
  return NULL;
}

/* The state that the parts of one call share. Inputs: serialized, names, sparse keys, dense keys,
 * ragged keys, dense defaults. Outputs: indices, values and shapes of the sparse features, then
 * dense values. */
struct parsing {
  const struct compute *compute;
  const situ_tensor *examples;
  int64_t n; /* of examples */
  bool one;  /* a scalar: no dimension of examples */
};

enum { NAMES = 1, SPARSE_KEYS, DENSE_KEYS, RAGGED_KEYS, DEFAULTS, MOST_SHOWN = 200 };

static int shown(situ_string text) { return (int)min_i64(MOST_SHOWN, (int64_t)text.length); }

/* "Name: a, ", the name of an example of a batch; a single example has none. */
static const char *name_of(const struct parsing *p, int64_t index, char out[MOST_SHOWN + 16]) {
  const situ_tensor *names = p->compute->in[NAMES];
  situ_string name = {"<unknown>", 9};
  *out = 0;
  if (p->one) return out;
  if (index < situ_shape_count(names->shape)) name = situ_tensor_string(names, index);
  snprintf(out, MOST_SHOWN + 16, "Name: %.*s, ", shown(name), name.data);
  return out;
}

/* "Name: a, Key: x, Index: 0.  " for an invalid feature of a batch; "Key: x.  " of a single
 * example. */
static const char *place_of(const struct parsing *p, int64_t index, situ_string key,
                            char out[2 * MOST_SHOWN + 64]) {
  char name[MOST_SHOWN + 16], number[32] = "";
  if (!p->one) snprintf(number, sizeof number, ", Index: %lld", (long long)index);
  snprintf(out, 2 * MOST_SHOWN + 64, "%sKey: %.*s%s.  ", name_of(p, index, name), shown(key),
           key.data, number);
  return out;
}

static situ_status wrong_type(const struct parsing *p, int64_t index, situ_string key, bool dense,
                              situ_type have, situ_type want) {
  char place[2 * MOST_SHOWN + 64];
  place_of(p, index, key, place);
  if (dense)
    return INVALID("%sData types don't match. Data type: %s but expected type: %s", place,
                   situ_type_name(have), situ_type_name(want));
  return INVALID("%sData types don't match. Expected type: %s, Actual type: %s", place,
                 situ_type_name(want), situ_type_name(have));
}

/* The values of a feature of an example; *found is false if it is missing. */
static situ_status read_feature(const struct parsing *p, int64_t index, situ_string key, bool dense,
                                situ_type type, struct values *out, bool *found) {
  static const situ_type kinds[] = {SITU_NO_TYPE, SITU_STRING, SITU_FLOAT, SITU_INT64};
  const situ_string text = situ_tensor_string(p->examples, index);
  const uint8_t *data = (const uint8_t *)text.data;
  struct wire feature = {0}, scan, whole = {data, data + text.length};
  struct wire_field field;
  for (scan = whole; scan.at < scan.end;)
    if (!wire_read_field(&scan, &field))
      return INVALID("Could not parse example input, value: '%.*s'", shown(text), text.data);
  *found = false;
  out->type = type;
  out->count = 0;
  if (!find_feature(whole, key, &feature) || feature.at == feature.end) return NULL;
  if (!wire_read_field(&feature, &field) || field.number < 1 || field.number > 3)
    return INVALID("Could not parse example input.");
  *found = true;
  if (kinds[field.number] != type)
    return wrong_type(p, index, key, dense, kinds[field.number], type);
  return read_list(field.inside, out);
}

/* Copies values to a tensor of numbers, or to an array of strings. */
static void store(const struct values *values, void *data, situ_string *strings, int64_t at) {
  const size_t n = (size_t)values->count;
  if (!n) return;
  if (values->type == SITU_INT64) memcpy((int64_t *)data + at, values->integers, n * 8);
  if (values->type == SITU_FLOAT) memcpy((float *)data + at, values->reals, n * 4);
  if (values->type == SITU_STRING) memcpy(strings + at, values->strings, n * sizeof *strings);
}

static situ_status finish(const struct compute *compute, int out, situ_type type, situ_shape shape,
                          void *data, const situ_string *strings) {
  if (type == SITU_STRING) return situ_tensor_create_strings(shape, strings, &compute->out[out]);
  return situ_tensor_create(type, shape, data, &compute->out[out]);
}

static situ_status is_missing(const struct parsing *p, int64_t index, situ_string key,
                              situ_type type) {
  char name[MOST_SHOWN + 16];
  return INVALID("%sFeature: %.*s (data type: %s) is required but could not be found.",
                 name_of(p, index, name), shown(key), key.data, situ_type_name(type));
}

/* Appends the default values of a missing feature. */
static situ_status take_default(const situ_tensor *preset, int64_t count, struct values *out) {
  for (int64_t i = 0; i < count; i++) {
    struct wire_field field = {0};
    if (preset->type == SITU_STRING) {
      const situ_string text = situ_tensor_string(preset, i);
      const uint8_t *data = (const uint8_t *)text.data;
      field.inside = (struct wire){data, data + text.length};
    } else {
      const size_t size = situ_type_size(preset->type);
      memcpy(&field.value, (const char *)situ_tensor_data(preset) + (size_t)i * size, size);
    }
    if (!push(out, &field)) return NO_MEMORY();
  }
  return NULL;
}

/* The name of the list in tf.train.Feature that holds values of a type. */
static const char *list_name(situ_type type) {
  return type == SITU_STRING ? "bytes" : situ_type_name(type);
}

static situ_status wrong_count(const struct parsing *p, int index, int64_t example, int64_t count) {
  const situ_shape *want = &call_attr(p->compute->call, "dense_shapes")->shapes.items[index];
  const situ_string key = situ_tensor_string(p->compute->in[DENSE_KEYS], index);
  char place[2 * MOST_SHOWN + 64], shape[SHAPE_STRING_SIZE];
  return INVALID("%sNumber of %s values != expected.  Values size: %lld but output shape: %s",
                 place_of(p, example, key, place),
                 list_name(p->compute->in[DEFAULTS + index]->type), (long long)count,
                 shape_print(want, shape));
}

static situ_status dense_values(const struct parsing *p, int index, int64_t count, void *data,
                                situ_string *strings) {
  const situ_tensor *preset = p->compute->in[DEFAULTS + index];
  const situ_string key = situ_tensor_string(p->compute->in[DENSE_KEYS], index);
  struct values values = {0};
  situ_status status = NULL;
  for (int64_t i = 0; i < p->n && !status; i++) {
    bool found = false;
    status = interrupt_check();
    if (!status) status = read_feature(p, i, key, true, preset->type, &values, &found);
    if (!status && !found)
      status = situ_shape_count(preset->shape) ? take_default(preset, count, &values)
                                               : is_missing(p, i, key, preset->type);
    if (!status && values.count != count) status = wrong_count(p, index, i, values.count);
    if (!status) store(&values, data, strings, i * count);
  }
  values_free(&values);
  return status;
}

/* The shape of a dense feature in a batch of n examples. */
static situ_shape with_examples(situ_shape shape, int64_t n) {
  memmove(shape.dim + 1, shape.dim, sizeof *shape.dim * (size_t)shape.rank++);
  shape.dim[0] = n;
  return shape;
}

static situ_status parse_dense(const struct parsing *p, int index, int out) {
  const situ_shape *shape = &call_attr(p->compute->call, "dense_shapes")->shapes.items[index];
  const situ_type type = p->compute->in[DEFAULTS + index]->type;
  const int64_t count = situ_shape_count(*shape);
  const situ_shape whole = p->one ? *shape : with_examples(*shape, p->n);
  const size_t n = (size_t)(count * p->n) + 1;
  void *data = calloc(n, 8);
  situ_string *strings = calloc(n, sizeof *strings);
  situ_status status = data && strings ? dense_values(p, index, count, data, strings) : NO_MEMORY();
  if (!status) status = finish(p->compute, out, type, whole, data, strings);
  free(data);
  free(strings);
  return status;
}

/* Concatenates the values of a feature in all examples. */
static situ_status gather(const struct parsing *p, situ_string key, bool dense, situ_type type,
                          struct values *all, int64_t *counts) {
  struct values values = {0};
  situ_status status = NULL;
  all->type = type;
  for (int64_t i = 0; i < p->n && !status; i++) {
    bool found = false;
    status = interrupt_check();
    if (!status) status = read_feature(p, i, key, dense, type, &values, &found);
    counts[i] = status ? 0 : values.count;
    for (int64_t k = 0; k < counts[i] && !status; k++) {
      struct wire_field field = {0};
      if (type == SITU_INT64) field.value = (uint64_t)values.integers[k];
      if (type == SITU_FLOAT) memcpy(&field.value, &values.reals[k], sizeof(float));
      if (type == SITU_STRING) {
        const uint8_t *data = (const uint8_t *)values.strings[k].data;
        field.inside = (struct wire){data, data + values.strings[k].length};
      }
      if (!push(all, &field)) status = NO_MEMORY();
    }
  }
  values_free(&values);
  return status;
}

/* A dense feature with any number of parts: dense_shapes has an unknown first dimension. */
static bool is_variable(const situ_shape *shape) { return shape->rank > 0 && shape->dim[0] < 0; }

static situ_status not_a_multiple(const struct parsing *p, int index, int64_t example,
                                  int64_t count, int64_t stride) {
  const situ_shape *want = &call_attr(p->compute->call, "dense_shapes")->shapes.items[index];
  const situ_string key = situ_tensor_string(p->compute->in[DENSE_KEYS], index);
  char place[2 * MOST_SHOWN + 64], shape[SHAPE_STRING_SIZE];
  if (p->one)
    return INVALID(
        "Error while parsing feature with key %.*s: number of elements should be "
        "divisible by %lld, found %lld instead",
        shown(key), key.data, (long long)stride, (long long)count);
  return INVALID(
      "%sNumber of %s values is not a multiple of stride length. Saw %lld values but "
      "output shape is: %s",
      place_of(p, example, key, place), list_name(p->compute->in[DEFAULTS + index]->type),
      (long long)count, shape_print(want, shape));
}

/* Sets *widest to the largest number of parts of an example. */
static situ_status count_parts(const struct parsing *p, int index, int64_t stride,
                               const int64_t *counts, int64_t *widest) {
  *widest = 0;
  for (int64_t i = 0; i < p->n; i++) {
    if (stride ? counts[i] % stride : counts[i])
      return not_a_multiple(p, index, i, counts[i], stride);
    if (stride) *widest = max_i64(*widest, counts[i] / stride);
  }
  return NULL;
}

/* Copies the values of each example to its row and pads the row with the default. */
static void fill_rows(const struct parsing *p, const struct values *all, const int64_t *counts,
                      int64_t width, const void *preset, void *out) {
  const bool text = all->type == SITU_STRING;
  const size_t size = text ? sizeof(situ_string) : situ_type_size(all->type);
  const char *from = text                      ? (const char *)all->strings
                     : all->type == SITU_INT64 ? (const char *)all->integers
                                               : (const char *)all->reals;
  char *to = out;
  for (int64_t i = 0; i < p->n; i++) {
    const size_t bytes = (size_t)counts[i] * size;
    if (bytes) memcpy(to, from, bytes);
    from += bytes;
    for (int64_t k = counts[i]; k < width; k++) memcpy(to + (size_t)k * size, preset, size);
    to += (size_t)width * size;
  }
}

static situ_status pad_rows(const struct parsing *p, int out, const situ_tensor *preset,
                            situ_shape shape, const struct values *all, const int64_t *counts) {
  const int64_t width = situ_shape_count(shape) / max_i64(1, p->n);
  void *data = NULL;
  if (all->type != SITU_STRING) {
    TRY(compute_output(p->compute, out, shape, &data));
    fill_rows(p, all, counts, width, situ_tensor_data(preset), data);
    return NULL;
  }
  const situ_string text = situ_tensor_string(preset, 0);
  situ_string *strings = calloc((size_t)situ_shape_count(shape) + 1, sizeof *strings);
  if (!strings) return NO_MEMORY();
  fill_rows(p, all, counts, width, &text, strings);
  situ_status status = situ_tensor_create_strings(shape, strings, &p->compute->out[out]);
  free(strings);
  return status;
}

static situ_status parse_variable(const struct parsing *p, int index, int out) {
  const situ_string key = situ_tensor_string(p->compute->in[DENSE_KEYS], index);
  const situ_tensor *preset = p->compute->in[DEFAULTS + index];
  situ_shape shape = call_attr(p->compute->call, "dense_shapes")->shapes.items[index];
  struct values all = {0};
  int64_t *counts = calloc((size_t)p->n + 1, sizeof *counts);
  if (!counts) return NO_MEMORY();
  situ_status status = gather(p, key, true, preset->type, &all, counts);
  shape.dim[0] = 1;
  if (!status) status = count_parts(p, index, situ_shape_count(shape), counts, &shape.dim[0]);
  if (!p->one) shape = with_examples(shape, p->n);
  if (!status) status = pad_rows(p, out, preset, shape, &all, counts);
  values_free(&all);
  free(counts);
  return status;
}

static situ_status give_indices(const struct parsing *p, int index, int n_sparse, int64_t total,
                                const int64_t *counts) {
  const struct compute *compute = p->compute;
  const int64_t columns = p->one ? 1 : 2;
  void *data = NULL;
  TRY(compute_output(compute, index, SITU_SHAPE(total, columns), &data));
  int64_t *at = data, widest = 0;
  for (int64_t i = 0; i < p->n; i++) {
    widest = max_i64(widest, counts[i]);
    for (int64_t k = 0; k < counts[i]; k++) {
      if (!p->one) *at++ = i;
      *at++ = k;
    }
  }
  TRY(compute_output(compute, 2 * n_sparse + index, SITU_SHAPE(columns), &data));
  if (!p->one) ((int64_t *)data)[0] = p->n;
  ((int64_t *)data)[columns - 1] = widest;
  return NULL;
}

static situ_status parse_sparse(const struct parsing *p, int index, int n_sparse) {
  const struct compute *compute = p->compute;
  const situ_type type = (situ_type)call_attr(compute->call, "sparse_types")->list.items[index];
  struct values all = {0};
  int64_t *counts = calloc((size_t)p->n + 1, sizeof *counts);
  if (!counts) return NO_MEMORY();
  const situ_string key = situ_tensor_string(compute->in[SPARSE_KEYS], index);
  situ_status status = gather(p, key, false, type, &all, counts);
  void *data = type == SITU_INT64 ? (void *)all.integers : (void *)all.reals;
  if (!status)
    status = finish(compute, n_sparse + index, type, SITU_SHAPE(all.count), data, all.strings);
  if (!status) status = give_indices(p, index, n_sparse, all.count, counts);
  values_free(&all);
  free(counts);
  return status;
}

static situ_status compute_parse(struct compute *compute) {
  const int n_sparse = (int)call_integer(compute->call, "num_sparse");
  const int n_dense = (int)call_attr(compute->call, "Tdense")->list.count;
  const situ_tensor *examples = compute->in[0];
  const struct parsing p = {.compute = compute,
                            .examples = examples,
                            .n = situ_shape_count(examples->shape),
                            .one = !examples->shape.rank};
  for (int i = 0; i < n_sparse; i++) TRY(parse_sparse(&p, i, n_sparse));
  const situ_shape *shapes = call_attr(compute->call, "dense_shapes")->shapes.items;
  for (int i = 0; i < n_dense; i++)
    TRY((is_variable(&shapes[i]) ? parse_variable : parse_dense)(&p, i, 3 * n_sparse + i));
  return NULL;
}

/* Fails unless input `input` may be a vector of that many keys. */
static situ_status need_keys(const struct call *call, int input, int64_t count, const char *what) {
  const situ_shape *shape = &call->in[input].shape;
  char have[SHAPE_STRING_SIZE];
  if (shape_compatible(shape, &SITU_SHAPE(count))) return NULL;
  return INVALID("Expected %s to be a vector of %lld elements, got shape %s", what,
                 (long long)count, shape_print(shape, have));
}

/* The default of a variable-length feature is the padding, a single value. */
static situ_status need_padding(int i, const situ_shape *want, const situ_shape *have) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  situ_shape part = *want;
  part.dim[0] = 1;
  if (!shape_is_known(&part))
    return INVALID("dense_shapes[%d] has unknown rank or unknown inner dimensions: %s", i,
                   shape_print(want, a));
  if (!shape_is_known(have) || situ_shape_count(*have) == 1) return NULL;
  return INVALID(
      "dense_shapes[%d] is a variable length shape: %s, therefore dense_defaults[%d] "
      "must contain a single element (the padding element).  But its shape is: %s",
      i, shape_print(want, a), i, shape_print(have, b));
}

/* A default is empty (the feature is required) or has all values of the feature. */
static situ_status need_default(int i, const situ_shape *want, const situ_shape *have) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (want->rank == SITU_MAX_RANK)
    return INVALID("dense_shapes[%d] = %s has too many dimensions", i, shape_print(want, a));
  if (is_variable(want)) return need_padding(i, want, have);
  const int64_t values = situ_shape_count(*want), given = situ_shape_count(*have);
  if (values < 0)
    return INVALID("dense_shapes[%d] = %s is not fully known", i, shape_print(want, a));
  if (shape_is_known(have) && given && given != values)
    return INVALID("dense_defaults[%d].shape = %s is not compatible with dense_shapes[%d] = %s", i,
                   shape_print(have, a), i, shape_print(want, b));
  return NULL;
}

static situ_status need_defaults(const struct call *call) {
  const struct attr_value *shapes = call_attr(call, "dense_shapes");
  for (int i = 0; i < shapes->shapes.count; i++)
    TRY(need_default(i, &shapes->shapes.items[i], &call->in[DEFAULTS + i].shape));
  return NULL;
}

static situ_status check_parse(const struct call *call) {
  const int64_t n_sparse = call_integer(call, "num_sparse");
  const int n_dense = (int)call_attr(call, "Tdense")->list.count;
  const int n_types = (int)call_attr(call, "sparse_types")->list.count;
  const int n_shapes = (int)call_attr(call, "dense_shapes")->shapes.count;
  if (n_sparse != n_types)
    return INVALID("num_sparse is %lld, but there are %d sparse_types", (long long)n_sparse,
                   n_types);
  if (n_dense != n_shapes)
    return INVALID("Tdense has %d types, but there are %d dense_shapes", n_dense, n_shapes);
  if (call->in[0].shape.rank > 1)
    return INVALID("Expected serialized to be a scalar or vector, got rank %d",
                   call->in[0].shape.rank);
  const situ_shape *names = &call->in[NAMES].shape;
  char have[SHAPE_STRING_SIZE];
  if (call->in[0].shape.rank == 1 && shape_is_known(names) && situ_shape_count(*names) &&
      !shape_compatible(names, &call->in[0].shape))
    return INVALID("Expected len(names) == len(serialized), got names of shape %s",
                   shape_print(names, have));
  TRY(need_keys(call, SPARSE_KEYS, n_sparse, "sparse_keys"));
  TRY(need_keys(call, DENSE_KEYS, n_dense, "dense_keys"));
  if (!shape_compatible(&call->in[RAGGED_KEYS].shape, &SITU_SHAPE(0)) ||
      call_attr(call, "ragged_value_types")->list.count)
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "ParseExampleV2: ragged_keys are not supported yet.");
  return need_defaults(call);
}

static situ_status parse_shape(struct call *call) {
  TRY(check_parse(call));
  const int n_sparse = (int)call_integer(call, "num_sparse");
  const struct attr_value *shapes = call_attr(call, "dense_shapes");
  const situ_shape *in = &call->in[0].shape;
  for (int i = 0; i < call->n_out; i++) {
    situ_shape shape = SITU_SHAPE(SITU_ANY);
    if (in->rank < 0)
      shape = SITU_ANY_SHAPE;
    else if (i < n_sparse)
      shape = SITU_SHAPE(SITU_ANY, in->rank + 1);
    else if (i >= 2 * n_sparse)
      shape = SITU_SHAPE(in->rank + 1);
    const int dense = i - 3 * n_sparse;
    if (dense >= 0 && dense < shapes->shapes.count && in->rank >= 0) {
      shape = shapes->shapes.items[dense];
      if (in->rank == 1) shape = with_examples(shape, in->dim[0]);
    }
    call->out[i].shape = shape;
  }
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "ParseExampleV2",
     .inputs = "serialized:string names:string sparse_keys:string dense_keys:string "
               "ragged_keys:string dense_defaults:Tdense",
     .outputs = "sparse_indices:num_sparse*int64 sparse_values:sparse_types "
                "sparse_shapes:num_sparse*int64 dense_values:Tdense "
                "ragged_values:ragged_value_types ragged_row_splits:ragged_split_types",
     .attrs = "Tdense:list({float int64 string})=[] num_sparse:int>=0 "
              "sparse_types:list({float int64 string})=[] "
              "ragged_value_types:list({float int64 string})=[] "
              "ragged_split_types:list({int32 int64})=[] "
              "dense_shapes:list(shape)=[]",
     .python = "",
     .doc = "Parses tf.Example records into sparse and dense features.",
     .args = "serialized: Serialized records, a scalar or a vector.\n"
             "names: Names of the records for error messages; may be empty.\n"
             "sparse_keys: Names of the sparse features.\n"
             "dense_keys: Names of the dense features.\n"
             "ragged_keys: Must be empty; ragged features are not supported yet.\n"
             "dense_defaults: Default of each dense feature; a tensor without elements makes it "
             "required.\n"
             "num_sparse: Number of sparse features.\n"
             "sparse_types: Types of the sparse features.\n"
             "ragged_value_types: Must be empty.\nragged_split_types: Must be empty.\n"
             "dense_shapes: Shape of each dense feature in a record.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = parse_shape,
     .compute = compute_parse},
};

OP_FAMILY(parse_example, op_defs);
