/* SPDX-License-Identifier: Apache-2.0
 * opencl.c: GPUs of any vendor through OpenCL 1.2.
 *
 * A region is a buffer; the arguments of a call are sub-buffers, set once when it is bound. Each
 * device has its own context (copies between devices are staged through the host), three command
 * queues, and a worker that submits to them, so that two devices run concurrently even if a driver
 * executes in the calling thread. Command queues run asynchronously: an event with a callback
 * behind each mark reports completion. */
#include <stdlib.h>
#include <string.h>

#include "backend/opencl/programs.h"
#include "base/log.h"
#include "host/worker.h"

struct region {
  struct region *next;
  cl_memory memory;
  size_t bytes;
};

/* An open device. `regions` and `trouble` are guarded by worker_lock. */
struct opencl {
  struct gpu *gpu;
  cl_context context;
  cl_queue queues[N_QUEUES];
  struct programs programs;
  struct region *regions;
  int32_t device_error; /* first fatal error of the device */
  char last_kernel[96]; /* last kernel and its node; used by the worker only */
  struct worker worker;
};

/* A prepared call: a kernel object with its arguments set. */
struct opencl_call {
  struct bound_kernel bound;
  cl_kernel kernel;
  cl_memory *sub_buffers; /* sub-buffer per argument; NULL if it is not memory */
};

static situ_status opencl_probe(const struct backend_request *request, int *count,
                                const char **why) {
  return gpus_find(request->opencl_devices, count, why);
}

static situ_status opencl_describe(int index, struct device_info *out) {
  const struct gpu *gpu = gpus_get(index);
  if (!gpu) return INVALID("There is no OpenCL device %d.", index);
  *out = gpu->info;
  return NULL;
}

/* ---- Worker ---- */

static situ_status make_lost_status(const void *device) {
  const struct opencl *opencl = device;
  if (!opencl->device_error) return NULL;
  char text[128], doing[160];
  snprintf(doing, sizeof doing, "while working%s%s",
           *opencl->last_kernel ? ", the last kernel being " : "", opencl->last_kernel);
  return situ_status_create(SITU_UNAVAILABLE, "%s failed %s: %s.", opencl->gpu->label, doing,
                            cl_error(opencl->device_error, text));
}

/* Returns whether an error concerns a single call only, not the device. */
static bool is_call_error(int32_t error) {
  return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY ||
         error == CL_INVALID_KERNEL_ARGS || error == CL_INVALID_WORK_GROUP_SIZE ||
         error == CL_INVALID_VALUE;
}

/* Records the first error of the device. */
static void record_error(struct opencl *opencl, int32_t error) {
  if (error == CL_SUCCESS) return;
  pthread_mutex_lock(&worker_lock);
  if (!opencl->device_error) opencl->device_error = error;
  pthread_mutex_unlock(&worker_lock);
}

static int32_t start_call(cl_queue queue, const struct work *work) {
  const struct opencl_call *call = (const struct opencl_call *)work->bound;
  const size_t group = GROUP_ITEMS, items = (size_t)launch_groups(call->bound.launch) * group;
  return cl.clEnqueueNDRangeKernel(queue, call->kernel, 1, NULL, &items, &group, 0, NULL, NULL);
}

static int32_t start_copy(cl_queue queue, const struct work *work) {
  const struct span to = work->to, from = work->from;
  if (work->kind == WORK_WRITE)
    return cl.clEnqueueWriteBuffer(queue, to.region, 0, to.offset, work->bytes, from.region, 0,
                                   NULL, NULL);
  if (work->kind == WORK_READ)
    return cl.clEnqueueReadBuffer(queue, from.region, 0, from.offset, work->bytes, to.region, 0,
                                  NULL, NULL);
  return cl.clEnqueueCopyBuffer(queue, from.region, to.region, from.offset, to.offset, work->bytes,
                                0, NULL, NULL);
}

