/* SPDX-License-Identifier: Apache-2.0
 * fft.c: discrete Fourier transforms over the last one, two or three dimensions: FFT and IFFT of
 * complex numbers, RFFT of real numbers to the non-negative frequencies, and IRFFT, its inverse. */
#include "host/fft.h"

#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/type.h"

/* ---- Kernels ---- */

/* Arguments of a launch: x, y, the geometry, the strides of x and y. */
enum { N, COUNT_0, COUNT_1, INVERSE, DIVISOR, X_LENGTH };
enum { X, Y, GEOMETRY, X_STRIDES = GEOMETRY + SITU_MAX_RANK };
enum { Y_STRIDES = X_STRIDES + SITU_MAX_RANK };

/* Sets y to 0: the transform of a tensor without elements, padded. */
static void clear(const struct fft_lines *lines, bool is_double, int64_t begin, int64_t end,
                  int64_t n) {
  const size_t part = is_double ? sizeof(double) : sizeof(float);
  const size_t size = lines->kind == FFT_INVERSE_REAL ? part : 2 * part;
  const int64_t length = lines->kind == FFT_REAL ? n / 2 + 1 : n;
  for (int64_t l = begin; l < end; l++) {
    const int64_t j = l % lines->count[1], rest = l / lines->count[1];
    char *y =
        (char *)lines->y + (size_t)(rest / lines->count[0] * lines->y_at[0] +
                                    rest % lines->count[0] * lines->y_at[1] + j * lines->y_at[2]) *
                               size;
    for (int64_t i = 0; i < length; i++) memset(y + (size_t)(i * lines->y_stride) * size, 0, size);
  }
}

static situ_status run_lines(const union arg *args, enum fft_kind kind, bool is_double,
                             int64_t begin, int64_t end) {
  const union arg *g = args + GEOMETRY, *x = args + X_STRIDES, *y = args + Y_STRIDES;
  const int64_t n = g[N].integer;
  struct fft_plan *plan = NULL;
  if (g[X_LENGTH].integer) TRY(fft_plan_acquire(n, is_double, kind != FFT_COMPLEX, &plan));
  const struct fft_lines lines = {
      .plan = plan,
      .kind = kind,
      .inverse = g[INVERSE].integer,
      .scale = 1 / (double)g[DIVISOR].integer,
      .x = args[X].pointer,
      .y = args[Y].pointer,
      .count = {g[COUNT_0].integer, g[COUNT_1].integer},
      .x_at = {x[0].integer, x[1].integer, x[2].integer},
      .y_at = {y[0].integer, y[1].integer, y[2].integer},
      .x_stride = x[3].integer,
      .y_stride = y[3].integer,
  };
  situ_status s = NULL;
  if (plan)
    s = fft_run(&lines, begin, end);
  else
    clear(&lines, is_double, begin, end, n);
  fft_plan_release(plan);
  return s;
}

