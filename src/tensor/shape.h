/* SPDX-License-Identifier: Apache-2.0
 * shape.h: shape operations shared by ops: compatibility, merging, broadcasting, sizes. */
#ifndef SITU_TENSOR_SHAPE_H
#define SITU_TENSOR_SHAPE_H

#include "base/base.h"
#include "situ/tensor.h"

/* Returns whether the rank and all dimensions are known. */
bool shape_is_known(const situ_shape *shape);

/* Returns whether rank and dimensions are the same, including unknown ones. */
bool shape_equal(const situ_shape *a, const situ_shape *b);

/* Returns whether a value of shape `a` could have shape `b`: no known dimension differs. */
bool shape_compatible(const situ_shape *a, const situ_shape *b);

/* Merges the known dimensions of two compatible shapes. */
situ_shape shape_merge(const situ_shape *a, const situ_shape *b);

/* Broadcasts two shapes as NumPy, including unknown dimensions. Returns false if impossible. */
bool shape_broadcast(const situ_shape *a, const situ_shape *b, situ_shape *out);

/* Returns the size of a tensor in bytes; false if the shape is unknown or too large. */
bool shape_bytes(situ_type type, const situ_shape *shape, size_t *bytes);

/* Fails for a rank above SITU_MAX_RANK, a negative dimension other than SITU_ANY, or more than 2^63
 * - 1 elements. */
situ_status shape_check(const situ_shape *shape) SITU_MUST_USE;

enum { SHAPE_STRING_SIZE = 256 }; /* enough for every printed shape */

/* Prints "[2,3]", "[?,3]" or "<unknown>"; returns `out`. */
const char *shape_print(const situ_shape *shape, char out[SHAPE_STRING_SIZE]);

/* Prints as Python: "(2, 3)", "(?, 3)", "(2,)", "<unknown>". */
const char *shape_print_python(const situ_shape *shape, char out[SHAPE_STRING_SIZE]);

#endif
