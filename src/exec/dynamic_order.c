/* SPDX-License-Identifier: Apache-2.0
 * dynamic_order.c: runs commands as they become ready. A host op that would block is skipped and
 * retried after others have made progress; if none did, the first of them blocks for a while. Calls
 * of functions of the program (OP_CALLS) may block on each other as well, in ways that only they
 * know: several that are ready run in a thread each. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "exec/host_op_call.h"
#include "schema/compute.h"

enum command_state { WAITING, RUNNING, DONE };
enum { POLL_NS = 20 * 1000 * 1000 };

struct scheduler {
  struct frame *frame;
  int32_t begin, end, n_left;
  unsigned char *states; /* per command */
  int32_t blocked;       /* the first host op that would have blocked, or -1 */
  struct wait_limit wait_limit;
  bool is_running; /* no command has failed */
  situ_status status;
  struct function_call *calls; /* calls in threads */
  pthread_mutex_t lock;        /* guards function_call.is_finished */
  pthread_cond_t finished;
};

/* A call of a function in a thread. */
struct function_call {
  struct function_call *next;
  struct scheduler *scheduler;
  int32_t command;
  pthread_t thread;
  struct host_op_call call;
  situ_status status;
  bool is_finished;
};

static const struct plan_command *command_of(const struct scheduler *scheduler, int32_t index) {
  return &scheduler->frame->program->commands[index];
}

static const struct node *node_of(const struct scheduler *scheduler, int32_t index) {
  return scheduler->frame->program->graph->nodes[command_of(scheduler, index)->node];
}

static bool is_function_call(const struct scheduler *scheduler, int32_t index) {
  return command_of(scheduler, index)->kind == COMMAND_HOST &&
         node_of(scheduler, index)->schema->op->flags & OP_CALLS;
}

static bool is_ready(const struct scheduler *scheduler, int32_t index) {
  const struct plan_command *command = command_of(scheduler, index);
  if (scheduler->states[index] != WAITING) return false;
  for (int32_t i = 0; i < command->n_dependencies; i++)
    if (scheduler->states[command->dependencies[i]] != DONE) return false;
  return true;
}

static void set_done(struct scheduler *scheduler, int32_t index) {
  scheduler->states[index] = DONE;
  scheduler->n_left--;
}

static void try_command(struct scheduler *scheduler, int32_t index, bool may_block) {
  scheduler->wait_limit = (struct wait_limit){.waits = may_block};
  scheduler->is_running = frame_try_command(scheduler->frame, index, &scheduler->status);
  if (!scheduler->wait_limit.would_block)
    set_done(scheduler, index);
  else if (scheduler->blocked < 0)
    scheduler->blocked = index;
}

/* Runs the ready commands except for calls of functions. */
static void run_ready(struct scheduler *scheduler) {
  const int32_t n_before = scheduler->n_left, may_block = scheduler->blocked;
  scheduler->blocked = -1;
  for (int32_t i = scheduler->begin; i < scheduler->end && scheduler->is_running; i++)
    if (is_ready(scheduler, i) && !is_function_call(scheduler, i))
      try_command(scheduler, i, i == may_block && !scheduler->calls);
  if (scheduler->n_left < n_before) scheduler->blocked = -1;
}

static void *compute_call(void *argument) {
  struct function_call *call = argument;
  struct scheduler *scheduler = call->scheduler;
  call->status = host_op_call_compute(scheduler->frame, &call->call);
  pthread_mutex_lock(&scheduler->lock);
  call->is_finished = true;
  pthread_cond_signal(&scheduler->finished);
  pthread_mutex_unlock(&scheduler->lock);
  return NULL;
}

static situ_status start_thread(struct scheduler *scheduler, struct function_call *call) {
  TRY(frame_begin_command(scheduler->frame, call->command));
  const int32_t host_op = command_of(scheduler, call->command)->launch;
  situ_status status = host_op_call_begin(scheduler->frame, host_op, &call->call);
  if (!status && pthread_create(&call->thread, NULL, compute_call, call))
    status = situ_status_create(SITU_RESOURCE_EXHAUSTED, "Cannot create a thread for a function.");
  if (status) host_op_call_end(&call->call);
  return status;
}

static situ_status start_call(struct scheduler *scheduler, int32_t index) {
  struct function_call *call = calloc(1, sizeof *call);
  if (!call) return NO_MEMORY();
  *call =
      (struct function_call){.next = scheduler->calls, .scheduler = scheduler, .command = index};
  const situ_status status = start_thread(scheduler, call);
  if (status) {
    free(call);
    return status;
  }
  scheduler->states[index] = RUNNING;
  scheduler->calls = call;
  return NULL;
}

