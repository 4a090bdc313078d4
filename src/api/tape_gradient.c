/* SPDX-License-Identifier: Apache-2.0
 * tape_gradient.c: the gradient of a tape segment as a graph. The graph repeats the calls, which
 * never run: their results are fed; and adds the gradients. It is compiled once and cached by the
 * calls. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "api/tape.h"
#include "base/fork.h"
#include "graph/graph.h"
#include "situ/gradient.h"
#include "tensor/tensor.h"

enum { MAX_CACHED = 512 };

/* The origin of a fed tensor: tensor `slot` of call `call` of the segment, or with a negative
 * `call` a target, a gradient or a source. */
enum { FROM_TARGET = -1, FROM_GRADIENT = -2, FROM_SOURCE = -3 };
struct origin {
  int32_t call, slot;
};

struct compiled_gradient {
  struct cached_program cached; /* must be first; the session keeps the program */
  situ_graph *graph;
  situ_session *session;
  int32_t first; /* the first gradient node */
  situ_feed *feeds;
  struct origin *origins; /* per feed */
  int n_feeds;
  situ_value *fetches;
  int *fetch_of; /* per source: its fetch, or -1; then per source: the fetch of its indices */
  int n_fetches, n_sources;
};

/* A segment and its arguments. */
struct segment {
  const situ_tape *tape;
  int32_t first, end;
  situ_tensor *const *targets, *const *gradients, *const *sources;
  int n_targets, n_sources;
  bool sparse;    /* gradients may be sparse */
  int32_t *calls; /* the calls that the targets depend on, in order */
  int32_t n_calls;
  int32_t *call_index; /* per call of the tape: its index in `calls`, or -1 */
};

static void destroy(struct cached_program *cached) {
  struct compiled_gradient *b = (struct compiled_gradient *)cached;
  situ_session_release(b->session);
  situ_graph_release(b->graph);
  free(b->feeds);
  free(b->origins);
  free(b->fetches);
  free(b->fetch_of);
  free(b);
}

static void shrink(struct cached_program *cached) {
  session_programs_free_idle(((struct compiled_gradient *)cached)->session);
}

void tape_gradient_init(struct tape_gradient_cache *cache) {
  *cache = (struct tape_gradient_cache){
      .programs = {
          .capacity = MAX_CACHED, .program_budget = 4 << 20, .destroy = destroy, .shrink = shrink}};
}

/* ---- Selecting the calls ---- */

/* Returns the call of the segment that produced a tracked tensor, or -1. */
static int32_t producer_of(const struct segment *s, int32_t tracked) {
  const int32_t call = tracked < 0 ? -1 : s->tape->tracked[tracked].call;
  return call >= s->first && call < s->end ? call : -1;
}

static situ_status select_calls(struct segment *s, struct arena *arena) {
  const situ_tape *tape = s->tape;
  const int32_t n = s->end - s->first;
  s->call_index = ARENA_ARRAY(arena, int32_t, n + 1);
  s->calls = ARENA_ARRAY(arena, int32_t, n + 1);
  if (arena->failed) return NO_MEMORY();
  for (int i = 0; i < s->n_targets; i++) {
    const int32_t call = producer_of(s, tape_find(tape, s->targets[i]));
    if (call >= 0) s->call_index[call - s->first] = 1;
  }
  for (int32_t c = s->end - 1; c >= s->first; c--)
    for (int i = 0; s->call_index[c - s->first] && i < tape->calls[c].n_in; i++) {
      const int32_t from = producer_of(s, tape->calls[c].from[i]);
      if (from >= 0) s->call_index[from - s->first] = 1;
    }
  for (int32_t c = 0; c < n; c++) {
    const bool needed = s->call_index[c];
    s->call_index[c] = needed ? s->n_calls : -1;
    if (needed) s->calls[s->n_calls++] = s->first + c;
  }
  return NULL;
}

static bool is_host(const struct recorded_call *call, int input) {
  const situ_op_port *port = schema_port(schema_get(call->op), input, call->n_in);
  return port && port->is_host;
}

/* ---- Cache keys ---- */

static void append_int(struct program_key *key, int64_t number) {
  program_key_append(key, &number, sizeof number);
}

