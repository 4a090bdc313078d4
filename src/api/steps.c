/* SPDX-License-Identifier: Apache-2.0
 * steps.c: runs a step: one program, or several in sequence where a shape depends on a computed
 * value. */
#include <string.h>

#include "api/numerics.h"
#include "api/session.h"
#include "exec/cost_log.h"
#include "tensor/tensor.h"

/* A program in use, with an idle frame or NULL. */
struct acquired {
  struct cached_program *cached;
  struct frame *frame;
};

static situ_status acquire_program(struct situ_session *session, const struct run_request *request,
                                   const struct program *before, struct acquired *out) {
  pthread_mutex_lock(&session->lock);
  situ_status status = session_check_open(session);
  if (!status) status = session_place(session);
  if (!status) {
    const bool checked = session->checked || numerics_enabled();
    /* a continuation uses the snapshot of the program before it */
    const struct plan_request plan = {.graph = before ? before->graph : session->snapshot,
                                      .placement = session->placement.device,
                                      .devices = session->devices,
                                      .feeds = request->feeds,
                                      .n_feeds = request->n_feeds,
                                      .fetches = request->fetches,
                                      .n_fetches = request->n_fetches,
                                      .keep_on_device = request->keep_on_device,
                                      .gradients = cost_log_is_enabled(),
                                      .check_numerics = checked,
                                      .check_feeds = checked && !session->is_inner && !before,
                                      .previous = before};
    status = session_programs_acquire(session, &plan, &out->cached, &out->frame);
  }
  pthread_mutex_unlock(&session->lock);
  return status;
}

static void release_program(struct situ_session *session, struct cached_program *cached) {
  pthread_mutex_lock(&session->lock);
  session_programs_release(session, cached, NULL);
  pthread_mutex_unlock(&session->lock);
}

/* Adds a reference to a program in use. */
static void retain_program(struct situ_session *session, struct cached_program *cached) {
  pthread_mutex_lock(&session->lock);
  cached->active++;
  pthread_mutex_unlock(&session->lock);
}

/* Appends the definition of the failed node to the message. */
static situ_status append_node(const struct situ_graph *graph, situ_status status) {
  const char *name = situ_status_node(status);
  const int32_t id = name ? graph_find(graph, name, strlen(name)) : -1;
  if (id < 0) return status;
  struct strbuf line = {0};
  graph_describe(graph, graph->nodes[id], &line);
  status = status_note(status, "\t [[Node: %s]]", strbuf_get(&line));
  strbuf_free(&line);
  return status;
}

/* Runs an acquired program and releases it. */
static situ_status run_program(struct situ_session *session, struct acquired *acquired,
                               situ_tensor *const *tensors, situ_tensor **results) {
  const struct situ_graph *graph = acquired->cached->program->graph;
  situ_status status =
      session_programs_prepare_frame(session, acquired->cached, tensors, &acquired->frame);
  if (status) {
    release_program(session, acquired->cached);
    return status;
  }
  status = frame_run(acquired->frame, tensors, results);
  session_programs_return_frame(session, acquired->cached, acquired->frame);
  return status ? append_node(graph, status) : NULL;
}

/* Builds the feeds of the continuation: the feeds of the step and the values computed so far. */
static situ_status build_next_feeds(const struct program *program, situ_tensor *const *values,
                                    const struct run_request *request, struct run_request *out) {
  const int32_t more = program->n_fetches - program->n_requested, n = request->n_feeds + more;
  struct plan_feed *feeds = ARENA_ARRAY(&out->arena, struct plan_feed, n + 1);
  situ_tensor **tensors = ARENA_ARRAY(&out->arena, situ_tensor *, n + 1);
  if (out->arena.failed) return NO_MEMORY();
  memcpy(feeds, request->feeds, sizeof *feeds * (size_t)request->n_feeds);
  memcpy(tensors, request->tensors, sizeof *tensors * (size_t)request->n_feeds);
  for (int32_t i = 0; i < more; i++) {
    situ_tensor *value = values[program->n_requested + i];
    const struct edge edge = program->fetches[program->n_requested + i].edge;
    tensors[request->n_feeds + i] = value;
    feeds[request->n_feeds + i] =
        (struct plan_feed){.edge = edge,
                           .type = value->type,
                           .shape = value->shape,
                           .tensor = value,
                           .device = value->buffer->device ? value->buffer->device->number : 0};
  }
  out->feeds = feeds;
  out->tensors = tensors;
  out->n_feeds = n;
  out->fetches = request->fetches;
  out->n_fetches = request->n_fetches;
  out->keep_on_device = request->keep_on_device;
  return NULL;
}

