/* SPDX-License-Identifier: Apache-2.0
 * reader_ops.c: reader ops: resources that read records of the files named by a queue. */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "ops/ops.h"
#include "ops/state/queue.h"
#include "ops/io/record_reader.h"
#include "schema/schema.h"
#include "tensor/tensor.h"

struct reader {
  struct resource head;
  pthread_mutex_t lock;
  struct fork_handler fork;
  struct record_file file; /* closed: between files */
  int64_t n_records, n_files;
};

static void destroy(struct resource *resource) {
  struct reader *reader = (struct reader *)resource;
  record_close(&reader->file);
  fork_mutex_destroy(&reader->lock, &reader->fork);
  free(reader);
}

static const struct resource_kind reader_kind = {"reader", destroy};

static enum record_format format_of(const char *op) {
  static const char *const names[] = {"Whole", "Text", "Fixed", "TFRec"};
  int i = 0;
  while (i < 3 && strncmp(op, names[i], strlen(names[i])) != 0) i++;
  return (enum record_format)i;
}

/* The compression named by an attribute, as a constant: a reader outlives its call. */
static situ_status read_packing(const struct call *call, enum record_format format,
                                const char **out) {
  const char *name = format == RECORD_FIXED ? call_text(call, "encoding")
                     : format == RECORD_TF  ? call_text(call, "compression_type")
                                            : "";
  *out = !strcmp(name, "GZIP") ? "GZIP" : !strcmp(name, "ZLIB") ? "ZLIB" : NULL;
  if (*out || !*name) return NULL;
  return INVALID("Unsupported compression '%s': must be '', 'GZIP' or 'ZLIB'", name);
}

static situ_status create(void *context, struct resource **out) {
  const struct call *call = context;
  const char *packing = NULL;
  const int64_t record = call_integer(call, "record_bytes");
  const enum record_format format = format_of(call->schema->op->name);
  if (format == RECORD_FIXED && record <= 0)
    return INVALID("record_bytes must be > 0 got %lld", (long long)record);
  static const char *const sizes[] = {"header_bytes", "footer_bytes", "hop_bytes"};
  for (size_t i = 0; i < COUNT_OF(sizes); i++)
    if (call_integer(call, sizes[i]) < 0)
      return INVALID("%s must be >= 0 got %lld", sizes[i], (long long)call_integer(call, sizes[i]));
  TRY(read_packing(call, format, &packing));
  struct reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NO_MEMORY();
  fork_mutex_init(&reader->lock, &reader->fork);
  struct record_file *file = &reader->file;
  file->format = format;
  file->packing = packing;
  file->skip = call_integer(call, "skip_header_lines");
  file->record_bytes = record;
  file->header_bytes = call_integer(call, "header_bytes");
  file->footer_bytes = call_integer(call, "footer_bytes");
  file->hop_bytes = call_integer(call, "hop_bytes");
  if (!file->hop_bytes) file->hop_bytes = record;
  *out = &reader->head;
  return NULL;
}

static situ_status compute_reader(struct compute *compute) {
  return compute_resource(compute, &reader_kind, create, compute->call);
}

/* Dequeues the name of the next file. */
static situ_status next_file(const struct compute *compute, struct reader *reader) {
  struct resource *resource = NULL;
  struct queue_element *element = NULL;
  int64_t taken = 0;
  TRY(compute_handle(compute, 1, &queue_kind, &resource));
  const struct tuple_queue *queue = (struct tuple_queue *)resource;
  if (queue->n_parts != 1 || queue->types[0] != SITU_STRING)
    return INVALID("A reader takes names from a queue of strings.");
  TRY(queue_take(compute, (struct tuple_queue *)resource, 1, false, &element, &taken));
  const situ_status status =
      record_open(&reader->file, situ_tensor_string(element->parts[0], 0).data);
  queue_free(queue, element);
  return status;
}

static situ_status read_record(const struct compute *compute, struct reader *reader,
                               struct strbuf *key, struct strbuf *value) {
  for (bool end = true; end;) {
    if (!reader->file.stream) TRY(next_file(compute, reader));
    TRY(record_next(&reader->file, key, value, &end));
    if (!end) continue;
    record_close(&reader->file);
    reader->n_files++;
  }
  reader->n_records++;
  return key->failed || value->failed ? NO_MEMORY() : NULL;
}

static situ_status give(const struct compute *compute, int index, const struct strbuf *strings,
                        int64_t n, situ_shape shape) {
  situ_string *all = calloc((size_t)n + 1, sizeof *all);
  if (!all) return NO_MEMORY();
  for (int64_t i = 0; i < n; i++)
    all[i] = (situ_string){strbuf_get(&strings[i]), strings[i].length};
  const situ_status status = situ_tensor_create_strings(shape, all, &compute->out[index]);
  free(all);
  return status;
}

