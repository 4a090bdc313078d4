/* SPDX-License-Identifier: Apache-2.0
 * prefetch.c: see prefetch.h. A ring buffer: threads fill its entries in order, and the consumer
 * empties them in order. Whoever sleeps is woken only where that is needed: a switch of threads
 * costs more than most elements. */
#include "data/prefetch.h"

#include <stdlib.h>
#include <unistd.h>

struct place {
  situ_tensor **parts;
  situ_status status;
  bool done, end;
};

struct prefetch {
  struct prefetch_work work;
  pthread_mutex_t source; /* held by who reads the source and waits for room */
  pthread_mutex_t lock;   /* guards what follows */
  pthread_cond_t filled, emptied;
  bool asking, waiting; /* somebody waits for an element, for room */
  bool stop, ended;
  int64_t begun, taken; /* elements that were read; that were given */
  struct place *places; /* element k is at k % room */
  situ_tensor **parts;
  pthread_t *threads;
  int n_threads;
};

int prefetch_threads(int asked) {
  if (asked > 0) return asked;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 2;
}

/* Waits for room; false: it is time to end. Called with `source`. */
static bool wait_for_room(struct prefetch *prefetch) {
  pthread_mutex_lock(&prefetch->lock);
  while (!prefetch->stop && !prefetch->ended &&
         prefetch->begun - prefetch->taken >= prefetch->work.room) {
    prefetch->waiting = true;
    pthread_cond_wait(&prefetch->emptied, &prefetch->lock);
  }
  const bool go = !prefetch->stop && !prefetch->ended;
  pthread_mutex_unlock(&prefetch->lock);
  return go;
}

/* Reads the next element; NULL: it is time to end. */
static struct place *read_next(struct prefetch *prefetch, situ_tensor **row) {
  struct place *place = NULL;
  pthread_mutex_lock(&prefetch->source);
  if (wait_for_room(prefetch)) {
    bool end = false;
    const situ_status status = cursor_next(prefetch->work.source, row, &end);
    pthread_mutex_lock(&prefetch->lock);
    place = &prefetch->places[prefetch->begun++ % prefetch->work.room];
    place->status = status;
    place->end = end;
    prefetch->ended = prefetch->ended || end;
    pthread_mutex_unlock(&prefetch->lock);
  }
  pthread_mutex_unlock(&prefetch->source);
  return place;
}

static void finish(struct prefetch *prefetch, struct place *place) {
  pthread_mutex_lock(&prefetch->lock);
  place->done = true;
  const bool wake =
      prefetch->asking && prefetch->places[prefetch->taken % prefetch->work.room].done;
  if (wake) prefetch->asking = false;
  pthread_mutex_unlock(&prefetch->lock);
  if (wake) pthread_cond_signal(&prefetch->filled);
}

static void *run(void *context) {
  struct prefetch *prefetch = context;
  const struct prefetch_work *work = &prefetch->work;
  const int n = work->source->dataset->n_parts;
  situ_tensor **row = work->work ? calloc((size_t)n + 1, sizeof(situ_tensor *)) : NULL;
  while (!work->work || row) {
    struct place *place = NULL;
    if (work->work) {
      place = read_next(prefetch, row);
      if (place && !place->status && !place->end)
        place->status = work->work(work->cursor, row, n, place->parts);
      cursor_drop(row, n);
    } else { /* one thread: the place is known before */
      place = read_next(prefetch, prefetch->places[prefetch->begun % work->room].parts);
    }
    if (!place) break;
    finish(prefetch, place);
  }
  free(row);
  return NULL;
}

void prefetch_stop(struct prefetch *prefetch) {
  if (!prefetch) return;
  pthread_mutex_lock(&prefetch->lock);
  prefetch->stop = true;
  pthread_mutex_unlock(&prefetch->lock);
  pthread_cond_broadcast(&prefetch->emptied);
  for (int i = 0; i < prefetch->n_threads; i++) pthread_join(prefetch->threads[i], NULL);
  for (int i = 0; prefetch->places && i < prefetch->work.room; i++) {
    if (prefetch->places[i].parts) cursor_drop(prefetch->places[i].parts, prefetch->work.n_parts);
    situ_status_release(prefetch->places[i].status);
  }
  pthread_mutex_destroy(&prefetch->source);
  pthread_mutex_destroy(&prefetch->lock);
  pthread_cond_destroy(&prefetch->filled);
  pthread_cond_destroy(&prefetch->emptied);
  free(prefetch->places);
  free(prefetch->parts);
  free(prefetch->threads);
  free(prefetch);
}

static situ_status start_threads(struct prefetch *prefetch) {
  for (int i = 0; i < prefetch->work.threads; i++) {
    if (pthread_create(&prefetch->threads[i], NULL, run, prefetch)) break;
    prefetch->n_threads++;
  }
  if (prefetch->n_threads) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED, "No thread could be started.");
}

situ_status prefetch_start(const struct prefetch_work *work, struct prefetch **out) {
  struct prefetch *prefetch = calloc(1, sizeof *prefetch);
  if (!prefetch) return NO_MEMORY();
  prefetch->work = *work;
  pthread_mutex_init(&prefetch->source, NULL);
  pthread_mutex_init(&prefetch->lock, NULL);
  pthread_cond_init(&prefetch->filled, NULL);
  pthread_cond_init(&prefetch->emptied, NULL);
  const size_t room = (size_t)work->room, n = (size_t)work->n_parts;
  prefetch->places = calloc(room, sizeof *prefetch->places);
  prefetch->parts = calloc(room * n + 1, sizeof(situ_tensor *));
  prefetch->threads = calloc((size_t)work->threads, sizeof *prefetch->threads);
  situ_status status =
      prefetch->places && prefetch->parts && prefetch->threads ? NULL : NO_MEMORY();
  for (size_t i = 0; i < room && !status; i++) prefetch->places[i].parts = prefetch->parts + i * n;
  if (!status) status = start_threads(prefetch);
  if (status)
    prefetch_stop(prefetch);
  else
    *out = prefetch;
  return status;
}

situ_status prefetch_pop(struct prefetch *prefetch, situ_tensor **parts, bool *end) {
  situ_status status = NULL;
  pthread_mutex_lock(&prefetch->lock);
  struct place *place = &prefetch->places[prefetch->taken % prefetch->work.room];
  while (!place->done && !status) {
    prefetch->asking = true;
    status = cursor_wait(&prefetch->filled, &prefetch->lock);
  }
  prefetch->asking = false;
  bool wake = false;
  if (!status && place->end) {
    *end = true; /* for all who ask */
  } else if (!status) {
    status = place->status;
    for (int i = 0; i < prefetch->work.n_parts; i++) {
      parts[i] = place->parts[i];
      place->parts[i] = NULL;
    }
    place->status = NULL;
    place->done = false;
    prefetch->taken++;
    wake = prefetch->waiting && prefetch->begun - prefetch->taken <= prefetch->work.room / 2;
    if (wake) prefetch->waiting = false;
  }
  pthread_mutex_unlock(&prefetch->lock);
  if (wake) pthread_cond_broadcast(&prefetch->emptied);
  return status;
}
