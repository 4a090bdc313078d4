/* SPDX-License-Identifier: Apache-2.0
 * gradient.h: the interface of gradient functions, `grad` of op definitions.
 *
 * A gradient function reads the call (inputs, outputs, attributes) and the gradients of its
 * outputs, and emits the ops that compute the gradients of its inputs:
 *
 *   static void square_grad(struct gradient *g) {
 *     const struct term two = gradient_number(g, gradient_type(g, g->in[0]), 2);
 *     g->dx[0] = OP(g, "Mul", g->dy[0], OP(g, "Mul", two, g->in[0]));
 *   }
 *
 * Shapes may be unknown; the helpers below then emit ops that compute them. The first error is kept
 * and everything after it has no effect, so a gradient function checks no statuses. Derivatives of
 * element-wise ops are expressions: derivative.h. */
#ifndef SITU_OPS_GRADIENT_H
#define SITU_OPS_GRADIENT_H

#include "schema/schema.h"

/* An output of an emitted op. A negative node: none. */
struct term {
  int32_t node, output;
};

#define NO_TERM ((struct term){-1, -1})

static inline bool term_exists(struct term term) { return term.node >= 0; }

/* A gradient that is 0 everywhere, without a node: not propagated, but reported as 0, not as None.
 */
#define ZERO_TERM ((struct term){-1, -3})

static inline bool term_is_zero(struct term term) { return term.node < 0 && term.output == -3; }

/* The destination of emitted ops. */
struct function;
struct gradient_request;
struct gradient_target {
  situ_status (*emit)(void *to, const char *op, const struct term *in, int n_in,
                      const situ_attr *attrs, int n_attrs, struct term *out);
  situ_type (*type)(const void *to, struct term term);
  situ_shape (*shape)(const void *to, struct term term);
  const situ_tensor *(*value)(const void *to, struct term term);
  /* The gradient of a function of the graph: schema/function.h. NULL: not supported. */
  situ_status (*differentiate)(void *to, const struct function *function,
                               const struct gradient_request *request, const struct function **out);
  /* Creates indexed slices, which become dense when an op reads the term: gradient_slices. */
  situ_status (*slices)(void *to, struct term values, struct term indices, struct term like,
                        struct term shape, struct term *out);
  /* Which outputs of a function have gradients with respect to these inputs. */
  situ_status (*reaches)(void *to, const struct function *function, const bool *in, bool *out);
};

struct gradient {
  const struct gradient_target *target;
  void *to;
  const char *node; /* the name of the call */
  const struct schema *schema;
  const struct attr_value *attrs;
  int n_in, n_out;
  const struct term *in, *out;
  const struct term *dy; /* by output: its gradient, or none */
  struct term *dx;       /* by input: its gradient, to be set; initially none */
  const bool *unwanted;  /* by input: dx is not needed (but may be set); or NULL */
  situ_status error;     /* the first one */
};

/* Keeps the first failure. */
void gradient_fail(struct gradient *g, situ_status status);

/* Emits an op and returns its first output; inputs are flat (lists expanded). A missing input is an
 * error. */
struct term gradient_emit(struct gradient *g, const char *op, const struct term *in, int n_in,
                          const situ_attr *attrs, int n_attrs);

#define TERMS(...) \
  (const struct term[]){__VA_ARGS__}, (int)COUNT_OF(((const struct term[]){__VA_ARGS__}))
#define ATTRS(...) \
  (const situ_attr[]){__VA_ARGS__}, (int)COUNT_OF(((const situ_attr[]){__VA_ARGS__}))
#define NO_ATTRS NULL, 0

/* OP(g, "Mul", x, y): an op without attributes to set. With some:
 * gradient_emit(g, "MatMul", TERMS(dy, b), ATTRS(situ_attr_bool("transpose_b", true))) */
#define OP(g, op, ...) gradient_emit((g), (op), TERMS(__VA_ARGS__), NO_ATTRS)

/* Another output of the op of a term. */
static inline struct term gradient_output(struct term term, int output) {
  return term_exists(term) ? (struct term){term.node, output} : NO_TERM;
}

