/* SPDX-License-Identifier: Apache-2.0
 * gradients.c: gradients of a graph: one walk backwards over the nodes between xs and ys.
 *
 * The inputs of a node have smaller numbers than the node, so a walk from the last y down to the
 * first x meets a node when everything that arrives at its outputs is known: each node is visited
 * once. */
#include <string.h>

#include "base/strbuf.h"
#include "grad/function.h"
#include "grad/slices.h"
#include "graph/build.h"
#include "graph/variable.h"
#include "ops/gradient.h"
#include "situ/gradient.h"
#include "tensor/shape.h"

/* What arrived at an output: a list, the last first. */
struct arrival {
  struct term term;
  struct arrival *next;
};

/* What is known of a node of the walk. */
struct visit {
  struct arrival **arrivals; /* by output; NULL: nothing arrived at any */
  bool *zeros;               /* by output: a 0 arrived that is no term; NULL: at none */
  const situ_gradient_override *override;
  bool reached; /* depends on an x */
  bool stopped; /* its inputs count as constants */
};

struct walk {
  struct situ_graph *graph;
  const situ_gradient_options *options;
  struct arena arena;
  int32_t first, count; /* the nodes of the walk */
  struct visit *visits;
  struct slices_list slices; /* gradients that are rows, not all of a tensor */
};

/* Where the ops of gradients go: the graph */

static situ_value value_of(struct situ_graph *graph, struct term term) {
  return (situ_value){graph, term.node, term.output};
}

static struct term term_of(situ_value value) { return (struct term){value.node, value.output}; }

/* A gradient of no node, for what the walk itself emits. */
static struct gradient helper(struct walk *walk);

/* The term as an output of a node. */
static situ_status make_dense(struct walk *walk, struct term *term) {
  struct gradient g = helper(walk);
  if (!slices_is(*term)) return NULL;
  struct slices slices = walk->slices.items[term->node];
  const struct term dense = slices_dense(&g, &slices);
  walk->slices.items[term->node] = slices;
  *term = dense;
  return g.error;
}

enum { FEW_INPUTS = 16 };

/* Where an op takes values, a handle is read, and rows are all of a tensor. */
static situ_status input_of(struct walk *walk, const struct port *port, struct term term,
                            situ_value *out) {
  struct gradient g = helper(walk);
  TRY(make_dense(walk, &term));
  const bool handle = variable_of(walk->graph, (struct edge){term.node, term.output});
  if (handle && port && !port->is_handle) term = gradient_read(&g, term);
  *out = value_of(walk->graph, term);
  return g.error;
}

static situ_status emit(void *to, const char *op, const struct term *in, int n_in,
                        const situ_attr *attrs, int n_attrs, struct term *out) {
  struct walk *walk = to;
  situ_value few[FEW_INPUTS],
      *inputs = n_in <= FEW_INPUTS ? few : ARENA_ARRAY(&walk->arena, situ_value, n_in);
  if (!inputs) return NO_MEMORY();
  const struct schema *schema = schema_find(op);
  for (int i = 0; i < n_in; i++)
    TRY(input_of(walk, schema ? schema_port(schema, i, n_in) : NULL, in[i], &inputs[i]));
  *out = term_of(situ_emit(walk->graph, op, NULL, inputs, n_in, attrs, n_attrs));
  return situ_graph_take_error(walk->graph);
}

static situ_type type(const void *to, struct term term) {
  const struct walk *walk = to;
  if (slices_is(term)) term = walk->slices.items[term.node].values;
  return variable_value(walk->graph, (struct edge){term.node, term.output}).type;
}

static situ_shape shape(const void *to, struct term term) {
  const struct walk *walk = to;
  if (slices_is(term)) return walk->slices.items[term.node].known;
  return variable_value(walk->graph, (struct edge){term.node, term.output}).shape;
}

static const situ_tensor *value(const void *to, struct term term) {
  const struct walk *walk = to;
  if (slices_is(term)) return NULL;
  const struct node *node = graph_node(walk->graph, term.node);
  const int attr = node->schema->op->flags & OP_CONSTANT ? schema_attr(node->schema, "value") : -1;
  return attr < 0 ? NULL : node->attrs[attr].tensor;
}

