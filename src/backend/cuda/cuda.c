/* SPDX-License-Identifier: Apache-2.0
 * cuda.c: NVIDIA's GPUs through the CUDA driver.
 *
 * A region is memory of the driver; calls get addresses in it, set when they are bound. A device
 * has the primary context of its GPU, which other libraries of the process share, and a stream for
 * each queue. Nothing here waits for the GPU but sync, reach, and copies that are larger than the
 * pinned memory between host and device. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/blas.h"
#include "backend/cuda/modules.h"
#include "backend/cuda/queues.h"
#include "base/fork.h"
#include "base/trace.h"

struct region {
  struct region *next;
  cuda_pointer address;
  size_t bytes;
};

/* An open device. */
struct cuda {
  const struct card *card;
  cuda_context context;
  int generation; /* of forks */
  struct modules modules;
  cublas_handle blas; /* NULL where there is no cuBLAS, or no product yet */
  bool blas_is_tried;
  pthread_mutex_t lock; /* for what follows */
  struct cuda_queue queues[N_QUEUES];
  struct region *regions;
  cuda_result trouble;   /* the first error that says that the device failed */
  char last[128];        /* the kernel that was launched last, for errors */
  const void *peers[16]; /* contexts whose memory it may use already */
};

union value {
  cuda_pointer pointer;
  int64_t integer;
  int32_t whole;
  float single;
  double real;
};

/* A prepared call: the values of the arguments, and where they are. */
struct cuda_call {
  struct bound bound;
  cuda_function function;
  unsigned blocks;
  bool is_product; /* cuBLAS does it: */
  struct blas_product product;
  union value *values;
  void **args;
};

static situ_status cuda_probe(const struct backend_request *request, int *count, const char **why) {
  (void)request;
  return cards_find(count, why);
}

static situ_status cuda_describe(int index, struct device_info *out) {
  const struct card *card = cards_get(index);
  if (!card) return INVALID("There is no CUDA GPU %d.", index);
  *out = card->info;
  return NULL;
}

/* ---- Errors ---- */

/* Errors after which a context does nothing any more. */
static bool is_fatal(cuda_result result) {
  if (result == CUDA_OUT_OF_RESOURCES || result == CUDA_PEER_ALREADY_ENABLED ||
      result == CUDA_NOT_PERMITTED || result == CUDA_NOT_SUPPORTED)
    return false;
  return result >= CUDA_ILLEGAL_ADDRESS || result == CUDA_DEVICE_UNAVAILABLE ||
         result == CUDA_DEINITIALIZED || result == CUDA_NOT_INITIALIZED ||
         result == CUDA_INVALID_CONTEXT;
}

/* What is said of a device that failed, NULL of others; called with the lock. */
static situ_status lost(const struct cuda *device) {
  char text[192];
  if (device->trouble == CUDA_OK) return NULL;
  return situ_status_create(SITU_UNAVAILABLE,
                            "%s failed: %s.\nThe last kernel that it was given "
                            "is %s; CUDA_LAUNCH_BLOCKING=1 tells which one it was.",
                            device->card->label, cuda_error(device->trouble, text),
                            *device->last ? device->last : "none");
}

/* A driver that was started before a fork does nothing in the child. */
static situ_status check_process(const struct cuda *device) {
  return fork_check(device->generation, device->card->label);
}

static void pop(void) {
  cuda_context ignored = NULL;
  cuda.cuCtxPopCurrent_v2(&ignored);
}

/* Begins something in the device's context; `leave` ends it, and makes a status of the result. */
static void enter(struct cuda *device) {
  cuda.cuCtxPushCurrent_v2(device->context);
  pthread_mutex_lock(&device->lock);
}

static situ_status leave(struct cuda *device, cuda_result result, const char *doing) {
  if (is_fatal(result) && device->trouble == CUDA_OK) device->trouble = result;
  situ_status status = lost(device);
  pthread_mutex_unlock(&device->lock);
  pop();
  return status ? status : cuda_status(result, device->card->label, doing);
}

