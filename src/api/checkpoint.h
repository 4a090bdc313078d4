/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h: shared by the checkpoint writer and reader. */
#ifndef SITU_API_CHECKPOINT_H
#define SITU_API_CHECKPOINT_H

#include "base/base.h"
#include "base/strbuf.h"
#include "situ/checkpoint.h"

/* Returns whether tensors of a type can be stored. */
bool safetensors_stores(situ_type type);

/* Returns NumPy's name of a type that the format names, such as "F32"; NULL if there is none. */
const char *safetensors_numpy(const char *code);

/* Appends a shape as a JSON array. */
void safetensors_append_shape(struct strbuf *out, situ_shape shape);

/* Appends the path of the data file. */
void checkpoint_path(const char *prefix, struct strbuf *out);

#endif
