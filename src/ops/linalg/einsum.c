/* SPDX-License-Identifier: Apache-2.0
 * einsum.c: the op Einsum: sums of products of one or two tensors along labeled dimensions.
 *
 * A dimension is in the batch (in both inputs and the result), contracted (in both inputs only),
 * free (in one input and the result) or summed (in one input only). The inputs are copied to
 * matrices [batch, free, contracted] and [batch, contracted, free] unless they have that layout,
 * and multiplied by BatchMatMulV2. Repeated labels are diagonals: one dimension whose stride is the
 * sum of theirs. */
#include <stdio.h>
#include <string.h>

#include "ops/array/strided_copy.h"
#include "ops/gradient.h"
#include "ops/linalg/einsum_labels.h"
#include "ops/ops.h"
#include "ops/record.h"
#include "tensor/shape.h"
#include "tensor/type.h"

/* The elements of a slot, with one dimension for each label. */
struct part {
  int32_t slot;
  struct labels labels;
  int64_t dim[SITU_MAX_RANK], stride[SITU_MAX_RANK];
};

static int find_label(const struct labels *labels, int label) {
  for (int i = 0; i < labels->rank; i++)
    if (labels->label[i] == label) return i;
  return -1;
}

static bool has_label(const struct labels *labels, int label) {
  return find_label(labels, label) >= 0;
}

static void add_label(struct labels *labels, int label) { labels->label[labels->rank++] = label; }

/* The labels of `of` that are (or are not) in both others. */
static void select_labels(const struct labels *of, const struct labels *a, bool in_a,
                          const struct labels *b, bool in_b, struct labels *out) {
  for (int i = 0; i < of->rank; i++)
    if (has_label(a, of->label[i]) == in_a && has_label(b, of->label[i]) == in_b)
      add_label(out, of->label[i]);
}

static bool same_labels(const struct labels *a, const struct labels *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->label[i] != b->label[i]) return false;
  return true;
}

/* A tensor with repeated labels joined. Dimensions of size 1 that "..." stands for are left out:
 * they are broadcast. */
static struct part part_of(int32_t slot, const situ_shape *shape, const struct labels *labels) {
  struct part part = {.slot = slot};
  const struct view view = strided_view(shape);
  for (int d = 0; d < shape->rank; d++) {
    const int label = labels->label[d];
    int at = find_label(&part.labels, label);
    if (label < 0 && shape->dim[d] == 1) continue;
    if (at < 0) {
      at = part.labels.rank;
      add_label(&part.labels, label);
      part.dim[at] = shape->dim[d];
    }
    part.stride[at] += view.stride[d];
  }
  return part;
}

/* The part with its dimensions in the order of the labels, which it has. */
static struct view view_as(const struct part *part, const struct labels *order) {
  struct view view = {.rank = order->rank};
  for (int d = 0; d < order->rank; d++) {
    const int at = find_label(&part->labels, order->label[d]);
    view.dim[d] = part->dim[at];
    view.stride[d] = part->stride[at];
  }
  return view;
}

static bool is_dense(const struct view *view) {
  int64_t stride = 1;
  for (int d = view->rank - 1; d >= 0; d--) {
    if (view->dim[d] != 1 && view->stride[d] != stride) return false;
    stride *= view->dim[d];
  }
  return true;
}

static int64_t count_of(const struct part *part, const struct labels *labels) {
  int64_t count = 1;
  for (int i = 0; i < labels->rank; i++)
    count *= part->dim[find_label(&part->labels, labels->label[i])];
  return count;
}

static situ_status new_slot(struct call *call, int64_t count, int32_t *slot) {
  const size_t size = situ_type_size(call->out[0].type);
  return call_scratch(call, (size_t)max_i64(1, count) * size, slot);
}

/* A dense part in memory. */
static struct part dense_part(int32_t slot, const struct part *like, const struct labels *order) {
  struct part part = {.slot = slot, .labels = *order};
  int64_t stride = 1;
  for (int d = order->rank - 1; d >= 0; d--) {
    part.dim[d] = like->dim[find_label(&like->labels, order->label[d])];
    part.stride[d] = stride;
    stride *= part.dim[d];
  }
  return part;
}

