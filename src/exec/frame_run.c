/* SPDX-License-Identifier: Apache-2.0
 * frame_run.c: runs a frame: binds the feeds, executes the commands, collects the fetches. A
 * program of the host alone is a loop over bound calls; otherwise commands are enqueued on the
 * devices, and queues wait for each other by marks. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "exec/cost_log.h"
#include "exec/cancellation.h"
#include "graph/variable.h"
#include "host/call.h"
#include "schema/compute.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static struct device *device_of(const struct frame *frame, int32_t number) {
  return frame->program->devices->devices[number];
}

static situ_status bind_feeds(struct frame *frame, situ_tensor *const *feeds) {
  for (int32_t i = 0; i < frame->program->n_feeds; i++) {
    const int32_t slot = frame->program->feeds[i].slot;
    if (slot >= 0) TRY(frame_rebind(frame, slot, feeds[i]->buffer->span));
  }
  return NULL;
}

/* Whether the frame holds the only reference to a tensor and its buffer. */
static bool is_unshared(const situ_tensor *tensor) {
  return tensor && __atomic_load_n(&tensor->references, __ATOMIC_ACQUIRE) == 1 &&
         __atomic_load_n(&tensor->buffer->references, __ATOMIC_ACQUIRE) == 1;
}

/* Whether only the caller, and possibly the frame, has a reference to a feed, so that its buffer
 * can be donated. */
static bool is_donatable(const situ_tensor *feed, const situ_tensor *previous) {
  return __atomic_load_n(&feed->references, __ATOMIC_ACQUIRE) == 1 + (feed == previous) &&
         __atomic_load_n(&feed->buffer->references, __ATOMIC_ACQUIRE) == 1;
}

/* Selects the memory of a result: a donated feed, the result of the previous run if the caller
 * released it, or new memory. */
static situ_status prepare_result(struct frame *frame, int32_t index) {
  const int32_t donated_feed = frame->program->fetches[index].donated_feed;
  situ_tensor *previous = frame->results[index];
  situ_tensor *feed = donated_feed < 0 ? NULL : frame->feeds[donated_feed];
  if (feed && is_donatable(feed, previous)) {
    frame->results[index] = situ_tensor_retain(feed);
    situ_tensor_release(previous);
    return NULL;
  }
  return is_unshared(previous) ? NULL : frame_allocate_result(frame, index);
}

static situ_status prepare_results(struct frame *frame) {
  const struct program *program = frame->program;
  for (int32_t i = 0; i < program->n_fetches; i++) {
    const struct fetch *fetch = &program->fetches[i];
    if (fetch->slot < 0) continue;
    const struct slot *slot = &program->slots[fetch->slot];
    if (slot->kind != SLOT_RESULT || slot->index != i) continue;
    TRY(prepare_result(frame, i));
    TRY(frame_rebind(frame, fetch->slot, frame->results[i]->buffer->span));
  }
  return NULL;
}

/* Sets the error of the run: the devices skip the calls that they have not started. */
static void set_error(struct frame *frame, situ_status status) {
  situ_status none = NULL;
  if (!atomic_compare_exchange_strong(&frame->error, &none, status)) situ_status_release(status);
}

/* The reason to end the run that has come up while it waits. */
static situ_status ask_to_end(const struct frame *frame) {
  TRY(frame->cancellation ? cancellation_check(frame->cancellation) : NULL);
  return interrupt_check();
}

/* Waits until a queue reaches a mark and polls for cancellation meanwhile. A cancelled run skips
 * the calls that have not started and ends long ones, so the mark is reached soon. */
static situ_status wait_for_mark(struct frame *frame, struct device *device, int queue,
                                 uint64_t mark) {
  const struct backend *backend = device->backend;
  while (backend->reach && !backend->reach(device->handle, queue, mark, 0.02)) {
    const situ_status stop = ask_to_end(frame);
    if (stop) set_error(frame, stop);
  }
  return backend->sync(device->handle, queue, mark);
}