static void append_input(const struct segment *s, struct program_key *key,
                         const struct recorded_call *call, int i) {
  const int32_t from = call->from[i], producer = producer_of(s, from);
  append_int(key, producer < 0 ? -1 : s->call_index[producer - s->first]);
  append_int(key, producer < 0 ? from : s->tape->tracked[from].output);
  if (producer >= 0) return;
  program_key_append_type(key, call->tensors[i]);
  if (is_host(call, i)) program_key_append_elements(key, call->tensors[i]);
}

static int64_t device_of(const situ_tensor *tensor) {
  return tensor->buffer->device ? tensor->buffer->device->number : -1;
}

static void append_end(const struct segment *s, struct program_key *key,
                       const situ_tensor *tensor) {
  const int32_t at = tape_find(s->tape, tensor), producer = producer_of(s, at);
  append_int(key, producer < 0 ? -1 : s->call_index[producer - s->first]);
  append_int(key, producer < 0 ? at : s->tape->tracked[at].output);
  if (producer < 0) program_key_append_type(key, tensor);
}

static void make_key(const struct segment *s, struct program_key *key) {
  program_key_reset(key);
  for (int32_t k = 0; k < s->n_calls; k++) {
    const struct recorded_call *call = &s->tape->calls[s->calls[k]];
    append_int(key, (int64_t)call->op << 32 | call->n_in << 8 | call->n_attrs);
    append_int(key, call->n_out ? device_of(call->tensors[call->n_in]) : -1);
    for (int i = 0; i < call->n_in; i++) append_input(s, key, call, i);
    for (int i = 0; i < call->n_attrs; i++) program_key_append_attr(key, &call->attrs[i]);
  }
  append_int(key, -7);
  for (int i = 0; i < s->n_targets; i++) {
    append_end(s, key, s->targets[i]);
    append_int(key, s->gradients && s->gradients[i]);
  }
  append_int(key, s->sparse ? -10 : -9);
  for (int i = 0; i < s->n_sources; i++) append_end(s, key, s->sources[i]);
}

/* ---- Building the graph ---- */

struct builder {
  const struct segment *s;
  struct compiled_gradient *b;
  struct arena arena;
  situ_value *values;  /* per call: its first output */
  situ_value *leaves;  /* per tracked tensor: its placeholder */
  struct origin *from; /* per node before the gradients */
  int32_t n_from;
};

/* Sets the origin of the tensors of a node. */
static bool set_origin(struct builder *builder, situ_value value, struct origin origin) {
  if (value.node < 0) return true; /* the graph keeps the error */
  if (value.node >= builder->n_from) {
    const int32_t more = 2 * (value.node + 8);
    struct origin *from = realloc(builder->from, sizeof *from * (size_t)more);
    if (!from) return false;
    for (int32_t i = builder->n_from; i < more; i++) from[i] = (struct origin){-9, 0};
    builder->from = from;
    builder->n_from = more;
  }
  builder->from[value.node] = origin;
  return true;
}

static situ_status add_leaf(struct builder *builder, const situ_tensor *tensor,
                            struct origin origin, situ_value *out) {
  *out = situ_placeholder(builder->b->graph, NULL, tensor->type, tensor->shape);
  return set_origin(builder, *out, origin) ? NULL : NO_MEMORY();
}

/* Returns the value of a tensor, tracked or not. */
static situ_status value_of(struct builder *builder, int32_t tracked, situ_tensor *tensor,
                            struct origin origin, bool constant, situ_value *out) {
  const int32_t producer = producer_of(builder->s, tracked);
  if (producer >= 0) {
    *out = situ_value_output(builder->values[builder->s->call_index[producer - builder->s->first]],
                             builder->s->tape->tracked[tracked].output);
    return NULL;
  }
  if (tracked >= 0 && builder->leaves[tracked].graph) {
    *out = builder->leaves[tracked];
    return NULL;
  }
  if (constant && situ_tensor_data(tensor)) {
    *out = situ_constant_tensor(builder->b->graph, NULL, tensor);
    return NULL;
  }
  TRY(add_leaf(builder, tensor, origin, out));
  if (tracked >= 0) builder->leaves[tracked] = *out;
  return NULL;
}

