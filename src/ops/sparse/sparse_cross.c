/* SPDX-License-Identifier: Apache-2.0
 * sparse_cross.c: SparseCross, SparseCrossV2 and SparseCrossHashed: all combinations of the
 * features of each row of several columns, as strings or as hashes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/strbuf.h"
#include "ops/ops.h"
#include "ops/string/fingerprint.h"
#include "tensor/tensor.h"

/* A column: a sparse matrix, or a dense one if it has no indices. */
struct column {
  const situ_tensor *values;
  const int64_t *indices;
  int64_t rows, width;  /* elements of a sparse matrix; columns of a dense one */
  int64_t first, count; /* features of the current row */
  int64_t at;           /* the current feature of the row */
};

/* The format of combinations. */
struct style {
  const char *separator;
  size_t separator_length;
  bool hashes, is_keyed, is_strong; /* is_keyed: SparseCrossHashed */
  uint64_t seed, salt[2];
  int64_t buckets;
};

/* The combinations so far. */
struct crosses {
  struct column *columns;
  int n;
  int64_t batch, count, widest;
  int64_t *indices, *hashes; /* two numbers and one per combination; NULL while they are counted */
  size_t *ends;
  struct strbuf text;
};

static situ_status cross_shape(struct call *call) {
  call->out[0].shape = SITU_SHAPE(SITU_ANY, 2);
  call->out[1].shape = SITU_SHAPE(SITU_ANY);
  call->out[2].shape = SITU_SHAPE(2);
  return NULL;
}

/* As TensorFlow's FingerprintCat64. */
static uint64_t mix(uint64_t first, uint64_t second) {
  const uint64_t factor = 0xc6a4a7935bd1e995u;
  const uint64_t scaled = second * factor;
  uint64_t result = (first ^ factor ^ (scaled ^ scaled >> 47) * factor) * factor;
  result = (result ^ result >> 47) * factor;
  return result ^ result >> 47;
}

static uint64_t hash_bytes(const struct style *style, const char *data, size_t length) {
  if (style->is_strong) return fingerprint_make_keyed(style->salt, data, length);
  return fingerprint_make(data, length);
}

/* The hash of a feature. Integers are their own hashes, except in sparse columns of
 * SparseCrossHashed, of which TensorFlow hashes four bytes. */
static uint64_t hash_feature(const struct style *style, const struct column *column) {
  enum { HASHED_BYTES = 4 };
  const int64_t at = column->first + column->at;
  if (column->values->type == SITU_STRING) {
    const situ_string text = situ_tensor_string(column->values, at);
    return hash_bytes(style, text.data, text.length);
  }
  const int64_t *number = (const int64_t *)situ_tensor_data(column->values) + at;
  const bool is_hashed = style->is_keyed && (column->indices || style->is_strong);
  return is_hashed ? hash_bytes(style, (const char *)number, HASHED_BYTES) : (uint64_t)*number;
}

static int64_t hash_combination(const struct style *style, const struct crosses *crosses) {
  uint64_t hash = style->seed;
  for (int i = 0; i < crosses->n; i++) {
    const uint64_t next = hash_feature(style, &crosses->columns[i]);
    hash = style->is_keyed && !i ? next : mix(hash, next);
  }
  return (int64_t)(hash % (style->buckets > 0 ? (uint64_t)style->buckets : (uint64_t)INT64_MAX));
}

static void append_combination(const struct style *style, struct crosses *crosses) {
  for (int i = 0; i < crosses->n; i++) {
    const struct column *column = &crosses->columns[i];
    const int64_t at = column->first + column->at;
    if (i) strbuf_append_n(&crosses->text, style->separator, style->separator_length);
    if (column->values->type == SITU_STRING) {
      const situ_string text = situ_tensor_string(column->values, at);
      strbuf_append_n(&crosses->text, text.data, text.length);
    } else {
      const int64_t *numbers = situ_tensor_data(column->values);
      strbuf_appendf(&crosses->text, "%" PRId64, numbers[at]);
    }
  }
}

