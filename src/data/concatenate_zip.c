/* SPDX-License-Identifier: Apache-2.0
 * concatenate_zip.c: Zip, Concatenate, Repeat, Take, Skip, Shard and AssertCardinality. */
#include <stdio.h>
#include <stdlib.h>

#include "data/data.h"

static situ_status zip_init(situ_dataset *dataset) {
  dataset->n_components = 0;
  for (int i = 0; i < dataset->spec.n_inputs; i++)
    dataset->n_components += dataset->spec.inputs[i]->n_components;
  return NULL;
}

/* Advances all inputs, even after one has ended or failed: they stay in step, and a cache whose
 * last element was read becomes complete. */
static situ_status zip_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  situ_status status = NULL;
  int at = 0;
  for (int i = 0; i < cursor->dataset->spec.n_inputs; i++) {
    bool ended = false;
    const situ_status failed = cursor_next(cursor->inputs[i], components + at, &ended);
    if (!failed && !ended) at += cursor->inputs[i]->dataset->n_components;
    if (status)
      situ_status_release(failed);
    else
      status = failed;
    *end = *end || ended;
  }
  if (status || *end) cursor_release_tensors(components, at);
  return status;
}

static int64_t zip_cardinality(const situ_dataset *dataset) {
  int64_t least = INFINITE_COUNT;
  for (int i = 0; i < dataset->spec.n_inputs; i++) {
    const int64_t count = situ_dataset_cardinality(dataset->spec.inputs[i]);
    if (count == UNKNOWN_COUNT) return UNKNOWN_COUNT;
    if (count != INFINITE_COUNT && (least == INFINITE_COUNT || count < least)) least = count;
  }
  return least;
}

const struct data_kind kind_Zip = {.name = "Zip",
                                   .n_inputs = 1,
                                   .init = zip_init,
                                   .next = zip_next,
                                   .cardinality = zip_cardinality};

/* ---- Concatenate ---- */

struct count_cursor {
  struct cursor head;
  int64_t at, limit, index;
};

static situ_status check_components(situ_dataset *dataset) {
  for (int i = 1; i < dataset->spec.n_inputs; i++)
    if (dataset->spec.inputs[i]->n_components != dataset->n_components)
      return INVALID("Cannot concatenate datasets with elements of %d and %d components.",
                     dataset->n_components, dataset->spec.inputs[i]->n_components);
  return NULL;
}

static situ_status concatenate_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct count_cursor *self = (struct count_cursor *)cursor;
  for (*end = true; self->at < cursor->dataset->spec.n_inputs; self->at++) {
    if (!cursor->inputs[self->at]) TRY(cursor_open_input(cursor, (int)self->at));
    TRY(cursor_next(cursor->inputs[self->at], components, end));
    if (!*end) return NULL;
  }
  return NULL;
}

static int64_t concatenate_cardinality(const situ_dataset *dataset) {
  int64_t sum = 0;
  bool unknown = false;
  for (int i = 0; i < dataset->spec.n_inputs; i++) {
    const int64_t count = situ_dataset_cardinality(dataset->spec.inputs[i]);
    if (count == INFINITE_COUNT) return INFINITE_COUNT;
    unknown = unknown || count < 0;
    sum += count;
  }
  return unknown ? UNKNOWN_COUNT : sum;
}

const struct data_kind kind_Concatenate = {.name = "Concatenate",
                                           .size = sizeof(struct count_cursor),
                                           .n_inputs = 1,
                                           .init = check_components,
                                           .next = concatenate_next,
                                           .cardinality = concatenate_cardinality,
                                           .lazy = true};

/* ---- Repeat ---- */

static situ_status count_open(struct cursor *cursor) {
  return cursor_int_param(cursor, 0, &((struct count_cursor *)cursor)->limit);
}

static situ_status repeat_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct count_cursor *self = (struct count_cursor *)cursor;
  for (*end = true; self->limit < 0 || self->at < self->limit; self->at++) {
    const bool fresh = !cursor->inputs[0];
    if (fresh) TRY(cursor_open_input(cursor, 0));
    TRY(cursor_pull(cursor, components, end));
    if (!*end) return NULL;
    cursor_close(cursor->inputs[0]);
    cursor->inputs[0] = NULL;
    if (fresh && self->limit < 0) return NULL; /* repeating an empty dataset forever */
  }
  return NULL;
}

static int64_t repeat_cardinality(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t times = dataset_int_param(dataset, 0, UNKNOWN_COUNT);
  if (!inner || !times) return 0;
  if (times == UNKNOWN_COUNT) return UNKNOWN_COUNT;
  if (times < 0) return INFINITE_COUNT;
  return inner < 0 ? inner : inner * times;
}

const struct data_kind kind_Repeat = {.name = "Repeat",
                                      .size = sizeof(struct count_cursor),
                                      .n_inputs = 1,
                                      .n_params = 1,
                                      .open = count_open,
                                      .next = repeat_next,
                                      .cardinality = repeat_cardinality,
                                      .lazy = true};

