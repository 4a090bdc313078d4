/* SPDX-License-Identifier: Apache-2.0
 * recipe.c: see recipe.h. */
#include "api/recipe.h"

#include <stdlib.h>
#include <string.h>

#include "place/place.h"
#include "schema/schema.h"
#include "tensor/tensor.h"

/* Room for more bytes than `few` has: only for long calls. */
static situ_status grow(struct recipe_key *key, size_t bytes) {
  const size_t capacity = 2 * (key->length + bytes);
  unsigned char *more = malloc(capacity);
  if (!more) return NO_MEMORY();
  memcpy(more, key->bytes, key->length);
  if (key->bytes != key->few) free(key->bytes);
  key->bytes = more;
  key->capacity = capacity;
  return NULL;
}

/* Appends to a key; inline, for most pieces are a few bytes. */
static inline situ_status put(struct recipe_key *key, const void *data, size_t bytes) {
  if (key->length + bytes > key->capacity) TRY(grow(key, bytes));
  memcpy(key->bytes + key->length, data, bytes);
  key->length += bytes;
  return NULL;
}

static situ_status put_text(struct recipe_key *key, const char *text) {
  return text && *text ? put(key, text, strlen(text) + 1) : put(key, "", 1);
}

static inline situ_status put_tensor(struct recipe_key *key, const situ_tensor *tensor) {
  const int32_t head[2] = {tensor->type, tensor->shape.rank};
  TRY(put(key, head, sizeof head));
  for (int i = 0; i < tensor->shape.rank; i++)
    TRY(put(key, &tensor->shape.dim[i], sizeof tensor->shape.dim[i]));
  return NULL;
}

static situ_status put_value(struct recipe_key *key, const situ_tensor *tensor) {
  const void *data = situ_tensor_data(tensor);
  return data ? put(key, data, tensor->bytes) : NULL;
}

