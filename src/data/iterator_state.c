/* SPDX-License-Identifier: Apache-2.0
 * iterator_state.c: saves and restores the position of an iterator. The state is the number of
 * elements requested so far and the seeds of the datasets; restoring starts with the same seeds
 * and discards as many elements. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "data/data.h"
#include "data/rng.h"
#include "tensor/tensor.h"

/* A state is a vector of int64: HEAD values, then WORDS per seed record. */
enum { FORMAT = 1, HEAD = 4, WORDS = 4 };

struct seed_record *iterator_state_seeds(struct iteration *iteration, const situ_dataset *dataset) {
  struct seed_record *record = iteration->seed_records;
  while (record && record->dataset != dataset) record = record->next;
  if (!record && (record = calloc(1, sizeof *record))) {
    record->dataset = dataset;
    record->next = iteration->seed_records;
    iteration->seed_records = record;
  }
  return record;
}

void iterator_state_clear(struct iteration *iteration) {
  transform_release_sessions(iteration);
  while (iteration->seed_records) {
    struct seed_record *record = iteration->seed_records;
    iteration->seed_records = record->next;
    free(record);
  }
}

/* Finds a dataset by its preorder index below the root, or the index of a dataset. */
struct search {
  const situ_dataset *wanted;
  int64_t number, at;
  const situ_dataset *found;
};

static void visit(const situ_dataset *dataset, struct search *search) {
  if (!dataset || search->found) return;
  if (dataset == search->wanted || (!search->wanted && search->at == search->number)) {
    search->found = dataset;
    return;
  }
  search->at++;
  for (int i = 0; i < dataset->spec.n_inputs; i++) visit(dataset->spec.inputs[i], search);
  visit(dataset->spec.inner, search);
}

/* Returns the index of a dataset below the root, or -1. */
static int64_t index_of(const situ_dataset *root, const situ_dataset *dataset) {
  struct search search = {.wanted = dataset};
  visit(root, &search);
  return search.found ? search.at : -1;
}

/* Returns the first op of the functions of datasets that depends on outer state, or NULL. */
static const struct op_def *outer_state(const situ_dataset *dataset) {
  const struct op_def *found = NULL;
  if (!dataset) return NULL;
  for (int i = 0; i < dataset->spec.n_inputs && !found; i++)
    found = outer_state(dataset->spec.inputs[i]);
  if (!found && dataset->spec.transform) found = transform_outer_state(dataset->spec.transform);
  return found ? found : outer_state(dataset->spec.inner);
}

situ_status iterator_state_check(const situ_dataset *root, enum state_policy policy) {
  const struct op_def *op = policy == STATE_IGNORE ? NULL : outer_state(root);
  if (op && policy == STATE_FAIL)
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "The position of an iterator cannot be saved: %s is stateful. The "
                              "option experimental_external_state_policy of the dataset allows it.",
                              op->name);
  if (op) log_warn("Saving the position of an iterator ignores the state of %s.", op->name);
  return NULL;
}

static situ_status serialize(const struct iteration *iteration, const situ_dataset *root,
                             struct iterator_position position, situ_tensor **out) {
  int64_t n = 0;
  for (const struct seed_record *record = iteration->seed_records; record; record = record->next)
    n++;
  int64_t *state = calloc((size_t)(HEAD + n * WORDS), sizeof *state);
  if (!state) return NO_MEMORY();
  int64_t at = HEAD;
  for (const struct seed_record *record = iteration->seed_records; record; record = record->next) {
    const int64_t number = index_of(root, record->dataset);
    if (number < 0 || !record->known) continue; /* in a window, or seeds from arguments */
    const int64_t words[WORDS] = {number, record->seed, record->seed2, record->drawn};
    memcpy(state + at, words, sizeof words);
    at += WORDS;
  }
  const int64_t head[HEAD] = {FORMAT, position.n_requested, position.failed, (at - HEAD) / WORDS};
  memcpy(state, head, sizeof head);
  const situ_status status = situ_tensor_create(SITU_INT64, SITU_SHAPE(at), state, out);
  free(state);
  return status;
}

/* Records the seeds of all random datasets. */
static situ_status record_all_seeds(struct iteration *iteration, situ_dataset *dataset,
                                    bool share_state) {
  if (!dataset) return NULL;
  if (dataset->kind->seeds) TRY(rng_record_seeds(iteration, dataset, share_state));
  for (int i = 0; i < dataset->spec.n_inputs; i++)
    TRY(record_all_seeds(iteration, dataset->spec.inputs[i], share_state));
  return record_all_seeds(iteration, dataset->spec.inner, false);
}

situ_status iterator_state_save(struct iteration *iteration, situ_dataset *root, bool share_state,
                                struct iterator_position position, situ_tensor **out) {
  TRY(record_all_seeds(iteration, root, share_state));
  pthread_mutex_lock(&iteration->lock);
  const situ_status status = serialize(iteration, root, position, out);
  pthread_mutex_unlock(&iteration->lock);
  return status;
}

situ_status iterator_state_load(struct iteration *iteration, const situ_dataset *root,
                                const situ_tensor *saved, struct iterator_position *position) {
  const int64_t n = situ_shape_count(saved->shape), *state = situ_tensor_data(saved);
  if (saved->type != SITU_INT64 || !state || n < HEAD || state[0] != FORMAT || state[3] < 0 ||
      n != HEAD + state[3] * WORDS || state[1] < 0)
    return INVALID("Not a saved iterator state.");
  *position = (struct iterator_position){.n_requested = state[1], .failed = state[2] != 0};
  for (const int64_t *words = state + HEAD; words < state + n; words += WORDS) {
    struct search search = {.number = words[0]};
    visit(root, &search);
    if (!search.found)
      return INVALID("This state was saved by an iterator over a different dataset.");
    struct seed_record *record = iterator_state_seeds(iteration, search.found);
    if (!record) return NO_MEMORY();
    record->seed = words[1];
    record->seed2 = words[2];
    record->drawn = words[3];
    record->restored = record->known = true;
  }
  return NULL;
}

/* Discards elements, some of which fail again. */
static situ_status discard_with_errors(struct cursor *cursor, int64_t n, situ_tensor **components) {
  bool end = false;
  for (int64_t i = 0; i < n && !end; i++) {
    const situ_status status = cursor_next(cursor, components, &end);
    if (status && situ_status_code(status) == SITU_CANCELLED) return status;
    situ_status_release(status);
    cursor_release_tensors(components, cursor->dataset->n_components);
  }
  return NULL;
}

situ_status iterator_state_resume(struct cursor *cursor, struct iterator_position position) {
  if (!position.failed) return cursor_skip(cursor, position.n_requested);
  situ_tensor **components =
      calloc((size_t)cursor->dataset->n_components + 1, sizeof(situ_tensor *));
  if (!components) return NO_MEMORY();
  const situ_status status = discard_with_errors(cursor, position.n_requested, components);
  free(components);
  return status;
}
