/* SPDX-License-Identifier: Apache-2.0
 * tape.h: gradients of eager calls (reverse-mode differentiation).
 *
 * A tape records calls that depend on watched tensors. Its gradients are computed by a graph that
 * is compiled once for all equal tapes. Not thread-safe.
 */
#ifndef SITU_TAPE_H
#define SITU_TAPE_H

#include "situ/eager.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_tape situ_tape;

/* Creates an empty tape. `eager` caches the compiled gradients and must outlive the tape. */
SITU_API situ_status situ_tape_create(situ_eager *eager, situ_tape **out) SITU_MUST_USE;

/* Frees a tape; NULL is ignored. */
SITU_API void situ_tape_release(situ_tape *tape);

/* Clears the tape. */
SITU_API void situ_tape_reset(situ_tape *tape);

/* Watches a tensor: calls that depend on it are recorded. */
SITU_API situ_status situ_tape_watch(situ_tape *tape, situ_tensor *tensor) SITU_MUST_USE;

/* Returns whether a call with these inputs would be recorded. */
SITU_API bool situ_tape_depends(const situ_tape *tape, situ_tensor *const *inputs, int n_inputs);

/* Records a call with these outputs, if it depends on a watched tensor. */
SITU_API situ_status situ_tape_record(situ_tape *tape, const situ_call *call,
                                      situ_tensor *const *outputs, int n_outputs) SITU_MUST_USE;

/* Computes the gradients `dxs` of the inputs, as new references or NULL, from those of the outputs.
 */
typedef situ_status (*situ_tape_function)(void *context, situ_tensor *const *dys, int n_dys,
                                          situ_tensor **dxs, int n_dxs);

/* Records a computation with a custom gradient. `release(context)` (`release` may be NULL) is
 * called when the tape drops the record, or immediately if it is not recorded. */
SITU_API situ_status situ_tape_record_function(situ_tape *tape, situ_tensor *const *inputs,
                                               int n_inputs, situ_tensor *const *outputs,
                                               int n_outputs, situ_tape_function function,
                                               void *context,
                                               void (*release)(void *context)) SITU_MUST_USE;

/* Computes the gradients of the sum of all targets: results[i] is that for sources[i], or NULL if
 * no target depends on it. `gradients` are the incoming gradients of the targets; NULL, for all or
 * one, stands for ones. The computation is recorded on the tapes `others`, which may include `tape`
 * itself, for higher-order gradients. */
SITU_API situ_status situ_tape_gradient(situ_tape *tape, situ_tensor *const *targets, int n_targets,
                                        situ_tensor *const *sources, int n_sources,
                                        situ_tensor *const *gradients, situ_tape *const *others,
                                        int n_others, situ_tensor **results) SITU_MUST_USE;

/* Like situ_tape_gradient, but a gradient may be sparse (that of the params of Gather): if
 * indices[i] is not NULL, results[i] holds slices of the gradient and indices[i] their indices;
 * slices with equal indices add up. */
SITU_API situ_status situ_tape_gradient_slices(situ_tape *tape, situ_tensor *const *targets,
                                               int n_targets, situ_tensor *const *sources,
                                               int n_sources, situ_tensor *const *gradients,
                                               situ_tape *const *others, int n_others,
                                               situ_tensor **results,
                                               situ_tensor **indices) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
