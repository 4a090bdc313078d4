/* SPDX-License-Identifier: Apache-2.0
 * store.c: a list of entries, each with its key, type and shape, under one lock. */
#include "exec/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "device/registry.h"
#include "graph/variable.h"
#include "tensor/shape.h"

/* An entry with its key. */
struct stored {
  struct state_entry entry; /* `next` is not used */
  struct stored *next;
  char *key, *container;
  situ_type type; /* of a variable; SITU_NO_TYPE for other state */
  situ_shape shape;
  bool reset; /* its container was reset: another type and shape are allowed */
};

struct situ_store {
  int references; /* atomic */
  pthread_mutex_t lock;
  struct stored *entries;
  struct resources resources;
  bool open; /* holds a reference to the device list */
};

situ_status situ_store_create(situ_store **out) {
  *out = calloc(1, sizeof **out);
  if (!*out) return NO_MEMORY();
  (*out)->references = 1;
  pthread_mutex_init(&(*out)->lock, NULL);
  pthread_mutex_init(&(*out)->resources.lock, NULL);
  return NULL;
}

situ_store *situ_store_retain(situ_store *store) {
  if (store) __atomic_add_fetch(&store->references, 1, __ATOMIC_RELAXED);
  return store;
}

static void destroy(struct stored *stored) {
  buffer_release(stored->entry.buffer);
  free(stored->key);
  free(stored->container);
  free(stored);
}

