/* SPDX-License-Identifier: Apache-2.0
 * steps.c: runs of a session: a step is one program, or where shapes depend on what it computes
 * several, one after the other. */
#include <string.h>

#include "api/numerics.h"
#include "api/session.h"
#include "exec/cost_log.h"
#include "tensor/tensor.h"

/* A program that was entered, with a frame if one is idle. */
struct entered {
  struct cached *cached;
  struct frame *frame;
};

static situ_status enter(struct situ_session *session, const struct asked *asked,
                         const struct program *before, struct entered *out) {
  pthread_mutex_lock(&session->lock);
  situ_status status = session_check_open(session);
  if (!status) status = session_place(session);
  if (!status) {
    const bool checked = session->checked || numerics_wanted();
    /* What comes behind a part is planned with the nodes that the part knew. */
    const struct plan_request request = {.graph = before ? before->graph : session->snapshot,
                                         .placement = session->placement.device,
                                         .devices = session->devices,
                                         .feeds = asked->feeds,
                                         .n_feeds = asked->n_feeds,
                                         .fetches = asked->fetches,
                                         .n_fetches = asked->n_fetches,
                                         .keep_on_device = asked->keep,
                                         .gradients = cost_log_is_enabled(),
                                         .check_numerics = checked,
                                         .check_feeds = checked && !session->is_inner && !before,
                                         .previous = before};
    status = program_cache_enter(session, &request, &out->cached, &out->frame);
  }
  pthread_mutex_unlock(&session->lock);
  return status;
}

static void leave(struct situ_session *session, struct cached *cached) {
  pthread_mutex_lock(&session->lock);
  program_cache_leave(session, cached);
  pthread_mutex_unlock(&session->lock);
}

/* Enters a program once more. */
static void hold(struct situ_session *session, struct cached *cached) {
  pthread_mutex_lock(&session->lock);
  cached->active++;
  pthread_mutex_unlock(&session->lock);
}

/* Shows the node that failed behind what happened to it. */
static situ_status show_node(const struct situ_graph *graph, situ_status status) {
  const char *name = situ_status_node(status);
  const int32_t id = name ? graph_find(graph, name, strlen(name)) : -1;
  if (id < 0) return status;
  struct strbuf line = {0};
  graph_describe(graph, graph->nodes[id], &line);
  status = status_note(status, "\t [[Node: %s]]", strbuf_get(&line));
  strbuf_free(&line);
  return status;
}

/* Runs a program that was entered, and leaves it. */
static situ_status run_program(struct situ_session *session, struct entered *entered,
                               situ_tensor *const *tensors, situ_tensor **results) {
  const struct situ_graph *graph = entered->cached->program->graph;
  situ_status status =
      program_cache_prepare_frame(session, entered->cached, tensors, &entered->frame);
  if (status) {
    leave(session, entered->cached);
    return status;
  }
  status = frame_run(entered->frame, tensors, results);
  program_cache_return_frame(session, entered->cached, entered->frame);
  return status ? show_node(graph, status) : NULL;
}

/* Feeds of the next part: those of this one, and what it computed for it. */
static situ_status feed_next(const struct program *part, situ_tensor *const *values,
                             const struct asked *asked, struct asked *out) {
  const int32_t more = part->n_fetches - part->n_requested, n = asked->n_feeds + more;
  struct plan_feed *feeds = ARENA_ARRAY(&out->arena, struct plan_feed, n + 1);
  situ_tensor **tensors = ARENA_ARRAY(&out->arena, situ_tensor *, n + 1);
  if (out->arena.failed) return NO_MEMORY();
  memcpy(feeds, asked->feeds, sizeof *feeds * (size_t)asked->n_feeds);
  memcpy(tensors, asked->tensors, sizeof *tensors * (size_t)asked->n_feeds);
  for (int32_t i = 0; i < more; i++) {
    situ_tensor *value = values[part->n_requested + i];
    const struct edge edge = part->fetches[part->n_requested + i].edge;
    tensors[asked->n_feeds + i] = value;
    feeds[asked->n_feeds + i] =
        (struct plan_feed){.edge = edge,
                           .type = value->type,
                           .shape = value->shape,
                           .tensor = value,
                           .device = value->buffer->device ? value->buffer->device->number : 0};
  }
  out->feeds = feeds;
  out->tensors = tensors;
  out->n_feeds = n;
  out->fetches = asked->fetches;
  out->n_fetches = asked->n_fetches;
  out->keep = asked->keep;
  return NULL;
}