/* Whether the gradient of an input is needed. */
static inline bool gradient_wanted(const struct gradient *g, int input) {
  return !g->unwanted || !g->unwanted[input];
}

/* Static properties of a term: element type; shape as far as known. */
situ_type gradient_type(const struct gradient *g, struct term term);
situ_shape gradient_shape(const struct gradient *g, struct term term);

/* Whether the type has gradients: floating-point numbers, and lists of them. */
bool gradient_is_real(situ_type type);

/* Attributes of the call, as with call_bool. */
bool gradient_bool(const struct gradient *g, const char *name);
int64_t gradient_integer(const struct gradient *g, const char *name);
double gradient_real(const struct gradient *g, const char *name);
const char *gradient_text(const struct gradient *g, const char *name);
const struct attr_value *gradient_attr(const struct gradient *g, const char *name);

/* Copies an attribute of the call, under its name or another. */
situ_attr gradient_keep(struct gradient *g, const char *name);
situ_attr gradient_keep_as(struct gradient *g, const char *name, const char *as);

/* Constants: a copy of the data; a number of a type; int32: one, several. */
struct term gradient_constant(struct gradient *g, situ_type type, situ_shape shape,
                              const void *data);
struct term gradient_number(struct gradient *g, situ_type type, double value);
struct term gradient_int(struct gradient *g, int64_t value);
struct term gradient_ints(struct gradient *g, const int64_t *values, int count);

/* The shape of a term as an int32 vector: a constant if it is known, else a Shape op. */
struct term gradient_shape_of(struct gradient *g, struct term term);

/* The rank of a term as int32; all its axes: 0, 1, ... as an int32 vector. */
struct term gradient_rank_of(struct gradient *g, struct term term);
struct term gradient_axes_of(struct gradient *g, struct term term);

/* Reads the value of an integer term (at most SITU_MAX_RANK elements); false if it is no
 * constant. */
bool gradient_integers(const struct gradient *g, struct term term, int64_t items[SITU_MAX_RANK],
                       int *count);

/* Whether the shape of a term is known; the shape. */
bool gradient_known(const struct gradient *g, struct term term, situ_shape *out);

/* Zeros of the shape and type of a term; the term itself if it exists, else zeros like another. */
struct term gradient_zeros(struct gradient *g, struct term like);
struct term gradient_or_zeros(struct gradient *g, struct term term, struct term like);

/* Ones of the shape and type of a term, the initial gradient; the sum of terms of one shape. */
struct term gradient_ones(struct gradient *g, struct term like);
struct term gradient_sum(struct gradient *g, const struct term *terms, int count);

/* Indexed slices: zeros of the shape of `like` with values[i] added to slice indices[i]. Stay
 * sparse until an op reads the term. */
struct term gradient_slices(struct gradient *g, struct term values, struct term indices,
                            struct term like);

/* Indexed slices as a dense tensor of a shape (a term, and as far as known); concatenation along
 * axis 0, integers as int64 if not all are int32. */
struct term gradient_sum_rows(struct gradient *g, struct term values, struct term indices,
                              struct term shape, const situ_shape *known);
struct term gradient_join(struct gradient *g, const struct term *terms, int count);

/* An Identity of the term, subject to the control dependencies of the scope. */
struct term gradient_identity(struct gradient *g, struct term term);

/* The value of a variable, by its handle. */
struct term gradient_read(struct gradient *g, struct term handle);

/* Reshapes a term to the shape of another. */
struct term gradient_reshape_as(struct gradient *g, struct term term, struct term like);

/* The gradient of broadcasting: sums a term of the broadcast shape of x and y to the shape of x. */
struct term gradient_sum_to(struct gradient *g, struct term term, struct term x, struct term y);

/* The `grad` of ops whose gradient is not implemented: fails. */
void gradient_missing(struct gradient *g);

/* Sets dx[0] and dx[1] of a call that broadcasts its inputs 0 and 1: sums each to its input. */
void gradient_broadcast(struct gradient *g, struct term dx, struct term dy);

#endif
