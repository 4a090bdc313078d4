/* SPDX-License-Identifier: Apache-2.0
 * type.h: errors about element types that situ does not have. */
#ifndef SITU_TENSOR_TYPE_H
#define SITU_TENSOR_TYPE_H

#include "base/base.h"
#include "situ/tensor.h"

enum { TYPE_ERROR_TEXT = 96 };

/* Writes why a DataType of TensorFlow cannot be used: "uint32 is not supported by situ yet". `name`
 * is its name where the program has one ("DT_UINT32"), or NULL. Returns `out`. */
const char *type_error(int64_t number, const char *name, char out[TYPE_ERROR_TEXT]);

#endif
