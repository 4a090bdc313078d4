/* SPDX-License-Identifier: Apache-2.0
 * interleave.c: FlatMap and Interleave: each element becomes an inner dataset; `cycle` of them are
 * read in turn, `block` elements at a time. */
#include <stdlib.h>

#include "data/prefetch.h"
#include "data/data.h"

/* An open inner dataset. */
struct inner {
  struct binding *binding;
  struct cursor *cursor;
  struct prefetch *prefetch;
};

struct interleave_cursor {
  struct cursor head;
  struct inner *inners; /* `cycle` of them */
  situ_tensor **arguments;
  int cycle, block, at, given, open; /* at: current inner; given: elements of its block so far;
                                        open: number of open inners */
  bool ended;
};

enum { ROOM = 8 };

static situ_status init(situ_dataset *dataset) {
  if (!dataset->spec.inner)
    return INVALID("A dataset %s needs an inner dataset.", dataset->kind->name);
  if (dataset->spec.transform) TRY(dataset_check_function(dataset));
  dataset->n_components = dataset->spec.inner->n_components;
  return NULL;
}

static situ_status open(struct cursor *cursor) {
  struct interleave_cursor *self = (struct interleave_cursor *)cursor;
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

static void close_inner(struct interleave_cursor *self, struct inner *inner) {
  prefetch_stop(inner->prefetch);
  cursor_close(inner->cursor);
  shared_state_unbind(inner->binding);
  self->open -= inner->binding != NULL;
  *inner = (struct inner){0};
}

static void close(struct cursor *cursor) {
  struct interleave_cursor *self = (struct interleave_cursor *)cursor;
  for (int i = 0; self->inners && i < self->cycle; i++) close_inner(self, &self->inners[i]);
  free(self->inners);
  free(self->arguments);
}

/* Opens the inner dataset of the next element. */
static situ_status open_inner(struct interleave_cursor *self, struct inner *inner) {
  const situ_dataset_spec *spec = &self->head.dataset->spec;
  struct cursor *cursor = &self->head;
  const int n = spec->inputs[0]->n_components;
  const int n_arguments = spec->transform ? transform_outputs(spec->transform) : 0;
  TRY(cursor_pull(cursor, cursor->element, &self->ended));
  if (self->ended) return NULL;
  situ_status status =
      n_arguments ? transform_call(cursor, cursor->element, n, self->arguments) : NULL;
  cursor_release_tensors(cursor->element, n);
  if (!status) status = shared_state_bind(self->arguments, n_arguments, false, &inner->binding);
  cursor_release_tensors(self->arguments, n_arguments);
  if (status) return status;
  self->open++;
  status = cursor_open(spec->inner, inner->binding, cursor->iteration, &inner->cursor);
  status = transform_name_function(cursor, status);
  if (!status && spec->parallel)
    status = prefetch_start(&(struct prefetch_work){.source = inner->cursor,
                                                    .n_components = cursor->dataset->n_components,
                                                    .capacity = ROOM,
                                                    .threads = 1},
                            &inner->prefetch);
  if (status) close_inner(self, inner);
  return status;
}

static void next_turn(struct interleave_cursor *self) {
  self->at = (self->at + 1) % self->cycle;
  self->given = 0;
}

static situ_status next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct interleave_cursor *self = (struct interleave_cursor *)cursor;
  while (!self->ended || self->open) {
    struct inner *inner = &self->inners[self->at];
    if (!inner->binding && !self->ended) TRY(open_inner(self, inner));
    if (!inner->binding) {
      next_turn(self);
      continue;
    }
    bool over = false;
    TRY(inner->prefetch ? prefetch_pop(inner->prefetch, components, &over)
                        : cursor_next(inner->cursor, components, &over));
    if (over) {
      close_inner(self, inner);
      next_turn(self);
    } else {
      if (++self->given == self->block) next_turn(self);
      return NULL;
    }
  }
  *end = true;
  return NULL;
}

/* The functions of an endless input return datasets endlessly. */
static int64_t endless_or_unknown(const situ_dataset *dataset) {
  const int64_t n = situ_dataset_cardinality(dataset->spec.inputs[0]);
  return n == INFINITE_COUNT ? n : UNKNOWN_COUNT;
}

#define KIND(kind, count)                                                         \
  const struct data_kind kind_##kind = {.name = #kind,                            \
                                        .size = sizeof(struct interleave_cursor), \
                                        .n_inputs = 1,                            \
                                        .init = init,                             \
                                        .open = open,                             \
                                        .next = next,                             \
                                        .close = close,                           \
                                        .cardinality = count}
KIND(FlatMap, dataset_cardinality_unknown);
KIND(Interleave, endless_or_unknown);
