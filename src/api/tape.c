/* SPDX-License-Identifier: Apache-2.0
 * tape.c: records eager calls, and backpropagates from one custom gradient function to the next;
 * tape_gradient.c compiles the gradients of the calls in between (a segment). */
#include "api/tape.h"

#include <stdlib.h>
#include <string.h>

#include "situ/catalog.h"
#include "tensor/tensor.h"

situ_status situ_tape_create(situ_eager *eager, situ_tape **out) {
  if (!eager || !out) return INVALID("situ_tape_create: an argument is NULL.");
  *out = calloc(1, sizeof **out);
  if (!*out) return NO_MEMORY();
  (*out)->eager = eager;
  return NULL;
}

void situ_tape_reset(situ_tape *tape) {
  if (!tape) return;
  for (int32_t i = 0; i < tape->n_calls; i++) {
    const struct recorded_call *call = &tape->calls[i];
    for (int k = 0; k < call->n_in + call->n_out; k++) situ_tensor_release(call->tensors[k]);
    for (int k = 0; k < call->n_attrs; k++) situ_tensor_release(call->attrs[k].tensor);
    if (call->release) call->release(call->context);
  }
  for (int32_t i = 0; i < tape->n_tracked; i++) situ_tensor_release(tape->tracked[i].tensor);
  if (tape->slots) memset(tape->slots, 0, sizeof *tape->slots * (size_t)tape->n_slots);
  tape->n_calls = tape->n_tracked = 0;
  arena_free(&tape->arena);
}

void situ_tape_release(situ_tape *tape) {
  if (!tape) return;
  situ_tape_reset(tape);
  free(tape->calls);
  free(tape->tracked);
  free(tape->slots);
  free(tape);
}

/* ---- Tracked tensors ---- */

static uint32_t hash_key(const situ_tensor *tensor) {
  return (uint32_t)(((uint64_t)(uintptr_t)tensor * 0x9e3779b97f4a7c15u) >> 32);
}

/* Returns the slot of a tensor in the hash table, or the free slot for it. */
static int32_t *find_slot(const situ_tape *tape, const situ_tensor *tensor) {
  const uint32_t mask = (uint32_t)tape->n_slots - 1;
  uint32_t at = hash_key(tensor) & mask;
  while (tape->slots[at] && tape->tracked[tape->slots[at] - 1].tensor != tensor)
    at = (at + 1) & mask;
  return &tape->slots[at];
}

int32_t tape_find(const situ_tape *tape, const situ_tensor *tensor) {
  return tape->n_tracked ? *find_slot(tape, tensor) - 1 : -1;
}

static bool grow_slots(situ_tape *tape) {
  if (2 * (tape->n_tracked + 1) <= tape->n_slots) return true;
  const int32_t count = tape->n_slots ? 2 * tape->n_slots : 32;
  int32_t *slots = calloc((size_t)count, sizeof *slots);
  if (!slots) return false;
  free(tape->slots);
  tape->slots = slots;
  tape->n_slots = count;
  for (int32_t i = 0; i < tape->n_tracked; i++) *find_slot(tape, tape->tracked[i].tensor) = i + 1;
  return true;
}

/* Returns the array with space for one more item. */
static void *grow_array(void *items, int32_t count, int32_t *capacity, size_t size) {
  if (count < *capacity) return items;
  const int32_t more = *capacity ? 2 * *capacity : 16;
  void *larger = realloc(items, (size_t)more * size);
  if (larger) *capacity = more;
  return larger;
}

static situ_status track(situ_tape *tape, situ_tensor *tensor, int32_t call, int32_t output) {
  if (tape_find(tape, tensor) >= 0) return NULL;
  struct tracked *tracked =
      grow_array(tape->tracked, tape->n_tracked, &tape->tracked_capacity, sizeof *tracked);
  if (!tracked) return NO_MEMORY();
  tape->tracked = tracked;
  if (!grow_slots(tape)) return NO_MEMORY();
  tracked[tape->n_tracked] = (struct tracked){situ_tensor_retain(tensor), call, output};
  *find_slot(tape, tensor) = ++tape->n_tracked;
  return NULL;
}

