/* SPDX-License-Identifier: Apache-2.0
 * store.h: variables and resources shared by several sessions of a process, keyed by task,
 * container and name.
 *
 * It holds the variables of the cluster tasks in this process: sessions of different graphs that
 * use the same variable of the same task share its memory. As in TensorFlow, a reference variable
 * keeps the shape of its first session until its container is reset; a resource variable has the
 * shape of the value last assigned. Frames hold addresses, so each shape has its own memory, and
 * only the entry that was assigned last is ready. */
#ifndef SITU_EXEC_STORE_H
#define SITU_EXEC_STORE_H

#include "exec/state.h"
#include "situ/session.h"

/* The resources of a store; borrowed. */
struct resources *store_resources(situ_store *store);

/* Acquires the device list so that devices stay open while the store has memory on them. Each
 * session that uses the store calls it. */
situ_status store_open(situ_store *store) SITU_MUST_USE;

/* Finds the memory of a state slot; allocates it at first use. Variables are keyed by task,
 * container and name, RNG counters by scope. Borrowed from the store. */
situ_status store_find(const struct state *state, const struct program *program,
                       const struct slot *slot, struct state_entry **out) SITU_MUST_USE;

/* Marks an entry as ready and its siblings as not ready. */
void store_set(situ_store *store, struct state_entry *entry);

/* Returns "/job:J/task:T" of the task that a node requests, in `out`; `own_task` if it requests
 * none.
 */
const char *store_task(const struct situ_graph *graph, const struct node *node,
                       const char *own_task, char out[NAME_SIZE]);

#endif
