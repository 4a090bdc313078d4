/* SPDX-License-Identifier: Apache-2.0
 * compiled_call.c: see compiled_call.h. */
#include "api/compiled_call.h"

#include <stdlib.h>
#include <string.h>

#include "place/place.h"
#include "schema/schema.h"
#include "tensor/tensor.h"

void compiled_call_key(const situ_call *call, bool checked, struct program_key *key) {
  const struct schema *schema = schema_get(call->op);
  const int32_t head[3] = {checked ? ~call->op : call->op, call->n_inputs, call->n_attrs};
  program_key_init(key);
  program_key_append(key, head, sizeof head);
  program_key_append_string(key, call->device);
  for (int i = 0; i < call->n_inputs; i++) {
    const situ_tensor *input = call->inputs[i];
    const int32_t fields[] = {input->buffer->device ? input->buffer->device->number : 0,
                              input->type};
    program_key_append_shape(key, fields, COUNT_OF(fields), &input->shape);
    const situ_op_port *port = schema_port(schema, i, call->n_inputs);
    if (port && port->is_host) program_key_append_elements(key, input);
  }
  for (int i = 0; i < call->n_attrs; i++) program_key_append_attr(key, &call->attrs[i]);
}

/* Builds the graph of one op, with a placeholder per input as its first nodes. */
static situ_status build(struct compiled_call *compiled, const situ_call *call) {
  compiled->graph = situ_graph_create();
  situ_value *inputs = calloc((size_t)call->n_inputs + 1, sizeof *inputs);
  if (!compiled->graph || !inputs) {
    free(inputs);
    return NO_MEMORY();
  }
  compiled->graph->is_eager = true;
  for (int i = 0; i < call->n_inputs; i++)
    inputs[i] =
        situ_placeholder(compiled->graph, "input", call->inputs[i]->type, call->inputs[i]->shape);
  if (call->device && *call->device) situ_device_push(compiled->graph, call->device);
  situ_emit(compiled->graph, schema_get(call->op)->op->name, NULL, inputs, call->n_inputs,
            call->attrs, call->n_attrs);
  free(inputs);
  return situ_graph_status(compiled->graph);
}

static situ_status plan(struct compiled_call *compiled, const situ_call *call,
                        const struct device_list *devices, const int32_t *placement, bool checked,
                        struct arena *arena) {
  const struct node *node = compiled->graph->nodes[call->n_inputs];
  struct plan_feed *feeds = ARENA_ARRAY(arena, struct plan_feed, call->n_inputs + 1);
  struct edge *fetches = ARENA_ARRAY(arena, struct edge, node->n_outputs + 1);
  if (arena->failed) return NO_MEMORY();
  for (int i = 0; i < call->n_inputs; i++) {
    const struct buffer *buffer = call->inputs[i]->buffer;
    feeds[i] = (struct plan_feed){.edge = {i, 0},
                                  .type = call->inputs[i]->type,
                                  .shape = call->inputs[i]->shape,
                                  .tensor = call->inputs[i],
                                  .device = buffer->device ? buffer->device->number : 0};
  }
  for (int i = 0; i < node->n_outputs; i++) fetches[i] = (struct edge){node->id, i};
  if (!node->n_outputs) fetches[0] = (struct edge){node->id, -1};
  struct edge need;
  TRY(plan_compile(&(struct plan_request){.graph = compiled->graph,
                                          .placement = placement,
                                          .devices = devices,
                                          .feeds = feeds,
                                          .n_feeds = call->n_inputs,
                                          .fetches = fetches,
                                          .n_fetches = node->n_outputs ? node->n_outputs : 1,
                                          .check_numerics = checked,
                                          .keep_on_device = true},
                   &compiled->cached.program, &need));
  if (need.node < 0) return NULL;
  return INVALID("Input %d of %s must be in host memory: the shape of the result depends on it.",
                 need.node, node->schema->op->name);
}

static situ_status compile(struct compiled_call *compiled, const situ_call *call,
                           const struct device_list *devices, bool soft, bool checked) {
  TRY(build(compiled, call));
  struct arena arena = {0};
  struct placement placement = {0};
  situ_status status = place_graph(compiled->graph, devices, &(struct place_options){.soft = soft},
                                   &arena, &placement);
  if (!status) {
    compiled->device = devices->devices[placement.device[call->n_inputs]];
    status = plan(compiled, call, devices, placement.device, checked, &arena);
  }
  arena_free(&arena);
  return status;
}