situ_status situ_tape_watch(situ_tape *tape, situ_tensor *tensor) {
  if (!tape || !tensor) return INVALID("situ_tape_watch: an argument is NULL.");
  return track(tape, tensor, -1, 0);
}

bool situ_tape_depends(const situ_tape *tape, situ_tensor *const *inputs, int n_inputs) {
  for (int i = 0; tape && i < n_inputs; i++)
    if (tape_find(tape, inputs[i]) >= 0) return true;
  return false;
}

/* ---- Calls ---- */

/* Copies `count` items; NULL if there are none. */
static const void *copy_items(struct arena *arena, const void *items, int64_t count, size_t size) {
  char *copy = count > 0 ? ARENA_ARRAY(arena, char, count *(int64_t)size) : NULL;
  return copy ? memcpy(copy, items, (size_t)count * size) : NULL;
}

static bool copy_attr(struct arena *arena, const situ_attr *attr, situ_attr *out) {
  *out = *attr;
  out->name = arena_strndup(arena, attr->name, strlen(attr->name));
  if (attr->kind == SITU_ATTR_STRING || attr->kind == SITU_ATTR_FUNCTION)
    out->text = arena_strndup(arena, attr->text, strlen(attr->text));
  if (attr->kind == SITU_ATTR_INTS || attr->kind == SITU_ATTR_TYPES)
    out->integers = copy_items(arena, attr->integers, attr->integer, sizeof *attr->integers);
  if (attr->kind == SITU_ATTR_FLOATS)
    out->reals = copy_items(arena, attr->reals, attr->integer, sizeof *attr->reals);
  if (attr->kind == SITU_ATTR_SHAPES)
    out->shapes = copy_items(arena, attr->shapes, attr->integer, sizeof *attr->shapes);
  return !arena->failed;
}

static bool init_call(situ_tape *tape, struct recorded_call *recorded_call, const situ_call *call,
                      situ_tensor *const *outputs, int n_outputs) {
  struct arena *arena = &tape->arena;
  situ_tensor **tensors = ARENA_ARRAY(arena, situ_tensor *, call->n_inputs + n_outputs + 1);
  int32_t *from = ARENA_ARRAY(arena, int32_t, call->n_inputs + 1);
  situ_attr *attrs = ARENA_ARRAY(arena, situ_attr, call->n_attrs + 1);
  if (arena->failed) return false;
  for (int i = 0; i < call->n_attrs; i++)
    if (!copy_attr(arena, &call->attrs[i], &attrs[i])) return false;
  for (int i = 0; i < call->n_attrs; i++) {
    attrs[i].tensor = attrs[i].kind == SITU_ATTR_TENSOR ? attrs[i].tensor : NULL;
    situ_tensor_retain(attrs[i].tensor);
  }
  for (int i = 0; i < call->n_inputs; i++) {
    tensors[i] = situ_tensor_retain(call->inputs[i]);
    from[i] = tape_find(tape, call->inputs[i]);
  }
  for (int i = 0; i < n_outputs; i++) tensors[call->n_inputs + i] = situ_tensor_retain(outputs[i]);
  *recorded_call = (struct recorded_call){.op = call->op,
                                          .n_in = call->n_inputs,
                                          .n_out = n_outputs,
                                          .n_attrs = call->n_attrs,
                                          .attrs = attrs,
                                          .tensors = tensors,
                                          .from = from};
  return true;
}

static bool all_non_null(situ_tensor *const *tensors, int count) {
  if (count < 0 || (count && !tensors)) return false;
  for (int i = 0; i < count; i++)
    if (!tensors[i]) return false;
  return true;
}

static situ_status record_call(situ_tape *tape, const situ_call *call, situ_tensor *const *outputs,
                               int n_outputs, struct recorded_call **out) {
  *out = NULL;
  if (!tape || !call || !all_non_null(outputs, n_outputs) ||
      !all_non_null(call->inputs, call->n_inputs))
    return INVALID("situ_tape_record: an argument is NULL.");
  if (!situ_tape_depends(tape, call->inputs, call->n_inputs)) return NULL;
  struct recorded_call *calls =
      grow_array(tape->calls, tape->n_calls, &tape->call_capacity, sizeof *calls);
  if (!calls) return NO_MEMORY();
  tape->calls = calls;
  if (!init_call(tape, &calls[tape->n_calls], call, outputs, n_outputs)) return NO_MEMORY();
  *out = &calls[tape->n_calls++];
  for (int i = 0; i < n_outputs; i++) TRY(track(tape, outputs[i], tape->n_calls - 1, i));
  return NULL;
}

