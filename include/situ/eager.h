/* SPDX-License-Identifier: Apache-2.0
 * eager.h: runs ops eagerly, without a graph.
 *
 * An op runs on the requested device, or else where a graph would place it: GPU:0 before CPU:0.
 * Inputs may be on any device; outputs stay on the device that computes them. The first call with
 * an op, types, shapes and attributes compiles it; equal calls reuse the compiled op.
 */
#ifndef SITU_EAGER_H
#define SITU_EAGER_H

#include "situ/graph.h"
#include "situ/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The context of eager calls: devices, options and compiled ops. Thread-safe. */
typedef struct situ_eager situ_eager;

/* Creates a context; `config` (may be NULL) is that of a session. log_device_placement prints
 * "Executing op MatMul in device ..." for the first of equal calls; allow_soft_placement lets an op
 * run on another device if the requested one has no kernel for it. */
SITU_API situ_status situ_eager_create(const situ_config *config, situ_eager **out) SITU_MUST_USE;

/* Frees a context; NULL is ignored. */
SITU_API void situ_eager_release(situ_eager *eager);

/* Set log_device_placement and allow_soft_placement. */
SITU_API void situ_eager_set_log_placement(situ_eager *eager, bool on);
SITU_API void situ_eager_set_soft_placement(situ_eager *eager, bool on);

/* Logs an op that the caller implements itself, if placement logging is on. Python variables, which
 * replace their tensor, log TensorFlow's "AssignVariableOp" this way. */
SITU_API situ_status situ_eager_log_op(situ_eager *eager, const char *op, situ_type type,
                                       const char *device) SITU_MUST_USE;

/* Drops all compiled ops and the state of their random number generators. */
SITU_API void situ_eager_clear_cache(situ_eager *eager);

/* A call of an op. */
typedef struct situ_call {
  int op;                     /* situ_op.number */
  const char *device;         /* "/gpu:1"; NULL or "": no request */
  situ_tensor *const *inputs; /* borrowed */
  int n_inputs;
  const situ_attr *attrs;
  int n_attrs;
} situ_call;

/* Runs an op. `outputs` has room for `capacity` tensors; *count is set to the number of outputs. */
SITU_API situ_status situ_eager_run(situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                                    int capacity, int *count) SITU_MUST_USE;

/* Copies a tensor to a device ("/cpu:0"); retains and returns the same tensor if it is already on
 * that device. */
SITU_API situ_status situ_eager_copy(situ_eager *eager, situ_tensor *tensor, const char *device,
                                     situ_tensor **out) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