static situ_status put_attr(struct recipe_key *key, const situ_attr *attr) {
  TRY(put_text(key, attr->name));
  TRY(put(key, &attr->kind, sizeof attr->kind));
  if (attr->kind == SITU_ATTR_FLOAT) return put(key, &attr->real, sizeof attr->real);
  if (attr->kind == SITU_ATTR_STRING) return put_text(key, attr->text);
  if (attr->kind == SITU_ATTR_SHAPE) {
    const int rank = attr->shape.rank;
    TRY(put(key, &rank, sizeof rank));
    return rank > 0 ? put(key, attr->shape.dim, sizeof(int64_t) * (size_t)rank) : NULL;
  }
  if (attr->kind == SITU_ATTR_TENSOR) {
    TRY(put_tensor(key, attr->tensor));
    return put_value(key, attr->tensor);
  }
  TRY(put(key, &attr->integer, sizeof attr->integer));
  if (attr->kind == SITU_ATTR_FUNCTION) return put_text(key, attr->text);
  if (attr->kind == SITU_ATTR_SHAPES)
    return attr->integer ? put(key, attr->shapes, sizeof *attr->shapes * (size_t)attr->integer)
                         : NULL;
  if (attr->kind == SITU_ATTR_FLOATS)
    return attr->integer ? put(key, attr->reals, sizeof *attr->reals * (size_t)attr->integer)
                         : NULL;
  const bool is_list = attr->kind == SITU_ATTR_INTS || attr->kind == SITU_ATTR_TYPES;
  if (!is_list || !attr->integer) return NULL;
  return put(key, attr->integers, sizeof(int64_t) * (size_t)attr->integer);
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t length) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ length, word = 0;
  size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    memcpy(&word, bytes + i, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  for (; i < length; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash ^ (hash >> 29);
}

static situ_status collect(const situ_call *call, bool checked, struct recipe_key *key) {
  const struct schema *schema = schema_get(call->op);
  const int32_t head[3] = {checked ? ~call->op : call->op, call->n_inputs, call->n_attrs};
  TRY(put(key, head, sizeof head));
  TRY(put_text(key, call->device));
  for (int i = 0; i < call->n_inputs; i++) {
    const situ_tensor *input = call->inputs[i];
    const int32_t device = input->buffer->device ? input->buffer->device->number : 0;
    TRY(put(key, &device, sizeof device));
    TRY(put_tensor(key, input));
    const struct port *port = schema_port(schema, i, call->n_inputs);
    if (port && port->is_host) TRY(put_value(key, input));
  }
  for (int i = 0; i < call->n_attrs; i++) TRY(put_attr(key, &call->attrs[i]));
  return NULL;
}

situ_status recipe_key(const situ_call *call, bool checked, struct recipe_key *out) {
  out->bytes = out->few;
  out->length = 0;
  out->capacity = sizeof out->few;
  const situ_status status = collect(call, checked, out);
  if (status) recipe_key_free(out);
  return status;
}

uint64_t recipe_hash(const struct recipe_key *key) { return hash_bytes(key->bytes, key->length); }

void recipe_key_free(struct recipe_key *key) {
  if (key->bytes != key->few) free(key->bytes);
}

bool recipe_matches(const struct recipe *recipe, const struct recipe_key *key) {
  return recipe->length == key->length && !memcmp(recipe->key, key->bytes, key->length);
}

/* A graph of the op alone, with a placeholder for each input: its nodes come first. */
static situ_status build(struct recipe *recipe, const situ_call *call) {
  recipe->graph = situ_graph_create();
  situ_value *inputs = calloc((size_t)call->n_inputs + 1, sizeof *inputs);
  if (!recipe->graph || !inputs) {
    free(inputs);
    return NO_MEMORY();
  }
  recipe->graph->at_once = true;
  for (int i = 0; i < call->n_inputs; i++)
    inputs[i] =
        situ_placeholder(recipe->graph, "input", call->inputs[i]->type, call->inputs[i]->shape);
  if (call->device && *call->device) situ_device_push(recipe->graph, call->device);
  situ_emit(recipe->graph, schema_get(call->op)->op->name, NULL, inputs, call->n_inputs,
            call->attrs, call->n_attrs);
  free(inputs);
  return situ_graph_status(recipe->graph);
}

static situ_status plan(struct recipe *recipe, const situ_call *call,
                        const struct device_list *devices, const int32_t *placement, bool checked,
                        struct arena *arena) {
  const struct node *node = recipe->graph->nodes[call->n_inputs];
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
  TRY(plan_make(&(struct plan_request){.graph = recipe->graph,
                                       .placement = placement,
                                       .devices = devices,
                                       .feeds = feeds,
                                       .n_feeds = call->n_inputs,
                                       .fetches = fetches,
                                       .n_fetches = node->n_outputs ? node->n_outputs : 1,
                                       .checked = checked,
                                       .keep = true},
                &recipe->program, &need));
  if (need.node < 0) return NULL;
  return INVALID("Input %d of %s must be in host memory: the shape of the result depends on it.",
                 need.node, node->schema->op->name);
}

static situ_status compile(struct recipe *recipe, const situ_call *call,
                           const struct device_list *devices, bool soft, bool checked) {
  TRY(build(recipe, call));
  struct arena arena = {0};
  struct placement placement = {0};
  situ_status status = place_graph(recipe->graph, devices, &(struct place_options){.soft = soft},
                                   &arena, &placement);
  if (!status) {
    recipe->device = devices->devices[placement.device[call->n_inputs]];
    status = plan(recipe, call, devices, placement.device, checked, &arena);
  }
  arena_free(&arena);
  return status;
}

enum { LIGHT = 64 * 1024, TINY = 4 * 1024 };

/* Whether a call is done in less time than two threads need to agree on who makes it. */
static bool is_tiny(const struct program *program) {
  size_t bytes = 0;
  for (int32_t i = 0; i < program->n_slots; i++) bytes += program->slots[i].bytes;
  return program->host_only && !program->n_host_ops && bytes <= TINY;
}

situ_status recipe_create(const situ_call *call, const struct recipe_key *key,
                          const struct device_list *devices, bool soft, bool checked,
                          const struct services *services, struct recipe **out) {
  struct recipe *recipe = calloc(1, sizeof *recipe);
  if (!recipe) return NO_MEMORY();
  pthread_mutex_init(&recipe->state.lock, NULL);
  recipe->state.services = services;
  recipe->length = key->length;
  recipe->key = malloc(key->length ? key->length : 1);
  recipe->type = call->n_inputs ? call->inputs[0]->type : SITU_NO_TYPE;
  situ_status status = recipe->key ? compile(recipe, call, devices, soft, checked) : NO_MEMORY();
  if (status) {
    recipe_destroy(recipe);
    return status;
  }
  memcpy(recipe->key, key->bytes, key->length);
  recipe->tiny = is_tiny(recipe->program);
  *out = recipe;
  return NULL;
}

void recipe_destroy(struct recipe *recipe) {
  while (recipe->idle) {
    struct frame *frame = recipe->idle;
    recipe->idle = frame->next;
    frame_destroy(frame);
  }
  plan_free(recipe->program);
  state_clear(&recipe->state);
  situ_graph_release(recipe->graph);
  pthread_mutex_destroy(&recipe->state.lock);
  free(recipe->key);
  free(recipe);
}

struct recipe_log {
  struct recipe_log *next;
  const struct schema *schema;
  const struct device *device;
  situ_type type;
};

situ_status recipe_say(const struct schema *schema, const struct device *device, situ_type type,
                       struct recipe_log **said) {
  for (const struct recipe_log *entry = *said; entry; entry = entry->next)
    if (entry->schema == schema && entry->device == device && entry->type == type) return NULL;
  struct recipe_log *entry = malloc(sizeof *entry);
  if (!entry) return NO_MEMORY();
  *entry = (struct recipe_log){*said, schema, device, type};
  *said = entry;
  printf("Executing op %s in device %s\n", schema->op->name, device_log_name(device));
  fflush(stdout);
  return NULL;
}

situ_status recipe_log(struct recipe *recipe, struct recipe_log **said) {
  if (recipe->logged) return NULL;
  recipe->logged = true;
  const struct situ_graph *graph = recipe->graph;
  const struct schema *schema = graph->nodes[graph->n_nodes - 1]->schema;
  return recipe_say(schema, recipe->device, recipe->type, said);
}

void recipe_log_free(struct recipe_log *said) {
  while (said) {
    struct recipe_log *next = said->next;
    free(said);
    said = next;
  }
}

struct frame *recipe_take(struct recipe *recipe) {
  struct frame *frame = recipe->idle;
  if (frame) recipe->idle = frame->next;
  recipe->active++;
  return frame;
}

void recipe_give(struct recipe *recipe, struct frame *frame) {
  recipe->active--;
  if (!frame) return;
  frame->next = recipe->idle;
  recipe->idle = frame;
}

/* There may be thousands of compiled calls: what they keep between calls must be little. */
static bool is_light(const struct frame *frame) {
  size_t bytes = 0;
  for (int32_t i = 0; i < frame->program->n_lanes; i++)
    bytes += frame->program->lanes[i].block_bytes;
  for (int32_t i = 0; i < frame->program->n_fetches; i++)
    if (frame->results[i]) bytes += frame->results[i]->bytes;
  return bytes <= LIGHT;
}

situ_status recipe_run(struct recipe *recipe, struct frame **frame, situ_tensor *const *inputs,
                       situ_tensor **outputs) {
  if (!*frame) TRY(frame_create(recipe->program, &recipe->state, inputs, frame));
  const situ_status status = frame_run(*frame, inputs, outputs);
  if (!recipe->tiny && !is_light(*frame)) {
    frame_destroy(*frame);
    *frame = NULL;
  }
  return status;
}