situ_status situ_tape_record(situ_tape *tape, const situ_call *call, situ_tensor *const *outputs,
                             int n_outputs) {
  struct recorded_call *recorded_call;
  if (call && (call->op < 0 || call->op >= situ_ops_count()))
    return INVALID("situ_tape_record: op %d does not exist.", call->op);
  return record_call(tape, call, outputs, n_outputs, &recorded_call);
}

situ_status situ_tape_record_function(situ_tape *tape, situ_tensor *const *inputs, int n_inputs,
                                      situ_tensor *const *outputs, int n_outputs,
                                      situ_tape_function function, void *context,
                                      void (*release)(void *context)) {
  const situ_call call = {.op = -1, .inputs = inputs, .n_inputs = n_inputs};
  struct recorded_call *recorded_call = NULL;
  const situ_status status = function ? record_call(tape, &call, outputs, n_outputs, &recorded_call)
                                      : INVALID("situ_tape_record_function: the function is NULL.");
  if (recorded_call) {
    recorded_call->function = function;
    recorded_call->context = context;
    recorded_call->release = release;
  } else if (release) {
    release(context);
  }
  return status;
}

/* ---- Gradients ---- */

/* Incoming gradients of tensors; a tensor may occur several times. */
struct gradient_list {
  situ_tensor **tensors, **gradients; /* gradients are retained; NULL: ones */
  int count, capacity;
};

struct backprop {
  situ_tape *tape;
  situ_tensor *const *sources;
  int n_sources;
  situ_tape *const *others;
  int n_others;
  struct gradient_list open, done; /* still to propagate; of sources */
};

/* Takes ownership of the gradient. */
static situ_status add_gradient(struct gradient_list *to, situ_tensor *tensor,
                                situ_tensor *gradient) {
  if (to->count == to->capacity) {
    const int more = to->capacity ? 2 * to->capacity : 8;
    situ_tensor **tensors = realloc(to->tensors, sizeof *tensors * (size_t)more);
    if (tensors) to->tensors = tensors;
    situ_tensor **gradients = realloc(to->gradients, sizeof *gradients * (size_t)more);
    if (gradients) to->gradients = gradients;
    if (!tensors || !gradients) {
      situ_tensor_release(gradient);
      return NO_MEMORY();
    }
    to->capacity = more;
  }
  to->tensors[to->count] = tensor;
  to->gradients[to->count++] = gradient;
  return NULL;
}

static void drop(struct gradient_list *gradient_list) {
  for (int i = 0; i < gradient_list->count; i++) situ_tensor_release(gradient_list->gradients[i]);
  free(gradient_list->tensors);
  free(gradient_list->gradients);
  *gradient_list = (struct gradient_list){0};
}

/* Sums the incoming gradients of a tensor; NULL if there are none. */
static situ_status sum_gradients(const struct backprop *j,
                                 const struct gradient_list *gradient_list, situ_tensor *tensor,
                                 situ_tensor **out) {
  struct gradient_list own = {0};
  situ_status status = NULL;
  *out = NULL;
  for (int i = 0; i < gradient_list->count && !status; i++)
    if (gradient_list->tensors[i] == tensor)
      status = add_gradient(&own, tensor, situ_tensor_retain(gradient_list->gradients[i]));
  if (!status && own.count)
    status =
        tape_gradient_run(j->tape, (int32_t[]){j->tape->n_calls, j->tape->n_calls}, own.tensors,
                          own.count, own.gradients, &tensor, 1, j->others, j->n_others, out, NULL);
  drop(&own);
  return status;
}

/* Returns the call that produced a tensor, or -1. */
static int32_t producer(const situ_tape *tape, const situ_tensor *tensor) {
  const int32_t at = tape_find(tape, tensor);
  return at < 0 ? -1 : tape->tracked[at].call;
}

