/* SPDX-License-Identifier: Apache-2.0
 * joint.c: sums over devices that a library makes: their communicators, and a run of one. */
#include "exec/frame.h"

static struct device *device_of(const struct frame *frame, int32_t command) {
  return frame->program->devices->devices[frame->program->commands[command].device];
}

situ_status joint_prepare(struct frame *frame) {
  const struct program *program = frame->program;
  frame->joints = ARENA_ARRAY(&frame->arena, struct frame_joint, program->n_joints);
  for (int32_t j = 0; j < program->n_joints && !frame->arena.failed; j++) {
    const struct joint *joint = &program->joints[j];
    void **devices = ARENA_ARRAY(&frame->arena, void *, joint->n);
    frame->joints[j].from = ARENA_ARRAY(&frame->arena, struct span, joint->n);
    frame->joints[j].to = ARENA_ARRAY(&frame->arena, struct span, joint->n);
    if (frame->arena.failed) break;
    for (int32_t i = 0; i < joint->n; i++)
      devices[i] = device_of(frame, joint->commands[i])->handle;
    const struct comm *comm = device_of(frame, joint->commands[0])->backend->comm;
    TRY(comm->open(devices, joint->n, &frame->joints[j].comm));
  }
  return frame->arena.failed ? NO_MEMORY() : NULL;
}

situ_status joint_run(struct frame *frame, int32_t index, bool *is_last) {
  const struct program *program = frame->program;
  const struct plan_command *commands = program->commands;
  const struct joint *joint = &program->joints[commands[index].launch];
  const struct frame_joint *prepared = &frame->joints[commands[index].launch];
  *is_last = index == joint->commands[joint->n - 1];
  if (!*is_last) return NULL;
  for (int32_t i = 0; i < joint->n; i++) {
    const struct plan_command *part = &commands[joint->commands[i]];
    prepared->from[i] = frame->slots[part->from];
    prepared->to[i] = frame->slots[part->to];
  }
  return device_of(frame, index)
      ->backend->comm->all_reduce(prepared->comm, commands[index].queue, prepared->from,
                                  prepared->to, joint->count, joint->type);
}
