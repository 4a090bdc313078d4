/* SPDX-License-Identifier: Apache-2.0
 * functions.c: runs functions of a session's graph. Each body is a graph with its own session, so
 * that it is placed once and compiled once per combination of shapes. The session shares the
 * resources of its owner. */
#include <stdlib.h>

#include "api/session.h"
#include "schema/function.h"
#include "schema/tensor_list.h"
#include "tensor/tensor.h"

/* The session of a function body, created on first use. */
struct callee {
  struct callee *next;
  situ_session *session;
};

static situ_status create(struct situ_session *session, const struct function *function,
                          struct callee **out) {
  struct callee *callee = calloc(1, sizeof *callee);
  if (!callee) return NO_MEMORY();
  const situ_config config = {.devices = {.cpu_devices = session->devices->n_cpus},
                              .allow_soft_placement = session->soft,
                              .check_numerics = session->checked,
                              .store = session->state.store,
                              .task = session->task};
  const situ_status status = situ_session_create(function->graph, &config, &callee->session);
  if (status) {
    free(callee);
    return status;
  }
  callee->session->is_inner = true;
  callee->session->log = session->log;
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
  while (callee && callee->session->graph != function->graph) callee = callee->next;
  const situ_status status = callee ? NULL : create(session, function, &callee);
  *out = callee ? callee->session : NULL;
  pthread_mutex_unlock(&session->callee_lock);
  return status;
}

static struct edge edge_of(situ_value value) { return (struct edge){value.node, value.output}; }

/* Builds the request of a body: fetches the outputs of the function, then the values to save on a
 * tape. */
static situ_status build_request(const struct function *function,
                                 const struct function_saved *saved, situ_tensor *const *in,
                                 struct run_request *out) {
  const int n_in = function->n_inputs, n_saved = saved ? saved->count : 0;
  const int n_out = function->n_outputs + n_saved;
  const bool few = n_in <= 8 && n_out <= 8;
  out->feeds = few ? out->few_feeds : ARENA_ARRAY(&out->arena, struct plan_feed, n_in + 1);
  out->tensors = few ? out->few_tensors : ARENA_ARRAY(&out->arena, situ_tensor *, n_in + 1);
  out->fetches = few ? out->few_fetches : ARENA_ARRAY(&out->arena, struct edge, n_out + 1);
  if (out->arena.failed) return NO_MEMORY();
  for (int i = 0; i < n_in; i++) {
    const struct device *device = in[i]->buffer->device;
    out->tensors[i] = in[i];
    out->feeds[i] = (struct plan_feed){.edge = edge_of(function->inputs[i]),
                                       .type = in[i]->type,
                                       .shape = in[i]->shape,
                                       .tensor = in[i],
                                       .device = device ? device->number : 0};
  }
  for (int i = 0; i < function->n_outputs; i++) out->fetches[i] = edge_of(function->outputs[i]);
  for (int i = 0; i < n_saved; i++)
    out->fetches[function->n_outputs + i] = edge_of(saved->values[i]);
  out->n_feeds = n_in;
  out->n_fetches = n_out;
  out->keep_on_device = true;
  return NULL;
}

/* Runs the body and stores saved values on a tape. */
static situ_status run_taped(situ_session *session, const struct function *function,
                             const struct function_saved *saved, struct run_request *request,
                             situ_tensor **out, situ_tensor **tape) {
  struct tensor_list *list = NULL;
  const int n = function->n_outputs, n_saved = saved ? saved->count : 0;
  TRY(tensor_list_create(n_saved, &list));
  situ_tensor **results = ARENA_ARRAY(&request->arena, situ_tensor *, n + n_saved + 1);
  situ_status status = results ? steps_run(session, request, results) : NO_MEMORY();
  for (int i = 0; i < n && !status; i++) out[i] = results[i];
  for (int i = 0; i < n_saved && !status; i++) list->items[i] = results[n + i];
  for (int i = 0; i < n_saved && !status; i++) status = tensor_own(&list->items[i]);
  if (!status) return tensor_list_tensor(list, tape);
  tensor_list_release(list);
  return status;
}

situ_status functions_run(void *context, const struct function *function, situ_tensor *const *in,
                          situ_tensor **out, situ_tensor **tape) {
  situ_session *session = NULL;
  TRY(find(context, function, &session));
  const struct function_saved *saved = tape ? function->saved : NULL;
  struct run_request request;
  request.arena = (struct arena){0};
  situ_status status = build_request(function, saved, in, &request);
  if (!status)
    status = tape ? run_taped(session, function, saved, &request, out, tape)
                  : steps_run(session, &request, out);
  arena_free(&request.arena);
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
