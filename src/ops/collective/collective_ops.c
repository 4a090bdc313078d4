/* SPDX-License-Identifier: Apache-2.0
 * collective_ops.c: collectives between the ranks of a cluster. All ranks run the same graph and
 * therefore the same collectives in the same order. */
#include <stdlib.h>
#include <string.h>

#include "cluster/collectives.h"
#include "cluster/send_recv.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { PACK = 64 << 10 }; /* bytes: smaller tensors are reduced together */

static situ_status ask(void *compute) { return compute_ask(compute, "A wait for another rank"); }

#define CALLER(compute, text) (&(struct caller){.what = (text), .ask = ask, .context = (compute)})

/* Every output has the type and shape of its input. */
static situ_status same_shapes(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = call->in[i].shape;
  return NULL;
}

static situ_status make_outputs(const struct compute *compute) {
  for (int i = 0; i < compute->call->n_out; i++) {
    void *data = NULL;
    TRY(compute_output(compute, i, compute->call->in[i].shape, &data));
  }
  return NULL;
}

static char *output_data(const struct compute *compute, int i) {
  return compute->out[i]->buffer->host;
}

/* ---- Reductions ---- */

static situ_reduce_op find_reduction(const struct call *call) {
  static const char *const names[] = {"sum", "mean", "min", "max", "product"};
  const char *name = call_text(call, "reduction");
  for (int i = 0; i < (int)COUNT_OF(names); i++)
    if (!strcmp(name, names[i])) return (situ_reduce_op)i;
  return SITU_REDUCE_SUM;
}

static situ_status reduce_one(const struct compute *compute, int i) {
  const situ_tensor *in = compute->in[i];
  return collective_all_reduce(CALLER((void *)compute, "AllReduce"), situ_tensor_data(in),
                               output_data(compute, i), situ_shape_count(in->shape), in->type,
                               find_reduction(compute->call));
}

/* Small adjacent tensors of one type: inputs begin <= i < end, `bytes` in total. */
static situ_status reduce_packed(const struct compute *compute, int begin, int end, size_t bytes) {
  char *pack = malloc(bytes + 1);
  if (!pack) return NO_MEMORY();
  size_t at = 0;
  for (int i = begin; i < end; at += compute->in[i++]->bytes)
    if (compute->in[i]->bytes)
      memcpy(pack + at, situ_tensor_data(compute->in[i]), compute->in[i]->bytes);
  const situ_type type = compute->in[begin]->type;
  const situ_status status = collective_all_reduce(CALLER((void *)compute, "AllReduce"), pack, pack,
                                                   (int64_t)(bytes / situ_type_size(type)), type,
                                                   find_reduction(compute->call));
  at = 0;
  for (int i = begin; i < end && !status; at += compute->in[i++]->bytes)
    if (compute->in[i]->bytes) memcpy(output_data(compute, i), pack + at, compute->in[i]->bytes);
  free(pack);
  return status;
}

static situ_status compute_all_reduce(struct compute *compute) {
  const int n = compute->call->n_in;
  TRY(make_outputs(compute));
  for (int i = 0; i < n;) {
    int end = i;
    size_t bytes = 0;
    for (; end < n && compute->in[end]->type == compute->in[i]->type &&
           bytes + compute->in[end]->bytes <= PACK;
         end++)
      bytes += compute->in[end]->bytes;
    if (end - i > 1)
      TRY(reduce_packed(compute, i, end, bytes));
    else
      TRY(reduce_one(compute, i));
    i = end > i ? end : i + 1;
  }
  return NULL;
}

/* ---- From one, to all ---- */

static situ_status compute_broadcast(struct compute *compute) {
  const int root = (int)call_integer(compute->call, "root");
  TRY(make_outputs(compute));
  for (int i = 0; i < compute->call->n_in; i++) {
    const situ_tensor *in = compute->in[i];
    if (in->bytes) memcpy(output_data(compute, i), situ_tensor_data(in), in->bytes);
    TRY(collective_broadcast(CALLER(compute, "Broadcast"), output_data(compute, i), in->bytes,
                             root));
  }
  return NULL;
}