#define HOST_KERNEL(kernel_name, kind)                                                             \
  static situ_status kernel_name##_complex64(const union arg *args, int64_t begin, int64_t end) {  \
    return run_lines(args, kind, false, begin, end);                                               \
  }                                                                                                \
  static situ_status kernel_name##_complex128(const union arg *args, int64_t begin, int64_t end) { \
    return run_lines(args, kind, true, begin, end);                                                \
  }                                                                                                \
  static const struct kernel kernel_name##_kernel = {                                              \
      .name = #kernel_name,                                                                        \
      .host = {[SITU_COMPLEX64] = kernel_name##_complex64,                                         \
               [SITU_COMPLEX128] = kernel_name##_complex128}}
HOST_KERNEL(fft_complex, FFT_COMPLEX);
HOST_KERNEL(fft_real, FFT_REAL);
HOST_KERNEL(fft_inverse_real, FFT_INVERSE_REAL);

/* ---- Shapes ---- */

/* The number of transformed dimensions: the digit in the name of the op, or 1. */
static int rank_of(const char *op) {
  for (; *op; op++)
    if (*op >= '1' && *op <= '3') return *op - '0';
  return 1;
}

static int fft_rank(const struct call *call) { return rank_of(call->schema->op->name); }

static situ_status need_dimensions(const struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  char text[256];
  if (in->rank == SITU_ANY || in->rank >= fft_rank(call)) return NULL;
  if (call->building)
    return INVALID("Shape must be at least rank %d but is rank %d", fft_rank(call), in->rank);
  return INVALID("Input must have rank of at least %d but got: %s", fft_rank(call),
                 shape_print(in, text));
}

static situ_status complex_shape(struct call *call) {
  TRY(need_dimensions(call));
  return op_same_shape(call);
}

static situ_status need_lengths(const struct call *call) {
  const situ_shape *in = &call->in[1].shape;
  const int rank = fft_rank(call);
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank != 1 && call->building)
    return INVALID("Shape must be rank 1 but is rank %d", in->rank);
  if (in->rank == 1 && (in->dim[0] == rank || in->dim[0] == SITU_ANY)) return NULL;
  if (call->building)
    return INVALID("Dimension must be %d but is %lld", rank, (long long)in->dim[0]);
  return INVALID("fft_length must have shape [%d]", rank);
}

/* Input dimensions must not be shorter than the transform; tensors without elements pass. */
static situ_status need_length(const struct call *call, int dim, int64_t least) {
  const int64_t length = call->in[0].shape.dim[dim];
  if (length == SITU_ANY || length == 0 || length >= least) return NULL;
  return INVALID("Input dimension %d must have length of at least %lld but got: %lld", dim,
                 (long long)least, (long long)length);
}

static situ_status real_shape_of(struct call *call, bool inverse) {
  const int rank = fft_rank(call);
  int64_t length[SITU_MAX_RANK];
  unsigned unknown = 0;
  int count = SITU_ANY;
  TRY(need_dimensions(call));
  TRY(need_lengths(call));
  situ_shape *out = &call->out[0].shape;
  *out = call->in[0].shape;
  if (type_real(call->in[0].type) != type_real(call->out[0].type))
    return INVALID("Input and output of %s must have the same precision", call->schema->op->name);
  if (out->rank == SITU_ANY) return NULL;
  TRY(call_sizes(call, 1, length, &count, &unknown));
  for (int i = 0; i < rank; i++) {
    const int dim = out->rank - rank + i;
    const bool is_last = i == rank - 1;
    out->dim[dim] = SITU_ANY;
    if (count == SITU_ANY || unknown & 1u << i) continue;
    if (length[i] < 0)
      return INVALID("fft_length[%d] must be >= 0, but got: %lld", i, (long long)length[i]);
    const int64_t bins = length[i] ? length[i] / 2 + 1 : 0;
    TRY(need_length(call, dim, inverse && is_last ? bins : length[i]));
    out->dim[dim] = !inverse && is_last ? bins : length[i];
  }
  return NULL;
}

static situ_status real_shape(struct call *call) { return real_shape_of(call, false); }
static situ_status inverse_real_shape(struct call *call) { return real_shape_of(call, true); }

/* ---- Launches ---- */

/* One pass over lines along an axis of a tensor [batch, a, b, c]. */
struct pass {
  const struct kernel *kernel;
  int axis;
  int64_t batch, n, size[3]; /* the length of lines; the number of lines along the other axes */
  int64_t x_dims[3], y_dims[3];
  struct launch_arg x, y;
  bool inverse;
  int64_t divisor;
};

static void set_strides(const int64_t dims[3], int axis, int64_t out[SITU_MAX_RANK]) {
  const int64_t stride[3] = {dims[1] * dims[2], dims[2], 1};
  memset(out, 0, SITU_MAX_RANK * sizeof *out);
  out[0] = dims[0] * dims[1] * dims[2];
  out[1] = stride[axis == 0 ? 1 : 0];
  out[2] = stride[axis == 2 ? 1 : 2];
  out[3] = stride[axis == 0 ? 0 : axis == 1 ? 1 : 2];
}

