/* SPDX-License-Identifier: Apache-2.0
 * shape.h: arithmetic of shapes that ops share. */
#ifndef SITU_TENSOR_SHAPE_H
#define SITU_TENSOR_SHAPE_H

#include "base/base.h"
#include "situ/tensor.h"

/* Whether rank and all dimensions are known. */
bool shape_is_known(const situ_shape *shape);

/* Same rank and dimensions, unknowns included. */
bool shape_equal(const situ_shape *a, const situ_shape *b);

/* Whether a value of shape `a` could have shape `b`: no known dimension differs. */
bool shape_compatible(const situ_shape *a, const situ_shape *b);

/* The most that both say of one value; the caller has checked that they are compatible. */
situ_shape shape_merge(const situ_shape *a, const situ_shape *b);

/* NumPy's broadcasting of two shapes, unknowns included. False if they cannot be broadcast. */
bool shape_broadcast(const situ_shape *a, const situ_shape *b, situ_shape *out);

/* Bytes of a tensor of that type and shape; false if the shape is not known or too large. */
bool shape_bytes(situ_type type, const situ_shape *shape, size_t *bytes);

/* Fails on a rank above SITU_MAX_RANK, a negative dimension other than SITU_ANY, or a product
 * past 2^63 - 1. */
situ_status shape_check(const situ_shape *shape) SITU_MUST_USE;

enum { SHAPE_STRING_SIZE = 256 }; /* holds every printed shape */

/* "[2,3]", "[?,3]", "<unknown>"; returns `out`. */
const char *shape_print(const situ_shape *shape, char out[SHAPE_STRING_SIZE]);

/* "(2, 3)", "(?, 3)", "(2,)", "<unknown>": as Python prints it. */
const char *shape_print_python(const situ_shape *shape, char out[SHAPE_STRING_SIZE]);

#endif
