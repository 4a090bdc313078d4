/* SPDX-License-Identifier: Apache-2.0
 * file_ops.c: ReadFile, WriteFile, MatchingFiles, DecodeRaw. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32.h"
#include "base/strbuf.h"
#include "ops/io/file_ops.h"
#include "ops/ops.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

bool file_crc_matches(const char *data, size_t bytes, const char *crc) {
  const uint32_t sum = crc32_castagnoli(data, bytes);
  uint32_t stored = 0;
  memcpy(&stored, crc, sizeof stored);
  return stored == (sum >> 15 | sum << 17) + 0xa282ead8u;
}

static situ_status read_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 0, "filename"));
  return op_scalar_shape(call);
}

static situ_status compute_read(struct compute *compute) {
  struct strbuf text = {0};
  situ_status status = file_read(situ_tensor_string(compute->in[0], 0).data, &text);
  if (!status) {
    const situ_string all = {strbuf_get(&text), text.length};
    status = situ_tensor_create_strings(SITU_SCALAR, &all, &compute->out[0]);
  }
  strbuf_free(&text);
  return status;
}

/* Creates the missing folders of a path. */
static void make_folders(const char *path) {
  char *copy = strdup(path);
  for (char *at = copy ? strchr(copy + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
    *at = 0;
    mkdir(copy, 0777); /* opening the file will report the error */
    *at = '/';
  }
  free(copy);
}

static situ_status write_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 0, "filename"));
  return op_need_rank(call, 1, 0, "contents");
}

static situ_status compute_write(struct compute *compute) {
  const char *path = situ_tensor_string(compute->in[0], 0).data;
  const situ_string contents = situ_tensor_string(compute->in[1], 0);
  make_folders(path);
  return file_replace(path, &(struct file_part){contents.data, contents.length}, 1);
}

static situ_status matching_shape(struct call *call) {
  call->out[0].shape = SITU_SHAPE(SITU_ANY);
  return NULL;
}

static situ_status compute_matching(struct compute *compute) {
  glob_t found = {0};
  const int64_t n = situ_shape_count(situ_tensor_shape(compute->in[0]));
  for (int64_t i = 0; i < n; i++)
    if (glob(situ_tensor_string(compute->in[0], i).data, i ? GLOB_APPEND : 0, NULL, &found) ==
        GLOB_NOSPACE) {
      globfree(&found);
      return NO_MEMORY();
    }
  const situ_shape shape = SITU_SHAPE((int64_t)found.gl_pathc);
  const situ_status status =
      situ_tensor_create(SITU_STRING, shape, found.gl_pathv, &compute->out[0]);
  if (n) globfree(&found);
  return status;
}

static situ_status decode_raw_shape(struct call *call) {
  situ_shape shape = call->in[0].shape;
  if (shape.rank >= SITU_MAX_RANK) return INVALID("A tensor of rank %d is too deep.", shape.rank);
  if (shape.rank >= 0) shape.dim[shape.rank++] = SITU_ANY;
  call->out[0].shape = shape;
  return NULL;
}

/* Reverses the bytes of each number; complex elements have two. */
static void swap_bytes(char *data, size_t bytes, situ_type type) {
  const size_t size = situ_type_size(type_real(type));
  for (char *at = data; at < data + bytes; at += size)
    for (size_t i = 0; i < size / 2; i++) {
      const char c = at[i];
      at[i] = at[size - 1 - i];
      at[size - 1 - i] = c;
    }
}

static situ_status compute_decode_raw(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const int64_t n = situ_shape_count(in->shape);
  const size_t size = situ_type_size(compute->call->out[0].type);
  const size_t length = n ? situ_tensor_string(in, 0).length : 0;
  if (length % size)
    return INVALID(
        "Input to DecodeRaw has length %zu that is not a multiple of %zu, the size of %s", length,
        size, situ_type_name(compute->call->out[0].type));
  situ_shape shape = in->shape;
  shape.dim[shape.rank++] = (int64_t)(length / size);
  void *data = NULL;
  TRY(compute_output(compute, 0, shape, &data));
  for (int64_t i = 0; i < n; i++) {
    const situ_string text = situ_tensor_string(in, i);
    if (text.length != length)
      return INVALID(
          "DecodeRaw requires input strings to all be the same size, but element %lld has size "
          "%zu != %zu",
          (long long)i, text.length, length);
    if (length) memcpy((char *)data + (size_t)i * length, text.data, length);
  }
  if (!call_bool(compute->call, "little_endian"))
    swap_bytes(data, (size_t)n * length, compute->call->out[0].type);
  return NULL;
}