/* The minimum number of lines per thread. */
static int64_t grain_of(int64_t n) { return 1 + (int64_t)(1e5 / fft_flops(max_i64(n, 1))); }

static situ_status launch_pass(struct call *call, const struct pass *pass) {
  const situ_type type = type_is_complex(call->in[0].type) ? call->in[0].type : call->out[0].type;
  const int64_t rows = pass->size[pass->axis == 0 ? 1 : 0];
  const int64_t columns = pass->size[pass->axis == 2 ? 1 : 2];
  const int64_t lines = pass->n ? pass->batch * rows * columns : 0;
  const int64_t x_length = pass->x_dims[0] * pass->x_dims[1] * pass->x_dims[2];
  const int64_t geometry[SITU_MAX_RANK] = {pass->n,       rows,          columns,
                                           pass->inverse, pass->divisor, x_length};
  int64_t x[SITU_MAX_RANK], y[SITU_MAX_RANK];
  set_strides(pass->x_dims, pass->axis, x);
  set_strides(pass->y_dims, pass->axis, y);
  return LAUNCH(call, pass->kernel, type, lines, grain_of(pass->n),
                (double)lines * fft_flops(pass->n), pass->x, pass->y, ARG_INTS(geometry),
                ARG_INTS(x), ARG_INTS(y));
}

/* The last dimensions of a shape as three, and the number of elements before them. */
static void split_dims(const struct call *call, const situ_shape *shape, int64_t dims[3],
                       int64_t *batch) {
  const int rank = fft_rank(call);
  *batch = 1;
  for (int i = 0; i < 3; i++) dims[i] = i < 3 - rank ? 1 : shape->dim[shape->rank - 3 + i];
  for (int i = 0; i < shape->rank - rank; i++) *batch *= shape->dim[i];
}

/* Complex passes along the axes before `end`, the last one first: from x to y, then in y. */
static situ_status launch_complex(struct call *call, struct pass pass, int end) {
  for (int axis = end - 1; axis >= 3 - fft_rank(call); axis--) {
    const int64_t divisor = pass.divisor;
    pass.axis = axis;
    pass.n = pass.y_dims[axis];
    if (axis > 3 - fft_rank(call)) pass.divisor = 1; /* divided by the last pass */
    TRY(launch_pass(call, &pass));
    pass.divisor = divisor;
    pass.x = pass.y;
    memcpy(pass.x_dims, pass.y_dims, sizeof pass.x_dims);
  }
  return NULL;
}

static situ_status record_complex(struct call *call, bool inverse) {
  struct pass pass = {.kernel = &fft_complex_kernel,
                      .x = ARG_IN(call, 0),
                      .y = ARG_OUT(call, 0),
                      .inverse = inverse,
                      .divisor = 1};
  split_dims(call, &call->in[0].shape, pass.x_dims, &pass.batch);
  memcpy(pass.y_dims, pass.x_dims, sizeof pass.y_dims);
  memcpy(pass.size, pass.x_dims, sizeof pass.size);
  if (inverse) pass.divisor = pass.x_dims[0] * pass.x_dims[1] * pass.x_dims[2];
  return launch_complex(call, pass, 3);
}

static situ_status record_fft(struct call *call) { return record_complex(call, false); }
static situ_status record_ifft(struct call *call) { return record_complex(call, true); }

static situ_status record_rfft(struct call *call) {
  struct pass pass = {.kernel = &fft_real_kernel,
                      .axis = 2,
                      .x = ARG_IN(call, 0),
                      .y = ARG_OUT(call, 0),
                      .divisor = 1};
  split_dims(call, &call->in[0].shape, pass.x_dims, &pass.batch);
  split_dims(call, &call->out[0].shape, pass.y_dims, &pass.batch);
  memcpy(pass.size, pass.y_dims, sizeof pass.size);
  pass.n = call_element(call, 1, fft_rank(call) - 1);
  TRY(launch_pass(call, &pass));
  pass.kernel = &fft_complex_kernel;
  pass.x = pass.y;
  memcpy(pass.x_dims, pass.y_dims, sizeof pass.x_dims);
  return launch_complex(call, pass, 2);
}