static void start(void *device, int queue, const struct work *work) {
  struct opencl *opencl = device;
  const cl_queue cl_queue_handle = opencl->queues[queue];
  const bool is_call = work->kind == WORK_CALL;
  const struct launch *launch = is_call ? work->bound->launch : NULL;
  if (is_call)
    snprintf(opencl->last_kernel, sizeof opencl->last_kernel, "'%.40s' of '%.40s'",
             launch->kernel->name, launch->node ? launch->node : "");
  const int32_t error =
      is_call ? start_call(cl_queue_handle, work) : start_copy(cl_queue_handle, work);
  if (error == CL_SUCCESS) return;
  if (!is_call || !is_call_error(error)) record_error(opencl, error);
  if (!is_call) return;
  char doing[64];
  snprintf(doing, sizeof doing, "starting kernel '%.40s'", launch->kernel->name);
  worker_fail(work->bound, cl_status(error, opencl->gpu->label, doing));
}

static void finish(void *device, int queue) {
  struct opencl *opencl = device;
  record_error(opencl, cl.clFinish(opencl->queues[queue]));
}

/* A position in a queue whose completion is reported to the worker. */
struct position {
  struct opencl *opencl;
  int queue;
  uint64_t number;
};

/* Called by the driver in any thread. */
static void CL_CALLBACK on_event(cl_event event, int32_t state, void *context) {
  (void)event;
  const struct position position = *(struct position *)context;
  free(context);
  if (state < 0) record_error(position.opencl, state);
  worker_done(&position.opencl->worker, position.queue, position.number);
}

/* Enqueues an event behind all work of the queue; on success its callback owns `position`. */
static int32_t enqueue_event(cl_queue queue, struct position *position) {
  cl_event event = NULL;
  int32_t error = cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
  if (error != CL_SUCCESS) return error;
  error = cl.clSetEventCallback(event, CL_COMPLETE, on_event, position);
  cl.clReleaseEvent(event);
  return error;
}

static void signal_when_done(void *device, int queue, uint64_t number) {
  struct opencl *opencl = device;
  struct position *position = malloc(sizeof *position);
  if (position) *position = (struct position){opencl, queue, number};
  if (position && enqueue_event(opencl->queues[queue], position) == CL_SUCCESS) {
    record_error(opencl, cl.clFlush(opencl->queues[queue]));
    return;
  }
  free(position);
  finish(opencl, queue); /* without an event, this reports whether the device has failed */
  worker_done(&opencl->worker, queue, number);
}

static const struct worker_owner owner = {
    .lost = make_lost_status, .run = start, .signal = signal_when_done, .finish = finish};

/* ---- Opening ---- */

static void free_region(struct opencl *opencl, struct region *region) {
  if (region->memory) cl.clReleaseMemObject(region->memory);
  pthread_mutex_lock(&worker_lock);
  opencl->gpu->used -= region->bytes;
  pthread_mutex_unlock(&worker_lock);
  free(region);
}

static void opencl_close(void *device) {
  struct opencl *opencl = device;
  worker_stop(&opencl->worker);
  while (opencl->regions) {
    struct region *first = opencl->regions;
    opencl->regions = first->next;
    free_region(opencl, first);
  }
  for (int i = 0; i < N_QUEUES; i++)
    if (opencl->queues[i]) cl.clReleaseCommandQueue(opencl->queues[i]);
  if (opencl->context) {
    programs_end(&opencl->programs);
    cl.clReleaseContext(opencl->context);
  }
  free(opencl);
}

static situ_status open_queues(struct opencl *opencl) {
  int32_t error = CL_SUCCESS;
  opencl->context = cl.clCreateContext(NULL, 1, &opencl->gpu->id, NULL, NULL, &error);
  if (error != CL_SUCCESS) return cl_status(error, opencl->gpu->label, "opening");
  programs_begin(&opencl->programs, opencl->gpu, opencl->context);
  for (int i = 0; i < N_QUEUES && error == CL_SUCCESS; i++)
    opencl->queues[i] = cl.clCreateCommandQueue(opencl->context, opencl->gpu->id, 0, &error);
  TRY(cl_status(error, opencl->gpu->label, "opening"));
  return worker_start(&opencl->worker, &owner, opencl, opencl->gpu->label);
}

