/* SPDX-License-Identifier: Apache-2.0
 * lookup_ops.c: lookup table ops: creation, find, insert, remove, size, export and import. */
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/state/lookup_table.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static situ_status compute_table(struct compute *compute) {
  return compute_resource(compute, &lookup_table_kind, lookup_table_create, compute);
}

/* A table that no other node can find by name. */
static situ_status compute_anonymous(struct compute *compute) {
  struct resource *resource = NULL;
  TRY(lookup_table_create(compute, &resource));
  resource->references = 1;
  resource->kind = &lookup_table_kind;
  resource->name = strdup("anonymous");
  if (resource->name) return resource_handle(resource, &compute->out[0]);
  resource_release(resource);
  return NO_MEMORY();
}

static situ_status find_table(const struct compute *compute, struct lookup_table **out) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &lookup_table_kind, &resource));
  *out = (struct lookup_table *)resource;
  return NULL;
}

/* Checks of arguments */

static situ_status check_type(const situ_tensor *tensor, situ_type type, const char *what) {
  if (situ_tensor_type(tensor) == type) return NULL;
  return INVALID("%s must be type %s but got %s", what, situ_type_name(type),
                 situ_type_name(situ_tensor_type(tensor)));
}

/* The shape without its last `n` dimensions, followed by `last`. */
static situ_shape with_last(situ_shape shape, int n, const situ_shape *last) {
  shape.rank -= n;
  for (int i = 0; i < last->rank && shape.rank < SITU_MAX_RANK; i++)
    shape.dim[shape.rank++] = last->dim[i];
  return shape;
}

static bool ends_with(const situ_shape *shape, const situ_shape *end) {
  if (shape->rank < end->rank) return false;
  for (int i = 0; i < end->rank; i++)
    if (shape->dim[shape->rank - end->rank + i] != end->dim[i]) return false;
  return true;
}

/* Checks keys; *rows is their number. A dense table takes as many as the first dimension has. */
static situ_status check_keys(const struct lookup_table *table, const situ_tensor *keys,
                              int64_t *rows) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  const situ_shape shape = situ_tensor_shape(keys), key = table->keys.shape;
  TRY(check_type(keys, table->keys.type, "Key"));
  if (!ends_with(&shape, &key))
    return INVALID("Input key shape %s must end with the table's key shape %s",
                   shape_print(&shape, a), shape_print(&key, b));
  if (table->kind == LOOKUP_DENSE) {
    const situ_shape list = SITU_SHAPE(shape.rank ? shape.dim[0] : 1);
    const situ_shape expected = with_last(list, 0, &key);
    if (situ_shape_count(shape) != situ_shape_count(expected))
      return INVALID("Expected key shape %s got %s", shape_print(&expected, a),
                     shape_print(&shape, b));
  }
  const situ_shape none = SITU_SCALAR;
  *rows = situ_shape_count(with_last(shape, key.rank, &none));
  return NULL;
}

static situ_status check_values(const struct lookup_table *table, const situ_tensor *keys,
                                const situ_tensor *values) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  TRY(check_type(values, table->values.type, "Value"));
  const situ_shape shape = situ_tensor_shape(values);
  const situ_shape expected =
      with_last(situ_tensor_shape(keys), table->keys.shape.rank, &table->values.shape);
  if (shape_equal(&shape, &expected)) return NULL;
  return INVALID("Expected shape %s for value, got %s", shape_print(&expected, a),
                 shape_print(&shape, b));
}

/* Whether a row of keys is a reserved key of a dense table. */
static bool is_key(const struct lookup_table *table, const situ_tensor *keys, int64_t row,
                   const situ_tensor *reserved) {
  const struct lookup_column *column = &table->keys;
  const size_t size = situ_type_size(column->type) * (size_t)column->width;
  if (column->type != SITU_STRING)
    return !memcmp((const char *)situ_tensor_data(keys) + (size_t)row * size,
                   situ_tensor_data(reserved), size);
  for (int64_t i = 0; i < column->width; i++) {
    const situ_string a = situ_tensor_string(keys, row * column->width + i);
    const situ_string b = situ_tensor_string(reserved, i);
    if (a.length != b.length || memcmp(a.data, b.data, a.length) != 0) return false;
  }
  return true;
}