static situ_status add_call(struct builder *builder, int32_t k) {
  const struct recorded_call *call = &builder->s->tape->calls[builder->s->calls[k]];
  situ_graph *graph = builder->b->graph;
  situ_value *inputs = ARENA_ARRAY(&builder->arena, situ_value, call->n_in + 1);
  if (!inputs) return NO_MEMORY();
  for (int i = 0; i < call->n_in; i++)
    TRY(value_of(builder, call->from[i], call->tensors[i], (struct origin){k, i}, is_host(call, i),
                 &inputs[i]));
  if (call->n_out) situ_device_push(graph, situ_tensor_device(call->tensors[call->n_in]));
  builder->values[k] = situ_emit(graph, schema_get(call->op)->op->name, NULL, inputs, call->n_in,
                                 call->attrs, call->n_attrs);
  if (call->n_out) situ_device_pop(graph);
  return set_origin(builder, builder->values[k], (struct origin){k, call->n_in}) ? NULL
                                                                                 : NO_MEMORY();
}

static situ_status add_gradients(struct builder *builder, situ_value *out,
                                 situ_indexed_slices *slices) {
  const struct segment *s = builder->s;
  situ_value *ys = ARENA_ARRAY(&builder->arena, situ_value, 2 * s->n_targets + 1);
  situ_value *xs = ARENA_ARRAY(&builder->arena, situ_value, s->n_sources + 1);
  if (builder->arena.failed) return NO_MEMORY();
  situ_value *grads = ys + s->n_targets;
  for (int i = 0; i < s->n_targets; i++) {
    TRY(value_of(builder, tape_find(s->tape, s->targets[i]), s->targets[i],
                 (struct origin){FROM_TARGET, i}, false, &ys[i]));
    grads[i] = (situ_value){builder->b->graph, -1, -1};
    if (s->gradients && s->gradients[i])
      TRY(add_leaf(builder, s->gradients[i], (struct origin){FROM_GRADIENT, i}, &grads[i]));
  }
  for (int i = 0; i < s->n_sources; i++)
    TRY(value_of(builder, tape_find(s->tape, s->sources[i]), s->sources[i],
                 (struct origin){FROM_SOURCE, i}, false, &xs[i]));
  TRY(situ_graph_status(builder->b->graph));
  builder->b->first = situ_graph_count(builder->b->graph);
  const situ_gradient_options options = {.slices = s->sparse ? slices : NULL};
  return situ_gradients(builder->b->graph, ys, s->n_targets, xs, s->n_sources, grads, &options,
                        out);
}

static void add_feed(struct builder *builder, struct edge edge) {
  struct compiled_gradient *b = builder->b;
  if (edge.node >= b->first || edge.node >= builder->n_from || builder->from[edge.node].call == -9)
    return;
  for (int i = 0; i < b->n_feeds; i++)
    if (b->feeds[i].value.node == edge.node && b->feeds[i].value.output == edge.output) return;
  b->feeds[b->n_feeds].value = (situ_value){b->graph, edge.node, edge.output};
  b->origins[b->n_feeds] = builder->from[edge.node];
  b->origins[b->n_feeds++].slot += edge.output;
}

/* Adds a fetch and returns its index; -1 for an invalid value. */
static int fetch(struct builder *builder, situ_value value) {
  if (!situ_value_valid(value)) return -1;
  builder->b->fetches[builder->b->n_fetches] = value;
  add_feed(builder, (struct edge){value.node, value.output});
  return builder->b->n_fetches++;
}

