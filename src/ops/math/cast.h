/* SPDX-License-Identifier: Apache-2.0
 * cast.h: conversion of element types, for ops that compute in another type than they return. */
#ifndef SITU_OPS_MATH_CAST_H
#define SITU_OPS_MATH_CAST_H

#include "schema/call.h"

/* Records the conversion of `n` elements of one slot to another. */
situ_status cast_record(struct call *call, situ_type from_type, int32_t from, situ_type to_type,
                        int32_t to, int64_t n) SITU_MUST_USE;

/* Records the extraction of part `part` (0: real, 1: imaginary) of `n` complex numbers, whose parts
 * have type `real`. */
situ_status cast_record_part(struct call *call, situ_type real, int32_t from, int part, int32_t to,
                             int64_t n) SITU_MUST_USE;

#endif
