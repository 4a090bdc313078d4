/* SPDX-License-Identifier: Apache-2.0
 * array.c: values as they are: constants, placeholders, other shapes of the same elements. */
#include "ops/ops.h"
#include "tensor/shape.h"

static situ_status const_shape(struct call *call) {
  const situ_tensor *value = call_attr(call, "value")->tensor;
  if (!value) return INVALID("Attribute 'value' must be a tensor");
  if (situ_tensor_type(value) != call_type(call, "dtype"))
    return INVALID("Inconsistent types: attribute 'dtype' is %s, but 'value' is of %s",
                   situ_type_name(call_type(call, "dtype")),
                   situ_type_name(situ_tensor_type(value)));
  call->out[0].shape = situ_tensor_shape(value);
  return NULL;
}

static situ_status placeholder_shape(struct call *call) {
  call->out[0].shape = *call_attr(call, "shape")->shape;
  return shape_check(&call->out[0].shape);
}

static const struct op rows[] = {
    {.name = "Const",
     .outputs = "output:dtype",
     .attrs = "value:tensor dtype:type",
     .doc = "A constant tensor.",
     .devices = "CPU GPU(" NUMERIC ")",
     .flags = OP_CONSTANT,
     .shape = const_shape},
    {.name = "Placeholder",
     .outputs = "output:dtype",
     .attrs = "dtype:type shape:shape=<unknown>",
     .doc = "A value that every run must be given.",
     .devices = "CPU GPU(" NUMERIC ")",
     .flags = OP_FED,
     .shape = placeholder_shape},
    {.name = "Identity",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:type",
     .python = "identity",
     .doc = "The input itself.",
     .samples = "[3,4]; []",
     .devices = "CPU GPU(" NUMERIC ")",
     .flags = OP_ALIAS,
     .shape = op_same_shape},
    {.name = "NoOp",
     .python = "no_op",
     .doc = "Does nothing; serves to run other nodes before it.",
     .devices = EVERYWHERE,
     .shape = op_no_shape},
};

OP_FAMILY(array, rows);