static situ_status opencl_open(int index, void **device) {
  struct gpu *gpu = gpus_get(index);
  if (!gpu) return INVALID("There is no OpenCL device %d.", index);
  struct opencl *opencl = calloc(1, sizeof *opencl);
  if (!opencl) return NO_MEMORY();
  opencl->gpu = gpu;
  const situ_status status = open_queues(opencl);
  if (status)
    opencl_close(opencl);
  else
    *device = opencl;
  return status;
}

/* ---- Memory ---- */

/* Accounts for `bytes` bytes, since OpenCL may overcommit. */
static situ_status reserve_bytes(struct opencl *opencl, size_t bytes) {
  struct gpu *gpu = opencl->gpu;
  pthread_mutex_lock(&worker_lock);
  const uint64_t left = gpu->info.memory - gpu->used;
  const size_t maximum = left < gpu->largest ? (size_t)left : gpu->largest;
  if (bytes <= maximum) gpu->used += bytes;
  pthread_mutex_unlock(&worker_lock);
  if (bytes <= maximum) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s can allocate at most %zu bytes, not %zu.",
                            gpu->label, maximum, bytes);
}

/* Touches the memory: a driver may allocate on first use, and a failure here lets the caller retry
 * with less. */
static int32_t touch(const struct opencl *opencl, cl_memory memory, size_t bytes) {
  const char byte = 0;
  int32_t error = CL_SUCCESS;
  const cl_queue queue = cl.clCreateCommandQueue(opencl->context, opencl->gpu->id, 0, &error);
  if (error != CL_SUCCESS) return error;
  error = cl.clEnqueueWriteBuffer(queue, memory, 1, bytes - 1, 1, &byte, 0, NULL, NULL);
  if (error == CL_SUCCESS) error = cl.clFinish(queue);
  cl.clReleaseCommandQueue(queue);
  return error;
}

static situ_status opencl_alloc(void *device, size_t bytes, void **out) {
  struct opencl *opencl = device;
  TRY(reserve_bytes(opencl, bytes));
  struct region *region = calloc(1, sizeof *region);
  int32_t error = CL_OUT_OF_HOST_MEMORY;
  if (region) {
    const size_t size = bytes ? bytes : 1;
    region->bytes = bytes;
    region->memory = cl.clCreateBuffer(opencl->context, CL_MEM_READ_WRITE, size, NULL, &error);
    if (error == CL_SUCCESS) error = touch(opencl, region->memory, size);
  }
  if (error != CL_SUCCESS) {
    if (region) free_region(opencl, region);
    return situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s cannot allocate %zu bytes (error %d).",
                              opencl->gpu->label, bytes, error);
  }
  pthread_mutex_lock(&worker_lock);
  region->next = opencl->regions;
  opencl->regions = region;
  pthread_mutex_unlock(&worker_lock);
  *out = region;
  return NULL;
}

static void opencl_free(void *device, void *handle) {
  struct opencl *opencl = device;
  pthread_mutex_lock(&worker_lock);
  struct region **link = &opencl->regions;
  while (*link && *link != handle) link = &(*link)->next;
  struct region *region = *link;
  if (region) *link = region->next;
  pthread_mutex_unlock(&worker_lock);
  if (region) free_region(opencl, region);
}

static situ_status opencl_available(void *device, uint64_t *free_bytes) {
  const struct opencl *opencl = device;
  pthread_mutex_lock(&worker_lock);
  *free_bytes = opencl->gpu->info.memory - opencl->gpu->used;
  const situ_status status = make_lost_status(opencl);
  pthread_mutex_unlock(&worker_lock);
  return status;
}

/* Returns the region of `bytes` bytes of the device; NULL if they are not inside one. */
static const struct region *find_region(const struct opencl *opencl, struct span span,
                                        size_t bytes) {
  pthread_mutex_lock(&worker_lock);
  const struct region *region = opencl->regions;
  while (region && region != span.region) region = region->next;
  pthread_mutex_unlock(&worker_lock);
  if (!region || span.offset > region->bytes || bytes > region->bytes - span.offset) return NULL;
  return region;
}