/* Marks the calls before `end` that the tensors of `open` depend on. */
static void mark_needed(const situ_tape *tape, const struct gradient_list *open, int32_t end,
                        bool *needed) {
  memset(needed, 0, (size_t)end + 1);
  for (int i = 0; i < open->count; i++) {
    const int32_t call = producer(tape, open->tensors[i]);
    if (call >= 0 && call < end) needed[call] = true;
  }
  for (int32_t c = end - 1; c >= 0; c--)
    for (int i = 0; needed[c] && i < tape->calls[c].n_in; i++) {
      const int32_t from = tape->calls[c].from[i];
      if (from >= 0 && tape->tracked[from].call >= 0) needed[tape->tracked[from].call] = true;
    }
}

/* Finds the tensors at which the segment [first, end) stops: sources produced in it, and older
 * inputs. */
static situ_status find_segment_ends(const struct backprop *j, const bool *needed, int32_t first,
                                     int32_t end, struct gradient_list *ends) {
  const situ_tape *tape = j->tape;
  bool *seen = calloc((size_t)tape->n_tracked + 1, sizeof *seen);
  if (!seen) return NO_MEMORY();
  situ_status status = NULL;
  for (int i = 0; i < j->n_sources && !status; i++) {
    const int32_t at = tape_find(tape, j->sources[i]);
    if (at < 0 || seen[at] || tape->tracked[at].call < first || tape->tracked[at].call >= end)
      continue;
    seen[at] = true;
    status = add_gradient(ends, tape->tracked[at].tensor, NULL);
  }
  for (int32_t c = first; c < end && !status; c++)
    for (int i = 0; needed[c] && i < tape->calls[c].n_in && !status; i++) {
      const int32_t at = tape->calls[c].from[i];
      if (at < 0 || seen[at] || tape->tracked[at].call >= first) continue;
      seen[at] = true;
      status = add_gradient(ends, tape->tracked[at].tensor, NULL);
    }
  free(seen);
  return status;
}

/* Backpropagates through the segment [first, end). Afterwards `open` has older tensors only. */
static situ_status backprop_segment(struct backprop *j, const bool *needed, int32_t first,
                                    int32_t end) {
  struct gradient_list ends = {0}, starts = {0}, left = {0};
  situ_status status = find_segment_ends(j, needed, first, end, &ends);
  for (int i = 0; i < j->open.count && !status; i++) {
    const int32_t call = producer(j->tape, j->open.tensors[i]);
    struct gradient_list *to = call >= first && call < end ? &starts : &left;
    status = add_gradient(to, j->open.tensors[i], situ_tensor_retain(j->open.gradients[i]));
  }
  if (!status && starts.count && ends.count)
    status = tape_gradient_run(j->tape, (int32_t[]){first, end}, starts.tensors, starts.count,
                               starts.gradients, ends.tensors, ends.count, j->others, j->n_others,
                               ends.gradients, NULL);
  for (int i = 0; i < ends.count && !status; i++) {
    if (!ends.gradients[i]) continue;
    struct gradient_list *to = producer(j->tape, ends.tensors[i]) >= first ? &j->done : &left;
    status = add_gradient(to, ends.tensors[i], situ_tensor_retain(ends.gradients[i]));
  }
  drop(&ends);
  drop(&starts);
  drop(&j->open);
  j->open = left;
  return status;
}

static bool is_source(const struct backprop *j, const situ_tensor *tensor) {
  for (int s = 0; s < j->n_sources; s++)
    if (j->sources[s] == tensor) return true;
  return false;
}

/* Removes the outputs of a call from `open`; sources among them move to `done`. */
static situ_status pop_outputs(struct backprop *j, int32_t call) {
  struct gradient_list left = {0};
  situ_status status = NULL;
  for (int i = 0; i < j->open.count && !status; i++) {
    situ_tensor *tensor = j->open.tensors[i];
    const bool here = producer(j->tape, tensor) == call;
    if (here && !is_source(j, tensor)) continue;
    status =
        add_gradient(here ? &j->done : &left, tensor, situ_tensor_retain(j->open.gradients[i]));
  }
  drop(&j->open);
  j->open = left;
  return status;
}