/* Waits for a command's waits: on the device if both queues belong to one back end, else in the
 * calling thread. */
static situ_status wait_for(struct frame *frame, const struct plan_command *command) {
  const struct program *program = frame->program;
  struct device *device = device_of(frame, command->device);
  for (int32_t w = 0; w < command->n_waits; w++) {
    const struct plan_command *on = &program->commands[command->waits[w]];
    struct device *other = device_of(frame, on->device);
    const uint64_t mark = frame->marks[command->waits[w]];
    if (!device->backend->is_host && other->backend == device->backend)
      TRY(device->backend->wait(device->handle, command->queue, other->handle, on->queue, mark));
    else
      TRY(wait_for_mark(frame, other, on->queue, mark));
  }
  return NULL;
}

static situ_status copy(struct frame *frame, const struct plan_command *command) {
  const struct program *program = frame->program;
  if (!command->bytes) return NULL;
  struct device *from = device_of(frame, program->slots[command->from].device);
  struct device *to = device_of(frame, program->slots[command->to].device);
  const struct span source = frame->slots[command->from], target = frame->slots[command->to];
  const bool from_host = from->backend->is_host, to_host = to->backend->is_host;
  char *host_source = (char *)source.region + source.offset;
  char *host_target = (char *)target.region + target.offset;
  if (from_host && to_host) {
    memcpy(host_target, host_source, command->bytes);
    return NULL;
  }
  if (from_host)
    return to->backend->write(to->handle, command->queue, target, host_source, command->bytes);
  if (to_host)
    return from->backend->read(from->handle, command->queue, host_target, source, command->bytes);
  return to->backend->peer(to->handle, command->queue, target, from->handle, source,
                           command->bytes);
}

/* Records the time at which the queue reaches this point. */
static situ_status stamp(struct frame *frame, const struct plan_command *command, int64_t *at) {
  const struct device *device = device_of(frame, command->device);
  if (device->backend->stamp) return device->backend->stamp(device->handle, command->queue, at);
  *at = trace_now();
  return NULL;
}

situ_status frame_finish_command(struct frame *frame, int32_t index) {
  const struct plan_command *command = &frame->program->commands[index];
  const struct device *device = device_of(frame, command->device);
  if (frame->times) TRY(stamp(frame, command, &frame->times[2 * index + 1]));
  if (command->signal)
    TRY(device->backend->mark(device->handle, command->queue, &frame->marks[index]));
  return NULL;
}

/* The commands of an all-reduce finish together, with the last one. */
static situ_status run_all_reduce(struct frame *frame, int32_t index) {
  bool is_last = false;
  TRY(all_reduce_run(frame, index, &is_last));
  if (!is_last) return NULL;
  const struct all_reduce *all_reduce =
      &frame->program->all_reduces[frame->program->commands[index].launch];
  for (int32_t i = 0; i < all_reduce->n; i++)
    TRY(frame_finish_command(frame, all_reduce->commands[i]));
  return NULL;
}

situ_status frame_begin_command(struct frame *frame, int32_t index) {
  const struct plan_command *command = &frame->program->commands[index];
  if (command->n_waits) TRY(wait_for(frame, command));
  return frame->times ? stamp(frame, command, &frame->times[2 * index]) : NULL;
}

static situ_status run_command(struct frame *frame, int32_t index) {
  const struct plan_command *command = &frame->program->commands[index];
  struct device *device = device_of(frame, command->device);
  TRY(frame_begin_command(frame, index));
  if (command->kind == COMMAND_ALL_REDUCE) return run_all_reduce(frame, index);
  if (command->kind == COMMAND_CALL)
    TRY(device->backend->launch(device->handle, command->queue, frame->calls[index]));
  if (command->kind == COMMAND_COPY) TRY(copy(frame, command));
  if (command->kind == COMMAND_HOST) TRY(host_ops_run(frame, command->launch));
  if (command->kind == COMMAND_CHECK_NUMERICS) TRY(numerics_check_counts(frame, command));
  return frame_finish_command(frame, index);
}