/* ---- Opening ---- */

static void cuda_close(void *handle) {
  struct cuda *device = handle;
  if (device->context && device->generation == fork_generation()) {
    cuda.cuCtxPushCurrent_v2(device->context);
    for (int i = 0; i < N_QUEUES; i++) queues_close(&device->queues[i]);
    if (device->blas) blas_close(device->blas);
    modules_end(&device->modules);
    while (device->regions) {
      struct region *first = device->regions;
      device->regions = first->next;
      if (first->address) cuda.cuMemFree_v2(first->address);
      free(first);
    }
    pop();
    cuda.cuDevicePrimaryCtxRelease_v2(device->card->id);
  }
  pthread_mutex_destroy(&device->lock);
  free(device);
}

static situ_status cuda_open(int index, void **out) {
  const struct card *card = cards_get(index);
  if (!card) return INVALID("There is no CUDA GPU %d.", index);
  struct cuda *device = calloc(1, sizeof *device);
  if (!device) return NO_MEMORY();
  device->card = card;
  device->generation = fork_generation();
  pthread_mutex_init(&device->lock, NULL);
  cuda_result result = cuda.cuDevicePrimaryCtxRetain(&device->context, card->id);
  if (result == CUDA_OK) {
    modules_begin(&device->modules, card);
    enter(device);
    for (int i = 0; i < N_QUEUES && result == CUDA_OK; i++)
      result = queues_open(&device->queues[i]);
    situ_status_release(leave(device, CUDA_OK, "opening"));
  }
  if (result == CUDA_OK)
    *out = device;
  else
    cuda_close(device);
  return cuda_status(result, card->label, "opening");
}

/* ---- Memory ---- */

static situ_status cuda_alloc(void *handle, size_t bytes, void **out) {
  struct cuda *device = handle;
  TRY(check_process(device));
  struct region *region = calloc(1, sizeof *region);
  if (!region) return NO_MEMORY();
  enter(device);
  region->bytes = bytes;
  const cuda_result result = bytes ? cuda.cuMemAlloc_v2(&region->address, bytes) : CUDA_OK;
  if (result == CUDA_OK) {
    region->next = device->regions;
    device->regions = region;
    *out = region;
  }
  char doing[64];
  snprintf(doing, sizeof doing, "allocating %zu bytes", bytes);
  const situ_status status = leave(device, result, doing);
  if (result != CUDA_OK) free(region);
  return status;
}

static void cuda_free(void *handle, void *memory) {
  struct cuda *device = handle;
  enter(device);
  struct region **link = &device->regions;
  while (*link && *link != memory) link = &(*link)->next;
  struct region *region = *link;
  if (region) {
    *link = region->next;
    if (region->address) cuda.cuMemFree_v2(region->address);
  }
  situ_status_release(leave(device, CUDA_OK, "freeing memory"));
  free(region);
}

static situ_status cuda_available(void *handle, uint64_t *free_bytes) {
  struct cuda *device = handle;
  size_t left = 0, total = 0;
  enter(device);
  const cuda_result result = cuda.cuMemGetInfo_v2(&left, &total);
  *free_bytes = left;
  return leave(device, result, "asking for its free memory");
}

/* Whether `bytes` bytes are the device's own memory; their address. Called with the lock. */
static bool find(const struct cuda *device, struct span span, size_t bytes, cuda_pointer *out) {
  const struct region *region = device->regions;
  while (region && region != span.region) region = region->next;
  if (!region || span.offset > region->bytes || bytes > region->bytes - span.offset) return false;
  *out = region->address + span.offset;
  return true;
}

/* ---- Copies ---- */

static situ_status foreign(struct cuda *device, size_t bytes) {
  const situ_status status = leave(device, CUDA_OK, "copying");
  if (status) return status;
  return INTERNAL("A copy of %zu bytes on %s names memory that is not its own.", bytes,
                  device->card->label);
}

