/* SPDX-License-Identifier: Apache-2.0
 * attr.h: the values of an op's attributes, in the order of its signature. */
#ifndef SITU_SCHEMA_ATTR_H
#define SITU_SCHEMA_ATTR_H

#include "base/arena.h"
#include "base/base.h"
#include "situ/graph.h"
#include "situ/tensor.h"

struct function;

/* Which member of the union holds is said by `kind`; SITU_ATTR_NONE: not given and without a
 * default. */
struct attr_value {
  situ_attr_kind kind;
  union {
    int64_t integer; /* also bool */
    double real;
    situ_type type;
    const situ_shape *shape;
    const char *text;
    situ_tensor *tensor;
    struct {
      const int64_t *items;
      int64_t count;
    } list; /* also of types */
    struct {
      const double *items;
      int64_t count;
    } reals;
    struct {
      const situ_shape *items;
      int64_t count;
    } shapes;
    const struct function *function;
  };
};

/* Reads a value as rows and samples write it: 3, 0.5, true, float, 'SAME', [2,?,3], <unknown>.
 * Texts and lists live in the arena. Tensors cannot be written. */
situ_status attr_parse(situ_attr_kind kind, const char *text, size_t length, struct arena *arena,
                       struct attr_value *out) SITU_MUST_USE;

/* The value as users give it; what it points to is shared. */
situ_attr attr_public(const char *name, const struct attr_value *value);

/* The word of a kind: "list(int)". */
const char *attr_kind_name(situ_attr_kind kind);

#endif
