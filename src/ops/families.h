/* SPDX-License-Identifier: Apache-2.0
 * families.h: op families that only ops.c and their own files know: unlike a line in ops.h, one in
 * this file does not recompile every op. */
#ifndef SITU_OPS_FAMILIES_H
#define SITU_OPS_FAMILIES_H

#include "ops/ops.h"

/* clang-format off */
#define STRING_AND_SPARSE_FAMILIES(X) \
  X(sparse_layout) \
  X(sparse_cross) \
  X(substr) \
  X(unicode_ops)
/* clang-format on */

#define OP_FAMILY_DECLARE(name) extern const struct op_family name##_family;
STRING_AND_SPARSE_FAMILIES(OP_FAMILY_DECLARE)
#undef OP_FAMILY_DECLARE

#endif