/* Brings a part to a dense layout in this order; copies it unless it has that layout. */
static situ_status arrange(struct call *call, struct part *part, const struct labels *order) {
  const struct view view = view_as(part, order);
  int32_t slot = part->slot;
  if (!is_dense(&view)) {
    TRY(new_slot(call, count_of(part, order), &slot));
    TRY(strided_copy(call, call->out[0].type, part->slot, &view, slot));
  }
  *part = dense_part(slot, part, order);
  return NULL;
}

/* Records another op, whose attributes have their defaults but for those that are true. */
static situ_status record_op(struct call *call, const char *op, struct operand in[2],
                             struct operand *out, const char *const *enabled) {
  const struct schema *schema = schema_find(op);
  struct attr_value *attrs = ARENA_ARRAY(call->to->arena, struct attr_value, schema->n_attrs);
  if (!attrs) return NO_MEMORY();
  memcpy(attrs, schema->defaults, sizeof *attrs * (size_t)schema->n_attrs);
  for (; *enabled; enabled++) attrs[schema_attr(schema, *enabled)].integer = 1;
  struct call sub = {.schema = schema,
                     .attrs = attrs,
                     .node = call->node,
                     .n_in = 2,
                     .n_out = 1,
                     .in = in,
                     .out = out,
                     .to = call->to};
  return op_record(&sub);
}

static const char *const no_attrs[] = {NULL};

/* Sums the rows of a dense matrix. */
static situ_status sum_rows(struct call *call, int32_t from, int64_t rows, int64_t length,
                            int32_t to) {
  const situ_type type = call->out[0].type;
  const int32_t axis = 1;
  situ_tensor *axes;
  TRY(situ_tensor_create(SITU_INT32, SITU_SHAPE(1), &axis, &axes));
  struct operand in[] = {{.type = type, .slot = from, .shape = SITU_SHAPE(rows, length)},
                         {.type = SITU_INT32, .shape = SITU_SHAPE(1), .value = axes}};
  struct operand out = {.type = type, .slot = to, .shape = SITU_SHAPE(rows)};
  situ_status s = record_op(call, "Sum", in, &out, no_attrs);
  situ_tensor_release(axes);
  return s;
}

/* Sums a part over all labels that are not kept, into `to` or, if negative, into new memory. */
static situ_status sum_to(struct call *call, struct part *part, const struct labels *kept,
                          int32_t to) {
  struct labels order = *kept;
  for (int i = 0; i < part->labels.rank; i++)
    if (!has_label(kept, part->labels.label[i])) add_label(&order, part->labels.label[i]);
  if (order.rank == kept->rank && to < 0) return NULL;
  const int64_t rows = count_of(part, kept);
  int64_t length = 1;
  for (int i = kept->rank; i < order.rank; i++)
    length *= part->dim[find_label(&part->labels, order.label[i])];
  TRY(arrange(call, part, &order));
  if (to < 0) TRY(new_slot(call, rows, &to));
  TRY(sum_rows(call, part->slot, rows, length, to));
  *part = dense_part(to, part, kept);
  return NULL;
}

/* The labels of a result, each once, without those that no part has. */
static struct labels unique_labels(const struct labels *labels, const struct part *part) {
  struct labels out = {.rank = 0};
  for (int i = 0; i < labels->rank; i++)
    if (!has_label(&out, labels->label[i]) && has_label(&part->labels, labels->label[i]))
      add_label(&out, labels->label[i]);
  return out;
}

/* Writes a part that has all labels of the result. Repeated ones make diagonals among zeros. */
static situ_status write_result(struct call *call, struct part *part, const struct labels *labels) {
  const situ_type type = call->out[0].type;
  const situ_shape *shape = &call->out[0].shape;
  const struct labels order = unique_labels(labels, part);
  const struct part target = part_of(call->out[0].slot, shape, labels);
  const struct view view = view_as(&target, &order);
  if (is_dense(&view)) {
    const struct view from = view_as(part, &order);
    return strided_copy(call, type, part->slot, &from, call->out[0].slot);
  }
  TRY(arrange(call, part, &order));
  return strided_paste(call, type, part->slot, &view, call->out[0].slot, situ_shape_count(*shape));
}

