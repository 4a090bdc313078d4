/* SPDX-License-Identifier: Apache-2.0
 * frame.c: creates frames: allocates one block per device, maps slots to memory and binds the
 * kernel calls. */
#include "exec/frame.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

static struct device *device_of(const struct frame *frame, int32_t number) {
  return frame->program->devices->devices[number];
}

/* Whether the slot is alive in the lane's block at its peak. */
static bool is_live_at_peak(const struct lane *lane, const struct slot *slot) {
  return slot->kind == SLOT_BLOCK && slot->device == lane->device && slot->first >= 0 &&
         slot->first <= lane->peak_command && slot->last >= lane->peak_command;
}

/* The slot after `last` among those alive at the peak, by decreasing size; -1: none. */
static int32_t next_largest(const struct program *program, const struct lane *lane, int32_t last) {
  const struct slot *slots = program->slots;
  int32_t largest = -1;
  for (int32_t i = 0; i < program->n_slots; i++) {
    if (!is_live_at_peak(lane, &slots[i])) continue;
    const bool is_listed = last >= 0 && (slots[i].bytes > slots[last].bytes ||
                                         (slots[i].bytes == slots[last].bytes && i <= last));
    if (!is_listed && (largest < 0 || slots[i].bytes > slots[largest].bytes)) largest = i;
  }
  return largest;
}

/* Appends the largest values at the peak of the step to the allocator's out-of-memory report. */
static situ_status append_peak_report(const struct program *program, const struct lane *lane,
                                      situ_status status) {
  char bytes[32];
  status = status_note(status, "The step needs %s on this device. Its largest values at the peak:",
                       strbuf_format_bytes(lane->block_bytes, bytes));
  int32_t at = next_largest(program, lane, -1);
  for (int line = 0; at >= 0 && line < 5; line++) {
    const struct slot *slot = &program->slots[at];
    const struct node *node = program->graph->nodes[slot->node];
    status = status_note(status, "  %10s  %s (%s)%s", strbuf_format_bytes(slot->bytes, bytes),
                         node->name, node->schema->op->name, slot->output < 0 ? ", scratch" : "");
    at = next_largest(program, lane, at);
  }
  return status;
}

static situ_status allocate_block(struct frame *frame, int32_t number) {
  const struct program *program = frame->program;
  const struct lane *lane = &program->lanes[number];
  struct device *device = device_of(frame, lane->device);
  struct memory_tag tag = {.op = "the step"};
  if (lane->peak_slot >= 0) {
    const struct slot *slot = &program->slots[lane->peak_slot];
    const struct node *node = program->graph->nodes[slot->node];
    tag.op = node->name;
    if (slot->output >= 0) {
      tag.type = node->outputs[slot->output].type;
      tag.shape = lane->peak_shape;
    }
  }
  TRY(device_open(device));
  const situ_status status = buffer_device(device, lane->block_bytes, &tag, &frame->blocks[number]);
  if (!status) return NULL;
  return status_at_node(append_peak_report(program, lane, status), tag.op);
}

static struct buffer *block_of(const struct frame *frame, int32_t device) {
  for (int32_t i = 0; i < frame->program->n_lanes; i++)
    if (frame->program->lanes[i].device == device) return frame->blocks[i];
  return NULL;
}

static void map_slot(struct frame *frame, int32_t number) {
  const struct slot *slot = &frame->program->slots[number];
  struct span *span = &frame->slots[number];
  if (slot->kind == SLOT_BLOCK) {
    const struct buffer *block = block_of(frame, slot->device);
    if (block) *span = (struct span){block->span.region, block->span.offset + slot->offset};
  } else if (slot->kind == SLOT_CONSTANT) {
    *span = slot->constant->buffer->span;
  }
}

/* Variables outlive the frame. They are allocated before its blocks, so that freeing the blocks
 * leaves no hole before them. */
static situ_status map_states(struct frame *frame, struct state *state) {
  for (int32_t i = 0; i < frame->program->n_slots; i++) {
    const struct slot *slot = &frame->program->slots[i];
    struct state_entry *entry = NULL;
    if (slot->kind != SLOT_STATE) continue;
    TRY(state_find(state, frame->program, slot, &entry));
    frame->slots[i] = entry->buffer->span;
    if (slot->read_before_write || slot->written)
      frame->states[frame->n_states++] = (struct bound_variable){slot, entry};
  }
  return NULL;
}

situ_status frame_allocate_result(struct frame *frame, int32_t index) {
  const struct fetch *fetch = &frame->program->fetches[index];
  const struct slot *slot = &frame->program->slots[fetch->slot];
  const struct memory_tag tag = {.op = frame->program->graph->nodes[fetch->edge.node]->name,
                                 .type = fetch->type,
                                 .shape = fetch->shape};
  situ_tensor_release(frame->results[index]);
  frame->results[index] = NULL;
  struct buffer *buffer = NULL;
  TRY(buffer_device(device_of(frame, slot->device), slot->bytes, &tag, &buffer));
  return tensor_from_buffer(fetch->type, fetch->shape, buffer, &frame->results[index]);
}

