/* SPDX-License-Identifier: Apache-2.0
 * concatenate_zip.c: data sets that choose from the elements of others: one after the other, side
 * by side, again, some of them. */
#include <stdio.h>
#include <stdlib.h>

#include "data/data.h"

static situ_status zip_make(situ_dataset *dataset) {
  dataset->n_parts = 0;
  for (int i = 0; i < dataset->spec.n_inputs; i++)
    dataset->n_parts += dataset->spec.inputs[i]->n_parts;
  return NULL;
}

/* Advances all inputs, also behind one that has ended or failed: they stay in step, and a cache
 * whose last element was read learns that it is complete. */
static situ_status zip_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  situ_status status = NULL;
  int at = 0;
  for (int i = 0; i < cursor->dataset->spec.n_inputs; i++) {
    bool ended = false;
    const situ_status failed = cursor_next(cursor->inputs[i], parts + at, &ended);
    if (!failed && !ended) at += cursor->inputs[i]->dataset->n_parts;
    if (status)
      situ_status_release(failed);
    else
      status = failed;
    *end = *end || ended;
  }
  if (status || *end) cursor_drop(parts, at);
  return status;
}

static int64_t zip_count(const situ_dataset *dataset) {
  int64_t least = UNENDING;
  for (int i = 0; i < dataset->spec.n_inputs; i++) {
    const int64_t count = situ_dataset_cardinality(dataset->spec.inputs[i]);
    if (count == UNKNOWN_COUNT) return UNKNOWN_COUNT;
    if (count != UNENDING && (least == UNENDING || count < least)) least = count;
  }
  return least;
}

const struct data_kind kind_Zip = {
    .name = "Zip", .n_inputs = 1, .make = zip_make, .next = zip_next, .count = zip_count};

/* One after the other */

struct counting {
  struct cursor head;
  int64_t at, limit, index;
};

static situ_status same_parts(situ_dataset *dataset) {
  for (int i = 1; i < dataset->spec.n_inputs; i++)
    if (dataset->spec.inputs[i]->n_parts != dataset->n_parts)
      return INVALID("Elements of %d and of %d parts cannot follow each other.", dataset->n_parts,
                     dataset->spec.inputs[i]->n_parts);
  return NULL;
}

static situ_status concatenate_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct counting *self = (struct counting *)cursor;
  for (*end = true; self->at < cursor->dataset->spec.n_inputs; self->at++) {
    if (!cursor->inputs[self->at]) TRY(cursor_begin(cursor, (int)self->at));
    TRY(cursor_next(cursor->inputs[self->at], parts, end));
    if (!*end) return NULL;
  }
  return NULL;
}

static int64_t concatenate_count(const situ_dataset *dataset) {
  int64_t sum = 0;
  bool unknown = false;
  for (int i = 0; i < dataset->spec.n_inputs; i++) {
    const int64_t count = situ_dataset_cardinality(dataset->spec.inputs[i]);
    if (count == UNENDING) return UNENDING;
    unknown = unknown || count < 0;
    sum += count;
  }
  return unknown ? UNKNOWN_COUNT : sum;
}

const struct data_kind kind_Concatenate = {.name = "Concatenate",
                                           .size = sizeof(struct counting),
                                           .n_inputs = 1,
                                           .make = same_parts,
                                           .next = concatenate_next,
                                           .count = concatenate_count,
                                           .lazy = true};

/* Again */

static situ_status count_open(struct cursor *cursor) {
  return cursor_number(cursor, 0, &((struct counting *)cursor)->limit);
}

static situ_status repeat_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct counting *self = (struct counting *)cursor;
  for (*end = true; self->limit < 0 || self->at < self->limit; self->at++) {
    const bool fresh = !cursor->inputs[0];
    if (fresh) TRY(cursor_begin(cursor, 0));
    TRY(cursor_pull(cursor, parts, end));
    if (!*end) return NULL;
    cursor_close(cursor->inputs[0]);
    cursor->inputs[0] = NULL;
    if (fresh && self->limit < 0) return NULL; /* nothing, for ever */
  }
  return NULL;
}

static int64_t repeat_count(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t times = dataset_number(dataset, 0, UNKNOWN_COUNT);
  if (!inner || !times) return 0;
  if (times == UNKNOWN_COUNT) return UNKNOWN_COUNT;
  if (times < 0) return UNENDING;
  return inner < 0 ? inner : inner * times;
}

const struct data_kind kind_Repeat = {.name = "Repeat",
                                      .size = sizeof(struct counting),
                                      .n_inputs = 1,
                                      .n_params = 1,
                                      .open = count_open,
                                      .next = repeat_next,
                                      .count = repeat_count,
                                      .lazy = true};

/* Some of them */

