/* SPDX-License-Identifier: Apache-2.0
 * iterator.c: iterators over datasets, and the functions that iterator ops call. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/tensor.h"

struct situ_iterator {
  struct resource head;
  pthread_mutex_t lock; /* serializes calls of next */
  situ_dataset *dataset;
  struct binding *binding;
  struct cursor *cursor; /* NULL: not initialized */
  struct iteration iteration;
  struct iterator_position position;
};

/* Stops all threads and drops the dataset. */
static void stop(struct situ_iterator *iterator) {
  atomic_store(&iterator->iteration.stopping, true);
  cursor_close(iterator->cursor);
  iterator_state_clear(&iterator->iteration);
  shared_state_unbind(iterator->binding);
  situ_dataset_release(iterator->dataset);
  iterator->cursor = NULL;
  iterator->binding = NULL;
  iterator->dataset = NULL;
}

static void *finish(void *context) {
  struct situ_iterator *iterator = context;
  stop(iterator);
  pthread_mutex_destroy(&iterator->lock);
  pthread_mutex_destroy(&iterator->iteration.lock);
  free(iterator);
  return NULL;
}

/* After an interrupt, a thread of the iterator may be blocked for long, such as a Python generator
 * that sleeps: then another thread waits for it. */
static void destroy(struct resource *resource) {
  struct situ_iterator *iterator = (struct situ_iterator *)resource;
  pthread_t thread;
  atomic_store(&iterator->iteration.stopping, true);
  if (atomic_load(&iterator->iteration.interrupted) &&
      !pthread_create(&thread, NULL, finish, iterator))
    pthread_detach(thread);
  else
    finish(iterator);
}

static const struct resource_kind iterator_resource = {"iterator", destroy};

static situ_status create(void *context, struct resource **out) {
  (void)context;
  struct situ_iterator *iterator = calloc(1, sizeof *iterator);
  if (!iterator) return NO_MEMORY();
  iterator->head.references = 1;
  iterator->head.kind = &iterator_resource;
  pthread_mutex_init(&iterator->lock, NULL);
  pthread_mutex_init(&iterator->iteration.lock, NULL);
  *out = &iterator->head;
  return NULL;
}

/* Opens a dataset. `isolated`: shuffle orders and caches are not shared with other iterators.
 * `saved`: the position to restore; may be NULL. */
static situ_status begin(struct situ_iterator *iterator, situ_dataset *dataset,
                         situ_tensor *const *arguments, int n, bool isolated,
                         const situ_tensor *saved) {
  stop(iterator);
  atomic_store(&iterator->iteration.stopping, false);
  iterator->dataset = situ_dataset_retain(dataset);
  iterator->position = (struct iterator_position){0};
  if (saved) TRY(iterator_state_load(&iterator->iteration, dataset, saved, &iterator->position));
  if (n || isolated) TRY(shared_state_bind(arguments, n, !isolated, &iterator->binding));
  TRY(cursor_open(dataset, iterator->binding, &iterator->iteration, &iterator->cursor));
  return saved ? iterator_state_resume(iterator->cursor, iterator->position) : NULL;
}

static situ_status start(struct resource *resource, situ_tensor *handle,
                         situ_tensor *const *arguments, int n, unsigned flags) {
  struct situ_iterator *iterator = (struct situ_iterator *)resource;
  struct resource *dataset = NULL;
  TRY(resource_of(handle, &dataset_resource, &dataset));
  pthread_mutex_lock(&iterator->lock);
  situ_status status = NULL;
  if (!(flags & START_ONCE) || !iterator->cursor)
    status = begin(iterator, (situ_dataset *)dataset, arguments, n, !(flags & START_SHARED), NULL);
  pthread_mutex_unlock(&iterator->lock);
  return status;
}

/* Gets an element and updates the position. */
static situ_status step(struct situ_iterator *iterator, situ_tensor **components, bool *end) {
  const situ_status status = cursor_next(iterator->cursor, components, end);
  if (status && situ_status_code(status) == SITU_CANCELLED) return status;
  iterator->position.n_requested += status || !*end;
  iterator->position.failed = iterator->position.failed || status;
  return status;
}

static situ_status next(struct resource *resource, const struct services *services,
                        situ_tensor **components, int n, bool *end) {
  struct situ_iterator *iterator = (struct situ_iterator *)resource;
  const struct services *before = cursor_services;
  situ_status status = NULL;
  cursor_services = services;
  if (services && services->logs) atomic_store(&iterator->iteration.log_placement, true);
  pthread_mutex_lock(&iterator->lock);
  if (!iterator->cursor)
    status = situ_status_create(SITU_FAILED_PRECONDITION,
                                "GetNext() failed because the iterator has not been initialized. "
                                "Ensure that you have run the initializer operation for this "
                                "iterator before getting the next element.");
  else if (n != iterator->dataset->n_components)
    status = INVALID("The dataset has elements of %d components, not %d.",
                     iterator->dataset->n_components, n);
  else
    status = step(iterator, components, end);
  pthread_mutex_unlock(&iterator->lock);
  cursor_services = before;
  return status;
}

static situ_status bind(situ_tensor *handle, situ_tensor *const *arguments, int n,
                        situ_tensor **out) {
  struct resource *inner = NULL;
  TRY(resource_of(handle, &dataset_resource, &inner));
  situ_param *params = calloc((size_t)n + 1, sizeof *params);
  if (!params) return NO_MEMORY();
  for (int i = 0; i < n; i++) params[i].tensor = arguments[i];
  situ_dataset *isolated = NULL;
  situ_status status = situ_dataset_create(
      "Bound",
      &(situ_dataset_spec){.params = params, .n_params = n, .inner = (situ_dataset *)inner},
      &isolated);
  if (!status) status = situ_dataset_handle(isolated, out);
  situ_dataset_release(isolated);
  free(params);
  return status;
}