static situ_status record_irfft(struct call *call) {
  int64_t dims[3], batch;
  struct pass pass = {
      .kernel = &fft_complex_kernel, .x = ARG_IN(call, 0), .inverse = true, .divisor = 1};
  split_dims(call, &call->in[0].shape, pass.x_dims, &pass.batch);
  split_dims(call, &call->out[0].shape, dims, &batch);
  memcpy(pass.y_dims, dims, sizeof dims);
  pass.y_dims[2] = dims[2] / 2 + 1;
  memcpy(pass.size, pass.y_dims, sizeof pass.size);
  if (fft_rank(call) > 1) {
    int32_t slot;
    const int64_t numbers = batch * pass.y_dims[0] * pass.y_dims[1] * pass.y_dims[2];
    TRY(call_scratch(call, (size_t)max_i64(1, numbers) * situ_type_size(call->in[0].type), &slot));
    pass.y = ARG_AT(slot);
    TRY(launch_complex(call, pass, 2));
    pass.x = pass.y;
    memcpy(pass.x_dims, pass.y_dims, sizeof pass.x_dims);
  }
  pass.kernel = &fft_inverse_real_kernel;
  pass.axis = 2;
  pass.n = dims[2];
  pass.divisor = dims[0] * dims[1] * dims[2];
  pass.y = ARG_OUT(call, 0);
  memcpy(pass.y_dims, dims, sizeof dims);
  return launch_pass(call, &pass);
}

/* ---- Gradients ---- */

static int gradient_rank(const struct gradient *g) { return rank_of(g->schema->op->name); }

/* "FFT", "IFFT", "RFFT", "IRFFT" of the rank of this op. */
static const char *op_of_rank(const struct gradient *g, const char *const names[3]) {
  return names[gradient_rank(g) - 1];
}

static const char *const fft_names[] = {"FFT", "FFT2D", "FFT3D"};
static const char *const ifft_names[] = {"IFFT", "IFFT2D", "IFFT3D"};
static const char *const rfft_names[] = {"RFFT", "RFFT2D", "RFFT3D"};
static const char *const irfft_names[] = {"IRFFT", "IRFFT2D", "IRFFT3D"};

static struct term cast_to(struct gradient *g, struct term x, situ_type type) {
  return gradient_emit(g, "Cast", TERMS(x), ATTRS(situ_attr_type("DstT", type)));
}

/* The sizes of the last dimensions of a term, a vector. */
static struct term last_sizes(struct gradient *g, struct term x) {
  return OP(g, "StridedSlice", gradient_shape_of(g, x),
            gradient_ints(g, (const int64_t[]){-gradient_rank(g)}, 1),
            gradient_ints(g, (const int64_t[]){INT32_MAX}, 1),
            gradient_ints(g, (const int64_t[]){1}, 1));
}

/* The product of an integer vector, as a number of a type. */
static struct term product_of(struct gradient *g, struct term sizes, situ_type type) {
  return OP(g, "Prod", cast_to(g, sizes, type), gradient_int(g, 0));
}

static void fft_grad(struct gradient *g) {
  const situ_type type = gradient_type(g, g->dy[0]);
  const struct term size = product_of(g, last_sizes(g, g->dy[0]), type_real(type));
  g->dx[0] = OP(g, "Mul", OP(g, op_of_rank(g, ifft_names), g->dy[0]), cast_to(g, size, type));
}

static void ifft_grad(struct gradient *g) {
  const situ_type type = gradient_type(g, g->dy[0]);
  const struct term size = product_of(g, last_sizes(g, g->dy[0]), type_real(type));
  const struct term share = cast_to(g, OP(g, "Reciprocal", size), type);
  g->dx[0] = OP(g, "Mul", OP(g, op_of_rank(g, fft_names), g->dy[0]), share);
}

