/* SPDX-License-Identifier: Apache-2.0
 * type.h: classes of element types, and errors about those that situ does not have. */
#ifndef SITU_TENSOR_TYPE_H
#define SITU_TENSOR_TYPE_H

#include "base/base.h"
#include "situ/tensor.h"

/* Return whether a type is a floating-point type, a complex type, an unsigned integer. */
bool type_is_real(situ_type type);
bool type_is_complex(situ_type type);
bool type_is_unsigned(situ_type type);

/* Return whether a type is a floating-point type of 8 bits, an integer of 4 bits, and whether it is
 * one that is only stored: kernels that compute convert it to a wider one. */
bool type_is_float8(situ_type type);
bool type_is_int4(situ_type type);
bool type_is_storage(situ_type type);

/* Returns the type that kernels compute with for a type that is only stored; any other type itself.
 */
situ_type type_wide(situ_type type);

/* Returns the type of the parts of a complex type; any other type itself. */
situ_type type_real(situ_type type);

enum { TYPE_ERROR_TEXT = 96 };

/* Writes why a DataType of TensorFlow cannot be used: "qint8 is not supported by situ yet". `name`
 * is its name where the program has one ("DT_QINT8"), or NULL. Returns `out`. */
const char *type_error(int64_t number, const char *name, char out[TYPE_ERROR_TEXT]);

#endif
