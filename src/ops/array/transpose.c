/* SPDX-License-Identifier: Apache-2.0
 * transpose.c: a tensor with its dimensions in another order.
 *
 * On the host a transposition is many of a plane: its rows lie in one piece in the input, its
 * columns in the output. Planes are cut into blocks that threads take; a block is read along its
 * rows and written in whole cache lines, past the cache where the result is too large for it. */
#include <string.h>

#include "host/thread_pool.h"
#include "host/nontemporal.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

enum {
  LAST = SITU_MAX_RANK - 1,
  BLOCK_BYTES = 1024,    /* along each side of a block */
  BLOCK_GRAIN = 1 << 16, /* bytes worth a thread */
};

/* A transposition, divided into blocks. */
struct turns {
  const void *x;
  void *y;
  bool turned;           /* rows become columns; else rows remain rows */
  bool stream;           /* with stores that bypass the cache */
  int64_t rows, cols;    /* of a plane, in the input */
  int64_t x_pitch;       /* stride of the rows in the input, */
  int64_t y_pitch;       /* stride of the columns (rows if not `turned`) in the output */
  int64_t height, width; /* of a block */
  int64_t down, across;  /* blocks in a plane */
  int n_outer;           /* dimensions around the planes, the fastest first */
  int64_t outer[SITU_MAX_RANK], x_step[SITU_MAX_RANK], y_step[SITU_MAX_RANK];
};

/* Offset and size of a block. */
struct turn_at {
  int64_t x, y, rows, cols;
};

static struct turn_at turns_find(const struct turns *t, int64_t block) {
  const int64_t across = block % t->across, down = block / t->across % t->down;
  const int64_t top = down * t->height, left = across * t->width;
  struct turn_at at = {.rows = min_i64(t->height, t->rows - top),
                       .cols = min_i64(t->width, t->cols - left)};
  at.x = top * t->x_pitch + left;
  at.y = t->turned ? left * t->y_pitch + top : top * t->y_pitch + left;
  int64_t plane = block / (t->across * t->down);
  for (int d = 0; d < t->n_outer; d++) {
    at.x += plane % t->outer[d] * t->x_step[d];
    at.y += plane % t->outer[d] * t->y_step[d];
    plane /= t->outer[d];
  }
  return at;
}

/* Finds the plane in the arguments of the kernel: dimensions of y, strides of x. */
static void turns_plan(const union arg *args, int64_t size, struct turns *t) {
  const union arg *dim = args + 2, *stride = dim + SITU_MAX_RANK;
  int64_t y_step[SITU_MAX_RANK], count = 1;
  for (int d = LAST; d >= 0; count *= dim[d--].integer) y_step[d] = count;
  t->turned = stride[LAST].integer != 1;
  int row = LAST - 1; /* the dimension whose index is the row (or the column, if turned) */
  for (int d = LAST - 1; t->turned && d >= 0; d--)
    if (stride[d].integer == 1 && dim[d].integer > 1) row = d;
  const int64_t last = dim[LAST].integer, other = dim[row].integer;
  t->rows = t->turned ? last : other;
  t->cols = t->turned ? other : last;
  t->x_pitch = stride[t->turned ? LAST : row].integer;
  t->y_pitch = y_step[row];
  for (int d = LAST - 1; d >= 0; d--) {
    if (d == row || dim[d].integer == 1) continue;
    t->outer[t->n_outer] = dim[d].integer;
    t->x_step[t->n_outer] = stride[d].integer;
    t->y_step[t->n_outer++] = y_step[d];
  }
  const bool even = t->y_pitch * size % 16 == 0 && (uintptr_t)t->y % 16 == 0;
  t->stream = CAN_STREAM && t->turned && even && count * size >= NONTEMPORAL_MIN_BYTES;
  for (int d = 0; d < t->n_outer; d++)
    if (t->y_step[d] * size % 16) t->stream = false;
}

static situ_status turns_run(const union arg *args, int64_t size, host_kernel *blocks) {
  struct turns t = {.x = args[0].pointer, .y = args[1].pointer};
  turns_plan(args, size, &t);
  t.width = min_i64(t.cols, (t.turned ? BLOCK_BYTES : BLOCK_GRAIN) / size);
  t.height = min_i64(t.rows, t.turned ? BLOCK_BYTES / size : BLOCK_GRAIN / (t.width * size));
  t.down = (t.rows - 1) / t.height + 1;
  t.across = (t.cols - 1) / t.width + 1;
  int64_t count = t.down * t.across;
  for (int d = 0; d < t.n_outer; d++) count *= t.outer[d];
  const union arg plan[] = {{.pointer = &t}};
  return thread_pool_run(blocks, plan, count,
                         max_i64(1, BLOCK_GRAIN / (t.height * t.width * size)));
}

#define KERNELS "ops/array/transpose.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(transpose, BITS);