static situ_status record_unary(struct call *call, struct part *part, const struct labels *out) {
  const struct labels kept = unique_labels(out, part);
  const bool plain = kept.rank == out->rank && part->labels.rank > kept.rank;
  if (plain) return sum_to(call, part, &kept, call->out[0].slot);
  TRY(sum_to(call, part, &kept, -1));
  return write_result(call, part, out);
}

/* The labels of a product of two parts. */
struct roles {
  struct labels batch, left, right, contracted;
};

static struct labels join3(const struct labels *a, const struct labels *b, const struct labels *c) {
  struct labels all = *a;
  for (int i = 0; i < b->rank; i++) add_label(&all, b->label[i]);
  for (int i = 0; i < c->rank; i++) add_label(&all, c->label[i]);
  return all;
}

/* Brings a part to matrices [batch, rows, columns]. Real ones may have them transposed. */
static situ_status as_matrices(struct call *call, struct part *part, const struct labels *batch,
                               const struct labels *rows, const struct labels *columns,
                               bool *turned) {
  const struct labels straight = join3(batch, rows, columns), other = join3(batch, columns, rows);
  const struct view straight_view = view_as(part, &straight), other_view = view_as(part, &other);
  *turned =
      !type_is_complex(call->out[0].type) && !is_dense(&straight_view) && is_dense(&other_view);
  return arrange(call, part, *turned ? &other : &straight);
}

static struct operand matrices(const struct call *call, int32_t slot, int64_t batch, int64_t rows,
                               int64_t columns, bool turned) {
  return (struct operand){
      .type = call->out[0].type,
      .slot = slot,
      .shape = SITU_SHAPE(batch, turned ? columns : rows, turned ? rows : columns)};
}

/* Multiplies two parts into `to`, as [batch, left, right]. */
static situ_status multiply(struct call *call, struct part *a, struct part *b,
                            const struct roles *roles, int32_t to) {
  const int64_t batch = count_of(a, &roles->batch), k = count_of(a, &roles->contracted);
  const int64_t m = count_of(a, &roles->left), n = count_of(b, &roles->right);
  bool turn_a, turn_b;
  TRY(as_matrices(call, a, &roles->batch, &roles->left, &roles->contracted, &turn_a));
  TRY(as_matrices(call, b, &roles->batch, &roles->contracted, &roles->right, &turn_b));
  struct operand in[] = {matrices(call, a->slot, batch, m, k, turn_a),
                         matrices(call, b->slot, batch, k, n, turn_b)};
  struct operand out = matrices(call, to, batch, m, n, false);
  const char *enabled[3] = {NULL, NULL, NULL};
  int n_enabled = 0;
  if (turn_a) enabled[n_enabled++] = "adj_x";
  if (turn_b) enabled[n_enabled++] = "adj_y";
  return record_op(call, "BatchMatMulV2", in, &out, enabled);
}

static void find_roles(const struct part *a, const struct part *b, const struct labels *out,
                       struct roles *roles) {
  *roles = (struct roles){.batch = {.rank = 0}};
  select_labels(&a->labels, &b->labels, true, out, true, &roles->batch);
  select_labels(&a->labels, &b->labels, true, out, false, &roles->contracted);
  select_labels(&a->labels, &b->labels, false, out, true, &roles->left);
  select_labels(&b->labels, &a->labels, false, out, true, &roles->right);
}

/* The labels of a part that the other or the result has. */
static struct labels shared_labels(const struct part *part, const struct part *other,
                                   const struct labels *out) {
  struct labels kept = {.rank = 0};
  for (int i = 0; i < part->labels.rank; i++) {
    const int label = part->labels.label[i];
    if (has_label(&other->labels, label) || has_label(out, label)) add_label(&kept, label);
  }
  return kept;
}