static situ_status check_reserved(const struct lookup_table *table, const situ_tensor *keys,
                                  int64_t rows, const situ_tensor *reserved, const char *name) {
  for (int64_t row = 0; reserved && row < rows; row++)
    if (is_key(table, keys, row, reserved))
      return INVALID("Using the %s as a table key is not allowed", name);
  return NULL;
}

static situ_status check_usable(const struct lookup_table *table, const situ_tensor *keys,
                                int64_t rows) {
  TRY(check_reserved(table, keys, rows, table->empty_key, "empty_key"));
  return check_reserved(table, keys, rows, table->deleted_key, "deleted_key");
}

static situ_status check_initialized(const struct lookup_table *table) {
  if (table->initialized) return NULL;
  return situ_status_create(SITU_FAILED_PRECONDITION, "Table not initialized.");
}

/* Finding */

/* The source of an output row: an entry of the table, or a row of the default value. */
struct source {
  int64_t entry, row;
};

static situ_status give_strings(const struct compute *compute, const struct lookup_table *table,
                                const situ_tensor *other, const struct source *sources,
                                int64_t rows, situ_shape shape) {
  const int64_t width = table->values.width;
  situ_string *all = calloc((size_t)(rows * width) + 1, sizeof *all);
  if (!all) return NO_MEMORY();
  for (int64_t i = 0; i < rows * width; i++) {
    const struct source *source = &sources[i / width];
    all[i] = source->entry < 0 ? situ_tensor_string(other, source->row * width + i % width)
                               : lookup_column_strings(&table->values, source->entry)[i % width];
  }
  const situ_status status = situ_tensor_create_strings(shape, all, &compute->out[0]);
  free(all);
  return status;
}

static situ_status give_numbers(const struct compute *compute, const struct lookup_table *table,
                                const situ_tensor *other, const struct source *sources,
                                int64_t rows, situ_shape shape) {
  void *data = NULL;
  TRY(compute_output(compute, 0, shape, &data));
  const size_t size = (size_t)table->values.width * situ_type_size(table->values.type);
  for (int64_t i = 0; size && i < rows; i++) {
    const char *from = sources[i].entry < 0
                           ? (const char *)situ_tensor_data(other) + (size_t)sources[i].row * size
                           : table->values.data + (size_t)sources[i].entry * size;
    memcpy((char *)data + (size_t)i * size, from, size);
  }
  return NULL;
}

static situ_status find(const struct compute *compute, struct lookup_table *table, int64_t rows,
                        bool full_default, situ_shape shape) {
  struct source *sources = calloc((size_t)rows + 1, sizeof *sources);
  if (!sources) return NO_MEMORY();
  pthread_mutex_lock(&table->lock);
  situ_status status = check_initialized(table);
  for (int64_t i = 0; !status && i < rows; i++)
    sources[i] =
        (struct source){lookup_table_entry(table, compute->in[1], i), full_default ? i : 0};
  if (!status)
    status = (table->values.type == SITU_STRING ? give_strings : give_numbers)(
        compute, table, compute->in[2], sources, rows, shape);
  pthread_mutex_unlock(&table->lock);
  free(sources);
  return status;
}

static situ_status compute_find(struct compute *compute) {
  struct lookup_table *table = NULL;
  int64_t rows = 0;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE], c[SHAPE_STRING_SIZE];
  const situ_tensor *keys = compute->in[1], *other = compute->in[2];
  TRY(find_table(compute, &table));
  TRY(check_type(keys, table->keys.type, "Key"));
  TRY(check_type(other, table->values.type, "Value"));
  TRY(check_keys(table, keys, &rows));
  const situ_shape full =
      with_last(situ_tensor_shape(keys), table->keys.shape.rank, &table->values.shape);
  const situ_shape given = situ_tensor_shape(other);
  const bool plain = shape_equal(&given, &table->values.shape);
  if (!plain && (table->kind == LOOKUP_STATIC || !shape_equal(&given, &full)))
    return INVALID("Expected shape %s or %s for default value, got %s",
                   shape_print(&table->values.shape, a), shape_print(&full, b),
                   shape_print(&given, c));
  TRY(check_usable(table, keys, rows));
  return find(compute, table, rows, !plain, full);
}

/* Changing */