static situ_status take_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct counting *self = (struct counting *)cursor;
  *end = self->limit >= 0 && self->at >= self->limit;
  if (*end) return NULL;
  self->at++;
  return cursor_pull(cursor, parts, end);
}

static int64_t take_count(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t most = dataset_number(dataset, 0, UNKNOWN_COUNT);
  if (most == UNKNOWN_COUNT || inner == UNKNOWN_COUNT) return UNKNOWN_COUNT;
  if (most < 0) return inner;
  return inner == UNENDING ? most : min_i64(inner, most);
}

const struct data_kind kind_Take = {.name = "Take",
                                    .size = sizeof(struct counting),
                                    .n_inputs = 1,
                                    .n_params = 1,
                                    .open = count_open,
                                    .next = take_next,
                                    .count = take_count};

/* Passes elements by until `count` have been, or there are no more. */
static situ_status pass(struct cursor *cursor, int64_t count, bool *end) {
  for (int64_t i = 0; i < count && !*end; i++) {
    TRY(cursor_pull(cursor, cursor->row, end));
    if (!*end) cursor_drop(cursor->row, cursor->dataset->n_parts);
  }
  return NULL;
}

static situ_status skip_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct counting *self = (struct counting *)cursor;
  *end = self->limit < 0;
  const int64_t rest = self->limit - self->at;
  self->at = self->limit;
  TRY(pass(cursor, rest, end));
  return *end ? NULL : cursor_pull(cursor, parts, end);
}

static int64_t skip_count(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t skipped = dataset_number(dataset, 0, UNKNOWN_COUNT);
  if (skipped == UNKNOWN_COUNT) return UNKNOWN_COUNT;
  if (skipped < 0) return 0;
  return inner < 0 ? inner : max_i64(0, inner - skipped);
}

const struct data_kind kind_Skip = {.name = "Skip",
                                    .size = sizeof(struct counting),
                                    .n_inputs = 1,
                                    .n_params = 1,
                                    .open = count_open,
                                    .next = skip_next,
                                    .count = skip_count};

static situ_status shard_open(struct cursor *cursor) {
  struct counting *self = (struct counting *)cursor;
  TRY(cursor_number(cursor, 0, &self->limit));
  TRY(cursor_number(cursor, 1, &self->index));
  if (self->limit < 1)
    return INVALID("Number of shards must be greater than zero (currently num_shards = %lld).",
                   (long long)self->limit);
  if (self->index >= 0 && self->index < self->limit) return NULL;
  return INVALID("Index must be between 0 and %lld (currently index = %lld).",
                 (long long)self->limit - 1, (long long)self->index);
}

static situ_status shard_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct counting *self = (struct counting *)cursor;
  TRY(pass(cursor, self->at++ ? self->limit - 1 : self->index, end));
  return *end ? NULL : cursor_pull(cursor, parts, end);
}

static int64_t shard_count(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t shards = dataset_number(dataset, 0, 0), index = dataset_number(dataset, 1, -1);
  if (inner < 0) return inner;
  if (shards < 1 || index < 0) return UNKNOWN_COUNT;
  return inner / shards + (index < inner % shards);
}

const struct data_kind kind_Shard = {.name = "Shard",
                                     .size = sizeof(struct counting),
                                     .n_inputs = 1,
                                     .n_params = 2,
                                     .open = shard_open,
                                     .next = shard_next,
                                     .count = shard_count};

/* As many as somebody said */

static situ_status wrong_count(const struct counting *self, const char *found, int64_t count) {
  char want[32] = "an infinite number of";
  if (self->limit >= 0) snprintf(want, sizeof want, "%lld", (long long)self->limit);
  return situ_status_create(SITU_FAILED_PRECONDITION,
                            "Input dataset was expected to contain %s elements but contained %s "
                            "%lld elements.",
                            want, found, (long long)count);
}

static situ_status assert_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct counting *self = (struct counting *)cursor;
  TRY(cursor_pull(cursor, parts, end));
  if (self->limit == UNKNOWN_COUNT) return NULL;
  if (*end) return self->at == self->limit ? NULL : wrong_count(self, "only", self->at);
  if (self->limit == UNENDING || self->at++ < self->limit) return NULL;
  cursor_drop(parts, cursor->dataset->n_parts);
  return wrong_count(self, "at least", self->at);
}

static int64_t assert_count(const situ_dataset *dataset) {
  return dataset_number(dataset, 0, UNKNOWN_COUNT);
}

const struct data_kind kind_AssertCardinality = {.name = "AssertCardinality",
                                                 .size = sizeof(struct counting),
                                                 .n_inputs = 1,
                                                 .n_params = 1,
                                                 .open = count_open,
                                                 .next = assert_next,
                                                 .count = assert_count};