static const char *node_name(const struct frame *frame, int32_t index) {
  return frame->program->graph->nodes[frame->program->commands[index].node]->name;
}

/* Waits for all queues. Afterwards no device uses the frame's memory, even after errors. */
static situ_status drain(struct frame *frame) {
  situ_status status = NULL;
  for (int32_t i = 0; i < frame->program->n_lanes; i++) {
    struct device *device = device_of(frame, frame->program->lanes[i].device);
    if (device->backend->is_host || !device->handle) continue;
    for (int queue = 0; queue < N_QUEUES; queue++) {
      uint64_t mark = 0;
      situ_status next = device->backend->mark(device->handle, queue, &mark);
      if (!next) next = wait_for_mark(frame, device, queue, mark);
      status = status_first(status, next);
    }
  }
  return status;
}

bool frame_is_cancelled(struct frame *frame) {
  const situ_status stop =
      frame->cancellation ? cancellation_check_if_due(frame->cancellation) : NULL;
  if (stop) set_error(frame, stop);
  return stop != NULL;
}

/* The status of a command; Cancelled if it was interrupted, and its results are incomplete. */
static situ_status unless_interrupted(const struct frame *frame, situ_status status) {
  if (!frame->scope->interrupted) return status;
  situ_status_release(status);
  return interrupt_check();
}

bool frame_try_command(struct frame *frame, int32_t index, situ_status *status) {
  if (frame_is_cancelled(frame)) return false;
  *status = unless_interrupted(frame, run_command(frame, index));
  if (*status) *status = status_at_node(*status, node_name(frame, index));
  return !*status && !atomic_load_explicit(&frame->error, memory_order_relaxed);
}

/* Runs a range of commands in order. Returns false if the run must end. */
static bool run_in_order(struct frame *frame, int32_t from, int32_t to, situ_status *status) {
  for (int32_t i = from; i < to; i++)
    if (!frame_try_command(frame, i, status)) return false;
  return true;
}

/* Runs the commands before, in and after the range without a fixed order. */
static situ_status run_partly_in_order(struct frame *frame, int32_t from) {
  const struct program *program = frame->program;
  const int32_t begin = from > program->dynamic_begin ? from : program->dynamic_begin;
  const int32_t end = from > program->dynamic_end ? from : program->dynamic_end;
  situ_status status = NULL;
  if (run_in_order(frame, from, begin, &status) && dynamic_order_run(frame, begin, end, &status))
    run_in_order(frame, end, program->n_commands, &status);
  return status;
}

static situ_status run_devices(struct frame *frame, int32_t from) {
  situ_status status = NULL;
  if (frame->program->dynamic_order)
    status = run_partly_in_order(frame, from);
  else
    run_in_order(frame, from, frame->program->n_commands, &status);
  const situ_status drain_status = drain(frame);
  const situ_status error = atomic_exchange(&frame->error, NULL);
  return status_first(error, status_first(status, drain_status));
}

/* The hot loop of small programs: no waits and no queues. */
static situ_status run_host(struct frame *frame, int32_t from) {
  struct bound_kernel *const *calls = frame->calls;
  const int32_t n = frame->program->n_commands;
  struct cancellation *cancellation = frame->cancellation;
  for (int32_t i = from; i < n; i++) {
    if (cancellation && i > from) TRY(cancellation_check_if_due(cancellation));
    const bool is_call = calls[i] && !frame->times;
    const situ_status status = unless_interrupted(
        frame, is_call ? host_run((const struct host_call *)calls[i]) : run_command(frame, i));
    if (status) return status_at_node(status, node_name(frame, i));
  }
  return NULL;
}

