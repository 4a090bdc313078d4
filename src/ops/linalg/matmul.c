/* SPDX-License-Identifier: Apache-2.0
 * matmul.c: MatMul and BatchMatMul. */
#include "host/gemm.h"
#include "host/thread_pool.h"
#include "ops/gradient.h"
#include "ops/broadcast.h"
#include "ops/linalg/dense.h"
#include "ops/math/cast.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/type.h"

enum {
  TILE = 128, /* the size of a work-group's tile on a GPU */
  SMALL_TILE = 16,
  FEW = 64, /* rows or columns that are worth the small one */
  PRODUCT_GRAIN = 1 << 16
};

/* The arguments of the kernel "matmul", as matmul.cl has them. */
struct product {
  union arg a, b, c, space, m, n, k, a_row, a_col, b_row, b_col;
  union arg count; /* matrices of the batch */
  union arg dim[SITU_MAX_RANK], a_step[SITU_MAX_RANK], b_step[SITU_MAX_RANK];
};

/* The products begin <= i < end of a batch. */
static situ_status multiply(situ_type type, const struct product *p, int64_t begin, int64_t end) {
  const size_t size = situ_type_size(type);
  struct gemm g = {.type = type,
                   .m = p->m.integer,
                   .n = p->n.integer,
                   .k = p->k.integer,
                   .a_row = p->a_row.integer,
                   .a_col = p->a_col.integer,
                   .b_row = p->b_row.integer,
                   .b_col = p->b_col.integer,
                   .c_row = p->n.integer,
                   .c_col = 1,
                   .workspace = p->space.pointer};
  for (int64_t i = begin; i < end; i++) {
    int64_t a = 0, b = 0, rest = i;
    for (int d = SITU_MAX_RANK - 1; rest > 0; d--) {
      const int64_t index = rest % p->dim[d].integer;
      a += index * p->a_step[d].integer;
      b += index * p->b_step[d].integer;
      rest /= p->dim[d].integer;
    }
    g.a = (const char *)p->a.pointer + (size_t)a * size;
    g.b = (const char *)p->b.pointer + (size_t)b * size;
    g.c = (char *)p->c.pointer + (size_t)(i * g.m * g.n) * size;
    TRY(gemm_run(&g));
  }
  return NULL;
}

/* Small products are dealt out to threads one by one; inside large ones each has its part. */
static situ_status multiply_all(situ_type type, host_kernel *part, const union arg *args) {
  const struct product *p = (const struct product *)args;
  const int64_t m = p->m.integer, n = p->n.integer, k = p->k.integer, count = p->count.integer;
  if (count == 1 || gemm_workspace_size(type, m, n, k)) return multiply(type, p, 0, count);
  return thread_pool_run(part, args, count, max_i64(1, PRODUCT_GRAIN / max_i64(1, m * n * k)));
}

#define PRODUCT_TYPES(X) \
  X(FLOAT, float) X(DOUBLE, double) X(HALF, half) X(INT32, int32) X(INT64, int64)
#define PRODUCT_KERNEL(TYPE, suffix)                                                        \
  static situ_status multiply_##suffix(const union arg *args, int64_t begin, int64_t end) { \
    return multiply(SITU_##TYPE, (const struct product *)args, begin, end);                 \
  }                                                                                         \
  static situ_status matmul_##suffix(const union arg *args, int64_t begin, int64_t end) {   \
    (void)begin;                                                                            \
    (void)end;                                                                              \
    return multiply_all(SITU_##TYPE, multiply_##suffix, args);                              \
  }
#define PRODUCT_ENTRY(TYPE, suffix) [SITU_##TYPE] = matmul_##suffix,
PRODUCT_TYPES(PRODUCT_KERNEL)
static const struct kernel matmul_kernel = {
    .name = "matmul", .file = "ops/linalg/matmul.cl", .host = {PRODUCT_TYPES(PRODUCT_ENTRY)}};
static const struct kernel matmul_small_kernel = {
    .name = "matmul_small", .file = "ops/linalg/matmul.cl", .host = {PRODUCT_TYPES(PRODUCT_ENTRY)}};

/* The operands: two matrices per batch element, each possibly transposed; the batch dimensions are
 * broadcast to those of the result. */
struct factors {
  bool turn_a, turn_b;
  int64_t m, n, k;
};

static bool turned(const struct call *call, const char *matmul, const char *batch) {
  return call_attr(call, matmul) ? call_bool(call, matmul) : call_bool(call, batch);
}

/* TensorFlow's error texts: when the graph is built, of the kernel of MatMul, of the kernel of
 * BatchMatMul. */
