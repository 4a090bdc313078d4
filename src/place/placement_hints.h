/* SPDX-License-Identifier: Apache-2.0
 * placement_hints.h: the hints of placement errors: available devices, kernels, colocated nodes. */
#ifndef SITU_PLACE_PLACEMENT_HINTS_H
#define SITU_PLACE_PLACEMENT_HINTS_H

#include "place/state.h"

struct strbuf;

/* All devices, sorted as strings, separated by commas. */
void placement_hints_devices(const struct placer *placer, struct strbuf *out);

/* The kinds of the devices, separated by commas. */
void placement_hints_kinds(const struct placer *placer, struct strbuf *out);

/* The kernels of a node's op. */
void placement_hints_kernels(const struct placer *placer, int32_t node, struct strbuf *out);

/* Hints for a request that no device satisfies: the devices, other nodes with the same request, a
 * fix. */
void placement_hints_no_device(const struct placer *placer, int32_t node, struct strbuf *out);

/* Hints for a request whose devices have no kernel. */
void placement_hints_no_kernel(const struct placer *placer, int32_t node, struct strbuf *out);

/* Lists the nodes colocated with a node, if any. */
void placement_hints_group(struct placer *placer, int32_t node,
                           const struct constraints *constraints, struct strbuf *out);

#endif