/* Reads perm: *known is false while it is not known. */
static situ_status read_order(const struct call *call, int64_t order[SITU_MAX_RANK], bool *known) {
  const situ_shape *in = &call->in[0].shape, *perm = &call->in[1].shape;
  int count;
  *known = false;
  TRY(op_need_rank(call, 1, 1, "perm"));
  const int64_t length = perm->rank == SITU_ANY ? SITU_ANY : perm->dim[0];
  if (in->rank != SITU_ANY && length != SITU_ANY && length != in->rank)
    return INVALID("transpose expects a vector of size %d. But input(1) is a vector of size %lld",
                   in->rank, (long long)length);
  TRY(call_integers(call, 1, order, &count));
  if (count == SITU_ANY || in->rank == SITU_ANY) return NULL;
  bool seen[SITU_MAX_RANK] = {false};
  for (int d = 0; d < count; d++) {
    if (order[d] < 0) order[d] += in->rank;
    if (order[d] < 0 || order[d] >= in->rank)
      return INVALID("%lld is out of range [0 .. %d)", (long long)order[d], in->rank);
    if (seen[order[d]]) return INVALID("%lld is missing from {permutation}.", (long long)order[d]);
    seen[order[d]] = true;
  }
  *known = true;
  return NULL;
}

static situ_status transpose_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  int64_t order[SITU_MAX_RANK];
  bool known;
  TRY(read_order(call, order, &known));
  *out = *in;
  if (in->rank == SITU_ANY && call->in[1].shape.rank == 1 && call->in[1].shape.dim[0] >= 0 &&
      call->in[1].shape.dim[0] <= SITU_MAX_RANK)
    out->rank = (int)call->in[1].shape.dim[0];
  for (int d = 0; d < out->rank; d++) out->dim[d] = known ? in->dim[order[d]] : SITU_ANY;
  return NULL;
}

/* Dimensions of the output and their strides in the input. Dimensions that remain adjacent are
 * merged; the leading ones are 1. */
static void collapse(const situ_shape *in, const int64_t *order, int64_t dim[SITU_MAX_RANK],
                     int64_t stride[SITU_MAX_RANK]) {
  int64_t own[SITU_MAX_RANK], count = 1;
  for (int d = in->rank - 1; d >= 0; count *= in->dim[d--]) own[d] = count;
  int at = SITU_MAX_RANK;
  for (int d = in->rank - 1; d >= 0; d--) {
    const int64_t size = in->dim[order[d]], step = own[order[d]];
    if (size == 1) continue;
    if (at < SITU_MAX_RANK && step == stride[at] * dim[at]) {
      dim[at] *= size;
    } else {
      dim[--at] = size;
      stride[at] = step;
    }
  }
  while (at > 0) dim[--at] = 1, stride[at] = 0;
  if (dim[LAST] == 1) stride[LAST] = 1;
}

static situ_status record_transpose(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  int64_t order[SITU_MAX_RANK], dim[SITU_MAX_RANK], stride[SITU_MAX_RANK];
  bool known;
  TRY(read_order(call, order, &known));
  if (!n) return NULL;
  collapse(&call->in[0].shape, order, dim, stride);
  return LAUNCH(call, &transpose_kernel, call->out[0].type, n, 0, 0, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INTS(dim), ARG_INTS(stride), ARG_INT(n));
}

/* The inverse permutation. */
static struct term inverse_permutation(struct gradient *g, struct term perm) {
  int64_t forth[SITU_MAX_RANK], back[SITU_MAX_RANK] = {0};
  int count;
  if (!gradient_integers(g, perm, forth, &count)) return OP(g, "InvertPermutation", perm);
  for (int i = 0; i < count; i++) back[forth[i] + (forth[i] < 0 ? count : 0)] = i;
  return gradient_ints(g, back, count);
}

static void transpose_grad(struct gradient *g) {
  g->dx[0] = OP(g, "Transpose", g->dy[0], inverse_permutation(g, g->in[1]));
}

static const struct op_def op_defs[] = {
    {.name = "Transpose",
     .inputs = "x:T perm:Tperm[?]",
     .outputs = "y:T",
     .attrs = "T:{" ALL_TYPES "} Tperm:{int32 int64}=int32",
     .python = "transpose linalg.transpose",
     .doc = "Permutes dimensions: dimension i of the result is dimension perm[i] of the input.",
     .args = "x: Input tensor.\n"
             "perm: Vector with a permutation of the dimensions.",
     .samples = "[3,4] [2]=1,0; [2,3,4] [3]=2,0,1; [2,3,4] [3]=0,2,1; [2,3,4,5] [4]=0,3,1,2; "
                "[5] [1]=0; [] [0]=; Tperm=int64 [3,1,2] [3]=1,2,0; [0,3] [2]=1,0; "
                "[33,70] [2]=1,0; [2,3,2,3,2] [5]=4,2,0,3,1; [2,3,4] [3]=0,1,2",
     .host = "perm",
     .devices = MOVABLE,
     .shape = transpose_shape,
     .record = record_transpose,
     .grad = transpose_grad},
};

OP_FAMILY(transpose, op_defs);
