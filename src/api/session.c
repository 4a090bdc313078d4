/* SPDX-License-Identifier: Apache-2.0
 * session.c: implements situ_session: checks arguments, places the graph once per version, and runs
 * programs. */
#include "api/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "device/host_memory.h"
#include "device/registry.h"
#include "exec/store.h"
#include "exec/cancellation.h"
#include "host/thread_pool.h"
#include "place/placement_log.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static pthread_mutex_t sessions_lock = PTHREAD_MUTEX_INITIALIZER;
static struct situ_session *sessions; /* all sessions; guarded by sessions_lock */

static struct fork_handler all_fork;

static void init_locks(struct situ_session *session) {
  pthread_mutex_init(&session->lock, NULL);
  pthread_mutex_init(&session->state.lock, NULL);
  pthread_mutex_init(&session->resources.lock, NULL);
  pthread_mutex_init(&session->callee_lock, NULL);
  pthread_cond_init(&session->idle, NULL);
}

/* In a forked child the threads of the parent do not exist. Their programs are leaked, not freed,
 * since the forking thread may itself be in a run. If one of them held the lock, programs and
 * placement may be inconsistent. */
static void reset_after_fork(void *context) {
  struct situ_session *session = context;
  const bool was_locked = pthread_mutex_trylock(&session->lock);
  if (was_locked) {
    session_programs_init(session);
    session->placed = -1;
    session->placement_arena = (struct arena){0};
  } else {
    program_cache_forget(&session->programs);
  }
  init_locks(session);
}

/* Frees the idle memory of all sessions that no other thread has locked. */
static uint64_t reclaim_host_memory(void) {
  uint64_t bytes = 0;
  if (pthread_mutex_trylock(&sessions_lock)) return 0;
  for (struct situ_session *session = sessions; session; session = session->next) {
    if (pthread_mutex_trylock(&session->lock)) continue;
    bytes += program_cache_free_idle(&session->programs, NULL);
    pthread_mutex_unlock(&session->lock);
  }
  pthread_mutex_unlock(&sessions_lock);
  return bytes;
}

static void enlist(struct situ_session *session) {
  host_memory_set_reclaimer(reclaim_host_memory);
  fork_mutex_register(&sessions_lock, &all_fork);
  fork_register(&session->fork, reset_after_fork, session);
  pthread_mutex_lock(&sessions_lock);
  session->next = sessions;
  session->link = &sessions;
  if (sessions) sessions->link = &session->next;
  sessions = session;
  pthread_mutex_unlock(&sessions_lock);
}

static void delist(struct situ_session *session) {
  pthread_mutex_lock(&sessions_lock);
  *session->link = session->next;
  if (session->next) session->next->link = session->link;
  pthread_mutex_unlock(&sessions_lock);
  fork_unregister(&session->fork);
}

/* What the sessions other than `self` keep. */
struct idle_memory {
  uint64_t bytes, largest;
  struct situ_session *oldest; /* the one that ran least recently of those that keep memory */
  uint64_t last_used;          /* of that session */
};

/* Leaves out sessions whose lock is held: they are about to run. Must hold sessions_lock. */
static struct idle_memory count_idle_memory(const struct situ_session *self) {
  struct idle_memory found = {.largest = self->programs.largest_bytes};
  for (struct situ_session *other = sessions; other; other = other->next) {
    if (other == self || pthread_mutex_trylock(&other->lock)) continue;
    const struct program_cache *programs = &other->programs;
    found.bytes += programs->idle_bytes;
    if (programs->largest_bytes > found.largest) found.largest = programs->largest_bytes;
    if (programs->idle_bytes && (!found.oldest || other->last_used < found.last_used)) {
      found.oldest = other;
      found.last_used = other->last_used;
    }
    pthread_mutex_unlock(&other->lock);
  }
  return found;
}

void session_bound_idle_memory(struct situ_session *session) {
  if (pthread_mutex_trylock(&sessions_lock)) return; /* its holder may wait for the session */
  struct idle_memory found = count_idle_memory(session);
  while (found.oldest && found.bytes > MIN_IDLE_BYTES &&
         found.bytes / MAX_IDLE_FRAMES > found.largest &&
         session_programs_try_free_idle(found.oldest))
    found = count_idle_memory(session);
  pthread_mutex_unlock(&sessions_lock);
}

static bool environment_strict(void) {
  const char *strict = getenv("SITU_STRICT");
  return strict && *strict && strcmp(strict, "0") != 0;
}

