/* SPDX-License-Identifier: Apache-2.0
 * frame_run.c: runs a frame: binds the feeds, executes the commands, collects the fetches. */
#include <stdlib.h>
#include <string.h>

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

static situ_status hand_in(struct frame *frame, situ_tensor *const *fed) {
  for (int32_t i = 0; i < frame->program->n_feeds; i++) {
    const int32_t slot = frame->program->feeds[i].slot;
    if (slot >= 0) TRY(frame_move(frame, slot, fed[i]->buffer->span));
  }
  return NULL;
}

/* Whether nobody but the frame has the tensor any more. */
static bool is_ours(const situ_tensor *tensor) {
  return tensor && __atomic_load_n(&tensor->references, __ATOMIC_ACQUIRE) == 1 &&
         __atomic_load_n(&tensor->buffer->references, __ATOMIC_ACQUIRE) == 1;
}

/* Whether nobody but the caller, and perhaps the frame, has a tensor that is fed. */
static bool is_given(const situ_tensor *fed, const situ_tensor *kept) {
  return __atomic_load_n(&fed->references, __ATOMIC_ACQUIRE) == 1 + (fed == kept) &&
         __atomic_load_n(&fed->buffer->references, __ATOMIC_ACQUIRE) == 1;
}

/* Memory for a result: that of a feed, if it may be taken; what an earlier run gave, when it has
 * come back; or new memory. */
static situ_status make_result(struct frame *frame, int32_t index) {
  const int32_t donated_feed = frame->program->fetches[index].donated_feed;
  situ_tensor *kept = frame->results[index],
              *fed = donated_feed < 0 ? NULL : frame->fed[donated_feed];
  if (fed && is_given(fed, kept)) {
    frame->results[index] = situ_tensor_retain(fed);
    situ_tensor_release(kept);
    return NULL;
  }
  return is_ours(kept) ? NULL : frame_new_result(frame, index);
}

/* Memory for the results that commands write. */
static situ_status make_results(struct frame *frame) {
  const struct program *program = frame->program;
  for (int32_t i = 0; i < program->n_fetches; i++) {
    const struct fetch *fetch = &program->fetches[i];
    if (fetch->slot < 0) continue;
    const struct slot *slot = &program->slots[fetch->slot];
    if (slot->kind != SLOT_RESULT || slot->index != i) continue;
    TRY(make_result(frame, i));
    TRY(frame_move(frame, fetch->slot, frame->results[i]->buffer->span));
  }
  return NULL;
}

/* Makes the devices leave out what they have not begun. */
static void fail(struct frame *frame, situ_status status) {
  situ_status none = NULL;
  if (!atomic_compare_exchange_strong(&frame->error, &none, status)) situ_status_release(status);
}

/* Waits for a mark of a queue. Whoever watches the run is asked meanwhile: when it has to end, the
 * devices leave out what they have not begun, and the mark is soon reached. */
static situ_status settle(struct frame *frame, struct device *device, int queue, uint64_t mark) {
  const struct backend *backend = device->backend;
  while (frame->cancellation && backend->reach &&
         !backend->reach(device->handle, queue, mark, 0.02)) {
    const situ_status stop = cancellation_check(frame->cancellation);
    if (stop) fail(frame, stop);
  }
  return backend->sync(device->handle, queue, mark);
}

/* Waits until the commands of other queues that a command needs are done, as cheaply as their back
 * ends allow. */
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
      TRY(settle(frame, other, on->queue, mark));
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

/* Has the time written down at which a command begins or ends. */
static situ_status stamp(struct frame *frame, const struct plan_command *command, int64_t *at) {
  const struct device *device = device_of(frame, command->device);
  if (device->backend->stamp) return device->backend->stamp(device->handle, command->queue, at);
  *at = trace_now();
  return NULL;
}

