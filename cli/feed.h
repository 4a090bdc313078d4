/* SPDX-License-Identifier: Apache-2.0
 * feed.h: values that are fed, from the texts of --feed. */
#ifndef SITU_CLI_FEED_H
#define SITU_CLI_FEED_H

#include <situ/situ.h>

/* Reads "NAME=SHAPE" or "NAME=SHAPE:VALUE,VALUE..." for a graph; elements that are not given are 0
 * and take no memory. The caller releases out->tensor. */
situ_status feed_parse(situ_graph *graph, const char *text, situ_feed *out) SITU_MUST_USE;

/* Reads a shape: "2x3", "2,3", "[2,3]", "[]" for a scalar. */
situ_status feed_shape(const char *text, size_t length, situ_shape *out) SITU_MUST_USE;

#endif
