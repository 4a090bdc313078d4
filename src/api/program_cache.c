/* SPDX-License-Identifier: Apache-2.0
 * program_cache.c: the programs of a session and their frames. */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static bool same_edge(struct edge a, struct edge b) {
  return a.node == b.node && a.output == b.output;
}

static bool same_feed(const struct feed *have, const struct plan_feed *want) {
  if (!same_edge(have->edge, want->edge) || have->type != want->type) return false;
  if (have->device != want->device || have->donate != want->donate) return false;
  if (!shape_equal(&have->shape, &want->shape)) return false;
  if (!have->value) return true;
  const void *data = want->tensor ? situ_tensor_data(want->tensor) : NULL;
  return data && !memcmp(have->value, data, situ_tensor_bytes(want->tensor));
}

static bool serves(const struct program *program, const struct plan_request *request) {
  if (program->n_requested != request->n_fetches || program->n_feeds != request->n_feeds ||
      program->keep_on_device != request->keep_on_device ||
      program->check_numerics != request->check_numerics ||
      program->previous_id != (request->previous ? request->previous->id : 0))
    return false;
  for (int32_t i = 0; i < request->n_fetches; i++)
    if (!same_edge(program->fetches[i].edge, request->fetches[i])) return false;
  for (int32_t i = 0; i < request->n_feeds; i++)
    if (!same_feed(&program->feeds[i], &request->feeds[i])) return false;
  return true;
}

/* Counts a frame's memory as kept by idle programs (by = 1), or no longer (-1). */
static void count_idle(const struct frame *frame, int by) {
  const struct program *program = frame->program;
  for (int32_t i = 0; i < program->n_lanes; i++) {
    const struct buffer *block = frame->blocks[i];
    if (!block || !block->device) continue;
    const uint64_t bytes = block->block.size;
    if (by > 0)
      block->device->idle += bytes;
    else
      block->device->idle -= bytes;
  }
}

static void destroy_cached(struct cached *cached) {
  while (cached->idle) {
    struct frame *frame = cached->idle;
    cached->idle = frame->next;
    count_idle(frame, -1);
    frame_destroy(frame);
  }
  plan_free(cached->program);
  free(cached);
}

/* Makes room: the program that was not asked for longest goes. */
static void evict(struct situ_session *session) {
  if (session->n_programs < MAX_PROGRAMS) return;
  int32_t oldest = -1;
  for (int32_t i = 0; i < session->n_programs; i++) {
    if (session->programs[i]->active) continue;
    if (oldest < 0 || session->programs[i]->used < session->programs[oldest]->used) oldest = i;
  }
  if (oldest < 0) return;
  destroy_cached(session->programs[oldest]);
  session->programs[oldest] = session->programs[--session->n_programs];
}

static situ_status add(struct situ_session *session, struct program *program, struct cached **out) {
  struct cached *cached = calloc(1, sizeof *cached);
  evict(session);
  if (!cached || session->n_programs == MAX_PROGRAMS) {
    free(cached);
    plan_free(program);
    return cached ? situ_status_create(SITU_RESOURCE_EXHAUSTED,
                                       "A session runs at most %d different programs at a time.",
                                       MAX_PROGRAMS)
                  : NO_MEMORY();
  }
  cached->program = program;
  session->programs[session->n_programs++] = cached;
  *out = cached;
  return NULL;
}

static struct cached *find(struct situ_session *session, const struct plan_request *request) {
  for (int32_t i = 0; i < session->n_programs; i++) {
    if (!serves(session->programs[i]->program, request)) continue;
    struct cached *cached = session->programs[i];
    session->programs[i] = session->programs[0]; /* the last one asked for comes first */
    session->programs[0] = cached;
    return cached;
  }
  return NULL;
}

/* No program has a value that is fed twice: it is looked for only where none is found. */
static situ_status check_twice(const struct plan_request *request) {
  for (int32_t i = 0; i < request->n_feeds; i++)
    for (int32_t k = 0; k < i; k++)
      if (same_edge(request->feeds[k].edge, request->feeds[i].edge))
        return INVALID("'%s:%d' is fed twice.",
                       request->graph->nodes[request->feeds[i].edge.node]->name,
                       request->feeds[i].edge.output);
  return NULL;
}

