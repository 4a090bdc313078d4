/* SPDX-License-Identifier: Apache-2.0
 * gradients.c: reverse-mode differentiation of a graph (situ_gradients): one backward pass over the
 * nodes between xs and ys.
 *
 * Nodes are in topological order, so a pass from the last y down to the first x visits each node
 * once, when the gradients of all its outputs are complete. */
#include <string.h>

#include "base/strbuf.h"
#include "grad/function.h"
#include "grad/slices.h"
#include "graph/build.h"
#include "graph/variable.h"
#include "ops/gradient.h"
#include "situ/gradient.h"
#include "tensor/shape.h"

/* A contribution to the gradient of an output; a list, latest first. */
struct contribution {
  struct term term;
  struct contribution *next;
};

/* The state of a node in the pass. */
struct visit {
  struct contribution **contributions; /* per output; NULL: none */
  bool *zeros;                         /* per output: a symbolic zero was added; NULL: none */
  const situ_gradient_override *override;
  bool reached; /* depends on an x */
  bool stopped; /* its inputs are treated as constants */
};

struct backward_pass {
  struct situ_graph *graph;
  const situ_gradient_options *options;
  struct arena arena;
  int32_t first, count; /* the range of nodes */
  struct visit *visits;
  struct slices_list slices; /* sparse gradients */
};

/* ---- The graph as target of gradient functions ---- */

static situ_value value_of(struct situ_graph *graph, struct term term) {
  return (situ_value){graph, term.node, term.output};
}

static struct term term_of(situ_value value) { return (struct term){value.node, value.output}; }

/* A gradient without a node, for ops that the pass itself emits. */
static struct gradient helper(struct backward_pass *pass);

/* Replaces slices by their dense tensor. */
static situ_status make_dense(struct backward_pass *pass, struct term *term) {
  struct gradient g = helper(pass);
  if (!slices_is(*term)) return NULL;
  struct slices slices = pass->slices.items[term->node];
  const struct term dense = slices_dense(&g, &slices);
  pass->slices.items[term->node] = slices;
  *term = dense;
  return g.error;
}

enum { INLINE_INPUTS = 16 };

/* Converts a term to an input: slices become dense, and handles are read unless the port takes
 * handles. */
static situ_status convert_input(struct backward_pass *pass, const situ_op_port *port,
                                 struct term term, situ_value *out) {
  struct gradient g = helper(pass);
  TRY(make_dense(pass, &term));
  const bool handle = variable_of(pass->graph, (struct edge){term.node, term.output});
  if (handle && port && !port->is_handle) term = gradient_read(&g, term);
  *out = value_of(pass->graph, term);
  return g.error;
}

static situ_status target_emit(void *to, const char *op, const struct term *in, int n_in,
                               const situ_attr *attrs, int n_attrs, struct term *out) {
  struct backward_pass *pass = to;
  situ_value inline_buffer[INLINE_INPUTS],
      *inputs = n_in <= INLINE_INPUTS ? inline_buffer : ARENA_ARRAY(&pass->arena, situ_value, n_in);
  if (!inputs) return NO_MEMORY();
  const struct schema *schema = schema_find(op);
  for (int i = 0; i < n_in; i++)
    TRY(convert_input(pass, schema ? schema_port(schema, i, n_in) : NULL, in[i], &inputs[i]));
  *out = term_of(situ_emit(pass->graph, op, NULL, inputs, n_in, attrs, n_attrs));
  return situ_graph_take_error(pass->graph);
}

static situ_type target_type(const void *to, struct term term) {
  const struct backward_pass *pass = to;
  if (slices_is(term)) term = pass->slices.items[term.node].values;
  return variable_value(pass->graph, (struct edge){term.node, term.output}).type;
}

static situ_shape target_shape(const void *to, struct term term) {
  const struct backward_pass *pass = to;
  if (slices_is(term)) return pass->slices.items[term.node].known;
  return variable_value(pass->graph, (struct edge){term.node, term.output}).shape;
}

static const situ_tensor *target_value(const void *to, struct term term) {
  const struct backward_pass *pass = to;
  if (slices_is(term)) return NULL;
  const struct node *node = graph_node(pass->graph, term.node);
  const int attr = node->schema->op->flags & OP_CONSTANT ? schema_attr(node->schema, "value") : -1;
  return attr < 0 ? NULL : node->attrs[attr].tensor;
}

