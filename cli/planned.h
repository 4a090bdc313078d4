/* SPDX-License-Identifier: Apache-2.0
 * planned.h: a graph from a file, placed and planned as the options ask: what explain and plan
 * share. */
#ifndef SITU_CLI_PLANNED_H
#define SITU_CLI_PLANNED_H

#include "command.h"

/* The options that planned_make reads, as rows of a table of options. */
#define PLANNED_OPTIONS                                                                          \
  {"fetch", "NAME", "plan a run of this value (again: of several); all ends if not given"},      \
      {"feed", "NAME=SHAPE", "the shape of a value that is fed: x=2x3, y=[], n=2:7,9 (values)"}, \
      {"soft", NULL, "allow soft placement"}, {                                                  \
    "json", NULL, "the same as JSON, sizes in bytes"                                             \
  }

#define PLANNED_MANY "fetch feed" /* of these, those that may be given several times */

struct planned {
  situ_graph *graph;
  situ_session *session;
  situ_plan *plan;
};

/* Reads the graph, places it and plans it. Returns DONE, or prints what is wrong and returns the
 * exit code. */
int planned_make(const struct args *args, struct planned *out);

/* Frees what planned_make made, also where it failed. */
void planned_free(struct planned *planned);

/* Prints the copies of a step, as a table or as the member "copies" of an object. */
bool planned_copies(const situ_plan *plan);
void planned_copies_json(const situ_plan *plan);

#endif
