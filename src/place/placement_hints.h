/* SPDX-License-Identifier: Apache-2.0
 * placement_hints.h: the hints of placement errors: available devices, kernels, colocated nodes. */
#ifndef SITU_PLACE_PLACEMENT_HINTS_H
#define SITU_PLACE_PLACEMENT_HINTS_H

#include "place/state.h"

struct strbuf;

/* All devices, sorted as text, separated by commas. */
void placement_hints_devices(const struct placer *placer, struct strbuf *out);

/* The kinds of the devices, separated by commas. */
void placement_hints_kinds(const struct placer *placer, struct strbuf *out);

/* Where the op of a node has kernels. */
void placement_hints_kernels(const struct placer *placer, int32_t node, struct strbuf *out);

/* Lines for a request that no device meets: what there is, who else asks for it, the way out. */
void placement_hints_no_device(const struct placer *placer, int32_t node, struct strbuf *out);

/* Lines for a request whose devices have no kernel. */
void placement_hints_no_kernel(const struct placer *placer, int32_t node, struct strbuf *out);

/* Lines about the nodes that must be with a node, if there are any. */
void placement_hints_group(struct placer *placer, int32_t node, const struct claim *claim,
                           struct strbuf *out);

#endif
