/* SPDX-License-Identifier: Apache-2.0
 * random_graph.h: graphs of a few connected random nodes: ops with references and handles of
 * variables, queues, tables and tensor lists, If and While with random functions, gradients, on the
 * CPU and on simulated GPUs, built or loaded from a GraphDef. */
#ifndef SITU_TESTS_SUPPORT_RANDOM_GRAPH_H
#define SITU_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "support/random_values.h"

/* What a run of a random graph led to. */
struct random_graph_result {
  bool is_built;     /* the node of the op could be added */
  bool has_run;      /* the node was run, with success */
  situ_status worst; /* an Internal error of any run, or NULL; the caller releases it */
};

/* Sets up the process: simulated GPUs, and an end of runs that wait. The working directory becomes
 * a new temporary folder, for ops that write files. */
void random_graph_start(void);

/* Builds and runs a graph around a node of op `id`. With SITU_TEST_VERBOSE the nodes are printed.
 */
struct random_graph_result random_graph(int id, struct random_bytes *bytes);

/* Whether random graphs leave an op out: it prints, or waits for other processes. */
bool random_graph_leaves_out(int id);

#endif
