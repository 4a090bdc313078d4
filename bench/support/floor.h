/* SPDX-License-Identifier: Apache-2.0
 * floor.h: how cheap building and running a graph can be in C: a yardstick, not a runtime.
 *
 * A node has a unique name in a hash table, an op, a device, a shape and two inputs. Making a run
 * of it is a pass for each of: prune backwards, place (has the first device a kernel for the op?),
 * plan (a step with pointers into one block per node). Two ways to run: the flat one walks the
 * array of steps; the dataflow one counts, for each node, the inputs that are still missing, as an
 * executor must that learns the order while it runs.
 */
#ifndef SITU_BENCH_FLOOR_H
#define SITU_BENCH_FLOOR_H

#include <stdint.h>

struct floor_graph;
struct floor_run;

/* `count` adds of 2x2 floats behind one source, in `width` chains: node i adds the source to its
 * chain. */
struct floor_graph *floor_build(int32_t count, int32_t width);
void floor_drop(struct floor_graph *graph);

/* Prunes to the ends of the chains, places and plans. */
struct floor_run *floor_plan(struct floor_graph *graph);
void floor_forget(struct floor_run *run);

/* Runs all steps. */
void floor_flat(struct floor_run *run);
void floor_dataflow(struct floor_run *run);

/* The first element that the last step made; the source is all ones. */
float floor_result(const struct floor_run *run);

#endif
