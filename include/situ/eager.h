/* SPDX-License-Identifier: Apache-2.0
 * eager.h: running ops at once, without a graph.
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

/* What eager calls share: devices, options, compiled ops. May be used from every thread. */
typedef struct situ_eager situ_eager;

/* Makes one; `config` (may be NULL) as for a session: log_device_placement prints "Executing op
 * MatMul in device ..." for the first of equal calls, allow_soft_placement lets a device that
 * cannot run the op stand for another. */
SITU_API situ_status situ_eager_create(const situ_config *config, situ_eager **out) SITU_MUST_USE;

/* Frees it; NULL may be released. */
SITU_API void situ_eager_release(situ_eager *eager);

/* Turns options on or off between calls. */
SITU_API void situ_eager_set_log(situ_eager *eager, bool on);
SITU_API void situ_eager_set_soft(situ_eager *eager, bool on);

/* Logs, if the log is on, what somebody else does instead of running an op: Python's variables are
 * tensors that are replaced, and say what TensorFlow's would do ("AssignVariableOp"). `type` is
 * that of the elements, `device` a device's name. */
SITU_API situ_status situ_eager_log(situ_eager *eager, const char *op, situ_type type,
                                    const char *device) SITU_MUST_USE;

/* Forgets compiled calls, and with them where their random numbers were. */
SITU_API void situ_eager_forget(situ_eager *eager);

/* A call. */
typedef struct situ_call {
  int op;                     /* its number in the catalogue */
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
