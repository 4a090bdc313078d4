/* SPDX-License-Identifier: Apache-2.0
 * merge.c: merges and compares messages, and finds the entries of maps. */
#include <stdlib.h>
#include <string.h>

#include "proto/message.h"

/* ---- Maps ---- */

static int compare_bytes(const struct proto_bytes *a, const struct proto_bytes *b) {
  const size_t common = a->length < b->length ? a->length : b->length;
  const int order = memcmp(a->data, b->data, common);
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* The order of two keys; a key that is not set is "" or 0. */
static int compare_entries(const void *left, const void *right) {
  const situ_message *a = (*(const struct proto_value *const *)left)->message;
  const situ_message *b = (*(const struct proto_value *const *)right)->message;
  const situ_field *field = &a->type->fields[0];
  const struct proto_value *x = proto_slot(a, field), *y = proto_slot(b, field);
  if (!x || !y) return (x != NULL) - (y != NULL);
  if (proto_is_bytes(field)) return compare_bytes(x->bytes, y->bytes);
  return (x->integer > y->integer) - (x->integer < y->integer);
}

const struct proto_value **proto_sorted_entries(const struct proto_list *list) {
  const struct proto_value **sorted = malloc(sizeof(void *) * (list->count + 1));
  if (!sorted) return NULL;
  for (size_t i = 0; i < list->count; i++) sorted[i] = &list->items[i];
  qsort((void *)sorted, list->count, sizeof *sorted, compare_entries);
  return sorted;
}

static bool has_key(const situ_message *entry, situ_field_value key) {
  const situ_field *field = &entry->type->fields[0];
  const situ_field_value own = situ_message_get(entry, field, 0);
  if (!proto_is_bytes(field)) return own.integer == key.integer;
  return own.bytes.length == key.bytes.length &&
         !memcmp(own.bytes.data, key.bytes.data, key.bytes.length);
}

int64_t situ_message_find(const situ_message *message, const situ_field *field,
                          situ_field_value key) {
  const struct proto_value *slot = proto_slot(message, field);
  for (size_t i = 0; slot && i < slot->list->count; i++)
    if (has_key(slot->list->items[i].message, key)) return (int64_t)i;
  return -1;
}

bool proto_complete_entry(situ_message *entry) {
  for (int i = 0; i < 2; i++) {
    const situ_field *field = &entry->type->fields[i];
    struct proto_value *value = proto_slot(entry, field);
    if (value) continue;
    value = proto_add(entry, field);
    if (value && proto_is_bytes(field)) value->bytes = proto_copy_bytes(entry, "", 0);
    if (!value || (proto_is_bytes(field) && !value->bytes)) return false;
    value->offset = entry->offset;
  }
  return true;
}

situ_message *situ_message_map_entry(situ_message *message, const situ_field *field,
                                     situ_field_value key) {
  const int64_t found = situ_message_find(message, field, key);
  if (found >= 0) return situ_message_get(message, field, found).message;
  struct proto_value *added = proto_add(message, field);
  if (!added || !situ_message_set(added->message, &field->message->fields[0], 0, key)) return NULL;
  return proto_complete_entry(added->message) ? added->message : NULL;
}

/* ---- Merging ---- */

static bool copy_unknown(situ_message *to, const situ_message *from) {
  if (!from->n_unknown) return true;
  const size_t size = to->n_unknown + from->n_unknown;
  char *data = arena_alloc(&to->tree->arena, size);
  if (!data) return false;
  if (to->n_unknown) memcpy(data, to->unknown, to->n_unknown);
  memcpy(data + to->n_unknown, from->unknown, from->n_unknown);
  to->unknown = data;
  to->n_unknown = to->in_unknown = size;
  return true;
}

static bool merge_value(situ_message *to, const situ_field *field,
                        const struct proto_value *value) {
  if (field->is_map) {
    const situ_field *kinds = field->message->fields;
    const situ_field_value key = situ_message_get(value->message, &kinds[0], 0);
    situ_message *entry = situ_message_map_entry(to, field, key);
    if (entry) situ_message_clear_field(entry, &kinds[1]); /* the new value replaces the old one */
    return entry && situ_message_merge(entry, value->message) && proto_complete_entry(entry);
  }
  struct proto_value *target = proto_add(to, field);
  if (!target) return false;
  if (field->message) return situ_message_merge(target->message, value->message);
  if (proto_is_bytes(field))
    target->bytes = proto_copy_bytes(to, value->bytes->data, value->bytes->length);
  else
    target->integer = value->integer;
  return !proto_is_bytes(field) || target->bytes;
}

bool situ_message_merge(situ_message *to, const situ_message *from) {
  situ_message_touch(to);
  for (uint16_t i = 0; i < from->count; i++) {
    const struct proto_value *slot = &from->slots[i];
    const situ_field *field = proto_field_of(from, slot);
    if (!proto_is_written(from, slot)) continue;
    const struct proto_value *items = field->is_repeated ? slot->list->items : slot;
    const size_t count = field->is_repeated ? slot->list->count : 1;
    for (size_t k = 0; k < count; k++)
      if (!merge_value(to, field, &items[k])) return false;
  }
  return copy_unknown(to, from);
}

/* ---- Comparing ---- */

static bool same_value(const situ_field *field, const struct proto_value *a,
                       const struct proto_value *b) {
  if (field->message) return situ_message_equal(a->message, b->message);
  if (proto_is_bytes(field)) return !compare_bytes(a->bytes, b->bytes);
  return proto_is_real(field) ? a->real == b->real : a->integer == b->integer;
}

static bool same_map(const situ_message *b, const situ_field *field,
                     const struct proto_list *entries) {
  for (size_t i = 0; i < entries->count; i++) {
    const situ_message *entry = entries->items[i].message;
    const int64_t found =
        situ_message_find(b, field, situ_message_get(entry, &field->message->fields[0], 0));
    if (found < 0 || !situ_message_equal(entry, situ_message_get(b, field, found).message))
      return false;
  }
  return true;
}

static bool same_field(const situ_message *a, const situ_message *b, const situ_field *field) {
  const bool has = situ_message_has(a, field);
  if (has != situ_message_has(b, field)) return false;
  if (!has) return true;
  const struct proto_value *x = proto_slot(a, field), *y = proto_slot(b, field);
  if (!field->is_repeated) return same_value(field, x, y);
  if (x->list->count != y->list->count) return false;
  if (field->is_map) return same_map(b, field, x->list);
  for (size_t i = 0; i < x->list->count; i++)
    if (!same_value(field, &x->list->items[i], &y->list->items[i])) return false;
  return true;
}

bool situ_message_equal(const situ_message *a, const situ_message *b) {
  if (a->type != b->type || a->n_unknown != b->n_unknown) return false;
  for (int i = 0; i < a->type->count; i++)
    if (!same_field(a, b, &a->type->fields[i])) return false;
  return !a->n_unknown || !memcmp(a->unknown, b->unknown, a->n_unknown);
}