enum { SMALL_FRAME_BYTES = 64 * 1024, TINY = 4 * 1024 };

/* Returns whether a call takes less time than releasing and taking a lock. */
static bool is_tiny(const struct program *program) {
  size_t bytes = 0;
  for (int32_t i = 0; i < program->n_slots; i++) bytes += program->slots[i].bytes;
  return program->host_only && !program->n_host_ops && bytes <= TINY;
}

situ_status compiled_call_create(const situ_call *call, const struct device_list *devices,
                                 bool soft, bool checked, const struct services *services,
                                 struct compiled_call **out) {
  struct compiled_call *compiled = calloc(1, sizeof *compiled);
  if (!compiled) return NO_MEMORY();
  pthread_mutex_init(&compiled->state.lock, NULL);
  compiled->state.services = services;
  compiled->type = call->n_inputs ? call->inputs[0]->type : SITU_NO_TYPE;
  const situ_status status = compile(compiled, call, devices, soft, checked);
  if (status) {
    compiled_call_destroy(&compiled->cached);
    return status;
  }
  compiled->tiny = is_tiny(compiled->cached.program);
  compiled->cached.program_bytes = sizeof *compiled + program_cache_graph_bytes(compiled->graph) +
                                   plan_bytes(compiled->cached.program);
  *out = compiled;
  return NULL;
}

void compiled_call_destroy(struct cached_program *cached) {
  struct compiled_call *compiled = (struct compiled_call *)cached;
  plan_free(cached->program);
  state_clear(&compiled->state);
  situ_graph_release(compiled->graph);
  pthread_mutex_destroy(&compiled->state.lock);
  free(compiled);
}

struct compiled_call_log {
  struct compiled_call_log *next;
  const struct schema *schema;
  const struct device *device;
  situ_type type;
};

situ_status compiled_call_log_op(const struct schema *schema, const struct device *device,
                                 situ_type type, struct compiled_call_log **log_entries) {
  for (const struct compiled_call_log *entry = *log_entries; entry; entry = entry->next)
    if (entry->schema == schema && entry->device == device && entry->type == type) return NULL;
  struct compiled_call_log *entry = malloc(sizeof *entry);
  if (!entry) return NO_MEMORY();
  *entry = (struct compiled_call_log){*log_entries, schema, device, type};
  *log_entries = entry;
  printf("Executing op %s in device %s\n", schema->op->name, device_log_name(device));
  fflush(stdout);
  return NULL;
}

situ_status compiled_call_log(struct compiled_call *compiled,
                              struct compiled_call_log **log_entries) {
  if (compiled->logged) return NULL;
  compiled->logged = true;
  const struct situ_graph *graph = compiled->graph;
  const struct schema *schema = graph->nodes[graph->n_nodes - 1]->schema;
  return compiled_call_log_op(schema, compiled->device, compiled->type, log_entries);
}

void compiled_call_log_free(struct compiled_call_log *log_entries) {
  while (log_entries) {
    struct compiled_call_log *next = log_entries->next;
    free(log_entries);
    log_entries = next;
  }
}

/* There may be thousands of compiled calls, so only small frames are kept between calls. */
static bool is_small_frame(const struct frame *frame) {
  size_t bytes = 0;
  for (int32_t i = 0; i < frame->program->n_lanes; i++)
    bytes += frame->program->lanes[i].block_bytes;
  for (int32_t i = 0; i < frame->program->n_fetches; i++)
    if (frame->results[i]) bytes += frame->results[i]->bytes;
  return bytes <= SMALL_FRAME_BYTES;
}

situ_status compiled_call_run(struct compiled_call *compiled, struct frame **frame,
                              situ_tensor *const *inputs, situ_tensor **outputs) {
  if (!*frame) TRY(frame_create(compiled->cached.program, &compiled->state, inputs, frame));
  const situ_status status = frame_run(*frame, inputs, outputs);
  if (!compiled->tiny && !is_small_frame(*frame)) {
    frame_destroy(*frame);
    *frame = NULL;
  }
  return status;
}
