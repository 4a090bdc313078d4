/* SPDX-License-Identifier: Apache-2.0
 * prefetch.c: see prefetch.h. A ring buffer: threads fill its entries in order, and the consumer
 * empties them in order. Waiting threads are signalled only when necessary, since a context switch
 * costs more than most elements. */
#include "data/prefetch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct entry {
  situ_tensor **components;
  situ_status status;
  bool done, end;
};

struct prefetch {
  struct prefetch_work work;
  pthread_mutex_t source; /* held while reading the source and waiting for a free entry */
  pthread_mutex_t lock;   /* guards the members below */
  pthread_cond_t filled, emptied;
  bool consumer_waits, producer_waits; /* the consumer waits for an element, a producer for a free
                                          entry */
  bool stop, ended;
  int64_t n_read, n_taken; /* elements read from the source; elements returned */
  struct entry *entries;   /* element k is in entry k % capacity */
  situ_tensor **components;
  situ_tensor **inputs; /* an element of the source per thread */
  pthread_t *threads;
  int n_threads;
  atomic_int n_started; /* threads that run */
};

int prefetch_threads(int requested) {
  if (requested > 0) return requested;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 2;
}

/* Waits for a free entry; false: stop. Must hold `source`. */
static bool wait_for_free_entry(struct prefetch *prefetch) {
  pthread_mutex_lock(&prefetch->lock);
  while (!prefetch->stop && !prefetch->ended &&
         prefetch->n_read - prefetch->n_taken >= prefetch->work.capacity) {
    prefetch->producer_waits = true;
    pthread_cond_wait(&prefetch->emptied, &prefetch->lock);
  }
  const bool go = !prefetch->stop && !prefetch->ended;
  pthread_mutex_unlock(&prefetch->lock);
  return go;
}

/* Reads the next element from the source; NULL: stop. */
static struct entry *read_next(struct prefetch *prefetch, situ_tensor **element) {
  struct entry *entry = NULL;
  pthread_mutex_lock(&prefetch->source);
  if (wait_for_free_entry(prefetch)) {
    bool end = false;
    const situ_status status = cursor_next(prefetch->work.source, element, &end);
    pthread_mutex_lock(&prefetch->lock);
    entry = &prefetch->entries[prefetch->n_read++ % prefetch->work.capacity];
    entry->status = status;
    entry->end = end;
    prefetch->ended = prefetch->ended || end;
    pthread_mutex_unlock(&prefetch->lock);
  }
  pthread_mutex_unlock(&prefetch->source);
  return entry;
}

static void finish(struct prefetch *prefetch, struct entry *entry) {
  pthread_mutex_lock(&prefetch->lock);
  entry->done = true;
  const bool wake = prefetch->consumer_waits &&
                    prefetch->entries[prefetch->n_taken % prefetch->work.capacity].done;
  if (wake) prefetch->consumer_waits = false;
  pthread_mutex_unlock(&prefetch->lock);
  if (wake) pthread_cond_signal(&prefetch->filled);
}

static void *run(void *context) {
  struct prefetch *prefetch = context;
  const struct prefetch_work *work = &prefetch->work;
  const int n = work->source->dataset->n_components;
  situ_tensor **element = prefetch->inputs + n * atomic_fetch_add(&prefetch->n_started, 1);
  while (true) {
    struct entry *entry = NULL;
    if (work->work) {
      entry = read_next(prefetch, element);
      if (entry && !entry->status && !entry->end)
        entry->status = work->work(work->cursor, element, n, entry->components);
      cursor_release_tensors(element, n);
    } else { /* only one thread: the next entry is known */
      entry = read_next(prefetch, prefetch->entries[prefetch->n_read % work->capacity].components);
    }
    if (!entry) break;
    finish(prefetch, entry);
  }
  return NULL;
}