/* ---- Take, Skip, Shard ---- */

static situ_status take_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct count_cursor *self = (struct count_cursor *)cursor;
  *end = self->limit >= 0 && self->at >= self->limit;
  if (*end) return NULL;
  self->at++;
  return cursor_pull(cursor, components, end);
}

static int64_t take_cardinality(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t most = dataset_int_param(dataset, 0, UNKNOWN_COUNT);
  if (most == UNKNOWN_COUNT || inner == UNKNOWN_COUNT) return UNKNOWN_COUNT;
  if (most < 0) return inner;
  return inner == INFINITE_COUNT ? most : min_i64(inner, most);
}

const struct data_kind kind_Take = {.name = "Take",
                                    .size = sizeof(struct count_cursor),
                                    .n_inputs = 1,
                                    .n_params = 1,
                                    .open = count_open,
                                    .next = take_next,
                                    .cardinality = take_cardinality};

/* Discards up to `count` elements. */
static situ_status pass(struct cursor *cursor, int64_t count, bool *end) {
  for (int64_t i = 0; i < count && !*end; i++) {
    TRY(cursor_pull(cursor, cursor->element, end));
    if (!*end) cursor_release_tensors(cursor->element, cursor->dataset->n_components);
  }
  return NULL;
}

static situ_status skip_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct count_cursor *self = (struct count_cursor *)cursor;
  *end = self->limit < 0;
  const int64_t rest = self->limit - self->at;
  self->at = self->limit;
  TRY(pass(cursor, rest, end));
  return *end ? NULL : cursor_pull(cursor, components, end);
}

static int64_t skip_cardinality(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t skipped = dataset_int_param(dataset, 0, UNKNOWN_COUNT);
  if (skipped == UNKNOWN_COUNT) return UNKNOWN_COUNT;
  if (skipped < 0) return 0;
  return inner < 0 ? inner : max_i64(0, inner - skipped);
}

const struct data_kind kind_Skip = {.name = "Skip",
                                    .size = sizeof(struct count_cursor),
                                    .n_inputs = 1,
                                    .n_params = 1,
                                    .open = count_open,
                                    .next = skip_next,
                                    .cardinality = skip_cardinality};

static situ_status shard_open(struct cursor *cursor) {
  struct count_cursor *self = (struct count_cursor *)cursor;
  TRY(cursor_int_param(cursor, 0, &self->limit));
  TRY(cursor_int_param(cursor, 1, &self->index));
  if (self->limit < 1)
    return INVALID("Number of shards must be greater than zero (currently num_shards = %lld).",
                   (long long)self->limit);
  if (self->index >= 0 && self->index < self->limit) return NULL;
  return INVALID("Index must be between 0 and %lld (currently index = %lld).",
                 (long long)self->limit - 1, (long long)self->index);
}

static situ_status shard_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct count_cursor *self = (struct count_cursor *)cursor;
  TRY(pass(cursor, self->at++ ? self->limit - 1 : self->index, end));
  return *end ? NULL : cursor_pull(cursor, components, end);
}

static int64_t shard_cardinality(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t shards = dataset_int_param(dataset, 0, 0),
                index = dataset_int_param(dataset, 1, -1);
  if (inner < 0) return inner;
  if (shards < 1 || index < 0) return UNKNOWN_COUNT;
  return inner / shards + (index < inner % shards);
}

const struct data_kind kind_Shard = {.name = "Shard",
                                     .size = sizeof(struct count_cursor),
                                     .n_inputs = 1,
                                     .n_params = 2,
                                     .open = shard_open,
                                     .next = shard_next,
                                     .cardinality = shard_cardinality};

/* ---- AssertCardinality ---- */

static situ_status wrong_count(const struct count_cursor *self, const char *found, int64_t count) {
  char want[32] = "an infinite number of";
  if (self->limit >= 0) snprintf(want, sizeof want, "%lld", (long long)self->limit);
  return situ_status_create(SITU_FAILED_PRECONDITION,
                            "Input dataset was expected to contain %s elements but contained %s "
                            "%lld elements.",
                            want, found, (long long)count);
}

static situ_status assert_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct count_cursor *self = (struct count_cursor *)cursor;
  TRY(cursor_pull(cursor, components, end));
  if (self->limit == UNKNOWN_COUNT) return NULL;
  if (*end) return self->at == self->limit ? NULL : wrong_count(self, "only", self->at);
  if (self->limit == INFINITE_COUNT || self->at++ < self->limit) return NULL;
  cursor_release_tensors(components, cursor->dataset->n_components);
  return wrong_count(self, "at least", self->at);
}

static int64_t assert_cardinality(const situ_dataset *dataset) {
  return dataset_int_param(dataset, 0, UNKNOWN_COUNT);
}

const struct data_kind kind_AssertCardinality = {.name = "AssertCardinality",
                                                 .size = sizeof(struct count_cursor),
                                                 .n_inputs = 1,
                                                 .n_params = 1,
                                                 .open = count_open,
                                                 .next = assert_next,
                                                 .cardinality = assert_cardinality};
