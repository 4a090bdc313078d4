/* SPDX-License-Identifier: Apache-2.0
 * nccl.c: a libnccl for tests: all-reduce over the devices of one process. It checks its arguments,
 * including mistakes on which the real one hangs, such as missing ranks in a group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/nccl.h"
#include "cuda/driver/standin.h"

__extension__ typedef _Float16 half;

enum { OK = 0, CUDA_ERROR = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, MOST_CALLS = 64 };

/* All ranks of a communicator. */
struct clique {
  int n, alive;
  struct ncclComm *ranks[MOST_CARDS];
  struct meeting *meetings[MOST_CALLS]; /* the last ones */
  unsigned n_meetings;
};

struct ncclComm {
  struct clique *clique;
  int rank, device;
};

/* A call that waits for the end of its group. */
struct request {
  nccl_comm comm;
  cuda_pointer from, to;
  size_t count;
  unsigned type;
  cuda_stream stream;
};

static _Thread_local int depth, n_calls;
static _Thread_local struct request calls[MOST_CALLS];
static unsigned n_sums;

/* How many sums were made, for tests. */
EXPORT unsigned standin_sums(void);
unsigned standin_sums(void) { return n_sums; }

static nccl_result refuse(nccl_result result, const char *why) {
  char text[256];
  snprintf(text, sizeof text, "NCCL: %s", why);
  standin_report(text);
  return result;
}

EXPORT const char *ncclGetErrorString(nccl_result result);
const char *ncclGetErrorString(nccl_result result) {
  return result == OK                 ? "no error"
         : result == CUDA_ERROR       ? "unhandled cuda error"
         : result == INVALID_ARGUMENT ? "invalid argument"
         : result == INVALID_USAGE    ? "invalid usage"
                                      : "internal error";
}

EXPORT const char *ncclGetLastError(nccl_comm comm);
const char *ncclGetLastError(nccl_comm comm) {
  (void)comm;
  return standin_said();
}

/* ---- Communicators ---- */

EXPORT nccl_result ncclCommInitAll(nccl_comm *out, int n, const int *devices);
nccl_result ncclCommInitAll(nccl_comm *out, int n, const int *devices) {
  const unsigned fault = standin_fault(__func__);
  if (fault) return fault;
  if (depth) return refuse(INVALID_USAGE, "ncclCommInitAll in a group");
  if (n < 1 || n > MOST_CARDS) return refuse(INVALID_ARGUMENT, "a wrong number of devices");
  struct clique *clique = calloc(1, sizeof *clique);
  clique->n = clique->alive = n;
  for (int i = 0; i < n; i++) {
    cuda_context context = NULL;
    for (int k = 0; k < i; k++)
      if (devices[k] == devices[i]) return refuse(INVALID_USAGE, "a device that is two ranks");
    if (cuDevicePrimaryCtxRetain(&context, devices[i]) != CUDA_OK)
      return refuse(CUDA_ERROR, "a device that is not there");
    out[i] = clique->ranks[i] = calloc(1, sizeof **out);
    *out[i] = (struct ncclComm){clique, i, devices[i]};
  }
  return OK;
}

static nccl_result leave(nccl_comm comm, bool is_abort) {
  if (!comm || !comm->clique) return refuse(INVALID_ARGUMENT, "a communicator that is gone");
  struct clique *clique = comm->clique;
  for (unsigned i = 0; is_abort && i < clique->n_meetings && i < MOST_CALLS; i++)
    standin_call_off(clique->meetings[i]);
  cuDevicePrimaryCtxRelease_v2(comm->device);
  if (--clique->alive) return OK;
  for (int i = 0; i < clique->n; i++) free(clique->ranks[i]);
  free(clique);
  return OK;
}

EXPORT nccl_result ncclCommDestroy(nccl_comm comm);
nccl_result ncclCommDestroy(nccl_comm comm) { return leave(comm, false); }

EXPORT nccl_result ncclCommAbort(nccl_comm comm);
nccl_result ncclCommAbort(nccl_comm comm) { return leave(comm, true); }

/* ---- Adding ---- */

/* A sum that waits in the streams of all ranks. */
struct sum {
  int n;
  size_t count;
  unsigned type;
  cuda_pointer from[MOST_CARDS], to[MOST_CARDS];
};

static size_t size_of(unsigned type) {
  static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8};
  return type < sizeof sizes ? sizes[type] : 0;
}

#define ADD(ctype)                                                                         \
  do {                                                                                     \
    ctype total = 0, term;                                                                 \
    for (int r = s->n - 1; r >= 0; r--) {                                                  \
      memcpy(&term, from[r] + i * sizeof term, sizeof term);                               \
      total = r == s->n - 1 ? term : (ctype)(total + term);                                \
    }                                                                                      \
    for (int r = 0; r < s->n; r++) memcpy(to[r] + i * sizeof total, &total, sizeof total); \
  } while (0)

