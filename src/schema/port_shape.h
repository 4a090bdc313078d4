/* SPDX-License-Identifier: Apache-2.0
 * port_shape.h: the shapes that an op definition demands of its inputs.
 *
 * A shape follows the type of a port: "images:T[n,h,w,c] boxes:float[b,4] size:int32[2]". Items:
 *   4        this size
 *   n        a size that is the same wherever the inputs of the op mention it
 *   depth    if the op has an int attribute of that name: its value
 *   ?        any size
 *   ...      any number of dimensions, once per shape; ...s: the same dimensions wherever ...s is
 *            mentioned, so "a:T[...s] b:T[...s]" have one shape
 * [] is a scalar. "[]|[n]" allows either rank. All tensors of a list must have the shape. */
#ifndef SITU_SCHEMA_PORT_SHAPE_H
#define SITU_SCHEMA_PORT_SHAPE_H

#include "base/arena.h"
#include "schema/call.h"

enum { MAX_SYMBOLS = 16 }; /* names of sizes in an op definition */

enum port_dim_kind { DIM_ANY, DIM_SIZE, DIM_ATTR, DIM_SYMBOL, DIM_RUN };

struct port_dim {
  enum port_dim_kind kind;
  int64_t number; /* DIM_SIZE: the size; DIM_ATTR: the attribute; else the symbol, or -1 */
};

/* One alternative. */
struct port_dims {
  struct port_dim dim[SITU_MAX_RANK];
  int count;
  int run; /* the index of "...", or -1 */
};

struct port_shape {
  struct port_dims *alternatives;
  int count; /* 0: any shape */
};

/* The names of sizes that the ports of an op have mentioned so far. */
struct port_symbols {
  char name[MAX_SYMBOLS][16];
  int count;
};

/* Parses "[n,4]|[4]" of `length` characters; names of int attributes of the schema stand for their
 * values. Returns false if it cannot be read. */
bool port_shape_parse(const char *text, size_t length, const struct schema *schema,
                      struct port_symbols *symbols, struct arena *arena, struct port_shape *out);

/* Fails unless the inputs of a call, as far as their shapes are known, have the shapes that its op
 * definition demands. The errors are those of TensorFlow's shape inference. */
situ_status port_shapes_check(const struct call *call) SITU_MUST_USE;

/* Infers the output shapes of a call: checks the inputs and calls the shape function of the op
 * (call.c). The only caller of shape functions. */
situ_status call_infer_shapes(struct call *call) SITU_MUST_USE;

#endif
