/* SPDX-License-Identifier: Apache-2.0
 * segment_join.c: UnsortedSegmentJoin: concatenates the strings of each segment. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/strbuf.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* [num_segments] and the dimensions of the inputs after those of the segment ids. */
static situ_status join_shape(struct call *call) {
  const situ_shape *x = &call->in[0].shape, *ids = &call->in[1].shape;
  int64_t count = 0;
  bool is_known = false;
  TRY(op_need_rank(call, 2, 0, "num_segments"));
  TRY(op_host_scalar(call, 2, &count, &is_known));
  call->out[0].shape = SITU_ANY_SHAPE;
  if (x->rank < 0 || ids->rank < 0) return NULL;
  if (ids->rank == 0) return INVALID("segment_ids cannot have rank 0");
  if (ids->rank > x->rank)
    return INVALID("Shape must be at least rank %d but is rank %d", ids->rank, x->rank);
  situ_shape shape = {1 + x->rank - ids->rank, {is_known ? count : SITU_ANY}};
  for (int i = 0; i < ids->rank; i++)
    if (x->dim[i] != SITU_ANY && ids->dim[i] != SITU_ANY && x->dim[i] != ids->dim[i])
      return INVALID(
          "segment_ids must be a prefix of the shape of inputs: dimension %d is %lld, "
          "not %lld",
          i, (long long)ids->dim[i], (long long)x->dim[i]);
  for (int i = 1; i < shape.rank; i++) shape.dim[i] = x->dim[ids->rank + i - 1];
  call->out[0].shape = shape;
  return NULL;
}

/* Appends each string to the result of its segment. */
static situ_status append_all(struct compute *compute, int64_t segments, int64_t inner,
                              struct strbuf *results, bool *begun) {
  const char *separator = call_text(compute->call, "separator");
  const situ_tensor *ids = compute->in[1];
  for (int64_t i = 0; i < situ_shape_count(ids->shape); i++) {
    const int64_t id = number_integer_at(situ_tensor_type(ids), situ_tensor_data(ids), i);
    TRY(interrupt_check());
    if (id < 0 || id >= segments)
      return INVALID("segment_ids[%lld] = %lld is out of range [0, %lld)", (long long)i,
                     (long long)id, (long long)segments);
    for (int64_t k = 0; k < inner; k++) {
      const situ_string text = situ_tensor_string(compute->in[0], i * inner + k);
      const int64_t at = id * inner + k;
      if (begun[at]) strbuf_append_n(&results[at], separator, strlen(separator));
      strbuf_append_n(&results[at], text.data, text.length);
      begun[at] = true;
    }
  }
  return NULL;
}

static situ_status make_tensor(const struct strbuf *results, int64_t n, situ_shape shape,
                               situ_tensor **out) {
  situ_string *strings = calloc((size_t)n + 1, sizeof *strings);
  if (!strings) return NO_MEMORY();
  bool is_complete = true;
  for (int64_t i = 0; i < n; i++) {
    strings[i] = (situ_string){strbuf_get(&results[i]), results[i].length};
    is_complete = is_complete && !results[i].failed;
  }
  const situ_status status =
      is_complete ? situ_tensor_create_strings(shape, strings, out) : NO_MEMORY();
  free(strings);
  return status;
}

static situ_status compute_segment_join(struct compute *compute) {
  const situ_tensor *x = compute->in[0], *ids = compute->in[1], *count = compute->in[2];
  const int64_t segments = number_integer_at(situ_tensor_type(count), situ_tensor_data(count), 0);
  if (segments < 0) return INVALID("Number of segments cannot be negative");
  situ_shape shape = {1 + x->shape.rank - ids->shape.rank, {segments}};
  int64_t inner = 1;
  for (int i = 1; i < shape.rank; i++)
    inner *= shape.dim[i] = x->shape.dim[ids->shape.rank + i - 1];
  TRY(shape_check(&shape));
  const int64_t n = segments * inner;
  struct strbuf *results = calloc((size_t)n + 1, sizeof *results);
  bool *begun = calloc((size_t)n + 1, sizeof *begun);
  situ_status status = results && begun ? NULL : NO_MEMORY();
  if (!status) status = append_all(compute, segments, inner, results, begun);
  if (!status) status = make_tensor(results, n, shape, &compute->out[0]);
  for (int64_t i = 0; results && i < n; i++) strbuf_free(&results[i]);
  free(results);
  free(begun);
  return status;
}

static const struct op_def op_defs[] = {
    {.name = "UnsortedSegmentJoin",
     .inputs = "inputs:string segment_ids:Tindices num_segments:Tnumsegments",
     .outputs = "output:string",
     .attrs = "separator:string='' Tindices:{int32 int64} Tnumsegments:{int32 int64}=int32",
     .doc = "Concatenates the strings of each segment, in their order.",
     .args = "inputs: Tensor of strings.\n"
             "segment_ids: Segment of each string; the shape is a prefix of that of inputs.\n"
             "num_segments: Number of segments.\nseparator: String between the parts.",
     .host = "num_segments",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = join_shape,
     .compute = compute_segment_join},
};

OP_FAMILY(segment_join, op_defs);