static situ_status differentiate(void *to, const struct function *function,
                                 const struct function_wish *wish, const struct function **out) {
  const struct walk *walk = to;
  return function_differentiate(walk->graph, function, wish, walk->options, out);
}

static situ_status reaches(void *to, const struct function *function, const bool *in, bool *out) {
  (void)to;
  return function_reaches(function, in, out);
}

static situ_status keep_slices(void *to, struct term values, struct term indices, struct term like,
                               struct term dense_shape, struct term *out) {
  struct walk *walk = to;
  *out = slices_add(&walk->slices, (struct slices){.values = values,
                                                   .indices = indices,
                                                   .shape = dense_shape,
                                                   .dense = NO_TERM,
                                                   .known = shape(to, like)});
  return term_exists(*out) ? NULL : NO_MEMORY();
}

static const struct gradient_target graph_target = {.emit = emit,
                                                    .type = type,
                                                    .shape = shape,
                                                    .value = value,
                                                    .differentiate = differentiate,
                                                    .slices = keep_slices,
                                                    .reaches = reaches};

/* Scopes */

/* The colocation scopes around the call of situ_gradients do not count. */
static void enter(const struct walk *walk, struct term beside) {
  if (walk->options->no_colocation || !term_exists(beside)) return;
  situ_colocate_push_none(walk->graph);
  situ_colocate_push(walk->graph, (situ_value){walk->graph, beside.node, beside.output});
}

static void leave(const struct walk *walk, struct term beside) {
  if (walk->options->no_colocation || !term_exists(beside)) return;
  situ_colocate_pop(walk->graph);
  situ_colocate_pop(walk->graph);
}

static struct gradient helper(struct walk *walk) {
  return (struct gradient){.target = &graph_target, .to = walk};
}

/* What arrives */

static struct visit *visit_of(const struct walk *walk, int32_t node) {
  const int32_t at = node - walk->first;
  return at >= 0 && at < walk->count ? &walk->visits[at] : NULL;
}

static bool leads_to_x(const struct walk *walk, struct edge from) {
  const struct visit *visit = visit_of(walk, from.node);
  return visit && visit->reached && gradient_is_real(variable_value(walk->graph, from).type);
}

/* A 0 needs no op: that it arrived is remembered. */
static situ_status arrive_zero(struct walk *walk, struct edge at) {
  struct visit *visit = visit_of(walk, at.node);
  if (!visit) return NULL;
  if (!visit->zeros)
    visit->zeros = ARENA_ARRAY(&walk->arena, bool, graph_node(walk->graph, at.node)->n_outputs);
  if (!visit->zeros) return NO_MEMORY();
  visit->zeros[at.output] = true;
  return NULL;
}

static situ_status arrive(struct walk *walk, struct edge at, struct term term) {
  struct visit *visit = visit_of(walk, at.node);
  if (term_is_zero(term)) return arrive_zero(walk, at);
  if (!visit || !term_exists(term)) return NULL;
  const int32_t n = graph_node(walk->graph, at.node)->n_outputs;
  if (!visit->arrivals) visit->arrivals = ARENA_ARRAY(&walk->arena, struct arrival *, n);
  struct arrival *arrival = arena_alloc(&walk->arena, sizeof *arrival);
  if (walk->arena.failed) return NO_MEMORY();
  *arrival = (struct arrival){term, visit->arrivals[at.output]};
  visit->arrivals[at.output] = arrival;
  return NULL;
}

/* The sum of terms: slices where all of them are. */
static struct term add(struct walk *walk, struct gradient *g, const struct term *terms, int count) {
  bool rows = count > 1;
  for (int i = 0; i < count; i++) rows = rows && slices_is(terms[i]);
  return rows ? slices_join(g, &walk->slices, terms, count) : gradient_sum(g, terms, count);
}

/* The sum of what arrived at an output, which is then one; none if nothing did. */
static situ_status collect(struct walk *walk, struct edge at, struct term *out) {
  const struct visit *visit = visit_of(walk, at.node);
  *out = NO_TERM;
  if (!visit || !visit->arrivals || !visit->arrivals[at.output]) return NULL;
  struct arrival *list = visit->arrivals[at.output];
  int count = 0;
  for (const struct arrival *a = list; a; a = a->next) count++;
  struct term *terms = ARENA_ARRAY(&walk->arena, struct term, count);
  if (!terms) return NO_MEMORY();
  for (const struct arrival *a = list; a; a = a->next) terms[--count] = a->term;
  for (const struct arrival *a = list; a; a = a->next) count++;
  struct gradient g = helper(walk);
  const struct term beside = {at.node, at.output};
  enter(walk, beside);
  *out = add(walk, &g, terms, count);
  leave(walk, beside);
  list->term = *out;
  list->next = NULL;
  return g.error;
}

