/* SPDX-License-Identifier: Apache-2.0
 * lookup_table.c: see lookup_table.h. */
#include "ops/state/lookup_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "schema/schema.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Columns */

static size_t element_size(situ_type type) {
  return type == SITU_STRING ? sizeof(situ_string) : situ_type_size(type);
}

static size_t row_size(const struct lookup_column *column) {
  return (size_t)column->width * element_size(column->type);
}

static char *row_at(const struct lookup_column *column, int64_t row) {
  return column->data + (size_t)row * row_size(column);
}

const situ_string *lookup_column_strings(const struct lookup_column *column, int64_t row) {
  return (const situ_string *)(const void *)row_at(column, row);
}

static const char *tensor_row(const situ_tensor *tensor, int64_t row, size_t bytes) {
  return (const char *)situ_tensor_data(tensor) + (size_t)row * bytes;
}

/* Whether row `a` of a column equals row `b` of a tensor. */
static bool column_equals(const struct lookup_column *column, int64_t a, const situ_tensor *tensor,
                          int64_t b) {
  const size_t bytes = row_size(column);
  if (column->type != SITU_STRING)
    return !bytes || !memcmp(row_at(column, a), tensor_row(tensor, b, bytes), bytes);
  const situ_string *strings = lookup_column_strings(column, a);
  for (int64_t i = 0; i < column->width; i++) {
    const situ_string other = situ_tensor_string(tensor, b * column->width + i);
    if (strings[i].length != other.length || memcmp(strings[i].data, other.data, other.length) != 0)
      return false;
  }
  return true;
}

static void free_strings(const situ_string *strings, int64_t n) {
  for (int64_t i = 0; i < n; i++) free((void *)(uintptr_t)strings[i].data);
}

static void free_row(const struct lookup_column *column, int64_t row) {
  if (column->type == SITU_STRING) free_strings(lookup_column_strings(column, row), column->width);
}

static bool copy_string(situ_string from, situ_string *to) {
  char *data = malloc(from.length + 1);
  if (!data) return false;
  memcpy(data, from.data, from.length);
  data[from.length] = '\0';
  to->data = data;
  to->length = from.length;
  return true;
}

/* Copies a row of a tensor to an unused row. */
static bool set_row(const struct lookup_column *column, int64_t row, const situ_tensor *tensor,
                    int64_t from) {
  const size_t bytes = row_size(column);
  if (column->type != SITU_STRING) {
    if (bytes) memcpy(row_at(column, row), tensor_row(tensor, from, bytes), bytes);
    return true;
  }
  situ_string *to = (situ_string *)(void *)row_at(column, row);
  for (int64_t i = 0; i < column->width; i++)
    if (!copy_string(situ_tensor_string(tensor, from * column->width + i), &to[i])) {
      free_strings(to, i);
      return false;
    }
  return true;
}

static bool replace_row(const struct lookup_column *column, int64_t row, const situ_tensor *tensor,
                        int64_t from) {
  if (column->type != SITU_STRING) return set_row(column, row, tensor, from);
  situ_string *old = malloc(row_size(column) + 1);
  if (!old) return false;
  memcpy(old, row_at(column, row), row_size(column));
  const bool done = set_row(column, row, tensor, from);
  if (done)
    free_strings(old, column->width);
  else
    memcpy(row_at(column, row), old, row_size(column));
  free(old);
  return done;
}

/* The index */

static uint64_t mix(uint64_t hash, const void *data, size_t n) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash ^ hash >> 29;
}

static const uint64_t hash_seed = 0xcbf29ce484222325u;

static uint64_t hash_tensor(const struct lookup_column *keys, const situ_tensor *tensor,
                            int64_t row) {
  const size_t bytes = row_size(keys);
  if (keys->type != SITU_STRING) return mix(hash_seed, tensor_row(tensor, row, bytes), bytes);
  uint64_t hash = hash_seed;
  for (int64_t i = 0; i < keys->width; i++) {
    const situ_string string = situ_tensor_string(tensor, row * keys->width + i);
    hash = mix(hash, string.data, string.length);
  }
  return hash;
}

