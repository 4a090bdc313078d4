/* SPDX-License-Identifier: Apache-2.0
 * svd_qr_eigh.c: QR, SVD and symmetric eigenvalue decompositions of batches of matrices,
 * computed in double precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { SWEEPS = 60 };

/* One matrix of a tensor: rows, columns, the smaller of both; its elements in double. */
struct matrix {
  int64_t m, n, k;
  double *a;
};

static double get(const situ_tensor *tensor, int64_t i) {
  const void *data = situ_tensor_data(tensor);
  return tensor->type == SITU_DOUBLE ? ((const double *)data)[i] : ((const float *)data)[i];
}

static void put(void *data, situ_type type, int64_t i, double value) {
  if (!data) return;
  if (type == SITU_DOUBLE)
    ((double *)data)[i] = value;
  else
    ((float *)data)[i] = (float)value;
}

static void put_all(void *data, situ_type type, int64_t at, const double *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) put(data, type, at + i, values[i]);
}

static void make_identity(double *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) x[i * n + j] = i == j;
}

/* Columns k ... of q (m x wide) that make it a basis: unit vectors less what is there already. */
static void complete(double *q, int64_t m, int64_t wide, int64_t k) {
  for (int64_t unit = 0; k < wide && unit < m; unit++) {
    for (int64_t i = 0; i < m; i++) q[i * wide + k] = i == unit;
    for (int pass = 0; pass < 2; pass++)
      for (int64_t c = 0; c < k; c++) {
        double dot = 0;
        for (int64_t i = 0; i < m; i++) dot += q[i * wide + c] * q[i * wide + k];
        for (int64_t i = 0; i < m; i++) q[i * wide + k] -= dot * q[i * wide + c];
      }
    double length = 0;
    for (int64_t i = 0; i < m; i++) length += q[i * wide + k] * q[i * wide + k];
    length = sqrt(length);
    if (length < 1e-8) continue;
    for (int64_t i = 0; i < m; i++) q[i * wide + k] /= length;
    k++;
  }
}

/* Householder reflections: a becomes R in its upper part, q (m x m) the product of reflections. */
static void reflect(struct matrix *x, double *q, double *v) {
  const int64_t m = x->m, n = x->n;
  make_identity(q, m);
  for (int64_t c = 0; c < x->k && c < m - 1; c++) {
    double norm = 0, length = 0;
    for (int64_t i = c; i < m; i++) norm += x->a[i * n + c] * x->a[i * n + c];
    norm = sqrt(norm);
    if (norm == 0) continue;
    const double top = x->a[c * n + c];
    for (int64_t i = c; i < m; i++) v[i] = x->a[i * n + c];
    v[c] += top < 0 ? -norm : norm;
    for (int64_t i = c; i < m; i++) length += v[i] * v[i];
    for (int64_t j = 0; j < n; j++) {
      double dot = 0;
      for (int64_t i = c; i < m; i++) dot += v[i] * x->a[i * n + j];
      for (int64_t i = c; i < m; i++) x->a[i * n + j] -= 2 * dot / length * v[i];
    }
    for (int64_t j = 0; j < m; j++) {
      double dot = 0;
      for (int64_t i = c; i < m; i++) dot += q[j * m + i] * v[i];
      for (int64_t i = c; i < m; i++) q[j * m + i] -= 2 * dot / length * v[i];
    }
  }
}

/* Turns columns p and q of x (rows x wide) by an angle. */
static void turn(double *x, int64_t rows, int64_t wide, int64_t p, int64_t q, double c, double s) {
  for (int64_t i = 0; i < rows; i++) {
    const double a = x[i * wide + p], b = x[i * wide + q];
    x[i * wide + p] = c * a - s * b;
    x[i * wide + q] = s * a + c * b;
  }
}

/* Turns that make the columns of a (m x n, m >= n) orthogonal; v (n x n) gathers them. */
static void make_orthogonal(const struct matrix *x, double *v) {
  make_identity(v, x->n);
  bool moved = true;
  for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
    moved = false;
    for (int64_t p = 0; p < x->n; p++)
      for (int64_t q = p + 1; q < x->n; q++) {
        double aa = 0, bb = 0, ab = 0;
        for (int64_t i = 0; i < x->m; i++) {
          const double a = x->a[i * x->n + p], b = x->a[i * x->n + q];
          aa += a * a, bb += b * b, ab += a * b;
        }
        if (ab == 0 || fabs(ab) <= 1e-15 * sqrt(aa * bb)) continue;
        moved = true;
        const double zeta = (bb - aa) / (2 * ab);
        const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        const double c = 1 / sqrt(1 + t * t);
        turn(x->a, x->m, x->n, p, q, c, c * t);
        turn(v, x->n, x->n, p, q, c, c * t);
      }
  }
}