static situ_status record_binary(struct call *call, struct part *a, struct part *b,
                                 const struct labels *out) {
  const struct labels kept_a = shared_labels(a, b, out), kept_b = shared_labels(b, a, out);
  struct roles roles;
  TRY(sum_to(call, a, &kept_a, -1));
  TRY(sum_to(call, b, &kept_b, -1));
  find_roles(a, b, out, &roles);
  const struct labels swapped = join3(&roles.batch, &roles.right, &roles.left);
  if (same_labels(&swapped, out)) {
    struct part *other = a;
    a = b;
    b = other;
    find_roles(a, b, out, &roles);
  }
  const struct labels order = join3(&roles.batch, &roles.left, &roles.right);
  const bool direct = same_labels(&order, out);
  int32_t to = call->out[0].slot;
  if (!direct)
    TRY(new_slot(call,
                 count_of(a, &roles.batch) * count_of(a, &roles.left) * count_of(b, &roles.right),
                 &to));
  TRY(multiply(call, a, b, &roles, to));
  if (direct) return NULL;
  /* The sizes of all labels of the result. */
  const struct labels first = join3(&roles.batch, &roles.left, &(struct labels){.rank = 0});
  struct part both = dense_part(to, a, &first);
  for (int i = 0; i < roles.right.rank; i++) {
    both.dim[both.labels.rank] = b->dim[find_label(&b->labels, roles.right.label[i])];
    add_label(&both.labels, roles.right.label[i]);
  }
  struct part product = dense_part(to, &both, &order);
  return write_result(call, &product, out);
}

static situ_status record_einsum(struct call *call) {
  struct equation equation;
  struct labels in[2], out;
  if (!situ_shape_count(call->out[0].shape)) return NULL;
  TRY(einsum_parse(call_text(call, "equation"), &equation));
  TRY(einsum_labels(call, &equation, in, &out));
  struct part a = part_of(call->in[0].slot, &call->in[0].shape, &in[0]);
  if (call->n_in == 1) return record_unary(call, &a, &out);
  struct part b = part_of(call->in[1].slot, &call->in[1].shape, &in[1]);
  return record_binary(call, &a, &b, &out);
}

/* Gradients */

enum { TEXT_MOST = 3 * (SITU_MAX_RANK + 3) + 8 };

/* Writes subscripts: with dots if there are some. */
static void put_subscripts(char *to, const struct subscripts *s) {
  snprintf(to, TEXT_MOST, "%.*s%s%.*s", s->n_front, s->front, s->dots ? "..." : "", s->n_back,
           s->back);
}

static bool has_letter(const struct subscripts *s, char c) {
  return memchr(s->front, c, (size_t)s->n_front) || memchr(s->back, c, (size_t)s->n_back);
}

/* The letters of an input, each once: those that the result or the other input has, and the rest,
 * which were summed. */
static void sort_letters(const struct equation *equation, int input, char *kept, char *summed) {
  const struct subscripts *s = &equation->in[input];
  for (int i = 0; i < s->n_front + s->n_back; i++) {
    const char c = i < s->n_front ? s->front[i] : s->back[i - s->n_front];
    const bool stays = has_letter(&equation->out, c) ||
                       (equation->n_in == 2 && has_letter(&equation->in[1 - input], c));
    char *to = stays ? kept : summed;
    const size_t n = strlen(to);
    if (memchr(to, c, n)) continue;
    to[n] = c;
    to[n + 1] = 0;
  }
}

static struct term emit_einsum(struct gradient *g, const struct term *in, int n_in,
                               const char *equation) {
  return gradient_emit(g, "Einsum", in, n_in, ATTRS(situ_attr_string("equation", equation)));
}

/* Sums what "..." was broadcast over: `term` has the labels "...kept". */
static struct term sum_broadcast(struct gradient *g, struct term term, int input, const char *own,
                                 bool dots, const char *kept) {
  char equation[2 * TEXT_MOST];
  snprintf(equation, sizeof equation, "%s->%s%s", own, dots ? "..." : "", kept);
  const struct term like = emit_einsum(g, TERMS(g->in[input]), equation);
  const situ_shape wanted = gradient_shape(g, like), given = gradient_shape(g, term);
  if (shape_is_known(&wanted) && shape_equal(&wanted, &given)) return term;
  return gradient_sum_to(g, term, like, term);
}

