/* SPDX-License-Identifier: Apache-2.0
 * mutex.c: mutex ops. A lock is held as long as its tensor exists, so a failed run releases it. */
#include <stdlib.h>

#include "ops/ops.h"
#include "tensor/tensor.h"

struct mutex {
  struct resource head;
  pthread_mutex_t guard;
  pthread_cond_t released;
  bool held;
};

/* A lock held by a run; `mutex` is NULL after it is released. */
struct lock {
  struct resource head;
  struct mutex *mutex;
};

static void destroy_mutex(struct resource *resource) {
  struct mutex *mutex = (struct mutex *)resource;
  pthread_cond_destroy(&mutex->released);
  pthread_mutex_destroy(&mutex->guard);
  free(mutex);
}

static void release(struct lock *lock) {
  struct mutex *mutex = lock->mutex;
  lock->mutex = NULL;
  if (!mutex) return;
  pthread_mutex_lock(&mutex->guard);
  mutex->held = false;
  pthread_cond_signal(&mutex->released);
  pthread_mutex_unlock(&mutex->guard);
  resource_release(&mutex->head);
}

static void destroy_lock(struct resource *resource) {
  release((struct lock *)resource);
  free(resource);
}

static const struct resource_kind mutex_kind = {"mutex", destroy_mutex};
static const struct resource_kind lock_kind = {"lock", destroy_lock};

static situ_status create(void *context, struct resource **out) {
  (void)context;
  struct mutex *mutex = calloc(1, sizeof *mutex);
  if (!mutex) return NO_MEMORY();
  pthread_mutex_init(&mutex->guard, NULL);
  pthread_cond_init(&mutex->released, NULL);
  *out = &mutex->head;
  return NULL;
}

static situ_status compute_mutex(struct compute *compute) {
  return compute_resource(compute, &mutex_kind, create, NULL);
}

static situ_status acquire(const struct compute *compute, struct mutex *mutex) {
  situ_status status = NULL;
  pthread_mutex_lock(&mutex->guard);
  while (mutex->held && !status)
    status = compute_wait(compute, &mutex->released, &mutex->guard, "MutexLock operation");
  if (!status) mutex->held = true;
  pthread_mutex_unlock(&mutex->guard);
  return status;
}

static situ_status compute_lock(struct compute *compute) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &mutex_kind, &resource));
  struct lock *lock = calloc(1, sizeof *lock);
  if (!lock) return NO_MEMORY();
  lock->head = (struct resource){.references = 1, .kind = &lock_kind};
  const situ_status status = acquire(compute, (struct mutex *)resource);
  if (status) {
    free(lock);
    return status;
  }
  lock->mutex = (struct mutex *)resource_retain(resource);
  return resource_handle_as(&lock->head, SITU_VARIANT, &compute->out[0]);
}

static situ_status compute_consume(struct compute *compute) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &lock_kind, &resource));
  release((struct lock *)resource);
  return NULL;
}

#define OP_DEF(op, in, out, attributes, text, kinds, shaper, function)                        \
  {                                                                                           \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text, \
    .devices = EVERYWHERE, .flags = OP_STATEFUL | OP_NO_GRADIENT | (kinds), .shape = shaper,  \
    .compute = function                                                                       \
  }

static const struct op_def op_defs[] = {
    OP_DEF("MutexV2", "", "resource:resource", "container:string='' shared_name:string=''",
           "A mutex resource.", 0, op_scalar_shape, compute_mutex),
    OP_DEF(
        "MutexLock", "mutex:resource", "mutex_lock:variant", "",
        "Locks a mutex and waits until it is free; the output holds the lock as long as it exists.",
        OP_BLOCKS, op_scalar_shape, compute_lock),
    OP_DEF("ConsumeMutexLock", "mutex_lock:variant", "", "", "Releases a lock of MutexLock.", 0,
           op_no_shape, compute_consume),
};

OP_FAMILY(mutex, op_defs);
