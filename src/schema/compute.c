/* SPDX-License-Identifier: Apache-2.0
 * compute.c: see compute.h. */
#include "schema/compute.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/interrupt.h"
#include "base/strbuf.h"
#include "tensor/tensor.h"

/* How long a cancelled function may go on waiting. */
enum { WAIT_NANOSECONDS = 20 * 1000 * 1000 };

situ_status compute_keep(const struct compute *compute, int input, situ_tensor **out) {
  *out = situ_tensor_retain(compute->in[input]);
  const situ_status status = tensor_own(out);
  if (!status) return NULL;
  situ_tensor_release(*out);
  *out = NULL;
  return status;
}

situ_status compute_output(const struct compute *compute, int index, situ_shape shape,
                           void **data) {
  TRY(tensor_create_raw(compute->call->out[index].type, shape, &compute->out[index]));
  *data = compute->out[index]->buffer->host;
  return NULL;
}

situ_status compute_interrupted(const char *what) {
  return interrupt_ask() ? situ_status_create(SITU_CANCELLED, "%s was cancelled", what) : NULL;
}

situ_status compute_ask(const struct compute *compute, const char *what) {
  const struct services *services = compute->services;
  if (services->cancelled && *services->cancelled)
    return situ_status_create(SITU_CANCELLED, "%s was cancelled", what);
  TRY(compute_interrupted(what));
  return services->ask ? services->ask() : NULL;
}

situ_status compute_wait(const struct compute *compute, pthread_cond_t *condition,
                         pthread_mutex_t *lock, const char *what) {
  struct timespec until;
  if (compute->wait_limit && compute->wait_limit->waits-- <= 0) {
    compute->wait_limit->would_block = true;
    return situ_status_create(SITU_CANCELLED, "%s has to wait", what);
  }
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += WAIT_NANOSECONDS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  if (pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT) return NULL;
  pthread_mutex_unlock(lock); /* the hook may wait for a thread that waits for the lock */
  const situ_status status = compute_ask(compute, what);
  pthread_mutex_lock(lock);
  return status;
}

situ_status compute_find_resource(const struct compute *compute, const struct resource_kind *kind,
                                  situ_status (*create)(void *context, struct resource **out),
                                  void *context, struct resource **out) {
  const struct call *call = compute->call;
  struct resources *resources = compute->services->resources;
  const char *shared = call_text(call, "shared_name");
  const char *key = *shared || resources->anonymous ? shared : call->node;
  struct strbuf container = {0}; /* the default one of a task, or a container of it */
  if (compute->task) strbuf_appendf(&container, "%s%c", compute->task, RESOURCE_TASK_END);
  strbuf_appendf(&container, "%s", call_text(call, "container"));
  situ_status status = container.failed ? NO_MEMORY() : NULL;
  if (!status)
    status = resource_find(resources, kind, strbuf_get(&container), key,
                           *shared ? NULL : call->node, create, context, out);
  strbuf_free(&container);
  return status;
}

situ_status compute_resource(const struct compute *compute, const struct resource_kind *kind,
                             situ_status (*create)(void *context, struct resource **out),
                             void *context) {
  struct resource *resource = NULL;
  TRY(compute_find_resource(compute, kind, create, context, &resource));
  return resource_handle(resource, &compute->out[0]);
}

situ_status compute_handle(const struct compute *compute, int index,
                           const struct resource_kind *kind, struct resource **out) {
  return resource_of(compute->in[index], kind, out);
}