/* One node */

static situ_status ask_row(struct gradient *g, const struct node *node) {
  if (node->schema->op->grad)
    node->schema->op->grad(g);
  else
    gradient_missing(g);
  return g->error;
}

/* What a function gave has the shape of the value that it is the gradient of, as far as known. */
static situ_status check_given(const struct walk *walk, const struct node *node, struct edge at,
                               struct term given, int index) {
  const situ_shape want = shape(walk, (struct term){at.node, at.output});
  const situ_shape have = shape(walk, given);
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (shape_compatible(&want, &have)) return NULL;
  return INVALID(
      "Incompatible shapes between op input and calculated input gradient. Forward operation: %s. "
      "Input index: %d. Original input shape: %s. Calculated input gradient shape: %s",
      node->name, index, shape_print(&want, a), shape_print(&have, b));
}

/* Calls the user's function, and passes on what it gives. */
static situ_status ask_override(struct walk *walk, const struct gradient *g,
                                const struct node *node, const situ_gradient_override *override) {
  const int n = override->inputs ? override->n_inputs : node->n_inputs;
  situ_value *values = ARENA_ARRAY(&walk->arena, situ_value, node->n_outputs + n + 1);
  if (!values) return NO_MEMORY();
  situ_value *dxs = values + node->n_outputs;
  for (int i = 0; i < node->n_outputs; i++) {
    struct term dy = g->dy[i];
    if (term_exists(dy)) TRY(make_dense(walk, &dy));
    values[i] = value_of(walk->graph, dy);
  }
  for (int i = 0; i < n; i++) dxs[i] = graph_no_value(walk->graph);
  TRY(override->function(override->context, graph_value(walk->graph, node), values, node->n_outputs,
                         dxs, n));
  for (int i = 0; i < n; i++) {
    if (dxs[i].node < 0) continue;
    TRY(graph_check_value(walk->graph, dxs[i], true, "the gradient of a node", i));
    const struct edge to = override->inputs
                               ? (struct edge){override->inputs[i].node, override->inputs[i].output}
                               : node->inputs[i];
    if (to.node >= node->id)
      return INVALID("situ_gradients: input %d of an override is too new.", i);
    if (leads_to_x(walk, to)) TRY(check_given(walk, node, to, term_of(dxs[i]), i));
    TRY(arrive(walk, to, term_of(dxs[i])));
  }
  return NULL;
}

/* A gradient has the type of its value. */
static situ_status check_type(const struct gradient *g, int input) {
  const situ_type have = gradient_type(g, g->dx[input]), want = gradient_type(g, g->in[input]);
  if (have == want) return NULL;
  return INTERNAL("The gradient of '%s' (op type: %s) for its input %d is %s, not %s.", g->node,
                  g->schema->op->name, input, situ_type_name(have), situ_type_name(want));
}

/* The node that has to be done before a gradient can be used. */
static struct term maker(const struct walk *walk, struct term term) {
  return slices_is(term) ? walk->slices.items[term.node].values : term;
}

/* None of the gradients of the inputs is to be used before all of them are there. */
static situ_status gate(struct walk *walk, const struct gradient *g) {
  situ_value *all = ARENA_ARRAY(&walk->arena, situ_value, g->n_in + 1);
  struct gradient own = helper(walk);
  int count = 0;
  if (!all) return NO_MEMORY();
  for (int i = 0; i < g->n_in; i++)
    if (term_exists(g->dx[i]) && !g->unwanted[i])
      all[count++] = value_of(walk->graph, maker(walk, g->dx[i]));
  if (count < 2) return NULL;
  situ_name_push(walk->graph, "tuple");
  situ_control_push(walk->graph, all, count);
  for (int i = 0; i < g->n_in && !own.error; i++) {
    if (!term_exists(g->dx[i]) || g->unwanted[i]) continue;
    const struct term held = gradient_identity(&own, maker(walk, g->dx[i]));
    if (!slices_is(g->dx[i])) {
      g->dx[i] = held;
      continue;
    }
    struct slices slices = walk->slices.items[g->dx[i].node];
    slices.values = held;
    slices.dense = NO_TERM;
    g->dx[i] = slices_add(&walk->slices, slices);
    if (!term_exists(g->dx[i])) gradient_fail(&own, NO_MEMORY());
  }
  situ_control_pop(walk->graph);
  situ_name_pop(walk->graph);
  return own.error;
}

