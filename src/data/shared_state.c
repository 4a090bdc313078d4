/* SPDX-License-Identifier: Apache-2.0
 * shared_state.c: state that outlives a cursor: values of arguments, and what the cursors of a
 * data set share. */
#include <stdlib.h>

#include "data/data.h"

void shared_state_release(struct shared_state *shared_state) {
  if (!shared_state || __atomic_sub_fetch(&shared_state->references, 1, __ATOMIC_ACQ_REL) > 0)
    return;
  pthread_mutex_destroy(&shared_state->lock);
  shared_state->release(shared_state);
}

/* Makes what a place lacks, and takes a reference; called with a lock. */
static situ_status fill(struct shared_state **place,
                        situ_status (*create)(struct shared_state **out),
                        struct shared_state **out) {
  if (!*place) {
    TRY(create(place));
    (*place)->references = 1;
    pthread_mutex_init(&(*place)->lock, NULL);
  }
  __atomic_add_fetch(&(*place)->references, 1, __ATOMIC_RELAXED);
  *out = *place;
  return NULL;
}

static struct shared_state **place_in(struct binding *binding, const situ_dataset *dataset) {
  struct kept *kept = binding->kept;
  while (kept && kept->of != dataset) kept = kept->next;
  if (!kept && (kept = calloc(1, sizeof *kept))) {
    kept->of = dataset;
    kept->next = binding->kept;
    binding->kept = kept;
  }
  return kept ? &kept->shared_state : NULL;
}

situ_status shared_state_find(const struct cursor *cursor,
                              situ_status (*create)(struct shared_state **out),
                              struct shared_state **out) {
  struct binding *binding = cursor->binding && !cursor->binding->shares ? cursor->binding : NULL;
  pthread_mutex_t *lock = binding ? &binding->lock : &cursor->dataset->lock;
  pthread_mutex_lock(lock);
  struct shared_state **place =
      binding ? place_in(binding, cursor->dataset) : &cursor->dataset->shared_state;
  const situ_status status = place ? fill(place, create, out) : NO_MEMORY();
  pthread_mutex_unlock(lock);
  return status;
}

situ_status shared_state_bind(situ_tensor *const *arguments, int n, bool shares,
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
  binding->shares = shares;
  binding->n_arguments = n;
  for (int i = 0; i < n; i++) binding->arguments[i] = situ_tensor_retain(arguments[i]);
  *out = binding;
  return NULL;
}

void shared_state_unbind(struct binding *binding) {
  if (!binding || __atomic_sub_fetch(&binding->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  while (binding->kept) {
    struct kept *kept = binding->kept;
    binding->kept = kept->next;
    shared_state_release(kept->shared_state);
    free(kept);
  }
  for (int i = 0; i < binding->n_arguments; i++) situ_tensor_release(binding->arguments[i]);
  free(binding->arguments);
  pthread_mutex_destroy(&binding->lock);
  free(binding);
}
