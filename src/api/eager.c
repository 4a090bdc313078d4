/* SPDX-License-Identifier: Apache-2.0
 * eager.c: runs ops at once: a call is a graph of one node, compiled on first use and found again
 * by what makes it up. */
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

enum { N_BUCKETS = 4096, MAX_RECIPES = 16384 };

struct situ_eager {
  pthread_mutex_t lock;
  struct fork_handler fork;
  const struct device_list *devices;
  bool log, soft, checked;
  struct compiled_call *buckets[N_BUCKETS];
  struct compiled_call **recent; /* per op: the last one that was run */
  int n_recipes;
  struct compiled_call_log *said; /* what was logged */
  struct resources resources;
  struct services services;
  struct tape_gradient_cache *backward; /* compiled gradients */
};

struct tape_gradient_cache **eager_backward(situ_eager *eager) {
  return &eager->backward;
}

bool eager_logs(const situ_eager *eager) { return eager->log; }

situ_status eager_log_node(situ_eager *eager, const struct node *node, int32_t device) {
  if (!node->n_inputs) return NULL;
  const situ_type type = node->n_outputs ? node->outputs[0].type : SITU_NO_TYPE;
  pthread_mutex_lock(&eager->lock);
  const situ_status status =
      compiled_call_log_op(node->schema, eager->devices->devices[device], type, &eager->said);
  pthread_mutex_unlock(&eager->lock);
  return status;
}

bool eager_checks(const situ_eager *eager) { return eager->checked; }

/* In the child of a fork: calls that threads of the parent made are forgotten. Where one of them
 * held the lock, the tables may be half changed: the child compiles its calls again. */
static void in_child(void *context) {
  situ_eager *eager = context;
  if (pthread_mutex_trylock(&eager->lock)) {
    memset(eager->buckets, 0, sizeof eager->buckets);
    memset(eager->recent, 0, sizeof *eager->recent * (size_t)schema_count());
    eager->n_recipes = 0;
    eager->said = NULL;
  }
  for (int i = 0; i < N_BUCKETS; i++)
    for (struct compiled_call *compiled = eager->buckets[i]; compiled; compiled = compiled->next)
      pthread_mutex_init(&compiled->state.lock, NULL);
  if (tape_gradient_after_fork()) eager->backward = NULL;
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
  fork_register(&eager->fork, in_child, eager);
  *out = eager;
  return NULL;
}

/* Forgets compiled calls that nobody runs. */
static void forget(situ_eager *eager) {
  tape_gradient_clear(&eager->backward);
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
      eager->n_recipes--;
    }
  }
}

void situ_eager_release(situ_eager *eager) {
  if (!eager) return;
  fork_unregister(&eager->fork);
  forget(eager);
  compiled_call_log_free(eager->said);
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
  if (!schema) return INVALID("situ_eager_log_op: there is no op '%s'.", op);
  TRY(situ_devices_find(device, &number));
  pthread_mutex_lock(&eager->lock);
  const situ_status status =
      eager->log ? compiled_call_log_op(schema, eager->devices->devices[number], type, &eager->said)
                 : NULL;
  pthread_mutex_unlock(&eager->lock);
  return status;
}

void situ_eager_set_soft_placement(situ_eager *eager, bool on) {
  if (!eager || eager->soft == on) return;
  pthread_mutex_lock(&eager->lock);
  eager->soft = on;
  forget(eager); /* they were placed by the other rule */
  pthread_mutex_unlock(&eager->lock);
}

void situ_eager_clear_cache(situ_eager *eager) {
  if (!eager) return;
  pthread_mutex_lock(&eager->lock);
  forget(eager);
  pthread_mutex_unlock(&eager->lock);
}

