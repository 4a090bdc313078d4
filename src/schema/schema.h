/* SPDX-License-Identifier: Apache-2.0
 * schema.h: parsed op definitions: inputs, outputs, attributes, types, device kinds. */

/* clang-format off */
/*
 * Grammar of the strings of an op definition (items separated by blanks):
 *   inputs, outputs:  name:T | name:float (a fixed type) | name:N*T (a list) | name:&T (a
 *                     reference) | name:@T (the handle of a variable of that type; @resource: of
 *                     any). An op definition sees such an input as the variable itself. The shape
 *                     of an input may follow: name:T[n,4]; see port_shape.h
 *   attrs:            NAME:KIND[=DEFAULT]; KIND is one of int float bool type shape string tensor
 *                     list(int) list(float) list(type) list(shape) func, or a set of types
 *                     {float double} (kind type), a list of such types list({float double}) (kind
 *                     list(type)), or a set of strings {'SAME','VALID'} (kind string). A type
 *                     attribute that an input mentions, and the N of a list, are inferred from the
 *                     inputs. int>=1 sets a minimum, list(int)>=4 that of the length, and
 *                     list(int)[4] the length. int32 and list(int32) are ints that the op narrows
 *                     to 32 bits: others are refused. A default: 3, 0.5, true, float, 'SAME',
 *                     [1,2], <unknown>
 *   devices:          KIND | KIND(type type ...): the types of the first type attribute that have a
 *                     kernel there. KIND* is preferred to the others: the placer chooses it unless
 *                     the node requests another
 */
/* clang-format on */
#ifndef SITU_SCHEMA_SCHEMA_H
#define SITU_SCHEMA_SCHEMA_H

#include "schema/op_def.h"
#include "schema/port_shape.h"
#include "situ/catalog.h"

enum { MAX_KINDS = 8 };

/* A parsed op definition. */
struct schema {
  const struct op_def *op;
  int id; /* index among all ops */
  int n_inputs, n_outputs, n_attrs;
  situ_op_port *inputs, *outputs;
  situ_op_attr *attrs;
  struct port_shape *input_shapes; /* per input */
  struct attr_value *defaults;     /* per attribute; kind NONE: required */
  int device_type_attr;            /* the attribute whose type selects the kernel; or -1 */
  bool has_handles;                /* an input is the handle of a variable */
  bool has_shapes;                 /* an input has a shape in the op definition */
  const char *kinds[MAX_KINDS];    /* device kinds in order of definition, NULL-terminated */
  uint32_t kind_types[MAX_KINDS];  /* types with a kernel there, as bits; all ones: unrestricted */
  int kind_priority[MAX_KINDS];    /* of the kernels there, for the placer */
};

/* The schema of an op, or NULL if there is no such op. */
const struct schema *schema_find(const char *op);

/* Schemas by index, 0 <= id < schema_count(). */
const struct schema *schema_get(int id);
int schema_count(void);

/* NULL, or the error of the first op definition that cannot be parsed, which schema_find ignores.
 */
situ_status schema_check(void) SITU_MUST_USE;

/* The op whose name is nearest to a misspelt one, for errors; NULL if none is near. */
const char *schema_nearest(const char *op);

/* The port of one of n inputs of a call, counted flat; a list gets the inputs that the others
 * leave. */
const situ_op_port *schema_port(const struct schema *schema, int input, int n);

/* The index of an attribute, or -1. */
int schema_attr(const struct schema *schema, const char *name);

/* Whether the op has a kernel on that kind of device with these attributes. */
bool schema_supports(const struct schema *schema, const struct attr_value *attrs, const char *kind);

/* Whether a call with these attributes runs `compute_strings` of the op. */
bool schema_computes_strings(const struct schema *schema, const struct attr_value *attrs);

/* Completes the attributes of a call: infers types and counts from the inputs, fills defaults,
 * checks sets. `attrs` has n_attrs elements, with those of the caller set. Sets *n_out, the flat
 * number of outputs; errors name op, node and attribute. */
situ_status schema_resolve(const struct schema *schema, const char *node, const situ_type *in_types,
                           int n_in, struct attr_value *attrs, int *n_out) SITU_MUST_USE;

/* The type of flat output `index` of a resolved call. */
situ_type schema_output_type(const struct schema *schema, const struct attr_value *attrs,
                             int index);

/* The port that flat output `index` belongs to, and its index there. */
const situ_op_port *schema_output_port(const struct schema *schema, const struct attr_value *attrs,
                                       int index, int *within);

/* The port that flat input `index` belongs to. */
const situ_op_port *schema_input_port(const struct schema *schema, const struct attr_value *attrs,
                                      int index);

#endif
