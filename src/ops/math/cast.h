/* SPDX-License-Identifier: Apache-2.0
 * cast.h: conversion of element types, for ops that compute in another type than they return. */
#ifndef SITU_OPS_MATH_CAST_H
#define SITU_OPS_MATH_CAST_H

#include "schema/call.h"

/* Records the conversion of `n` elements of one slot to another. */
situ_status cast_record(struct call *call, situ_type from_type, int32_t from, situ_type to_type,
                        int32_t to, int64_t n) SITU_MUST_USE;

#endif
