/* SPDX-License-Identifier: Apache-2.0
 * string_elements.h: comparison and scattering of strings, for ops whose kernels compute numbers.
 */
#ifndef SITU_OPS_STRING_STRING_ELEMENTS_H
#define SITU_OPS_STRING_STRING_ELEMENTS_H

#include "schema/compute.h"

/* Equal and NotEqual of strings, with broadcasting. */
situ_status string_elements_equal(struct compute *compute) SITU_MUST_USE;
situ_status string_elements_not_equal(struct compute *compute) SITU_MUST_USE;

/* Add of strings: their concatenation, with broadcasting. */
situ_status string_elements_add(struct compute *compute) SITU_MUST_USE;

/* ScatterNd of strings: updates of equal indices are concatenated. */
situ_status string_elements_scatter_nd(struct compute *compute) SITU_MUST_USE;

#endif
