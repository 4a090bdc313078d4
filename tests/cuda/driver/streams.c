/* SPDX-License-Identifier: Apache-2.0
 * streams.c: streams, events, copies. Work is executed when a caller waits for it. */
#include <stdlib.h>
#include <string.h>

#include "cuda/driver/standin.h"

static struct CUstream_st *streams[MOST_STREAMS];

/* Recordings of events that are done, by ticket. */
static unsigned char *done;
static uint64_t n_tickets = 1;

static uint64_t new_ticket(void) {
  if (n_tickets % 4096 == 1) {
    done = realloc(done, n_tickets + 4096);
    memset(done + n_tickets, 0, 4096);
  }
  return n_tickets++;
}

/* ---- Running ---- */

static cuda_result run_copy(const struct card *card, const struct work *work) {
  if (work->kind == WORK_TO_DEVICE) {
    unsigned char *to = memory_data(card, work->to, work->bytes, "copy to the device");
    if (to) memcpy(to, work->staged ? (void *)work->staged : work->host, work->bytes);
    return to ? CUDA_OK : CUDA_ILLEGAL_ADDRESS;
  }
  if (work->kind == WORK_TO_HOST) {
    const unsigned char *from = memory_data(card, work->from, work->bytes, "copy to the host");
    if (from) memcpy(work->host, from, work->bytes);
    return from ? CUDA_OK : CUDA_ILLEGAL_ADDRESS;
  }
  const unsigned char *from = memory_data(work->from_card, work->from, work->bytes, "copy from");
  unsigned char *to = memory_data(work->to_card, work->to, work->bytes, "copy to");
  if (from && to) memmove(to, from, work->bytes);
  return from && to ? CUDA_OK : CUDA_ILLEGAL_ADDRESS;
}

/* Streams that wait for each other. */
struct meeting {
  int n, left;
  bool is_held, is_off;
  struct CUstream_st *streams[MOST_CARDS];
  void (*call)(void *);
  void *context;
};

static bool is_complete(const struct meeting *meeting) {
  if (meeting->is_held || meeting->is_off) return true;
  for (int i = 0; i < meeting->n; i++) {
    const struct work *work = meeting->streams[i]->first;
    if (!work || work->meeting != meeting || meeting->streams[i]->context->error) return false;
  }
  return true;
}

/* The first one that goes on calls; the last one to leave clears up. */
static void meet(struct meeting *meeting, bool is_lost) {
  if (!meeting->is_held && !meeting->is_off && !is_lost) {
    meeting->is_held = true;
    meeting->call(meeting->context);
  }
  if (--meeting->left == 0) {
    free(meeting->context);
    free(meeting);
  }
}

static bool can_run(const struct CUstream_st *stream) {
  const struct work *work = stream->first;
  if (work && work->kind == WORK_MEET && !stream->context->error) return is_complete(work->meeting);
  return work && (work->kind != WORK_WAIT || done[work->ticket] || stream->context->error);
}

/* Of a context that is lost only events happen, so that nobody waits for ever. */
static void run(struct CUstream_st *stream) {
  struct work *work = stream->first;
  struct CUctx_st *context = stream->context;
  stream->first = work->next;
  if (!stream->first) stream->last = NULL;
  cuda_result result = CUDA_OK;
  if (work->kind == WORK_RECORD)
    done[work->ticket] = 1;
  else if (work->kind == WORK_MEET)
    meet(work->meeting, context->error != CUDA_OK);
  else if (context->error != CUDA_OK || work->kind == WORK_WAIT)
    result = CUDA_OK;
  else if (work->kind == WORK_HOST_FUNCTION)
    work->call(work->context);
  else if (work->kind == WORK_LAUNCH)
    result = modules_run(context->card, work);
  else
    result = run_copy(context->card, work);
  if (result != CUDA_OK && context->error == CUDA_OK) context->error = result;
  free(work->staged);
  free(work->params);
  free(work);
}

/* One piece of work of any stream; false where none can run. */
static bool run_any(void) {
  struct CUstream_st *ready[MOST_STREAMS];
  unsigned count = 0;
  for (int i = 0; i < MOST_STREAMS; i++)
    if (streams[i] && can_run(streams[i])) ready[count++] = streams[i];
  if (count) run(ready[standin_random(count)]);
  return count;
}

cuda_result streams_finish(struct CUstream_st *stream) {
  while (stream->first) {
    if (run_any()) continue;
    standin_say("streams wait for each other, or for an event that nobody records");
    return CUDA_LAUNCH_FAILED;
  }
  return stream->context->error;
}

static bool is_stream(const struct CUstream_st *stream) {
  for (int i = 0; stream && i < MOST_STREAMS; i++)
    if (streams[i] == stream) return true;
  return false; /* nobody here uses the default stream */
}

