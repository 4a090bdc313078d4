/* SPDX-License-Identifier: Apache-2.0
 * kernel.h: run-time errors of host kernels. */
#ifndef SITU_KERNEL_KERNEL_H
#define SITU_KERNEL_KERNEL_H

#include "base/base.h"

/* Faults: name, code, message with up to three integers. */
#define FAULTS(X)                                                                               \
  X(DIVISION, INVALID_ARGUMENT, "Integer division by zero")                                     \
  X(INDEX, INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)")                        \
  X(LABEL, INVALID_ARGUMENT,                                                                    \
    "Received a label value of %lld which is outside the valid range of [0, %lld) in row %lld") \
  X(SINGULAR, INVALID_ARGUMENT, "Input is not invertible.")                                     \
  X(SINGULAR_MATRIX, INVALID_ARGUMENT, "Input matrix is not invertible.")                       \
  X(NOT_POSITIVE, INVALID_ARGUMENT,                                                             \
    "Cholesky decomposition was not successful. The input might not be valid.")                 \
  X(TWICE, INVALID_ARGUMENT, "%lld is duplicated in the input.")                                \
  X(NEGATIVE_POWER, INVALID_ARGUMENT, "Integers to negative integer powers are not allowed")

enum fault_kind {
  FAULT_NONE,
#define FAULT_ENUM(name, code, text) FAULT_##name,
  FAULTS(FAULT_ENUM)
#undef FAULT_ENUM
};

struct fault {
  enum fault_kind kind;
  int64_t a, b, c;
};

/* Returns the status of a fault; the caller adds the node. */
situ_status kernel_fault(const struct fault *fault) SITU_MUST_USE;

#endif