/* The feed of a value that is on a device; -1: it is none. */
static int32_t feed_on_device(const struct asked *asked, struct edge edge) {
  for (int32_t i = 0; i < asked->n_feeds; i++) {
    const struct plan_feed *feed = &asked->feeds[i];
    if (feed->device && feed->edge.node == edge.node && feed->edge.output == edge.output) return i;
  }
  return -1;
}

static situ_status run_part(struct situ_session *session, const struct program *before,
                            struct asked *asked, situ_tensor **results);

/* A shape depends on a value that is fed, but on another device: runs with a copy in the host. */
static situ_status run_with_copy(struct situ_session *session, const struct program *before,
                                 struct asked *asked, int32_t feed, situ_tensor **results) {
  situ_tensor *copy = NULL, *original = asked->tensors[feed];
  TRY(tensor_host(original, &copy));
  struct plan_feed *to = &asked->feeds[feed];
  const int32_t device = to->device;
  to->device = 0;
  to->tensor = asked->tensors[feed] = copy;
  const situ_status status = run_part(session, before, asked, results);
  to->device = device;
  to->tensor = asked->tensors[feed] = original;
  situ_tensor_release(copy);
  return status;
}

/* Runs a program that is a part, leaves it, and runs the parts behind it. Results of this part go
 * to the caller when those have come to their end. */
static situ_status run_and_go_on(struct situ_session *session, struct entered *entered,
                                 const struct asked *asked, situ_tensor **results) {
  struct cached *cached = entered->cached;
  const struct program *part = cached->program;
  struct asked next = {0};
  situ_tensor **values = ARENA_ARRAY(&next.arena, situ_tensor *, part->n_fetches + 1);
  hold(session, cached); /* the next part is planned as one behind this */
  situ_status status = NO_MEMORY();
  if (values)
    status = run_program(session, entered, asked->tensors, values);
  else
    leave(session, cached);
  const bool ran = !status;
  if (!status) status = feed_next(part, values, asked, &next);
  if (!status) status = run_part(session, part, &next, results);
  leave(session, cached);
  for (int32_t i = 0; ran && i < part->n_fetches; i++) {
    const struct fetch *fetch = &part->fetches[i];
    if (i >= part->n_requested || status || fetch->fetched_earlier || fetch->deferred)
      situ_tensor_release(values[i]);
    else
      results[i] = values[i];
  }
  arena_free(&next.arena);
  return status;
}

static situ_status run_entered(struct situ_session *session, const struct program *before,
                               struct entered *entered, struct asked *asked,
                               situ_tensor **results) {
  const struct program *program = entered->cached->program;
  if (!program->done) return run_program(session, entered, asked->tensors, results);
  const int32_t feed = feed_on_device(asked, program->missing);
  if (feed < 0) return run_and_go_on(session, entered, asked, results);
  leave(session, entered->cached);
  return run_with_copy(session, before, asked, feed, results);
}

static situ_status run_part(struct situ_session *session, const struct program *before,
                            struct asked *asked, situ_tensor **results) {
  struct entered entered = {0};
  TRY(enter(session, asked, before, &entered));
  const bool is_call =
      cost_log_is_enabled() && !session->is_inner && cost_log_begin(entered.cached->program->id);
  const situ_status status = run_entered(session, before, &entered, asked, results);
  if (is_call) cost_log_end();
  return status;
}

situ_status steps_run(struct situ_session *session, struct asked *asked, situ_tensor **results) {
  return run_part(session, NULL, asked, results);
}
