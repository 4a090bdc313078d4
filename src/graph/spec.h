/* SPDX-License-Identifier: Apache-2.0
 * spec.h: requested devices as small numbers. */
#ifndef SITU_GRAPH_SPEC_H
#define SITU_GRAPH_SPEC_H

#include "graph/graph.h"

/* The number of a requested device, a new one if need be; -1 without memory. `written` is the text
 * for errors; NULL: the canonical one. */
int32_t spec_intern(struct situ_graph *graph, const struct device_name *name, const char *written);

/* The number of what a user wrote inside the requested device `outer`. */
situ_status spec_parse(struct situ_graph *graph, const char *written, int32_t outer,
                       int32_t *out) SITU_MUST_USE;

/* The number of what a user wrote, which is also how it is reported. */
situ_status spec_parse_exact(struct situ_graph *graph, const char *written,
                             int32_t *out) SITU_MUST_USE;

#endif
