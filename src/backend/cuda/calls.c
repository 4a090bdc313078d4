/* SPDX-License-Identifier: Apache-2.0
 * calls.c: binds and launches kernels, or the equivalent cuBLAS call: functions of struct
 * backend. */
#include "backend/cuda/calls.h"

union value {
  cuda_pointer pointer;
  int64_t integer;
  int32_t int32;
  float single;
  double real;
};

/* A prepared call: argument values and pointers to them. */
struct cuda_call {
  struct bound_kernel bound;
  cuda_function function;
  unsigned blocks;
  bool is_gemm; /* executed by cuBLAS with these arguments: */
  struct blas_gemm gemm;
  union value *values;
  void **args;
};

/* Sets the address of an argument. Returns false if it is not memory of the device. Must hold the
 * lock. */
static bool set_memory(const struct gpu *gpu, struct cuda_call *call, int arg, struct span span) {
  call->values[arg].pointer = 0;
  if (!span.region) return true; /* an empty value has no memory */
  span.offset += (size_t)call->bound.launch->args[arg].offset;
  return gpu_find(gpu, span, 1, &call->values[arg].pointer);
}

/* Converts a number to the type in which the kernel computes. */
static void set_real(union value *out, situ_type type, double real) {
  if (type == SITU_DOUBLE)
    out->real = real;
  else if (type == SITU_FLOAT || type == SITU_HALF)
    out->single = (float)real;
  else if (type == SITU_INT64)
    out->integer = (int64_t)real;
  else
    out->int32 = (int32_t)real;
}

static situ_status foreign_memory(const struct launch *launch, int arg) {
  return INTERNAL("Argument %d of kernel '%s' is not memory of the device that runs it.", arg,
                  launch->kernel->name);
}

static situ_status set_args(struct gpu *gpu, struct cuda_call *call, const struct span *slots) {
  const struct launch *launch = call->bound.launch;
  int invalid_arg = -1;
  pthread_mutex_lock(&gpu->lock);
  for (int i = 0; i < launch->n_args; i++) {
    const struct launch_arg *arg = &launch->args[i];
    call->args[i] = &call->values[i];
    if (arg->kind == ARG_INTEGER)
      call->values[i].integer = arg->integer;
    else if (arg->kind == ARG_REAL)
      set_real(&call->values[i], launch->type, arg->real);
    else if (!set_memory(gpu, call, i, slots[arg->slot]) && invalid_arg < 0)
      invalid_arg = i;
  }
  pthread_mutex_unlock(&gpu->lock);
  return invalid_arg < 0 ? NULL : foreign_memory(launch, invalid_arg);
}

/* Returns whether cuBLAS executes the call; creates its handle on first use. Must be in the
 * context. */
static bool uses_cublas(struct gpu *gpu, struct cuda_call *call) {
  if (!blas_supports(call->bound.launch, &call->gemm)) return false;
  pthread_mutex_lock(&gpu->lock);
  if (!gpu->is_blas_initialized) gpu->blas = blas_open();
  gpu->is_blas_initialized = true;
  const bool is_available = gpu->blas;
  pthread_mutex_unlock(&gpu->lock);
  return is_available;
}

situ_status calls_bind(void *handle, const struct launch *launch, const struct span *slots,
                       struct arena *arena, struct bound_kernel **out) {
  struct gpu *gpu = handle;
  TRY(gpu_check(gpu));
  if (launch_groups(launch) > INT32_MAX)
    return INVALID("Kernel '%s' has %lld items, more than one CUDA launch can run.",
                   launch->kernel->name, (long long)launch->items);
  struct cuda_call *call = arena_zero(arena, sizeof *call);
  if (!call) return NO_MEMORY();
  call->bound.launch = launch;
  call->blocks = (unsigned)launch_groups(launch);
  call->values = ARENA_ARRAY(arena, union value, launch->n_args);
  call->args = ARENA_ARRAY(arena, void *, launch->n_args);
  if (!call->values || !call->args) return NO_MEMORY();
  TRY(cuda_status(gpu_push(gpu), gpu->card->label, "preparing a kernel"));
  call->is_gemm = uses_cublas(gpu, call);
  situ_status status =
      call->is_gemm ? NULL
                    : modules_kernel(&gpu->modules, launch->kernel, launch->type, &call->function);
  gpu_pop();
  if (!status) status = set_args(gpu, call, slots);
  if (!status) *out = &call->bound;
  return status;
}

situ_status calls_rebind(void *handle, struct bound_kernel *bound, int arg, struct span span) {
  struct gpu *gpu = handle;
  struct cuda_call *call = (struct cuda_call *)bound;
  pthread_mutex_lock(&gpu->lock);
  const bool is_valid = set_memory(gpu, call, arg, span);
  pthread_mutex_unlock(&gpu->lock);
  return is_valid ? NULL : foreign_memory(bound->launch, arg);
}

/* Returns whether the run of a call was cancelled. */
static bool is_cancelled(const struct bound_kernel *bound) {
  const situ_status status = bound->error ? atomic_load(bound->error) : NULL;
  const situ_code code = situ_status_code(status);
  return code == SITU_CANCELLED || code == SITU_DEADLINE_EXCEEDED;
}

/* Must hold the lock, in the context. */
static situ_status run_gemm(struct gpu *gpu, const struct cuda_call *call, cuda_stream stream) {
  const union value *values = call->values;
  const cublas_status status = blas_run(gpu->blas, stream, &call->gemm, values[0].pointer,
                                        values[1].pointer, values[2].pointer);
  if (!status) return NULL;
  return situ_status_create(SITU_UNAVAILABLE,
                            "%s failed multiplying matrices by cuBLAS: %s (%u). SITU_CUBLAS=0 "
                            "selects situ's own kernels.",
                            gpu->card->label, blas_error(status), status);
}

situ_status calls_launch(void *handle, int queue, struct bound_kernel *bound) {
  struct gpu *gpu = handle;
  const struct launch *launch = bound->launch;
  const struct cuda_call *call = (struct cuda_call *)bound;
  struct cuda_queue *at = &gpu->queues[queue];
  situ_status gemm_status = NULL;
  if (!launch->items || is_cancelled(bound)) return NULL;
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  at->queued++;
  if (result == CUDA_OK && atomic_load(&gpu->fatal_error) == CUDA_OK) {
    snprintf(gpu->last_kernel, sizeof gpu->last_kernel, "'%s' of %.90s", launch->kernel->name,
             launch->node ? launch->node : "an unnamed node");
    if (call->is_gemm)
      gemm_status = run_gemm(gpu, call, at->stream);
    else
      result = cuda.cuLaunchKernel(call->function, call->blocks, 1, 1, GROUP_ITEMS, 1, 1, 0,
                                   at->stream, call->args, NULL);
  }
  const situ_status status = gpu_leave(gpu, result, "launching a kernel");
  return status_at_node(status_first(status, gemm_status), launch->node);
}