static uint64_t hash_row(const struct lookup_column *keys, int64_t row) {
  if (keys->type != SITU_STRING) return mix(hash_seed, row_at(keys, row), row_size(keys));
  const situ_string *strings = lookup_column_strings(keys, row);
  uint64_t hash = hash_seed;
  for (int64_t i = 0; i < keys->width; i++) hash = mix(hash, strings[i].data, strings[i].length);
  return hash;
}

int64_t lookup_table_entry(const struct lookup_table *table, const situ_tensor *keys, int64_t row) {
  if (!table->index_size) return -1;
  const uint64_t mask = (uint64_t)table->index_size - 1;
  for (uint64_t at = hash_tensor(&table->keys, keys, row) & mask; table->index[at];
       at = (at + 1) & mask) {
    const int64_t entry = table->index[at] - 1;
    if (table->live[entry] && column_equals(&table->keys, entry, keys, row)) return entry;
  }
  return -1;
}

static void add_to_index(struct lookup_table *table, int64_t entry) {
  const uint64_t mask = (uint64_t)table->index_size - 1;
  uint64_t at = hash_row(&table->keys, entry) & mask;
  while (table->index[at]) at = (at + 1) & mask;
  table->index[at] = entry + 1;
}

/* Compacts the live entries. */
static void compact(struct lookup_table *table) {
  int64_t to = 0;
  for (int64_t from = 0; from < table->n_entries; from++) {
    if (!table->live[from]) continue;
    if (to != from) {
      memcpy(row_at(&table->keys, to), row_at(&table->keys, from), row_size(&table->keys));
      memcpy(row_at(&table->values, to), row_at(&table->values, from), row_size(&table->values));
    }
    table->live[to++] = true;
  }
  table->n_entries = to;
}

static bool grow_column(struct lookup_column *column, int64_t rows) {
  char *data = realloc(column->data, (size_t)rows * row_size(column) + 1);
  if (data) column->data = data;
  return data;
}

/* Allocates space for another entry; if out of memory, the table is unchanged. */
static bool reserve(struct lookup_table *table) {
  if (table->n_entries < table->capacity) return true;
  const int64_t capacity = table->n_live > table->capacity / 2 || !table->capacity
                               ? max_i64(16, table->capacity * 2)
                               : table->capacity;
  bool *live = realloc(table->live, (size_t)capacity * sizeof *live);
  if (live) table->live = live;
  if (!live || !grow_column(&table->keys, capacity) || !grow_column(&table->values, capacity))
    return false;
  int64_t *index = calloc((size_t)capacity * 2, sizeof *index);
  if (!index) return false;
  free(table->index);
  table->index = index;
  table->index_size = capacity * 2;
  table->capacity = capacity;
  compact(table);
  for (int64_t i = 0; i < table->n_entries; i++) add_to_index(table, i);
  return true;
}

situ_status lookup_table_put(struct lookup_table *table, const situ_tensor *keys,
                             const situ_tensor *values, int64_t row, bool *added) {
  const int64_t entry = lookup_table_entry(table, keys, row);
  *added = entry < 0;
  if (entry >= 0) return replace_row(&table->values, entry, values, row) ? NULL : NO_MEMORY();
  if (!reserve(table)) return NO_MEMORY();
  const int64_t next = table->n_entries;
  if (!set_row(&table->keys, next, keys, row)) return NO_MEMORY();
  if (!set_row(&table->values, next, values, row)) {
    free_row(&table->keys, next);
    return NO_MEMORY();
  }
  table->live[next] = true;
  table->n_entries++;
  table->n_live++;
  add_to_index(table, next);
  return NULL;
}

