/* SPDX-License-Identifier: Apache-2.0
 * arg_docs.h: the documentation of the inputs and attributes of an op. */
#ifndef SITU_SCHEMA_ARG_DOCS_H
#define SITU_SCHEMA_ARG_DOCS_H

#include "schema/op_def.h"

/* Copies the sentence that documents an input or attribute: the one in `args` of the op definition,
 * else the shared sentence for arguments of that name. Returns false, and an empty string,
 * if there is none. */
bool arg_docs_find(const struct op_def *op, const char *name, char *out, size_t size);

#endif
