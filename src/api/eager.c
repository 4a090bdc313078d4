/* SPDX-License-Identifier: Apache-2.0
 * eager.c: runs ops eagerly. A call is a graph of one node that is compiled on first use and cached
 * by op, device, types, shapes and attributes. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/numerics.h"
#include "api/compiled_call.h"
#include "api/tape.h"
#include "base/fork.h"
#include "device/registry.h"
#include "schema/schema.h"
#include "situ/eager.h"
#include "tensor/tensor.h"

enum { N_BUCKETS = 4096, MAX_COMPILED = 16384 };

struct situ_eager {
  pthread_mutex_t lock;
  struct fork_handler fork;
  const struct device_list *devices;
  bool log, soft, checked;
  struct compiled_call *buckets[N_BUCKETS];
  struct compiled_call **recent; /* per op: the last call */
  int n_compiled;
  struct compiled_call_log *log_entries; /* for deduplication */
  struct resources resources;
  struct services services;
  struct tape_gradient_cache *gradient_cache; /* compiled gradients */
};

struct tape_gradient_cache **eager_gradient_cache(situ_eager *eager) {
  return &eager->gradient_cache;
}

bool eager_logs(const situ_eager *eager) { return eager->log; }

situ_status eager_log_node(situ_eager *eager, const struct node *node, int32_t device) {
  if (!node->n_inputs) return NULL;
  const situ_type type = node->n_outputs ? node->outputs[0].type : SITU_NO_TYPE;
  pthread_mutex_lock(&eager->lock);
  const situ_status status = compiled_call_log_op(node->schema, eager->devices->devices[device],
                                                  type, &eager->log_entries);
  pthread_mutex_unlock(&eager->lock);
  return status;
}

bool eager_checks(const situ_eager *eager) { return eager->checked; }

/* In a forked child, calls of the parent's threads never finish. If one of them held the lock, the
 * tables may be inconsistent, so the child starts with empty ones. */
static void reset_after_fork(void *context) {
  situ_eager *eager = context;
  if (pthread_mutex_trylock(&eager->lock)) {
    memset(eager->buckets, 0, sizeof eager->buckets);
    memset(eager->recent, 0, sizeof *eager->recent * (size_t)schema_count());
    eager->n_compiled = 0;
    eager->log_entries = NULL;
  }
  for (int i = 0; i < N_BUCKETS; i++)
    for (struct compiled_call *compiled = eager->buckets[i]; compiled; compiled = compiled->next)
      pthread_mutex_init(&compiled->state.lock, NULL);
  if (tape_gradient_after_fork()) eager->gradient_cache = NULL;
  pthread_mutex_init(&eager->lock, NULL);
  pthread_mutex_init(&eager->resources.lock, NULL);
}

situ_status situ_eager_create(const situ_config *config, situ_eager **out) {
  if (!out) return INVALID("situ_eager_create: `out` is NULL.");
  *out = NULL;
  situ_eager *eager = calloc(1, sizeof *eager);
  if (!eager) return NO_MEMORY();
  pthread_mutex_init(&eager->lock, NULL);
  pthread_mutex_init(&eager->resources.lock, NULL);
  eager->resources.anonymous = true;
  eager->services = (struct services){.resources = &eager->resources};
  eager->recent = calloc((size_t)schema_count(), sizeof(struct compiled_call *));
  const situ_status status = !eager->recent
                                 ? NO_MEMORY()
                                 : registry_acquire(config ? &config->devices : NULL,
                                                    config && config->strict, &eager->devices);
  if (status) {
    pthread_mutex_destroy(&eager->resources.lock);
    pthread_mutex_destroy(&eager->lock);
    free(eager->recent);
    free(eager);
    return status;
  }
  situ_eager_set_log_placement(eager, config && config->log_device_placement);
  eager->soft = config && config->allow_soft_placement;
  eager->checked = config && config->check_numerics;
  fork_register(&eager->fork, reset_after_fork, eager);
  *out = eager;
  return NULL;
}

/* Frees all compiled calls that are not running. */
static void drop_compiled(situ_eager *eager) {
  tape_gradient_clear(&eager->gradient_cache);
  memset(eager->recent, 0, sizeof *eager->recent * (size_t)schema_count());
  for (int i = 0; i < N_BUCKETS; i++) {
    struct compiled_call **link = &eager->buckets[i];
    while (*link) {
      struct compiled_call *compiled = *link;
      if (compiled->active) {
        link = &compiled->next;
        continue;
      }
      *link = compiled->next;
      compiled_call_destroy(compiled);
      eager->n_compiled--;
    }
  }
}

void situ_eager_release(situ_eager *eager) {
  if (!eager) return;
  fork_unregister(&eager->fork);
  drop_compiled(eager);
  compiled_call_log_free(eager->log_entries);
  resource_clear(&eager->resources);
  pthread_mutex_destroy(&eager->resources.lock);
  registry_release();
  pthread_mutex_destroy(&eager->lock);
  free(eager->recent);
  free(eager);
}

void situ_eager_set_log_placement(situ_eager *eager, bool on) {
  if (eager) eager->log = eager->services.logs = on;
}

situ_status situ_eager_log_op(situ_eager *eager, const char *op, situ_type type,
                              const char *device) {
  if (!eager || !op || !device) return INVALID("situ_eager_log_op: an argument is NULL.");
  const struct schema *schema = schema_find(op);
  int number = 0;
  if (!schema) return INVALID("situ_eager_log_op: unknown op '%s'.", op);
  TRY(situ_devices_find(device, &number));
  pthread_mutex_lock(&eager->lock);
  const situ_status status =
      eager->log
          ? compiled_call_log_op(schema, eager->devices->devices[number], type, &eager->log_entries)
          : NULL;
  pthread_mutex_unlock(&eager->lock);
  return status;
}