/* Finds the features of a row; rows are visited in ascending order. */
static void enter_row(struct column *column, int64_t row) {
  column->at = 0;
  if (!column->indices) {
    column->first = row * column->width;
    column->count = column->width;
    return;
  }
  column->first = row ? column->first + column->count : 0;
  while (column->first < column->rows && column->indices[2 * column->first] < row) column->first++;
  column->count = 0;
  while (column->first + column->count < column->rows &&
         column->indices[2 * (column->first + column->count)] == row)
    column->count++;
}

/* Advances to the next combination of a row; false after the last. */
static bool advance(struct crosses *crosses) {
  for (int i = crosses->n - 1; i >= 0; i--) {
    struct column *column = &crosses->columns[i];
    if (++column->at < column->count) return true;
    column->at = 0;
  }
  return false;
}

static situ_status count_row(struct crosses *crosses) {
  int64_t count = 1;
  for (int i = 0; i < crosses->n; i++)
    if (__builtin_mul_overflow(count, crosses->columns[i].count, &count))
      return INVALID("There are too many combinations of features.");
  crosses->widest = max_i64(crosses->widest, count);
  if (__builtin_add_overflow(crosses->count, count, &crosses->count))
    return INVALID("There are too many combinations of features.");
  return NULL;
}

static void write_row(const struct style *style, struct crosses *crosses, int64_t row) {
  bool more = true;
  for (int i = 0; i < crosses->n; i++) more = more && crosses->columns[i].count > 0;
  for (int64_t k = 0; more; k++) {
    const int64_t n = crosses->count++;
    crosses->indices[2 * n] = row;
    crosses->indices[2 * n + 1] = k;
    if (style->hashes) {
      crosses->hashes[n] = hash_combination(style, crosses);
    } else {
      append_combination(style, crosses);
      crosses->ends[n] = crosses->text.length;
    }
    more = advance(crosses) && !interrupt_pending();
  }
}

/* The next row in which every column may have features: the batch may be much larger than the
 * number of features. */
static int64_t next_row(const struct crosses *crosses, int64_t row) {
  int64_t next = row + 1;
  for (int i = 0; i < crosses->n; i++) {
    const struct column *column = &crosses->columns[i];
    if (!column->indices || column->count) continue;
    const bool is_last = column->first >= column->rows;
    next = max_i64(next, is_last ? crosses->batch : column->indices[2 * column->first]);
  }
  return next;
}

/* Visits all rows: counts the combinations, or writes them. */
static situ_status visit(const struct style *style, struct crosses *crosses) {
  crosses->count = 0;
  for (int64_t row = 0; row < crosses->batch; row = next_row(crosses, row)) {
    TRY(interrupt_check());
    for (int i = 0; i < crosses->n; i++) enter_row(&crosses->columns[i], row);
    if (crosses->indices)
      write_row(style, crosses, row);
    else
      TRY(count_row(crosses));
  }
  return crosses->text.failed ? NO_MEMORY() : NULL;
}

static situ_status return_strings(struct compute *compute, const struct crosses *crosses) {
  situ_string *strings = malloc((size_t)(crosses->count + 1) * sizeof *strings);
  if (!strings) return NO_MEMORY();
  for (int64_t i = 0; i < crosses->count; i++) {
    const size_t begin = i ? crosses->ends[i - 1] : 0;
    strings[i] = (situ_string){strbuf_get(&crosses->text) + begin, crosses->ends[i] - begin};
  }
  const situ_status status =
      situ_tensor_create_strings(SITU_SHAPE(crosses->count), strings, &compute->out[1]);
  free(strings);
  return status;
}

static situ_status cross(struct compute *compute, const struct style *style,
                         struct crosses *crosses) {
  void *indices = NULL, *hashes = NULL, *dims = NULL;
  TRY(visit(style, crosses));
  TRY(compute_output(compute, 0, SITU_SHAPE(crosses->count, 2), &indices));
  TRY(compute_output(compute, 2, SITU_SHAPE(2), &dims));
  if (style->hashes) TRY(compute_output(compute, 1, SITU_SHAPE(crosses->count), &hashes));
  ((int64_t *)dims)[0] = crosses->batch;
  ((int64_t *)dims)[1] = crosses->widest;
  if (!style->hashes) crosses->ends = malloc((size_t)(crosses->count + 1) * sizeof *crosses->ends);
  if (!style->hashes && !crosses->ends) return NO_MEMORY();
  crosses->indices = indices;
  crosses->hashes = hashes;
  TRY(visit(style, crosses));
  return style->hashes ? NULL : return_strings(compute, crosses);
}