static situ_status target_differentiate(void *to, const struct function *function,
                                        const struct gradient_request *request,
                                        const struct function **out) {
  const struct backward_pass *pass = to;
  return function_differentiate(pass->graph, function, request, pass->options, out);
}

static situ_status target_reaches(void *to, const struct function *function, const bool *in,
                                  bool *out) {
  (void)to;
  return function_propagate(function, in, out);
}

static situ_status target_slices(void *to, struct term values, struct term indices,
                                 struct term like, struct term dense_shape, struct term *out) {
  struct backward_pass *pass = to;
  *out = slices_add(&pass->slices, (struct slices){.values = values,
                                                   .indices = indices,
                                                   .shape = dense_shape,
                                                   .dense = NO_TERM,
                                                   .known = target_shape(to, like)});
  return term_exists(*out) ? NULL : NO_MEMORY();
}

static const struct gradient_target graph_target = {.emit = target_emit,
                                                    .type = target_type,
                                                    .shape = target_shape,
                                                    .value = target_value,
                                                    .differentiate = target_differentiate,
                                                    .slices = target_slices,
                                                    .reaches = target_reaches};

/* ---- Scopes ---- */

/* Colocates the next ops with `beside`, ignoring the colocation scopes of the caller. */
static void enter_colocation(const struct backward_pass *pass, struct term beside) {
  if (pass->options->no_colocation || !term_exists(beside)) return;
  situ_colocate_push_none(pass->graph);
  situ_colocate_push(pass->graph, (situ_value){pass->graph, beside.node, beside.output});
}

static void leave_colocation(const struct backward_pass *pass, struct term beside) {
  if (pass->options->no_colocation || !term_exists(beside)) return;
  situ_colocate_pop(pass->graph);
  situ_colocate_pop(pass->graph);
}

static struct gradient helper(struct backward_pass *pass) {
  return (struct gradient){.target = &graph_target, .to = pass};
}

/* ---- Accumulating gradients ---- */

static struct visit *visit_of(const struct backward_pass *pass, int32_t node) {
  const int32_t at = node - pass->first;
  return at >= 0 && at < pass->count ? &pass->visits[at] : NULL;
}

static bool depends_on_x(const struct backward_pass *pass, struct edge from) {
  const struct visit *visit = visit_of(pass, from.node);
  return visit && visit->reached && gradient_is_real(variable_value(pass->graph, from).type);
}

/* Adds a symbolic zero, which needs no op. */
static situ_status add_zero(struct backward_pass *pass, struct edge at) {
  struct visit *visit = visit_of(pass, at.node);
  if (!visit) return NULL;
  if (!visit->zeros)
    visit->zeros = ARENA_ARRAY(&pass->arena, bool, graph_node(pass->graph, at.node)->n_outputs);
  if (!visit->zeros) return NO_MEMORY();
  visit->zeros[at.output] = true;
  return NULL;
}

static situ_status add_contribution(struct backward_pass *pass, struct edge at, struct term term) {
  struct visit *visit = visit_of(pass, at.node);
  if (term_is_zero(term)) return add_zero(pass, at);
  if (!visit || !term_exists(term)) return NULL;
  const int32_t n = graph_node(pass->graph, at.node)->n_outputs;
  if (!visit->contributions)
    visit->contributions = ARENA_ARRAY(&pass->arena, struct contribution *, n);
  struct contribution *contribution = arena_alloc(&pass->arena, sizeof *contribution);
  if (pass->arena.failed) return NO_MEMORY();
  *contribution = (struct contribution){term, visit->contributions[at.output]};
  visit->contributions[at.output] = contribution;
  return NULL;
}

/* The sum of terms: slices if all of them are. */
static struct term sum_terms(struct backward_pass *pass, struct gradient *g,
                             const struct term *terms, int count) {
  bool are_slices = count > 1;
  for (int i = 0; i < count; i++) are_slices = are_slices && slices_is(terms[i]);
  return are_slices ? slices_join(g, &pass->slices, terms, count) : gradient_sum(g, terms, count);
}

