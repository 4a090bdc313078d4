/* SPDX-License-Identifier: Apache-2.0
 * program_cache.c: the cache of compiled programs of a session, with least-recently-used eviction,
 * and their idle frames. */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static bool same_edge(struct edge a, struct edge b) {
  return a.node == b.node && a.output == b.output;
}

static bool same_feed(const struct feed *cached_feed, const struct plan_feed *requested) {
  if (!same_edge(cached_feed->edge, requested->edge) || cached_feed->type != requested->type)
    return false;
  if (cached_feed->device != requested->device || cached_feed->donate != requested->donate)
    return false;
  if (!shape_equal(&cached_feed->shape, &requested->shape)) return false;
  if (!cached_feed->value) return true;
  const void *data = requested->tensor ? situ_tensor_data(requested->tensor) : NULL;
  return data && !memcmp(cached_feed->value, data, situ_tensor_bytes(requested->tensor));
}

static bool matches_request(const struct program *program, const struct plan_request *request) {
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

/* Adds the memory of a frame to (by = 1) or removes it from (-1) the idle memory of its devices. */
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

static void destroy_cached(struct cached_program *cached) {
  while (cached->idle) {
    struct frame *frame = cached->idle;
    cached->idle = frame->next;
    count_idle(frame, -1);
    frame_destroy(frame);
  }
  plan_free(cached->program);
  free(cached);
}

/* Evicts the least recently used program if the cache is full. */
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

static situ_status add(struct situ_session *session, struct program *program,
                       struct cached_program **out) {
  struct cached_program *cached = calloc(1, sizeof *cached);
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

static struct cached_program *find(struct situ_session *session,
                                   const struct plan_request *request) {
  for (int32_t i = 0; i < session->n_programs; i++) {
    if (!matches_request(session->programs[i]->program, request)) continue;
    struct cached_program *cached = session->programs[i];
    session->programs[i] = session->programs[0]; /* move to front */
    session->programs[0] = cached;
    return cached;
  }
  return NULL;
}

/* Only called on a cache miss: no cached program feeds a value twice. */
static situ_status check_duplicate_feeds(const struct plan_request *request) {
  for (int32_t i = 0; i < request->n_feeds; i++)
    for (int32_t k = 0; k < i; k++)
      if (same_edge(request->feeds[k].edge, request->feeds[i].edge))
        return INVALID("'%s:%d' is fed twice.",
                       request->graph->nodes[request->feeds[i].edge.node]->name,
                       request->feeds[i].edge.output);
  return NULL;
}

static void pop_idle_frame(struct cached_program *cached, struct frame **out) {
  *out = cached->idle;
  if (cached->idle) cached->idle = cached->idle->next;
}

situ_status program_cache_acquire(struct situ_session *session, const struct plan_request *request,
                                  struct cached_program **out, struct frame **frame) {
  *out = find(session, request);
  if (!*out) {
    struct program *program = NULL;
    struct edge need;
    TRY(check_duplicate_feeds(request));
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
  pop_idle_frame(*out, frame);
  return NULL;
}

void program_cache_release(struct situ_session *session, struct cached_program *cached) {
  cached->active--;
  if (session->cancelled) pthread_cond_broadcast(&session->idle);
}

/* Called by a device that is out of memory. The caller may hold the lock: then nothing is freed. */
static uint64_t release_idle_memory(void *context, uint64_t bytes) {
  (void)bytes;
  struct situ_session *session = context;
  if (pthread_mutex_trylock(&session->lock)) return 0;
  const uint64_t bytes_freed = program_cache_drop_idle(session, NULL);
  pthread_mutex_unlock(&session->lock);
  return bytes_freed;
}

/* Registers release_idle_memory with the devices of a program. */
static situ_status register_pressure_handlers(struct situ_session *session,
                                              const struct program *program) {
  for (int32_t i = 0; i < program->n_lanes; i++) {
    struct device *device = session->devices->devices[program->lanes[i].device];
    if (device->backend->is_host) continue;
    TRY(device_open(device));
    pthread_mutex_lock(&session->lock);
    const bool is_new = !session->has_pressure_handler[device->number];
    session->has_pressure_handler[device->number] = true;
    pthread_mutex_unlock(&session->lock);
    if (is_new && !memory_add_reclaimer(device->memory, release_idle_memory, session))
      return NO_MEMORY();
  }
  return NULL;
}

situ_status program_cache_prepare_frame(struct situ_session *session, struct cached_program *cached,
                                        situ_tensor *const *fed, struct frame **frame) {
  const bool host_only = cached->program->host_only;
  if (*frame) {
    if (!host_only) count_idle(*frame, -1);
    return NULL;
  }
  if (!host_only) TRY(register_pressure_handlers(session, cached->program));
  return frame_create(cached->program, &session->state, fed, frame);
}

void program_cache_return_frame(struct situ_session *session, struct cached_program *cached,
                                struct frame *frame) {
  if (!cached->program->host_only) count_idle(frame, 1);
  pthread_mutex_lock(&session->lock);
  frame->next = cached->idle;
  cached->idle = frame;
  program_cache_release(session, cached);
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
    if (session->has_pressure_handler[i])
      memory_remove_reclaimer(session->devices->devices[i]->memory, release_idle_memory, session);
    session->has_pressure_handler[i] = false;
  }
}