/* Turns that make a symmetric matrix diagonal; v gathers them. */
static void make_diagonal(const struct matrix *x, double *v) {
  const int64_t n = x->n;
  double *a = x->a;
  make_identity(v, n);
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double off = 0, all = 0;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        all += a[i * n + j] * a[i * n + j];
        if (i != j) off += a[i * n + j] * a[i * n + j];
      }
    if (off <= 1e-30 * all) return;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        const double ab = a[p * n + q];
        if (ab == 0) continue;
        const double zeta = (a[q * n + q] - a[p * n + p]) / (2 * ab);
        const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        const double c = 1 / sqrt(1 + t * t), s = c * t;
        turn(a, n, n, p, q, c, s);
        for (int64_t j = 0; j < n; j++) {
          const double above = a[p * n + j], below = a[q * n + j];
          a[p * n + j] = c * above - s * below;
          a[q * n + j] = s * above + c * below;
        }
        turn(v, n, n, p, q, c, s);
      }
  }
}

/* The order of numbers: the largest first, or the smallest. */
static void sort_places(const double *values, int64_t n, bool down, int64_t *places) {
  for (int64_t i = 0; i < n; i++) {
    int64_t at = i;
    while (at && (down ? values[places[at - 1]] < values[i] : values[places[at - 1]] > values[i])) {
      places[at] = places[at - 1];
      at--;
    }
    places[at] = i;
  }
}

/* Shapes and memory */

static situ_status need_matrix(const struct call *call, bool square) {
  const situ_shape *in = &call->in[0].shape;
  char text[256];
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank < 2) return INVALID("Input matrix must have rank >= 2, got %d", in->rank);
  const int64_t m = in->dim[in->rank - 2], n = in->dim[in->rank - 1];
  if (!square || m == n || m == SITU_ANY || n == SITU_ANY) return NULL;
  return INVALID("Input matrices must be squares, got %s", shape_print(in, text));
}

/* The shape of input 0 with other last dimensions, or without the last. */
static situ_shape with_last(const situ_shape *in, int64_t m, int64_t n, bool vector) {
  situ_shape out = *in;
  if (in->rank == SITU_ANY) return out;
  out.dim[out.rank - 2] = m;
  if (vector)
    out.rank--;
  else
    out.dim[out.rank - 1] = n;
  return out;
}

static void sizes_of(const situ_shape *in, int64_t *m, int64_t *n, int64_t *k) {
  *m = *n = *k = SITU_ANY;
  if (in->rank < 2) return;
  *m = in->dim[in->rank - 2];
  *n = in->dim[in->rank - 1];
  if (*m != SITU_ANY && *n != SITU_ANY) *k = *m < *n ? *m : *n;
}

static int64_t matrices(const situ_shape *in) {
  int64_t count = 1;
  for (int d = 0; d < in->rank - 2; d++) count *= in->dim[d];
  return count;
}

/* What all three do: `one` is called for each matrix, with room for `extra` numbers. */
typedef void decompose_one(const struct compute *compute, struct matrix *x, double *room,
                           int64_t number, void *const *to);

static situ_status for_each(struct compute *compute, decompose_one *one, void *const *to) {
  const situ_tensor *in = compute->in[0];
  int64_t m, n, k;
  sizes_of(&in->shape, &m, &n, &k);
  const int64_t most = max_i64(m, n), size = m * n;
  double *memory = calloc((size_t)(size + 4 * most * most + 4 * most + 1), sizeof *memory);
  if (!memory) return NO_MEMORY();
  for (int64_t i = 0; size && i < matrices(&in->shape); i++) {
    struct matrix x = {m, n, k, memory};
    for (int64_t j = 0; j < size; j++) memory[j] = get(in, i * size + j);
    one(compute, &x, memory + size, i, to);
  }
  free(memory);
  return NULL;
}

static situ_status run(struct compute *compute, decompose_one *one) {
  void *to[3] = {NULL};
  for (int i = 0; i < compute->call->n_out; i++)
    TRY(compute_output(compute, i, compute->call->out[i].shape, &to[i]));
  return for_each(compute, one, to);
}

/* QR */

static situ_status qr_shape(struct call *call) {
  int64_t m, n, k;
  TRY(need_matrix(call, false));
  sizes_of(&call->in[0].shape, &m, &n, &k);
  const bool full = call_bool(call, "full_matrices");
  call->out[0].shape = with_last(&call->in[0].shape, m, full ? m : k, false);
  call->out[1].shape = with_last(&call->in[0].shape, full ? m : k, n, false);
  return NULL;
}