/* Sums the contributions to an output and replaces them by the sum; NO_TERM: none. */
static situ_status accumulate(struct backward_pass *pass, struct edge at, struct term *out) {
  const struct visit *visit = visit_of(pass, at.node);
  *out = NO_TERM;
  if (!visit || !visit->contributions || !visit->contributions[at.output]) return NULL;
  struct contribution *list = visit->contributions[at.output];
  int count = 0;
  for (const struct contribution *a = list; a; a = a->next) count++;
  struct term *terms = ARENA_ARRAY(&pass->arena, struct term, count);
  if (!terms) return NO_MEMORY();
  for (const struct contribution *a = list; a; a = a->next) terms[--count] = a->term;
  for (const struct contribution *a = list; a; a = a->next) count++;
  struct gradient g = helper(pass);
  const struct term beside = {at.node, at.output};
  enter_colocation(pass, beside);
  *out = sum_terms(pass, &g, terms, count);
  leave_colocation(pass, beside);
  list->term = *out;
  list->next = NULL;
  return g.error;
}

/* ---- Visiting a node ---- */

static situ_status call_gradient_function(struct gradient *g, const struct node *node) {
  if (node->schema->op->grad)
    node->schema->op->grad(g);
  else
    gradient_missing(g);
  return g->error;
}

/* Fails unless a user's gradient is compatible with the shape of its value. */
static situ_status check_shape(const struct backward_pass *pass, const struct node *node,
                               struct edge at, struct term gradient, int index) {
  const situ_shape expected = target_shape(pass, (struct term){at.node, at.output});
  const situ_shape actual = target_shape(pass, gradient);
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (shape_compatible(&expected, &actual)) return NULL;
  return INVALID(
      "Incompatible shapes between op input and calculated input gradient. Forward operation: %s. "
      "Input index: %d. Original input shape: %s. Calculated input gradient shape: %s",
      node->name, index, shape_print(&expected, a), shape_print(&actual, b));
}

/* Calls the user's gradient function and adds its results. */
static situ_status call_override(struct backward_pass *pass, const struct gradient *g,
                                 const struct node *node, const situ_gradient_override *override) {
  const int n = override->inputs ? override->n_inputs : node->n_inputs;
  situ_value *values = ARENA_ARRAY(&pass->arena, situ_value, node->n_outputs + n + 1);
  if (!values) return NO_MEMORY();
  situ_value *dxs = values + node->n_outputs;
  for (int i = 0; i < node->n_outputs; i++) {
    struct term dy = g->dy[i];
    if (term_exists(dy)) TRY(make_dense(pass, &dy));
    values[i] = value_of(pass->graph, dy);
  }
  for (int i = 0; i < n; i++) dxs[i] = graph_invalid_value(pass->graph);
  TRY(override->function(override->context, graph_value(pass->graph, node), values, node->n_outputs,
                         dxs, n));
  for (int i = 0; i < n; i++) {
    if (dxs[i].node < 0) continue;
    TRY(graph_check_value(pass->graph, dxs[i], true, "the gradient of a node", i));
    const struct edge to = override->inputs
                               ? (struct edge){override->inputs[i].node, override->inputs[i].output}
                               : node->inputs[i];
    if (to.node >= node->id)
      return INVALID("situ_gradients: input %d of an override was created after the node.", i);
    if (depends_on_x(pass, to)) TRY(check_shape(pass, node, to, term_of(dxs[i]), i));
    TRY(add_contribution(pass, to, term_of(dxs[i])));
  }
  return NULL;
}

/* Fails unless a gradient has the type of its value. */
static situ_status check_type(const struct gradient *g, int input) {
  const situ_type actual = gradient_type(g, g->dx[input]),
                  expected = gradient_type(g, g->in[input]);
  if (actual == expected) return NULL;
  return INTERNAL("The gradient of '%s' (op type: %s) for its input %d is %s, not %s.", g->node,
                  g->schema->op->name, input, situ_type_name(actual), situ_type_name(expected));
}

/* The term that represents a gradient in control dependencies. */
static struct term control_term(const struct backward_pass *pass, struct term term) {
  return slices_is(term) ? pass->slices.items[term.node].values : term;
}

/* Makes each gradient of the inputs depend on all of them (GATE_OP). */
static situ_status gate(struct backward_pass *pass, const struct gradient *g) {
  situ_value *all = ARENA_ARRAY(&pass->arena, situ_value, g->n_in + 1);
  struct gradient own = helper(pass);
  int count = 0;
  if (!all) return NO_MEMORY();
  for (int i = 0; i < g->n_in; i++)
    if (term_exists(g->dx[i]) && !g->unwanted[i])
      all[count++] = value_of(pass->graph, control_term(pass, g->dx[i]));
  if (count < 2) return NULL;
  situ_name_push(pass->graph, "tuple");
  situ_control_push(pass->graph, all, count);
  for (int i = 0; i < g->n_in && !own.error; i++) {
    if (!term_exists(g->dx[i]) || g->unwanted[i]) continue;
    const struct term gated = gradient_identity(&own, control_term(pass, g->dx[i]));
    if (!slices_is(g->dx[i])) {
      g->dx[i] = gated;
      continue;
    }
    struct slices slices = pass->slices.items[g->dx[i].node];
    slices.values = gated;
    slices.dense = NO_TERM;
    g->dx[i] = slices_add(&pass->slices, slices);
    if (!term_exists(g->dx[i])) gradient_fail(&own, NO_MEMORY());
  }
  situ_control_pop(pass->graph);
  situ_name_pop(pass->graph);
  return own.error;
}

