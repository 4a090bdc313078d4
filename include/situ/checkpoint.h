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

/* An array in host memory. */
typedef struct situ_array {
  const char *name;
  const char *type; /* NumPy's name, such as "float32"; "object": strings, encoded (see data) */
  situ_shape shape;
  const void *data; /* row-major; of strings: their lengths (int64), then their contents */
  size_t bytes;
} situ_array;

/* An entry of a file's metadata. */
typedef struct situ_metadata {
  const char *key, *value;
} situ_metadata;

/* Writes arrays, which are sorted by name, to a file in the safetensors format with a checksum per
 * array. `format` among the metadata is "situ" if it is not given. */
SITU_API situ_status situ_safetensors_write(const char *path, situ_array *arrays, int count,
                                            const situ_metadata *metadata,
                                            int n_metadata) SITU_MUST_USE;

/* An open file in the safetensors format. Threads may share it. */
typedef struct situ_safetensors situ_safetensors;

/* Opens a file and checks its header. DataLoss with the file and offset if it is corrupt. */
SITU_API situ_status situ_safetensors_open(const char *path, situ_safetensors **out) SITU_MUST_USE;

/* Closes a file; NULL is ignored. */
SITU_API void situ_safetensors_release(situ_safetensors *file);

/* Describe an array (without data) or an entry of the metadata, borrowed from the file. Return
 * false if the index is too large. */
SITU_API bool situ_safetensors_array(const situ_safetensors *file, int index, situ_array *out);
SITU_API bool situ_safetensors_metadata(const situ_safetensors *file, int index,
                                        situ_metadata *out);

/* Reads an array; the caller releases it. DataLoss if its checksum does not match. */
SITU_API situ_status situ_safetensors_read(const situ_safetensors *file, const char *name,
                                           situ_tensor **out) SITU_MUST_USE;

/* Writes arrays, which are sorted by name, and metadata to a checkpoint. */
SITU_API situ_status situ_checkpoint_write_arrays(const char *prefix, situ_array *arrays, int count,
                                                  const situ_metadata *metadata,
                                                  int n_metadata) SITU_MUST_USE;

/* Replaces a file: writes to a temporary file in the same directory, syncs and renames it. */
SITU_API situ_status situ_file_replace(const char *path, const void *data,
                                       size_t bytes) SITU_MUST_USE;

/* Returns the CRC-32C of data, the checksum of TFRecord files. */
SITU_API uint32_t situ_crc32c(const void *data, size_t bytes);

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
