/* SPDX-License-Identifier: Apache-2.0
 * group_by_key.c: Group (group_by_window) and Distinct (unique). */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "data/data.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

/* Elements of input 0 begin with a key and the window size of that key. */
enum { LEADING = 2 };

struct group {
  int64_t key, size;
  situ_tensor **elements; /* n_components - LEADING each */
  int64_t n_elements, capacity;
};

struct group_cursor {
  struct cursor head;
  struct group *groups; /* incomplete groups, sorted by key */
  int64_t n_groups, capacity;
  bool ended;
};

static situ_status group_init(situ_dataset *dataset) {
  if (dataset->n_components <= LEADING)
    return INVALID(
        "Elements of a dataset Group must consist of a key, a size and components to group.");
  dataset->n_components = 2; /* the key and a dataset */
  return NULL;
}

static int element_size(const struct group_cursor *self) {
  return self->head.dataset->spec.inputs[0]->n_components - LEADING;
}

static void drop_group(struct group_cursor *self, int64_t at) {
  struct group *group = &self->groups[at];
  cursor_release_tensors(group->elements, (int)group->n_elements * element_size(self));
  free(group->elements);
  memmove(group, group + 1, sizeof *group * (size_t)(--self->n_groups - at));
}

static void group_close(struct cursor *cursor) {
  struct group_cursor *self = (struct group_cursor *)cursor;
  while (self->n_groups) drop_group(self, self->n_groups - 1);
  free(self->groups);
}

static situ_status read_scalar(situ_tensor *component, int64_t *out) {
  if (!situ_tensor_data(component) || situ_shape_count(component->shape) != 1)
    return INVALID("The key and the size of a group must be scalars.");
  *out = number_integer_at(component->type, situ_tensor_data(component), 0);
  return NULL;
}

/* Returns the index of the group with a key, or where to insert it (binary search). */
static int64_t find_index(const struct group_cursor *self, int64_t key) {
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

static situ_status insert_group(struct group_cursor *self, int64_t at, int64_t key, int64_t size) {
  if (size < 1)
    return INVALID("Window size must be greater than zero, but got %lld.", (long long)size);
  if (self->n_groups == self->capacity) {
    const int64_t capacity = self->capacity ? self->capacity * 2 : 16;
    struct group *groups = realloc(self->groups, sizeof *groups * (size_t)capacity);
    if (!groups) return NO_MEMORY();
    self->groups = groups;
    self->capacity = capacity;
  }
  struct group *group = &self->groups[at];
  memmove(group + 1, group, sizeof *group * (size_t)(self->n_groups++ - at));
  *group = (struct group){.key = key, .size = size};
  return NULL;
}

/* Moves an element into a group. */
static situ_status append_element(struct group *group, situ_tensor **element, int n) {
  if (group->n_elements == group->capacity) {
    const int64_t capacity = min_i64(group->size, group->capacity ? group->capacity * 2 : 8);
    situ_tensor **elements = realloc(group->elements, sizeof *elements * (size_t)(capacity * n));
    if (!elements) return NO_MEMORY();
    group->elements = elements;
    group->capacity = capacity;
  }
  memcpy(group->elements + group->n_elements++ * n, element, sizeof *element * (size_t)n);
  memset(element, 0, sizeof *element * (size_t)n);
  return NULL;
}

/* Moves the element of the cursor into its group; sets *at to the index of the group. */
static situ_status add_element(struct group_cursor *self, int64_t *at) {
  situ_tensor **element = self->head.element;
  int64_t key = 0, size = 0;
  TRY(read_scalar(element[0], &key));
  TRY(read_scalar(element[1], &size));
  *at = find_index(self, key);
  if (*at == self->n_groups || self->groups[*at].key != key)
    TRY(insert_group(self, *at, key, size));
  return append_element(&self->groups[*at], element + LEADING, element_size(self));
}

/* Removes a group and returns it as its key and a dataset. */
static situ_status pop_group(struct group_cursor *self, int64_t at, situ_tensor **components) {
  struct group *group = &self->groups[at];
  const int n = element_size(self);
  const int64_t count = group->n_elements * n;
  situ_param *params = calloc((size_t)count + 1, sizeof *params);
  if (!params) return NO_MEMORY();
  for (int64_t i = 0; i < count; i++) params[i].tensor = group->elements[i];
  situ_dataset *dataset = NULL;
  situ_status status = situ_dataset_create(
      "Elements", &(situ_dataset_spec){.params = params, .n_params = (int)count, .n_components = n},
      &dataset);
  if (!status) status = situ_tensor_create(SITU_INT64, SITU_SCALAR, &group->key, &components[0]);
  if (!status) status = situ_dataset_handle(dataset, &components[1]);
  situ_dataset_release(dataset);
  free(params);
  drop_group(self, at);
  if (status) cursor_release_tensors(components, 2);
  return status;
}

static situ_status group_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct group_cursor *self = (struct group_cursor *)cursor;
  while (!self->ended) {
    int64_t at = 0;
    TRY(cursor_pull(cursor, cursor->element, &self->ended));
    if (self->ended) break;
    const situ_status status = add_element(self, &at);
    cursor_release_tensors(cursor->element, cursor->dataset->spec.inputs[0]->n_components);
    if (status) return status;
    if (self->groups[at].n_elements == self->groups[at].size)
      return pop_group(self, at, components);
  }
  *end = !self->n_groups;
  return *end ? NULL : pop_group(self, 0, components);
}