static void append(struct CUstream_st *stream, const struct work *work) {
  struct work *own = malloc(sizeof *own);
  *own = *work;
  own->next = NULL;
  if (stream->last)
    stream->last->next = own;
  else
    stream->first = own;
  stream->last = own;
}

/* A stream is used in its own context. */
cuda_result streams_add(struct CUstream_st *stream, const struct work *work) {
  if (!is_stream(stream)) return CUDA_INVALID_HANDLE;
  if (stream->context->error != CUDA_OK) return stream->context->error;
  if (stream->context != standin_context()) {
    standin_say("a stream is used while the context of another device is current");
    return CUDA_INVALID_HANDLE;
  }
  append(stream, work);
  return CUDA_OK;
}

/* ---- For other stand-ins ---- */

int standin_device(cuda_stream stream) {
  pthread_mutex_lock(&standin_lock);
  int device = is_stream(stream) ? 0 : -1;
  while (device >= 0 && standin_card(device) != stream->context->card) device++;
  pthread_mutex_unlock(&standin_lock);
  return device;
}

struct meeting *standin_meet(const cuda_stream *members, int n, void (*call)(void *),
                             void *context) {
  struct meeting *meeting = calloc(1, sizeof *meeting);
  *meeting = (struct meeting){.n = n, .left = n, .call = call, .context = context};
  pthread_mutex_lock(&standin_lock);
  for (int i = 0; i < n; i++) meeting->streams[i] = members[i];
  for (int i = 0; i < n; i++)
    append(members[i], &(struct work){.kind = WORK_MEET, .meeting = meeting});
  pthread_mutex_unlock(&standin_lock);
  return meeting;
}

/* The meetings that are not over. */
void standin_call_off(struct meeting *meeting) {
  pthread_mutex_lock(&standin_lock);
  for (int i = 0; i < MOST_STREAMS; i++)
    for (const struct work *work = streams[i] ? streams[i]->first : NULL; work; work = work->next)
      if (work->meeting == meeting) meeting->is_off = true;
  pthread_mutex_unlock(&standin_lock);
}

/* ---- Streams ---- */

EXPORT cuda_result cuStreamCreate(cuda_stream *out, unsigned flags);
cuda_result cuStreamCreate(cuda_stream *out, unsigned flags) {
  ENTER(true);
  if (flags > CUDA_STREAM_NON_BLOCKING) return standin_leave(CUDA_INVALID_VALUE);
  for (int i = 0; i < MOST_STREAMS; i++) {
    if (streams[i]) continue;
    streams[i] = calloc(1, sizeof *streams[i]);
    streams[i]->context = standin_context();
    *out = streams[i];
    return standin_leave(CUDA_OK);
  }
  return standin_leave(CUDA_OUT_OF_MEMORY);
}

EXPORT cuda_result cuStreamDestroy_v2(cuda_stream stream);
cuda_result cuStreamDestroy_v2(cuda_stream stream) {
  ENTER(LOST_TOO);
  if (!is_stream(stream)) return standin_leave(CUDA_INVALID_HANDLE);
  const cuda_result result = streams_finish(stream);
  for (int i = 0; i < MOST_STREAMS; i++)
    if (streams[i] == stream) streams[i] = NULL;
  free(stream);
  return standin_leave(result);
}

EXPORT cuda_result cuStreamSynchronize(cuda_stream stream);
cuda_result cuStreamSynchronize(cuda_stream stream) {
  ENTER(true);
  if (!is_stream(stream)) return standin_leave(CUDA_INVALID_HANDLE);
  return standin_leave(streams_finish(stream));
}

/* Time passes. */
EXPORT cuda_result cuStreamQuery(cuda_stream stream);
cuda_result cuStreamQuery(cuda_stream stream) {
  ENTER(true);
  if (!is_stream(stream)) return standin_leave(CUDA_INVALID_HANDLE);
  run_any();
  if (stream->context->error != CUDA_OK) return standin_leave(stream->context->error);
  return standin_leave(stream->first ? CUDA_NOT_READY : CUDA_OK);
}

EXPORT cuda_result cuStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned flags);
cuda_result cuStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned flags) {
  ENTER(true);
  if (flags || !event) return standin_leave(CUDA_INVALID_VALUE);
  if (event->context->error != CUDA_OK) return standin_leave(event->context->error);
  if (!event->ticket) return standin_leave(CUDA_OK);
  return standin_leave(
      streams_add(stream, &(struct work){.kind = WORK_WAIT, .ticket = event->ticket}));
}

cuda_result cuLaunchHostFunc(cuda_stream stream, void (*call)(void *), void *context) {
  ENTER(true);
  return standin_leave(streams_add(
      stream, &(struct work){.kind = WORK_HOST_FUNCTION, .call = call, .context = context}));
}