static situ_status check(const situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                         const int *count) {
  if (!eager || !call || !count || !outputs) return INVALID("situ_eager_run: an argument is NULL.");
  if (call->op < 0 || call->op >= schema_count())
    return INVALID("situ_eager_run: there is no op number %d.", call->op);
  if (call->n_inputs < 0 || call->n_attrs < 0 || (call->n_attrs && !call->attrs))
    return INVALID("situ_eager_run of '%s': %d inputs, and %d attributes at %p.",
                   schema_get(call->op)->op->name, call->n_inputs, call->n_attrs,
                   (const void *)call->attrs);
  for (int i = 0; i < call->n_inputs; i++)
    if (!call->inputs || !call->inputs[i])
      return INVALID("Input %d of %s is NULL.", i, schema_get(call->op)->op->name);
  return NULL;
}

/* The compiled form of a call that differs from the last one of its op; made if there is none. */
static situ_status search(situ_eager *eager, const situ_call *call, bool checked,
                          const struct compiled_call_key *key, struct compiled_call **out) {
  struct compiled_call **bucket = &eager->buckets[compiled_call_hash(key) % N_BUCKETS];
  struct compiled_call *compiled = *bucket;
  while (compiled && !compiled_call_matches(compiled, key)) compiled = compiled->next;
  if (!compiled) {
    if (eager->n_recipes >= MAX_RECIPES) forget(eager);
    TRY(compiled_call_create(call, key, eager->devices, eager->soft, checked, &eager->services,
                             &compiled));
    compiled->next = *bucket;
    *bucket = compiled;
    eager->n_recipes++;
  }
  *out = eager->recent[call->op] = compiled;
  return NULL;
}

/* The compiled form of a call. Called with the lock. */
static situ_status find(situ_eager *eager, const situ_call *call, struct compiled_call **out) {
  struct compiled_call_key key;
  const bool checked = eager->checked || numerics_wanted();
  TRY(compiled_call_key(call, checked, &key));
  situ_status status = NULL;
  *out = eager->recent[call->op];
  if (!*out || !compiled_call_matches(*out, &key)) status = search(eager, call, checked, &key, out);
  compiled_call_key_free(&key);
  return !status && eager->log ? compiled_call_log(*out, &eager->said) : status;
}

/* Runs a compiled call. Called with the lock, which a call that takes its time lets go meanwhile.
 */
static situ_status run(situ_eager *eager, struct compiled_call *compiled,
                       situ_tensor *const *inputs, situ_tensor **outputs) {
  struct frame *frame = compiled_call_begin_run(compiled);
  if (!compiled->tiny) pthread_mutex_unlock(&eager->lock);
  const situ_status status = compiled_call_run(compiled, &frame, inputs, outputs);
  if (!compiled->tiny) pthread_mutex_lock(&eager->lock);
  compiled_call_end_run(compiled, frame);
  return status;
}

/* Whether an input lives on a device and is needed in host memory to plan the call. */
static bool is_out_of_reach(const situ_call *call, int i) {
  const situ_tensor *input = call->inputs[i];
  if (!input->buffer->device) return false;
  const struct port *port = schema_port(schema_get(call->op), i, call->n_inputs);
  return port && port->is_host;
}

static bool needs_host(const situ_call *call) {
  for (int i = 0; i < call->n_inputs; i++)
    if (is_out_of_reach(call, i)) return true;
  return false;
}

/* Runs the call with copies of such inputs. */
static situ_status run_with_copies(situ_eager *eager, const situ_call *call, situ_tensor **outputs,
                                   int capacity, int *count) {
  situ_tensor **inputs = calloc((size_t)call->n_inputs, sizeof *inputs);
  situ_status status = inputs ? NULL : NO_MEMORY();
  for (int i = 0; i < call->n_inputs && !status; i++)
    if (is_out_of_reach(call, i))
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
  situ_status status = find(eager, call, &compiled);
  if (!status && compiled->program->n_fetches > capacity)
    status = INVALID("%s has %d outputs, but there is room for %d.", schema_get(call->op)->op->name,
                     compiled->program->n_fetches, capacity);
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
