/* SPDX-License-Identifier: Apache-2.0
 * resource.h: resources: host objects that live between runs, such as queues, readers, iterators
 * and tables.
 *
 * A session has a table of resources by container and name. An op finds or creates one and returns
 * a handle, a scalar of type resource, the input of the ops that use it. Resources are reference
 * counted; the session and every handle hold a reference. */
#ifndef SITU_SCHEMA_RESOURCE_H
#define SITU_SCHEMA_RESOURCE_H

#include <pthread.h>

#include "base/base.h"
#include "situ/tensor.h"

struct resource;

/* A kind of resource; static data. */
struct resource_kind {
  const char *name; /* "queue", for errors */
  void (*destroy)(struct resource *resource);
};

/* The first member of every resource. */
struct resource {
  int references; /* atomic */
  const struct resource_kind *kind;
  char *name; /* as requested; owned */
};

struct resource_entry;

/* Separates task and container if a table holds the resources of several tasks. */
enum { RESOURCE_TASK_END = '\n' };

/* The resources of a session. Zero with an initialized lock is an empty table. */
struct resources {
  pthread_mutex_t lock;
  struct resource_entry *entries;
  int n_unnamed;  /* resources created so far without a name */
  bool anonymous; /* a resource without a shared name is created by every call (eager mode) */
};

/* Finds the resource `key` in a container, or creates it with `create` and initializes its header.
 * "" with `anonymous` creates a new one. Errors call the resource `key`, or "_0_node", numbered, if
 * `node` is not NULL. The caller gets a reference. A resource of another kind is an
 * InvalidArgument. */
situ_status resource_find(struct resources *resources, const struct resource_kind *kind,
                          const char *container, const char *key, const char *node,
                          situ_status (*create)(void *context, struct resource **out),
                          void *context, struct resource **out) SITU_MUST_USE;

/* Finds a resource by kind and by its member `name`; the caller gets a reference. NotFound if there
 * is none. */
situ_status resource_named(struct resources *resources, const struct resource_kind *kind,
                           const char *name, struct resource **out) SITU_MUST_USE;

/* Adds or releases a reference; NULL may be released. */
struct resource *resource_retain(struct resource *resource);
void resource_release(struct resource *resource);

/* A handle: a scalar of type resource (or variant); takes over the reference, also on failure. */
situ_status resource_handle(struct resource *resource, situ_tensor **out) SITU_MUST_USE;
situ_status resource_handle_as(struct resource *resource, situ_type type,
                               situ_tensor **out) SITU_MUST_USE;

/* The resource of a handle, borrowed from it; fails for another kind. NULL accepts any kind. */
situ_status resource_of(const situ_tensor *handle, const struct resource_kind *kind,
                        struct resource **out) SITU_MUST_USE;

/* Removes the resources of a container, in all tasks (RESOURCE_TASK_END). */
void resource_clear_container(struct resources *resources, const char *container);

/* Removes all resources; those with handles live on until these are released. */
void resource_clear(struct resources *resources);

#endif
