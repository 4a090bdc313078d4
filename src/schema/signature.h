/* SPDX-License-Identifier: Apache-2.0
 * signature.h: parses op definitions. */
#ifndef SITU_SCHEMA_SIGNATURE_H
#define SITU_SCHEMA_SIGNATURE_H

#include "schema/schema.h"

/* A part of a text. */
struct token {
  const char *at;
  size_t length;
};

/* The next token of *text, up to a blank outside of braces, brackets and quotes; advances *text. A
 * length of 0: there is none. */
struct token signature_token(const char **text);

/* Parses an op definition into `out`; allocates from the arena. */
situ_status signature_parse(const struct op_def *op, struct arena *arena,
                            struct schema *out) SITU_MUST_USE;

#endif
