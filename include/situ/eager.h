/* SPDX-License-Identifier: Apache-2.0
 * eager.h: running ops eagerly, without a graph.
 *
 * An op runs on the device that is asked for, else where graphs would place it: GPU:0 before CPU:0.
 * Inputs may live on any device; outputs stay on the device that computed them. The first call with
 * some op, types and shapes compiles it; later ones only execute.
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

/* Makes one; `config` (may be NULL) as for a session: log_device_placement prints "Executing op
 * MatMul in device ..." for the first of equal calls, allow_soft_placement lets an op run on
 * another device where the requested one has no kernel for it. */
SITU_API situ_status situ_eager_create(const situ_config *config, situ_eager **out) SITU_MUST_USE;

/* Frees it; NULL is ignored. */
SITU_API void situ_eager_release(situ_eager *eager);

/* Sets log_device_placement and allow_soft_placement. */
SITU_API void situ_eager_set_log_placement(situ_eager *eager, bool on);
SITU_API void situ_eager_set_soft_placement(situ_eager *eager, bool on);

/* Logs an op that the caller carries out itself, if logging is on: Python variables replace their
 * tensor and log TensorFlow's "AssignVariableOp". `type` is the element type, `device` the name of
 * a device. */
SITU_API situ_status situ_eager_log_op(situ_eager *eager, const char *op, situ_type type,
                                       const char *device) SITU_MUST_USE;

/* Drops all compiled calls, and with them the state of their random number generators. */
SITU_API void situ_eager_clear_cache(situ_eager *eager);

/* A call. */
typedef struct situ_call {
  int op;                     /* its index in the catalogue */
  const char *device;         /* "/gpu:1"; NULL or "" for none */
  situ_tensor *const *inputs; /* borrowed */
  int n_inputs;
  const situ_attr *attrs;
  int n_attrs;
} situ_call;

/* Runs an op. `outputs` has room for `capacity` tensors; *count gets how many there are. */
SITU_API situ_status situ_eager_run(situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                                    int capacity, int *count) SITU_MUST_USE;

/* A tensor with the same elements on another device ("/cpu:0"), or the same tensor if it is there.
 */
SITU_API situ_status situ_eager_copy(situ_eager *eager, situ_tensor *tensor, const char *device,
                                     situ_tensor **out) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