/* Ends a command: notes the time, and lets others wait for it. */
static situ_status conclude(struct frame *frame, int32_t index) {
  const struct plan_command *command = &frame->program->commands[index];
  const struct device *device = device_of(frame, command->device);
  if (frame->times) TRY(stamp(frame, command, &frame->times[2 * index + 1]));
  if (command->signal)
    TRY(device->backend->mark(device->handle, command->queue, &frame->marks[index]));
  return NULL;
}

/* Parts of a joint sum are done when the last one is. */
static situ_status reduce(struct frame *frame, int32_t index) {
  bool is_last = false;
  TRY(all_reduce_run(frame, index, &is_last));
  if (!is_last) return NULL;
  const struct all_reduce *all_reduce =
      &frame->program->all_reduces[frame->program->commands[index].launch];
  for (int32_t i = 0; i < all_reduce->n; i++) TRY(conclude(frame, all_reduce->commands[i]));
  return NULL;
}

static situ_status step(struct frame *frame, int32_t index) {
  const struct plan_command *command = &frame->program->commands[index];
  struct device *device = device_of(frame, command->device);
  if (command->n_waits) TRY(wait_for(frame, command));
  if (frame->times) TRY(stamp(frame, command, &frame->times[2 * index]));
  if (command->kind == COMMAND_REDUCE) return reduce(frame, index);
  if (command->kind == COMMAND_CALL)
    TRY(device->backend->launch(device->handle, command->queue, frame->calls[index]));
  if (command->kind == COMMAND_COPY) TRY(copy(frame, command));
  if (command->kind == COMMAND_HOST) TRY(host_ops_run(frame, command->launch));
  if (command->kind == COMMAND_LOOK) TRY(numerics_check_counts(frame, command));
  return conclude(frame, index);
}

static const char *node_name(const struct frame *frame, int32_t index) {
  return frame->program->graph->nodes[frame->program->commands[index].node]->name;
}

/* Waits for everything that was queued; nothing of the frame is in use afterwards, whatever
 * happened. */
static situ_status drain(struct frame *frame) {
  situ_status status = NULL;
  for (int32_t i = 0; i < frame->program->n_lanes; i++) {
    struct device *device = device_of(frame, frame->program->lanes[i].device);
    if (device->backend->is_host || !device->handle) continue;
    for (int queue = 0; queue < N_QUEUES; queue++) {
      uint64_t mark = 0;
      situ_status next = device->backend->mark(device->handle, queue, &mark);
      if (!next) next = settle(frame, device, queue, mark);
      status = status_first(status, next);
    }
  }
  return status;
}

/* A command of a run under eyes; false: the run is to end. */
static bool try_step(struct frame *frame, int32_t index, situ_status *status) {
  const situ_status stop =
      frame->cancellation ? cancellation_check_if_due(frame->cancellation) : NULL;
  if (stop) fail(frame, stop);
  if (stop) return false;
  *status = step(frame, index);
  if (*status) *status = status_at_node(*status, node_name(frame, index));
  return !*status && !atomic_load_explicit(&frame->error, memory_order_relaxed);
}

static situ_status walk_in_order(struct frame *frame, int32_t from) {
  situ_status status = NULL;
  for (int32_t i = from; i < frame->program->n_commands; i++)
    if (!try_step(frame, i, &status)) break;
  return status;
}

static bool is_ready(const struct plan_command *command, const bool *done) {
  for (int32_t i = 0; i < command->n_needs; i++)
    if (!done[command->needs[i]]) return false;
  return true;
}

/* Host ops that have to wait are left, and tried again when others have done something. When nobody
 * could do anything, the first of them waits a while, and all are tried again. */
