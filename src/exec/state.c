/* SPDX-License-Identifier: Apache-2.0
 * state.c: see state.h. */
#include "exec/state.h"

#include <stdlib.h>

struct state_entry {
  int32_t node, output; /* as in struct slot */
  struct buffer *buffer;
};

static struct buffer *lookup(const struct state *state, const struct slot *slot) {
  for (int32_t i = 0; i < state->count; i++)
    if (state->entries[i].node == slot->node && state->entries[i].output == slot->output)
      return state->entries[i].buffer;
  return NULL;
}

static situ_status reserve(struct state *state) {
  if (state->count < state->capacity) return NULL;
  const int32_t capacity = state->capacity ? state->capacity * 2 : 16;
  struct state_entry *entries =
      realloc(state->entries, sizeof *entries * (size_t)capacity);
  if (!entries) return NO_MEMORY();
  state->entries = entries;
  state->capacity = capacity;
  return NULL;
}

static situ_status make(struct state *state, const struct program *program,
                        const struct slot *slot, struct buffer **out) {
  TRY(reserve(state));
  struct device *device = program->devices->devices[slot->device];
  const struct memory_tag tag = {.op = program->graph->nodes[slot->node]->name};
  struct buffer *buffer = NULL;
  TRY(buffer_device(device, slot->bytes, &tag, &buffer));
  const situ_status status = buffer_write(buffer, 0, slot->initial, slot->bytes);
  if (status) {
    buffer_release(buffer);
    return status;
  }
  state->entries[state->count++] = (struct state_entry){slot->node, slot->output, buffer};
  *out = buffer;
  return NULL;
}

situ_status state_find(struct state *state, const struct program *program, const struct slot *slot,
                       struct buffer **out) {
  pthread_mutex_lock(&state->lock);
  *out = lookup(state, slot);
  const situ_status status = *out ? NULL : make(state, program, slot, out);
  pthread_mutex_unlock(&state->lock);
  return status;
}

void state_clear(struct state *state) {
  for (int32_t i = 0; i < state->count; i++) buffer_release(state->entries[i].buffer);
  free(state->entries);
  state->entries = NULL;
  state->count = state->capacity = 0;
}