/* Feeds and results are rebound in every run; calls are first bound to those of the first run. */
static situ_status map_feeds_and_results(struct frame *frame, situ_tensor *const *feeds) {
  const struct program *program = frame->program;
  for (int32_t i = 0; i < program->n_feeds; i++)
    if (program->feeds[i].slot >= 0) frame->slots[program->feeds[i].slot] = feeds[i]->buffer->span;
  for (int32_t i = 0; i < program->n_fetches; i++) {
    const int32_t number = program->fetches[i].slot;
    const struct slot *slot = number < 0 ? NULL : &program->slots[number];
    if (!slot || slot->kind != SLOT_RESULT || slot->index != i) continue;
    TRY(frame_allocate_result(frame, i));
    frame->slots[number] = frame->results[i]->buffer->span;
  }
  return NULL;
}

situ_status frame_rebind(struct frame *frame, int32_t slot, struct span span) {
  struct span *current = &frame->slots[slot];
  if (current->region == span.region && current->offset == span.offset) return NULL;
  *current = span;
  const struct program *program = frame->program;
  for (int32_t i = program->slots[slot].first_rebinding; i >= 0; i = program->rebindings[i].next) {
    const struct rebinding *rebinding = &program->rebindings[i];
    struct device *device = device_of(frame, program->commands[rebinding->command].device);
    TRY(device->backend->rebind(device->handle, frame->calls[rebinding->command], rebinding->arg,
                                span));
  }
  return NULL;
}

static situ_status bind_calls(struct frame *frame) {
  const struct program *program = frame->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind != COMMAND_CALL) continue;
    struct device *device = device_of(frame, command->device);
    const struct launch *launch = &program->launches[command->launch];
    TRY(status_at_node(device->backend->bind(device->handle, launch, frame->slots, &frame->arena,
                                             &frame->calls[i]),
                       launch->node));
    frame->calls[i]->error = &frame->error;
  }
  return NULL;
}

static situ_status init(struct frame *frame, struct state *state, situ_tensor *const *feeds) {
  const struct program *program = frame->program;
  struct arena *arena = &frame->arena;
  frame->slots = ARENA_ARRAY(arena, struct span, program->n_slots + 1);
  frame->blocks = ARENA_ARRAY(arena, struct buffer *, program->n_lanes + 1);
  frame->calls = ARENA_ARRAY(arena, struct bound_kernel *, program->n_commands + 1);
  frame->marks = ARENA_ARRAY(arena, uint64_t, program->host_only ? 1 : program->n_commands + 1);
  frame->results = ARENA_ARRAY(arena, situ_tensor *, program->n_fetches + 1);
  frame->states = ARENA_ARRAY(arena, struct bound_variable, program->n_states + 1);
  if (arena->failed) return NO_MEMORY();
  if (program->n_states) TRY(map_states(frame, state));
  for (int32_t i = 0; i < program->n_lanes; i++) TRY(allocate_block(frame, i));
  TRY(map_feeds_and_results(frame, feeds));
  for (int32_t i = 0; i < program->n_slots; i++) map_slot(frame, i);
  if (program->n_host_ops) TRY(host_ops_prepare(frame));
  if (program->n_checks) TRY(numerics_prepare_counts(frame));
  if (program->n_all_reduces) TRY(all_reduce_prepare(frame));
  return bind_calls(frame);
}

static uint64_t count_bytes(const struct frame *frame) {
  uint64_t bytes = 0;
  for (int32_t i = 0; i < frame->program->n_lanes; i++)
    if (frame->blocks[i]) bytes += frame->blocks[i]->bytes;
  for (int32_t i = 0; i < frame->program->n_fetches; i++)
    if (frame->results[i]) bytes += situ_tensor_bytes(frame->results[i]);
  return bytes;
}

situ_status frame_create(const struct program *program, struct state *state,
                         situ_tensor *const *feeds, struct frame **out) {
  struct frame *frame = calloc(1, sizeof *frame);
  if (!frame) return NO_MEMORY();
  frame->program = program;
  frame->state = state;
  const situ_status status = init(frame, state, feeds);
  if (status) {
    frame_destroy(frame);
    return status;
  }
  frame->bytes = count_bytes(frame);
  *out = frame;
  return NULL;
}

static void unbind_calls(struct frame *frame) {
  for (int32_t i = 0; i < frame->program->n_commands; i++) {
    if (!frame->calls[i]) continue;
    struct device *device = device_of(frame, frame->program->commands[i].device);
    if (device->backend->unbind) device->backend->unbind(device->handle, frame->calls[i]);
  }
}

void frame_destroy(struct frame *frame) {
  if (!frame) return;
  if (frame->calls) unbind_calls(frame);
  for (int32_t i = 0; frame->input_views && i < frame->program->n_views; i++)
    situ_tensor_release(frame->input_views[i]);
  for (int32_t i = 0; frame->results && i < frame->program->n_fetches; i++)
    situ_tensor_release(frame->results[i]);
  for (int32_t i = 0; frame->blocks && i < frame->program->n_lanes; i++)
    buffer_release(frame->blocks[i]);
  arena_free(&frame->arena);
  free(frame);
}