static situ_status read_some(struct compute *compute, int64_t most, situ_shape shape) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &reader_kind, &resource));
  struct reader *reader = (struct reader *)resource;
  struct strbuf *keys = calloc((size_t)most + 1, sizeof *keys);
  struct strbuf *values = calloc((size_t)most + 1, sizeof *values);
  situ_status status = keys && values ? NULL : NO_MEMORY();
  int64_t n = 0;
  pthread_mutex_lock(&reader->lock);
  while (!status && n < most) {
    if (n) compute->wait_limit = NULL; /* otherwise the records that were read would be lost */
    status = read_record(compute, reader, &keys[n], &values[n]);
    n += !status;
  }
  pthread_mutex_unlock(&reader->lock);
  if (n && situ_status_code(status) == SITU_OUT_OF_RANGE) {
    situ_status_release(status);
    status = NULL;
  }
  if (shape.rank) shape.dim[0] = n;
  if (!status) status = give(compute, 0, keys, n, shape);
  if (!status) status = give(compute, 1, values, n, shape);
  for (int64_t i = 0; keys && values && i < most; i++) {
    strbuf_free(&keys[i]);
    strbuf_free(&values[i]);
  }
  free(keys);
  free(values);
  return status;
}

static situ_status compute_read(struct compute *compute) {
  return read_some(compute, 1, SITU_SCALAR);
}

static situ_status compute_read_up_to(struct compute *compute) {
  const int64_t most = call_element(compute->call, 2, 0);
  if (most <= 0) return INVALID("num_records must be > 0, got %lld", (long long)most);
  return read_some(compute, most, SITU_SHAPE(0));
}

static situ_status up_to_shape(struct call *call) {
  call->out[0].shape = call->out[1].shape = SITU_SHAPE(SITU_ANY);
  return NULL;
}

static situ_status count(struct compute *compute, bool files) {
  struct resource *resource = NULL;
  void *data = NULL;
  TRY(compute_handle(compute, 0, &reader_kind, &resource));
  struct reader *reader = (struct reader *)resource;
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  pthread_mutex_lock(&reader->lock);
  *(int64_t *)data = files ? reader->n_files : reader->n_records;
  pthread_mutex_unlock(&reader->lock);
  return NULL;
}

static situ_status compute_records(struct compute *compute) { return count(compute, false); }
static situ_status compute_files(struct compute *compute) { return count(compute, true); }

static situ_status compute_reset(struct compute *compute) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &reader_kind, &resource));
  struct reader *reader = (struct reader *)resource;
  pthread_mutex_lock(&reader->lock);
  record_close(&reader->file);
  reader->n_records = reader->n_files = 0;
  pthread_mutex_unlock(&reader->lock);
  return NULL;
}

#define OP_DEF(op, in, out, attributes, text, kinds, shape_, compute_)                        \
  {                                                                                           \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text, \
    .devices = "CPU", .flags = OP_STATEFUL | OP_NO_GRADIENT | (kinds), .shape = shape_,       \
    .compute = compute_                                                                       \
  }
#define READER(op, attributes, text)                                                               \
  OP_DEF(op, "", "reader_handle:resource", attributes "container:string='' shared_name:string=''", \
         text, 0, op_scalar_shape, compute_reader)

static const struct op_def op_defs[] = {
    READER("WholeFileReaderV2", "", "A reader whose records are whole files."),
    READER("TextLineReaderV2", "skip_header_lines:int=0 ",
           "A reader whose records are lines of text files."),
    READER("FixedLengthRecordReaderV2",
           "record_bytes:int header_bytes:int=0 footer_bytes:int=0 hop_bytes:int=0 "
           "encoding:string='' ",
           "A reader of records of a fixed length."),
    READER("TFRecordReaderV2", "compression_type:string='' ",
           "A reader of the records of TFRecord files."),
    OP_DEF("ReaderReadV2", "reader_handle:resource queue_handle:resource",
           "key:string value:string", "", "The next record and its key.", OP_BLOCKS,
           op_scalar_shape, compute_read),
    OP_DEF("ReaderReadUpToV2", "reader_handle:resource queue_handle:resource num_records:int64[]",
           "keys:string values:string", "", "The next records and their keys, at most num_records.",
           OP_BLOCKS, up_to_shape, compute_read_up_to),
    OP_DEF("ReaderNumRecordsProducedV2", "reader_handle:resource", "records_produced:int64", "",
           "The number of records that a reader has produced.", 0, op_scalar_shape,
           compute_records),
    OP_DEF("ReaderNumWorkUnitsCompletedV2", "reader_handle:resource", "units_completed:int64", "",
           "The number of files that a reader has finished.", 0, op_scalar_shape, compute_files),
    OP_DEF("ReaderResetV2", "reader_handle:resource", "", "",
           "Resets a reader to its initial state.", 0, op_no_shape, compute_reset),
};

OP_FAMILY(reader_ops, op_defs);