/* Feeds the values that gradient nodes read from the calls; fetches all gradients that exist. */
static situ_status find_feeds(struct builder *builder, const situ_value *gradients,
                              const situ_indexed_slices *slices) {
  struct compiled_gradient *b = builder->b;
  size_t most = 2 * (size_t)builder->s->n_sources + 1;
  for (int32_t i = b->first; i < b->graph->n_nodes; i++)
    most += (size_t)b->graph->nodes[i]->n_inputs;
  b->feeds = calloc(most, sizeof *b->feeds);
  b->origins = calloc(most, sizeof *b->origins);
  b->fetches = calloc(2 * (size_t)builder->s->n_sources + 1, sizeof *b->fetches);
  b->fetch_of = calloc(2 * (size_t)builder->s->n_sources + 1, sizeof *b->fetch_of);
  if (!b->feeds || !b->origins || !b->fetches || !b->fetch_of) return NO_MEMORY();
  for (int32_t i = b->first; i < b->graph->n_nodes; i++) {
    const struct node *node = b->graph->nodes[i];
    for (int32_t k = 0; k < node->n_inputs; k++) add_feed(builder, node->inputs[k]);
  }
  b->n_sources = builder->s->n_sources;
  for (int i = 0; i < b->n_sources; i++) {
    const bool sparse = slices[i].values.graph && situ_value_valid(slices[i].values);
    b->fetch_of[i] = fetch(builder, sparse ? slices[i].values : gradients[i]);
    b->fetch_of[b->n_sources + i] = sparse ? fetch(builder, slices[i].indices) : -1;
  }
  return NULL;
}

static situ_status build(struct builder *builder) {
  const struct segment *s = builder->s;
  struct compiled_gradient *b = builder->b;
  b->graph = situ_graph_create();
  builder->values = ARENA_ARRAY(&builder->arena, situ_value, s->n_calls + 1);
  builder->leaves = ARENA_ARRAY(&builder->arena, situ_value, s->tape->n_tracked + 1);
  situ_value *gradients = ARENA_ARRAY(&builder->arena, situ_value, s->n_sources + 1);
  situ_indexed_slices *slices = ARENA_ARRAY(&builder->arena, situ_indexed_slices, s->n_sources + 1);
  if (!b->graph || builder->arena.failed) return NO_MEMORY();
  for (int32_t k = 0; k < s->n_calls; k++) TRY(add_call(builder, k));
  TRY(add_gradients(builder, gradients, slices));
  TRY(find_feeds(builder, gradients, slices));
  const situ_config config = {.allow_soft_placement = true,
                              .check_numerics = eager_checks(s->tape->eager)};
  TRY(situ_session_create(b->graph, &config, &b->session));
  b->session->is_inner = true;
  return NULL;
}

/* ---- Running ---- */

static situ_tensor *tensor_at(const struct segment *s, struct origin origin) {
  if (origin.call == FROM_TARGET) return s->targets[origin.slot];
  if (origin.call == FROM_GRADIENT) return s->gradients[origin.slot];
  if (origin.call == FROM_SOURCE) return s->sources[origin.slot];
  return s->tape->calls[s->calls[origin.call]].tensors[origin.slot];
}

/* Returns the value of a constant node; NULL for other nodes. */
static situ_tensor *constant_of(const struct node *node) {
  for (int a = 0; a < node->schema->n_attrs && !node->n_inputs; a++)
    if (node->attrs[a].kind == SITU_ATTR_TENSOR) return node->attrs[a].tensor;
  return NULL;
}

/* Collects the inputs of a gradient node: results of gradient nodes, tensors of the calls,
 * constants. */
static situ_status find_inputs(const struct compiled_gradient *b, const struct node *node,
                               situ_tensor **tensors, const int32_t *place, const struct segment *s,
                               situ_tensor **inputs) {
  for (int32_t k = 0; k < node->n_inputs; k++) {
    const struct edge edge = node->inputs[k];
    inputs[k] = edge.node >= b->first ? tensors[place[edge.node - b->first] + edge.output] : NULL;
    for (int f = 0; f < b->n_feeds && !inputs[k]; f++)
      if (b->feeds[f].value.node == edge.node && b->feeds[f].value.output == edge.output)
        inputs[k] = tensor_at(s, b->origins[f]);
    if (!inputs[k]) inputs[k] = constant_of(b->graph->nodes[edge.node]);
    if (!inputs[k])
      return INTERNAL("A gradient node reads a value that is neither fed nor computed.");
  }
  return NULL;
}