void situ_eager_set_soft_placement(situ_eager *eager, bool on) {
  if (!eager || eager->soft == on) return;
  pthread_mutex_lock(&eager->lock);
  eager->soft = on;
  drop_compiled(eager); /* they were placed with the other setting */
  pthread_mutex_unlock(&eager->lock);
}

void situ_eager_clear_cache(situ_eager *eager) {
  if (!eager) return;
  pthread_mutex_lock(&eager->lock);
  drop_compiled(eager);
  pthread_mutex_unlock(&eager->lock);
}

static situ_status check(const situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                         const int *count) {
  if (!eager || !call || !count || !outputs) return INVALID("situ_eager_run: an argument is NULL.");
  if (call->op < 0 || call->op >= schema_count())
    return INVALID("situ_eager_run: op %d does not exist.", call->op);
  if (call->n_inputs < 0 || call->n_attrs < 0 || (call->n_attrs && !call->attrs))
    return INVALID("situ_eager_run of '%s': %d inputs, and %d attributes at %p.",
                   schema_get(call->op)->op->name, call->n_inputs, call->n_attrs,
                   (const void *)call->attrs);
  for (int i = 0; i < call->n_inputs; i++)
    if (!call->inputs || !call->inputs[i])
      return INVALID("Input %d of %s is NULL.", i, schema_get(call->op)->op->name);
  return NULL;
}

/* Looks up a call in the hash table; compiles it if it is not found. */
static situ_status find_or_compile(situ_eager *eager, const situ_call *call, bool checked,
                                   const struct compiled_call_key *key,
                                   struct compiled_call **out) {
  struct compiled_call **bucket = &eager->buckets[compiled_call_hash(key) % N_BUCKETS];
  struct compiled_call *compiled = *bucket;
  while (compiled && !compiled_call_matches(compiled, key)) compiled = compiled->next;
  if (!compiled) {
    if (eager->n_compiled >= MAX_COMPILED) drop_compiled(eager);
    TRY(compiled_call_create(call, key, eager->devices, eager->soft, checked, &eager->services,
                             &compiled));
    compiled->next = *bucket;
    *bucket = compiled;
    eager->n_compiled++;
  }
  *out = eager->recent[call->op] = compiled;
  return NULL;
}

/* Finds or compiles a call. Must hold the lock. */
static situ_status find_compiled(situ_eager *eager, const situ_call *call,
                                 struct compiled_call **out) {
  struct compiled_call_key key;
  const bool checked = eager->checked || numerics_enabled();
  TRY(compiled_call_key(call, checked, &key));
  situ_status status = NULL;
  *out = eager->recent[call->op];
  if (!*out || !compiled_call_matches(*out, &key))
    status = find_or_compile(eager, call, checked, &key, out);
  compiled_call_key_free(&key);
  return !status && eager->log ? compiled_call_log(*out, &eager->log_entries) : status;
}

/* Runs a compiled call. Must hold the lock, which is released during calls that are not tiny. */
static situ_status run(situ_eager *eager, struct compiled_call *compiled,
                       situ_tensor *const *inputs, situ_tensor **outputs) {
  struct frame *frame = compiled_call_begin_run(compiled);
  if (!compiled->tiny) pthread_mutex_unlock(&eager->lock);
  const situ_status status = compiled_call_run(compiled, &frame, inputs, outputs);
  if (!compiled->tiny) pthread_mutex_lock(&eager->lock);
  compiled_call_end_run(compiled, frame);
  return status;
}

/* Returns whether an input is on a device but needed in host memory to plan the call. */
static bool needs_host_copy(const situ_call *call, int i) {
  const situ_tensor *input = call->inputs[i];
  if (!input->buffer->device) return false;
  const situ_op_port *port = schema_port(schema_get(call->op), i, call->n_inputs);
  return port && port->is_host;
}

static bool needs_host(const situ_call *call) {
  for (int i = 0; i < call->n_inputs; i++)
    if (needs_host_copy(call, i)) return true;
  return false;
}

/* Runs the call with host copies of such inputs. */
static situ_status run_with_copies(situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                                   int capacity, int *count) {
  situ_tensor **inputs = calloc((size_t)call->n_inputs, sizeof *inputs);
  situ_status status = inputs ? NULL : NO_MEMORY();
  for (int i = 0; i < call->n_inputs && !status; i++)
    if (needs_host_copy(call, i))
      status = tensor_host(call->inputs[i], &inputs[i]);
    else
      inputs[i] = situ_tensor_retain(call->inputs[i]);
  situ_call copied = *call;
  copied.inputs = inputs;
  if (!status) status = situ_eager_run(eager, &copied, outputs, capacity, count);
  for (int i = 0; i < call->n_inputs && inputs; i++) situ_tensor_release(inputs[i]);
  free(inputs);
  return status;
}

situ_status situ_eager_run(situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                           int capacity, int *count) {
  TRY(check(eager, call, outputs, count));
  if (needs_host(call)) return run_with_copies(eager, call, outputs, capacity, count);
  struct compiled_call *compiled = NULL;
  pthread_mutex_lock(&eager->lock);
  situ_status status = find_compiled(eager, call, &compiled);
  if (!status && compiled->program->n_fetches > capacity)
    status = INVALID("situ_eager_run: %s has %d outputs, but the capacity is %d.",
                     schema_get(call->op)->op->name, compiled->program->n_fetches, capacity);
  if (!status) {
    *count = compiled->program->n_fetches;
    for (int i = 0; i < *count; i++) outputs[i] = NULL;
    status = run(eager, compiled, call->inputs, outputs);
  }
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
  return tensor_copy(tensor, to, "copy", out);
}