static situ_status misfit(const struct call *call, const struct factors *factors, int64_t inner_a,
                          int64_t inner_b) {
  char a[256], b[256];
  if (call->building)
    return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)inner_a,
                   (long long)inner_b);
  shape_print(&call->in[0].shape, a);
  shape_print(&call->in[1].shape, b);
  if (call_attr(call, "transpose_a"))
    return INVALID("Matrix size-incompatible: In[0]: %s, In[1]: %s", a, b);
  return INVALID("In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d %d", (long long)inner_a,
                 (long long)inner_b, a, b, factors->turn_a, factors->turn_b);
}

/* Reads the known sizes of the matrices and checks that they match. */
static situ_status factors_of(const struct call *call, struct factors *out) {
  const situ_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
  out->turn_a = turned(call, "transpose_a", "adj_x");
  out->turn_b = turned(call, "transpose_b", "adj_y");
  out->m = out->n = SITU_ANY;
  int64_t inner_a = SITU_ANY, inner_b = SITU_ANY;
  if (a->rank != SITU_ANY) {
    out->m = a->dim[a->rank - (out->turn_a ? 1 : 2)];
    inner_a = a->dim[a->rank - (out->turn_a ? 2 : 1)];
  }
  if (b->rank != SITU_ANY) {
    out->n = b->dim[b->rank - (out->turn_b ? 2 : 1)];
    inner_b = b->dim[b->rank - (out->turn_b ? 1 : 2)];
  }
  out->k = inner_a == SITU_ANY ? inner_b : inner_a;
  if (inner_a == inner_b || inner_a == SITU_ANY || inner_b == SITU_ANY) return NULL;
  return misfit(call, out, inner_a, inner_b);
}

static situ_status matmul_shape(struct call *call) {
  struct factors f;
  for (int i = 0; i < 2; i++) {
    const int rank = call->in[i].shape.rank;
    if (rank != SITU_ANY && rank != 2) return INVALID("Shape must be rank 2 but is rank %d", rank);
  }
  TRY(factors_of(call, &f));
  call->out[0].shape = SITU_SHAPE(f.m, f.n);
  return shape_check(&call->out[0].shape);
}

/* The dimensions in front of the matrix. */
static situ_shape front(const situ_shape *shape) {
  situ_shape batch = *shape;
  if (batch.rank != SITU_ANY) batch.rank -= 2;
  return batch;
}

static situ_status batch_shape(struct call *call, bool broadcast) {
  struct factors f;
  situ_shape *out = &call->out[0].shape;
  *out = SITU_ANY_SHAPE;
  for (int i = 0; i < 2; i++) {
    const int rank = call->in[i].shape.rank;
    if (rank != SITU_ANY && rank < 2)
      return INVALID("Shape must be at least rank 2 but is rank %d", rank);
  }
  TRY(factors_of(call, &f));
  const situ_shape a = front(&call->in[0].shape), b = front(&call->in[1].shape);
  char left[256], right[256];
  if (broadcast ? !shape_broadcast(&a, &b, out) : !shape_compatible(&a, &b))
    return INVALID("Incompatible shapes: %s vs. %s", shape_print(&a, left), shape_print(&b, right));
  if (!broadcast) *out = shape_merge(&a, &b);
  if (out->rank == SITU_ANY) return NULL;
  out->dim[out->rank++] = f.m;
  out->dim[out->rank++] = f.n;
  return shape_check(out);
}

static situ_status batch_matmul_shape(struct call *call) { return batch_shape(call, false); }
static situ_status batch_matmul_v2_shape(struct call *call) { return batch_shape(call, true); }

/* The strides between the matrices of an operand along each dimension of the batch. */
static void steps_of(const situ_shape *operand, int64_t steps[SITU_MAX_RANK]) {
  int64_t step = operand->dim[operand->rank - 1] * operand->dim[operand->rank - 2];
  for (int d = 0; d < SITU_MAX_RANK; d++) steps[d] = 0;
  for (int d = 1; d <= operand->rank - 2; d++) {
    const int64_t dim = operand->dim[operand->rank - 2 - d];
    if (dim != 1) steps[SITU_MAX_RANK - d] = step;
    step *= dim;
  }
}

static int64_t tiles(int64_t n, int64_t side) { return (n + side - 1) / side; }

/* The memory of one product of real matrices. */
struct product_slots {
  int32_t a, b, c;
};

