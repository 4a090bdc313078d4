/* SPDX-License-Identifier: Apache-2.0
 * feed.h: parses the option --feed. */
#ifndef SITU_CLI_FEED_H
#define SITU_CLI_FEED_H

#include <situ/situ.h>

/* Parses "NAME=SHAPE" or "NAME=SHAPE:VALUE,VALUE...". Without values the elements are 0 and use no
 * memory. The caller releases out->tensor. */
situ_status feed_parse(situ_graph *graph, const char *text, situ_feed *out) SITU_MUST_USE;

#endif