static void take_idle(struct cached *cached, struct frame **out) {
  *out = cached->idle;
  if (cached->idle) cached->idle = cached->idle->next;
}

situ_status program_cache_enter(struct situ_session *session, const struct plan_request *request,
                                struct cached **out, struct frame **frame) {
  *out = find(session, request);
  if (!*out) {
    struct program *program = NULL;
    struct edge need;
    TRY(check_twice(request));
    TRY(plan_compile(request, &program, &need));
    if (session->log == LOG_FUNCTION && !request->previous) {
      const situ_status status = session_log_program(session, request);
      if (status) plan_free(program);
      if (status) return status;
    }
    program->missing = need;
    TRY(add(session, program, out));
  }
  (*out)->active++;
  (*out)->used = ++session->clock;
  take_idle(*out, frame);
  return NULL;
}

void program_cache_leave(struct situ_session *session, struct cached *cached) {
  cached->active--;
  if (session->cancelled) pthread_cond_broadcast(&session->idle);
}

/* Asked by a device that runs out of memory. The lock may be held by whoever asks: then we have
 * nothing to give. */
static uint64_t give_idle(void *context, uint64_t bytes) {
  (void)bytes;
  struct situ_session *session = context;
  if (pthread_mutex_trylock(&session->lock)) return 0;
  const uint64_t given = program_cache_drop_idle(session, NULL);
  pthread_mutex_unlock(&session->lock);
  return given;
}

/* Registers with the devices of a program, before they may run out. */
static situ_status listen(struct situ_session *session, const struct program *program) {
  for (int32_t i = 0; i < program->n_lanes; i++) {
    struct device *device = session->devices->devices[program->lanes[i].device];
    if (device->backend->is_host) continue;
    TRY(device_open(device));
    pthread_mutex_lock(&session->lock);
    const bool is_new = !session->pressed[device->number];
    session->pressed[device->number] = true;
    pthread_mutex_unlock(&session->lock);
    if (is_new && !memory_add_reclaimer(device->memory, give_idle, session)) return NO_MEMORY();
  }
  return NULL;
}

situ_status program_cache_prepare_frame(struct situ_session *session, struct cached *cached,
                                        situ_tensor *const *fed, struct frame **frame) {
  const bool host_only = cached->program->host_only;
  if (*frame) {
    if (!host_only) count_idle(*frame, -1);
    return NULL;
  }
  if (!host_only) TRY(listen(session, cached->program));
  return frame_create(cached->program, &session->state, fed, frame);
}

void program_cache_return_frame(struct situ_session *session, struct cached *cached,
                                struct frame *frame) {
  if (!cached->program->host_only) count_idle(frame, 1);
  pthread_mutex_lock(&session->lock);
  frame->next = cached->idle;
  cached->idle = frame;
  program_cache_leave(session, cached);
  pthread_mutex_unlock(&session->lock);
}

static bool holds(const struct frame *frame, const struct device *device) {
  for (int32_t i = 0; i < frame->program->n_lanes; i++) {
    const struct buffer *block = frame->blocks[i];
    if (block && block->device && (!device || block->device == device)) return true;
  }
  return false;
}

uint64_t program_cache_drop_idle(struct situ_session *session, const struct device *device) {
  uint64_t bytes = 0;
  for (int32_t i = 0; i < session->n_programs; i++) {
    struct frame **link = &session->programs[i]->idle;
    while (*link) {
      struct frame *frame = *link;
      if (!holds(frame, device)) {
        link = &frame->next;
        continue;
      }
      *link = frame->next;
      bytes += frame_device_bytes(frame);
      count_idle(frame, -1);
      frame_destroy(frame);
    }
  }
  return bytes;
}

void program_cache_forget(struct situ_session *session, bool all) {
  int32_t kept = 0;
  for (int32_t i = 0; i < session->n_programs && !all; i++)
    if (!session->programs[i]->active) session->programs[kept++] = session->programs[i];
  session->n_programs = kept;
}

void program_cache_clear(struct situ_session *session) {
  while (session->n_programs) destroy_cached(session->programs[--session->n_programs]);
  for (int32_t i = 0; i < session->devices->count; i++) {
    if (session->pressed[i])
      memory_remove_reclaimer(session->devices->devices[i]->memory, give_idle, session);
    session->pressed[i] = false;
  }
}