static situ_status begin(struct situ_session *session, const situ_config *config) {
  TRY(registry_acquire(config ? &config->devices : NULL,
                       (config && config->strict) || environment_strict(), &session->devices));
  session->has_pressure_handler =
      calloc((size_t)session->devices->count, sizeof *session->has_pressure_handler);
  if (!session->has_pressure_handler) return NO_MEMORY();
  if (session->state.store) TRY(store_open(session->state.store));
  if (config && config->threads) thread_pool_set_threads(config->threads);
  if (session->log == LOG_GRAPH) TRY(placement_log_mapping(session->devices));
  return NULL;
}

/* Shares the variables and resources of a store. */
static situ_status use_store(struct situ_session *session, const situ_config *config) {
  session->task = strdup(config->task ? config->task : "");
  session->scope = config->scope ? strdup(config->scope) : NULL;
  if (!session->task || (config->scope && !session->scope)) return NO_MEMORY();
  session->state.store = situ_store_retain(config->store);
  session->state.task = session->task;
  session->state.scope = session->scope;
  session->services.resources = store_resources(config->store);
  return NULL;
}

situ_status situ_session_create(situ_graph *graph, const situ_config *config, situ_session **out) {
  if (!out) return INVALID("situ_session_create: `out` is NULL.");
  *out = NULL;
  if (!graph) return INVALID("situ_session_create: the graph is NULL.");
  struct situ_session *session = calloc(1, sizeof *session);
  if (!session) return NO_MEMORY();
  session->references = 1;
  session->placed = -1;
  session_programs_init(session);
  session->graph = situ_graph_retain(graph);
  if (config && config->log_device_placement)
    session->log = config->is_function ? LOG_FUNCTION : LOG_GRAPH;
  session->soft = config && config->allow_soft_placement;
  session->checked = config && config->check_numerics;
  init_locks(session);
  session->services = (struct services){.resources = &session->resources,
                                        .cancelled = &session->cancelled,
                                        .ask = host_ops_check_cancellation,
                                        .run = functions_run,
                                        .context = session,
                                        .logs = session->log != LOG_NOTHING};
  session->state.services = &session->services;
  enlist(session);
  situ_status status = config && config->store ? use_store(session, config) : NULL;
  if (!status) status = begin(session, config);
  if (status)
    situ_session_release(session);
  else
    *out = session;
  return status;
}

situ_session *situ_session_retain(situ_session *session) {
  if (session) __atomic_add_fetch(&session->references, 1, __ATOMIC_RELAXED);
  return session;
}

/* Frees everything on devices. Must hold the lock. */
static void drop_programs(struct situ_session *session) {
  if (session->devices && session->has_pressure_handler) session_programs_clear(session);
  state_clear(&session->state);
  resource_clear(&session->resources);
}