static situ_status cuda_write(void *handle, int queue, struct span to, const void *from,
                              size_t bytes) {
  struct cuda *device = handle;
  cuda_pointer address = 0;
  if (!bytes) return NULL;
  TRY(check_process(device));
  enter(device);
  if (!find(device, to, bytes, &address)) return foreign(device, bytes);
  return leave(device, queues_write(&device->queues[queue], address, from, bytes),
               "copying to the GPU");
}

static situ_status cuda_read(void *handle, int queue, void *to, struct span from, size_t bytes) {
  struct cuda *device = handle;
  cuda_pointer address = 0;
  if (!bytes) return NULL;
  TRY(check_process(device));
  enter(device);
  if (!find(device, from, bytes, &address)) return foreign(device, bytes);
  return leave(device, queues_read(&device->queues[queue], to, address, bytes),
               "copying to the host");
}

static situ_status cuda_copy(void *handle, int queue, struct span to, struct span from,
                             size_t bytes) {
  struct cuda *device = handle;
  struct cuda_queue *at = &device->queues[queue];
  cuda_pointer target = 0, source = 0;
  if (!bytes) return NULL;
  TRY(check_process(device));
  enter(device);
  if (!find(device, to, bytes, &target) || !find(device, from, bytes, &source))
    return foreign(device, bytes);
  at->queued++;
  return leave(device, cuda.cuMemcpyDtoDAsync_v2(target, source, bytes, at->stream), "copying");
}

/* Lets the device reach the memory of another one directly, where it can. Called with the lock. */
static void befriend(struct cuda *device, const struct cuda *other) {
  int can = 0;
  size_t i = 0;
  while (i < COUNT_OF(device->peers) - 1 && device->peers[i] && device->peers[i] != other->context)
    i++;
  if (device->peers[i] == other->context || device->context == other->context) return;
  device->peers[i] = other->context;
  if (cuda.cuDeviceCanAccessPeer(&can, device->card->id, other->card->id) == CUDA_OK && can)
    cuda.cuCtxEnablePeerAccess(other->context, 0); /* the copy works without it too */
}

static situ_status cuda_peer(void *handle, int queue, struct span to, void *from_handle,
                             struct span from, size_t bytes) {
  struct cuda *device = handle, *other = from_handle;
  struct cuda_queue *at = &device->queues[queue];
  cuda_pointer target = 0, source = 0;
  if (!bytes) return NULL;
  TRY(check_process(device));
  pthread_mutex_lock(&other->lock);
  const bool is_theirs = find(other, from, bytes, &source);
  pthread_mutex_unlock(&other->lock);
  enter(device);
  if (!is_theirs || !find(device, to, bytes, &target)) return foreign(device, bytes);
  befriend(device, other);
  at->queued++;
  return leave(
      device,
      cuda.cuMemcpyPeerAsync(target, device->context, source, other->context, bytes, at->stream),
      "copying from another GPU");
}

/* ---- Kernels ---- */

/* Gives an argument its memory; called with the lock. False where it is not the device's. */
static bool set_memory(const struct cuda *device, struct cuda_call *call, int arg,
                       struct span span) {
  call->values[arg].pointer = 0;
  if (!span.region) return true; /* a value without elements has no memory */
  span.offset += (size_t)call->bound.launch->args[arg].offset;
  return find(device, span, 1, &call->values[arg].pointer);
}

/* A number is passed in the type that the kernel computes in. */
static void set_real(union value *out, situ_type type, double real) {
  if (type == SITU_DOUBLE)
    out->real = real;
  else if (type == SITU_FLOAT || type == SITU_HALF)
    out->single = (float)real;
  else if (type == SITU_INT64)
    out->integer = (int64_t)real;
  else
    out->whole = (int32_t)real;
}

static situ_status refuse(const struct launch *launch, int arg) {
  return INTERNAL("Argument %d of kernel '%s' is not memory of the device that runs it.", arg,
                  launch->kernel->name);
}

