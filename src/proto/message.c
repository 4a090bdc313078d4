/* SPDX-License-Identifier: Apache-2.0
 * message.c: messages in memory: slots, lists and references. */
#include "proto/message.h"

#include <stdlib.h>
#include <string.h>

/* ---- Trees ---- */

situ_message *proto_create(struct proto_tree *tree, const situ_message_type *type) {
  situ_message *message = ARENA_ARRAY(&tree->arena, situ_message, 1);
  if (!message) return NULL;
  message->type = type;
  message->tree = tree;
  return message;
}

static void free_tree(struct proto_tree *tree) {
  arena_free(&tree->arena);
  free(tree);
}

situ_message *situ_message_create(const situ_message_type *type) {
  struct proto_tree *tree = type ? calloc(1, sizeof *tree) : NULL;
  if (!tree) return NULL;
  tree->references = 1;
  situ_message *message = proto_create(tree, type);
  if (!message) free_tree(tree);
  return message;
}

void situ_message_retain(situ_message *message) {
  if (message) message->tree->references++;
}

void situ_message_release(situ_message *message) {
  if (message && !--message->tree->references) free_tree(message->tree);
}

const situ_message_type *situ_message_type_of(const situ_message *message) { return message->type; }

/* ---- Slots ---- */

static uint16_t index_of(const situ_message *message, const situ_field *field) {
  return (uint16_t)(field - message->type->fields);
}

/* The slot of a field, also of a submessage that is not set. */
static struct proto_value *find_slot(const situ_message *message, const situ_field *field) {
  const uint16_t index = index_of(message, field);
  for (uint16_t i = message->count; i > 0; i--)
    if (message->slots[i - 1].field == index) return &message->slots[i - 1];
  return NULL;
}

struct proto_value *proto_slot(const situ_message *message, const situ_field *field) {
  struct proto_value *slot = find_slot(message, field);
  const bool is_single = slot && field->message && !field->is_repeated;
  return is_single && slot->message->is_absent ? NULL : slot;
}

static bool grow_slots(situ_message *message) {
  const uint16_t capacity = (uint16_t)(message->capacity ? message->capacity * 2 : 2);
  struct proto_value *slots = ARENA_ARRAY(&message->tree->arena, struct proto_value, capacity);
  if (!slots) return false;
  if (message->count) memcpy(slots, message->slots, sizeof *slots * message->count);
  message->slots = slots;
  message->capacity = capacity;
  return true;
}

/* Adds a slot in the order of the fields. */
static struct proto_value *add_slot(situ_message *message, const situ_field *field) {
  const uint16_t index = index_of(message, field);
  if (message->count == message->capacity && !grow_slots(message)) return NULL;
  uint16_t at = message->count++;
  for (; at && message->slots[at - 1].field > index; at--)
    message->slots[at] = message->slots[at - 1];
  message->slots[at] = (struct proto_value){.field = index};
  return &message->slots[at];
}

static void remove_slot(situ_message *message, struct proto_value *slot) {
  const situ_field *field = proto_field_of(message, slot);
  if (field->message && !field->is_repeated && slot->message) {
    slot->message->parent = NULL;
    slot->message->is_absent = false;
  }
  const size_t after = (size_t)(message->slots + message->count - slot) - 1;
  memmove(slot, slot + 1, sizeof *slot * after);
  message->count--;
}

/* Clears the other fields of the oneof of a field. */
static void clear_oneof(situ_message *message, const situ_field *field) {
  for (uint16_t i = message->count; field->oneof && i > 0; i--) {
    const situ_field *other = proto_field_of(message, &message->slots[i - 1]);
    if (other != field && other->oneof && !strcmp(other->oneof, field->oneof))
      remove_slot(message, &message->slots[i - 1]);
  }
}

void situ_message_touch(situ_message *message) {
  while (message->is_absent) {
    situ_message *parent = message->parent;
    message->is_absent = false;
    message->parent = NULL;
    for (uint16_t i = 0; i < parent->count; i++) {
      const situ_field *field = proto_field_of(parent, &parent->slots[i]);
      if (!field->message || field->is_repeated || parent->slots[i].message != message) continue;
      clear_oneof(parent, field);
      break;
    }
    message = parent;
  }
}