/* The number of buckets of a dense table after `rows` more keys. */
static void grow_buckets(struct lookup_table *table, int64_t rows) {
  const double pending = (double)(table->n_live + rows);
  if (table->kind != LOOKUP_DENSE || pending <= (double)table->n_buckets * table->max_load_factor)
    return;
  table->n_deleted = 0;
  while (pending > (double)table->n_buckets * table->max_load_factor) table->n_buckets *= 2;
}

static situ_status insert_rows(struct lookup_table *table, const situ_tensor *keys,
                               const situ_tensor *values, int64_t rows) {
  situ_status status = NULL;
  for (int64_t i = 0; !status && i < rows; i++) {
    bool added = false;
    status = lookup_table_put(table, keys, values, i, &added);
    if (added && table->n_deleted) table->n_deleted--;
  }
  return status;
}

static situ_status compute_insert(struct compute *compute) {
  struct lookup_table *table = NULL;
  int64_t rows = 0;
  TRY(find_table(compute, &table));
  if (table->kind == LOOKUP_STATIC)
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "Insert not supported by InitializableLookupTable implementations");
  TRY(check_keys(table, compute->in[1], &rows));
  TRY(check_values(table, compute->in[1], compute->in[2]));
  TRY(check_usable(table, compute->in[1], rows));
  pthread_mutex_lock(&table->lock);
  grow_buckets(table, rows);
  const situ_status status = insert_rows(table, compute->in[1], compute->in[2], rows);
  pthread_mutex_unlock(&table->lock);
  return status;
}

static situ_status compute_remove(struct compute *compute) {
  struct lookup_table *table = NULL;
  int64_t rows = 0;
  TRY(find_table(compute, &table));
  if (table->kind == LOOKUP_STATIC)
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "Remove not supported by InitializableLookupTable implementations");
  TRY(check_keys(table, compute->in[1], &rows));
  TRY(check_usable(table, compute->in[1], rows));
  pthread_mutex_lock(&table->lock);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t entry = lookup_table_entry(table, compute->in[1], i);
    if (entry < 0) continue;
    lookup_table_remove(table, entry);
    table->n_deleted++;
  }
  pthread_mutex_unlock(&table->lock);
  return NULL;
}

static situ_status compute_size(struct compute *compute) {
  struct lookup_table *table = NULL;
  void *data = NULL;
  TRY(find_table(compute, &table));
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  pthread_mutex_lock(&table->lock);
  *(int64_t *)data = table->n_live;
  const situ_status status = check_initialized(table);
  pthread_mutex_unlock(&table->lock);
  return status;
}

static situ_status compute_initialize(struct compute *compute) {
  struct lookup_table *table = NULL;
  const situ_tensor *keys = compute->in[1], *values = compute->in[2];
  TRY(find_table(compute, &table));
  if (table->kind != LOOKUP_STATIC)
    return INVALID("'%s' is not a static table: it cannot be initialized", table->head.name);
  if (keys->shape.rank != 1)
    return INVALID("Keys must be a vector, not of rank %d", keys->shape.rank);
  if (!shape_equal(&keys->shape, &values->shape))
    return INVALID("Keys and values must have the same size %lld vs %lld",
                   (long long)situ_shape_count(keys->shape),
                   (long long)situ_shape_count(values->shape));
  TRY(check_type(keys, table->keys.type, "Key"));
  TRY(check_type(values, table->values.type, "Value"));
  if (!keys->shape.dim[0]) return INVALID("keys and values cannot be empty tensors.");
  pthread_mutex_lock(&table->lock);
  const situ_status status = lookup_table_initialize(table, keys, values, keys->shape.dim[0]);
  pthread_mutex_unlock(&table->lock);
  return status;
}

/* Export and import */

/* The key in row `row` of the buckets of a dense table, after its entries, by element. */
static const situ_tensor *reserved_key(const struct lookup_table *table, int64_t behind) {
  return behind < table->n_deleted ? table->deleted_key : table->empty_key;
}

static situ_status export_strings(const struct compute *compute, const struct lookup_table *table,
                                  int output, int64_t rows) {
  const struct lookup_column *column = output ? &table->values : &table->keys;
  const int64_t width = column->width;
  const situ_shape shape = with_last(SITU_SHAPE(rows), 0, &column->shape);
  situ_string *all = calloc((size_t)(rows * width) + 1, sizeof *all);
  if (!all) return NO_MEMORY();
  int64_t row = 0;
  for (int64_t i = 0; i < table->n_entries; i++)
    if (table->live[i])
      for (int64_t j = 0; j < width; j++)
        all[row * width + j] = lookup_column_strings(column, i)[j], row += j == width - 1;
  for (int64_t i = row; !output && i < rows; i++)
    for (int64_t j = 0; j < width; j++)
      all[i * width + j] = situ_tensor_string(reserved_key(table, i - row), j);
  const situ_status status = situ_tensor_create_strings(shape, all, &compute->out[output]);
  free(all);
  return status;
}

