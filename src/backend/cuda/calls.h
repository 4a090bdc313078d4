/* SPDX-License-Identifier: Apache-2.0
 * calls.h: binds and launches kernels, or the equivalent cuBLAS call: functions of struct
 * backend. */
#ifndef SITU_BACKEND_CUDA_CALLS_H
#define SITU_BACKEND_CUDA_CALLS_H

#include "backend/cuda/gpu.h"

situ_status calls_bind(void *handle, const struct launch *launch, const struct span *slots,
                       struct arena *arena, struct bound_kernel **out) SITU_MUST_USE;
situ_status calls_rebind(void *handle, struct bound_kernel *bound, int arg,
                         struct span span) SITU_MUST_USE;
situ_status calls_launch(void *handle, int queue, struct bound_kernel *bound) SITU_MUST_USE;

#endif