static situ_status call_function(struct backprop *j, int32_t number) {
  const struct recorded_call call = j->tape->calls[number];
  situ_tensor **parts = calloc((size_t)(call.n_in + call.n_out) + 1, sizeof *parts);
  situ_tensor **dys = parts + call.n_in;
  situ_status status = parts ? NULL : NO_MEMORY();
  bool any = false;
  for (int i = 0; i < call.n_out && !status; i++) {
    status = sum_gradients(j, &j->open, call.tensors[call.n_in + i], &dys[i]);
    any = any || dys[i];
  }
  if (!status) status = pop_outputs(j, number);
  if (!status && any) status = call.function(call.context, dys, call.n_out, parts, call.n_in);
  for (int i = 0; i < call.n_in && !status; i++)
    if (parts[i] && call.from[i] >= 0)
      status = add_gradient(&j->open, call.tensors[i], situ_tensor_retain(parts[i]));
  for (int i = 0; parts && i < call.n_in + call.n_out; i++) situ_tensor_release(parts[i]);
  free(parts);
  return status;
}

/* Backpropagates through the whole tape; `open` is left with tensors that no call produced. */
static situ_status backprop_tape(struct backprop *j, bool *needed) {
  situ_status status = NULL;
  for (int32_t end = j->tape->n_calls; end > 0 && !status;) {
    mark_needed(j->tape, &j->open, end, needed);
    int32_t last = end - 1;
    while (last >= 0 && !(needed[last] && j->tape->calls[last].op < 0)) last--;
    status = backprop_segment(j, needed, last + 1, end);
    if (!status && last >= 0) status = call_function(j, last);
    end = last;
  }
  return status;
}

static bool has_functions(const situ_tape *tape) {
  for (int32_t i = 0; i < tape->n_calls; i++)
    if (tape->calls[i].op < 0) return true;
  return false;
}

static situ_status by_parts(struct backprop *j, situ_tensor *const *targets, int n_targets,
                            situ_tensor *const *gradients, situ_tensor **results) {
  bool *needed = calloc((size_t)j->tape->n_calls + 1, sizeof *needed);
  situ_status status = needed ? NULL : NO_MEMORY();
  for (int i = 0; i < n_targets && !status; i++)
    status =
        add_gradient(&j->open, targets[i], situ_tensor_retain(gradients ? gradients[i] : NULL));
  if (!status) status = backprop_tape(j, needed);
  for (int i = 0; i < j->open.count && !status; i++)
    status = add_gradient(&j->done, j->open.tensors[i], situ_tensor_retain(j->open.gradients[i]));
  for (int i = 0; i < j->n_sources && !status; i++)
    status = sum_gradients(j, &j->done, j->sources[i], &results[i]);
  drop(&j->open);
  drop(&j->done);
  free(needed);
  return status;
}

situ_status situ_tape_gradient_slices(situ_tape *tape, situ_tensor *const *targets, int n_targets,
                                      situ_tensor *const *sources, int n_sources,
                                      situ_tensor *const *gradients, situ_tape *const *others,
                                      int n_others, situ_tensor **results, situ_tensor **indices) {
  if (!tape || !all_non_null(targets, n_targets) || !all_non_null(sources, n_sources) ||
      (n_sources && !results) || (n_others && !others))
    return INVALID("situ_tape_gradient: an argument is NULL.");
  for (int i = 0; i < n_sources; i++) results[i] = NULL;
  for (int i = 0; indices && i < n_sources; i++) indices[i] = NULL;
  struct backprop backprop = {.tape = tape,
                              .sources = sources,
                              .n_sources = n_sources,
                              .others = others,
                              .n_others = n_others};
  const situ_status status =
      has_functions(tape)
          ? by_parts(&backprop, targets, n_targets, gradients, results)
          : tape_gradient_run(tape, (int32_t[]){0, tape->n_calls}, targets, n_targets, gradients,
                              sources, n_sources, others, n_others, results, indices);
  for (int i = 0; status && i < n_sources; i++) {
    situ_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status;
}

situ_status situ_tape_gradient(situ_tape *tape, situ_tensor *const *targets, int n_targets,
                               situ_tensor *const *sources, int n_sources,
                               situ_tensor *const *gradients, situ_tape *const *others,
                               int n_others, situ_tensor **results) {
  return situ_tape_gradient_slices(tape, targets, n_targets, sources, n_sources, gradients, others,
                                   n_others, results, NULL);
}
