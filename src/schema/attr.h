/* SPDX-License-Identifier: Apache-2.0
 * attr.h: the values of an op's attributes, in the order of its signature. */
#ifndef SITU_SCHEMA_ATTR_H
#define SITU_SCHEMA_ATTR_H

#include "base/arena.h"
#include "base/base.h"
#include "situ/graph.h"
#include "situ/tensor.h"

struct function;

/* `kind` selects the member of the union; SITU_ATTR_NONE: not set and without a default. */
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

/* Parses a value as op definitions and samples write it: 3, 0.5, true, float, 'SAME', [2,?,3],
 * <unknown>. Strings and lists are allocated from the arena. Tensors are not supported. */
situ_status attr_parse(situ_attr_kind kind, const char *text, size_t length, struct arena *arena,
                       struct attr_value *out) SITU_MUST_USE;

/* Converts a value to the public type; shares what it points to. */
situ_attr attr_public(const char *name, const struct attr_value *value);

/* The name of a kind: "list(int)". */
const char *attr_kind_name(situ_attr_kind kind);

#endif