/* The lists of inputs: `sparse` indices, values and shapes, then `dense` tensors. */
struct lists {
  int sparse, dense;
  bool is_string; /* no column may have integers */
};

static situ_status read_sparse(const struct compute *compute, const struct lists *lists, int i,
                               struct crosses *to) {
  const situ_tensor *indices = compute->in[i], *values = compute->in[lists->sparse + i];
  const situ_tensor *dims = compute->in[2 * lists->sparse + i];
  if (indices->shape.rank != 2)
    return INVALID("Input indices should be a matrix but received rank %d at position %d",
                   (int)indices->shape.rank, i);
  if (indices->shape.dim[1] != 2)
    return INVALID("Expected D2 of index to be 2 got %lld at position %d",
                   (long long)indices->shape.dim[1], i);
  if (values->shape.rank != 1)
    return INVALID("Input values should be a vector but received rank %d at position %d",
                   (int)values->shape.rank, i);
  if (indices->shape.dim[0] != values->shape.dim[0])
    return INVALID("Expected size of values to be %lld got %lld at position %d",
                   (long long)indices->shape.dim[0], (long long)values->shape.dim[0], i);
  if (lists->is_string && values->type != SITU_STRING)
    return INVALID("Input values should be of internal type string but received int64");
  if (dims->shape.rank != 1)
    return INVALID("Input shapes should be a vector but received rank %d at position %d",
                   (int)dims->shape.rank, i);
  if (dims->shape.dim[0] != 2)
    return INVALID("shape should imply a 2D tensor, but got rank %lld at position %d",
                   (long long)dims->shape.dim[0], i);
  const int64_t rows = *(const int64_t *)situ_tensor_data(dims);
  if (!i) to->batch = rows;
  if (rows != to->batch)
    return INVALID("Expected batch size %lld got %lld at position %d", (long long)to->batch,
                   (long long)rows, i);
  to->columns[i] = (struct column){
      .values = values, .indices = situ_tensor_data(indices), .rows = values->shape.dim[0]};
  return NULL;
}

static situ_status read_dense(const struct compute *compute, const struct lists *lists, int i,
                              struct crosses *to) {
  const situ_tensor *values = compute->in[3 * lists->sparse + i];
  if (values->shape.rank != 2)
    return INVALID("Dense inputs should be a matrix but received rank %d at position %d",
                   (int)values->shape.rank, i);
  if (lists->is_string && values->type != SITU_STRING)
    return INVALID("Dense inputs should be of internal type string but received int64");
  if (!i && !lists->sparse) to->batch = values->shape.dim[0];
  if (values->shape.dim[0] != to->batch)
    return INVALID("Expected batch size %lld got %lld at dense tensor %d", (long long)to->batch,
                   (long long)values->shape.dim[0], i);
  to->columns[lists->sparse + i] = (struct column){.values = values, .width = values->shape.dim[1]};
  return NULL;
}

static situ_status run(struct compute *compute, const struct style *style, bool is_string) {
  const struct lists lists = {(int)call_attr(compute->call, "sparse_types")->list.count,
                              (int)call_attr(compute->call, "dense_types")->list.count, is_string};
  struct crosses crosses = {.n = lists.sparse + lists.dense};
  crosses.columns = calloc((size_t)crosses.n + 1, sizeof *crosses.columns);
  situ_status status = crosses.columns ? NULL : NO_MEMORY();
  for (int i = 0; i < lists.sparse && !status; i++)
    status = read_sparse(compute, &lists, i, &crosses);
  for (int i = 0; i < lists.dense && !status; i++)
    status = read_dense(compute, &lists, i, &crosses);
  if (!status) status = cross(compute, style, &crosses);
  strbuf_free(&crosses.text);
  free(crosses.ends);
  free(crosses.columns);
  return status;
}