static situ_status export_numbers(const struct compute *compute, const struct lookup_table *table,
                                  int output, int64_t rows) {
  const struct lookup_column *column = output ? &table->values : &table->keys;
  const size_t size = (size_t)column->width * situ_type_size(column->type);
  void *data = NULL;
  TRY(compute_output(compute, output, with_last(SITU_SHAPE(rows), 0, &column->shape), &data));
  char *to = data;
  int64_t row = 0;
  for (int64_t i = 0; i < table->n_entries; i++)
    if (table->live[i]) memcpy(to + (size_t)row++ * size, column->data + (size_t)i * size, size);
  if (output) memset(to + (size_t)row * size, 0, (size_t)(rows - row) * size);
  for (int64_t i = row; !output && i < rows; i++)
    memcpy(to + (size_t)i * size, situ_tensor_data(reserved_key(table, i - row)), size);
  for (int64_t i = 0, left = table->n_deleted; output && i < table->n_entries && row < rows; i++)
    if (!table->live[i] && left-- > 0)
      memcpy(to + (size_t)row++ * size, column->data + (size_t)i * size, size);
  return NULL;
}

static situ_status compute_export(struct compute *compute) {
  struct lookup_table *table = NULL;
  TRY(find_table(compute, &table));
  if (call_type(compute->call, "Tkeys") != table->keys.type ||
      call_type(compute->call, "Tvalues") != table->values.type)
    return INVALID("The table has keys of type %s and values of type %s",
                   situ_type_name(table->keys.type), situ_type_name(table->values.type));
  pthread_mutex_lock(&table->lock);
  const int64_t rows =
      table->kind == LOOKUP_DENSE ? max_i64(table->n_buckets, table->n_live) : table->n_live;
  situ_status status = NULL;
  for (int i = 0; i < 2 && !status; i++)
    status = ((i ? &table->values : &table->keys)->type == SITU_STRING
                  ? export_strings
                  : export_numbers)(compute, table, i, rows);
  pthread_mutex_unlock(&table->lock);
  return status;
}

/* Inserts the rows that are not reserved, as the buckets of a dense table. */
static situ_status import_buckets(struct lookup_table *table, const situ_tensor *keys,
                                  const situ_tensor *values, int64_t rows) {
  situ_status status = NULL;
  table->n_deleted = 0;
  table->n_buckets = rows;
  for (int64_t i = 0; i < rows && !status; i++) {
    bool added = false;
    if (is_key(table, keys, i, table->empty_key)) continue;
    if (is_key(table, keys, i, table->deleted_key))
      table->n_deleted++;
    else
      status = lookup_table_put(table, keys, values, i, &added);
  }
  return status;
}

static situ_status compute_import(struct compute *compute) {
  struct lookup_table *table = NULL;
  int64_t rows = 0;
  TRY(find_table(compute, &table));
  if (table->kind == LOOKUP_STATIC)
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "Import not supported by InitializableLookupTable implementations");
  TRY(check_keys(table, compute->in[1], &rows));
  TRY(check_values(table, compute->in[1], compute->in[2]));
  pthread_mutex_lock(&table->lock);
  lookup_table_clear(table);
  const situ_status status = (table->kind == LOOKUP_DENSE ? import_buckets : insert_rows)(
      table, compute->in[1], compute->in[2], rows);
  pthread_mutex_unlock(&table->lock);
  return status;
}

/* Shape functions: the table's shapes are not known while a graph is built. */

static situ_status unknown_shapes(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_ANY_SHAPE;
  return NULL;
}

static situ_status initialize_shape(struct call *call) {
  TRY(op_need_rank(call, 1, 1, "keys"));
  if (shape_compatible(&call->in[1].shape, &call->in[2].shape)) return NULL;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  return INVALID("Shapes must be equal, but are %s and %s", shape_print(&call->in[1].shape, a),
                 shape_print(&call->in[2].shape, b));
}

