/* SPDX-License-Identifier: Apache-2.0
 * eager.c: runs ops at once: a call is a graph of one node, compiled on first use and found again
 * by what makes it up. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/recipe.h"
#include "device/list.h"
#include "schema/schema.h"
#include "situ/eager.h"
#include "tensor/tensor.h"

enum { N_BUCKETS = 4096, MAX_RECIPES = 16384 };

struct situ_eager {
  pthread_mutex_t lock;
  const struct device_list *devices;
  bool log, soft;
  struct recipe *buckets[N_BUCKETS];
  int n_recipes;
  struct recipe_log *said; /* what was logged */
};

situ_status situ_eager_create(const situ_config *config, situ_eager **out) {
  if (!out) return INVALID("situ_eager_create: `out` is NULL.");
  *out = NULL;
  situ_eager *eager = calloc(1, sizeof *eager);
  if (!eager) return NO_MEMORY();
  pthread_mutex_init(&eager->lock, NULL);
  const situ_status status =
      list_acquire(config ? &config->devices : NULL, config && config->strict, &eager->devices);
  if (status) {
    pthread_mutex_destroy(&eager->lock);
    free(eager);
    return status;
  }
  eager->log = config && config->log_device_placement;
  eager->soft = config && config->allow_soft_placement;
  *out = eager;
  return NULL;
}

/* Forgets compiled calls that nobody runs. */
static void forget(situ_eager *eager) {
  for (int i = 0; i < N_BUCKETS; i++) {
    struct recipe **link = &eager->buckets[i];
    while (*link) {
      struct recipe *recipe = *link;
      if (recipe->active) {
        link = &recipe->next;
        continue;
      }
      *link = recipe->next;
      recipe_destroy(recipe);
      eager->n_recipes--;
    }
  }
}

void situ_eager_release(situ_eager *eager) {
  if (!eager) return;
  forget(eager);
  recipe_log_free(eager->said);
  list_release();
  pthread_mutex_destroy(&eager->lock);
  free(eager);
}

void situ_eager_set_log(situ_eager *eager, bool on) {
  if (eager) eager->log = on;
}

void situ_eager_set_soft(situ_eager *eager, bool on) {
  if (!eager || eager->soft == on) return;
  pthread_mutex_lock(&eager->lock);
  eager->soft = on;
  forget(eager); /* they were placed by the other rule */
  pthread_mutex_unlock(&eager->lock);
}

static situ_status check(const situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                         const int *count) {
  if (!eager || !call || !count || !outputs) return INVALID("situ_eager_run: an argument is NULL.");
  if (call->op < 0 || call->op >= schema_count())
    return INVALID("situ_eager_run: there is no op number %d.", call->op);
  for (int i = 0; i < call->n_inputs; i++)
    if (!call->inputs[i])
      return INVALID("Input %d of %s is NULL.", i, schema_get(call->op)->op->name);
  return NULL;
}

/* The compiled form of a call, entered; made if there is none. Called with the lock. */
static situ_status find(situ_eager *eager, const situ_call *call, struct recipe **out) {
  struct recipe_key key;
  TRY(recipe_key(call, &key));
  struct recipe **bucket = &eager->buckets[key.hash % N_BUCKETS];
  struct recipe *recipe = *bucket;
  while (recipe && !recipe_matches(recipe, &key)) recipe = recipe->next;
  situ_status status = NULL;
  if (!recipe) {
    if (eager->n_recipes >= MAX_RECIPES) forget(eager);
    status = recipe_create(call, &key, eager->devices, eager->soft, &recipe);
    if (!status) {
      recipe->next = *bucket;
      *bucket = recipe;
      eager->n_recipes++;
    }
  }
  if (!status && eager->log) status = recipe_log(recipe, &eager->said);
  if (!status) recipe->active++;
  recipe_key_free(&key);
  *out = recipe;
  return status;
}

situ_status situ_eager_run(situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                           int capacity, int *count) {
  TRY(check(eager, call, outputs, count));
  struct recipe *recipe = NULL;
  pthread_mutex_lock(&eager->lock);
  situ_status status = find(eager, call, &recipe);
  struct frame *frame = status ? NULL : recipe_take(recipe);
  pthread_mutex_unlock(&eager->lock);
  if (status) return status;
  const int n = recipe->program->n_fetches;
  if (n > capacity) {
    status = INVALID("%s has %d outputs, but there is room for %d.", schema_get(call->op)->op->name,
                     n, capacity);
  } else {
    memset(outputs, 0, sizeof *outputs * (size_t)n);
    *count = n;
    status = recipe_run(recipe, &frame, call->inputs, outputs);
  }
  pthread_mutex_lock(&eager->lock);
  recipe_give(recipe, frame);
  pthread_mutex_unlock(&eager->lock);
  return status;
}

static situ_status find_device(const situ_eager *eager, const char *name, struct device **out) {
  int number = 0;
  TRY(situ_devices_find(name, &number));
  *out = eager->devices->devices[number];
  return NULL;
}

situ_status situ_eager_copy(situ_eager *eager, situ_tensor *tensor, const char *device,
                            situ_tensor **out) {
  if (!eager || !tensor || !device || !out) return INVALID("situ_eager_copy: an argument is NULL.");
  struct device *to = NULL;
  TRY(find_device(eager, device, &to));
  const bool is_host = !tensor->buffer->device;
  if ((is_host && to->backend->is_host) || tensor->buffer->device == to) {
    *out = situ_tensor_retain(tensor);
    return NULL;
  }
  const struct memory_tag tag = {.op = "copy", .type = tensor->type, .shape = tensor->shape};
  struct buffer *buffer = NULL, *staged = NULL;
  situ_status status = buffer_device(to, tensor->bytes, &tag, &buffer);
  if (!status && !is_host) status = buffer_host(tensor->bytes, &staged);
  if (!status && staged) status = buffer_read(tensor->buffer, 0, staged->host, tensor->bytes);
  if (!status)
    status = buffer_write(buffer, 0, staged ? staged->host : tensor->buffer->host, tensor->bytes);
  buffer_release(staged);
  if (status) {
    buffer_release(buffer);
    return status;
  }
  return tensor_over(tensor->type, tensor->shape, buffer, out);
}