static situ_status gather_shape(struct call *call) {
  situ_shape shape = call->in[0].shape;
  if (!shape.rank) return INVALID("Scalars cannot be gathered: give them a dimension.");
  if (shape.rank > 0) shape.dim[0] = SITU_ANY;
  call->out[0].shape = shape;
  return NULL;
}

/* The gathered bytes as a tensor with as many rows as they are. */
static situ_status set_gathered(const struct compute *compute, const char *all, size_t bytes) {
  situ_shape shape = compute->in[0]->shape;
  size_t row = situ_type_size(compute->in[0]->type);
  for (int d = 1; d < shape.rank; d++) row *= (size_t)shape.dim[d];
  shape.dim[0] = row ? (int64_t)(bytes / row) : 0;
  if (row && bytes % row)
    return INVALID("AllGather: tensors of ranks differ in more than their first dimension.");
  void *data = NULL;
  TRY(compute_output(compute, 0, shape, &data));
  if (bytes) memcpy(data, all, bytes);
  return NULL;
}

static situ_status compute_gather(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const int n = membership_current.size;
  size_t *sizes = calloc((size_t)n, sizeof *sizes), total = 0;
  void *all = NULL;
  if (!sizes) return NO_MEMORY();
  situ_status status = collective_all_gather(CALLER(compute, "AllGather"), situ_tensor_data(in),
                                             in->bytes, &all, sizes);
  for (int i = 0; i < n; i++) total += sizes[i];
  if (!status) status = set_gathered(compute, all, total);
  free(all);
  free(sizes);
  return status;
}

/* ---- From one, to another ---- */

static situ_status compute_send(struct compute *compute) {
  return cluster_send_tensor(CALLER(compute, "Send"), compute->in[0],
                             (int)call_integer(compute->call, "to_rank"),
                             call_text(compute->call, "tensor_name"));
}

static situ_status receive_shape(struct call *call) {
  call->out[0].shape = *call_attr(call, "shape")->shape;
  return NULL;
}

static situ_status compute_receive(struct compute *compute) {
  return cluster_receive_tensor(CALLER(compute, "Receive"),
                                (int)call_integer(compute->call, "from_rank"),
                                call_text(compute->call, "tensor_name"), &compute->out[0]);
}

#define OP_DEF(op, in, out, attributes, text, shaper, ...)                                    \
  {                                                                                           \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text, \
    .devices = "CPU", .flags = OP_STATEFUL | OP_BLOCKS | OP_COLLECTIVE | OP_NO_GRADIENT,      \
    .shape = shaper, .compute = __VA_ARGS__                                                   \
  }

static const struct op_def op_defs[] = {
    OP_DEF("RanksAllReduce", "inputs:T", "outputs:T",
           "T:list(type) reduction:{'sum','mean','min','max','product'}='sum'",
           "All-reduce over the ranks of a cluster, in the order of ranks: results are "
           "bit-identical on all.",
           same_shapes, compute_all_reduce,
           .args = "inputs: Tensors to reduce, of the same shapes on all ranks."),
    OP_DEF("RanksBroadcast", "inputs:T", "outputs:T", "T:list(type) root:int32=0",
           "Broadcasts tensors of one rank to all ranks of a cluster.", same_shapes,
           compute_broadcast, .args = "inputs: Tensors of the same shapes on all ranks."),
    OP_DEF(
        "RanksGather", "input:T", "output:T", "T:{" NUMERIC "}",
        "All-gather: concatenates the tensors of all ranks of a cluster along the first dimension.",
        gather_shape, compute_gather,
        .args = "input: Tensor whose shape differs between ranks in the first dimension only."),
    OP_DEF("RanksSend", "tensor:T", "", "T:{" NUMERIC "} tensor_name:string to_rank:int32>=0",
           "Sends a tensor to another rank of a cluster.", op_no_shape, compute_send,
           .args = "tensor: Tensor to send."),
    OP_DEF("RanksReceive", "", "tensor:dtype",
           "dtype:{" NUMERIC "} shape:shape=<unknown> tensor_name:string from_rank:int32>=0",
           "Receives a tensor from another rank of a cluster; blocks until it arrives.",
           receive_shape, compute_receive),
};

OP_FAMILY(collective_ops, op_defs);