/* ---- Copies ---- */

/* Enqueues a copy between buffers and host memory. */
static situ_status queue_copy(struct opencl *opencl, int queue, struct work work, bool is_valid) {
  if (!work.bytes) return NULL;
  if (is_valid) return worker_enqueue(&opencl->worker, queue, &work);
  return INTERNAL("A copy of %zu bytes on %s uses memory that does not belong to it.", work.bytes,
                  opencl->gpu->label);
}

static struct span to_buffer_span(const struct region *region, struct span span) {
  return (struct span){region ? region->memory : NULL, span.offset};
}

static situ_status opencl_write(void *device, int queue, struct span to, const void *from,
                                size_t bytes) {
  const struct region *region = find_region(device, to, bytes);
  const struct work work = {.kind = WORK_WRITE,
                            .to = to_buffer_span(region, to),
                            .from = {(void *)(uintptr_t)from, 0},
                            .bytes = bytes};
  return queue_copy(device, queue, work, region);
}

static situ_status opencl_read(void *device, int queue, void *to, struct span from, size_t bytes) {
  const struct region *region = find_region(device, from, bytes);
  const struct work work = {
      .kind = WORK_READ, .to = {to, 0}, .from = to_buffer_span(region, from), .bytes = bytes};
  return queue_copy(device, queue, work, region);
}

static situ_status opencl_copy(void *device, int queue, struct span to, struct span from,
                               size_t bytes) {
  const struct region *target = find_region(device, to, bytes),
                      *source = find_region(device, from, bytes);
  const struct work work = {.kind = WORK_COPY,
                            .to = to_buffer_span(target, to),
                            .from = to_buffer_span(source, from),
                            .bytes = bytes};
  return queue_copy(device, queue, work, target && source);
}

/* ---- Kernels ---- */

static situ_status set_arg(const struct opencl *opencl, struct opencl_call *call, int arg,
                           size_t size, const void *value) {
  const int32_t error = cl.clSetKernelArg(call->kernel, (uint32_t)arg, size, value);
  return cl_status(error, opencl->gpu->label, "preparing a kernel");
}

/* Sets an argument to a sub-buffer from `span` to the end of its region. */
static situ_status set_memory(const struct opencl *opencl, struct opencl_call *call, int arg,
                              struct span span) {
  const struct launch *launch = call->bound.launch;
  cl_memory sub_buffer = NULL;
  struct cl_region range;
  int32_t error = CL_SUCCESS;
  if (span.region) { /* an empty value has no memory */
    span.offset += (size_t)launch->args[arg].offset;
    const struct region *region = find_region(opencl, span, 1);
    if (!region)
      return INTERNAL("Argument %d of kernel '%s' is not memory of the device that runs it.", arg,
                      launch->kernel->name);
    range = (struct cl_region){span.offset, region->bytes - span.offset};
    sub_buffer = cl.clCreateSubBuffer(region->memory, CL_MEM_READ_WRITE,
                                      CL_BUFFER_CREATE_TYPE_REGION, &range, &error);
    TRY(cl_status(error, opencl->gpu->label, "creating a sub-buffer"));
  }
  if (call->sub_buffers[arg]) cl.clReleaseMemObject(call->sub_buffers[arg]);
  call->sub_buffers[arg] = sub_buffer;
  return set_arg(opencl, call, arg, sizeof sub_buffer, sub_buffer ? &sub_buffer : NULL);
}

/* Passes a number in the type in which the kernel computes. */
static situ_status set_real(const struct opencl *opencl, struct opencl_call *call, int arg,
                            double real) {
  const situ_type type = call->bound.launch->type;
  const float single = (float)real;
  const int32_t int32 = (int32_t)real;
  const int64_t wide = (int64_t)real;
  if (type == SITU_DOUBLE) return set_arg(opencl, call, arg, sizeof real, &real);
  if (type == SITU_FLOAT || type == SITU_HALF)
    return set_arg(opencl, call, arg, sizeof single, &single);
  if (type == SITU_INT64) return set_arg(opencl, call, arg, sizeof wide, &wide);
  return set_arg(opencl, call, arg, sizeof int32, &int32);
}