void lookup_table_remove(struct lookup_table *table, int64_t entry) {
  free_row(&table->keys, entry);
  free_row(&table->values, entry);
  memset(row_at(&table->keys, entry), 0, row_size(&table->keys));
  if (table->values.type == SITU_STRING) /* numbers stay: a dense table exports them */
    memset(row_at(&table->values, entry), 0, row_size(&table->values));
  table->live[entry] = false;
  table->n_live--;
}

void lookup_table_clear(struct lookup_table *table) {
  for (int64_t i = 0; i < table->n_entries; i++)
    if (table->live[i]) lookup_table_remove(table, i);
  if (table->index) memset(table->index, 0, (size_t)table->index_size * sizeof *table->index);
  table->n_entries = 0;
}

/* Initialization */

static void append_element(struct strbuf *out, const situ_tensor *tensor, int64_t index) {
  switch (situ_tensor_type(tensor)) {
    case SITU_STRING:
      strbuf_append(out, situ_tensor_string(tensor, index).data);
      break;
    case SITU_INT32:
      strbuf_appendf(out, "%d", ((const int32_t *)situ_tensor_data(tensor))[index]);
      break;
    case SITU_INT64:
      strbuf_appendf(out, "%lld", (long long)((const int64_t *)situ_tensor_data(tensor))[index]);
      break;
    case SITU_FLOAT:
      strbuf_appendf(out, "%g", (double)((const float *)situ_tensor_data(tensor))[index]);
      break;
    case SITU_DOUBLE:
      strbuf_appendf(out, "%g", ((const double *)situ_tensor_data(tensor))[index]);
      break;
    default:
      strbuf_append(out, "?");
  }
}

static situ_status differs(const situ_tensor *keys, const situ_tensor *values, int64_t row) {
  struct strbuf key = {0}, value = {0};
  append_element(&key, keys, row);
  append_element(&value, values, row);
  const situ_status status = INVALID(
      "HashTable has different value for same key. Key %s has another value and trying to add "
      "value %s",
      strbuf_get(&key), strbuf_get(&value));
  strbuf_free(&key);
  strbuf_free(&value);
  return status;
}

/* Whether an initialized table has exactly these entries. */
static bool same_entries(const struct lookup_table *table, const situ_tensor *keys,
                         const situ_tensor *values, int64_t rows) {
  for (int64_t i = 0; i < rows; i++) {
    const int64_t entry = lookup_table_entry(table, keys, i);
    if (entry < 0 || !column_equals(&table->values, entry, values, i)) return false;
  }
  return table->n_live <= rows;
}

situ_status lookup_table_initialize(struct lookup_table *table, const situ_tensor *keys,
                                    const situ_tensor *values, int64_t rows) {
  if (table->initialized) {
    if (same_entries(table, keys, values, rows)) return NULL;
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "Table was already initialized with different data.");
  }
  situ_status status = NULL;
  for (int64_t i = 0; i < rows && !status; i++) {
    const int64_t entry = lookup_table_entry(table, keys, i);
    bool added = false;
    if (entry < 0)
      status = lookup_table_put(table, keys, values, i, &added);
    else if (!column_equals(&table->values, entry, values, i))
      status = differs(keys, values, i);
  }
  table->initialized = !status;
  if (status) lookup_table_clear(table);
  return status;
}

/* The resource */

static void destroy(struct resource *resource) {
  struct lookup_table *table = (struct lookup_table *)resource;
  lookup_table_clear(table);
  free(table->keys.data);
  free(table->values.data);
  free(table->live);
  free(table->index);
  situ_tensor_release(table->empty_key);
  situ_tensor_release(table->deleted_key);
  fork_mutex_destroy(&table->lock, &table->fork);
  free(table);
}

const struct resource_kind lookup_table_kind = {"lookup table", destroy};

static enum lookup_kind kind_of(const char *op) {
  if (strstr(op, "Dense")) return LOOKUP_DENSE;
  if (strstr(op, "OfTensors")) return LOOKUP_TENSORS;
  return strstr(op, "Mutable") ? LOOKUP_SCALARS : LOOKUP_STATIC;
}

