/* SPDX-License-Identifier: Apache-2.0
 * spec.h: interned requested devices (struct spec). */
#ifndef SITU_GRAPH_SPEC_H
#define SITU_GRAPH_SPEC_H

#include "graph/graph.h"

/* The index of a requested device, added if it is new; -1: out of memory. `written` is the form for
 * errors; NULL: the canonical one. */
int32_t spec_intern(struct situ_graph *graph, const struct device_name *name, const char *written);

/* Parses a device string inside the requested device `outer` and interns the merged request. */
situ_status spec_parse(struct situ_graph *graph, const char *written, int32_t outer,
                       int32_t *out) SITU_MUST_USE;

/* Parses and interns a device string that is reported unchanged. */
situ_status spec_parse_exact(struct situ_graph *graph, const char *written,
                             int32_t *out) SITU_MUST_USE;

#endif