static void add_at(const struct sum *s, unsigned char *const *from, unsigned char *const *to,
                   size_t i) {
  if (s->type == NCCL_FLOAT)
    ADD(float);
  else if (s->type == NCCL_DOUBLE)
    ADD(double);
  else if (s->type == NCCL_HALF)
    ADD(half);
  else if (s->type == NCCL_INT32)
    ADD(uint32_t);
  else if (s->type == NCCL_INT64)
    ADD(uint64_t);
  else
    ADD(uint8_t);
}

static void compute(void *context) {
  const struct sum *s = context;
  unsigned char *from[MOST_CARDS], *to[MOST_CARDS];
  for (int r = 0; r < s->n; r++) {
    from[r] = standin_data(s->from[r], s->count * size_of(s->type));
    to[r] = standin_data(s->to[r], s->count * size_of(s->type));
    if (!from[r] || !to[r]) return;
  }
  for (size_t i = 0; i < s->count; i++) add_at(s, from, to, i);
  n_sums++;
}

/* ---- Groups ---- */

EXPORT nccl_result ncclGroupStart(void);
nccl_result ncclGroupStart(void) {
  if (!depth++) n_calls = 0;
  return OK;
}

static bool overlap(const struct request *call, size_t bytes) {
  return call->from != call->to && call->from < call->to + bytes && call->to < call->from + bytes;
}

static nccl_result check(const struct request *call, unsigned operation) {
  const size_t bytes = call->count * size_of(call->type);
  if (!call->comm || !call->comm->clique) return refuse(INVALID_ARGUMENT, "no communicator");
  if (!size_of(call->type)) return refuse(INVALID_ARGUMENT, "a type that is none");
  if (operation != NCCL_SUM) return refuse(INVALID_ARGUMENT, "an operation other than the sum");
  if (standin_device(call->stream) != call->comm->device)
    return refuse(INVALID_USAGE, "a stream of another device than the rank's");
  if (!standin_owns(call->comm->device, call->from, bytes) ||
      !standin_owns(call->comm->device, call->to, bytes))
    return refuse(INVALID_ARGUMENT, "memory of another device than the rank's");
  if (overlap(call, bytes)) return refuse(INVALID_ARGUMENT, "a term and a sum that overlap");
  if (call->comm->clique->n > 1 && !depth)
    return refuse(INVALID_USAGE, "a call outside of a group waits for ever");
  return n_calls == MOST_CALLS ? refuse(INVALID_USAGE, "too many calls in a group") : OK;
}

EXPORT nccl_result ncclAllReduce(const void *from, void *to, size_t count, unsigned type,
                                 unsigned operation, nccl_comm comm, cuda_stream stream);
nccl_result ncclAllReduce(const void *from, void *to, size_t count, unsigned type,
                          unsigned operation, nccl_comm comm, cuda_stream stream) {
  const unsigned fault = standin_fault(__func__);
  const struct request call = {
      comm, (cuda_pointer)(uintptr_t)from, (cuda_pointer)(uintptr_t)to, count, type, stream};
  if (fault) return fault;
  const nccl_result result = check(&call, operation);
  if (!result) calls[n_calls++] = call;
  return result;
}

/* Takes the first call of each rank of a clique out of the group, and queues their sum. */
static nccl_result queue_one(struct clique *clique) {
  cuda_stream streams[MOST_CARDS];
  struct sum *sum = calloc(1, sizeof *sum);
  sum->n = clique->n;
  for (int rank = 0; rank < clique->n; rank++) {
    int i = 0;
    while (i < n_calls && calls[i].comm != clique->ranks[rank]) i++;
    if (i == n_calls) return refuse(INVALID_USAGE, "a group without one of the ranks");
    if (rank && (calls[i].count != sum->count || calls[i].type != sum->type))
      return refuse(INVALID_USAGE, "ranks that do not agree about size and type");
    sum->count = calls[i].count;
    sum->type = calls[i].type;
    sum->from[rank] = calls[i].from;
    sum->to[rank] = calls[i].to;
    streams[rank] = calls[i].stream;
    memmove(&calls[i], &calls[i + 1], (size_t)(--n_calls - i) * sizeof *calls);
  }
  clique->meetings[clique->n_meetings++ % MOST_CALLS] =
      standin_meet(streams, clique->n, compute, sum);
  return OK;
}

EXPORT nccl_result ncclGroupEnd(void);
nccl_result ncclGroupEnd(void) {
  if (!depth) return refuse(INVALID_USAGE, "the end of a group that did not begin");
  if (--depth) return OK;
  nccl_result result = standin_fault(__func__);
  while (n_calls && !result) result = queue_one(calls[0].comm->clique);
  n_calls = 0;
  return result;
}
