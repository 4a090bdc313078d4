/* SPDX-License-Identifier: Apache-2.0
 * group_by_key.c: elements that have something in common: those with one key become a data set,
 * those that are alike one element. */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "data/data.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

/* Elements of input 0 begin with a key and with how many elements of that key are a group. */
enum { LEADING = 2 };

struct group {
  int64_t key, size;
  situ_tensor **rows; /* n_parts - LEADING each */
  int64_t n_rows, room;
};

struct grouping {
  struct cursor head;
  struct group *groups; /* those under way, by key */
  int64_t n_groups, room;
  bool ended;
};

static situ_status group_make(situ_dataset *dataset) {
  if (dataset->n_parts <= LEADING)
    return INVALID("Elements of a data set Group need a key, a size and something to be grouped.");
  dataset->n_parts = 2; /* the key, and a data set */
  return NULL;
}

static int row_size(const struct grouping *self) {
  return self->head.dataset->spec.inputs[0]->n_parts - LEADING;
}

static void forget(struct grouping *self, int64_t at) {
  struct group *group = &self->groups[at];
  cursor_drop(group->rows, (int)group->n_rows * row_size(self));
  free(group->rows);
  memmove(group, group + 1, sizeof *group * (size_t)(--self->n_groups - at));
}

static void group_close(struct cursor *cursor) {
  struct grouping *self = (struct grouping *)cursor;
  while (self->n_groups) forget(self, self->n_groups - 1);
  free(self->groups);
}

static situ_status leading(situ_tensor *part, int64_t *out) {
  if (!situ_tensor_data(part) || situ_shape_count(part->shape) != 1)
    return INVALID("The key and the size of a group must be scalars.");
  *out = number_integer_at(part->type, situ_tensor_data(part), 0);
  return NULL;
}

/* Where the group of a key is, or has to be. */
static int64_t place_of(const struct grouping *self, int64_t key) {
  int64_t low = 0, high = self->n_groups;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (self->groups[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static situ_status insert(struct grouping *self, int64_t at, int64_t key, int64_t size) {
  if (size < 1)
    return INVALID("Window size must be greater than zero, but got %lld.", (long long)size);
  if (self->n_groups == self->room) {
    const int64_t room = self->room ? self->room * 2 : 16;
    struct group *groups = realloc(self->groups, sizeof *groups * (size_t)room);
    if (!groups) return NO_MEMORY();
    self->groups = groups;
    self->room = room;
  }
  struct group *group = &self->groups[at];
  memmove(group + 1, group, sizeof *group * (size_t)(self->n_groups++ - at));
  *group = (struct group){.key = key, .size = size};
  return NULL;
}

/* Takes over the parts of a row. */
static situ_status append(struct group *group, situ_tensor **row, int n) {
  if (group->n_rows == group->room) {
    const int64_t room = min_i64(group->size, group->room ? group->room * 2 : 8);
    situ_tensor **rows = realloc(group->rows, sizeof *rows * (size_t)(room * n));
    if (!rows) return NO_MEMORY();
    group->rows = rows;
    group->room = room;
  }
  memcpy(group->rows + group->n_rows++ * n, row, sizeof *row * (size_t)n);
  memset(row, 0, sizeof *row * (size_t)n);
  return NULL;
}

/* Puts the element in the cursor's row where it belongs. */
static situ_status put(struct grouping *self, int64_t *at) {
  situ_tensor **row = self->head.row;
  int64_t key = 0, size = 0;
  TRY(leading(row[0], &key));
  TRY(leading(row[1], &size));
  *at = place_of(self, key);
  if (*at == self->n_groups || self->groups[*at].key != key) TRY(insert(self, *at, key, size));
  return append(&self->groups[*at], row + LEADING, row_size(self));
}

/* A group as its key and a data set; then it is gone. */
static situ_status give(struct grouping *self, int64_t at, situ_tensor **parts) {
  struct group *group = &self->groups[at];
  const int n = row_size(self);
  const int64_t count = group->n_rows * n;
  situ_param *params = calloc((size_t)count + 1, sizeof *params);
  if (!params) return NO_MEMORY();
  for (int64_t i = 0; i < count; i++) params[i].tensor = group->rows[i];
  situ_dataset *dataset = NULL;
  situ_status status = situ_dataset_create(
      "Rows", &(situ_dataset_spec){.params = params, .n_params = (int)count, .n_parts = n},
      &dataset);
  if (!status) status = situ_tensor_create(SITU_INT64, SITU_SCALAR, &group->key, &parts[0]);
  if (!status) status = situ_dataset_handle(dataset, &parts[1]);
  situ_dataset_release(dataset);
  free(params);
  forget(self, at);
  if (status) cursor_drop(parts, 2);
  return status;
}

static situ_status group_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct grouping *self = (struct grouping *)cursor;
  while (!self->ended) {
    int64_t at = 0;
    TRY(cursor_pull(cursor, cursor->row, &self->ended));
    if (self->ended) break;
    const situ_status status = put(self, &at);
    cursor_drop(cursor->row, cursor->dataset->spec.inputs[0]->n_parts);
    if (status) return status;
    if (self->groups[at].n_rows == self->groups[at].size) return give(self, at, parts);
  }
  *end = !self->n_groups;
  return *end ? NULL : give(self, 0, parts);
}

const struct data_kind kind_Group = {.name = "Group",
                                     .size = sizeof(struct grouping),
                                     .n_inputs = 1,
                                     .make = group_make,
                                     .next = group_next,
                                     .close = group_close,
                                     .count = dataset_count_unknown};

/* Each element once */

struct seen {
  char *bytes; /* NULL: nothing is here */
  size_t length;
  uint64_t hash;
};

struct sifting {
  struct cursor head;
  struct seen *seen; /* at its hash, or behind; `room` is a power of 2 */
  size_t n_seen, room;
  struct strbuf text; /* of the element at hand */
};

static void distinct_close(struct cursor *cursor) {
  struct sifting *self = (struct sifting *)cursor;
  for (size_t i = 0; i < self->room; i++) free(self->seen[i].bytes);
  free(self->seen);
  strbuf_free(&self->text);
}

/* An element as bytes, which are the same for those that are alike. */
static void describe(struct strbuf *text, const situ_tensor *part) {
  const int64_t n = situ_shape_count(part->shape);
  strbuf_append_n(text, (const char *)&part->shape.rank, sizeof part->shape.rank);
  strbuf_append_n(text, (const char *)part->shape.dim,
                  sizeof *part->shape.dim * (size_t)part->shape.rank);
  if (part->type != SITU_STRING) {
    if (part->bytes) strbuf_append_n(text, situ_tensor_data(part), part->bytes);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const situ_string one = situ_tensor_string(part, i);
    strbuf_append_n(text, (const char *)&one.length, sizeof one.length);
    strbuf_append_n(text, one.data, one.length);
  }
}

static uint64_t hash_of(const struct strbuf *text) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < text->length; i++)
    hash = (hash ^ (unsigned char)text->data[i]) * 1099511628211u;
  return hash;
}