/* Copies a computed constant to its result once; later runs return the same tensor. */
static situ_status copy_constant(struct frame *frame, int32_t index) {
  if (frame->results[index]) return NULL;
  TRY(frame_allocate_result(frame, index));
  const struct fetch *fetch = &frame->program->fetches[index];
  const struct span span = frame->slots[fetch->slot];
  situ_tensor *tensor = frame->results[index];
  if (tensor->bytes)
    memcpy(tensor->buffer->host, (const char *)span.region + span.offset, tensor->bytes);
  return NULL;
}

/* Creates the tensor of a fetch that shares memory with another result, a feed, a constant or the
 * output of a host op. It must be a new tensor: tapes identify tensors by address, and the output
 * of StopGradient must differ from its input. */
static situ_status share(const struct fetch *fetch, const situ_tensor *with, situ_tensor **out) {
  return tensor_reshape(with, shape_is_known(&fetch->shape) ? fetch->shape : with->shape, out);
}

static situ_status collect_fetch(struct frame *frame, situ_tensor *const *feeds, int32_t index,
                                 situ_tensor **out) {
  const struct fetch *fetch = &frame->program->fetches[index];
  if (fetch->slot < 0) return NULL;
  const struct slot *slot = &frame->program->slots[fetch->slot];
  if (slot->kind == SLOT_HOST_OUTPUT) return share(fetch, frame->host_outputs[fetch->slot], out);
  if (slot->kind == SLOT_FEED) return share(fetch, feeds[slot->index], out);
  if (slot->kind == SLOT_CONSTANT) return share(fetch, slot->constant, out);
  if (slot->kind == SLOT_RESULT && slot->index != index)
    return share(fetch, frame->results[slot->index], out);
  if (slot->kind == SLOT_BLOCK) TRY(copy_constant(frame, index));
  *out = situ_tensor_retain(frame->results[index]);
  return NULL;
}

/* The node to name in an error: the one that reads the variable for the slot's first reader. */
static const struct node *reader_of(const struct situ_graph *graph, const struct slot *slot) {
  const struct node *user = graph->nodes[slot->first_reader];
  for (int32_t i = 0; i < user->n_inputs; i++) {
    const struct node *from = graph->nodes[user->inputs[i].node];
    int32_t first = -1;
    if (!(from->schema->op->flags & OP_READS)) continue;
    const struct node *variable = variable_of(graph, from->inputs[0]);
    situ_status_release(variable ? variable_first(graph, variable, &first) : NULL);
    if (first == slot->node) return from;
  }
  return user;
}

/* TensorFlow's error messages for reference and resource variables. */
static situ_status uninitialized_error(const struct situ_graph *graph, const struct slot *slot) {
  const struct node *variable = graph->nodes[slot->node];
  const char *name = variable_name(variable);
  if (variable->outputs[0].type != SITU_RESOURCE)
    return status_at_node(situ_status_create(SITU_FAILED_PRECONDITION,
                                             "Attempting to use uninitialized value %s", name),
                          name);
  return status_at_node(
      situ_status_create(SITU_FAILED_PRECONDITION,
                         "Error while reading resource variable %s from Container: localhost. This "
                         "could mean that the variable was uninitialized. Not found: Resource "
                         "localhost/%s/N10tensorflow3VarE does not exist.",
                         name, name),
      reader_of(graph, slot)->name);
}

/* The program was compiled for the shape that its graph declares. */
static situ_status shape_error(const struct situ_graph *graph, const struct slot *slot) {
  const struct node *variable = graph->nodes[slot->node];
  char shape[256];
  return status_at_node(
      INVALID("A session of another graph assigned variable '%s' a value of another shape; in this "
              "graph it has shape %s. Initialize it in this session, or declare it with the "
              "assigned shape.",
              variable_name(variable), shape_print_python(variable_shape(variable), shape)),
      reader_of(graph, slot)->name);
}

