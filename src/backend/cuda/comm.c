/* SPDX-License-Identifier: Apache-2.0
 * comm.c: all-reduce over GPUs by NCCL. One thread enqueues an all-reduce for all its GPUs as an
 * NCCL group. Groups of the process are serialized, so that GPUs that share several communicators
 * execute them in the same order. */
#include "backend/cuda/comm.h"

#include <stdlib.h>
#include <string.h>

static struct nccl_functions nccl;
static const char *const libraries[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2", NULL};
#define NCCL_REQUIRED(result, name, args) DL_SYMBOL(struct nccl_functions, name)
#define NCCL_OPTIONAL(result, name, args) DL_OPTIONAL(struct nccl_functions, name)
static const struct dl_symbol symbols[] = {NCCL_FUNCTIONS(NCCL_REQUIRED)
                                               NCCL_OPTIONS(NCCL_OPTIONAL)};

enum { MAX_GPUS = 64 }; /* as in cards.c */

struct communicator {
  struct communicator *next;
  int n;
  bool is_aborted; /* aborted because a GPU failed */
  struct gpu *gpus[MAX_GPUS];
  nccl_comm ranks[MAX_GPUS];
};

static struct communicator *communicators;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* serializes groups; never lock a GPU while holding it */
static bool is_loaded;

static void load(void) {
  char why[DL_REASON_SIZE];
  const char *setting = getenv("SITU_NCCL");
  if (setting && !strcmp(setting, "0")) return;
  is_loaded = dl_load(libraries, symbols, (int)COUNT_OF(symbols), &nccl, why);
}

/* Returns NCCL's number of a type; -1 if it is not supported. */
static int get_nccl_type(situ_type type) {
  static const struct {
    situ_type type;
    int nccl_type;
  } types[] = {{SITU_INT8, NCCL_INT8},    {SITU_UINT8, NCCL_UINT8}, {SITU_INT32, NCCL_INT32},
               {SITU_INT64, NCCL_INT64},  {SITU_HALF, NCCL_HALF},   {SITU_FLOAT, NCCL_FLOAT},
               {SITU_DOUBLE, NCCL_DOUBLE}};
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (types[i].type == type) return types[i].nccl_type;
  return -1;
}

static bool supports(situ_type type) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return is_loaded && get_nccl_type(type) >= 0;
}

/* ---- Communicators ---- */

/* Builds the status of an NCCL error. */
static situ_status make_error(const struct communicator *comm, nccl_result result,
                              const char *doing) {
  const char *details = nccl.ncclGetLastError ? nccl.ncclGetLastError(NULL) : NULL;
  return situ_status_create(SITU_UNAVAILABLE,
                            "NCCL failed %s %d GPUs, the first of which is %s: %s (%u).%s%.300s\n"
                            "SITU_NCCL=0 disables NCCL.",
                            doing, comm->n, comm->gpus[0]->card->label,
                            nccl.ncclGetErrorString(result), result, details && *details ? " " : "",
                            details ? details : "");
}

/* Must hold the lock. */
static void close_comm(struct communicator *comm) {
  if (comm->is_aborted) return;
  bool failed = false;
  for (int i = 0; i < comm->n; i++) failed = failed || atomic_load(&comm->gpus[i]->fatal_error);
  comm->is_aborted = true;
  for (int i = 0; i < comm->n; i++)
    (failed ? nccl.ncclCommAbort : nccl.ncclCommDestroy)(comm->ranks[i]);
}

static bool contains(const struct communicator *comm, const struct gpu *gpu) {
  for (int i = 0; i < comm->n; i++)
    if (comm->gpus[i] == gpu) return true;
  return false;
}

void comm_close_gpu(struct gpu *gpu) {
  pthread_mutex_lock(&lock);
  const bool is_pushed = gpu_push(gpu) == CUDA_OK;
  for (struct communicator **link = &communicators, *comm = communicators; comm; comm = *link) {
    if (!contains(comm, gpu)) {
      link = &comm->next;
      continue;
    }
    close_comm(comm);
    *link = comm->next;
    free(comm);
  }
  if (is_pushed) gpu_pop();
  pthread_mutex_unlock(&lock);
}

/* Returns the existing communicator of these GPUs, or NULL. Must hold the lock. */
static struct communicator *find_comm(struct gpu *const *gpus, int n) {
  for (struct communicator *comm = communicators; comm; comm = comm->next)
    if (comm->n == n && !memcmp(comm->gpus, gpus, sizeof *gpus * (size_t)n)) return comm;
  return NULL;
}

/* Must hold the lock. */
static situ_status init_comm(struct communicator *comm) {
  int cards[MAX_GPUS];
  for (int i = 0; i < comm->n; i++) cards[i] = comm->gpus[i]->card->id;
  const bool is_pushed =
      gpu_push(comm->gpus[0]) == CUDA_OK; /* NCCL may change the current context */
  const nccl_result result = nccl.ncclCommInitAll(comm->ranks, comm->n, cards);
  if (is_pushed) gpu_pop();
  comm->is_aborted = result;
  return result ? make_error(comm, result, "initializing a communicator of") : NULL;
}

/* Must hold the lock. */
static situ_status create_comm(struct gpu *const *gpus, int n, struct communicator **out) {
  struct communicator *comm = calloc(1, sizeof *comm);
  if (!comm) return NO_MEMORY();
  comm->n = n;
  memcpy(comm->gpus, gpus, sizeof *gpus * (size_t)n);
  const situ_status status = init_comm(comm);
  if (status) {
    free(comm);
    return status;
  }
  comm->next = communicators;
  *out = communicators = comm;
  return NULL;
}