void situ_session_release(situ_session *session) {
  if (!session || __atomic_sub_fetch(&session->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  delist(session);
  functions_release(session);
  drop_programs(session);
  if (session->devices) registry_release();
  program_key_free(&session->key);
  arena_free(&session->placement_arena);
  situ_store_release(session->state.store);
  free(session->task);
  free(session->scope);
  free(session->has_pressure_handler);
  free(session->logged);
  situ_graph_release(session->graph);
  pthread_mutex_destroy(&session->lock);
  pthread_mutex_destroy(&session->state.lock);
  pthread_mutex_destroy(&session->resources.lock);
  pthread_mutex_destroy(&session->callee_lock);
  pthread_cond_destroy(&session->idle);
  free(session);
}

static int32_t count_active(const struct situ_session *session) {
  int32_t active = 0;
  for (const struct cached_program *c = session->programs.newest; c; c = c->older)
    active += c->active;
  return active;
}

/* Closes the session if no run is active. Must hold the lock. */
static void close_if_idle(struct situ_session *session) {
  session->closed = true;
  drop_programs(session);
  if (session->devices) registry_release();
  session->devices = NULL;
}

situ_status situ_session_close(situ_session *session) {
  if (!session) return INVALID("situ_session_close: the session is NULL.");
  pthread_mutex_lock(&session->lock);
  session->closed = true;
  session->cancelled = true;
  while (count_active(session)) pthread_cond_wait(&session->idle, &session->lock);
  close_if_idle(session);
  pthread_mutex_unlock(&session->lock);
  functions_close(session);
  return NULL;
}

static situ_status close_idle(struct situ_session *session) {
  situ_status status = NULL;
  pthread_mutex_lock(&session->lock);
  const int32_t active = count_active(session);
  if (active)
    status = situ_status_create(SITU_FAILED_PRECONDITION,
                                "Cannot close the session: %d run(s) are active.", active);
  else
    close_if_idle(session);
  pthread_mutex_unlock(&session->lock);
  return status;
}

situ_status session_close_all(void) {
  situ_status status = NULL;
  pthread_mutex_lock(&sessions_lock);
  for (struct situ_session *session = sessions; session && !status; session = session->next)
    status = close_idle(session);
  pthread_mutex_unlock(&sessions_lock);
  return status;
}

situ_status session_check_open(const struct situ_session *session) {
  if (!session->closed) return NULL;
  return situ_status_create(SITU_FAILED_PRECONDITION, "Attempted to use a closed Session.");
}

situ_status session_place(struct situ_session *session) {
  const struct situ_graph *graph = NULL;
  TRY(graph_snapshot(session->graph, &graph));
  if (session->placed == graph->n_nodes) {
    session->snapshot = graph; /* its shapes may be more specific */
    return NULL;
  }
  struct arena arena = {0};
  struct placement placement = {0};
  const struct place_options options = {
      .soft = session->soft,
      .any_task = session->state.store != NULL,
      .previous = session->placed > 0 ? session->placement.device : NULL,
      .n_previous = session->placed > 0 ? session->placed : 0};
  const situ_status status = place_graph(graph, session->devices, &options, &arena, &placement);
  if (status) {
    arena_free(&arena);
    return status;
  }
  arena_free(&session->placement_arena);
  session->placement_arena = arena;
  session->placement = placement;
  session->placed = graph->n_nodes;
  session->snapshot = graph;
  if (placement.warning) log_warn_once("%s", placement.warning);
  return session->log == LOG_GRAPH ? placement_log_nodes(&session->placement) : NULL;
}

situ_status session_check_value(const struct situ_session *session,
                                const struct situ_graph *snapshot, situ_value value,
                                const char *what, int index) {
  if (value.graph != session->graph)
    return INVALID("%s %d is %s.", what, index,
                   value.graph ? "a value of another graph than the session's"
                               : "no value: its graph is NULL");
  if (value.node < 0 || value.node >= snapshot->n_nodes)
    return INVALID("%s %d is not a value of the graph: node %d does not exist.", what, index,
                   value.node);
  const struct node *node = snapshot->nodes[value.node];
  const bool runs_only = value.output == SITU_ANY || (!value.output && !node->n_outputs);
  if (!runs_only && (value.output < 0 || value.output >= node->n_outputs))
    return INVALID("%s %d: node '%s' (%s) has no output %d.", what, index, node->name,
                   node->schema->op->name, value.output);
  return NULL;
}

situ_status session_check_feed(const struct situ_session *session,
                               const struct situ_graph *snapshot, const situ_feed *feed, int index,
                               bool allow_null) {
  TRY(session_check_value(session, snapshot, feed->value, "Feed", index));
  const struct node *node = snapshot->nodes[feed->value.node];
  if (!node->n_outputs || feed->value.output < 0)
    return INVALID("Feed %d: node '%s' has no output to feed.", index, node->name);
  const struct output *output = &node->outputs[feed->value.output];
  char want[256], have[256];
  if (!feed->tensor) {
    if (allow_null && shape_is_known(&output->shape)) return NULL;
    return INVALID("Feed %d: the tensor for '%s' is NULL.", index, node->name);
  }
  if (feed->tensor->type != output->type)
    return INVALID("Tensor '%s:%d' has type %s and cannot be fed a tensor of type %s.", node->name,
                   feed->value.output, situ_type_name(output->type),
                   situ_type_name(feed->tensor->type));
  if (!shape_compatible(&feed->tensor->shape, &output->shape))
    return INVALID("Cannot feed value of shape %s for Tensor '%s:%d', which has shape '%s'",
                   shape_print_python(&feed->tensor->shape, have), node->name, feed->value.output,
                   shape_print_python(&output->shape, want));
  return NULL;
}

/* Returns the number of the device that holds a fed tensor; 0: the host. */
static int32_t device_number(const situ_tensor *tensor) {
  const struct device *device = tensor ? tensor->buffer->device : NULL;
  return device ? device->number : 0;
}

static situ_status ask_feeds(struct situ_session *session, const struct situ_graph *snapshot,
                             const situ_feed *feeds, int n, bool allow_null,
                             struct run_request *out) {
  for (int i = 0; i < n; i++) {
    TRY(session_check_feed(session, snapshot, &feeds[i], i, allow_null));
    const struct edge edge = {feeds[i].value.node, feeds[i].value.output};
    const struct output *output = &snapshot->nodes[edge.node]->outputs[edge.output];
    out->tensors[i] = feeds[i].tensor;
    out->feeds[i] =
        (struct plan_feed){.edge = edge,
                           .type = output->type,
                           .shape = feeds[i].tensor ? feeds[i].tensor->shape : output->shape,
                           .tensor = feeds[i].tensor,
                           .device = device_number(feeds[i].tensor),
                           .donate = out->donate ? out->donate[i] : 0};
  }
  out->n_feeds = n;
  return NULL;
}

static situ_status read_request(struct situ_session *session, const situ_feed *feeds, int n_feeds,
                                const situ_value *fetches, int n_fetches, bool allow_null,
                                struct run_request *out) {
  const struct situ_graph *snapshot = NULL;
  TRY(graph_snapshot(session->graph, &snapshot));
  if (n_feeds < 0 || n_fetches < 0 || (n_feeds && !feeds) || (n_fetches && !fetches))
    return INVALID("A run needs %d feeds and %d fetches, but an array of them is NULL.", n_feeds,
                   n_fetches);
  const bool few = n_feeds <= 8 && n_fetches <= 8;
  out->feeds = few ? out->few_feeds : ARENA_ARRAY(&out->arena, struct plan_feed, n_feeds + 1);
  out->tensors = few ? out->few_tensors : ARENA_ARRAY(&out->arena, situ_tensor *, n_feeds + 1);
  out->fetches = few ? out->few_fetches : ARENA_ARRAY(&out->arena, struct edge, n_fetches + 1);
  if (out->arena.failed) return NO_MEMORY();
  TRY(ask_feeds(session, snapshot, feeds, n_feeds, allow_null, out));
  for (int i = 0; i < n_fetches; i++) {
    TRY(session_check_value(session, snapshot, fetches[i], "Fetch", i));
    const struct node *node = snapshot->nodes[fetches[i].node];
    out->fetches[i] = (struct edge){node->id, node->n_outputs ? fetches[i].output : -1};
  }
  out->n_fetches = n_fetches;
  return NULL;
}

static situ_status run(situ_session *session, const situ_feed *feeds, int n_feeds,
                       const situ_value *fetches, int n_fetches, bool keep_on_device,
                       const int *donate, situ_tensor **results) {
  for (int i = 0; results && i < n_fetches; i++) results[i] = NULL;
  if (!session) return INVALID("situ_session_run: the session is NULL.");
  if (!results && n_fetches > 0) return INVALID("situ_session_run: `results` is NULL.");
  struct run_request request;
  request.arena = (struct arena){0};
  request.keep_on_device = keep_on_device;
  request.donate = donate;
  situ_status status = read_request(session, feeds, n_feeds, fetches, n_fetches, false, &request);
  if (!status) status = steps_run(session, &request, results);
  arena_free(&request.arena);
  return status;
}

situ_status situ_session_run(situ_session *session, const situ_feed *feeds, int n_feeds,
                             const situ_value *fetches, int n_fetches, situ_tensor **results) {
  return run(session, feeds, n_feeds, fetches, n_fetches, false, NULL, results);
}

situ_status situ_session_run_on_device(situ_session *session, const situ_feed *feeds, int n_feeds,
                                       const situ_value *fetches, int n_fetches,
                                       situ_tensor **results) {
  return run(session, feeds, n_feeds, fetches, n_fetches, true, NULL, results);
}

situ_status situ_session_run_with(situ_session *session, const situ_run_options *options,
                                  const situ_feed *feeds, int n_feeds, const situ_value *fetches,
                                  int n_fetches, situ_tensor **results) {
  if (!options) return situ_session_run(session, feeds, n_feeds, fetches, n_fetches, results);
  struct cancellation cancellation = {.trace = options->trace,
                                      .global_trace = atomic_load(&global_trace),
                                      .stop = options->stop,
                                      .context = options->context,
                                      .timeout_ms = options->timeout_ms};
  struct cancellation *before = cancellation_current;
  cancellation_begin(&cancellation);
  cancellation_current = &cancellation;
  const situ_status status = run(session, feeds, n_feeds, fetches, n_fetches,
                                 options->keep_on_device, options->donate, results);
  cancellation_current = before;
  return status;
}

situ_status situ_session_eval(situ_session *session, situ_value value, situ_tensor **result) {
  return situ_session_run(session, NULL, 0, &value, 1, result);
}