/* Passes on what the node's gradient said. */
static situ_status pass(struct walk *walk, const struct gradient *g, const struct node *node) {
  for (int i = 0; i < node->n_inputs; i++) {
    if (g->unwanted[i]) continue;
    if (term_exists(g->dx[i])) TRY(check_type(g, i));
    TRY(arrive(walk, node->inputs[i], g->dx[i]));
  }
  return NULL;
}

/* Behind a node where only zeros arrived there are only zeros. */
static situ_status pass_zeros(struct walk *walk, const struct node *node) {
  for (int i = 0; i < node->n_inputs; i++)
    if (leads_to_x(walk, node->inputs[i])) TRY(arrive_zero(walk, node->inputs[i]));
  return NULL;
}

static bool make_gradient(struct walk *walk, const struct node *node, struct gradient *g) {
  struct term *terms =
      ARENA_ARRAY(&walk->arena, struct term, 2 * node->n_inputs + 2 * node->n_outputs + 1);
  bool *unwanted = ARENA_ARRAY(&walk->arena, bool, node->n_inputs + 1);
  if (walk->arena.failed) return false;
  struct term *in = terms, *dx = in + node->n_inputs, *out = dx + node->n_inputs;
  for (int i = 0; i < node->n_inputs; i++) {
    in[i] = (struct term){node->inputs[i].node, node->inputs[i].output};
    dx[i] = NO_TERM;
    unwanted[i] = !leads_to_x(walk, node->inputs[i]);
  }
  for (int i = 0; i < node->n_outputs; i++) out[i] = (struct term){node->id, i};
  *g = (struct gradient){.target = &graph_target,
                         .to = walk,
                         .node = node->name,
                         .schema = node->schema,
                         .attrs = node->attrs,
                         .n_in = node->n_inputs,
                         .n_out = node->n_outputs,
                         .in = in,
                         .out = out,
                         .dy = out + node->n_outputs,
                         .dx = dx,
                         .unwanted = unwanted};
  return true;
}

/* The scope of the nodes that a node's gradient is made of: "MatMul_grad". */
static void enter_name(const struct walk *walk, const struct node *node) {
  struct strbuf name = {0};
  strbuf_appendf(&name, "%s_grad", node->name);
  situ_name_push(walk->graph, strbuf_get(&name));
  strbuf_free(&name);
}

static situ_status visit_node(struct walk *walk, const struct node *node, struct visit *visit) {
  struct gradient g;
  if (!make_gradient(walk, node, &g)) return NO_MEMORY();
  struct term *dy = (struct term *)(uintptr_t)g.dy;
  for (int i = 0; i < node->n_outputs; i++) TRY(collect(walk, (struct edge){node->id, i}, &dy[i]));
  const struct term beside = {node->id, node->n_outputs ? 0 : -1};
  enter(walk, beside);
  enter_name(walk, node);
  situ_status status =
      visit->override ? ask_override(walk, &g, node, visit->override) : ask_row(&g, node);
  if (!status && walk->options->gate_gradients) status = gate(walk, &g);
  situ_name_pop(walk->graph);
  leave(walk, beside);
  if (status) return status_note(status, "in the gradient of '%s'", node->name);
  return pass(walk, &g, node);
}

/* Whether the walk goes on behind the node. */
static bool is_open(const struct node *node, const struct visit *visit) {
  if (!visit->reached || visit->stopped || !node->n_inputs) return false;
  if (!visit->arrivals && !visit->zeros) return false;
  return visit->override || !(node->schema->op->flags & OP_NO_GRADIENT);
}

static situ_status walk_back(struct walk *walk) {
  for (int32_t i = walk->visits ? walk->count - 1 : -1; i >= 0; i--) {
    const struct node *node = graph_node(walk->graph, walk->first + i);
    if (!is_open(node, &walk->visits[i])) continue;
    TRY(walk->visits[i].arrivals ? visit_node(walk, node, &walk->visits[i])
                                 : pass_zeros(walk, node));
  }
  return NULL;
}