/* Adds the gradients of the inputs to their producers. */
static situ_status propagate(struct backward_pass *pass, const struct gradient *g,
                             const struct node *node) {
  for (int i = 0; i < node->n_inputs; i++) {
    if (g->unwanted[i]) continue;
    if (term_exists(g->dx[i])) TRY(check_type(g, i));
    TRY(add_contribution(pass, node->inputs[i], g->dx[i]));
  }
  return NULL;
}

/* Propagates symbolic zeros if all gradients of the outputs are zero. */
static situ_status propagate_zeros(struct backward_pass *pass, const struct node *node) {
  for (int i = 0; i < node->n_inputs; i++)
    if (depends_on_x(pass, node->inputs[i])) TRY(add_zero(pass, node->inputs[i]));
  return NULL;
}

static bool init_gradient(struct backward_pass *pass, const struct node *node, struct gradient *g) {
  struct term *terms =
      ARENA_ARRAY(&pass->arena, struct term, 2 * node->n_inputs + 2 * node->n_outputs + 1);
  bool *unwanted = ARENA_ARRAY(&pass->arena, bool, node->n_inputs + 1);
  if (pass->arena.failed) return false;
  struct term *in = terms, *dx = in + node->n_inputs, *out = dx + node->n_inputs;
  for (int i = 0; i < node->n_inputs; i++) {
    in[i] = (struct term){node->inputs[i].node, node->inputs[i].output};
    dx[i] = NO_TERM;
    unwanted[i] = !depends_on_x(pass, node->inputs[i]);
  }
  for (int i = 0; i < node->n_outputs; i++) out[i] = (struct term){node->id, i};
  *g = (struct gradient){.target = &graph_target,
                         .to = pass,
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

/* Enters the name scope of a node's gradient: "MatMul_grad". */
static void enter_name_scope(const struct backward_pass *pass, const struct node *node) {
  struct strbuf name = {0};
  strbuf_appendf(&name, "%s_grad", node->name);
  situ_name_push(pass->graph, strbuf_get(&name));
  strbuf_free(&name);
}

static situ_status visit_node(struct backward_pass *pass, const struct node *node,
                              struct visit *visit) {
  struct gradient g;
  if (!init_gradient(pass, node, &g)) return NO_MEMORY();
  struct term *dy = (struct term *)(uintptr_t)g.dy;
  for (int i = 0; i < node->n_outputs; i++)
    TRY(accumulate(pass, (struct edge){node->id, i}, &dy[i]));
  const struct term beside = {node->id, node->n_outputs ? 0 : -1};
  enter_colocation(pass, beside);
  enter_name_scope(pass, node);
  situ_status status = visit->override ? call_override(pass, &g, node, visit->override)
                                       : call_gradient_function(&g, node);
  if (!status && pass->options->gate_gradients) status = gate(pass, &g);
  situ_name_pop(pass->graph);
  leave_colocation(pass, beside);
  if (status) return status_note(status, "in the gradient of '%s'", node->name);
  return propagate(pass, &g, node);
}

/* Whether gradients propagate through the node. */
static bool is_differentiable(const struct node *node, const struct visit *visit) {
  if (!visit->reached || visit->stopped || !node->n_inputs) return false;
  if (!visit->contributions && !visit->zeros) return false;
  return visit->override || !(node->schema->op->flags & OP_NO_GRADIENT);
}

static situ_status visit_nodes(struct backward_pass *pass) {
  for (int32_t i = pass->visits ? pass->count - 1 : -1; i >= 0; i--) {
    const struct node *node = graph_node(pass->graph, pass->first + i);
    if (!is_differentiable(node, &pass->visits[i])) continue;
    TRY(pass->visits[i].contributions ? visit_node(pass, node, &pass->visits[i])
                                      : propagate_zeros(pass, node));
  }
  return NULL;
}

/* ---- The nodes between xs and ys ---- */

static bool is_reached(const struct backward_pass *pass, const struct node *node) {
  const situ_gradient_override *override = visit_of(pass, node->id)->override;
  for (int i = 0; override && override->inputs && i < override->n_inputs; i++)
    if (depends_on_x(pass, (struct edge){override->inputs[i].node, override->inputs[i].output}))
      return true;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (depends_on_x(pass, node->inputs[i])) return true;
  return false;
}

static situ_status mark_reached(struct backward_pass *pass, const situ_value *ys, int n_ys,
                                const situ_value *xs, int n_xs) {
  int32_t last = -1;
  pass->first = INT32_MAX;
  for (int i = 0; i < n_ys; i++) last = (int32_t)max_i64(last, ys[i].node);
  for (int i = 0; i < n_xs; i++) pass->first = (int32_t)min_i64(pass->first, xs[i].node);
  pass->count = n_xs && last >= pass->first ? last - pass->first + 1 : 0;
  pass->visits = ARENA_ARRAY(&pass->arena, struct visit, pass->count + 1);
  if (!pass->visits) return NO_MEMORY();
  const situ_gradient_options *options = pass->options;
  for (int i = 0; i < n_xs; i++)
    if (visit_of(pass, xs[i].node)) visit_of(pass, xs[i].node)->reached = true;
  for (int i = 0; i < options->n_stop; i++)
    if (visit_of(pass, options->stop[i].node))
      visit_of(pass, options->stop[i].node)->stopped = true;
  for (int i = 0; i < options->n_overrides; i++)
    if (options->overrides[i].node.graph == pass->graph &&
        visit_of(pass, options->overrides[i].node.node))
      visit_of(pass, options->overrides[i].node.node)->override = &options->overrides[i];
  for (int32_t i = 0; i < pass->count; i++)
    if (!pass->visits[i].reached)
      pass->visits[i].reached = is_reached(pass, graph_node(pass->graph, pass->first + i));
  return NULL;
}

/* ---- Inputs and results ---- */

/* A scalar grad_y is broadcast. The shape of a handle is not that of its variable. */
static situ_status check_grad_y(situ_value y, situ_type expected, situ_value grad, int index) {
  const situ_shape own = situ_value_shape(y), gradient = situ_value_shape(grad);
  const bool is_handle = situ_value_type(y) != expected;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!is_handle && gradient.rank != 0 && !shape_compatible(&own, &gradient))
    return INVALID("situ_gradients: grad_ys[%d] has shape %s, but '%s' has shape %s.", index,
                   shape_print(&gradient, a), situ_value_name(y), shape_print(&own, b));
  if (expected == situ_value_type(grad)) return NULL;
  return INVALID("situ_gradients: grad_ys[%d] is %s, but '%s' is %s.", index,
                 situ_type_name(situ_value_type(grad)), situ_value_name(y),
                 situ_type_name(expected));
}

static situ_status add_grad_y(struct backward_pass *pass, situ_value y, const situ_value *grad,
                              int index) {
  const struct term at = term_of(y);
  struct gradient g = helper(pass);
  struct term term;
  if (!gradient_is_real(target_type(pass, at))) return NULL;
  if (grad && grad->node >= 0) {
    TRY(graph_check_value(pass->graph, *grad, true, "situ_gradients: grad_ys", index));
    TRY(check_grad_y(y, target_type(pass, at), *grad, index));
    term = term_of(*grad);
  } else {
    enter_colocation(pass, at);
    term = gradient_ones(&g, at);
    leave_colocation(pass, at);
  }
  if (g.error) return g.error;
  return add_contribution(pass, (struct edge){y.node, y.output}, term);
}

/* Returns a sparse gradient as slices if the caller accepts them, else as a dense tensor. */
static situ_status return_gradient(struct backward_pass *pass, struct term term, struct term x,
                                   situ_value *out, situ_indexed_slices *slices) {
  if (slices_is(term) && slices) {
    const struct slices *s = &pass->slices.items[term.node];
    *slices =
        (situ_indexed_slices){value_of(pass->graph, s->values), value_of(pass->graph, s->indices),
                              value_of(pass->graph, s->shape)};
    return NULL;
  }
  enter_colocation(pass, x);
  const situ_status status = make_dense(pass, &term);
  leave_colocation(pass, x);
  if (!status) *out = value_of(pass->graph, term);
  return status;
}

static situ_status get_gradient(struct backward_pass *pass, situ_value x, situ_value *out,
                                situ_indexed_slices *slices) {
  struct term term;
  TRY(accumulate(pass, (struct edge){x.node, x.output}, &term));
  struct gradient g = helper(pass);
  const struct visit *visit = visit_of(pass, x.node);
  const bool zero =
      pass->options->zero_unconnected || (visit && visit->zeros && visit->zeros[x.output]);
  if (!term_exists(term) && zero) {
    enter_colocation(pass, term_of(x));
    term = gradient_zeros(&g, term_of(x));
    leave_colocation(pass, term_of(x));
  }
  if (g.error || !term_exists(term)) return g.error;
  return return_gradient(pass, term, term_of(x), out, slices);
}

static situ_status check_all(const struct situ_graph *graph, const situ_value *values, int count,
                             const char *where) {
  if (count < 0 || (count && !values))
    return INVALID("%s: %d values, but the array is NULL.", where, count);
  for (int i = 0; i < count; i++) TRY(graph_check_value(graph, values[i], true, where, i));
  return NULL;
}

static situ_status check_overrides(const struct situ_graph *graph,
                                   const situ_gradient_options *options) {
  const int count = options->n_overrides;
  if (count < 0 || (count && !options->overrides))
    return INVALID("situ_gradients: %d overrides, but the array is NULL.", count);
  for (int i = 0; i < count; i++) {
    const situ_gradient_override *one = &options->overrides[i];
    if (!one->function) return INVALID("situ_gradients: override %d has no function.", i);
    if (one->node.graph == graph && one->inputs)
      TRY(check_all(graph, one->inputs, one->n_inputs, "situ_gradients: inputs of an override"));
  }
  return NULL;
}

static situ_status run(struct backward_pass *pass, const situ_value *ys, int n_ys,
                       const situ_value *xs, int n_xs, const situ_value *grad_ys, situ_value *out) {
  TRY(mark_reached(pass, ys, n_ys, xs, n_xs));
  for (int i = 0; i < n_ys; i++) {
    const struct visit *visit = visit_of(pass, ys[i].node);
    if (visit && visit->reached) TRY(add_grad_y(pass, ys[i], grad_ys ? &grad_ys[i] : NULL, i));
  }
  TRY(visit_nodes(pass));
  situ_indexed_slices *slices = pass->options->slices;
  for (int i = 0; i < n_xs; i++)
    TRY(get_gradient(pass, xs[i], &out[i], slices ? &slices[i] : NULL));
  return NULL;
}

/* Sets all results to invalid values. */
static void clear(const struct backward_pass *pass, int n_xs, situ_value *gradients) {
  const situ_value none = graph_invalid_value(pass->graph);
  for (int i = 0; i < n_xs; i++) gradients[i] = none;
  for (int i = 0; pass->options->slices && i < n_xs; i++)
    pass->options->slices[i] = (situ_indexed_slices){none, none, none};
}

situ_status situ_gradients(situ_graph *graph, const situ_value *ys, int n_ys, const situ_value *xs,
                           int n_xs, const situ_value *grad_ys,
                           const situ_gradient_options *options, situ_value *xs_gradients) {
  static const situ_gradient_options none = {0};
  struct backward_pass pass = {.graph = graph, .options = options ? options : &none};
  /* An override may wait for a thread that needs the lock. */
  GRAPH_GUARD(pass.options->n_overrides ? NULL : graph);
  TRY(situ_graph_status(graph));
  TRY(check_all(graph, ys, n_ys, "situ_gradients: ys"));
  TRY(check_all(graph, xs, n_xs, "situ_gradients: xs"));
  TRY(check_all(graph, pass.options->stop, pass.options->n_stop, "situ_gradients: stop"));
  TRY(check_overrides(graph, pass.options));
  if (n_xs && !xs_gradients) return INVALID("situ_gradients: `xs_gradients` is NULL.");
  clear(&pass, n_xs, xs_gradients);
  situ_name_push(graph, pass.options->scope ? pass.options->scope : "gradients");
  situ_status status = situ_graph_take_error(graph);
  if (!status) status = run(&pass, ys, n_ys, xs, n_xs, grad_ys, xs_gradients);
  situ_name_pop(graph);
  slices_free(&pass.slices);
  arena_free(&pass.arena);
  if (status) clear(&pass, n_xs, xs_gradients);
  return status;
}
