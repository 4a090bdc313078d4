/* SPDX-License-Identifier: Apache-2.0
 * functions.c: runs functions of a session's graph: each has a session of its own, which shares the
 * resources of the one it belongs to. */
#include <stdlib.h>

#include "api/session.h"
#include "schema/function.h"
#include "tensor/tensor.h"

/* The session of a function, made when it is first called. */
struct callee {
  struct callee *next;
  const struct function *function;
  situ_session *session;
};

static situ_status create(struct situ_session *session, const struct function *function,
                          struct callee **out) {
  struct callee *callee = calloc(1, sizeof *callee);
  if (!callee) return NO_MEMORY();
  const situ_config config = {.allow_soft_placement = session->soft};
  const situ_status status = situ_session_create(function->graph, &config, &callee->session);
  if (status) {
    free(callee);
    return status;
  }
  callee->function = function;
  callee->session->services = session->services;
  callee->session->services.context = callee->session;
  callee->next = session->callees;
  session->callees = callee;
  *out = callee;
  return NULL;
}

static situ_status find(struct situ_session *session, const struct function *function,
                        situ_session **out) {
  pthread_mutex_lock(&session->callee_lock);
  struct callee *callee = session->callees;
  while (callee && callee->function != function) callee = callee->next;
  const situ_status status = callee ? NULL : create(session, function, &callee);
  *out = callee ? callee->session : NULL;
  pthread_mutex_unlock(&session->callee_lock);
  return status;
}

situ_status functions_run(void *context, const struct function *function, situ_tensor *const *in,
                          situ_tensor **out) {
  situ_session *session = NULL;
  TRY(find(context, function, &session));
  struct asked asked = {.n_feeds = function->n_inputs,
                        .n_fetches = function->n_outputs,
                        .keep = true};
  asked.feeds = ARENA_ARRAY(&asked.arena, struct plan_feed, function->n_inputs + 1);
  asked.tensors = ARENA_ARRAY(&asked.arena, situ_tensor *, function->n_inputs + 1);
  asked.fetches = ARENA_ARRAY(&asked.arena, struct edge, function->n_outputs + 1);
  situ_status status = asked.arena.failed ? NO_MEMORY() : NULL;
  for (int i = 0; !status && i < function->n_inputs; i++) {
    const struct edge edge = {function->inputs[i].node, function->inputs[i].output};
    const struct device *device = in[i]->buffer->device;
    asked.tensors[i] = in[i];
    asked.feeds[i] = (struct plan_feed){.edge = edge,
                                        .type = in[i]->type,
                                        .shape = in[i]->shape,
                                        .tensor = in[i],
                                        .device = device ? device->number : 0};
  }
  for (int i = 0; !status && i < function->n_outputs; i++)
    asked.fetches[i] = (struct edge){function->outputs[i].node, function->outputs[i].output};
  if (!status) status = steps_run(session, &asked, out);
  arena_free(&asked.arena);
  return status;
}

void functions_close(struct situ_session *session) {
  for (struct callee *callee = session->callees; callee; callee = callee->next)
    situ_status_release(situ_session_close(callee->session));
}

void functions_release(struct situ_session *session) {
  while (session->callees) {
    struct callee *callee = session->callees;
    session->callees = callee->next;
    situ_session_release(callee->session);
    free(callee);
  }
}