const struct data_kind kind_Group = {.name = "Group",
                                     .size = sizeof(struct group_cursor),
                                     .n_inputs = 1,
                                     .init = group_init,
                                     .next = group_next,
                                     .close = group_close,
                                     .cardinality = dataset_cardinality_unknown};

/* ---- Distinct ---- */

struct seen {
  char *bytes; /* NULL: the slot is free */
  size_t length;
  uint64_t hash;
};

struct distinct_cursor {
  struct cursor head;
  struct seen *seen; /* hash table with linear probing; `capacity` is a power of 2 */
  size_t n_seen, capacity;
  struct strbuf text; /* the serialized current element */
};

static void distinct_close(struct cursor *cursor) {
  struct distinct_cursor *self = (struct distinct_cursor *)cursor;
  for (size_t i = 0; i < self->capacity; i++) free(self->seen[i].bytes);
  free(self->seen);
  strbuf_free(&self->text);
}

/* Serializes a component; equal components have equal bytes. */
static void serialize(struct strbuf *text, const situ_tensor *component) {
  const int64_t n = situ_shape_count(component->shape);
  strbuf_append_n(text, (const char *)&component->shape.rank, sizeof component->shape.rank);
  strbuf_append_n(text, (const char *)component->shape.dim,
                  sizeof *component->shape.dim * (size_t)component->shape.rank);
  if (component->type != SITU_STRING) {
    if (component->bytes) strbuf_append_n(text, situ_tensor_data(component), component->bytes);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const situ_string one = situ_tensor_string(component, i);
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

/* Returns the slot of an element, or the free slot for it. */
static struct seen *find_slot(struct seen *seen, size_t capacity, uint64_t hash, const char *bytes,
                              size_t length) {
  size_t at = hash & (capacity - 1);
  while (seen[at].bytes && (seen[at].hash != hash || seen[at].length != length ||
                            memcmp(seen[at].bytes, bytes, length) != 0))
    at = (at + 1) & (capacity - 1);
  return &seen[at];
}

static situ_status grow_table(struct distinct_cursor *self) {
  const size_t capacity = self->capacity ? self->capacity * 2 : 64;
  struct seen *seen = calloc(capacity, sizeof *seen);
  if (!seen) return NO_MEMORY();
  for (size_t i = 0; i < self->capacity; i++) {
    const struct seen *old = &self->seen[i];
    if (old->bytes) *find_slot(seen, capacity, old->hash, old->bytes, old->length) = *old;
  }
  free(self->seen);
  self->seen = seen;
  self->capacity = capacity;
  return NULL;
}

static situ_status insert_if_new(struct distinct_cursor *self, situ_tensor **components,
                                 bool *fresh) {
  struct strbuf *text = &self->text;
  if (self->n_seen * 2 >= self->capacity) TRY(grow_table(self));
  text->length = 0;
  for (int i = 0; i < self->head.dataset->n_components; i++) {
    TRY(component_to_host(&components[i]));
    serialize(text, components[i]);
  }
  if (text->failed) return NO_MEMORY();
  const uint64_t hash = hash_of(text);
  struct seen *seen = find_slot(self->seen, self->capacity, hash, text->data, text->length);
  *fresh = !seen->bytes;
  if (!*fresh) return NULL;
  char *bytes = malloc(text->length + 1);
  if (!bytes) return NO_MEMORY();
  memcpy(bytes, text->data, text->length);
  *seen = (struct seen){bytes, text->length, hash};
  self->n_seen++;
  return NULL;
}

static situ_status distinct_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct distinct_cursor *self = (struct distinct_cursor *)cursor;
  for (bool fresh = false; !fresh;) {
    TRY(cursor_pull(cursor, components, end));
    if (*end) return NULL;
    const situ_status status = insert_if_new(self, components, &fresh);
    if (status || !fresh) cursor_release_tensors(components, cursor->dataset->n_components);
    if (status) return status;
  }
  return NULL;
}

const struct data_kind kind_Distinct = {.name = "Distinct",
                                        .size = sizeof(struct distinct_cursor),
                                        .n_inputs = 1,
                                        .next = distinct_next,
                                        .close = distinct_close,
                                        .cardinality = dataset_cardinality_unknown};
