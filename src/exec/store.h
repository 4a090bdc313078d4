/* SPDX-License-Identifier: Apache-2.0
 * store.h: variables and resources that several sessions of a process share, by task and name.
 *
 * The tasks of a cluster that live in one process keep their variables here: a session of any graph
 * that names the same variable of the same task finds the same memory. As in TensorFlow, a variable
 * by reference keeps the shape of its first session until the container is reset; one by handle
 * takes the shape of what is assigned to it. Since frames hold addresses, each shape has memory of
 * its own, and the one that was assigned last has the value. */
#ifndef SITU_EXEC_STORE_H
#define SITU_EXEC_STORE_H

#include "exec/state.h"
#include "situ/session.h"

/* The resources of a store; borrowed. */
struct resources *store_resources(situ_store *store);

/* Keeps the devices open while the store has memory on them: called by each session that uses it,
 * whose list of devices this is. */
situ_status store_open(situ_store *store) SITU_MUST_USE;

/* The memory of a state slot, made when it is first asked for. Variables are shared by task and
 * name, counters of random ops within a scope. Borrowed from the store. */
situ_status store_find(const struct state *state, const struct program *program,
                       const struct slot *slot, struct state_entry **out) SITU_MUST_USE;

/* Notes that an entry has a value and its twins have none. */
void store_set(situ_store *store, struct state_entry *entry);

/* Writes "/job:J/task:T" of the task that a node asks for; `home`, where it asks for none. */
const char *store_task(const struct situ_graph *graph, const struct node *node, const char *home,
                       char out[NAME_SIZE]);

#endif
