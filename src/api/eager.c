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

enum { MAX_COMPILED = 16384 };

struct situ_eager {
  pthread_mutex_t lock;
  struct fork_handler fork;
  const struct device_list *devices;
  bool log, soft, checked;
  struct program_cache compiled;         /* of struct compiled_call */
  struct cached_program **recent;        /* per op: the last call */
  struct compiled_call_log *log_entries; /* for deduplication */
  struct resources resources;
  struct services services;
  struct tape_gradient_cache gradient_cache;
};

struct tape_gradient_cache *eager_gradient_cache(situ_eager *eager) {
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

static void init_cache(situ_eager *eager) {
  eager->compiled = (struct program_cache){
      .capacity = MAX_COMPILED, .program_budget = 8 << 20, .destroy = compiled_call_destroy};
  memset(eager->recent, 0, sizeof *eager->recent * (size_t)schema_count());
}

/* In a forked child, calls of the parent's threads never finish. If one of them held the lock, the
 * tables may be inconsistent, so the child starts with empty ones. */
static void reset_after_fork(void *context) {
  situ_eager *eager = context;
  if (pthread_mutex_trylock(&eager->lock)) {
    init_cache(eager);
    eager->log_entries = NULL;
  }
  for (struct cached_program *cached = eager->compiled.newest; cached; cached = cached->older)
    pthread_mutex_init(&((struct compiled_call *)cached)->state.lock, NULL);
  if (tape_gradient_after_fork()) tape_gradient_init(&eager->gradient_cache);
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
  eager->recent = calloc((size_t)schema_count(), sizeof *eager->recent);
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
  init_cache(eager);
  tape_gradient_init(&eager->gradient_cache);
  situ_eager_set_log_placement(eager, config && config->log_device_placement);
  eager->soft = config && config->allow_soft_placement;
  eager->checked = config && config->check_numerics;
  fork_register(&eager->fork, reset_after_fork, eager);
  *out = eager;
  return NULL;
}

void situ_eager_release(situ_eager *eager) {
  if (!eager) return;
  fork_unregister(&eager->fork);
  program_cache_clear(&eager->gradient_cache.programs);
  program_cache_clear(&eager->compiled);
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
  pthread_mutex_unlock(&eager->lock);
  situ_eager_clear_cache(eager); /* they were placed with the other setting */
}

void situ_eager_clear_cache(situ_eager *eager) {
  if (!eager) return;
  tape_gradient_clear(&eager->gradient_cache);
  pthread_mutex_lock(&eager->lock);
  program_cache_clear(&eager->compiled);
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

/* Finds or compiles a call. Must hold the lock. */
static situ_status find_compiled(situ_eager *eager, const situ_call *call,
                                 struct compiled_call **out) {
  struct program_key key;
  const bool checked = eager->checked || numerics_enabled();
  struct cached_program **recent = &eager->recent[call->op];
  compiled_call_key(call, checked, &key);
  situ_status status = key.failed ? NO_MEMORY() : NULL;
  if (!status)
    *out = (struct compiled_call *)program_cache_find(&eager->compiled, &key, recent, NULL);
  if (!status && !*out) {
    status =
        compiled_call_create(call, eager->devices, eager->soft, checked, &eager->services, out);
    if (!status) status = program_cache_add(&eager->compiled, &key, recent, &(*out)->cached);
  }
  program_key_free(&key);
  return !status && eager->log ? compiled_call_log(*out, &eager->log_entries) : status;
}

/* Runs a compiled call. Must hold the lock, which is released during calls that are not tiny. */
static situ_status run(situ_eager *eager, struct compiled_call *compiled,
                       situ_tensor *const *inputs, situ_tensor **outputs) {
  struct frame *frame = program_cache_begin_run(&eager->compiled, &compiled->cached);
  if (!compiled->tiny) pthread_mutex_unlock(&eager->lock);
  const situ_status status = compiled_call_run(compiled, &frame, inputs, outputs);
  if (!compiled->tiny) pthread_mutex_lock(&eager->lock);
  program_cache_end_run(&eager->compiled, &compiled->cached, frame);
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
  if (!status && compiled->cached.program->n_fetches > capacity)
    status = INVALID("situ_eager_run: %s has %d outputs, but the capacity is %d.",
                     schema_get(call->op)->op->name, compiled->cached.program->n_fetches, capacity);
  if (!status) {
    *count = compiled->cached.program->n_fetches;
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