/* The way between xs and ys */

static bool is_reached(const struct walk *walk, const struct node *node) {
  const situ_gradient_override *override = visit_of(walk, node->id)->override;
  for (int i = 0; override && override->inputs && i < override->n_inputs; i++)
    if (leads_to_x(walk, (struct edge){override->inputs[i].node, override->inputs[i].output}))
      return true;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (leads_to_x(walk, node->inputs[i])) return true;
  return false;
}

static situ_status find_way(struct walk *walk, const situ_value *ys, int n_ys, const situ_value *xs,
                            int n_xs) {
  int32_t last = -1;
  walk->first = INT32_MAX;
  for (int i = 0; i < n_ys; i++) last = (int32_t)max_i64(last, ys[i].node);
  for (int i = 0; i < n_xs; i++) walk->first = (int32_t)min_i64(walk->first, xs[i].node);
  walk->count = n_xs && last >= walk->first ? last - walk->first + 1 : 0;
  walk->visits = ARENA_ARRAY(&walk->arena, struct visit, walk->count + 1);
  if (!walk->visits) return NO_MEMORY();
  const situ_gradient_options *options = walk->options;
  for (int i = 0; i < n_xs; i++)
    if (visit_of(walk, xs[i].node)) visit_of(walk, xs[i].node)->reached = true;
  for (int i = 0; i < options->n_stop; i++)
    if (visit_of(walk, options->stop[i].node))
      visit_of(walk, options->stop[i].node)->stopped = true;
  for (int i = 0; i < options->n_overrides; i++)
    if (options->overrides[i].node.graph == walk->graph &&
        visit_of(walk, options->overrides[i].node.node))
      visit_of(walk, options->overrides[i].node.node)->override = &options->overrides[i];
  for (int32_t i = 0; i < walk->count; i++)
    if (!walk->visits[i].reached)
      walk->visits[i].reached = is_reached(walk, graph_node(walk->graph, walk->first + i));
  return NULL;
}

/* Ends */

/* A scalar stands for all elements of y; the shape of a handle is not that of its variable. */
static situ_status check_grad_y(situ_value y, situ_type want, situ_value grad, int index) {
  const situ_shape own = situ_value_shape(y), given = situ_value_shape(grad);
  const bool is_handle = situ_value_type(y) != want;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!is_handle && given.rank != 0 && !shape_compatible(&own, &given))
    return INVALID("situ_gradients: grad_ys[%d] has the shape %s, but '%s' has %s.", index,
                   shape_print(&given, a), situ_value_name(y), shape_print(&own, b));
  if (want == situ_value_type(grad)) return NULL;
  return INVALID("situ_gradients: grad_ys[%d] is %s, but '%s' is %s.", index,
                 situ_type_name(situ_value_type(grad)), situ_value_name(y), situ_type_name(want));
}

static situ_status begin(struct walk *walk, situ_value y, const situ_value *grad, int index) {
  const struct term at = term_of(y);
  struct gradient g = helper(walk);
  struct term term;
  if (!gradient_is_real(type(walk, at))) return NULL;
  if (grad && grad->node >= 0) {
    TRY(graph_check_value(walk->graph, *grad, true, "situ_gradients: grad_ys", index));
    TRY(check_grad_y(y, type(walk, at), *grad, index));
    term = term_of(*grad);
  } else {
    enter(walk, at);
    term = gradient_ones(&g, at);
    leave(walk, at);
  }
  if (g.error) return g.error;
  return arrive(walk, (struct edge){y.node, y.output}, term);
}

/* A gradient that is slices goes out as such where that was asked for. */
static situ_status hand_out(struct walk *walk, struct term term, struct term x, situ_value *out,
                            situ_indexed_slices *slices) {
  if (slices_is(term) && slices) {
    const struct slices *s = &walk->slices.items[term.node];
    *slices =
        (situ_indexed_slices){value_of(walk->graph, s->values), value_of(walk->graph, s->indices),
                              value_of(walk->graph, s->shape)};
    return NULL;
  }
  enter(walk, x);
  const situ_status status = make_dense(walk, &term);
  leave(walk, x);
  if (!status) *out = value_of(walk->graph, term);
  return status;
}