/* Records each gradient node as a call on the other tapes. */
static situ_status record_gradients(const struct compiled_gradient *b, situ_tensor **tensors,
                                    const int32_t *place, const struct segment *s,
                                    situ_tape *const *others, int n_others, struct arena *arena) {
  for (int32_t i = b->first; i < b->graph->n_nodes; i++) {
    const struct node *node = b->graph->nodes[i];
    int n_attrs = 0;
    if (!node->n_inputs) continue;
    situ_tensor **inputs = ARENA_ARRAY(arena, situ_tensor *, node->n_inputs);
    situ_attr *attrs = ARENA_ARRAY(arena, situ_attr, node->schema->n_attrs + 1);
    if (arena->failed) return NO_MEMORY();
    TRY(find_inputs(b, node, tensors, place, s, inputs));
    for (int a = 0; a < node->schema->n_attrs; a++)
      if (node->attrs[a].kind != SITU_ATTR_NONE && !node->schema->attrs[a].inferred)
        attrs[n_attrs++] = attr_public(node->schema->attrs[a].name, &node->attrs[a]);
    const situ_call call = {.op = node->schema->id,
                            .inputs = inputs,
                            .n_inputs = node->n_inputs,
                            .attrs = attrs,
                            .n_attrs = n_attrs};
    for (int t = 0; t < n_others; t++)
      TRY(situ_tape_record(others[t], &call, &tensors[place[i - b->first]], node->n_outputs));
  }
  return NULL;
}

/* Computes all intermediate gradients and records them on the other tapes. */
static situ_status run_recorded(struct compiled_gradient *b, const struct segment *s,
                                situ_tape *const *others, int n_others, situ_tensor **results,
                                struct arena *arena) {
  const int32_t n = b->graph->n_nodes - b->first;
  int32_t *place = ARENA_ARRAY(arena, int32_t, n + 1), sum_gradients = 0;
  if (!place) return NO_MEMORY();
  for (int32_t i = 0; i < n; i++) {
    place[i] = sum_gradients;
    sum_gradients += b->graph->nodes[b->first + i]->n_outputs;
  }
  situ_value *values = ARENA_ARRAY(arena, situ_value, sum_gradients + b->n_fetches + 1);
  situ_tensor **tensors = ARENA_ARRAY(arena, situ_tensor *, sum_gradients + b->n_fetches + 1);
  if (arena->failed) return NO_MEMORY();
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = 0; k < b->graph->nodes[b->first + i]->n_outputs; k++)
      values[place[i] + k] = (situ_value){b->graph, b->first + i, k};
  TRY(situ_session_run_on_device(b->session, b->feeds, b->n_feeds, values, sum_gradients, tensors));
  situ_status status = record_gradients(b, tensors, place, s, others, n_others, arena);
  for (int i = 0; i < b->n_fetches && !status; i++) {
    const situ_value v = b->fetches[i];
    situ_tensor *found = v.node >= b->first ? tensors[place[v.node - b->first] + v.output] : NULL;
    for (int f = 0; f < b->n_feeds && !found; f++)
      if (b->feeds[f].value.node == v.node && b->feeds[f].value.output == v.output)
        found = tensor_at(s, b->origins[f]);
    results[i] = situ_tensor_retain(found);
  }
  for (int32_t i = 0; i < sum_gradients; i++) situ_tensor_release(tensors[i]);
  return status;
}

/* Logs gradient nodes as eager calls, as TensorFlow does: those fetched, and their dependencies. */
static situ_status log_calls(const struct compiled_gradient *b, situ_eager *eager) {
  if (!eager_logs(eager)) return NULL;
  const struct situ_graph *graph = b->graph;
  char *runs = calloc((size_t)graph->n_nodes + 1, 1);
  if (!runs) return NO_MEMORY();
  for (int i = 0; i < b->n_fetches; i++) runs[b->fetches[i].node] = 1;
  for (int32_t i = graph->n_nodes - 1; i >= b->first; i--)
    for (int32_t k = 0; runs[i] && k < graph->nodes[i]->n_inputs; k++)
      runs[graph->nodes[i]->inputs[k].node] = 1;
  pthread_mutex_lock(&b->session->lock);
  situ_status status = session_place(b->session);
  for (int32_t i = b->first; i < graph->n_nodes && !status; i++)
    if (runs[i]) status = eager_log_node(eager, graph->nodes[i], b->session->placement.device[i]);
  pthread_mutex_unlock(&b->session->lock);
  free(runs);
  return status;
}

