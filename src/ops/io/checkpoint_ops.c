/* SPDX-License-Identifier: Apache-2.0
 * checkpoint_ops.c: SaveV2, RestoreV2 and the file names of sharded checkpoints; api/ writes and
 * reads the files. */
#include "ops/io/checkpoint_ops.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

/* Checks that a prefix is a scalar, and names and slices are vectors of `count` strings. */
static situ_status check_names(const struct compute *compute, int count) {
  const situ_tensor *names = compute->in[1], *slices = compute->in[2];
  if (situ_shape_count(names->shape) != count || situ_shape_count(slices->shape) != count)
    return INVALID(
        "tensor_names and shape_and_slices must have an element per tensor; there are %d tensors, "
        "%lld names and %lld slices.",
        count, (long long)situ_shape_count(names->shape),
        (long long)situ_shape_count(slices->shape));
  for (int i = 0; i < count; i++)
    if (situ_tensor_string(slices, i).length)
      return situ_status_create(SITU_UNIMPLEMENTED,
                                "Slices of tensors ('%s') are not supported in SaveV2 and "
                                "RestoreV2; use tf.compat.v1.train.Saver.",
                                situ_tensor_string(slices, i).data);
  return NULL;
}

static situ_status save_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 0, "prefix"));
  TRY(op_need_rank(call, 1, 1, "tensor_names"));
  return op_need_rank(call, 2, 1, "shape_and_slices");
}

static situ_status compute_save(struct compute *compute) {
  const int count = compute->call->n_in - 3;
  TRY(check_names(compute, count));
  situ_named *named = calloc((size_t)count + 1, sizeof *named);
  if (!named) return NO_MEMORY();
  for (int i = 0; i < count; i++)
    named[i] = (situ_named){situ_tensor_string(compute->in[1], i).data, compute->in[3 + i]};
  const situ_status status =
      checkpoint_table.write(situ_tensor_string(compute->in[0], 0).data, named, count);
  free(named);
  return status;
}

static situ_status restore_shape(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_ANY_SHAPE;
  return save_shape(call);
}

static situ_status check_types(const struct compute *compute, int count) {
  for (int i = 0; i < count; i++) {
    const situ_type want = compute->call->out[i].type, is = compute->out[i]->type;
    if (want != is)
      return INVALID("tensor_name = %s; expected dtype %s does not equal original dtype %s",
                     situ_tensor_string(compute->in[1], i).data, situ_type_name(want),
                     situ_type_name(is));
  }
  return NULL;
}

static situ_status compute_restore(struct compute *compute) {
  const int count = compute->call->n_out;
  TRY(check_names(compute, count));
  const char **names = calloc((size_t)count + 1, sizeof *names);
  if (!names) return NO_MEMORY();
  for (int i = 0; i < count; i++) names[i] = situ_tensor_string(compute->in[1], i).data;
  situ_status status =
      checkpoint_table.read(situ_tensor_string(compute->in[0], 0).data, names, count, compute->out);
  if (!status) status = check_types(compute, count);
  free(names);
  return status;
}

/* Creates a scalar output of text. */
static situ_status give_text(const struct compute *compute, const struct strbuf *text) {
  if (text->failed) return NO_MEMORY();
  const situ_string all = {strbuf_get(text), text->length};
  return situ_tensor_create_strings(SITU_SCALAR, &all, &compute->out[0]);
}

static int number(const struct compute *compute, int input) {
  return *(const int32_t *)situ_tensor_data(compute->in[input]);
}

static situ_status compute_filename(struct compute *compute) {
  struct strbuf text = {0};
  strbuf_appendf(&text, "%s-%05d-of-%05d", situ_tensor_string(compute->in[0], 0).data,
                 number(compute, 1), number(compute, 2));
  const situ_status status = give_text(compute, &text);
  strbuf_free(&text);
  return status;
}

static situ_status compute_filespec(struct compute *compute) {
  struct strbuf text = {0};
  strbuf_appendf(&text, "%s-\?\?\?\?\?-of-%05d", situ_tensor_string(compute->in[0], 0).data,
                 number(compute, 1));
  const situ_status status = give_text(compute, &text);
  strbuf_free(&text);
  return status;
}

static situ_status filename_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 0, "basename"));
  return op_scalar_shape(call);
}

static const struct op_def op_defs[] = {
    {.name = "SaveV2",
     .inputs = "prefix:string[] tensor_names:string[n] shape_and_slices:string[n] tensors:dtypes",
     .outputs = "",
     .attrs = "dtypes:list(type)",
     .python = "",
     .doc = "Saves tensors to a checkpoint.",
     .args = "prefix: Prefix of the files, a scalar.\n"
             "tensor_names: Names of the tensors in the checkpoint.\n"
             "shape_and_slices: An empty string per tensor; slices are not supported.\n"
             "tensors: The tensors.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_NO_GRADIENT,
     .shape = save_shape,
     .compute = compute_save},
    {.name = "RestoreV2",
     .inputs = "prefix:string[] tensor_names:string[n] shape_and_slices:string[n]",
     .outputs = "tensors:dtypes",
     .attrs = "dtypes:list(type)",
     .python = "",
     .doc = "Restores tensors from a checkpoint.",
     .args = "prefix: Prefix of the files, a scalar.\n"
             "tensor_names: Names of the tensors in the checkpoint.\n"
             "shape_and_slices: An empty string per tensor; slices are not supported.\n"
             "dtypes: Types of the tensors.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_NO_GRADIENT,
     .shape = restore_shape,
     .compute = compute_restore},
    {.name = "ShardedFilename",
     .inputs = "basename:string[] shard:int32[] num_shards:int32[]",
     .outputs = "filename:string",
     .python = "",
     .doc = "The name of a shard of a file: basename-00000-of-00002.",
     .args = "basename: Name before the number, a scalar.\n"
             "shard: Number of the shard.\n"
             "num_shards: Number of shards.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = filename_shape,
     .compute = compute_filename},
    {.name = "ShardedFilespec",
     .inputs = "basename:string[] num_shards:int32[]",
     .outputs = "filename:string",
     .python = "",
     .doc = "A pattern that matches all shards of a file: basename-\?\?\?\?\?-of-00002.",
     .args = "basename: Name before the number, a scalar.\n"
             "num_shards: Number of shards.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = filename_shape,
     .compute = compute_filespec},
};

OP_FAMILY(checkpoint_ops, op_defs);
