/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h: saves named tensors to files, and saves and restores a session's variables.
 *
 * A checkpoint consists of PREFIX.data-00000-of-00001, in the safetensors format with a checksum
 * per tensor, and PREFIX.index, a human-readable list. tf.train.Saver of the Python package uses
 * the same files. Saving is atomic: files are written under a temporary name and renamed, so that
 * a crash during a save leaves the previous checkpoint intact.
 */
#ifndef SITU_CHECKPOINT_H
#define SITU_CHECKPOINT_H

#include "situ/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor with a name. */
typedef struct situ_named {
  const char *name;
  situ_tensor *tensor; /* on any device */
} situ_named;

/* Writes tensors to a checkpoint and replaces an existing one. String tensors are not supported. */
SITU_API situ_status situ_checkpoint_write(const char *prefix, const situ_named *tensors,
                                           int count) SITU_MUST_USE;

/* Reads tensors of a checkpoint by name into host memory; the caller releases them. On failure all
 * results are NULL: NotFound for a missing file or name, DataLoss with the file and offset for a
 * corrupt file. */
SITU_API situ_status situ_checkpoint_read(const char *prefix, const char *const *names, int count,
                                          situ_tensor **results) SITU_MUST_USE;

/* Saves and restores a set of variables of a graph. */
typedef struct situ_saver situ_saver;

/* Creates a saver and adds the nodes that restore the variables to the graph. A variable is a
 * reference (VariableV2) or a handle (VarHandleOp); its name is its key in the checkpoint. */
SITU_API situ_status situ_saver_create(situ_graph *graph, const situ_value *variables, int count,
                                       situ_saver **out) SITU_MUST_USE;

/* Frees a saver; NULL is ignored. */
SITU_API void situ_saver_release(situ_saver *saver);

/* Writes the variables of a session to a checkpoint. */
SITU_API situ_status situ_saver_save(const situ_saver *saver, situ_session *session,
                                     const char *prefix) SITU_MUST_USE;

/* Assigns the values of a checkpoint to the variables of a session; on failure none changes. */
SITU_API situ_status situ_saver_restore(const situ_saver *saver, situ_session *session,
                                        const char *prefix) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
