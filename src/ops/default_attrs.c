/* SPDX-License-Identifier: Apache-2.0
 * default_attrs.c: see schema/default_attr.h. */
#include "schema/default_attr.h"

#include <stddef.h>

const struct default_attr default_attrs[] = {
    {"VarHandleOp", "allowed_devices", "list {\n}\n"},
    {"TensorListGetItem", "Tshape", "type: DT_INT32\n"},
    {"NonMaxSuppressionV3", "T", "type: DT_FLOAT\n"},
    {"NonMaxSuppressionV3", "T_threshold", "type: DT_FLOAT\n"},
    {0},
};
