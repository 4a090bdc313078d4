/* SPDX-License-Identifier: Apache-2.0
 * resource.h: objects that live from run to run and are no memory of a device: queues, readers,
 * iterators, tables.
 *
 * A session has a list of them by container and name; an op finds or makes one and gives a handle,
 * a scalar of type resource, which the ops that use it take. Every handle holds a reference, so
 * that an object lives as long as its session or anybody who can name it. */
#ifndef SITU_SCHEMA_RESOURCE_H
#define SITU_SCHEMA_RESOURCE_H

#include <pthread.h>

#include "base/base.h"
#include "situ/tensor.h"

struct resource;

/* A kind of object; static data of whoever defines it. */
struct resource_kind {
  const char *name; /* "queue", for errors */
  void (*destroy)(struct resource *resource);
};

/* The head of every such object: it begins with this. */
struct resource {
  int references; /* atomic */
  const struct resource_kind *kind;
  char *name; /* as it was asked for; owned */
};

struct resource_entry;

/* Where resources of several tasks are together, stands between the task and the container. */
enum { RESOURCE_TASK_END = '\n' };

/* The objects of a session. Zero, with its lock initialised, is empty. */
struct resources {
  pthread_mutex_t lock;
  struct resource_entry *entries;
  int n_unnamed;  /* objects made so far that were not given a name */
  bool anonymous; /* an object without a shared name is new every time (eager calls) */
};

/* Finds the object of that name in a container, or makes it: `create` gives a new one, whose head
 * is filled in here. `key` is the name to look for ("" where `anonymous`: none); errors call it
 * that, too, or where `node` is not NULL "_0_node", numbered. The caller gets a reference. An
 * object of another kind is an InvalidArgument. */
situ_status resource_find(struct resources *resources, const struct resource_kind *kind,
                          const char *container, const char *key, const char *node,
                          situ_status (*create)(void *context, struct resource **out),
                          void *context, struct resource **out) SITU_MUST_USE;

/* The object of that kind that calls itself so (its member `name`), with a reference; NotFound
 * where there is none. */
situ_status resource_named(struct resources *resources, const struct resource_kind *kind,
                           const char *name, struct resource **out) SITU_MUST_USE;

/* Takes or gives back a reference; NULL may be released. */
struct resource *resource_retain(struct resource *resource);
void resource_release(struct resource *resource);

/* A handle: a scalar of type resource (or variant); takes over the reference, also on failure. */
situ_status resource_handle(struct resource *resource, situ_tensor **out) SITU_MUST_USE;
situ_status resource_handle_as(struct resource *resource, situ_type type,
                               situ_tensor **out) SITU_MUST_USE;

/* What a handle names, borrowed from it; fails for another kind. A kind of NULL is any. */
situ_status resource_of(const situ_tensor *handle, const struct resource_kind *kind,
                        struct resource **out) SITU_MUST_USE;

/* Forgets the objects of a container, in any task (RESOURCE_TASK_END). */
void resource_clear_container(struct resources *resources, const char *container);

/* Forgets all objects: those that nobody has a handle of go. */
void resource_clear(struct resources *resources);

#endif
