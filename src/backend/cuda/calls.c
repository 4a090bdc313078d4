/* SPDX-License-Identifier: Apache-2.0
 * calls.c: see calls.h. */
#include "backend/cuda/calls.h"

union value {
  cuda_pointer pointer;
  int64_t integer;
  int32_t whole;
  float single;
  double real;
};

/* A prepared call: the values of the arguments, and where they are. */
struct cuda_call {
  struct bound_kernel bound;
  cuda_function function;
  unsigned blocks;
  bool is_product; /* cuBLAS does it: */
  struct blas_product product;
  union value *values;
  void **args;
};

/* Gives an argument its memory; called with the lock. False where it is not the device's. */
static bool set_memory(const struct gpu *gpu, struct cuda_call *call, int arg, struct span span) {
  call->values[arg].pointer = 0;
  if (!span.region) return true; /* a value without elements has no memory */
  span.offset += (size_t)call->bound.launch->args[arg].offset;
  return gpu_find(gpu, span, 1, &call->values[arg].pointer);
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

static situ_status set_args(struct gpu *gpu, struct cuda_call *call, const struct span *slots) {
  const struct launch *launch = call->bound.launch;
  int wrong = -1;
  pthread_mutex_lock(&gpu->lock);
  for (int i = 0; i < launch->n_args; i++) {
    const struct launch_arg *arg = &launch->args[i];
    call->args[i] = &call->values[i];
    if (arg->kind == ARG_INTEGER)
      call->values[i].integer = arg->integer;
    else if (arg->kind == ARG_REAL)
      set_real(&call->values[i], launch->type, arg->real);
    else if (!set_memory(gpu, call, i, slots[arg->slot]) && wrong < 0)
      wrong = i;
  }
  pthread_mutex_unlock(&gpu->lock);
  return wrong < 0 ? NULL : refuse(launch, wrong);
}

/* Whether cuBLAS is there for a product; it is started for the first one. In the context. */
static bool takes_product(struct gpu *gpu, struct cuda_call *call) {
  if (!blas_supports(call->bound.launch, &call->product)) return false;
  pthread_mutex_lock(&gpu->lock);
  if (!gpu->blas_is_tried) gpu->blas = blas_open();
  gpu->blas_is_tried = true;
  const bool is_there = gpu->blas;
  pthread_mutex_unlock(&gpu->lock);
  return is_there;
}

situ_status calls_bind(void *handle, const struct launch *launch, const struct span *slots,
                       struct arena *arena, struct bound_kernel **out) {
  struct gpu *gpu = handle;
  TRY(gpu_check(gpu));
  if (launch_groups(launch) > INT32_MAX)
    return INVALID("Kernel '%s' has %lld items, more than CUDA starts at once.",
                   launch->kernel->name, (long long)launch->items);
  struct cuda_call *call = arena_zero(arena, sizeof *call);
  if (!call) return NO_MEMORY();
  call->bound.launch = launch;
  call->blocks = (unsigned)launch_groups(launch);
  call->values = ARENA_ARRAY(arena, union value, launch->n_args);
  call->args = ARENA_ARRAY(arena, void *, launch->n_args);
  if (!call->values || !call->args) return NO_MEMORY();
  TRY(cuda_status(gpu_push(gpu), gpu->card->label, "preparing a kernel"));
  call->is_product = takes_product(gpu, call);
  situ_status status = call->is_product ? NULL
                                        : modules_kernel(&gpu->modules, launch->kernel,
                                                         launch->type, &call->function);
  gpu_pop();
  if (!status) status = set_args(gpu, call, slots);
  if (!status) *out = &call->bound;
  return status;
}

situ_status calls_rebind(void *handle, struct bound_kernel *bound, int arg, struct span span) {
  struct gpu *gpu = handle;
  struct cuda_call *call = (struct cuda_call *)bound;
  pthread_mutex_lock(&gpu->lock);
  const bool is_ours = set_memory(gpu, call, arg, span);
  pthread_mutex_unlock(&gpu->lock);
  return is_ours ? NULL : refuse(bound->launch, arg);
}

/* Whether the run of a call was told to end. */
static bool is_cancelled(const struct bound_kernel *bound) {
  const situ_status status = bound->error ? atomic_load(bound->error) : NULL;
  const situ_code code = situ_status_code(status);
  return code == SITU_CANCELLED || code == SITU_DEADLINE_EXCEEDED;
}

/* Called with the lock, in the context. */
static situ_status multiply(struct gpu *gpu, const struct cuda_call *call, cuda_stream stream) {
  const union value *values = call->values;
  const cublas_status status = blas_run(gpu->blas, stream, &call->product, values[0].pointer,
                                        values[1].pointer, values[2].pointer);
  if (!status) return NULL;
  return situ_status_create(SITU_UNAVAILABLE,
                            "%s failed multiplying matrices by cuBLAS: %s (%u). With SITU_CUBLAS=0 "
                            "it uses kernels of situ's own.",
                            gpu->card->label, blas_error(status), status);
}

situ_status calls_launch(void *handle, int queue, struct bound_kernel *bound) {
  struct gpu *gpu = handle;
  const struct launch *launch = bound->launch;
  const struct cuda_call *call = (struct cuda_call *)bound;
  struct cuda_queue *at = &gpu->queues[queue];
  situ_status product = NULL;
  if (!launch->items || is_cancelled(bound)) return NULL;
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  at->queued++;
  if (result == CUDA_OK && atomic_load(&gpu->trouble) == CUDA_OK) {
    snprintf(gpu->last, sizeof gpu->last, "'%s' of %.90s", launch->kernel->name,
             launch->node ? launch->node : "nobody");
    if (call->is_product)
      product = multiply(gpu, call, at->stream);
    else
      result = cuda.cuLaunchKernel(call->function, call->blocks, 1, 1, GROUP_ITEMS, 1, 1, 0,
                                   at->stream, call->args, NULL);
  }
  const situ_status status = gpu_leave(gpu, result, "launching a kernel");
  return status_at_node(status_first(status, product), launch->node);
}
