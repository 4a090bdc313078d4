/* SPDX-License-Identifier: Apache-2.0
 * interleave.c: each element becomes a data set, whose elements come one after the other, or some
 * data sets' in turn. */
#include <stdlib.h>

#include "data/prefetch.h"
#include "data/data.h"

/* A data set that an element became. */
struct inner {
  struct binding *binding;
  struct cursor *cursor;
  struct prefetch *prefetch;
};

struct interleaving {
  struct cursor head;
  struct inner *inners; /* `cycle` of them */
  situ_tensor **arguments;
  int cycle, block, at, given, open; /* in turn; elements of this turn; inners under way */
  bool ended;
};

enum { ROOM = 8 };

static situ_status make(situ_dataset *dataset) {
  if (!dataset->spec.inner)
    return INVALID("A data set %s needs an inner data set.", dataset->kind->name);
  if (dataset->spec.transform) TRY(dataset_check_function(dataset));
  dataset->n_parts = dataset->spec.inner->n_parts;
  return NULL;
}

static situ_status open(struct cursor *cursor) {
  struct interleaving *self = (struct interleaving *)cursor;
  const situ_dataset_spec *spec = &cursor->dataset->spec;
  const bool flat = cursor->dataset->kind == &kind_FlatMap;
  if (!flat && !spec->cycle) return INVALID("cycle_length must be greater than zero.");
  if (!flat && spec->block < 1) return INVALID("block_length must be greater than zero.");
  self->cycle = flat ? 1 : prefetch_threads(spec->cycle);
  self->block = flat ? 1 : spec->block;
  self->inners = calloc((size_t)self->cycle, sizeof *self->inners);
  const int n = spec->transform ? transform_outputs(spec->transform) : 0;
  self->arguments = calloc((size_t)n + 1, sizeof(situ_tensor *));
  return self->inners && self->arguments ? NULL : NO_MEMORY();
}

static void leave(struct interleaving *self, struct inner *inner) {
  prefetch_stop(inner->prefetch);
  cursor_close(inner->cursor);
  shared_state_unbind(inner->binding);
  self->open -= inner->binding != NULL;
  *inner = (struct inner){0};
}

static void close(struct cursor *cursor) {
  struct interleaving *self = (struct interleaving *)cursor;
  for (int i = 0; self->inners && i < self->cycle; i++) leave(self, &self->inners[i]);
  free(self->inners);
  free(self->arguments);
}

/* Makes the next element a data set. */
static situ_status enter(struct interleaving *self, struct inner *inner) {
  const situ_dataset_spec *spec = &self->head.dataset->spec;
  struct cursor *cursor = &self->head;
  const int n = spec->inputs[0]->n_parts;
  const int n_arguments = spec->transform ? transform_outputs(spec->transform) : 0;
  TRY(cursor_pull(cursor, cursor->row, &self->ended));
  if (self->ended) return NULL;
  situ_status status = n_arguments ? transform_call(cursor, cursor->row, n, self->arguments) : NULL;
  cursor_drop(cursor->row, n);
  if (!status) status = shared_state_bind(self->arguments, n_arguments, false, &inner->binding);
  cursor_drop(self->arguments, n_arguments);
  if (status) return status;
  self->open++;
  status = cursor_open(spec->inner, inner->binding, cursor->iteration, &inner->cursor);
  if (!status && spec->parallel)
    status = prefetch_start(&(struct prefetch_work){.source = inner->cursor,
                                                    .n_parts = cursor->dataset->n_parts,
                                                    .room = ROOM,
                                                    .threads = 1},
                            &inner->prefetch);
  if (status) leave(self, inner);
  return status;
}

static void next_turn(struct interleaving *self) {
  self->at = (self->at + 1) % self->cycle;
  self->given = 0;
}

static situ_status next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct interleaving *self = (struct interleaving *)cursor;
  while (!self->ended || self->open) {
    struct inner *inner = &self->inners[self->at];
    if (!inner->binding && !self->ended) TRY(enter(self, inner));
    if (!inner->binding) {
      next_turn(self);
      continue;
    }
    bool over = false;
    TRY(inner->prefetch ? prefetch_pop(inner->prefetch, parts, &over)
                        : cursor_next(inner->cursor, parts, &over));
    if (over) {
      leave(self, inner);
      next_turn(self);
    } else {
      if (++self->given == self->block) next_turn(self);
      return NULL;
    }
  }
  *end = true;
  return NULL;
}

#define KIND(kind)                                                           \
  const struct data_kind kind_##kind = {.name = #kind,                       \
                                        .size = sizeof(struct interleaving), \
                                        .n_inputs = 1,                       \
                                        .make = make,                        \
                                        .open = open,                        \
                                        .next = next,                        \
                                        .close = close,                      \
                                        .count = dataset_count_unknown}
KIND(FlatMap);
KIND(Interleave);
