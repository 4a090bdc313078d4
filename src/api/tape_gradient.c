/* SPDX-License-Identifier: Apache-2.0
 * tape_gradient.c: the gradient of a tape segment as a graph: the calls again, never run but fed
 * with what they gave, and their gradients. It is compiled once and found again by what makes up
 * the calls. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "api/tape.h"
#include "base/fork.h"
#include "base/strbuf.h"
#include "graph/graph.h"
#include "situ/gradient.h"
#include "tensor/tensor.h"

enum { MOST_KEPT = 512 };

/* Where the tensor of a value of the graph is found: slot `slot` of the k-th call of the stretch,
 * or, with k below 0, a target or a gradient. */
enum { FROM_TARGET = -1, FROM_GRADIENT = -2, FROM_SOURCE = -3 };
struct origin {
  int32_t call, slot;
};

struct backward {
  struct backward *next;
  uint64_t hash;
  struct strbuf key;
  situ_graph *graph;
  situ_session *session;
  int32_t first; /* the first node of the gradients */
  situ_feed *feeds;
  struct origin *origins; /* by feed */
  int n_feeds;
  situ_value *fetches;
  int *fetch_of; /* by source: its fetch, or -1; then, by source: that of the numbers of its rows */
  int n_fetches, n_sources;
};

struct tape_gradient_cache {
  struct backward *items;
  int count;
};

/* What is asked for. */
struct stretch {
  const situ_tape *tape;
  int32_t first, end;
  situ_tensor *const *targets, *const *gradients, *const *sources;
  int n_targets, n_sources;
  bool rows;      /* gradients may be rows and their numbers */
  int32_t *calls; /* those that the targets depend on, in order */
  int32_t n_calls;
  int32_t *number; /* by call of the tape: its place in `calls`, or -1 */
};

static void destroy(struct backward *b) {
  situ_session_release(b->session);
  situ_graph_release(b->graph);
  strbuf_free(&b->key);
  free(b->feeds);
  free(b->origins);
  free(b->fetches);
  free(b->fetch_of);
  free(b);
}

void tape_gradient_clear(struct tape_gradient_cache **cache) {
  while (*cache && (*cache)->items) {
    struct backward *b = (*cache)->items;
    (*cache)->items = b->next;
    destroy(b);
  }
  free(*cache);
  *cache = NULL;
}

/* Which calls */

/* The call of the stretch that made a tracked tensor, or -1. */
static int32_t maker_of(const struct stretch *s, int32_t tracked) {
  const int32_t call = tracked < 0 ? -1 : s->tape->tracked[tracked].call;
  return call >= s->first && call < s->end ? call : -1;
}

static situ_status choose_calls(struct stretch *s, struct arena *arena) {
  const situ_tape *tape = s->tape;
  const int32_t n = s->end - s->first;
  s->number = ARENA_ARRAY(arena, int32_t, n + 1);
  s->calls = ARENA_ARRAY(arena, int32_t, n + 1);
  if (arena->failed) return NO_MEMORY();
  for (int i = 0; i < s->n_targets; i++) {
    const int32_t call = maker_of(s, tape_find(tape, s->targets[i]));
    if (call >= 0) s->number[call - s->first] = 1;
  }
  for (int32_t c = s->end - 1; c >= s->first; c--)
    for (int i = 0; s->number[c - s->first] && i < tape->calls[c].n_in; i++) {
      const int32_t from = maker_of(s, tape->calls[c].from[i]);
      if (from >= 0) s->number[from - s->first] = 1;
    }
  for (int32_t c = 0; c < n; c++) {
    const bool needed = s->number[c];
    s->number[c] = needed ? s->n_calls : -1;
    if (needed) s->calls[s->n_calls++] = s->first + c;
  }
  return NULL;
}

static bool is_host(const struct taped *call, int input) {
  const struct port *port = schema_port(schema_get(call->op), input, call->n_in);
  return port && port->is_host;
}

/* Keys */