/* Sets the error of a command unless an earlier one has failed. */
static void fail(struct scheduler *scheduler, int32_t index, situ_status status) {
  if (!status) return;
  scheduler->is_running = false;
  status = status_at_node(status, node_of(scheduler, index)->name);
  scheduler->status = status_first(scheduler->status, status);
}

/* Joins the thread of a call, stores its results and frees it. */
static void finish_call(struct scheduler *scheduler, struct function_call *call) {
  pthread_join(call->thread, NULL);
  situ_status status = call->status;
  if (!status) status = host_op_call_store(scheduler->frame, &call->call);
  if (!status) status = frame_finish_command(scheduler->frame, call->command);
  fail(scheduler, call->command, status);
  set_done(scheduler, call->command);
  host_op_call_end(&call->call);
  free(call);
}

/* Removes a finished call from the list; NULL if there is none. */
static struct function_call *take_finished(struct scheduler *scheduler) {
  struct function_call **link = &scheduler->calls;
  while (*link && !(*link)->is_finished) link = &(*link)->next;
  struct function_call *call = *link;
  if (call) *link = call->next;
  return call;
}

/* Waits for a call to finish, at most as long as the run may go without polling. */
static struct function_call *wait_for_call(struct scheduler *scheduler) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += POLL_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&scheduler->lock);
  struct function_call *call = take_finished(scheduler);
  if (!call) {
    pthread_cond_timedwait(&scheduler->finished, &scheduler->lock, &until);
    call = take_finished(scheduler);
  }
  pthread_mutex_unlock(&scheduler->lock);
  return call;
}

static void finish_calls(struct scheduler *scheduler) {
  struct function_call *call = wait_for_call(scheduler);
  if (call) finish_call(scheduler, call);
  if (frame_is_cancelled(scheduler->frame)) scheduler->is_running = false;
}

/* Counts the calls that are ready; *first is the first one. */
static int32_t count_ready_calls(const struct scheduler *scheduler, int32_t *first) {
  int32_t n = 0;
  for (int32_t i = scheduler->end - 1; i >= scheduler->begin; i--)
    if (is_function_call(scheduler, i) && is_ready(scheduler, i)) {
      n++;
      *first = i;
    }
  return n;
}

/* Starts the calls that are ready. A call on which everything else depends needs no thread. */
static void run_calls(struct scheduler *scheduler) {
  int32_t first = -1;
  const int32_t n = count_ready_calls(scheduler, &first);
  if (n == 1 && !scheduler->calls && scheduler->blocked < 0) {
    try_command(scheduler, first, true);
    return;
  }
  for (int32_t i = first; n && i < scheduler->end && scheduler->is_running; i++)
    if (is_function_call(scheduler, i) && is_ready(scheduler, i))
      fail(scheduler, i, start_call(scheduler, i));
  if (scheduler->calls) finish_calls(scheduler);
}

static void run_all(struct scheduler *scheduler) {
  while (scheduler->n_left && scheduler->is_running) {
    const int32_t n_before = scheduler->n_left;
    run_ready(scheduler);
    if (scheduler->n_left == n_before && scheduler->is_running) run_calls(scheduler);
  }
  while (scheduler->calls) finish_calls(scheduler);
}

bool dynamic_order_run(struct frame *frame, int32_t begin, int32_t end, situ_status *status) {
  struct scheduler scheduler = {.frame = frame,
                                .begin = begin,
                                .end = end,
                                .n_left = end - begin,
                                .blocked = -1,
                                .is_running = true};
  scheduler.states = calloc((size_t)frame->program->n_commands + 1, 1);
  if (!scheduler.states) {
    *status = NO_MEMORY();
    return false;
  }
  for (int32_t i = 0; i < begin; i++) scheduler.states[i] = DONE;
  pthread_mutex_init(&scheduler.lock, NULL);
  pthread_cond_init(&scheduler.finished, NULL);
  /* cppcheck-suppress autoVariables ; reset before the function returns */
  frame->wait_limit = &scheduler.wait_limit;
  run_all(&scheduler);
  frame->wait_limit = NULL;
  pthread_cond_destroy(&scheduler.finished);
  pthread_mutex_destroy(&scheduler.lock);
  free(scheduler.states);
  *status = scheduler.status;
  return scheduler.is_running;
}