/* The slot of a feed, or NULL if nothing reads it. */
static const struct slot *slot_of_feed(const struct frame *frame, int32_t index) {
  const int32_t slot = frame->program->feeds[index].slot;
  return slot < 0 ? NULL : &frame->program->slots[slot];
}

/* Fails if the body of a function reads a variable of the caller that is not initialized. */
static situ_status check_lent_variables(const struct frame *frame, situ_tensor *const *feeds) {
  for (int32_t i = 0; i < frame->program->n_feeds; i++) {
    const struct buffer *buffer = feeds[i]->buffer;
    if (!buffer->is_variable || buffer->is_assigned) continue;
    const struct slot *slot = slot_of_feed(frame, i);
    if (slot && slot->read_before_write) return uninitialized_error(frame->program->graph, slot);
  }
  return NULL;
}

/* Fails if the run reads a variable that is not initialized. */
static situ_status check_states(const struct frame *frame) {
  for (int32_t i = 0; i < frame->n_states; i++) {
    const struct bound_variable *variable = &frame->states[i];
    if (!variable->slot->read_before_write || variable->entry->ready) continue;
    if (state_current(variable->entry) != variable->entry)
      return shape_error(frame->program->graph, variable->slot);
    return uninitialized_error(frame->program->graph, variable->slot);
  }
  return NULL;
}

static void mark_assigned(const struct frame *frame) {
  for (int32_t i = 0; i < frame->n_states; i++)
    if (frame->states[i].slot->written) state_set(frame->state, frame->states[i].entry);
  for (int32_t i = 0; i < frame->program->n_feeds; i++) {
    const struct slot *slot = slot_of_feed(frame, i);
    if (slot && slot->written) frame->feeds[i]->buffer->is_assigned = true;
  }
}

static situ_status run_commands(struct frame *frame) {
  const int32_t from = frame->constants_ready ? frame->program->n_once : 0;
  return frame->program->host_only ? run_host(frame, from) : run_devices(frame, from);
}

/* Runs the commands with cancellation, deadline and profiling. */
static situ_status run_cancellable(struct frame *frame, struct cancellation *cancellation) {
  frame->cancellation = cancellation;
  situ_status status =
      cancellation->trace || cancellation->global_trace ? cancellation_start_timing(frame) : NULL;
  if (!status) status = run_commands(frame);
  if (!status) status = cancellation_check_deadline(cancellation);
  if (frame->times) cancellation_record_times(frame);
  frame->cancellation = NULL;
  return status;
}

static situ_status run(struct frame *frame, situ_tensor **results) {
  const struct program *program = frame->program;
  TRY(prepare_results(frame));
  struct cancellation tracing = {.global_trace =
                                     atomic_load_explicit(&global_trace, memory_order_relaxed)};
  struct cancellation *cancellation = cancellation_current   ? cancellation_current
                                      : tracing.global_trace ? &tracing
                                                             : NULL;
  if (tracing.global_trace) cancellation_begin(&tracing);
  situ_status status = cancellation ? run_cancellable(frame, cancellation) : run_commands(frame);
  if (status) return status;
  frame->constants_ready = true;
  if (cost_log_is_enabled()) cost_log_add_run(frame);
  mark_assigned(frame);
  for (int32_t i = 0; i < program->n_fetches && !status; i++) {
    results[i] = NULL;
    status = collect_fetch(frame, frame->feeds, i, &results[i]);
  }
  for (int32_t i = 0; i < program->n_fetches && status; i++) {
    situ_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status;
}

situ_status frame_run(struct frame *frame, situ_tensor *const *feeds, situ_tensor **results) {
  TRY(check_states(frame));
  TRY(check_lent_variables(frame, feeds));
  TRY(bind_feeds(frame, feeds));
  frame->feeds = feeds;
  struct interrupt_scope scope;
  frame->scope = interrupt_enter(&scope, NULL);
  const situ_status status = run(frame, results);
  interrupt_leave(&scope);
  if (frame->program->n_host_ops) host_ops_release_outputs(frame);
  return status;
}