/* Returns whether the GPU works, as far as its streams report. */
static bool is_working(struct gpu *gpu) {
  if (atomic_load(&gpu->fatal_error) == CUDA_OK && gpu_push(gpu) == CUDA_OK) {
    gpu_note(gpu, cuda.cuStreamQuery(gpu->queues[QUEUE_COMPUTE].stream));
    gpu_pop();
  }
  return atomic_load(&gpu->fatal_error) == CUDA_OK;
}

/* Checks the other GPUs of the GPU's communicators and aborts the communicators with a failed GPU,
 * for which the others would wait forever. Locks no GPU. */
static void check_communicators(void *gpu) {
  if (pthread_mutex_trylock(&lock)) return; /* the caller polls again */
  for (struct communicator *comm = communicators; comm; comm = comm->next) {
    if (comm->is_aborted || !contains(comm, gpu)) continue;
    bool all_working = true;
    for (int i = 0; i < comm->n; i++) all_working = is_working(comm->gpus[i]) && all_working;
    if (!all_working) close_comm(comm);
  }
  pthread_mutex_unlock(&lock);
}

static situ_status open(void *const *devices, int n, void **out) {
  struct gpu *gpus[MAX_GPUS];
  struct communicator *comm = NULL;
  if (n > MAX_GPUS)
    return INVALID("NCCL all-reduce over %d GPUs: at most %d are supported.", n, MAX_GPUS);
  for (int i = 0; i < n; i++) {
    gpus[i] = devices[i];
    TRY(gpu_check(gpus[i]));
    TRY(gpu_lost(gpus[i]));
  }
  pthread_mutex_lock(&lock);
  comm = find_comm(gpus, n);
  const situ_status status = comm ? NULL : create_comm(gpus, n, &comm);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < n && !status; i++) {
    pthread_mutex_lock(&gpus[i]->lock);
    for (int q = 0; q < N_QUEUES; q++)
      queues_set_poll(&gpus[i]->queues[q], check_communicators, gpus[i]);
    pthread_mutex_unlock(&gpus[i]->lock);
  }
  *out = comm;
  return status;
}

/* ---- All-reduce ---- */

static const void *to_pointer(cuda_pointer address) {
  return (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* Resolves the addresses of all inputs and outputs. */
static situ_status resolve_addresses(const struct communicator *comm, const struct span *from,
                                     const struct span *to, size_t bytes, cuda_pointer *sources,
                                     cuda_pointer *targets) {
  for (int i = 0; i < comm->n; i++) {
    struct gpu *gpu = comm->gpus[i];
    TRY(gpu_check(gpu));
    TRY(gpu_lost(gpu)); /* the others would wait forever */
    pthread_mutex_lock(&gpu->lock);
    const bool is_valid =
        gpu_find(gpu, from[i], bytes, &sources[i]) && gpu_find(gpu, to[i], bytes, &targets[i]);
    pthread_mutex_unlock(&gpu->lock);
    if (!is_valid)
      return INTERNAL("An all-reduce uses memory that does not belong to %s.", gpu->card->label);
  }
  return NULL;
}

/* Must hold the lock. */
static nccl_result enqueue_all(const struct communicator *comm, int queue,
                               const cuda_pointer *sources, const cuda_pointer *targets,
                               size_t count, unsigned type) {
  nccl_result result = nccl.ncclGroupStart();
  if (result) return result;
  for (int i = 0; i < comm->n && !result; i++)
    result =
        nccl.ncclAllReduce(to_pointer(sources[i]), (void *)(uintptr_t)to_pointer(targets[i]), count,
                           type, NCCL_SUM, comm->ranks[i], comm->gpus[i]->queues[queue].stream);
  const nccl_result end_result = nccl.ncclGroupEnd();
  return result ? result : end_result;
}

static situ_status all_reduce(void *handle, int queue, const struct span *from,
                              const struct span *to, int64_t count, situ_type type) {
  struct communicator *comm = handle;
  cuda_pointer sources[MAX_GPUS] = {0}, targets[MAX_GPUS] = {0};
  nccl_result result = 0;
  TRY(resolve_addresses(comm, from, to, (size_t)count * situ_type_size(type), sources, targets));
  pthread_mutex_lock(&lock);
  situ_status status = comm->is_aborted ? init_comm(comm) : NULL; /* all its GPUs work again */
  const bool is_pushed = gpu_push(comm->gpus[0]) == CUDA_OK;
  if (!status)
    result =
        enqueue_all(comm, queue, sources, targets, (size_t)count, (unsigned)get_nccl_type(type));
  if (result) {
    status = make_error(comm, result, "all-reducing over");
    comm->is_aborted = true; /* some GPUs may be waiting for others */
    for (int i = 0; i < comm->n; i++) nccl.ncclCommAbort(comm->ranks[i]);
  }
  if (is_pushed) gpu_pop();
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < comm->n; i++) {
    pthread_mutex_lock(&comm->gpus[i]->lock);
    comm->gpus[i]->queues[queue].queued++;
    snprintf(comm->gpus[i]->last_kernel, sizeof comm->gpus[i]->last_kernel,
             "an all-reduce by NCCL");
    pthread_mutex_unlock(&comm->gpus[i]->lock);
  }
  return status;
}

const struct comm cuda_comm = {.supports = supports, .open = open, .all_reduce = all_reduce};