/* ---- Events ---- */

EXPORT cuda_result cuEventCreate(cuda_event *out, unsigned flags);
cuda_result cuEventCreate(cuda_event *out, unsigned flags) {
  ENTER(true);
  if (flags & ~(unsigned)(CUDA_EVENT_BLOCKING_SYNC | CUDA_EVENT_DISABLE_TIMING))
    return standin_leave(CUDA_INVALID_VALUE);
  *out = calloc(1, sizeof **out);
  (*out)->context = standin_context();
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuEventDestroy_v2(cuda_event event);
cuda_result cuEventDestroy_v2(cuda_event event) {
  ENTER(LOST_TOO);
  free(event);
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuEventRecord(cuda_event event, cuda_stream stream);
cuda_result cuEventRecord(cuda_event event, cuda_stream stream) {
  ENTER(true);
  if (!stream || event->context != stream->context) return standin_leave(CUDA_INVALID_HANDLE);
  event->ticket = new_ticket();
  return standin_leave(
      streams_add(stream, &(struct work){.kind = WORK_RECORD, .ticket = event->ticket}));
}

EXPORT cuda_result cuEventQuery(cuda_event event);
cuda_result cuEventQuery(cuda_event event) {
  ENTER(true);
  run_any();
  if (event->context->error != CUDA_OK) return standin_leave(event->context->error);
  return standin_leave(!event->ticket || done[event->ticket] ? CUDA_OK : CUDA_NOT_READY);
}

EXPORT cuda_result cuEventSynchronize(cuda_event event);
cuda_result cuEventSynchronize(cuda_event event) {
  ENTER(true);
  while (event->ticket && !done[event->ticket] && event->context->error == CUDA_OK) {
    if (run_any()) continue;
    standin_say("an event waits for what nobody records");
    return standin_leave(CUDA_LAUNCH_FAILED);
  }
  return standin_leave(event->context->error);
}

/* ---- Copies ---- */

EXPORT cuda_result cuMemcpyHtoDAsync_v2(cuda_pointer to, const void *from, size_t bytes,
                                        cuda_stream stream);
cuda_result cuMemcpyHtoDAsync_v2(cuda_pointer to, const void *from, size_t bytes,
                                 cuda_stream stream) {
  ENTER(true);
  struct work work = {
      .kind = WORK_TO_DEVICE, .to = to, .host = (void *)(uintptr_t)from, .bytes = bytes};
  if (!memory_is_pinned(from, bytes)) { /* the driver takes a copy */
    work.staged = malloc(bytes + 1);
    memcpy(work.staged, from, bytes);
  }
  return standin_leave(streams_add(stream, &work));
}

/* To pageable memory the driver comes back only when all is done. */
EXPORT cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_pointer from, size_t bytes,
                                        cuda_stream stream);
cuda_result cuMemcpyDtoHAsync_v2(void *to, cuda_pointer from, size_t bytes, cuda_stream stream) {
  ENTER(true);
  const struct work work = {.kind = WORK_TO_HOST, .from = from, .host = to, .bytes = bytes};
  cuda_result result = streams_add(stream, &work);
  if (result == CUDA_OK && !memory_is_pinned(to, bytes)) result = streams_finish(stream);
  return standin_leave(result);
}

EXPORT cuda_result cuMemcpyDtoDAsync_v2(cuda_pointer to, cuda_pointer from, size_t bytes,
                                        cuda_stream stream);
cuda_result cuMemcpyDtoDAsync_v2(cuda_pointer to, cuda_pointer from, size_t bytes,
                                 cuda_stream stream) {
  ENTER(true);
  struct card *card = standin_context()->card;
  return standin_leave(streams_add(stream, &(struct work){.kind = WORK_ON_DEVICE,
                                                          .to = to,
                                                          .from = from,
                                                          .to_card = card,
                                                          .from_card = card,
                                                          .bytes = bytes}));
}

EXPORT cuda_result cuMemcpyPeerAsync(cuda_pointer to, cuda_context to_context, cuda_pointer from,
                                     cuda_context from_context, size_t bytes, cuda_stream stream);
cuda_result cuMemcpyPeerAsync(cuda_pointer to, cuda_context to_context, cuda_pointer from,
                              cuda_context from_context, size_t bytes, cuda_stream stream) {
  ENTER(true);
  if (from_context->error != CUDA_OK) return standin_leave(from_context->error);
  return standin_leave(streams_add(stream, &(struct work){.kind = WORK_ON_DEVICE,
                                                          .to = to,
                                                          .from = from,
                                                          .to_card = to_context->card,
                                                          .from_card = from_context->card,
                                                          .bytes = bytes}));
}
