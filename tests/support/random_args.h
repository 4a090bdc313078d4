/* SPDX-License-Identifier: Apache-2.0
 * random_args.h: random attributes and inputs for a call of any op: a sample of the op with a few
 * changes, inputs that agree with each other, or anything. */
#ifndef SITU_TESTS_SUPPORT_RANDOM_ARGS_H
#define SITU_TESTS_SUPPORT_RANDOM_ARGS_H

#include "schema/schema.h"
#include "support/random_values.h"

enum { ARGS_MOST = 64 };

/* Strings and lists of attributes live in the arena. */
struct random_args {
  struct random_bytes *bytes;
  const struct schema *schema;
  struct arena arena;
  situ_type types[ARGS_MOST]; /* of type attributes, by number; of other attributes any type */
  int64_t counts[ARGS_MOST];  /* lengths of the lists that an attribute counts */
  situ_attr attrs[ARGS_MOST];
  int n_attrs;
  const situ_op_port *ports[ARGS_MOST]; /* of each input */
  situ_type input_types[ARGS_MOST];     /* of the variable, where the input refers to one */
  situ_shape shapes[ARGS_MOST];
  situ_tensor *inputs[ARGS_MOST]; /* NULL where a tensor cannot be given: a reference, a handle, a
                                     resource, a variant */
  situ_tensor *kept[ARGS_MOST];   /* values of attributes */
  int n_inputs, n_kept;
};

/* Draws the arguments of a call of args->schema; returns false if there are too many. Attributes
 * of kind func are left out. The caller frees them in either case. */
bool random_args_draw(struct random_args *args);

/* Draws inputs only, which agree with each other and with the attributes that are set. */
bool random_args_draw_inputs(struct random_args *args);

void random_args_free(struct random_args *args);

/* Sets an attribute, in place of one of that name. */
void random_args_set(struct random_args *args, situ_attr attr);

void random_args_print(const struct random_args *args);

#endif
