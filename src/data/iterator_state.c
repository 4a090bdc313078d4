/* SPDX-License-Identifier: Apache-2.0
 * iterator_state.c: saves and restores the position of an iterator: how many elements were asked
 * for, and which seeds its data sets began with. Another one begins with these seeds, and passes
 * as many elements by. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "data/rng.h"
#include "tensor/tensor.h"

/* A state is a vector of int64: HEAD numbers, then WORDS for each mark. */
enum { FORMAT = 1, HEAD = 4, WORDS = 4 };

struct mark *iterator_state_mark(struct iteration *iteration, const situ_dataset *dataset) {
  struct mark *mark = iteration->marks;
  while (mark && mark->of != dataset) mark = mark->next;
  if (!mark && (mark = calloc(1, sizeof *mark))) {
    mark->of = dataset;
    mark->next = iteration->marks;
    iteration->marks = mark;
  }
  return mark;
}

void iterator_state_forget(struct iteration *iteration) {
  transform_forget(iteration);
  while (iteration->marks) {
    struct mark *mark = iteration->marks;
    iteration->marks = mark->next;
    free(mark);
  }
}

/* Numbers data sets in a fixed order; finds the one of a number, or the number of one. */
struct search {
  const situ_dataset *wanted;
  int64_t number, at;
  const situ_dataset *found;
};

static void look(const situ_dataset *dataset, struct search *search) {
  if (!dataset || search->found) return;
  if (dataset == search->wanted || (!search->wanted && search->at == search->number)) {
    search->found = dataset;
    return;
  }
  search->at++;
  for (int i = 0; i < dataset->spec.n_inputs; i++) look(dataset->spec.inputs[i], search);
  look(dataset->spec.inner, search);
}

/* The number of a data set in that of an iterator, or -1. */
static int64_t number_of(const situ_dataset *root, const situ_dataset *dataset) {
  struct search search = {.wanted = dataset};
  look(root, &search);
  return search.found ? search.at : -1;
}

static situ_status describe(const struct iteration *iteration, const situ_dataset *root,
                            struct stand stand, situ_tensor **out) {
  int64_t n = 0;
  for (const struct mark *mark = iteration->marks; mark; mark = mark->next) n++;
  int64_t *state = calloc((size_t)(HEAD + n * WORDS), sizeof *state);
  if (!state) return NO_MEMORY();
  int64_t at = HEAD;
  for (const struct mark *mark = iteration->marks; mark; mark = mark->next) {
    const int64_t number = number_of(root, mark->of);
    if (number < 0 || !mark->known) continue; /* of a window; of arguments */
    const int64_t words[WORDS] = {number, mark->seed, mark->seed2, mark->rolled};
    memcpy(state + at, words, sizeof words);
    at += WORDS;
  }
  const int64_t head[HEAD] = {FORMAT, stand.asked, stand.failed, (at - HEAD) / WORDS};
  memcpy(state, head, sizeof head);
  const situ_status status = situ_tensor_create(SITU_INT64, SITU_SHAPE(at), state, out);
  free(state);
  return status;
}

/* Marks all data sets that have seeds. */
static situ_status mark_all(struct iteration *iteration, situ_dataset *dataset, bool shares) {
  if (!dataset) return NULL;
  if (dataset->kind->seeds) TRY(rng_mark(iteration, dataset, shares));
  for (int i = 0; i < dataset->spec.n_inputs; i++)
    TRY(mark_all(iteration, dataset->spec.inputs[i], shares));
  return mark_all(iteration, dataset->spec.inner, false);
}

situ_status iterator_state_save(struct iteration *iteration, situ_dataset *root, bool shares,
                                struct stand stand, situ_tensor **out) {
  TRY(mark_all(iteration, root, shares));
  pthread_mutex_lock(&iteration->lock);
  const situ_status status = describe(iteration, root, stand, out);
  pthread_mutex_unlock(&iteration->lock);
  return status;
}

situ_status iterator_state_load(struct iteration *iteration, const situ_dataset *root,
                                const situ_tensor *saved, struct stand *stand) {
  const int64_t n = situ_shape_count(saved->shape), *state = situ_tensor_data(saved);
  if (saved->type != SITU_INT64 || !state || n < HEAD || state[0] != FORMAT || state[3] < 0 ||
      n != HEAD + state[3] * WORDS || state[1] < 0)
    return INVALID("This is no state of an iterator.");
  *stand = (struct stand){.asked = state[1], .failed = state[2] != 0};
  for (const int64_t *words = state + HEAD; words < state + n; words += WORDS) {
    struct search search = {.number = words[0]};
    look(root, &search);
    if (!search.found) return INVALID("This is the state of an iterator over another data set.");
    struct mark *mark = iterator_state_mark(iteration, search.found);
    if (!mark) return NO_MEMORY();
    mark->seed = words[1];
    mark->seed2 = words[2];
    mark->rolled = words[3];
    mark->given = mark->known = true;
  }
  return NULL;
}

/* Elements that failed did so again, and are passed by like the others. */
static situ_status pass_slowly(struct cursor *cursor, int64_t n, situ_tensor **parts) {
  bool end = false;
  for (int64_t i = 0; i < n && !end; i++) {
    const situ_status status = cursor_next(cursor, parts, &end);
    if (status && situ_status_code(status) == SITU_CANCELLED) return status;
    situ_status_release(status);
    cursor_drop(parts, cursor->dataset->n_parts);
  }
  return NULL;
}

situ_status iterator_state_resume(struct cursor *cursor, struct stand stand) {
  if (!stand.failed) return cursor_skip(cursor, stand.asked);
  situ_tensor **parts = calloc((size_t)cursor->dataset->n_parts + 1, sizeof(situ_tensor *));
  if (!parts) return NO_MEMORY();
  const situ_status status = pass_slowly(cursor, stand.asked, parts);
  free(parts);
  return status;
}
