/* SPDX-License-Identifier: Apache-2.0
 * print.h: prints a tensor as NumPy prints an array. */
#ifndef SITU_TENSOR_PRINT_H
#define SITU_TENSOR_PRINT_H

#include "base/strbuf.h"
#include "situ/tensor.h"

/* Appends the elements at `data` (row-major, in host memory) as str() of a NumPy array does. */
void print_array(situ_type type, const situ_shape *shape, const void *data, struct strbuf *out);

#endif