static situ_status count(situ_tensor *handle, int64_t *out) {
  struct resource *dataset = NULL;
  TRY(resource_of(handle, &dataset_resource, &dataset));
  *out = situ_dataset_cardinality((situ_dataset *)dataset);
  return NULL;
}

static situ_status save(struct resource *resource, enum state_policy policy, situ_tensor **out) {
  situ_iterator *iterator = (situ_iterator *)resource;
  pthread_mutex_lock(&iterator->lock);
  const situ_status status = iterator_state_check(iterator->dataset, policy);
  pthread_mutex_unlock(&iterator->lock);
  return status ? status : situ_iterator_save(iterator, out);
}

static situ_status restore(struct resource *resource, const situ_tensor *saved) {
  return situ_iterator_restore((situ_iterator *)resource, saved);
}

const struct iterator_table iterator_table = {
    &iterator_resource, create, start, bind, count, next, save, restore};

situ_status situ_iterator_create(situ_dataset *dataset, situ_tensor *const *arguments,
                                 int n_arguments, situ_iterator **out) {
  if (!dataset || !out || n_arguments < 0 || (n_arguments && !arguments))
    return INVALID("situ_iterator_create: an argument is NULL.");
  for (int i = 0; i < n_arguments; i++)
    if (!arguments[i]) return INVALID("situ_iterator_create: argument %d is NULL.", i);
  struct resource *resource = NULL;
  *out = NULL;
  TRY(create(NULL, &resource));
  struct situ_iterator *iterator = (struct situ_iterator *)resource;
  iterator->head.name = strdup("iterator");
  situ_status status = iterator->head.name ? NULL : NO_MEMORY();
  if (!status) status = begin(iterator, dataset, arguments, n_arguments, false, NULL);
  if (status)
    situ_iterator_release(iterator);
  else
    *out = iterator;
  return status;
}

situ_status situ_iterator_next(situ_iterator *iterator, situ_tensor **components, bool *end) {
  if (!iterator || !components || !end) return INVALID("situ_iterator_next: an argument is NULL.");
  for (int i = 0; iterator->dataset && i < iterator->dataset->n_components; i++)
    components[i] = NULL;
  return next(&iterator->head, cursor_services, components,
              situ_dataset_components(iterator->dataset), end);
}

void situ_iterator_log_placement(situ_iterator *iterator) {
  if (iterator) atomic_store(&iterator->iteration.log_placement, true);
}

situ_status situ_iterator_check_state(situ_iterator *iterator) {
  if (!iterator) return INVALID("situ_iterator_check_state: the iterator is NULL.");
  pthread_mutex_lock(&iterator->lock);
  const situ_status status = iterator_state_check(iterator->dataset, STATE_FAIL);
  pthread_mutex_unlock(&iterator->lock);
  return status;
}

situ_status situ_iterator_save(situ_iterator *iterator, situ_tensor **out) {
  if (!iterator || !out) return INVALID("situ_iterator_save: an argument is NULL.");
  pthread_mutex_lock(&iterator->lock);
  const bool share_state = !iterator->binding || iterator->binding->share_state;
  const situ_status status = iterator->dataset
                                 ? iterator_state_save(&iterator->iteration, iterator->dataset,
                                                       share_state, iterator->position, out)
                                 : INVALID("situ_iterator_save: the iterator has no dataset.");
  pthread_mutex_unlock(&iterator->lock);
  return status;
}

/* Opens the same dataset with the same arguments again, at a saved position. */
static situ_status reopen(struct situ_iterator *iterator, const situ_tensor *saved) {
  if (!iterator->dataset) return INVALID("situ_iterator_restore: the iterator has no dataset.");
  situ_dataset *dataset = situ_dataset_retain(iterator->dataset);
  struct binding *binding = iterator->binding; /* taken over from the iterator */
  atomic_store(&iterator->iteration.stopping, true);
  cursor_close(iterator->cursor);
  iterator->cursor = NULL;
  iterator->binding = NULL;
  situ_tensor *const *arguments = binding ? binding->arguments : NULL;
  const int n = binding ? binding->n_arguments : 0;
  const bool isolated = binding && !binding->share_state;
  const situ_status status = begin(iterator, dataset, arguments, n, isolated, saved);
  if (status) situ_status_release(begin(iterator, dataset, arguments, n, isolated, NULL));
  shared_state_unbind(binding);
  situ_dataset_release(dataset);
  return status;
}

situ_status situ_iterator_restore(situ_iterator *iterator, const situ_tensor *saved) {
  if (!iterator || !saved) return INVALID("situ_iterator_restore: an argument is NULL.");
  pthread_mutex_lock(&iterator->lock);
  const situ_status status = reopen(iterator, saved);
  pthread_mutex_unlock(&iterator->lock);
  return status;
}

situ_status situ_iterator_handle(situ_iterator *iterator, situ_tensor **out) {
  if (!iterator || !out) return INVALID("situ_iterator_handle: an argument is NULL.");
  return resource_handle(&situ_iterator_retain(iterator)->head, out);
}

situ_iterator *situ_iterator_retain(situ_iterator *iterator) {
  return iterator ? (situ_iterator *)resource_retain(&iterator->head) : NULL;
}

void situ_iterator_release(situ_iterator *iterator) {
  if (iterator) resource_release(&iterator->head);
}
