/* SPDX-License-Identifier: Apache-2.0
 * state.c: the entries of a session's own state, keyed by (node, output, device). */
#include "exec/state.h"

#include <stdlib.h>

#include "exec/store.h"
#include "graph/variable.h"

static struct state_entry *find_entry(const struct state *state, const struct slot *slot) {
  struct state_entry *entry = state->entries;
  while (entry && (entry->node != slot->node || entry->output != slot->output ||
                   entry->device != slot->device))
    entry = entry->next;
  return entry;
}

situ_status state_fill(struct state_entry *entry, const struct program *program,
                       const struct slot *slot) {
  struct device *device = program->devices->devices[slot->device];
  const struct node *node = program->graph->nodes[slot->node];
  struct memory_tag tag = {.op = node->name};
  if (slot->output >= 0) {
    const struct output value =
        variable_value(program->graph, (struct edge){slot->node, slot->output});
    tag.type = value.type;
    tag.shape = value.shape;
  }
  TRY(buffer_device(device, slot->bytes, &tag, &entry->buffer));
  if (!slot->initial) return NULL;
  entry->ready = true;
  return buffer_write(entry->buffer, 0, slot->initial, slot->bytes);
}

static situ_status create_entry(struct state *state, const struct program *program,
                                const struct slot *slot, struct state_entry **out) {
  struct state_entry *entry = calloc(1, sizeof *entry);
  if (!entry) return NO_MEMORY();
  entry->node = slot->node;
  entry->output = slot->output;
  entry->device = slot->device;
  const situ_status status = state_fill(entry, program, slot);
  if (status) {
    buffer_release(entry->buffer);
    free(entry);
    return status;
  }
  entry->next = state->entries;
  state->entries = entry;
  *out = entry;
  return NULL;
}

situ_status state_find(struct state *state, const struct program *program, const struct slot *slot,
                       struct state_entry **out) {
  if (state->store && (slot->output >= 0 || state->scope))
    return store_find(state, program, slot, out);
  pthread_mutex_lock(&state->lock);
  *out = find_entry(state, slot);
  const situ_status status = *out ? NULL : create_entry(state, program, slot, out);
  pthread_mutex_unlock(&state->lock);
  return status;
}

void state_set(const struct state *state, struct state_entry *entry) {
  if (entry->sibling)
    store_set(state->store, entry);
  else
    entry->ready = true;
}

struct state_entry *state_current(struct state_entry *entry) {
  struct state_entry *sibling = entry->sibling;
  while (sibling && sibling != entry && !sibling->ready) sibling = sibling->sibling;
  return !entry->ready && sibling ? sibling : entry;
}

void state_clear(struct state *state) {
  while (state->entries) {
    struct state_entry *entry = state->entries;
    state->entries = entry->next;
    buffer_release(entry->buffer);
    free(entry);
  }
}