static situ_status walk_freely(struct frame *frame, int32_t from) {
  const int32_t n = frame->program->n_commands;
  bool *done = calloc((size_t)n + 1, sizeof *done), going = true;
  if (!done) return NO_MEMORY();
  situ_status status = NULL;
  struct patience patience;
  int32_t left = n - from, waiting = -1;
  for (int32_t i = 0; i < from; i++) done[i] = true;
  /* cppcheck-suppress autoVariables ; it is taken back at the end */
  frame->patience = &patience;
  while (left && going && !status) {
    const int32_t before = left, patient = waiting;
    waiting = -1;
    for (int32_t i = from; i < n && going; i++) {
      if (done[i] || !is_ready(&frame->program->commands[i], done)) continue;
      patience = (struct patience){.waits = i == patient};
      going = try_step(frame, i, &status);
      if (patience.turned_away && waiting < 0) waiting = i;
      done[i] = !patience.turned_away;
      left -= done[i];
    }
    if (left < before) waiting = -1;
  }
  frame->patience = NULL;
  free(done);
  return status;
}

static situ_status walk_devices(struct frame *frame, int32_t from) {
  situ_status status =
      frame->program->free_order ? walk_freely(frame, from) : walk_in_order(frame, from);
  const situ_status kernel = NULL;
  const situ_status after = drain(frame);
  situ_status failed = atomic_exchange(&frame->error, kernel);
  return status_first(failed, status_first(status, after));
}

/* The loop that small programs spend their time in: no waits, no queues. */
static situ_status walk_host(struct frame *frame, int32_t from) {
  struct bound_kernel *const *calls = frame->calls;
  const int32_t n = frame->program->n_commands;
  struct cancellation *cancellation = frame->cancellation;
  for (int32_t i = from; i < n; i++) {
    if (cancellation && i > from) TRY(cancellation_check_if_due(cancellation));
    const bool is_call = calls[i] && !frame->times;
    const situ_status status =
        is_call ? host_run((const struct host_call *)calls[i]) : step(frame, i);
    if (status) return status_at_node(status, node_name(frame, i));
  }
  return NULL;
}

/* A fetched constant that was computed: copied out once, the same tensor ever after. */
static situ_status keep_constant(struct frame *frame, int32_t index) {
  if (frame->results[index]) return NULL;
  TRY(frame_new_result(frame, index));
  const struct fetch *fetch = &frame->program->fetches[index];
  const struct span span = frame->slots[fetch->slot];
  situ_tensor *tensor = frame->results[index];
  if (tensor->bytes)
    memcpy(tensor->buffer->host, (const char *)span.region + span.offset, tensor->bytes);
  return NULL;
}

/* The tensor for a fetch that shares memory with another result, a feed, a constant or what a host
 * op made, whose shape is known only then. It is a tensor of its own: a tape tells tensors apart by
 * who made them, and what goes through a StopGradient is not what came in. */
static situ_status share(const struct fetch *fetch, const situ_tensor *with, situ_tensor **out) {
  return tensor_reshape(with, shape_is_known(&fetch->shape) ? fetch->shape : with->shape, out);
}

static situ_status hand_out(struct frame *frame, situ_tensor *const *fed, int32_t index,
                            situ_tensor **out) {
  const struct fetch *fetch = &frame->program->fetches[index];
  if (fetch->slot < 0) return NULL;
  const struct slot *slot = &frame->program->slots[fetch->slot];
  if (slot->kind == SLOT_MADE) return share(fetch, frame->made[fetch->slot], out);
  if (slot->kind == SLOT_FEED) return share(fetch, fed[slot->index], out);
  if (slot->kind == SLOT_CONSTANT) return share(fetch, slot->constant, out);
  if (slot->kind == SLOT_RESULT && slot->index != index)
    return share(fetch, frame->results[slot->index], out);
  if (slot->kind == SLOT_BLOCK) TRY(keep_constant(frame, index));
  *out = situ_tensor_retain(frame->results[index]);
  return NULL;
}