void situ_store_release(situ_store *store) {
  if (!store || __atomic_sub_fetch(&store->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  resource_clear(&store->resources);
  while (store->entries) {
    struct stored *stored = store->entries;
    store->entries = stored->next;
    destroy(stored);
  }
  if (store->open) registry_release();
  pthread_mutex_destroy(&store->lock);
  pthread_mutex_destroy(&store->resources.lock);
  free(store);
}

static void reset(struct stored *stored) {
  stored->entry.ready = false;
  stored->reset = true;
}

/* Keeps the memory, since frames of idle sessions hold its address, but marks it uninitialized. */
void situ_store_reset(situ_store *store, const char *container) {
  pthread_mutex_lock(&store->lock);
  for (struct stored *stored = store->entries; stored; stored = stored->next)
    if (stored->type != SITU_NO_TYPE && (!container || !strcmp(stored->container, container)))
      reset(stored);
  pthread_mutex_unlock(&store->lock);
  if (container)
    resource_clear_container(&store->resources, container);
  else
    resource_clear(&store->resources);
}

struct resources *store_resources(situ_store *store) {
  return &store->resources;
}

situ_status store_open(situ_store *store) {
  const struct device_list *devices = NULL;
  situ_status status = NULL;
  pthread_mutex_lock(&store->lock);
  if (!store->open) status = registry_acquire(NULL, false, &devices);
  if (!status) store->open = true;
  pthread_mutex_unlock(&store->lock);
  return status;
}

/* ---- Keys ---- */

const char *store_task(const struct situ_graph *graph, const struct node *node,
                       const char *own_task, char out[NAME_SIZE]) {
  const struct device_name *name =
      node->spec < graph->n_specs ? &graph->specs[node->spec].name : NULL;
  if (!name || (!name->has_job && !name->has_task)) return own_task;
  const char *end = strrchr(own_task, '/');
  const int length = end ? (int)(end - own_task) : 0;
  if (name->has_job && strcmp(name->job, "localhost") != 0)
    snprintf(out, NAME_SIZE, "/job:%s/task:%d", name->job, name->has_task ? name->task : 0);
  else
    snprintf(out, NAME_SIZE, "%.*s/task:%d", length, own_task, name->has_task ? name->task : 0);
  return out;
}

static bool is_variable(const struct slot *slot) { return slot->output >= 0; }

static void write_key(const struct state *state, const struct program *program,
                      const struct slot *slot, struct strbuf *out) {
  const struct node *node = program->graph->nodes[slot->node];
  char task[NAME_SIZE];
  if (!is_variable(slot)) {
    strbuf_appendf(out, "%s\n%d\n%s", state->scope, slot->output, node->name);
    return;
  }
  strbuf_appendf(out, "%s\n%s", store_task(program->graph, node, state->task, task),
                 variable_container(node));
  strbuf_appendf(out, "\n%s", variable_name(node));
}

/* ---- Entries ---- */

static struct output value_of(const struct program *program, const struct slot *slot) {
  return variable_value(program->graph, (struct edge){slot->node, slot->output});
}

static bool same_key(const struct stored *stored, const char *key, int32_t device) {
  return stored->entry.device == device && !strcmp(stored->key, key);
}

static bool same_value(const struct stored *stored, const struct output *value) {
  return value->type == stored->type && shape_equal(&value->shape, &stored->shape);
}

/* The entry of the key with the slot's type and shape. `other` receives one with another. */
static struct stored *lookup(const situ_store *store, const char *key,
                             const struct program *program, const struct slot *slot,
                             struct stored **other) {
  for (struct stored *stored = store->entries; stored; stored = stored->next) {
    if (!same_key(stored, key, slot->device)) continue;
    if (!is_variable(slot)) return stored;
    const struct output value = value_of(program, slot);
    if (same_value(stored, &value)) return stored;
    if (!*other || (*other)->reset) *other = stored;
  }
  return NULL;
}

static situ_status create_entry(situ_store *store, const char *key, const struct program *program,
                                const struct slot *slot, struct stored **out) {
  struct stored *stored = calloc(1, sizeof *stored);
  if (!stored) return NO_MEMORY();
  stored->key = strdup(key);
  stored->entry.node = slot->node;
  stored->entry.output = slot->output;
  stored->entry.device = slot->device;
  if (is_variable(slot)) {
    const struct output value = value_of(program, slot);
    stored->container = strdup(variable_container(program->graph->nodes[slot->node]));
    stored->type = value.type;
    stored->shape = value.shape;
  }
  const bool has_key = stored->key && (!is_variable(slot) || stored->container);
  const situ_status status = has_key ? state_fill(&stored->entry, program, slot) : NO_MEMORY();
  if (status) {
    destroy(stored);
    return status;
  }
  stored->next = store->entries;
  store->entries = stored;
  *out = stored;
  return NULL;
}

static bool is_handle(const struct program *program, const struct slot *slot) {
  return program->graph->nodes[slot->node]->outputs[0].type == SITU_RESOURCE;
}

/* Whether the container was reset and the variable has not been assigned since. */
static bool is_unused(const struct stored *stored) { return stored->reset && !stored->entry.ready; }

/* Fails unless the variable may change its type or shape. */
static situ_status check_declaration(const struct stored *stored, const struct program *program,
                                     const struct slot *slot) {
  const struct node *node = program->graph->nodes[slot->node];
  const struct output value = value_of(program, slot);
  if (is_unused(stored) || (is_handle(program, slot) && value.type == stored->type)) return NULL;
  char declared[256], stored_shape[256];
  return INVALID(
      "Variable '%s' has type %s and shape %s, but another session of its task declared it with "
      "type %s and shape %s. Use another name or reset the container.",
      node->name, situ_type_name(value.type), shape_print_python(&value.shape, declared),
      situ_type_name(stored->type), shape_print_python(&stored->shape, stored_shape));
}

/* Inserts an entry into the sibling ring of another. */
static void add_sibling(struct state_entry *entry, struct state_entry *other) {
  struct state_entry *next = other->sibling;
  entry->sibling = next ? next : other;
  other->sibling = entry;
}

void store_set(situ_store *store, struct state_entry *entry) {
  pthread_mutex_lock(&store->lock);
  for (struct state_entry *sibling = entry->sibling; sibling != entry; sibling = sibling->sibling)
    sibling->ready = false;
  entry->ready = true;
  pthread_mutex_unlock(&store->lock);
}

static situ_status find_or_create(situ_store *store, const char *key, const struct program *program,
                                  const struct slot *slot, struct stored **out) {
  struct stored *other = NULL;
  *out = lookup(store, key, program, slot, &other);
  if (*out && !is_unused(*out)) return NULL;
  if (other) TRY(check_declaration(other, program, slot));
  if (*out) {
    (*out)->reset = false;
    return NULL;
  }
  TRY(create_entry(store, key, program, slot, out));
  if (other) add_sibling(&(*out)->entry, &other->entry);
  return NULL;
}

situ_status store_find(const struct state *state, const struct program *program,
                       const struct slot *slot, struct state_entry **out) {
  situ_store *store = state->store;
  struct strbuf key = {0};
  write_key(state, program, slot, &key);
  if (key.failed) {
    strbuf_free(&key);
    return NO_MEMORY();
  }
  pthread_mutex_lock(&store->lock);
  struct stored *stored = NULL;
  const situ_status status = find_or_create(store, strbuf_get(&key), program, slot, &stored);
  pthread_mutex_unlock(&store->lock);
  strbuf_free(&key);
  if (!status) *out = &stored->entry;
  return status;
}