static situ_status compute_cross(struct compute *compute) {
  const struct style style = {.separator = "_X_",
                              .separator_length = 3,
                              .hashes = call_bool(compute->call, "hashed_output"),
                              .seed = (uint64_t)call_integer(compute->call, "hash_key"),
                              .buckets = call_integer(compute->call, "num_buckets")};
  if (style.hashes != (compute->call->out[1].type == SITU_INT64))
    return INVALID("out_type must be int64 for hashed_output, else string");
  return run(compute, &style, call_type(compute->call, "internal_type") == SITU_STRING);
}

static situ_status compute_cross_v2(struct compute *compute) {
  const situ_tensor *separator = compute->in[compute->call->n_in - 1];
  if (separator->shape.rank)
    return INVALID("Input separator should be a scalar but received rank %d",
                   (int)separator->shape.rank);
  const situ_string text = situ_tensor_string(separator, 0);
  const struct style style = {.separator = text.data, .separator_length = text.length};
  return run(compute, &style, false);
}

static situ_status compute_cross_hashed(struct compute *compute) {
  situ_tensor *const *last = compute->in + compute->call->n_in - 3;
  if (last[0]->shape.rank || last[1]->shape.rank)
    return INVALID("num_buckets and strong_hash should be scalars");
  if (situ_shape_count(last[2]->shape) != 2)
    return INVALID("Input salt should have two elements but has %lld",
                   (long long)situ_shape_count(last[2]->shape));
  const int64_t *salt = situ_tensor_data(last[2]);
  const struct style style = {.hashes = true,
                              .is_keyed = true,
                              .is_strong = *(const bool *)situ_tensor_data(last[1]),
                              .salt = {(uint64_t)salt[0], (uint64_t)salt[1]},
                              .buckets = *(const int64_t *)situ_tensor_data(last[0])};
  return run(compute, &style, false);
}

#define COLUMN_INPUTS "indices:N*int64 values:sparse_types shapes:N*int64 dense_inputs:dense_types"
#define COLUMN_ATTRS "sparse_types:list({int64 string}) dense_types:list({int64 string})"
#define COLUMN_DOC                                            \
  "indices: Indices of the elements of each sparse column.\n" \
  "values: Values of the elements of each sparse column.\n"   \
  "shapes: Shape of each sparse column.\n"                    \
  "dense_inputs: Dense columns."

static const struct op_def op_defs[] = {
    {.name = "SparseCross",
     .inputs = COLUMN_INPUTS,
     .outputs = "output_indices:int64 output_values:out_type output_shape:int64",
     .attrs = "N:int>=0 hashed_output:bool num_buckets:int>=0 hash_key:int " COLUMN_ATTRS
              " out_type:{int64 string} internal_type:{int64 string}",
     .python = "",
     .doc = "Combines the features of each row of several columns.",
     .args = COLUMN_DOC "\nhashed_output: Return hashes instead of strings.\n"
                        "num_buckets: Number of different hashes; 0 for all.\n"
                        "hash_key: Initial value of the hashes.\n"
                        "out_type: int64 for hashes, else string.\n"
                        "internal_type: string if all columns have strings.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = cross_shape,
     .compute = compute_cross},
    {.name = "SparseCrossV2",
     .inputs = COLUMN_INPUTS " sep:string",
     .outputs = "output_indices:int64 output_values:string output_shape:int64",
     .attrs = "N:int>=0 " COLUMN_ATTRS,
     .python = "",
     .doc = "Combines the features of each row of several columns as strings.",
     .args = COLUMN_DOC "\nsep: String between the features.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = cross_shape,
     .compute = compute_cross_v2},
    {.name = "SparseCrossHashed",
     .inputs = COLUMN_INPUTS " num_buckets:int64 strong_hash:bool salt:int64",
     .outputs = "output_indices:int64 output_values:int64 output_shape:int64",
     .attrs = "N:int>=0 " COLUMN_ATTRS,
     .python = "",
     .doc = "Combines the features of each row of several columns as hashes.",
     .args = COLUMN_DOC "\nnum_buckets: Number of different hashes; 0 for all.\n"
                        "strong_hash: Use SipHash with the salt, not the fingerprint.\n"
                        "salt: Two numbers, the key of SipHash.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = cross_shape,
     .compute = compute_cross_hashed},
};

OP_FAMILY(sparse_cross, op_defs);
