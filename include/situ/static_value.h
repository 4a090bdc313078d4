/* SPDX-License-Identifier: Apache-2.0
 * static_value.h: what is known of the elements of a value while a graph is built.
 */
#ifndef SITU_STATIC_VALUE_H
#define SITU_STATIC_VALUE_H

#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the tensor of a constant, or a small integer or bool tensor that was computed from static
 * shapes and constants; borrowed from the graph. Sets bit i of `*unknown` if element i is not
 * known. NULL: nothing is known. */
SITU_API situ_tensor *situ_value_static(situ_value value, unsigned *unknown);

#ifdef __cplusplus
}
#endif

#endif