/* Returns the index of the feed of a value that is on a device, or -1. */
static int32_t feed_on_device(const struct run_request *request, struct edge edge) {
  for (int32_t i = 0; i < request->n_feeds; i++) {
    const struct plan_feed *feed = &request->feeds[i];
    if (feed->device && feed->edge.node == edge.node && feed->edge.output == edge.output) return i;
  }
  return -1;
}

static situ_status run_part(struct situ_session *session, const struct program *before,
                            struct run_request *request, situ_tensor **results);

/* A shape depends on the value of a feed that is on a device: runs with a host copy of it. */
static situ_status run_with_copy(struct situ_session *session, const struct program *before,
                                 struct run_request *request, int32_t feed, situ_tensor **results) {
  situ_tensor *copy = NULL, *original = request->tensors[feed];
  TRY(tensor_host(original, &copy));
  struct plan_feed *to = &request->feeds[feed];
  const int32_t device = to->device;
  to->device = 0;
  to->tensor = request->tensors[feed] = copy;
  const situ_status status = run_part(session, before, request, results);
  to->device = device;
  to->tensor = request->tensors[feed] = original;
  situ_tensor_release(copy);
  return status;
}

/* Runs a program and its continuations, and releases it. The caller gets the results of this
 * program only if the continuations succeed. */
static situ_status run_and_continue(struct situ_session *session, struct acquired *acquired,
                                    const struct run_request *request, situ_tensor **results) {
  struct cached_program *cached = acquired->cached;
  const struct program *program = cached->program;
  struct run_request next = {0};
  situ_tensor **values = ARENA_ARRAY(&next.arena, situ_tensor *, program->n_fetches + 1);
  retain_program(session, cached); /* the continuation is planned relative to this program */
  situ_status status = NO_MEMORY();
  if (values)
    status = run_program(session, acquired, request->tensors, values);
  else
    release_program(session, cached);
  const bool ran = !status;
  if (!status) status = build_next_feeds(program, values, request, &next);
  if (!status) status = run_part(session, program, &next, results);
  release_program(session, cached);
  for (int32_t i = 0; ran && i < program->n_fetches; i++) {
    const struct fetch *fetch = &program->fetches[i];
    if (i >= program->n_requested || status || fetch->fetched_earlier || fetch->deferred)
      situ_tensor_release(values[i]);
    else
      results[i] = values[i];
  }
  arena_free(&next.arena);
  return status;
}

static situ_status run_acquired(struct situ_session *session, const struct program *before,
                                struct acquired *acquired, struct run_request *request,
                                situ_tensor **results) {
  const struct program *program = acquired->cached->program;
  if (!program->done) return run_program(session, acquired, request->tensors, results);
  const int32_t feed = feed_on_device(request, program->missing);
  if (feed < 0) return run_and_continue(session, acquired, request, results);
  release_program(session, acquired->cached);
  return run_with_copy(session, before, request, feed, results);
}

static situ_status run_part(struct situ_session *session, const struct program *before,
                            struct run_request *request, situ_tensor **results) {
  struct acquired acquired = {0};
  TRY(acquire_program(session, request, before, &acquired));
  const bool is_call =
      cost_log_is_enabled() && !session->is_inner && cost_log_begin(acquired.cached->program->id);
  const situ_status status = run_acquired(session, before, &acquired, request, results);
  if (is_call) cost_log_end();
  return status;
}

situ_status steps_run(struct situ_session *session, struct run_request *request,
                      situ_tensor **results) {
  return run_part(session, NULL, request, results);
}
