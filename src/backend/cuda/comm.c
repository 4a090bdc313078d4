/* SPDX-License-Identifier: Apache-2.0
 * comm.c: see comm.h. One thread queues a sum for all of its GPUs, as a group. All groups of the
 * process are queued one after another, so that GPUs that share several communicators come to the
 * same sum at the same time. */
#include "backend/cuda/comm.h"

#include <stdlib.h>
#include <string.h>

static struct nccl_functions nccl;
static const char *const libraries[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2", NULL};
#define NCCL_NEED(result, name, args) DL_SYMBOL(struct nccl_functions, name)
#define NCCL_MAY(result, name, args) DL_OPTION(struct nccl_functions, name)
static const struct dl_symbol symbols[] = {NCCL_FUNCTIONS(NCCL_NEED) NCCL_OPTIONS(NCCL_MAY)};

enum { MOST = 64 }; /* as many as there are cards */

struct communicator {
  struct communicator *next;
  int n;
  bool is_over; /* aborted: one of its GPUs failed */
  struct gpu *gpus[MOST];
  nccl_comm ranks[MOST];
};

static struct communicator *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* whoever has it takes no GPU's */
static bool is_loaded;

static void load(void) {
  char why[DL_WHY];
  const char *wanted = getenv("SITU_NCCL");
  if (wanted && !strcmp(wanted, "0")) return;
  is_loaded = dl_load(libraries, symbols, (int)COUNT_OF(symbols), &nccl, why);
}

/* The number of a type for NCCL; -1: it does not add it. */
static int type_of(situ_type type) {
  static const struct {
    situ_type ours;
    int theirs;
  } types[] = {{SITU_INT8, NCCL_INT8},    {SITU_UINT8, NCCL_UINT8}, {SITU_INT32, NCCL_INT32},
               {SITU_INT64, NCCL_INT64},  {SITU_HALF, NCCL_HALF},   {SITU_FLOAT, NCCL_FLOAT},
               {SITU_DOUBLE, NCCL_DOUBLE}};
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (types[i].ours == type) return types[i].theirs;
  return -1;
}

static bool supports(situ_type type) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return is_loaded && type_of(type) >= 0;
}

/* ---- Communicators ---- */

/* What NCCL says of a failure, and of whom. */
static situ_status failure(const struct communicator *comm, nccl_result result, const char *doing) {
  const char *more = nccl.ncclGetLastError ? nccl.ncclGetLastError(NULL) : NULL;
  return situ_status_create(SITU_UNAVAILABLE,
                            "NCCL failed %s %d GPUs, the first of which is %s: %s (%u).%s%.300s\n"
                            "With SITU_NCCL=0 GPUs add without NCCL.",
                            doing, comm->n, comm->gpus[0]->card->label,
                            nccl.ncclGetErrorString(result), result, more && *more ? " " : "",
                            more ? more : "");
}

/* Called with the lock. */
static void end(struct communicator *comm) {
  if (comm->is_over) return;
  bool failed = false;
  for (int i = 0; i < comm->n; i++) failed = failed || atomic_load(&comm->gpus[i]->trouble);
  comm->is_over = true;
  for (int i = 0; i < comm->n; i++)
    (failed ? nccl.ncclCommAbort : nccl.ncclCommDestroy)(comm->ranks[i]);
}

static bool has(const struct communicator *comm, const struct gpu *gpu) {
  for (int i = 0; i < comm->n; i++)
    if (comm->gpus[i] == gpu) return true;
  return false;
}

void comm_forget(struct gpu *gpu) {
  pthread_mutex_lock(&lock);
  const bool pushed = gpu_push(gpu) == CUDA_OK;
  for (struct communicator **link = &all, *comm = all; comm; comm = *link) {
    if (!has(comm, gpu)) {
      link = &comm->next;
      continue;
    }
    end(comm);
    *link = comm->next;
    free(comm);
  }
  if (pushed) gpu_pop();
  pthread_mutex_unlock(&lock);
}

/* Called with the lock: the communicator of these GPUs that is there, or NULL. */
static struct communicator *known(struct gpu *const *gpus, int n) {
  for (struct communicator *comm = all; comm; comm = comm->next)
    if (comm->n == n && !memcmp(comm->gpus, gpus, sizeof *gpus * (size_t)n)) return comm;
  return NULL;
}

/* Called with the lock. */
static situ_status join(struct communicator *comm) {
  int cards[MOST];
  for (int i = 0; i < comm->n; i++) cards[i] = comm->gpus[i]->card->id;
  const bool pushed = gpu_push(comm->gpus[0]) == CUDA_OK; /* NCCL may change what is current */
  const nccl_result result = nccl.ncclCommInitAll(comm->ranks, comm->n, cards);
  if (pushed) gpu_pop();
  comm->is_over = result;
  return result ? failure(comm, result, "joining") : NULL;
}

/* Called with the lock. */
static situ_status create(struct gpu *const *gpus, int n, struct communicator **out) {
  struct communicator *comm = calloc(1, sizeof *comm);
  if (!comm) return NO_MEMORY();
  comm->n = n;
  memcpy(comm->gpus, gpus, sizeof *gpus * (size_t)n);
  const situ_status status = join(comm);
  if (status) {
    free(comm);
    return status;
  }
  comm->next = all;
  *out = all = comm;
  return NULL;
}