/* Where an element is, or where it has to go. */
static struct seen *spot(struct seen *seen, size_t room, uint64_t hash, const char *bytes,
                         size_t length) {
  size_t at = hash & (room - 1);
  while (seen[at].bytes && (seen[at].hash != hash || seen[at].length != length ||
                            memcmp(seen[at].bytes, bytes, length) != 0))
    at = (at + 1) & (room - 1);
  return &seen[at];
}

static situ_status more_room(struct sifting *self) {
  const size_t room = self->room ? self->room * 2 : 64;
  struct seen *seen = calloc(room, sizeof *seen);
  if (!seen) return NO_MEMORY();
  for (size_t i = 0; i < self->room; i++) {
    const struct seen *old = &self->seen[i];
    if (old->bytes) *spot(seen, room, old->hash, old->bytes, old->length) = *old;
  }
  free(self->seen);
  self->seen = seen;
  self->room = room;
  return NULL;
}

static situ_status sift(struct sifting *self, situ_tensor **parts, bool *fresh) {
  struct strbuf *text = &self->text;
  if (self->n_seen * 2 >= self->room) TRY(more_room(self));
  text->length = 0;
  for (int i = 0; i < self->head.dataset->n_parts; i++) {
    TRY(component_to_host(&parts[i]));
    describe(text, parts[i]);
  }
  if (text->failed) return NO_MEMORY();
  const uint64_t hash = hash_of(text);
  struct seen *seen = spot(self->seen, self->room, hash, text->data, text->length);
  *fresh = !seen->bytes;
  if (!*fresh) return NULL;
  char *bytes = malloc(text->length + 1);
  if (!bytes) return NO_MEMORY();
  memcpy(bytes, text->data, text->length);
  *seen = (struct seen){bytes, text->length, hash};
  self->n_seen++;
  return NULL;
}

static situ_status distinct_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct sifting *self = (struct sifting *)cursor;
  for (bool fresh = false; !fresh;) {
    TRY(cursor_pull(cursor, parts, end));
    if (*end) return NULL;
    const situ_status status = sift(self, parts, &fresh);
    if (status || !fresh) cursor_drop(parts, cursor->dataset->n_parts);
    if (status) return status;
  }
  return NULL;
}

const struct data_kind kind_Distinct = {.name = "Distinct",
                                        .size = sizeof(struct sifting),
                                        .n_inputs = 1,
                                        .next = distinct_next,
                                        .close = distinct_close,
                                        .count = dataset_count_unknown};