static void qr_one(const struct compute *compute, struct matrix *x, double *room, int64_t number,
                   void *const *to) {
  const situ_type type = compute->in[0]->type;
  const int64_t wide = call_bool(compute->call, "full_matrices") ? x->m : x->k;
  reflect(x, room, room + x->m * x->m);
  for (int64_t i = 0; i < x->m; i++)
    put_all(to[0], type, (number * x->m + i) * wide, room + i * x->m, wide);
  for (int64_t i = 0; i < wide; i++)
    for (int64_t j = 0; j < x->n; j++)
      put(to[1], type, (number * wide + i) * x->n + j, j < i ? 0 : x->a[i * x->n + j]);
}

static situ_status compute_qr(struct compute *compute) { return run(compute, qr_one); }

/* Singular values */

static situ_status svd_shape(struct call *call) {
  int64_t m, n, k;
  TRY(need_matrix(call, false));
  sizes_of(&call->in[0].shape, &m, &n, &k);
  const bool full = call_bool(call, "full_matrices");
  call->out[0].shape = with_last(&call->in[0].shape, k, 0, true);
  call->out[1].shape = with_last(&call->in[0].shape, m, full ? m : k, false);
  call->out[2].shape = with_last(&call->in[0].shape, n, full ? n : k, false);
  if (!call_bool(call, "compute_uv")) call->out[1].shape = call->out[2].shape = SITU_SHAPE(0);
  return NULL;
}

/* Writes columns of x (rows x wide) in an order, over lengths, as a matrix of `out` columns. */
static void write_basis(const struct compute *compute, void *const *to, int output, int64_t number,
                        const double *x, int64_t rows, int64_t wide, const int64_t *places,
                        const double *lengths, double *q) {
  const situ_shape *shape = &compute->out[output]->shape;
  const int64_t out = shape->dim[shape->rank - 1];
  int64_t whole = 0;
  for (int64_t c = 0; c < wide; c++) {
    const double length = lengths ? lengths[places[c]] : 1;
    if (lengths && length <= 1e-12 * lengths[places[0]]) break;
    for (int64_t i = 0; i < rows; i++) q[i * out + c] = x[i * wide + places[c]] / length;
    whole++;
  }
  complete(q, rows, out, whole);
  put_all(to[output], compute->in[0]->type, number * rows * out, q, rows * out);
}

static void svd_one(const struct compute *compute, struct matrix *x, double *room, int64_t number,
                    void *const *to) {
  const bool flat = x->m < x->n;
  const int64_t most = max_i64(x->m, x->n);
  double *v = room, *q = room + most * most, *lengths = q + most * most;
  int64_t *places = (int64_t *)(void *)(lengths + most);
  if (flat) { /* of the transpose */
    for (int64_t i = 0; i < x->m * x->n; i++) q[i] = x->a[i % x->m * x->n + i / x->m];
    memcpy(x->a, q, (size_t)(x->m * x->n) * sizeof *q);
    *x = (struct matrix){x->n, x->m, x->k, x->a};
  }
  make_orthogonal(x, v);
  for (int64_t c = 0; c < x->n; c++) {
    double sum = 0;
    for (int64_t i = 0; i < x->m; i++) sum += x->a[i * x->n + c] * x->a[i * x->n + c];
    lengths[c] = sqrt(sum);
  }
  sort_places(lengths, x->n, true, places);
  for (int64_t c = 0; c < x->k; c++)
    put(to[0], compute->in[0]->type, number * x->k + c, lengths[places[c]]);
  if (!call_bool(compute->call, "compute_uv")) return;
  write_basis(compute, to, flat ? 2 : 1, number, x->a, x->m, x->n, places, lengths, q);
  write_basis(compute, to, flat ? 1 : 2, number, v, x->n, x->n, places, NULL, q);
}

static situ_status compute_svd(struct compute *compute) { return run(compute, svd_one); }

/* Eigenvalues */

static situ_status eig_shape(struct call *call) {
  int64_t m, n, k;
  TRY(need_matrix(call, true));
  sizes_of(&call->in[0].shape, &m, &n, &k);
  call->out[0].shape = with_last(&call->in[0].shape, n, 0, true);
  call->out[1].shape = call->in[0].shape;
  if (!call_bool(call, "compute_v")) call->out[1].shape = SITU_SHAPE(0);
  return NULL;
}

