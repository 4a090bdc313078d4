/* SPDX-License-Identifier: Apache-2.0
 * eval.c: evaluates one op on the host: infers shapes, records its launches, binds and runs them.
 */
#include "graph/eval.h"

#include <string.h>

#include "device/buffer.h"
#include "ops/record.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* The back end that runs in the calling thread. */
static const struct backend *host_backend(void) {
  for (int i = 0; backends[i]; i++)
    if (backends[i]->is_host) return backends[i];
  return NULL;
}

/* The state of one evaluation. */
struct evaluation {
  struct arena arena;
  struct recorder recorder;
  struct device_info info;
  struct span *slots;
  struct buffer **buffers; /* of scratch and state */
};

static situ_status allocate_outputs(struct call *call, situ_tensor **results) {
  for (int i = 0; i < call->n_out; i++) {
    call->out[i].slot = call->n_in + i;
    size_t bytes = 0;
    char shape[256];
    if (!shape_bytes(call->out[i].type, &call->out[i].shape, &bytes))
      return INVALID("Output %d of '%s' has shape %s, which is not fully defined or too large.", i,
                     call->node, shape_print(&call->out[i].shape, shape));
    struct buffer *buffer = NULL;
    TRY(buffer_host(bytes, &buffer));
    TRY(tensor_from_buffer(call->out[i].type, call->out[i].shape, buffer, &results[i]));
  }
  return NULL;
}

/* Maps slots to memory: inputs, outputs, then scratch. */
static situ_status map_slots(struct evaluation *e, const struct call *call,
                             situ_tensor *const *results) {
  e->slots = ARENA_ARRAY(&e->arena, struct span, e->recorder.next_slot + 1);
  e->buffers = ARENA_ARRAY(&e->arena, struct buffer *, e->recorder.n_scratch + 1);
  if (e->arena.failed) return NO_MEMORY();
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].value) e->slots[i] = call->in[i].value->buffer->span;
  for (int i = 0; i < call->n_out; i++) e->slots[call->n_in + i] = results[i]->buffer->span;
  for (int i = 0; i < e->recorder.n_scratch; i++) {
    const struct scratch *scratch = &e->recorder.scratch[i];
    TRY(buffer_host(scratch->bytes, &e->buffers[i]));
    if (scratch->initial) memcpy(e->buffers[i]->host, scratch->initial, scratch->bytes);
    e->slots[scratch->slot] = e->buffers[i]->span;
  }
  return NULL;
}

static situ_status run_launches(struct evaluation *e) {
  const struct backend *backend = host_backend();
  void *device = NULL;
  TRY(backend->open(0, &device));
  for (int i = 0; i < e->recorder.n_launches; i++) {
    struct bound_kernel *bound = NULL;
    TRY(backend->bind(device, &e->recorder.launches[i], e->slots, &e->arena, &bound));
    TRY(backend->launch(device, QUEUE_COMPUTE, bound));
  }
  return NULL;
}

static situ_status record_and_run(struct evaluation *e, struct call *call, situ_tensor **results) {
  TRY(call_infer_shapes(call));
  TRY(allocate_outputs(call, results));
  for (int i = 0; i < call->n_in; i++) call->in[i].slot = i;
  e->recorder = (struct recorder){
      .arena = &e->arena, .device = &e->info, .next_slot = call->n_in + call->n_out};
  call->to = &e->recorder;
  TRY(op_record(call));
  TRY(map_slots(e, call, results));
  return run_launches(e);
}

/* The output of an alias shares its input's memory. */
static situ_status share_input(struct call *call, situ_tensor **results) {
  TRY(call_infer_shapes(call));
  return tensor_reshape(call->in[0].value, call->out[0].shape, &results[0]);
}

situ_status eval_call(struct call *call, situ_tensor **results) {
  struct evaluation e = {.info = {.has_half = true, .has_double = true}};
  memset(results, 0, sizeof *results * (size_t)call->n_out);
  const bool alias = call->schema->op->flags & OP_ALIAS && call->in[0].value;
  situ_status status = alias ? share_input(call, results) : record_and_run(&e, call, results);
  for (int i = 0; e.buffers && i < e.recorder.n_scratch; i++) buffer_release(e.buffers[i]);
  arena_free(&e.arena);
  if (!status) return NULL;
  for (int i = 0; i < call->n_out; i++) {
    situ_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status_at_node(status, call->node);
}