static situ_status set_args(struct cuda *device, struct cuda_call *call, const struct span *slots) {
  const struct launch *launch = call->bound.launch;
  int wrong = -1;
  pthread_mutex_lock(&device->lock);
  for (int i = 0; i < launch->n_args; i++) {
    const struct launch_arg *arg = &launch->args[i];
    call->args[i] = &call->values[i];
    if (arg->kind == ARG_INTEGER)
      call->values[i].integer = arg->integer;
    else if (arg->kind == ARG_REAL)
      set_real(&call->values[i], launch->type, arg->real);
    else if (!set_memory(device, call, i, slots[arg->slot]) && wrong < 0)
      wrong = i;
  }
  pthread_mutex_unlock(&device->lock);
  return wrong < 0 ? NULL : refuse(launch, wrong);
}

/* Whether cuBLAS is there for a product; it is started for the first one. In the context. */
static bool takes_product(struct cuda *device, struct cuda_call *call) {
  if (!blas_takes(call->bound.launch, &call->product)) return false;
  pthread_mutex_lock(&device->lock);
  if (!device->blas_is_tried) device->blas = blas_open();
  device->blas_is_tried = true;
  const bool is_there = device->blas;
  pthread_mutex_unlock(&device->lock);
  return is_there;
}

static situ_status cuda_bind(void *handle, const struct launch *launch, const struct span *slots,
                             struct arena *arena, struct bound **out) {
  struct cuda *device = handle;
  TRY(check_process(device));
  struct cuda_call *call = arena_zero(arena, sizeof *call);
  if (!call) return NO_MEMORY();
  call->bound.launch = launch;
  call->blocks = (unsigned)launch_groups(launch);
  call->values = ARENA_ARRAY(arena, union value, launch->n_args);
  call->args = ARENA_ARRAY(arena, void *, launch->n_args);
  if (!call->values || !call->args) return NO_MEMORY();
  cuda.cuCtxPushCurrent_v2(device->context);
  call->is_product = takes_product(device, call);
  situ_status status = call->is_product ? NULL
                                        : modules_kernel(&device->modules, launch->kernel,
                                                         launch->type, &call->function);
  pop();
  if (!status) status = set_args(device, call, slots);
  if (!status) *out = &call->bound;
  return status;
}

static situ_status cuda_rebind(void *handle, struct bound *bound, int arg, struct span span) {
  struct cuda *device = handle;
  struct cuda_call *call = (struct cuda_call *)bound;
  pthread_mutex_lock(&device->lock);
  const bool is_ours = set_memory(device, call, arg, span);
  pthread_mutex_unlock(&device->lock);
  return is_ours ? NULL : refuse(bound->launch, arg);
}

/* Whether the run of a call was told to end. */
static bool is_cancelled(const struct bound *bound) {
  const situ_status status = bound->error ? atomic_load(bound->error) : NULL;
  const situ_code code = situ_status_code(status);
  return code == SITU_CANCELLED || code == SITU_DEADLINE_EXCEEDED;
}

/* Called with the lock. */
static cuda_result start(struct cuda *device, const struct cuda_call *call, cuda_stream stream) {
  const union value *values = call->values;
  if (!call->is_product)
    return cuda.cuLaunchKernel(call->function, call->blocks, 1, 1, GROUP_ITEMS, 1, 1, 0, stream,
                               call->args, NULL);
  const cublas_status status = blas_run(device->blas, stream, &call->product, values[0].pointer,
                                        values[1].pointer, values[2].pointer);
  return status ? CUDA_LAUNCH_FAILED : CUDA_OK;
}

static situ_status cuda_launch(void *handle, int queue, struct bound *bound) {
  struct cuda *device = handle;
  const struct launch *launch = bound->launch;
  struct cuda_queue *at = &device->queues[queue];
  cuda_result result = CUDA_OK;
  if (!launch->items || is_cancelled(bound)) return NULL;
  TRY(check_process(device));
  enter(device);
  at->queued++;
  if (device->trouble == CUDA_OK) {
    snprintf(device->last, sizeof device->last, "'%s' of %.90s", launch->kernel->name,
             launch->node ? launch->node : "nobody");
    result = start(device, (struct cuda_call *)bound, at->stream);
  }
  return status_at_node(leave(device, result, "launching a kernel"), launch->node);
}