static void eig_one(const struct compute *compute, struct matrix *x, double *room, int64_t number,
                    void *const *to) {
  const int64_t n = x->n;
  double *v = room, *q = room + n * n, *values = q + n * n;
  int64_t *places = (int64_t *)(void *)(values + n);
  for (int64_t i = 0; i < n; i++) /* the lower part counts */
    for (int64_t j = i + 1; j < n; j++) x->a[i * n + j] = x->a[j * n + i];
  make_diagonal(x, v);
  for (int64_t i = 0; i < n; i++) values[i] = x->a[i * n + i];
  sort_places(values, n, false, places);
  for (int64_t i = 0; i < n; i++)
    put(to[0], compute->in[0]->type, number * n + i, values[places[i]]);
  if (call_bool(compute->call, "compute_v"))
    write_basis(compute, to, 1, number, v, n, n, places, NULL, q);
}

static situ_status compute_eig(struct compute *compute) { return run(compute, eig_one); }

/* Gradients: with E = 1 / (value j - value i), of eigenvectors V and values:
 * V (diag(dvalues) + E * V'dV) V'. */

static struct term product(struct gradient *g, struct term a, struct term b, bool adj_a,
                           bool adj_b) {
  return gradient_emit(g, "BatchMatMul", TERMS(a, b),
                       ATTRS(situ_attr_bool("adj_x", adj_a), situ_attr_bool("adj_y", adj_b)));
}

static void eig_grad(struct gradient *g) {
  const struct term v = g->out[1], last = gradient_int(g, -1), before = gradient_int(g, -2);
  if (!gradient_bool(g, "compute_v")) {
    gradient_missing(g);
    return;
  }
  struct term inside = NO_TERM;
  if (term_exists(g->dy[0])) inside = OP(g, "MatrixDiag", g->dy[0]);
  if (term_exists(g->dy[1])) {
    const struct term apart =
        OP(g, "Sub", OP(g, "ExpandDims", g->out[0], before), OP(g, "ExpandDims", g->out[0], last));
    const struct term one = gradient_number(g, gradient_type(g, v), 1);
    const struct term share = OP(g, "DivNoNan", one, apart);
    const struct term more = OP(g, "Mul", share, product(g, v, g->dy[1], true, false));
    inside = term_exists(inside) ? OP(g, "Add", inside, more) : more;
  }
  const struct term whole = product(g, v, product(g, inside, v, false, true), false, false);
  const struct term lower = OP(g, "MatrixBandPart", whole, last, gradient_int(g, 0));
  const struct term upper = OP(g, "MatrixBandPart", whole, gradient_int(g, 0), last);
  /* Only the lower part was read. */
  const struct term diagonal =
      OP(g, "MatrixBandPart", whole, gradient_int(g, 0), gradient_int(g, 0));
  g->dx[0] =
      OP(g, "Sub",
         OP(g, "Add", lower,
            product(g, upper, OP(g, "MatrixDiag", OP(g, "OnesLike", g->out[0])), true, false)),
         diagonal);
}

static const struct op_def op_defs[] = {
    {.name = "Qr",
     .inputs = "input:T",
     .outputs = "q:T r:T",
     .attrs = "full_matrices:bool=false T:{float double}",
     .python = "",
     .doc = "QR decompositions of a batch of matrices: input = q * r.",
     .args = "input: Matrices [..., m, n].\n"
             "full_matrices: Return square q, else only its first min(m, n) columns.",
     .devices = "CPU",
     .shape = qr_shape,
     .compute = compute_qr,
     .grad = gradient_missing},
    {.name = "Svd",
     .inputs = "input:T",
     .outputs = "s:T u:T v:T",
     .attrs = "compute_uv:bool=true full_matrices:bool=false T:{float double}",
     .python = "",
     .doc = "Singular value decompositions of a batch of matrices: input = u * diag(s) * "
            "transpose(v), s in descending order.",
     .args = "input: Matrices [..., m, n].\n"
             "compute_uv: Compute u and v, else only s.\n"
             "full_matrices: Return square u and v, else only their first min(m, n) columns.",
     .devices = "CPU",
     .shape = svd_shape,
     .compute = compute_svd,
     .grad = gradient_missing},
    {.name = "SelfAdjointEigV2",
     .inputs = "input:T",
     .outputs = "e:T v:T",
     .attrs = "compute_v:bool=true T:{float double}",
     .python = "",
     .doc = "Eigenvalues of a batch of symmetric matrices in ascending order, and eigenvectors as "
            "columns.",
     .args = "input: Matrices [..., n, n], of which the lower triangle is read.\n"
             "compute_v: Compute the eigenvectors.",
     .devices = "CPU",
     .shape = eig_shape,
     .compute = compute_eig,
     .grad = eig_grad},
};

OP_FAMILY(svd_qr_eigh, op_defs);