static situ_status import_shape(struct call *call) {
  for (int i = 1; i < 3; i++)
    if (!call->in[i].shape.rank) return INVALID("Shape must be at least rank 1 but is rank 0");
  return NULL;
}

#define TYPES "key_dtype:type value_dtype:type "
#define NAMES "container:string='' shared_name:string='' use_node_name_sharing:bool=false "
#define DENSE "value_shape:shape=[] initial_num_buckets:int=131072 max_load_factor:float=0.8"

#define OP_DEF(op, in, out, attributes, text, args_, shape_, compute_)                             \
  {                                                                                                \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .doc = text, .args = args_,     \
    .devices = "CPU", .flags = OP_STATEFUL | OP_NO_GRADIENT, .shape = shape_, .compute = compute_, \
  }
#define TABLE(op, in, attributes, text) \
  OP_DEF(op, in, "table_handle:resource", attributes, text, NULL, op_scalar_shape, compute_table)
#define ANONYMOUS(op, in, attributes, text)                                        \
  OP_DEF(op, in, "table_handle:resource", attributes, text, NULL, op_scalar_shape, \
         compute_anonymous)
#define USER(op, in, out, attributes, text, args, shape_, compute_) \
  OP_DEF(op, "table_handle:resource" in, out, attributes, text, args, shape_, compute_)

static const struct op_def op_defs[] = {
    TABLE("HashTableV2", "", NAMES TYPES, "A static lookup table; an initializer fills it once."),
    TABLE("MutableHashTableV2", "", NAMES TYPES, "A mutable lookup table with scalar values."),
    TABLE("MutableHashTableOfTensorsV2", "", NAMES TYPES "value_shape:shape=[]",
          "A mutable lookup table with values of a fixed shape."),
    TABLE("MutableDenseHashTableV2", "empty_key:key_dtype deleted_key:key_dtype", NAMES TYPES DENSE,
          "A mutable lookup table with reserved keys for unused buckets."),
    ANONYMOUS("AnonymousHashTable", "", TYPES, "A static lookup table without a name."),
    ANONYMOUS("AnonymousMutableHashTable", "", TYPES,
              "A mutable lookup table with scalar values, without a name."),
    ANONYMOUS("AnonymousMutableHashTableOfTensors", "", TYPES "value_shape:shape=[]",
              "A mutable lookup table with values of a fixed shape, without a name."),
    ANONYMOUS("AnonymousMutableDenseHashTable", "empty_key:key_dtype deleted_key:key_dtype",
              TYPES DENSE,
              "A mutable lookup table with reserved keys for unused buckets, without a name."),
    USER("LookupTableFindV2", " keys:Tin default_value:Tout", "values:Tout", "Tin:type Tout:type",
         "The values of keys in a table, or a default value.",
         "keys: Keys to look up.\ndefault_value: Value of keys that are not in the table.",
         unknown_shapes, compute_find),
    USER("LookupTableInsertV2", " keys:Tin values:Tout", "", "Tin:type Tout:type",
         "Inserts keys and values into a table, replacing the values of known keys.",
         "keys: Keys to insert.\nvalues: Values, one for each key.", op_no_shape, compute_insert),
    USER("LookupTableRemoveV2", " keys:Tin", "", "Tin:type", "Removes keys from a table.",
         "keys: Keys to remove; others are ignored.", op_no_shape, compute_remove),
    USER("LookupTableSizeV2", "", "size:int64", "", "The number of keys in a table.", NULL,
         op_scalar_shape, compute_size),
    USER("LookupTableExportV2", "", "keys:Tkeys values:Tvalues", "Tkeys:type Tvalues:type",
         "All keys and values of a table.", NULL, unknown_shapes, compute_export),
    USER("LookupTableImportV2", " keys:Tin values:Tout", "", "Tin:type Tout:type",
         "Replaces the contents of a table.", "keys: All keys.\nvalues: Values, one for each key.",
         import_shape, compute_import),
    USER("InitializeTableV2", " keys:Tkey values:Tval", "", "Tkey:type Tval:type",
         "Fills a static table with keys and values.",
         "keys: Vector of keys.\nvalues: Vector of their values.", initialize_shape,
         compute_initialize),
};

OP_FAMILY(lookup_ops, op_defs);
