/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h: files of named tensors, and savers of a session's variables.
 *
 * A checkpoint `prefix` is the file prefix.data-00000-of-00001, in the layout of safetensors with a
 * checksum of each tensor, and prefix.index, a list for people. tf.train.Saver of the Python
 * package writes and reads the same files. They are written aside and put in their place whole: a
 * crash in the middle of a save leaves the checkpoint that was there before.
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

/* Writes tensors as a checkpoint, in place of one of the same name. Strings cannot be kept. */
SITU_API situ_status situ_checkpoint_write(const char *prefix, const situ_named *tensors,
                                           int count) SITU_MUST_USE;

/* Reads tensors of a checkpoint by their names, to host memory; each is released by the caller. On
 * failure all results are NULL: NotFound where there is no such file or name, DataLoss with the
 * file and the byte where it is damaged. */
SITU_API situ_status situ_checkpoint_read(const char *prefix, const char *const *names, int count,
                                          situ_tensor **results) SITU_MUST_USE;

/* Saves and restores some variables of a graph. */
typedef struct situ_saver situ_saver;

/* Makes a saver; the graph gets the nodes that restore each variable. Variables are references
 * (VariableV2) or handles (VarHandleOp); they are kept under their names. */
SITU_API situ_status situ_saver_create(situ_graph *graph, const situ_value *variables, int count,
                                       situ_saver **out) SITU_MUST_USE;

/* Frees a saver; NULL may be released. */
SITU_API void situ_saver_release(situ_saver *saver);

/* Writes the variables of a session as a checkpoint. */
SITU_API situ_status situ_saver_save(const situ_saver *saver, situ_session *session,
                                     const char *prefix) SITU_MUST_USE;

/* Gives the variables of a session the values of a checkpoint: all of them, or on failure none. */
SITU_API situ_status situ_saver_restore(const situ_saver *saver, situ_session *session,
                                        const char *prefix) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
