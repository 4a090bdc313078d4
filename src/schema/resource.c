/* SPDX-License-Identifier: Apache-2.0
 * resource.c: see resource.h. */
#include "schema/resource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

struct resource_entry {
  struct resource_entry *next;
  struct resource *resource;
  char *container, *key;
};

struct resource *resource_retain(struct resource *resource) {
  if (resource) __atomic_add_fetch(&resource->references, 1, __ATOMIC_RELAXED);
  return resource;
}

void resource_release(struct resource *resource) {
  if (!resource || __atomic_sub_fetch(&resource->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  char *name = resource->name;
  resource->kind->destroy(resource);
  free(name);
}

static situ_status make(struct resources *resources, const struct resource_kind *kind,
                        const char *key, const char *node,
                        situ_status (*create)(void *context, struct resource **out), void *context,
                        struct resource **out) {
  struct resource *resource = NULL;
  TRY(create(context, &resource));
  resource->references = 1;
  resource->kind = kind;
  if (!node)
    resource->name = strdup(key);
  else if (asprintf(&resource->name, "_%d_%s", resources->n_unnamed++, node) < 0)
    resource->name = NULL;
  if (!resource->name) {
    resource_release(resource);
    return NO_MEMORY();
  }
  *out = resource;
  return NULL;
}

static void free_entry(struct resource_entry *entry) {
  free(entry->container);
  free(entry->key);
  free(entry);
}

/* Remembers an object, with a reference of its own. */
static bool enter(struct resources *resources, const char *container, const char *key,
                  struct resource *resource) {
  struct resource_entry *entry = calloc(1, sizeof *entry);
  if (!entry) return false;
  entry->container = strdup(container);
  entry->key = strdup(key);
  if (!entry->container || !entry->key) {
    free_entry(entry);
    return false;
  }
  entry->resource = resource_retain(resource);
  entry->next = resources->entries;
  resources->entries = entry;
  return true;
}

static struct resource *lookup(const struct resources *resources, const char *container,
                               const char *key) {
  for (const struct resource_entry *entry = resources->entries; entry; entry = entry->next)
    if (!strcmp(entry->key, key) && !strcmp(entry->container, container)) return entry->resource;
  return NULL;
}

situ_status resource_find(struct resources *resources, const struct resource_kind *kind,
                          const char *container, const char *key, const char *node,
                          situ_status (*create)(void *context, struct resource **out),
                          void *context, struct resource **out) {
  situ_status status = NULL;
  const bool anonymous = resources->anonymous && !*key;
  pthread_mutex_lock(&resources->lock);
  struct resource *found = anonymous ? NULL : lookup(resources, container, key);
  if (found && found->kind != kind) {
    status = INVALID("'%s' is a %s, not a %s.", key, found->kind->name, kind->name);
  } else if (found) {
    *out = resource_retain(found);
  } else {
    status = make(resources, kind, key, node, create, context, out);
    if (!status && !anonymous && !enter(resources, container, key, *out)) {
      resource_release(*out);
      status = NO_MEMORY();
    }
  }
  pthread_mutex_unlock(&resources->lock);
  return status;
}

situ_status resource_named(struct resources *resources, const struct resource_kind *kind,
                           const char *name, struct resource **out) {
  *out = NULL;
  pthread_mutex_lock(&resources->lock);
  for (const struct resource_entry *entry = resources->entries; entry && !*out; entry = entry->next)
    if (entry->resource->kind == kind && !strcmp(entry->resource->name, name))
      *out = resource_retain(entry->resource);
  pthread_mutex_unlock(&resources->lock);
  if (*out) return NULL;
  return situ_status_create(SITU_NOT_FOUND, "There is no %s '%s'.", kind->name, name);
}

static void drop_handle(void *context) {
  struct resource **cell = context;
  resource_release(*cell);
  free(cell);
}

situ_status resource_handle_as(struct resource *resource, situ_type type, situ_tensor **out) {
  struct resource **cell = malloc(sizeof *cell);
  if (!cell) {
    resource_release(resource);
    return NO_MEMORY();
  }
  *cell = resource;
  const situ_status status = situ_tensor_wrap(type, SITU_SCALAR, cell, drop_handle, cell, out);
  if (status) drop_handle(cell);
  return status;
}

situ_status resource_handle(struct resource *resource, situ_tensor **out) {
  return resource_handle_as(resource, SITU_RESOURCE, out);
}

situ_status resource_of(const situ_tensor *handle, const struct resource_kind *kind,
                        struct resource **out) {
  const situ_type type = situ_tensor_type(handle);
  struct resource *const *cell =
      type == SITU_RESOURCE || type == SITU_VARIANT ? situ_tensor_data(handle) : NULL;
  if (!cell || situ_shape_count(situ_tensor_shape(handle)) < 1 || !*cell)
    return INVALID("A handle of a %s was expected.", kind ? kind->name : "resource");
  if (kind && (*cell)->kind != kind)
    return INVALID("'%s' is a %s, not a %s.", (*cell)->name ? (*cell)->name : "",
                   (*cell)->kind->name, kind->name);
  *out = *cell;
  return NULL;
}

/* The container of an entry, without its task. */
static const char *container_of(const struct resource_entry *entry) {
  const char *end = strchr(entry->container, RESOURCE_TASK_END);
  return end ? end + 1 : entry->container;
}

void resource_clear_container(struct resources *resources, const char *container) {
  struct resource_entry *gone = NULL;
  pthread_mutex_lock(&resources->lock);
  for (struct resource_entry **at = &resources->entries; *at;) {
    struct resource_entry *entry = *at;
    if (strcmp(container_of(entry), container) != 0) {
      at = &entry->next;
      continue;
    }
    *at = entry->next;
    entry->next = gone;
    gone = entry;
  }
  pthread_mutex_unlock(&resources->lock);
  while (gone) {
    struct resource_entry *entry = gone;
    gone = entry->next;
    resource_release(entry->resource);
    free_entry(entry);
  }
}

void resource_clear(struct resources *resources) {
  pthread_mutex_lock(&resources->lock);
  struct resource_entry *entries = resources->entries;
  resources->entries = NULL;
  pthread_mutex_unlock(&resources->lock);
  while (entries) {
    struct resource_entry *next = entries->next;
    resource_release(entries->resource);
    free_entry(entries);
    entries = next;
  }
}
