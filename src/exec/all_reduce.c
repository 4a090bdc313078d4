/* SPDX-License-Identifier: Apache-2.0
 * all_reduce.c: runs all-reduces through the collective library of a back end. */
#include "exec/frame.h"

static struct device *device_of(const struct frame *frame, int32_t command) {
  return frame->program->devices->devices[frame->program->commands[command].device];
}

situ_status all_reduce_prepare(struct frame *frame) {
  const struct program *program = frame->program;
  frame->all_reduces = ARENA_ARRAY(&frame->arena, struct frame_all_reduce, program->n_all_reduces);
  for (int32_t j = 0; j < program->n_all_reduces && !frame->arena.failed; j++) {
    const struct all_reduce *all_reduce = &program->all_reduces[j];
    void **devices = ARENA_ARRAY(&frame->arena, void *, all_reduce->n);
    frame->all_reduces[j].from = ARENA_ARRAY(&frame->arena, struct span, all_reduce->n);
    frame->all_reduces[j].to = ARENA_ARRAY(&frame->arena, struct span, all_reduce->n);
    if (frame->arena.failed) break;
    for (int32_t i = 0; i < all_reduce->n; i++)
      devices[i] = device_of(frame, all_reduce->commands[i])->handle;
    const struct comm *comm = device_of(frame, all_reduce->commands[0])->backend->comm;
    TRY(comm->open(devices, all_reduce->n, &frame->all_reduces[j].comm));
  }
  return frame->arena.failed ? NO_MEMORY() : NULL;
}

situ_status all_reduce_run(struct frame *frame, int32_t index, bool *is_last) {
  const struct program *program = frame->program;
  const struct plan_command *commands = program->commands;
  const struct all_reduce *all_reduce = &program->all_reduces[commands[index].launch];
  const struct frame_all_reduce *prepared = &frame->all_reduces[commands[index].launch];
  *is_last = index == all_reduce->commands[all_reduce->n - 1];
  if (!*is_last) return NULL;
  for (int32_t i = 0; i < all_reduce->n; i++) {
    const struct plan_command *part = &commands[all_reduce->commands[i]];
    prepared->from[i] = frame->slots[part->from];
    prepared->to[i] = frame->slots[part->to];
  }
  return device_of(frame, index)
      ->backend->comm->all_reduce(prepared->comm, commands[index].queue, prepared->from,
                                  prepared->to, all_reduce->count, all_reduce->type);
}