/* Weights of the frequencies 0 ... n / 2 of a real transform of length n, the last of fft_length: 1
 * for 0 and n / 2, `pair` for those whose conjugates are not stored. */
static struct term frequency_weights(struct gradient *g, situ_type type, double pair) {
  const int64_t rank = gradient_rank(g);
  const struct term zero = gradient_int(g, 0), one = gradient_int(g, 1), two = gradient_int(g, 2);
  const struct term n = OP(g, "GatherV2", g->in[1], gradient_int(g, rank - 1), zero);
  const struct term end = OP(g, "Add", OP(g, "FloorDiv", n, two), one);
  const struct term k = OP(g, "Range", zero, end, one);
  const struct term is_single =
      OP(g, "LogicalOr", OP(g, "Equal", k, zero), OP(g, "Equal", OP(g, "Mul", k, two), n));
  return OP(g, "SelectV2", is_single, gradient_number(g, type, 1), gradient_number(g, type, pair));
}

/* Pads a gradient with trailing zeros to the shape of the input, for elements that were not read.
 * */
static struct term pad_to_input(struct gradient *g, struct term dx) {
  situ_shape from, to;
  if (gradient_known(g, dx, &from) && gradient_known(g, g->in[0], &to) && shape_equal(&from, &to))
    return dx;
  const struct term missing =
      OP(g, "Sub", gradient_shape_of(g, g->in[0]), gradient_shape_of(g, dx));
  const struct term both[] = {OP(g, "ZerosLike", missing), missing};
  const struct term paddings = gradient_emit(g, "Pack", both, 2, ATTRS(situ_attr_int("axis", 1)));
  return OP(g, "Pad", dx, paddings);
}

/* The real part of the inverse FFT of the stored frequencies, times the size: an IRFFT in which the
 * pairs count half. */
static void rfft_grad(struct gradient *g) {
  const situ_type type = gradient_type(g, g->dy[0]), real = type_real(type);
  const struct term weights = cast_to(g, frequency_weights(g, real, 0.5), type);
  const struct term dx =
      gradient_emit(g, op_of_rank(g, irfft_names), TERMS(OP(g, "Mul", g->dy[0], weights), g->in[1]),
                    ATTRS(situ_attr_type("Treal", real)));
  g->dx[0] = pad_to_input(g, OP(g, "Mul", dx, product_of(g, g->in[1], real)));
}

static void irfft_grad(struct gradient *g) {
  const situ_type real = gradient_type(g, g->dy[0]), type = gradient_type(g, g->in[0]);
  const struct term size = product_of(g, g->in[1], real);
  const struct term weights = OP(g, "RealDiv", frequency_weights(g, real, 2), size);
  const struct term dx = gradient_emit(g, op_of_rank(g, rfft_names), TERMS(g->dy[0], g->in[1]),
                                       ATTRS(situ_attr_type("Tcomplex", type)));
  g->dx[0] = pad_to_input(g, OP(g, "Mul", dx, cast_to(g, weights, type)));
}

/* ---- Definitions ---- */

#define COMPLEX_OP(op, dims, text, record_function, grad_function, sample)                  \
  {                                                                                         \
    .name = op, .inputs = "input:Tcomplex", .outputs = "output:Tcomplex",                   \
    .attrs = "Tcomplex:{complex64 complex128}=complex64", .python = "", .doc = text,        \
    .args = "input: Complex numbers " dims                                                  \
            "; the transform is over these dimensions, of any "                             \
            "length.",                                                                      \
    .samples = sample, .devices = "CPU", .shape = complex_shape, .record = record_function, \
    .grad = grad_function                                                                   \
  }

