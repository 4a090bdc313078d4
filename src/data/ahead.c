/* SPDX-License-Identifier: Apache-2.0
 * ahead.c: see ahead.h. A ring of places: threads fill them, each in its turn, and the one who asks
 * empties them in order. Whoever sleeps is woken only where that is needed: a switch of threads
 * costs more than most elements. */
#include "data/ahead.h"

#include <stdlib.h>
#include <unistd.h>

struct place {
  situ_tensor **parts;
  situ_status status;
  bool done, end;
};

struct ahead {
  struct ahead_work work;
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

int ahead_threads(int asked) {
  if (asked > 0) return asked;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 2;
}

/* Waits for room; false: it is time to end. Called with `source`. */
static bool wait_for_room(struct ahead *ahead) {
  pthread_mutex_lock(&ahead->lock);
  while (!ahead->stop && !ahead->ended && ahead->begun - ahead->taken >= ahead->work.room) {
    ahead->waiting = true;
    pthread_cond_wait(&ahead->emptied, &ahead->lock);
  }
  const bool go = !ahead->stop && !ahead->ended;
  pthread_mutex_unlock(&ahead->lock);
  return go;
}

/* Reads the next element; NULL: it is time to end. */
static struct place *read_next(struct ahead *ahead, situ_tensor **row) {
  struct place *place = NULL;
  pthread_mutex_lock(&ahead->source);
  if (wait_for_room(ahead)) {
    bool end = false;
    const situ_status status = cursor_next(ahead->work.source, row, &end);
    pthread_mutex_lock(&ahead->lock);
    place = &ahead->places[ahead->begun++ % ahead->work.room];
    place->status = status;
    place->end = end;
    ahead->ended = ahead->ended || end;
    pthread_mutex_unlock(&ahead->lock);
  }
  pthread_mutex_unlock(&ahead->source);
  return place;
}

static void finish(struct ahead *ahead, struct place *place) {
  pthread_mutex_lock(&ahead->lock);
  place->done = true;
  const bool wake = ahead->asking && ahead->places[ahead->taken % ahead->work.room].done;
  if (wake) ahead->asking = false;
  pthread_mutex_unlock(&ahead->lock);
  if (wake) pthread_cond_signal(&ahead->filled);
}

static void *run(void *context) {
  struct ahead *ahead = context;
  const struct ahead_work *work = &ahead->work;
  const int n = work->source->dataset->n_parts;
  situ_tensor **row = work->work ? calloc((size_t)n + 1, sizeof(situ_tensor *)) : NULL;
  while (!work->work || row) {
    struct place *place = NULL;
    if (work->work) {
      place = read_next(ahead, row);
      if (place && !place->status && !place->end)
        place->status = work->work(work->cursor, row, n, place->parts);
      cursor_drop(row, n);
    } else { /* one thread: the place is known before */
      place = read_next(ahead, ahead->places[ahead->begun % work->room].parts);
    }
    if (!place) break;
    finish(ahead, place);
  }
  free(row);
  return NULL;
}

void ahead_stop(struct ahead *ahead) {
  if (!ahead) return;
  pthread_mutex_lock(&ahead->lock);
  ahead->stop = true;
  pthread_mutex_unlock(&ahead->lock);
  pthread_cond_broadcast(&ahead->emptied);
  for (int i = 0; i < ahead->n_threads; i++) pthread_join(ahead->threads[i], NULL);
  for (int i = 0; ahead->places && i < ahead->work.room; i++) {
    if (ahead->places[i].parts) cursor_drop(ahead->places[i].parts, ahead->work.n_parts);
    situ_status_release(ahead->places[i].status);
  }
  pthread_mutex_destroy(&ahead->source);
  pthread_mutex_destroy(&ahead->lock);
  pthread_cond_destroy(&ahead->filled);
  pthread_cond_destroy(&ahead->emptied);
  free(ahead->places);
  free(ahead->parts);
  free(ahead->threads);
  free(ahead);
}

static situ_status start_threads(struct ahead *ahead) {
  for (int i = 0; i < ahead->work.threads; i++) {
    if (pthread_create(&ahead->threads[i], NULL, run, ahead)) break;
    ahead->n_threads++;
  }
  if (ahead->n_threads) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED, "No thread could be started.");
}

situ_status ahead_start(const struct ahead_work *work, struct ahead **out) {
  struct ahead *ahead = calloc(1, sizeof *ahead);
  if (!ahead) return NO_MEMORY();
  ahead->work = *work;
  pthread_mutex_init(&ahead->source, NULL);
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->filled, NULL);
  pthread_cond_init(&ahead->emptied, NULL);
  const size_t room = (size_t)work->room, n = (size_t)work->n_parts;
  ahead->places = calloc(room, sizeof *ahead->places);
  ahead->parts = calloc(room * n + 1, sizeof(situ_tensor *));
  ahead->threads = calloc((size_t)work->threads, sizeof *ahead->threads);
  situ_status status = ahead->places && ahead->parts && ahead->threads ? NULL : NO_MEMORY();
  for (size_t i = 0; i < room && !status; i++) ahead->places[i].parts = ahead->parts + i * n;
  if (!status) status = start_threads(ahead);
  if (status)
    ahead_stop(ahead);
  else
    *out = ahead;
  return status;
}

situ_status ahead_next(struct ahead *ahead, situ_tensor **parts, bool *end) {
  situ_status status = NULL;
  pthread_mutex_lock(&ahead->lock);
  struct place *place = &ahead->places[ahead->taken % ahead->work.room];
  while (!place->done && !status) {
    ahead->asking = true;
    status = cursor_wait(&ahead->filled, &ahead->lock);
  }
  ahead->asking = false;
  bool wake = false;
  if (!status && place->end) {
    *end = true; /* for all who ask */
  } else if (!status) {
    status = place->status;
    for (int i = 0; i < ahead->work.n_parts; i++) {
      parts[i] = place->parts[i];
      place->parts[i] = NULL;
    }
    place->status = NULL;
    place->done = false;
    ahead->taken++;
    wake = ahead->waiting && ahead->begun - ahead->taken <= ahead->work.room / 2;
    if (wake) ahead->waiting = false;
  }
  pthread_mutex_unlock(&ahead->lock);
  if (wake) pthread_cond_broadcast(&ahead->emptied);
  return status;
}