static void put(struct strbuf *key, const void *data, size_t bytes) {
  strbuf_append_n(key, data, bytes);
}

static void put_number(struct strbuf *key, int64_t number) { put(key, &number, sizeof number); }

static void put_tensor(struct strbuf *key, const situ_tensor *tensor) {
  put_number(key, tensor->type);
  put_number(key, tensor->shape.rank);
  put(key, tensor->shape.dim, sizeof(int64_t) * (size_t)tensor->shape.rank);
}

static void put_attr(struct strbuf *key, const situ_attr *attr) {
  put(key, attr->name, strlen(attr->name) + 1);
  put_number(key, attr->integer);
  put(key, &attr->real, sizeof attr->real);
  if (attr->kind == SITU_ATTR_STRING || attr->kind == SITU_ATTR_FUNCTION)
    put(key, attr->text, strlen(attr->text) + 1);
  if (attr->kind == SITU_ATTR_SHAPES)
    put(key, attr->shapes, sizeof *attr->shapes * (size_t)attr->integer);
  if (attr->kind == SITU_ATTR_INTS || attr->kind == SITU_ATTR_TYPES)
    put(key, attr->integers, sizeof(int64_t) * (size_t)attr->integer);
  if (attr->kind == SITU_ATTR_FLOATS)
    put(key, attr->reals, sizeof *attr->reals * (size_t)attr->integer);
  if (attr->kind == SITU_ATTR_SHAPE) put(key, &attr->shape, sizeof attr->shape);
  if (attr->kind == SITU_ATTR_TENSOR) put_number(key, (int64_t)(intptr_t)attr->tensor);
}

static void put_input(const struct stretch *s, struct strbuf *key, const struct taped *call,
                      int i) {
  const int32_t from = call->from[i], maker = maker_of(s, from);
  put_number(key, maker < 0 ? -1 : s->number[maker - s->first]);
  put_number(key, maker < 0 ? from : s->tape->tracked[from].output);
  if (maker >= 0) return;
  put_tensor(key, call->tensors[i]);
  const void *data = is_host(call, i) ? situ_tensor_data(call->tensors[i]) : NULL;
  if (data) put(key, data, call->tensors[i]->bytes);
}

static int64_t device_of(const situ_tensor *tensor) {
  return tensor->buffer->device ? tensor->buffer->device->number : -1;
}

static void put_end(const struct stretch *s, struct strbuf *key, const situ_tensor *tensor) {
  const int32_t at = tape_find(s->tape, tensor), maker = maker_of(s, at);
  put_number(key, maker < 0 ? -1 : s->number[maker - s->first]);
  put_number(key, maker < 0 ? at : s->tape->tracked[at].output);
  if (maker < 0) put_tensor(key, tensor);
}

static void make_key(const struct stretch *s, struct strbuf *key) {
  for (int32_t k = 0; k < s->n_calls; k++) {
    const struct taped *call = &s->tape->calls[s->calls[k]];
    put_number(key, (int64_t)call->op << 32 | call->n_in << 8 | call->n_attrs);
    put_number(key, call->n_out ? device_of(call->tensors[call->n_in]) : -1);
    for (int i = 0; i < call->n_in; i++) put_input(s, key, call, i);
    for (int i = 0; i < call->n_attrs; i++) put_attr(key, &call->attrs[i]);
  }
  put_number(key, -7);
  for (int i = 0; i < s->n_targets; i++) {
    put_end(s, key, s->targets[i]);
    put_number(key, s->gradients && s->gradients[i]);
  }
  put_number(key, s->rows ? -10 : -9);
  for (int i = 0; i < s->n_sources; i++) put_end(s, key, s->sources[i]);
}