static situ_status end(struct walk *walk, situ_value x, situ_value *out,
                       situ_indexed_slices *slices) {
  struct term term;
  TRY(collect(walk, (struct edge){x.node, x.output}, &term));
  struct gradient g = helper(walk);
  const struct visit *visit = visit_of(walk, x.node);
  const bool zero =
      walk->options->zero_unconnected || (visit && visit->zeros && visit->zeros[x.output]);
  if (!term_exists(term) && zero) {
    enter(walk, term_of(x));
    term = gradient_zeros(&g, term_of(x));
    leave(walk, term_of(x));
  }
  if (g.error || !term_exists(term)) return g.error;
  return hand_out(walk, term, term_of(x), out, slices);
}

static situ_status check_all(const struct situ_graph *graph, const situ_value *values, int count,
                             const char *where) {
  if (count < 0 || (count && !values)) return INVALID("%s: %d values at NULL.", where, count);
  for (int i = 0; i < count; i++) TRY(graph_check_value(graph, values[i], true, where, i));
  return NULL;
}

static situ_status check_overrides(const struct situ_graph *graph,
                                   const situ_gradient_options *options) {
  const int count = options->n_overrides;
  if (count < 0 || (count && !options->overrides))
    return INVALID("situ_gradients: overrides: %d of them at NULL.", count);
  for (int i = 0; i < count; i++) {
    const situ_gradient_override *one = &options->overrides[i];
    if (!one->function) return INVALID("situ_gradients: override %d has no function.", i);
    if (one->node.graph == graph && one->inputs)
      TRY(check_all(graph, one->inputs, one->n_inputs, "situ_gradients: inputs of an override"));
  }
  return NULL;
}

static situ_status run(struct walk *walk, const situ_value *ys, int n_ys, const situ_value *xs,
                       int n_xs, const situ_value *grad_ys, situ_value *out) {
  TRY(find_way(walk, ys, n_ys, xs, n_xs));
  for (int i = 0; i < n_ys; i++) {
    const struct visit *visit = visit_of(walk, ys[i].node);
    if (visit && visit->reached) TRY(begin(walk, ys[i], grad_ys ? &grad_ys[i] : NULL, i));
  }
  TRY(walk_back(walk));
  situ_indexed_slices *slices = walk->options->slices;
  for (int i = 0; i < n_xs; i++) TRY(end(walk, xs[i], &out[i], slices ? &slices[i] : NULL));
  return NULL;
}

/* No gradients. */
static void clear(const struct walk *walk, int n_xs, situ_value *gradients) {
  const situ_value none = graph_no_value(walk->graph);
  for (int i = 0; i < n_xs; i++) gradients[i] = none;
  for (int i = 0; walk->options->slices && i < n_xs; i++)
    walk->options->slices[i] = (situ_indexed_slices){none, none, none};
}

situ_status situ_gradients(situ_graph *graph, const situ_value *ys, int n_ys, const situ_value *xs,
                           int n_xs, const situ_value *grad_ys,
                           const situ_gradient_options *options, situ_value *xs_gradients) {
  static const situ_gradient_options none = {0};
  struct walk walk = {.graph = graph, .options = options ? options : &none};
  /* A gradient that the caller computes may wait for a thread that wants the lock. */
  GRAPH_GUARD(walk.options->n_overrides ? NULL : graph);
  TRY(situ_graph_status(graph));
  TRY(check_all(graph, ys, n_ys, "situ_gradients: ys"));
  TRY(check_all(graph, xs, n_xs, "situ_gradients: xs"));
  TRY(check_all(graph, walk.options->stop, walk.options->n_stop, "situ_gradients: stop"));
  TRY(check_overrides(graph, walk.options));
  if (n_xs && !xs_gradients) return INVALID("situ_gradients: `xs_gradients` is NULL.");
  clear(&walk, n_xs, xs_gradients);
  situ_name_push(graph, walk.options->scope ? walk.options->scope : "gradients");
  situ_status status = situ_graph_take_error(graph);
  if (!status) status = run(&walk, ys, n_ys, xs, n_xs, grad_ys, xs_gradients);
  situ_name_pop(graph);
  slices_free(&walk.slices);
  arena_free(&walk.arena);
  if (status) clear(&walk, n_xs, xs_gradients);
  return status;
}