static situ_status set_args(const struct opencl *opencl, struct opencl_call *call,
                            const struct span *slots) {
  const struct launch *launch = call->bound.launch;
  for (int i = 0; i < launch->n_args; i++) {
    const struct launch_arg *arg = &launch->args[i];
    if (arg->kind == ARG_SLOT)
      TRY(set_memory(opencl, call, i, slots[arg->slot]));
    else if (arg->kind == ARG_INTEGER)
      TRY(set_arg(opencl, call, i, sizeof arg->integer, &arg->integer));
    else
      TRY(set_real(opencl, call, i, arg->real));
  }
  return NULL;
}

static void opencl_unbind(void *device, struct bound_kernel *bound) {
  (void)device;
  const struct opencl_call *call = (struct opencl_call *)bound;
  for (int i = 0; i < bound->launch->n_args; i++)
    if (call->sub_buffers[i]) cl.clReleaseMemObject(call->sub_buffers[i]);
  if (call->kernel) cl.clReleaseKernel(call->kernel);
}

static situ_status opencl_bind(void *device, const struct launch *launch, const struct span *slots,
                               struct arena *arena, struct bound_kernel **out) {
  struct opencl *opencl = device;
  struct opencl_call *call = arena_zero(arena, sizeof *call);
  if (!call) return NO_MEMORY();
  call->bound.launch = launch;
  call->sub_buffers = ARENA_ARRAY(arena, cl_memory, launch->n_args);
  if (!call->sub_buffers) return NO_MEMORY();
  TRY(programs_kernel(&opencl->programs, launch->kernel, launch->type, &call->kernel));
  const situ_status status = set_args(opencl, call, slots);
  if (status)
    opencl_unbind(device, &call->bound);
  else
    *out = &call->bound;
  return status;
}

static situ_status opencl_rebind(void *device, struct bound_kernel *bound, int arg,
                                 struct span span) {
  return set_memory(device, (struct opencl_call *)bound, arg, span);
}

static situ_status opencl_launch(void *device, int queue, struct bound_kernel *bound) {
  struct opencl *opencl = device;
  if (!bound->launch->items) return NULL;
  return worker_enqueue(&opencl->worker, queue, &(struct work){.kind = WORK_CALL, .bound = bound});
}

/* ---- Queues ---- */

static situ_status opencl_mark(void *device, int queue, uint64_t *mark) {
  *mark = worker_mark(&((struct opencl *)device)->worker, queue);
  return NULL;
}

static situ_status opencl_wait(void *device, int queue, void *on_device, int on_queue,
                               uint64_t mark) {
  return worker_wait(&((struct opencl *)device)->worker, queue,
                     &((struct opencl *)on_device)->worker, on_queue, mark);
}

static situ_status opencl_sync(void *device, int queue, uint64_t mark) {
  return worker_sync(&((struct opencl *)device)->worker, queue, mark);
}

static bool opencl_reach(void *device, int queue, uint64_t mark, double seconds) {
  return worker_sync_timeout(&((struct opencl *)device)->worker, queue, mark, seconds);
}

static situ_status opencl_stamp(void *device, int queue, int64_t *cl_queue_handle) {
  return worker_stamp(&((struct opencl *)device)->worker, queue, cl_queue_handle);
}

const struct backend opencl_backend = {
    .name = "opencl",
    .kind = "GPU",
    .tested =
        "every op, on PoCL and on Intel's OpenCL (CPUs), and in part in oclgrind; never yet on a "
        "GPU",
    .probe = opencl_probe,
    .describe = opencl_describe,
    .open = opencl_open,
    .close = opencl_close,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .available = opencl_available,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .bind = opencl_bind,
    .rebind = opencl_rebind,
    .unbind = opencl_unbind,
    .launch = opencl_launch,
    .mark = opencl_mark,
    .wait = opencl_wait,
    .sync = opencl_sync,
    .reach = opencl_reach,
    .stamp = opencl_stamp,
};
