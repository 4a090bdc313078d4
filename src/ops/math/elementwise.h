/* SPDX-License-Identifier: Apache-2.0
 * elementwise.h: op definitions of element-wise ops, for the files that include a .def table. */
#ifndef SITU_OPS_MATH_ELEMENTWISE_H
#define SITU_OPS_MATH_ELEMENTWISE_H

#include "schema/op_def.h"

/* Records a kernel of elementwise_kernels.h for all elements. `cost` is about the number of simple
 * operations per element. */
situ_status elementwise_record_unary(struct call *call, const struct kernel *kernel,
                                     double cost) SITU_MUST_USE;
situ_status elementwise_record_binary(struct call *call, const struct kernel *flat,
                                      const struct kernel *wide, double cost) SITU_MUST_USE;

/* An empty derivative means that there is none. */
#define XY_ARGS "x: First operand.\ny: Second operand, broadcast with x."
#define GRAD_FLAG(text) (sizeof(text) == 1 ? OP_NO_GRADIENT : 0)
#define UNARY_OP_DEF(name_, class, in_, out_, flags_, grad_, domain, python_, doc_) \
  {.name = #name_,                                                                  \
   .inputs = in_ ":T",                                                              \
   .outputs = out_,                                                                 \
   .attrs = "T:{" TYPE_NAMES_##class "}",                                           \
   .python = python_,                                                               \
   .doc = doc_,                                                                     \
   .args = in_ ": Input tensor.",                                                   \
   .samples = "[3,5]" domain "; []" domain "; [2,0]" domain,                        \
   .devices = EVERYWHERE,                                                           \
   .flags = OP_INPLACE | (flags_),                                                  \
   .shape = op_same_shape,                                                          \
   .record = name_##_record,                                                        \
   .grad = grad_},
#define BINARY_SAMPLES(dx, dy)                                                              \
  "[3,4]" dx " [3,4]" dy "; [3,4]" dx " []" dy "; []" dx " [4]" dy "; [3,1]" dx " [1,4]" dy \
  "; [2,3,4]" dx " [4]" dy "; [2,1,4]" dx " [3,1]" dy "; [0,3]" dx " [3]" dy
#define BINARY_OP_DEF(name_, ports, args_, class, out_, flags_, grad_, dx, dy, python_, doc_) \
  {.name = #name_,                                                                            \
   .inputs = ports,                                                                           \
   .outputs = out_,                                                                           \
   .attrs = "T:{" TYPE_NAMES_##class "}",                                                     \
   .python = python_,                                                                         \
   .doc = doc_,                                                                               \
   .args = args_,                                                                             \
   .samples = BINARY_SAMPLES(dx, dy),                                                         \
   .devices = EVERYWHERE,                                                                     \
   .flags = flags_,                                                                           \
   .shape = broadcast_shape,                                                                  \
   .record = name_##_record,                                                                  \
   .grad = grad_},

#endif