void prefetch_stop(struct prefetch *prefetch) {
  if (!prefetch) return;
  pthread_mutex_lock(&prefetch->lock);
  prefetch->stop = true;
  pthread_mutex_unlock(&prefetch->lock);
  pthread_cond_broadcast(&prefetch->emptied);
  for (int i = 0; i < prefetch->n_threads; i++) pthread_join(prefetch->threads[i], NULL);
  for (int i = 0; prefetch->entries && i < prefetch->work.capacity; i++) {
    if (prefetch->entries[i].components)
      cursor_release_tensors(prefetch->entries[i].components, prefetch->work.n_components);
    situ_status_release(prefetch->entries[i].status);
  }
  pthread_mutex_destroy(&prefetch->source);
  pthread_mutex_destroy(&prefetch->lock);
  pthread_cond_destroy(&prefetch->filled);
  pthread_cond_destroy(&prefetch->emptied);
  free(prefetch->entries);
  free(prefetch->components);
  free(prefetch->inputs);
  free(prefetch->threads);
  free(prefetch);
}

static situ_status start_threads(struct prefetch *prefetch) {
  for (int i = 0; i < prefetch->work.threads; i++) {
    if (pthread_create(&prefetch->threads[i], NULL, run, prefetch)) break;
    prefetch->n_threads++;
  }
  if (prefetch->n_threads) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Cannot start a thread for prefetching.");
}

situ_status prefetch_start(const struct prefetch_work *work, struct prefetch **out) {
  struct prefetch *prefetch = calloc(1, sizeof *prefetch);
  if (!prefetch) return NO_MEMORY();
  prefetch->work = *work;
  pthread_mutex_init(&prefetch->source, NULL);
  pthread_mutex_init(&prefetch->lock, NULL);
  pthread_cond_init(&prefetch->filled, NULL);
  pthread_cond_init(&prefetch->emptied, NULL);
  const size_t capacity = (size_t)work->capacity, n = (size_t)work->n_components;
  const size_t n_inputs = (size_t)work->source->dataset->n_components;
  prefetch->entries = calloc(capacity, sizeof *prefetch->entries);
  prefetch->components = calloc(capacity * n + 1, sizeof(situ_tensor *));
  prefetch->inputs = calloc((size_t)work->threads * n_inputs + 1, sizeof(situ_tensor *));
  prefetch->threads = calloc((size_t)work->threads, sizeof *prefetch->threads);
  const bool allocated =
      prefetch->entries && prefetch->components && prefetch->inputs && prefetch->threads;
  situ_status status = allocated ? NULL : NO_MEMORY();
  for (size_t i = 0; i < capacity && !status; i++)
    prefetch->entries[i].components = prefetch->components + i * n;
  if (!status) status = start_threads(prefetch);
  if (status)
    prefetch_stop(prefetch);
  else
    *out = prefetch;
  return status;
}

situ_status prefetch_pop(struct prefetch *prefetch, situ_tensor **components, bool *end) {
  situ_status status = NULL;
  pthread_mutex_lock(&prefetch->lock);
  struct entry *entry = &prefetch->entries[prefetch->n_taken % prefetch->work.capacity];
  while (!entry->done && !status) {
    prefetch->consumer_waits = true;
    status = cursor_wait(&prefetch->filled, &prefetch->lock);
  }
  if (!entry->done) atomic_store(&prefetch->work.source->iteration->interrupted, true);
  prefetch->consumer_waits = false;
  bool wake = false;
  if (!status && entry->end) {
    *end = true; /* for all later calls, too */
  } else if (!status) {
    status = entry->status;
    for (int i = 0; i < prefetch->work.n_components; i++) {
      components[i] = entry->components[i];
      entry->components[i] = NULL;
    }
    entry->status = NULL;
    entry->done = false;
    prefetch->n_taken++;
    wake = prefetch->producer_waits &&
           prefetch->n_read - prefetch->n_taken <= prefetch->work.capacity / 2;
    if (wake) prefetch->producer_waits = false;
  }
  pthread_mutex_unlock(&prefetch->lock);
  if (wake) pthread_cond_broadcast(&prefetch->emptied);
  return status;
}