/* The node that reads a variable for the one that needs its value: itself, or its input. */
static const struct node *reader_of(const struct situ_graph *graph, const struct slot *slot) {
  const struct node *user = graph->nodes[slot->reader];
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

/* The words are TensorFlow's, of each kind of variable. */
static situ_status not_set(const struct situ_graph *graph, const struct slot *slot) {
  const struct node *variable = graph->nodes[slot->node];
  const char *name = variable->name;
  if (variable->outputs[0].type != SITU_RESOURCE)
    return status_at_node(situ_status_create(SITU_FAILED_PRECONDITION,
                                             "Attempting to use uninitialized value %s", name),
                          name);
  name = variable_name(variable);
  return status_at_node(
      situ_status_create(SITU_FAILED_PRECONDITION,
                         "Error while reading resource variable %s from Container: localhost. This "
                         "could mean that the variable was uninitialized. Not found: Resource "
                         "localhost/%s/N10tensorflow3VarE does not exist.",
                         name, name),
      reader_of(graph, slot)->name);
}

/* The program was planned for the shape that its graph declares. */
static situ_status other_shape(const struct situ_graph *graph, const struct slot *slot) {
  const struct node *variable = graph->nodes[slot->node];
  char shape[256];
  return status_at_node(
      INVALID("Variable '%s' has the shape that a session of another graph has assigned; in this "
              "graph it has shape %s. Initialize it here, or declare it with that shape.",
              variable_name(variable), shape_print_python(variable_shape(variable), shape)),
      reader_of(graph, slot)->name);
}

/* Variables must have a value before a run may read them. */
static situ_status check_states(const struct frame *frame) {
  for (int32_t i = 0; i < frame->n_states; i++) {
    const struct held_state *held = &frame->states[i];
    if (!held->slot->needs || held->entry->ready) continue;
    if (state_holder(held->entry) != held->entry)
      return other_shape(frame->program->graph, held->slot);
    return not_set(frame->program->graph, held->slot);
  }
  return NULL;
}

static void mark_states(const struct frame *frame) {
  for (int32_t i = 0; i < frame->n_states; i++)
    if (frame->states[i].slot->sets) state_set(frame->state, frame->states[i].entry);
}

static situ_status walk(struct frame *frame) {
  const int32_t from = frame->warm ? frame->program->n_once : 0;
  return frame->program->host_only ? walk_host(frame, from) : walk_devices(frame, from);
}

/* The same under the eyes of a watch. */
static situ_status walk_watched(struct frame *frame, struct cancellation *cancellation) {
  frame->cancellation = cancellation;
  situ_status status =
      cancellation->trace || cancellation->also ? cancellation_start_timing(frame) : NULL;
  if (!status) status = walk(frame);
  if (!status) status = cancellation_check_deadline(cancellation);
  if (frame->times) cancellation_record_times(frame);
  frame->cancellation = NULL;
  return status;
}

static situ_status run(struct frame *frame, situ_tensor **results) {
  const struct program *program = frame->program;
  TRY(make_results(frame));
  struct cancellation all = {.also = atomic_load_explicit(&global_trace, memory_order_relaxed)};
  struct cancellation *cancellation = cancellation_current ? cancellation_current
                                      : all.also           ? &all
                                                           : NULL;
  if (all.also) cancellation_begin(&all);
  situ_status status = cancellation ? walk_watched(frame, cancellation) : walk(frame);
  if (status) return status;
  frame->warm = true;
  if (cost_log_wanted()) cost_log_note(frame);
  mark_states(frame);
  for (int32_t i = 0; i < program->n_fetches && !status; i++) {
    results[i] = NULL;
    status = hand_out(frame, frame->fed, i, &results[i]);
  }
  for (int32_t i = 0; i < program->n_fetches && status; i++) {
    situ_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status;
}

situ_status frame_run(struct frame *frame, situ_tensor *const *fed, situ_tensor **results) {
  TRY(check_states(frame));
  TRY(hand_in(frame, fed));
  frame->fed = fed;
  const situ_status status = run(frame, results);
  if (frame->program->n_host_ops) host_ops_end(frame);
  return status;
}