static struct proto_value *add_element(situ_message *message, struct proto_list *list,
                                       size_t index) {
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity ? list->capacity * 2 : 4;
    struct proto_value *items =
        arena_alloc(&message->tree->arena, capacity * sizeof(struct proto_value));
    if (!items) return NULL;
    if (list->count) memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    list->capacity = capacity;
  }
  memmove(list->items + index + 1, list->items + index,
          (list->count - index) * sizeof *list->items);
  list->items[index] = (struct proto_value){0};
  list->count++;
  return &list->items[index];
}

/* The slot of a field, added with zero if there is none. */
static struct proto_value *need_slot(situ_message *message, const situ_field *field) {
  struct proto_value *slot = find_slot(message, field);
  if (slot) return slot;
  slot = add_slot(message, field);
  if (slot && field->is_repeated) {
    slot->list = ARENA_ARRAY(&message->tree->arena, struct proto_list, 1);
    if (!slot->list) message->count--; /* the arena has failed: the message is incomplete */
    return slot->list ? slot : NULL;
  }
  return slot;
}

/* Inserts an element; `index` SIZE_MAX appends. */
static struct proto_value *insert(situ_message *message, const situ_field *field, size_t index) {
  situ_message_touch(message);
  struct proto_value *slot = need_slot(message, field);
  if (!slot) return NULL;
  struct proto_list *list = slot->list;
  struct proto_value *item = add_element(message, list, index < list->count ? index : list->count);
  if (item) item->field = index_of(message, field);
  return item;
}

/* Sets a singular field. A submessage stays as it is. */
static struct proto_value *set(situ_message *message, const situ_field *field) {
  situ_message_touch(message);
  clear_oneof(message, field);
  struct proto_value *slot = need_slot(message, field);
  if (!slot || !field->message) return slot;
  if (!slot->message) slot->message = proto_create(message->tree, field->message);
  if (!slot->message) {
    remove_slot(message, slot);
    return NULL;
  }
  slot->message->is_absent = false;
  return slot;
}

struct proto_value *proto_add(situ_message *message, const situ_field *field) {
  if (!field->is_repeated) return set(message, field);
  struct proto_value *value = insert(message, field, SIZE_MAX);
  if (!value || !field->message) return value;
  value->message = proto_create(message->tree, field->message);
  return value->message ? value : NULL;
}

/* ---- Values ---- */

const struct proto_bytes *proto_copy_bytes(situ_message *message, const char *data, size_t length) {
  struct proto_bytes *bytes = arena_alloc(&message->tree->arena, sizeof *bytes + length + 1);
  if (!bytes) return NULL;
  bytes->length = length;
  if (length) memcpy(bytes->data, data, length);
  bytes->data[length] = 0;
  return bytes;
}

bool proto_is_zero(const situ_field *field, const struct proto_value *value) {
  if (proto_is_bytes(field)) return !value->bytes || !value->bytes->length;
  if (field->message) return false;
  return !value->integer; /* -0.0 is not zero */
}

bool proto_is_written(const situ_message *message, const struct proto_value *slot) {
  const situ_field *field = proto_field_of(message, slot);
  if (field->is_repeated) return slot->list->count;
  if (field->message) return !slot->message->is_absent;
  return field->oneof || message->type->is_map_entry || !proto_is_zero(field, slot);
}

bool situ_message_has(const situ_message *message, const situ_field *field) {
  const struct proto_value *slot = proto_slot(message, field);
  return slot && proto_is_written(message, slot);
}

int64_t situ_message_count(const situ_message *message, const situ_field *field) {
  const struct proto_value *slot = find_slot(message, field);
  return slot ? (int64_t)slot->list->count : 0;
}

static situ_field_value public_value(const situ_field *field, const struct proto_value *value) {
  situ_field_value out = {.integer = 0};
  if (proto_is_bytes(field))
    out.bytes = value && value->bytes ? (situ_string){value->bytes->data, value->bytes->length}
                                      : (situ_string){"", 0};
  else if (value && field->message)
    out.message = value->message;
  else if (value && proto_is_real(field))
    out.real = value->real;
  else if (value)
    out.integer = value->integer;
  else if (field->message)
    out.message = NULL;
  return out;
}

situ_field_value situ_message_get(const situ_message *message, const situ_field *field,
                                  int64_t index) {
  const struct proto_value *value = proto_slot(message, field);
  if (value && field->is_repeated) value = &value->list->items[index];
  return public_value(field, value);
}

