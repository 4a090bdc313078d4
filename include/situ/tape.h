/* SPDX-License-Identifier: Apache-2.0
 * tape.h: gradients of eager calls.
 *
 * A tape records calls that depend on watched tensors. Gradients are computed from it by a graph
 * that is compiled once for all equal tapes. Not thread-safe.
 */
#ifndef SITU_TAPE_H
#define SITU_TAPE_H

#include "situ/eager.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_tape situ_tape;

/* An empty tape; compiled gradients are kept by `eager`, which must live longer. */
SITU_API situ_status situ_tape_create(situ_eager *eager, situ_tape **out) SITU_MUST_USE;

/* Frees it; NULL is ignored. */
SITU_API void situ_tape_release(situ_tape *tape);

/* Clears the tape. */
SITU_API void situ_tape_reset(situ_tape *tape);

/* Watches a tensor: calls that depend on it are recorded. */
SITU_API situ_status situ_tape_watch(situ_tape *tape, situ_tensor *tensor) SITU_MUST_USE;

/* Whether a call with these inputs would be recorded. */
SITU_API bool situ_tape_depends(const situ_tape *tape, situ_tensor *const *inputs, int n_inputs);

/* Records a call with these outputs, if it depends on a watched tensor. */
SITU_API situ_status situ_tape_record(situ_tape *tape, const situ_call *call,
                                      situ_tensor *const *outputs, int n_outputs) SITU_MUST_USE;

/* Gives the gradients of inputs, as new references (NULL: none), from those of the outputs. */
typedef situ_status (*situ_tape_function)(void *context, situ_tensor *const *dys, int n_dys,
                                          situ_tensor **dxs, int n_dxs);

/* Records a computation whose gradient a function computes; `release(context)` (or NULL) is called
 * when the tape drops it, immediately if it is not recorded. */
SITU_API situ_status situ_tape_record_function(situ_tape *tape, situ_tensor *const *inputs,
                                               int n_inputs, situ_tensor *const *outputs,
                                               int n_outputs, situ_tape_function function,
                                               void *context,
                                               void (*release)(void *context)) SITU_MUST_USE;

/* The gradients of the sum of all targets: results[i] is that for sources[i], or NULL where no
 * target depends on it. `gradients` (or NULL, also single ones: ones) arrive at the targets. What
 * is computed is kept on the `others` (which may hold the tape itself): gradients of gradients. */
SITU_API situ_status situ_tape_gradient(situ_tape *tape, situ_tensor *const *targets, int n_targets,
                                        situ_tensor *const *sources, int n_sources,
                                        situ_tensor *const *gradients, situ_tape *const *others,
                                        int n_others, situ_tensor **results) SITU_MUST_USE;

/* The same, but a gradient of which only some rows are not 0 (of what Gather took rows from) may
 * come as those rows: where indices[i] is not NULL, results[i] are rows of the gradient and
 * indices[i] the vector of their numbers; rows that are named twice are to be added. */
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