static situ_status open(void *const *devices, int n, void **out) {
  struct gpu *gpus[MOST];
  struct communicator *comm = NULL;
  if (n > MOST) return INVALID("NCCL is asked for a sum over %d GPUs; %d are the most.", n, MOST);
  for (int i = 0; i < n; i++) {
    gpus[i] = devices[i];
    TRY(gpu_check(gpus[i]));
    TRY(gpu_lost(gpus[i]));
  }
  pthread_mutex_lock(&lock);
  comm = known(gpus, n);
  const situ_status status = comm ? NULL : create(gpus, n, &comm);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < n && !status; i++) {
    pthread_mutex_lock(&gpus[i]->lock);
    for (int q = 0; q < N_QUEUES; q++) queues_ask(&gpus[i]->queues[q], comm_ask, gpus[i]);
    pthread_mutex_unlock(&gpus[i]->lock);
  }
  *out = comm;
  return status;
}

/* ---- Failures ---- */

/* Whether the GPU still works, as far as its streams can tell. */
static bool is_well(struct gpu *gpu) {
  if (atomic_load(&gpu->trouble) == CUDA_OK && gpu_push(gpu) == CUDA_OK) {
    gpu_note(gpu, cuda.cuStreamQuery(gpu->queues[QUEUE_COMPUTE].stream));
    gpu_pop();
  }
  return atomic_load(&gpu->trouble) == CUDA_OK;
}

void comm_ask(void *gpu) {
  if (pthread_mutex_trylock(&lock)) return; /* whoever waits asks again */
  for (struct communicator *comm = all; comm; comm = comm->next) {
    if (comm->is_over || !has(comm, gpu)) continue;
    bool well = true;
    for (int i = 0; i < comm->n; i++) well = is_well(comm->gpus[i]) && well;
    if (!well) end(comm);
  }
  pthread_mutex_unlock(&lock);
}

/* ---- Sums ---- */

static const void *at(cuda_pointer address) {
  return (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* Finds the memory of all terms and sums. */
static situ_status translate(const struct communicator *comm, const struct span *from,
                             const struct span *to, size_t bytes, cuda_pointer *sources,
                             cuda_pointer *targets) {
  for (int i = 0; i < comm->n; i++) {
    struct gpu *gpu = comm->gpus[i];
    TRY(gpu_check(gpu));
    TRY(gpu_lost(gpu)); /* the others would wait for it */
    pthread_mutex_lock(&gpu->lock);
    const bool ours =
        gpu_find(gpu, from[i], bytes, &sources[i]) && gpu_find(gpu, to[i], bytes, &targets[i]);
    pthread_mutex_unlock(&gpu->lock);
    if (!ours)
      return INTERNAL("A sum over GPUs names memory that is not that of %s.", gpu->card->label);
  }
  return NULL;
}

/* Called with the lock of this file. */
static nccl_result queue_all(const struct communicator *comm, int queue,
                             const cuda_pointer *sources, const cuda_pointer *targets, size_t count,
                             unsigned type) {
  nccl_result result = nccl.ncclGroupStart();
  if (result) return result;
  for (int i = 0; i < comm->n && !result; i++)
    result = nccl.ncclAllReduce(at(sources[i]), (void *)(uintptr_t)at(targets[i]), count, type,
                                NCCL_SUM, comm->ranks[i], comm->gpus[i]->queues[queue].stream);
  const nccl_result ended = nccl.ncclGroupEnd();
  return result ? result : ended;
}

static situ_status all_reduce(void *handle, int queue, const struct span *from,
                              const struct span *to, int64_t count, situ_type type) {
  struct communicator *comm = handle;
  cuda_pointer sources[MOST] = {0}, targets[MOST] = {0};
  nccl_result result = 0;
  TRY(translate(comm, from, to, (size_t)count * situ_type_size(type), sources, targets));
  pthread_mutex_lock(&lock);
  situ_status status = comm->is_over ? join(comm) : NULL; /* all of its GPUs are well again */
  const bool pushed = gpu_push(comm->gpus[0]) == CUDA_OK;
  if (!status)
    result = queue_all(comm, queue, sources, targets, (size_t)count, (unsigned)type_of(type));
  if (result) {
    status = failure(comm, result, "adding over");
    comm->is_over = true; /* some GPUs may wait for others */
    for (int i = 0; i < comm->n; i++) nccl.ncclCommAbort(comm->ranks[i]);
  }
  if (pushed) gpu_pop();
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < comm->n; i++) {
    pthread_mutex_lock(&comm->gpus[i]->lock);
    comm->gpus[i]->queues[queue].queued++;
    snprintf(comm->gpus[i]->last, sizeof comm->gpus[i]->last, "a sum over GPUs by NCCL");
    pthread_mutex_unlock(&comm->gpus[i]->lock);
  }
  return status;
}

const struct comm cuda_comm = {.supports = supports, .open = open, .all_reduce = all_reduce};
