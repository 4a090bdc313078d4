/* SPDX-License-Identifier: Apache-2.0
 * session_programs.c: the compiled programs of a session and their idle frames. */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"

/* Edges, types, shapes and devices of feeds and fetches. Not the elements of feeds: whether a
 * program depends on them is known after it was compiled. */
static void make_key(const struct plan_request *request, struct program_key *key) {
  const uint64_t previous = request->previous ? request->previous->id : 0;
  const uint64_t head[] = {(uint64_t)request->n_fetches << 32 | (uint64_t)request->n_feeds,
                           previous << 2 | request->keep_on_device << 1 | request->check_numerics};
  program_key_reset(key);
  program_key_append(key, head, sizeof head);
  for (int32_t i = 0; i < request->n_fetches; i++)
    program_key_append(key, &request->fetches[i], sizeof request->fetches[i]);
  for (int32_t i = 0; i < request->n_feeds; i++) {
    const struct plan_feed *feed = &request->feeds[i];
    const int32_t fields[] = {feed->edge.node, feed->edge.output, feed->type, feed->device,
                              feed->donate};
    program_key_append_shape(key, fields, COUNT_OF(fields), &feed->shape);
  }
}

/* Returns whether the feeds have the elements that the program depends on. */
static bool has_elements(const struct cached_program *cached, const void *context) {
  const struct plan_request *request = context;
  for (int32_t i = 0; i < request->n_feeds; i++) {
    const void *value = cached->program->feeds[i].value;
    const situ_tensor *tensor = request->feeds[i].tensor;
    const void *data = value && tensor ? situ_tensor_data(tensor) : NULL;
    if (value && (!data || memcmp(value, data, situ_tensor_bytes(tensor)) != 0)) return false;
  }
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

static void uncount_idle(const struct frame *frame) { count_idle(frame, -1); }

static void destroy(struct cached_program *cached) {
  plan_free(cached->program);
  free(cached);
}

void session_programs_init(struct situ_session *session) {
  session->programs = (struct program_cache){.capacity = MAX_PROGRAMS,
                                             .program_budget = 8 << 20,
                                             .destroy = destroy,
                                             .on_free = uncount_idle,
                                             .accepts = has_elements};
  session->recent = NULL;
  program_key_init(&session->key);
}

/* Only called on a cache miss: no cached program feeds a value twice. */
static situ_status check_duplicate_feeds(const struct plan_request *request) {
  for (int32_t i = 0; i < request->n_feeds; i++)
    for (int32_t k = 0; k < i; k++)
      if (request->feeds[k].edge.node == request->feeds[i].edge.node &&
          request->feeds[k].edge.output == request->feeds[i].edge.output)
        return INVALID("'%s:%d' is fed twice.",
                       request->graph->nodes[request->feeds[i].edge.node]->name,
                       request->feeds[i].edge.output);
  return NULL;
}

static situ_status compile(struct situ_session *session, const struct plan_request *request,
                           struct cached_program **out) {
  struct cached_program *cached = calloc(1, sizeof *cached);
  struct edge need;
  situ_status status = cached ? check_duplicate_feeds(request) : NO_MEMORY();
  if (!status) status = plan_compile(request, &cached->program, &need);
  if (!status && session->log == LOG_FUNCTION && !request->previous)
    status = session_log_program(session, request);
  if (status) {
    if (cached) destroy(cached);
    return status;
  }
  cached->program->missing = need;
  cached->program_bytes = sizeof *cached + plan_bytes(cached->program);
  *out = cached;
  return program_cache_add(&session->programs, &session->key, &session->recent, cached);
}

static uint64_t uses; /* runs of all sessions so far; atomic */

situ_status session_programs_acquire(struct situ_session *session,
                                     const struct plan_request *request,
                                     struct cached_program **out, struct frame **frame) {
  make_key(request, &session->key);
  if (session->key.failed) return NO_MEMORY();
  *out = program_cache_find(&session->programs, &session->key, &session->recent, request);
  if (!*out) TRY(compile(session, request, out));
  *frame = program_cache_begin_run(&session->programs, *out);
  session->last_used = __atomic_add_fetch(&uses, 1, __ATOMIC_RELAXED);
  if (!*frame) session_bound_idle_memory(session);
  return NULL;
}

void session_programs_release(struct situ_session *session, struct cached_program *cached,
                              struct frame *frame) {
  program_cache_end_run(&session->programs, cached, frame);
  if (session->cancelled) pthread_cond_broadcast(&session->idle);
}

static bool has_device_memory(const struct frame *frame) {
  for (int32_t i = 0; i < frame->program->n_lanes; i++)
    if (frame->blocks[i] && frame->blocks[i]->device) return true;
  return false;
}

/* Called by a device that is out of memory. The caller may hold the lock: then nothing is freed. */
static uint64_t release_idle_memory(void *context, uint64_t bytes) {
  (void)bytes;
  struct situ_session *session = context;
  if (pthread_mutex_trylock(&session->lock)) return 0;
  const uint64_t bytes_freed = program_cache_free_idle(&session->programs, has_device_memory);
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

situ_status session_programs_prepare_frame(struct situ_session *session,
                                           struct cached_program *cached, situ_tensor *const *fed,
                                           struct frame **frame) {
  const bool host_only = cached->program->host_only;
  if (*frame) {
    if (!host_only) count_idle(*frame, -1);
    return NULL;
  }
  if (!host_only) TRY(register_pressure_handlers(session, cached->program));
  return frame_create(cached->program, &session->state, fed, frame);
}

void session_programs_return_frame(struct situ_session *session, struct cached_program *cached,
                                   struct frame *frame) {
  if (!cached->program->host_only) count_idle(frame, 1);
  pthread_mutex_lock(&session->lock);
  session_programs_release(session, cached, frame);
  pthread_mutex_unlock(&session->lock);
}

uint64_t session_programs_idle_bytes(struct situ_session *session) {
  pthread_mutex_lock(&session->lock);
  const uint64_t bytes = session->programs.idle_bytes;
  pthread_mutex_unlock(&session->lock);
  return bytes;
}

void session_programs_free_idle(struct situ_session *session) {
  pthread_mutex_lock(&session->lock);
  program_cache_free_idle(&session->programs, NULL);
  pthread_mutex_unlock(&session->lock);
}

bool session_programs_try_free_idle(struct situ_session *session) {
  if (pthread_mutex_trylock(&session->lock)) return false;
  program_cache_free_idle(&session->programs, NULL);
  pthread_mutex_unlock(&session->lock);
  return true;
}

void session_programs_clear(struct situ_session *session) {
  program_cache_clear(&session->programs);
  for (int32_t i = 0; i < session->devices->count; i++) {
    if (session->has_pressure_handler[i])
      memory_remove_reclaimer(session->devices->devices[i]->memory, release_idle_memory, session);
    session->has_pressure_handler[i] = false;
  }
}