situ_message *situ_message_submessage(situ_message *message, const situ_field *field) {
  struct proto_value *slot = find_slot(message, field);
  if (slot) return slot->message;
  situ_message *made = proto_create(message->tree, field->message);
  slot = made ? add_slot(message, field) : NULL;
  if (!slot) return NULL;
  slot->message = made;
  made->parent = message;
  made->is_absent = true;
  return made;
}

static bool store(situ_message *message, const situ_field *field, struct proto_value *to,
                  situ_field_value value) {
  if (!to) return false;
  if (proto_is_bytes(field)) {
    to->bytes = proto_copy_bytes(message, value.bytes.data, value.bytes.length);
    return to->bytes;
  }
  if (proto_is_real(field))
    to->real = field->kind == SITU_FIELD_FLOAT ? (double)(float)value.real : value.real;
  else
    to->integer = value.integer;
  return true;
}

bool situ_message_set(situ_message *message, const situ_field *field, int64_t index,
                      situ_field_value value) {
  if (!field->is_repeated) return store(message, field, set(message, field), value);
  struct proto_value *slot = find_slot(message, field);
  return slot && store(message, field, &slot->list->items[index], value);
}

bool situ_message_insert(situ_message *message, const situ_field *field, int64_t index,
                         situ_field_value value) {
  return store(message, field, insert(message, field, (size_t)index), value);
}

situ_message *situ_message_insert_message(situ_message *message, const situ_field *field,
                                          int64_t index) {
  situ_message *made = proto_create(message->tree, field->message);
  struct proto_value *item = made ? insert(message, field, (size_t)index) : NULL;
  if (!item) return NULL;
  item->message = made;
  return made;
}

void situ_message_remove(situ_message *message, const situ_field *field, int64_t first,
                         int64_t count) {
  struct proto_value *slot = find_slot(message, field);
  if (!slot || count <= 0) return;
  struct proto_list *list = slot->list;
  struct proto_value *at = list->items + first;
  memmove(at, at + count, (list->count - (size_t)(first + count)) * sizeof *at);
  list->count -= (size_t)count;
}

bool situ_message_reorder(situ_message *message, const situ_field *field, const int64_t *order) {
  struct proto_value *slot = find_slot(message, field);
  if (!slot) return true;
  struct proto_list *list = slot->list;
  struct proto_value *items = arena_alloc(&message->tree->arena, (list->count + 1) * sizeof *items);
  if (!items) return false;
  for (size_t i = 0; i < list->count; i++) items[i] = list->items[order[i]];
  list->items = items;
  list->capacity = list->count + 1;
  return true;
}

void situ_message_clear_field(situ_message *message, const situ_field *field) {
  struct proto_value *slot = find_slot(message, field);
  situ_message_touch(message);
  if (!slot) return;
  if (field->is_repeated)
    slot->list->count = 0; /* views of the list stay valid */
  else
    remove_slot(message, slot);
}

void situ_message_clear(situ_message *message) {
  situ_message_touch(message);
  for (int i = 0; i < message->type->count; i++)
    situ_message_clear_field(message, &message->type->fields[i]);
  message->n_unknown = 0;
}

const situ_field *situ_message_which(const situ_message *message, const char *oneof) {
  for (uint16_t i = 0; i < message->count; i++) {
    const situ_field *field = proto_field_of(message, &message->slots[i]);
    if (field->oneof && !strcmp(field->oneof, oneof) && proto_slot(message, field)) return field;
  }
  return NULL;
}

/* ---- Access by name ---- */

const struct proto_value *proto_next(const situ_message *message, const char *name,
                                     const struct proto_value *after) {
  const situ_field *field = situ_message_type_field(message->type, name);
  const struct proto_value *slot = field ? proto_slot(message, field) : NULL;
  if (!slot || !field->is_repeated) return after ? NULL : slot;
  const struct proto_value *next = after ? after + 1 : slot->list->items;
  return next < slot->list->items + slot->list->count ? next : NULL;
}

const struct proto_value *proto_get(const situ_message *message, const char *name) {
  const situ_field *field = situ_message_type_field(message->type, name);
  const struct proto_value *slot = field ? proto_slot(message, field) : NULL;
  if (!slot || !field->is_repeated) return slot;
  return slot->list->count ? &slot->list->items[slot->list->count - 1] : NULL;
}

const char *proto_string(const situ_message *message, const char *name) {
  const struct proto_value *value = proto_get(message, name);
  return value ? value->bytes->data : "";
}
