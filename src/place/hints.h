/* SPDX-License-Identifier: Apache-2.0
 * hints.h: what a user wants to know after "it cannot be placed": devices, kernels, neighbours. */
#ifndef SITU_PLACE_HINTS_H
#define SITU_PLACE_HINTS_H

#include "place/state.h"

struct text;

/* All devices, sorted as text, separated by commas. */
void hints_devices(const struct placer *placer, struct text *out);

/* The kinds of the devices, separated by commas. */
void hints_kinds(const struct placer *placer, struct text *out);

/* Where the op of a node has kernels. */
void hints_kernels(const struct placer *placer, int32_t node, struct text *out);

/* Lines for a request that no device meets: what there is, who else asks for it, the way out. */
void hints_no_device(const struct placer *placer, int32_t node, struct text *out);

/* Lines for a request whose devices have no kernel. */
void hints_no_kernel(const struct placer *placer, int32_t node, struct text *out);

/* Lines about the nodes that must be with a node, if there are any. */
void hints_group(struct placer *placer, int32_t node, const struct claim *claim, struct text *out);

#endif