/* DecodePaddedRaw: strings are cut or padded with zeros to a fixed length. */
static situ_status padded_raw_length(struct call *call, int64_t *length) {
  const int64_t size = (int64_t)situ_type_size(call_type(call, "out_type"));
  bool known = false;
  TRY(op_host_scalar(call, 1, length, &known));
  if (!known) *length = SITU_ANY;
  if (known && *length <= 0)
    return INVALID("fixed_length (%lld) must be greater than zero", (long long)*length);
  if (known && *length % size)
    return INVALID("fixed_length (%lld) must be a multiple of the size of out_type (%lld)",
                   (long long)*length, (long long)size);
  return NULL;
}

static situ_status padded_raw_shape(struct call *call) {
  int64_t length = SITU_ANY;
  TRY(padded_raw_length(call, &length));
  TRY(decode_raw_shape(call));
  situ_shape *shape = &call->out[0].shape;
  if (length != SITU_ANY && shape->rank > 0)
    shape->dim[shape->rank - 1] = length / (int64_t)situ_type_size(call_type(call, "out_type"));
  return NULL;
}

static situ_status compute_padded_raw(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const size_t size = situ_type_size(call_type(compute->call, "out_type"));
  int64_t length = 0;
  TRY(padded_raw_length(compute->call, &length));
  situ_shape shape = in->shape;
  shape.dim[shape.rank++] = length / (int64_t)size;
  void *data = NULL;
  TRY(compute_output(compute, 0, shape, &data));
  const int64_t n = situ_shape_count(in->shape);
  memset(data, 0, (size_t)(n * length));
  for (int64_t i = 0; i < n; i++) {
    const situ_string text = situ_tensor_string(in, i);
    const size_t used = text.length < (size_t)length ? text.length : (size_t)length;
    if (used) memcpy((char *)data + i * length, text.data, used);
  }
  if (!call_bool(compute->call, "little_endian"))
    swap_bytes(data, (size_t)(n * length), call_type(compute->call, "out_type"));
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "ReadFile",
     .inputs = "filename:string[]",
     .outputs = "contents:string",
     .python = "io.read_file read_file",
     .doc = "Reads a whole file.",
     .args = "filename: Path of the file, a scalar.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_NO_GRADIENT,
     .shape = read_shape,
     .compute = compute_read},
    {.name = "WriteFile",
     .inputs = "filename:string[] contents:string[]",
     .outputs = "",
     .python = "io.write_file write_file",
     .doc = "Writes a file and creates missing directories.",
     .args = "filename: Path of the file, a scalar.\n"
             "contents: New contents of the file, a scalar.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_EFFECT | OP_NO_GRADIENT,
     .shape = write_shape,
     .compute = compute_write},
    {.name = "MatchingFiles",
     .inputs = "pattern:string",
     .outputs = "filenames:string",
     .python = "io.matching_files matching_files",
     .doc = "The paths of the files that match glob patterns, sorted per pattern.",
     .args = "pattern: Pattern or vector of patterns.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_NO_GRADIENT,
     .shape = matching_shape,
     .compute = compute_matching},
    {.name = "DecodeRaw",
     .inputs = "bytes:string",
     .outputs = "output:out_type",
     .attrs = "out_type:{half float double int32 uint16 uint8 int16 int8 int64 complex64 "
              "complex128 bool bfloat16} "
              "little_endian:bool=true",
     .python = "",
     .doc = "Reinterprets the bytes of strings as numbers.",
     .args = "bytes: Tensor of strings of one length, a multiple of the size of the type.\n"
             "out_type: Type of the numbers.\n"
             "little_endian: Whether the input is little-endian, else big-endian.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = decode_raw_shape,
     .compute = compute_decode_raw},
    {.name = "DecodePaddedRaw",
     .inputs = "input_bytes:string fixed_length:int32[]",
     .outputs = "output:out_type",
     .attrs = "out_type:{half float double int32 int64 int8 uint8 int16 uint16 bool} "
              "little_endian:bool=true",
     .python = "",
     .doc = "Reinterprets the bytes of strings, cut or padded to a length, as numbers.",
     .args = "input_bytes: Strings of any shape.\n"
             "fixed_length: Length in bytes to which each string is cut or padded with zeros; a "
             "multiple of the size of out_type.\n"
             "out_type: Type of the numbers.\n"
             "little_endian: Whether the bytes are in little-endian order.",
     .host = "fixed_length",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = padded_raw_shape,
     .compute = compute_padded_raw},
};

OP_FAMILY(file_ops, op_defs);
