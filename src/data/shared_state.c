/* SPDX-License-Identifier: Apache-2.0
 * shared_state.c: state shared between cursors: argument bindings, and the state of datasets
 * (shuffle seeds, caches). */
#include <stdlib.h>

#include "data/data.h"

void shared_state_release(struct shared_state *shared_state) {
  if (!shared_state || __atomic_sub_fetch(&shared_state->references, 1, __ATOMIC_ACQ_REL) > 0)
    return;
  pthread_mutex_destroy(&shared_state->lock);
  shared_state->release(shared_state);
}

/* Creates the state of an empty slot, and takes a reference. Must hold the lock of the slot. */
static situ_status create_if_missing(struct shared_state **slot,
                                     situ_status (*create)(struct shared_state **out),
                                     struct shared_state **out) {
  if (!*slot) {
    TRY(create(slot));
    (*slot)->references = 1;
    pthread_mutex_init(&(*slot)->lock, NULL);
  }
  __atomic_add_fetch(&(*slot)->references, 1, __ATOMIC_RELAXED);
  *out = *slot;
  return NULL;
}

static struct shared_state **find_slot(struct binding *binding, const situ_dataset *dataset) {
  struct binding_state *entry = binding->states;
  while (entry && entry->dataset != dataset) entry = entry->next;
  if (!entry && (entry = calloc(1, sizeof *entry))) {
    entry->dataset = dataset;
    entry->next = binding->states;
    binding->states = entry;
  }
  return entry ? &entry->shared_state : NULL;
}

situ_status shared_state_find(const struct cursor *cursor,
                              situ_status (*create)(struct shared_state **out),
                              struct shared_state **out) {
  struct binding *binding =
      cursor->binding && !cursor->binding->share_state ? cursor->binding : NULL;
  pthread_mutex_t *lock = binding ? &binding->lock : &cursor->dataset->lock;
  pthread_mutex_lock(lock);
  struct shared_state **slot =
      binding ? find_slot(binding, cursor->dataset) : &cursor->dataset->shared_state;
  const situ_status status = slot ? create_if_missing(slot, create, out) : NO_MEMORY();
  pthread_mutex_unlock(lock);
  return status;
}

situ_status shared_state_bind(situ_tensor *const *arguments, int n, bool share_state,
                              struct binding **out) {
  struct binding *binding = calloc(1, sizeof *binding);
  if (!binding) return NO_MEMORY();
  binding->arguments = calloc((size_t)n + 1, sizeof(situ_tensor *));
  if (!binding->arguments) {
    free(binding);
    return NO_MEMORY();
  }
  pthread_mutex_init(&binding->lock, NULL);
  binding->references = 1;
  binding->share_state = share_state;
  binding->n_arguments = n;
  for (int i = 0; i < n; i++) binding->arguments[i] = situ_tensor_retain(arguments[i]);
  *out = binding;
  return NULL;
}

void shared_state_unbind(struct binding *binding) {
  if (!binding || __atomic_sub_fetch(&binding->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  while (binding->states) {
    struct binding_state *entry = binding->states;
    binding->states = entry->next;
    shared_state_release(entry->shared_state);
    free(entry);
  }
  for (int i = 0; i < binding->n_arguments; i++) situ_tensor_release(binding->arguments[i]);
  free(binding->arguments);
  pthread_mutex_destroy(&binding->lock);
  free(binding);
}