/* Repeats the term along labels that were summed: in front. */
static struct term repeat_summed(struct gradient *g, struct term term, int input, const char *own,
                                 bool dots, const char *summed) {
  char equation[2 * TEXT_MOST];
  const int64_t zero = 0, count = (int64_t)strlen(summed);
  if (!count) return term;
  snprintf(equation, sizeof equation, "%s->%s%s", own, summed, dots ? "..." : "");
  struct term sizes = gradient_shape_of(g, emit_einsum(g, TERMS(g->in[input]), equation));
  sizes = OP(g, "Slice", sizes, gradient_ints(g, &zero, 1), gradient_ints(g, &count, 1));
  const struct term both[] = {sizes, gradient_shape_of(g, term)};
  return OP(g, "BroadcastTo", term, gradient_join(g, both, 2));
}

static struct term conjugate(struct gradient *g, struct term term) {
  return type_is_complex(gradient_type(g, term)) ? OP(g, "Conj", term) : term;
}

static struct term input_grad(struct gradient *g, const struct equation *equation, int input) {
  char own[TEXT_MOST], out[TEXT_MOST], other[TEXT_MOST] = "";
  char kept[SITU_MAX_RANK + 1] = "", summed[SITU_MAX_RANK + 1] = "", text[4 * TEXT_MOST];
  const bool binary = equation->n_in == 2, dots = equation->in[input].dots;
  const bool all_dots = dots || equation->out.dots;
  put_subscripts(own, &equation->in[input]);
  put_subscripts(out, &equation->out);
  if (binary) put_subscripts(other, &equation->in[1 - input]);
  sort_letters(equation, input, kept, summed);
  snprintf(text, sizeof text, "%s%s%s->%s%s", out, binary ? "," : "", other, all_dots ? "..." : "",
           kept);
  struct term term = g->dy[0];
  if (binary)
    term = emit_einsum(g, TERMS(term, conjugate(g, g->in[1 - input])), text);
  else
    term = emit_einsum(g, TERMS(term), text);
  if (binary && all_dots) term = sum_broadcast(g, term, input, own, dots, kept);
  term = repeat_summed(g, term, input, own, dots, summed);
  snprintf(text, sizeof text, "%s%s%s->%s", summed, dots ? "..." : "", kept, own);
  return emit_einsum(g, TERMS(term), text);
}

static void einsum_grad(struct gradient *g) {
  struct equation equation;
  gradient_fail(g, einsum_parse(gradient_text(g, "equation"), &equation));
  for (int i = 0; !g->error && i < equation.n_in; i++)
    if (gradient_wanted(g, i)) g->dx[i] = input_grad(g, &equation, i);
}

static const struct op_def op_defs[] = {
    {.name = "Einsum",
     .inputs = "inputs:N*T",
     .outputs = "output:T",
     .attrs = "equation:string N:int>=1 T:{bfloat16 half float double int32 int64 complex64 "
              "complex128}",
     .doc = "Contracts one or two tensors by the Einstein summation convention. A letter of the "
            "equation stands for a dimension, and an ellipsis (...) for dimensions that are "
            "broadcast; letters that the result lacks are summed over.",
     .args = "inputs: One or two tensors.\n"
             "equation: Subscripts of the inputs and the result: 'ij,jk->ik'.",
     .samples =
         "N=2 equation='ij,jk->ik' [3,4] [4,2]; N=2 equation='abc,dca->bd' [2,3,4] [5,4,2]; "
         "N=2 equation='...ij,...jk->...ki' [2,1,3,4] [3,4,2]; N=1 equation='iji->j' [3,2,3]; "
         "N=1 equation='ijk->ki' [3,2,4]; N=1 equation='i->ii' [3]; "
         "N=2 equation='ab,cb->c' [2,3] [4,3]; N=2 equation='aab,b->ab' [2,2,3] [3]; "
         "N=2 equation='i,j->ij' [3] [0]; N=2 equation='ab,ab->' [2,3] [2,3]; "
         "N=2 equation='ba,bc->bca' [2,3] [2,4]; N=1 equation='a...b->...' [2,3,2]",
     .devices = "CPU GPU(bfloat16 half float double complex64 complex128)",
     .shape = einsum_shape,
     .record = record_einsum,
     .grad = einsum_grad},
};

OP_FAMILY(einsum, op_defs);