static situ_status record_real_product(struct call *call, situ_type type,
                                       struct product_slots slots) {
  const situ_shape batch = front(&call->out[0].shape), a = front(&call->in[0].shape);
  struct factors f;
  int64_t dim[SITU_MAX_RANK], a_step[SITU_MAX_RANK], b_step[SITU_MAX_RANK];
  TRY(factors_of(call, &f));
  int64_t count = situ_shape_count(batch);
  /* Many matrices times one: their rows are those of one tall matrix. */
  const bool one_b = situ_shape_count(front(&call->in[1].shape)) == 1;
  if (one_b && !f.turn_a && situ_shape_count(a) == count) f.m *= count, count = 1;
  for (int d = 0; d < SITU_MAX_RANK; d++) {
    const int own = d - (SITU_MAX_RANK - batch.rank);
    dim[d] = own < 0 ? 1 : batch.dim[own];
  }
  steps_of(&call->in[0].shape, a_step);
  steps_of(&call->in[1].shape, b_step);
  int32_t space = slots.c;
  const size_t bytes = gemm_workspace_size(type, f.m, f.n, f.k);
  if (bytes) TRY(call_scratch(call, bytes, &space));
  const bool small = f.m <= FEW || f.n <= FEW;
  const int64_t side = small ? SMALL_TILE : TILE;
  return LAUNCH(call, small ? &matmul_small_kernel : &matmul_kernel, type,
                count * tiles(f.m, side) * tiles(f.n, side) * GROUP_ITEMS, 0,
                2.0 * (double)count * (double)f.m * (double)f.n * (double)f.k, ARG_AT(slots.a),
                ARG_AT(slots.b), ARG_AT(slots.c), ARG_AT(space), ARG_INT(f.m), ARG_INT(f.n),
                ARG_INT(f.k), ARG_INT(f.turn_a ? 1 : f.k), ARG_INT(f.turn_a ? f.m : 1),
                ARG_INT(f.turn_b ? 1 : f.n), ARG_INT(f.turn_b ? f.k : 1), ARG_INT(count),
                ARG_INTS(dim), ARG_INTS(a_step), ARG_INTS(b_step));
}

/* Extracts the parts of a complex operand to scratch memory. */
static situ_status split_parts(struct call *call, const struct operand *operand, int32_t parts[2]) {
  const situ_type real = type_real(operand->type);
  const int64_t n = situ_shape_count(operand->shape);
  for (int i = 0; i < 2; i++) {
    TRY(call_scratch(call, (size_t)max_i64(1, n) * situ_type_size(real), &parts[i]));
    TRY(cast_record_part(call, real, operand->slot, i, parts[i], n));
  }
  return NULL;
}

/* A product of complex matrices is four of their parts. */
static situ_status record_complex_product(struct call *call) {
  const situ_type type = call->out[0].type, real = type_real(type);
  const int64_t n = situ_shape_count(call->out[0].shape);
  int32_t a[2], b[2], c[4];
  TRY(split_parts(call, &call->in[0], a));
  TRY(split_parts(call, &call->in[1], b));
  for (int i = 0; i < 4; i++) {
    TRY(call_scratch(call, (size_t)max_i64(1, n) * situ_type_size(real), &c[i]));
    const struct product_slots slots = {a[i == 1 || i == 3], b[i == 1 || i == 2], c[i]};
    TRY(record_real_product(call, real, slots));
  }
  const bool adj_a = call_attr(call, "adj_x") && call_bool(call, "adj_x");
  const bool adj_b = call_attr(call, "adj_y") && call_bool(call, "adj_y");
  return LAUNCH(call, complex_join_products, type, n, GRAIN, (double)n * 2, ARG_AT(c[0]),
                ARG_AT(c[1]), ARG_AT(c[2]), ARG_AT(c[3]), ARG_OUT(call, 0), ARG_INT(adj_a ? -1 : 1),
                ARG_INT(adj_b ? -1 : 1), ARG_INT(n));
}

static situ_status record_product(struct call *call) {
  const situ_type type = call->out[0].type;
  if (type_is_complex(type)) return record_complex_product(call);
  return record_real_product(
      call, type, (struct product_slots){call->in[0].slot, call->in[1].slot, call->out[0].slot});
}

/* Gradients */

/* One product, with the names that the op has for turning its operands. */
static struct term product(struct gradient *g, const char *const turn[2], struct term a,
                           bool turn_a, struct term b, bool turn_b) {
  return gradient_emit(g, g->schema->op->name, TERMS(a, b),
                       ATTRS(situ_attr_bool(turn[0], turn_a), situ_attr_bool(turn[1], turn_b)));
}

static void product_grad(struct gradient *g, const char *first, const char *second) {
  const char *const turn[] = {first, second};
  const bool ta = gradient_bool(g, first), tb = gradient_bool(g, second);
  /* MatMul has no adjoints: its operands are conjugated. */
  const bool conjugates = type_is_complex(gradient_type(g, g->in[0])) && first[0] == 't';
  const struct term a = conjugates ? OP(g, "Conj", g->in[0]) : g->in[0];
  const struct term b = conjugates ? OP(g, "Conj", g->in[1]) : g->in[1], dy = g->dy[0];
  if (gradient_wanted(g, 0))
    g->dx[0] = ta ? product(g, turn, b, tb, dy, true) : product(g, turn, dy, false, b, !tb);
  if (gradient_wanted(g, 1))
    g->dx[1] = tb ? product(g, turn, dy, true, a, ta) : product(g, turn, a, !ta, dy, false);
}