/* ---- Queues ---- */

static situ_status cuda_mark(void *handle, int queue, uint64_t *mark) {
  struct cuda *device = handle;
  enter(device);
  cuda_result result = queues_mark(&device->queues[queue], mark);
  if (device->trouble != CUDA_OK) result = CUDA_OK; /* sync says it */
  if (is_fatal(result)) device->trouble = result;
  pthread_mutex_unlock(&device->lock);
  pop();
  return is_fatal(result) ? NULL : cuda_status(result, device->card->label, "marking");
}

static cuda_event event_of(struct cuda *device, int queue, uint64_t mark, uint64_t *number) {
  pthread_mutex_lock(&device->lock);
  const cuda_event event =
      device->trouble == CUDA_OK ? queues_event(&device->queues[queue], mark, number) : NULL;
  pthread_mutex_unlock(&device->lock);
  return event;
}

static situ_status cuda_wait(void *handle, int queue, void *on_handle, int on_queue,
                             uint64_t mark) {
  struct cuda *device = handle;
  struct cuda_queue *at = &device->queues[queue];
  uint64_t number = 0;
  const cuda_event event = event_of(on_handle, on_queue, mark, &number);
  if (!event) return NULL;
  enter(device);
  at->queued++;
  return leave(device, cuda.cuStreamWaitEvent(at->stream, event, 0), "waiting for another queue");
}

/* Notes that a queue has come so far, or that the device failed. */
static situ_status arrive(struct cuda *device, int queue, uint64_t number, cuda_result result) {
  struct cuda_queue *at = &device->queues[queue];
  enter(device);
  if (result == CUDA_OK && at->reached < number) at->reached = number;
  return leave(device, result, "while working");
}

static situ_status cuda_sync(void *handle, int queue, uint64_t mark) {
  struct cuda *device = handle;
  uint64_t number = 0;
  cuda_result result = CUDA_OK;
  TRY(check_process(device));
  const cuda_event event = event_of(device, queue, mark, &number);
  if (event) {
    cuda.cuCtxPushCurrent_v2(device->context);
    result = cuda.cuEventSynchronize(event);
    pop();
  }
  return arrive(device, queue, number, result);
}

static bool cuda_reach(void *handle, int queue, uint64_t mark, double seconds) {
  struct cuda *device = handle;
  const int64_t end = trace_now() + (int64_t)(seconds * 1e9);
  uint64_t number = 0;
  cuda_result result = CUDA_OK;
  const cuda_event event = event_of(device, queue, mark, &number);
  for (useconds_t nap = 10; event; nap = nap < 500 ? nap * 2 : nap) {
    cuda.cuCtxPushCurrent_v2(device->context);
    result = cuda.cuEventQuery(event);
    pop();
    if (result != CUDA_NOT_READY) break;
    if (trace_now() >= end) return false;
    usleep(nap);
  }
  situ_status_release(arrive(device, queue, number, result));
  return true;
}

static void write_time(void *at) { *(int64_t *)at = trace_now(); }

static situ_status cuda_stamp(void *handle, int queue, int64_t *at) {
  struct cuda *device = handle;
  struct cuda_queue *to = &device->queues[queue];
  enter(device);
  to->queued++;
  return leave(device, cuda.cuLaunchHostFunc(to->stream, write_time, at), "taking the time");
}

const struct backend cuda_backend = {
    .name = "cuda",
    .kind = "GPU",
    .tested =
        "kernels compiled by NVRTC, run by an interpreter of PTX; driver calls against a "
        "stand-in; never yet on a GPU",
    .masks_itself = true,
    .probe = cuda_probe,
    .describe = cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .available = cuda_available,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .peer = cuda_peer,
    .bind = cuda_bind,
    .rebind = cuda_rebind,
    .launch = cuda_launch,
    .mark = cuda_mark,
    .wait = cuda_wait,
    .sync = cuda_sync,
    .reach = cuda_reach,
    .stamp = cuda_stamp,
};