static uint64_t hash_of(const struct strbuf *key) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ key->length, word = 0;
  for (size_t i = 0; i < key->length; i += 8) {
    word = 0;
    memcpy(&word, key->data + i, key->length - i < 8 ? key->length - i : 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

/* Building */

struct building {
  const struct stretch *s;
  struct backward *b;
  struct arena arena;
  situ_value *values;  /* by call of the stretch: its first output */
  situ_value *leaves;  /* by tracked tensor: its placeholder */
  struct origin *from; /* by node of the forward part */
  int32_t n_from;
};

/* Remembers where the tensors of the last node come from. */
static bool note(struct building *m, situ_value value, struct origin origin) {
  if (value.node < 0) return true; /* the graph holds the error */
  if (value.node >= m->n_from) {
    const int32_t more = 2 * (value.node + 8);
    struct origin *from = realloc(m->from, sizeof *from * (size_t)more);
    if (!from) return false;
    for (int32_t i = m->n_from; i < more; i++) from[i] = (struct origin){-9, 0};
    m->from = from;
    m->n_from = more;
  }
  m->from[value.node] = origin;
  return true;
}

static situ_status add_leaf(struct building *m, const situ_tensor *tensor, struct origin origin,
                            situ_value *out) {
  *out = situ_placeholder(m->b->graph, NULL, tensor->type, tensor->shape);
  return note(m, *out, origin) ? NULL : NO_MEMORY();
}

/* The value of a tensor that is tracked or not. */
static situ_status value_of(struct building *m, int32_t tracked, situ_tensor *tensor,
                            struct origin origin, bool constant, situ_value *out) {
  const int32_t maker = maker_of(m->s, tracked);
  if (maker >= 0) {
    *out = situ_value_output(m->values[m->s->number[maker - m->s->first]],
                             m->s->tape->tracked[tracked].output);
    return NULL;
  }
  if (tracked >= 0 && m->leaves[tracked].graph) {
    *out = m->leaves[tracked];
    return NULL;
  }
  if (constant && situ_tensor_data(tensor)) {
    *out = situ_constant_tensor(m->b->graph, NULL, tensor);
    return NULL;
  }
  TRY(add_leaf(m, tensor, origin, out));
  if (tracked >= 0) m->leaves[tracked] = *out;
  return NULL;
}

static situ_status add_call(struct building *m, int32_t k) {
  const struct taped *call = &m->s->tape->calls[m->s->calls[k]];
  situ_graph *graph = m->b->graph;
  situ_value *inputs = ARENA_ARRAY(&m->arena, situ_value, call->n_in + 1);
  if (!inputs) return NO_MEMORY();
  for (int i = 0; i < call->n_in; i++)
    TRY(value_of(m, call->from[i], call->tensors[i], (struct origin){k, i}, is_host(call, i),
                 &inputs[i]));
  if (call->n_out) situ_device_push(graph, situ_tensor_device(call->tensors[call->n_in]));
  m->values[k] = situ_emit(graph, schema_get(call->op)->op->name, NULL, inputs, call->n_in,
                           call->attrs, call->n_attrs);
  if (call->n_out) situ_device_pop(graph);
  return note(m, m->values[k], (struct origin){k, call->n_in}) ? NULL : NO_MEMORY();
}

static situ_status add_gradients(struct building *m, situ_value *out, situ_indexed_slices *slices) {
  const struct stretch *s = m->s;
  situ_value *ys = ARENA_ARRAY(&m->arena, situ_value, 2 * s->n_targets + 1);
  situ_value *xs = ARENA_ARRAY(&m->arena, situ_value, s->n_sources + 1);
  if (m->arena.failed) return NO_MEMORY();
  situ_value *grads = ys + s->n_targets;
  for (int i = 0; i < s->n_targets; i++) {
    TRY(value_of(m, tape_find(s->tape, s->targets[i]), s->targets[i],
                 (struct origin){FROM_TARGET, i}, false, &ys[i]));
    grads[i] = (situ_value){m->b->graph, -1, -1};
    if (s->gradients && s->gradients[i])
      TRY(add_leaf(m, s->gradients[i], (struct origin){FROM_GRADIENT, i}, &grads[i]));
  }
  for (int i = 0; i < s->n_sources; i++)
    TRY(value_of(m, tape_find(s->tape, s->sources[i]), s->sources[i],
                 (struct origin){FROM_SOURCE, i}, false, &xs[i]));
  TRY(situ_graph_status(m->b->graph));
  m->b->first = situ_graph_count(m->b->graph);
  const situ_gradient_options options = {.slices = s->rows ? slices : NULL};
  return situ_gradients(m->b->graph, ys, s->n_targets, xs, s->n_sources, grads, &options, out);
}

static void need(struct building *m, struct edge edge) {
  struct backward *b = m->b;
  if (edge.node >= b->first || edge.node >= m->n_from || m->from[edge.node].call == -9) return;
  for (int i = 0; i < b->n_feeds; i++)
    if (b->feeds[i].value.node == edge.node && b->feeds[i].value.output == edge.output) return;
  b->feeds[b->n_feeds].value = (situ_value){b->graph, edge.node, edge.output};
  b->origins[b->n_feeds] = m->from[edge.node];
  b->origins[b->n_feeds++].slot += edge.output;
}

/* The number of a new fetch; -1 for a value that is not there. */
static int fetch(struct building *m, situ_value value) {
  if (!situ_value_valid(value)) return -1;
  m->b->fetches[m->b->n_fetches] = value;
  need(m, (struct edge){value.node, value.output});
  return m->b->n_fetches++;
}

/* What the gradients read of the calls is fed; every gradient that exists is fetched. */
static situ_status find_feeds(struct building *m, const situ_value *gradients,
                              const situ_indexed_slices *slices) {
  struct backward *b = m->b;
  size_t most = 2 * (size_t)m->s->n_sources + 1;
  for (int32_t i = b->first; i < b->graph->n_nodes; i++)
    most += (size_t)b->graph->nodes[i]->n_inputs;
  b->feeds = calloc(most, sizeof *b->feeds);
  b->origins = calloc(most, sizeof *b->origins);
  b->fetches = calloc(2 * (size_t)m->s->n_sources + 1, sizeof *b->fetches);
  b->fetch_of = calloc(2 * (size_t)m->s->n_sources + 1, sizeof *b->fetch_of);
  if (!b->feeds || !b->origins || !b->fetches || !b->fetch_of) return NO_MEMORY();
  for (int32_t i = b->first; i < b->graph->n_nodes; i++) {
    const struct node *node = b->graph->nodes[i];
    for (int32_t k = 0; k < node->n_inputs; k++) need(m, node->inputs[k]);
  }
  b->n_sources = m->s->n_sources;
  for (int i = 0; i < b->n_sources; i++) {
    const bool rows = slices[i].values.graph && situ_value_valid(slices[i].values);
    b->fetch_of[i] = fetch(m, rows ? slices[i].values : gradients[i]);
    b->fetch_of[b->n_sources + i] = rows ? fetch(m, slices[i].indices) : -1;
  }
  return NULL;
}

static situ_status build(struct building *m) {
  const struct stretch *s = m->s;
  struct backward *b = m->b;
  b->graph = situ_graph_create();
  m->values = ARENA_ARRAY(&m->arena, situ_value, s->n_calls + 1);
  m->leaves = ARENA_ARRAY(&m->arena, situ_value, s->tape->n_tracked + 1);
  situ_value *gradients = ARENA_ARRAY(&m->arena, situ_value, s->n_sources + 1);
  situ_indexed_slices *slices = ARENA_ARRAY(&m->arena, situ_indexed_slices, s->n_sources + 1);
  if (!b->graph || m->arena.failed) return NO_MEMORY();
  for (int32_t k = 0; k < s->n_calls; k++) TRY(add_call(m, k));
  TRY(add_gradients(m, gradients, slices));
  TRY(find_feeds(m, gradients, slices));
  const situ_config config = {.allow_soft_placement = true,
                              .check_numerics = eager_checks(s->tape->eager)};
  TRY(situ_session_create(b->graph, &config, &b->session));
  b->session->is_inner = true;
  return NULL;
}

/* Running */

static situ_tensor *tensor_at(const struct stretch *s, struct origin origin) {
  if (origin.call == FROM_TARGET) return s->targets[origin.slot];
  if (origin.call == FROM_GRADIENT) return s->gradients[origin.slot];
  if (origin.call == FROM_SOURCE) return s->sources[origin.slot];
  return s->tape->calls[s->calls[origin.call]].tensors[origin.slot];
}

/* The value of a constant; NULL of another node. */
static situ_tensor *constant_of(const struct node *node) {
  for (int a = 0; a < node->schema->n_attrs && !node->n_inputs; a++)
    if (node->attrs[a].kind == SITU_ATTR_TENSOR) return node->attrs[a].tensor;
  return NULL;
}

/* What one node of the gradients reads: of others, of the calls, or a constant beside them. */
static situ_status find_inputs(const struct backward *b, const struct node *node,
                               situ_tensor **tensors, const int32_t *place, const struct stretch *s,
                               situ_tensor **inputs) {
  for (int32_t k = 0; k < node->n_inputs; k++) {
    const struct edge edge = node->inputs[k];
    inputs[k] = edge.node >= b->first ? tensors[place[edge.node - b->first] + edge.output] : NULL;
    for (int f = 0; f < b->n_feeds && !inputs[k]; f++)
      if (b->feeds[f].value.node == edge.node && b->feeds[f].value.output == edge.output)
        inputs[k] = tensor_at(s, b->origins[f]);
    if (!inputs[k]) inputs[k] = constant_of(b->graph->nodes[edge.node]);
    if (!inputs[k]) return INTERNAL("A gradient reads a value that is nowhere.");
  }
  return NULL;
}

/* Tells the other tapes what was computed: each node of the gradients as a call. */
static situ_status tell(const struct backward *b, situ_tensor **tensors, const int32_t *place,
                        const struct stretch *s, situ_tape *const *others, int n_others,
                        struct arena *arena) {
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

/* Computes everything that the gradients are made of, and tells the other tapes. */
static situ_status run_told(struct backward *b, const struct stretch *s, situ_tape *const *others,
                            int n_others, situ_tensor **results, struct arena *arena) {
  const int32_t n = b->graph->n_nodes - b->first;
  int32_t *place = ARENA_ARRAY(arena, int32_t, n + 1), total = 0;
  if (!place) return NO_MEMORY();
  for (int32_t i = 0; i < n; i++) {
    place[i] = total;
    total += b->graph->nodes[b->first + i]->n_outputs;
  }
  situ_value *values = ARENA_ARRAY(arena, situ_value, total + b->n_fetches + 1);
  situ_tensor **tensors = ARENA_ARRAY(arena, situ_tensor *, total + b->n_fetches + 1);
  if (arena->failed) return NO_MEMORY();
  for (int32_t i = 0; i < n; i++)
    for (int32_t k = 0; k < b->graph->nodes[b->first + i]->n_outputs; k++)
      values[place[i] + k] = (situ_value){b->graph, b->first + i, k};
  TRY(situ_session_run_on_device(b->session, b->feeds, b->n_feeds, values, total, tensors));
  situ_status status = tell(b, tensors, place, s, others, n_others, arena);
  for (int i = 0; i < b->n_fetches && !status; i++) {
    const situ_value v = b->fetches[i];
    situ_tensor *found = v.node >= b->first ? tensors[place[v.node - b->first] + v.output] : NULL;
    for (int f = 0; f < b->n_feeds && !found; f++)
      if (b->feeds[f].value.node == v.node && b->feeds[f].value.output == v.output)
        found = tensor_at(s, b->origins[f]);
    results[i] = situ_tensor_retain(found);
  }
  for (int32_t i = 0; i < total; i++) situ_tensor_release(tensors[i]);
  return status;
}

/* Logs the gradients as the eager calls that they are in TensorFlow: those that are fetched, and
 * what they are made of. */
static situ_status log_calls(const struct backward *b, situ_eager *eager) {
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

/* Compiles what was not asked for before. */
static situ_status make(struct stretch *s, const struct strbuf *key, uint64_t hash,
                        struct tape_gradient_cache **cache, struct backward **out) {
  if (*cache && (*cache)->count >= MOST_KEPT) tape_gradient_clear(cache);
  if (!*cache) *cache = calloc(1, sizeof **cache);
  struct backward *b = calloc(1, sizeof *b);
  struct building m = {.s = s, .b = b};
  situ_status status = b && *cache ? build(&m) : NO_MEMORY();
  arena_free(&m.arena);
  free(m.from);
  if (!status) {
    strbuf_append_n(&b->key, key->data, key->length);
    status = b->key.failed ? NO_MEMORY() : log_calls(b, s->tape->eager);
  }
  if (status) {
    if (b) destroy(b);
    return status;
  }
  b->hash = hash;
  b->next = (*cache)->items;
  (*cache)->items = b;
  (*cache)->count++;
  *out = b;
  return NULL;
}

static situ_status find(struct stretch *s, struct strbuf *key, struct backward **out) {
  struct tape_gradient_cache **cache = eager_backward(s->tape->eager);
  key->length = 0;
  make_key(s, key);
  if (key->failed) return NO_MEMORY();
  const uint64_t hash = hash_of(key);
  for (struct backward *b = *cache ? (*cache)->items : NULL; b; b = b->next)
    if (b->hash == hash && b->key.length == key->length &&
        !memcmp(b->key.data, key->data, key->length)) {
      *out = b;
      return NULL;
    }
  return make(s, key, hash, cache, out);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all caches and their feeds */
static struct strbuf key; /* with the lock; its memory serves the next call */

bool tape_gradient_after_fork(void) {
  static int seen;
  static bool was_used;
  if (seen == fork_generation()) return was_used; /* there are several contexts */
  seen = fork_generation();
  was_used = pthread_mutex_trylock(&lock);
  if (was_used) key = (struct strbuf){0};
  pthread_mutex_init(&lock, NULL);
  return was_used;
}

static situ_status run(struct stretch *s, situ_tape *const *others, int n_others,
                       situ_tensor **results, situ_tensor **indices, struct arena *arena) {
  struct backward *b = NULL;
  TRY(choose_calls(s, arena));
  TRY(find(s, &key, &b));
  situ_tensor **found = ARENA_ARRAY(arena, situ_tensor *, b->n_fetches + 1);
  if (!found) return NO_MEMORY();
  for (int i = 0; i < b->n_feeds; i++) b->feeds[i].tensor = tensor_at(s, b->origins[i]);
  if (b->n_fetches)
    TRY(n_others ? run_told(b, s, others, n_others, found, arena)
                 : situ_session_run_on_device(b->session, b->feeds, b->n_feeds, b->fetches,
                                              b->n_fetches, found));
  for (int i = 0; i < s->n_sources; i++) {
    const int rows = b->fetch_of[s->n_sources + i];
    results[i] = b->fetch_of[i] < 0 ? NULL : found[b->fetch_of[i]];
    if (indices) indices[i] = rows < 0 ? NULL : found[rows];
  }
  return NULL;
}

situ_status tape_gradient_run(situ_tape *tape, const int32_t calls[2], situ_tensor *const *targets,
                              int n_targets, situ_tensor *const *gradients,
                              situ_tensor *const *sources, int n_sources, situ_tape *const *others,
                              int n_others, situ_tensor **results, situ_tensor **indices) {
  struct stretch s = {.tape = tape,
                      .first = calls[0],
                      .end = calls[1],
                      .targets = targets,
                      .gradients = gradients,
                      .sources = sources,
                      .n_targets = n_targets,
                      .n_sources = n_sources,
                      .rows = indices};
  struct arena arena = {0};
  pthread_mutex_lock(&lock);
  const situ_status status = run(&s, others, n_others, results, indices, &arena);
  pthread_mutex_unlock(&lock);
  arena_free(&arena);
  return status;
}
