/* SPDX-License-Identifier: Apache-2.0
 * graph_plan.h: loads a graph from a file and plans a run of it, for `situ explain`, `situ plan`
 * and `situ simulate`. */
#ifndef SITU_CLI_GRAPH_PLAN_H
#define SITU_CLI_GRAPH_PLAN_H

#include "command.h"

/* The options that graph_plan_create reads, for the option table of a command. */
#define GRAPH_PLAN_OPTIONS                                                                 \
  {"fetch", "NAME", "fetch this value; repeatable. Default: all nodes without consumers"}, \
      {"feed", "NAME=SHAPE", "shape of a fed value: x=2x3, y=[]; with values: n=2:7,9"},   \
      {"soft", NULL, "allow soft placement"}, {                                            \
    "json", NULL, "print JSON, sizes in bytes"                                             \
  }

#define GRAPH_PLAN_REPEATABLE "fetch feed" /* command.repeatable */

struct graph_plan {
  situ_graph *graph;
  situ_session *session;
  situ_plan *plan;
};

/* Loads, places and plans the graph. Returns SUCCESS, or prints an error and returns the exit code.
 * */
int graph_plan_create(const struct args *args, struct graph_plan *out);

/* Frees a plan, also after graph_plan_create failed. */
void graph_plan_free(struct graph_plan *graph_plan);

/* Print the copies of a step as a table, or as member "copies" of a JSON object. */
bool graph_plan_print_copies(const situ_plan *plan);
void graph_plan_copies_json(const situ_plan *plan);

#endif