/* Checks the reserved keys of a dense table, and that the number of buckets is a power of 2. */
static situ_status check_dense(const struct compute *compute) {
  const situ_tensor *empty = compute->in[0], *deleted = compute->in[1];
  const int64_t buckets = call_integer(compute->call, "initial_num_buckets");
  const double load = call_real(compute->call, "max_load_factor");
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!(load > 0 && load < 1))
    return INVALID("max_load_factor must be between 0 and 1, got: %g", load);
  if (empty->shape.rank > 1)
    return INVALID("Empty key must be a scalar or a vector, got shape %s",
                   shape_print(&empty->shape, a));
  if (!shape_equal(&empty->shape, &deleted->shape))
    return INVALID("Empty and deleted keys must have same shape, got shapes: %s and %s",
                   shape_print(&empty->shape, a), shape_print(&deleted->shape, b));
  if (buckets < 4 || buckets & (buckets - 1))
    return INVALID("Number of buckets must be at least 4 and a power of 2, got: %lld",
                   (long long)buckets);
  return NULL;
}

static situ_status set_dense(const struct compute *compute, struct lookup_table *table) {
  table->keys.shape = situ_tensor_shape(compute->in[0]);
  table->keys.width = situ_shape_count(table->keys.shape);
  table->n_buckets = call_integer(compute->call, "initial_num_buckets");
  table->max_load_factor = call_real(compute->call, "max_load_factor");
  TRY(compute_keep(compute, 0, &table->empty_key));
  TRY(compute_keep(compute, 1, &table->deleted_key));
  const struct lookup_column *keys = &table->keys;
  if (!reserve(table) || !set_row(keys, 0, table->empty_key, 0)) return NO_MEMORY();
  const bool equal = column_equals(keys, 0, table->deleted_key, 0);
  free_row(keys, 0);
  return equal ? INVALID("Empty and deleted keys cannot be equal") : NULL;
}

/* Fails if TensorFlow has no kernel of HashTable for these types: a program would fail there. */
static situ_status check_types(const struct call *call) {
  const situ_type key = call_type(call, "key_dtype"), value = call_type(call, "value_dtype");
  const char *op = call->schema->op->name;
  if (kind_of(op) != LOOKUP_STATIC || key != SITU_INT32 || value != SITU_INT64) return NULL;
  return INVALID(
      "No OpKernel was registered to support Op '%s' with these attrs: key_dtype=DT_INT32, "
      "value_dtype=DT_INT64",
      op);
}

situ_status lookup_table_create(void *context, struct resource **out) {
  const struct compute *compute = context;
  const struct call *call = compute->call;
  const enum lookup_kind kind = kind_of(call->schema->op->name);
  TRY(check_types(call));
  if (kind == LOOKUP_DENSE) TRY(check_dense(compute));
  struct lookup_table *table = calloc(1, sizeof *table);
  if (!table) return NO_MEMORY();
  fork_mutex_init(&table->lock, &table->fork);
  table->kind = kind;
  table->initialized = kind != LOOKUP_STATIC;
  const situ_shape shape = kind == LOOKUP_TENSORS || kind == LOOKUP_DENSE
                               ? *call_attr(call, "value_shape")->shape
                               : SITU_SCALAR;
  table->keys = (struct lookup_column){
      .type = call_type(call, "key_dtype"), .shape = SITU_SCALAR, .width = 1};
  table->values = (struct lookup_column){
      .type = call_type(call, "value_dtype"), .shape = shape, .width = situ_shape_count(shape)};
  situ_status status = NULL;
  if (table->values.width < 0) status = INVALID("value_shape must be known");
  if (!status && kind == LOOKUP_TENSORS && shape.rank != 1) {
    char text[SHAPE_STRING_SIZE];
    status = INVALID("Default value must be a vector, got shape %s", shape_print(&shape, text));
  }
  if (!status && kind == LOOKUP_DENSE) status = set_dense(compute, table);
  if (status) {
    destroy(&table->head);
    return status;
  }
  *out = &table->head;
  return NULL;
}