static void matmul_grad(struct gradient *g) { product_grad(g, "transpose_a", "transpose_b"); }
static void batch_matmul_grad(struct gradient *g) { product_grad(g, "adj_x", "adj_y"); }

static void batch_matmul_v2_grad(struct gradient *g) {
  product_grad(g, "adj_x", "adj_y");
  g->dx[0] = dense_sum_batch(g, g->dx[0], g->in[0], g->in[1]);
  g->dx[1] = dense_sum_batch(g, g->dx[1], g->in[1], g->in[0]);
}

#define PRODUCTS "bfloat16 half float double int32 int64 complex64 complex128"

static const struct op_def op_defs[] = {
    {.name = "MatMul",
     .inputs = "a:T b:T",
     .outputs = "product:T",
     .attrs = "transpose_a:bool=false transpose_b:bool=false T:{" PRODUCTS "} "
              "grad_a:bool=false grad_b:bool=false",
     .python = "matmul linalg.matmul",
     .doc = "Matrix multiplication: the product of two matrices.",
     .args = "a: Left matrix, [m, k], or [k, m] if transpose_a.\n"
             "b: Right matrix, [k, n], or [n, k] if transpose_b.\n"
             "transpose_a: Transpose a before the multiplication.\n"
             "transpose_b: Transpose b before the multiplication.\n"
             "grad_a: Accepted and ignored; says that a is a gradient.\n"
             "grad_b: Accepted and ignored; says that b is a gradient.",
     .samples = "[4,3] [3,5]; transpose_a=true [3,4] [3,5]; transpose_b=true [4,3] [5,3]; "
                "transpose_a=true transpose_b=true [3,4] [5,3]; [2,2] [2,2]; [1,7] [7,1]; "
                "[7,1] [1,7]; [2,0] [0,3]; [0,3] [3,2]; [33,70] [70,17]; [1,40] [40,600]; "
                "[120,110] [110,130]; transpose_a=true transpose_b=true [40,70] [66,40]",
     .devices = "CPU GPU(bfloat16 half float double complex64 complex128)",
     .shape = matmul_shape,
     .record = record_product,
     .grad = matmul_grad},
    {.name = "BatchMatMul",
     .inputs = "x:T y:T",
     .outputs = "output:T",
     .attrs = "T:{" PRODUCTS "} adj_x:bool=false adj_y:bool=false "
              "grad_x:bool=false grad_y:bool=false",
     .doc =
         "Matrix products of a batch of matrices; the batch dimensions of both inputs are equal.",
     .args = "x: Left matrices [..., m, k].\n"
             "y: Right matrices [..., k, n].\n"
             "adj_x: Transpose the matrices of x before the multiplication.\n"
             "adj_y: Transpose the matrices of y before the multiplication.\n"
             "grad_x: Accepted and ignored; says that x is a gradient.\n"
             "grad_y: Accepted and ignored; says that y is a gradient.",
     .samples = "[2,4,3] [2,3,5]; adj_x=true [2,3,4] [2,3,5]; adj_y=true [3,2,4,3] [3,2,5,3]; "
                "[4,3] [3,5]; [0,2,3] [0,3,2]; [40,9,8] [40,8,7]",
     .devices = "CPU GPU(bfloat16 half float double complex64 complex128)",
     .shape = batch_matmul_shape,
     .record = record_product,
     .grad = batch_matmul_grad},
    {.name = "BatchMatMulV2",
     .inputs = "x:T y:T",
     .outputs = "output:T",
     .attrs = "T:{" PRODUCTS "} adj_x:bool=false adj_y:bool=false "
              "grad_x:bool=false grad_y:bool=false",
     .doc = "Matrix products of a batch of matrices; the batch dimensions are broadcast.",
     .args = "x: Left matrices [..., m, k].\n"
             "y: Right matrices [..., k, n].\n"
             "adj_x: Transpose the matrices of x before the multiplication.\n"
             "adj_y: Transpose the matrices of y before the multiplication.\n"
             "grad_x: Accepted and ignored; says that x is a gradient.\n"
             "grad_y: Accepted and ignored; says that y is a gradient.",
     .samples = "[2,4,3] [2,3,5]; [2,4,3] [3,5]; [4,3] [2,3,5]; [2,1,4,3] [3,3,5]; "
                "adj_x=true [2,3,4] [3,5]; adj_x=true adj_y=true [2,1,3,4] [1,3,5,3]; "
                "[2,0,3] [3,4]",
     .devices = "CPU GPU(bfloat16 half float double complex64 complex128)",
     .shape = batch_matmul_v2_shape,
     .record = record_product,
     .grad = batch_matmul_v2_grad},
};

OP_FAMILY(matmul, op_defs);