#define FROM_REAL(op, dims, text, sample)                                                          \
  {                                                                                                \
    .name = op, .inputs = "input:Treal fft_length:int32", .outputs = "output:Tcomplex",            \
    .attrs = "Treal:{float double}=float Tcomplex:{complex64 complex128}=complex64", .python = "", \
    .doc = text,                                                                                   \
    .args = "input: Real numbers " dims                                                            \
            ", of which the first fft_length are read.\n"                                          \
            "fft_length: Lengths of the transform, one per dimension; at most those of input.\n"   \
            "Tcomplex: Type of the output; complex128 if input is double.",                        \
    .host = "fft_length", .samples = sample, .devices = "CPU", .shape = real_shape,                \
    .record = record_rfft, .grad = rfft_grad                                                       \
  }

#define TO_REAL(op, dims, text, sample)                                                            \
  {                                                                                                \
    .name = op, .inputs = "input:Tcomplex fft_length:int32", .outputs = "output:Treal",            \
    .attrs = "Treal:{float double}=float Tcomplex:{complex64 complex128}=complex64", .python = "", \
    .doc = text,                                                                                   \
    .args = "input: Frequencies " dims                                                             \
            ", of which the first fft_length are read, and fft_length / 2 + 1 of the last "        \
            "dimension.\n"                                                                         \
            "fft_length: Lengths of the output, one per dimension.\n"                              \
            "Treal: Type of the output; double if input is complex128.",                           \
    .host = "fft_length", .samples = sample, .devices = "CPU", .shape = inverse_real_shape,        \
    .record = record_irfft, .grad = irfft_grad                                                     \
  }

#define D1 "[..., n]"
#define D2 "[..., n, m]"
#define D3 "[..., n, m, l]"
#define F "Treal=float Tcomplex=complex64 "
#define D "Treal=double Tcomplex=complex128 "
#define BINS " of real numbers: the frequencies 0 to n / 2 of the last dimension."

static const struct op_def op_defs[] = {
    COMPLEX_OP("FFT", D1, "1-D discrete Fourier transform.", record_fft, fft_grad,
               "[8]; [3,5]; [2,67]; [0,3]"),
    COMPLEX_OP("FFT2D", D2, "2-D discrete Fourier transform.", record_fft, fft_grad,
               "[4,6]; [2,3,5]"),
    COMPLEX_OP("FFT3D", D3, "3-D discrete Fourier transform.", record_fft, fft_grad,
               "[2,3,4]; [2,3,2,5]"),
    COMPLEX_OP("IFFT", D1, "Inverse 1-D discrete Fourier transform.", record_ifft, ifft_grad,
               "[8]; [3,5]; [2,67]; [0,3]"),
    COMPLEX_OP("IFFT2D", D2, "Inverse 2-D discrete Fourier transform.", record_ifft, ifft_grad,
               "[4,6]; [2,3,5]"),
    COMPLEX_OP("IFFT3D", D3, "Inverse 3-D discrete Fourier transform.", record_ifft, ifft_grad,
               "[2,3,4]; [2,3,2,5]"),
    FROM_REAL("RFFT", D1, "1-D discrete Fourier transform" BINS,
              F "[8] [1]=8; " F "[3,7] [1]=7; " D "[3,7] [1]=4; " F "[1] [1]=1"),
    FROM_REAL("RFFT2D", D2, "2-D discrete Fourier transform" BINS,
              F "[4,6] [2]=4,6; " D "[2,5,5] [2]=3,5"),
    FROM_REAL("RFFT3D", D3, "3-D discrete Fourier transform" BINS,
              F "[2,3,4] [3]=2,3,4; " D "[2,3,3,5] [3]=3,2,4"),
    TO_REAL("IRFFT", D1, "Inverse of RFFT.",
            F "[5] [1]=8; " F "[3,4] [1]=7; " D "[3,4] [1]=4; " F "[1] [1]=1"),
    TO_REAL("IRFFT2D", D2, "Inverse of RFFT2D.", F "[4,4] [2]=4,6; " D "[2,5,4] [2]=3,5"),
    TO_REAL("IRFFT3D", D3, "Inverse of RFFT3D.", F "[2,3,3] [3]=2,3,4; " D "[2,3,3,5] [3]=3,2,4"),
};

OP_FAMILY(fft, op_defs);