static situ_status compile(const struct segment *s, struct compiled_gradient **out) {
  struct compiled_gradient *b = calloc(1, sizeof *b);
  struct builder builder = {.s = s, .b = b};
  situ_status status = b ? build(&builder) : NO_MEMORY();
  arena_free(&builder.arena);
  free(builder.from);
  if (!status) status = log_calls(b, s->tape->eager);
  if (status && b) destroy(&b->cached);
  if (!status) *out = b;
  return status;
}

/* Guards all caches, their feeds and the key, which is reused to avoid allocations. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct program_key key = {.bytes = key.inline_buffer, .capacity = sizeof key.inline_buffer};

static situ_status find(const struct segment *s, struct compiled_gradient **out) {
  struct tape_gradient_cache *cache = eager_gradient_cache(s->tape->eager);
  if (atomic_exchange(&cache->is_stale, false)) program_cache_clear(&cache->programs);
  make_key(s, &key);
  if (key.failed) return NO_MEMORY();
  *out =
      (struct compiled_gradient *)program_cache_find(&cache->programs, &key, &cache->recent, NULL);
  if (*out) return NULL;
  TRY(compile(s, out));
  (*out)->cached.program_bytes = /* about as much again for the session and its program */
      2 * (sizeof **out + sizeof *(*out)->session + program_cache_graph_bytes((*out)->graph));
  return program_cache_add(&cache->programs, &key, &cache->recent, &(*out)->cached);
}

void tape_gradient_clear(struct tape_gradient_cache *cache) {
  cache->is_stale = true;
  if (pthread_mutex_trylock(&lock)) return;
  program_cache_clear(&cache->programs);
  cache->is_stale = false;
  pthread_mutex_unlock(&lock);
}

bool tape_gradient_after_fork(void) {
  static int seen;
  static bool was_used;
  if (seen == fork_generation()) return was_used; /* called once per context */
  seen = fork_generation();
  was_used = pthread_mutex_trylock(&lock);
  if (was_used) program_key_init(&key);
  pthread_mutex_init(&lock, NULL);
  return was_used;
}

static void count_idle_memory(const struct segment *s, struct compiled_gradient *b) {
  struct program_cache *programs = &eager_gradient_cache(s->tape->eager)->programs;
  b->cached.last_run = ++programs->runs;
  program_cache_set_idle(programs, &b->cached, session_programs_idle_bytes(b->session));
}

static situ_status run(struct segment *s, situ_tape *const *others, int n_others,
                       situ_tensor **results, situ_tensor **indices, struct arena *arena) {
  struct compiled_gradient *b = NULL;
  TRY(select_calls(s, arena));
  TRY(find(s, &b));
  situ_tensor **found = ARENA_ARRAY(arena, situ_tensor *, b->n_fetches + 1);
  if (!found) return NO_MEMORY();
  for (int i = 0; i < b->n_feeds; i++) b->feeds[i].tensor = tensor_at(s, b->origins[i]);
  situ_status status = NULL;
  if (b->n_fetches)
    status = n_others ? run_recorded(b, s, others, n_others, found, arena)
                      : situ_session_run_on_device(b->session, b->feeds, b->n_feeds, b->fetches,
                                                   b->n_fetches, found);
  count_idle_memory(s, b);
  if (status) return status;
  for (int i = 0; i < s->n_sources; i++) {
    const int sparse = b->fetch_of[s->n_sources + i];
    results[i] = b->fetch_of[i] < 0 ? NULL : found[b->fetch_of[i]];
    if (indices) indices[i] = sparse < 0 ? NULL : found[sparse];
  }
  return NULL;
}

situ_status tape_gradient_run(situ_tape *tape, const int32_t calls[2], situ_tensor *const *targets,
                              int n_targets, situ_tensor *const *gradients,
                              situ_tensor *const *sources, int n_sources, situ_tape *const *others,
                              int n_others, situ_tensor **results, situ_tensor **indices) {
  struct segment s = {.tape = tape,
                      .first = calls[0],
                      .end = calls[1],
                      .targets = targets,
                      .gradients = gradients,
                      .sources = sources,
                      .n_targets = n_targets,
                      .n_sources = n_sources,
                      .sparse = indices};
  struct arena arena = {0};
  pthread_mutex_lock(&lock);
  const situ_status status = run(&s, others, n_others, results, indices, &arena);
  pthread_mutex_unlock(&lock);
  arena_free(&arena);
  return status;
}
