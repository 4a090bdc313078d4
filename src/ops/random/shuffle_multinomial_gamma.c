/* SPDX-License-Identifier: Apache-2.0
 * shuffle_multinomial_gamma.c: RandomShuffle, RandomIndexShuffle, Multinomial, RandomGamma and
 * their stateless variants. */
#include "base/interrupt.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/random/index_shuffle.h"
#include "ops/random/random_ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"

#define KERNELS "ops/random/shuffle_multinomial_gamma.cl"
#include "kernel/types.h"
#define KERNELS "ops/array/permute_rows.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(reorder_rows, BITS);
KERNEL_TABLE(random_weights, REAL);
KERNEL_TABLE(random_gamma, REAL);
static const struct kernel random_order_kernel = {
    .name = "random_order", .file = types_file, .host = {[SITU_INT64] = random_order_int64}};
static const struct kernel random_classes_kernel = {
    .name = "random_classes",
    .file = types_file,
    .host = {[SITU_INT32] = random_classes_int32, [SITU_INT64] = random_classes_int64}};

enum { SAMPLING_GRAIN = 256 };

/* RandomShuffle */

static situ_status shuffle(struct call *call, int32_t state) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t n = situ_shape_count(*in), rows = in->rank ? in->dim[0] : 1;
  int32_t order;
  TRY(call_scratch(call, (size_t)max_i64(1, rows) * sizeof(int64_t), &order));
  TRY(LAUNCH(call, &random_order_kernel, SITU_INT64, 1, 0, (double)rows * 16, ARG_AT(state),
             ARG_AT(order), ARG_INT(rows)));
  return LAUNCH(call, &reorder_rows_kernel, call->in[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_AT(order), ARG_OUT(call, 0), ARG_INT(rows ? n / rows : 1), ARG_INT(n));
}

static situ_status record_shuffle(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t n = situ_shape_count(*in), rows = in->rank ? in->dim[0] : 1;
  int32_t state;
  TRY(random_state(call, &state));
  TRY(shuffle(call, state));
  return n > 1 && rows > 1 ? random_skip(call, state, (rows - 1 + 3) / 4) : NULL;
}

static situ_status stateless_shuffle_shape(struct call *call) {
  TRY(random_need_key(call, 1));
  return op_same_shape(call);
}

static situ_status record_stateless_shuffle(struct call *call) {
  int32_t state;
  TRY(random_keyed(call, 1, &state));
  return shuffle(call, state);
}

/* Multinomial */

static situ_status choose_shape(struct call *call) {
  int64_t samples = SITU_ANY;
  bool known;
  TRY(op_need_rank(call, 0, 2, "logits"));
  TRY(op_host_scalar(call, 1, &samples, &known));
  if (known && samples < 0)
    return INVALID("num_samples should be nonnegative, got %lld", (long long)samples);
  if (call->n_in > 2) TRY(random_need_seeds(call, 2));
  const situ_shape *in = &call->in[0].shape;
  if (in->rank == 2 && in->dim[1] == 0) return INVALID("num_classes should be positive, got 0");
  call->out[0].shape = (situ_shape){2, {in->rank == 2 ? in->dim[0] : SITU_ANY, samples}};
  return NULL;
}

static situ_status record_choose(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t rows = in->dim[0], classes = in->dim[1], samples = call->out[0].shape.dim[1];
  const bool stateless = !(call->schema->op->flags & OP_STATEFUL);
  int32_t state, sums;
  if (stateless)
    TRY(random_mixed(call, 2, &state));
  else
    TRY(random_state(call, &state));
  TRY(call_scratch(call, (size_t)max_i64(1, rows * classes) * sizeof(double), &sums));
  TRY(LAUNCH(call, &random_weights_kernel, call->in[0].type, rows, max_i64(1, 4096 / classes),
             (double)(rows * classes) * 8, ARG_IN(call, 0), ARG_AT(sums), ARG_INT(classes),
             ARG_INT(rows)));
  TRY(LAUNCH(call, &random_classes_kernel, call->out[0].type, rows * samples, SAMPLING_GRAIN,
             (double)(rows * samples) * 16, ARG_AT(state), ARG_AT(sums), ARG_OUT(call, 0),
             ARG_INT(classes), ARG_INT(samples), ARG_INT(rows * samples)));
  const int64_t reserved = rows * ((samples + 3) / 4 * 4 * 2) * RANDOM_BLOCKS_PER_OUTPUT;
  return stateless ? NULL : random_skip(call, state, reserved);
}

/* RandomGamma */

static situ_status gamma_shape(struct call *call) {
  return random_samples_shape(call, &call->in[1].shape);
}

static situ_status gamma_samples(struct call *call, int alpha, int32_t state) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const int64_t alphas = situ_shape_count(call->in[alpha].shape);
  return LAUNCH(call, &random_gamma_kernel, call->out[0].type, n, SAMPLING_GRAIN, (double)n * 64,
                ARG_AT(state), ARG_IN(call, alpha), ARG_OUT(call, 0), ARG_INT(alphas),
                ARG_INT(alphas ? n / alphas : 0), ARG_INT(n));
}

static situ_status record_gamma(struct call *call) {
  int32_t state;
  TRY(random_state(call, &state));
  TRY(gamma_samples(call, 1, state));
  return random_skip(call, state, situ_shape_count(call->out[0].shape) * RANDOM_BLOCKS_PER_OUTPUT);
}

/* Of StatelessRandomGammaV2, with seeds, and V3, with a key and a counter. */
static int alpha_input(const struct call *call) { return call->n_in - 1; }

static situ_status stateless_gamma_shape(struct call *call) {
  const int alpha = alpha_input(call);
  if (alpha == 2)
    TRY(random_need_seeds(call, 1));
  else
    TRY(random_need_key(call, 1));
  TRY(op_host_shape(call, 0, false, &call->out[0].shape));
  return random_need_ending(call, &call->in[alpha].shape,
                            "Shape passed in must end with broadcasted shape.");
}

static situ_status record_stateless_gamma(struct call *call) {
  const int alpha = alpha_input(call);
  int32_t state;
  if (alpha == 2)
    TRY(random_mixed(call, 1, &state));
  else
    TRY(random_keyed(call, 1, &state));
  return gamma_samples(call, alpha, state);
}

/* The derivative of a sample by its alpha, with the random numbers held fixed. */
static void gamma_grad(struct gradient *g) {
  const int alpha = g->n_in - 1;
  const struct term slope = OP(g, "RandomGammaGrad", g->in[alpha], g->out[0]);
  g->dx[alpha] = gradient_sum_to(g, OP(g, "Mul", g->dy[0], slope), g->in[alpha], g->out[0]);
}

#define GAMMA_DOC "Random numbers of gamma distributions of scale 1."

static const struct op_def op_defs[] = {
    {.name = "RandomShuffle",
     .inputs = "value:T",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} seed:int=0 seed2:int=0",
     .doc = "Shuffles a tensor along its first dimension." RANDOM_SEEDS,
     .args = "value: Tensor of rank 1 or more.",
     .samples = "seed=7 seed2=3 [9]; seed=1 [5,2,3]; seed=1 [1,3]; seed=2 [0,2]; seed=1 []",
     .devices = MOVABLE,
     .flags = OP_NO_GRADIENT | OP_STATEFUL,
     .shape = op_same_shape,
     .record = record_shuffle},
    {.name = "StatelessShuffle",
     .inputs = "value:T " RANDOM_KEY_INPUTS,
     .outputs = "output:T",
     .attrs = "T:{" NUMERIC "}",
     .doc = "Shuffles a tensor along its first dimension. Equal keys and counters yield equal "
            "orders.",
     .args = "value: Tensor of rank 1 or more.",
     .samples = "[9] [1]=7 [2]=0,1 []=1; [5,2,3] [1]=7 [2]=0,1 []=1; [0,2] [1]=7 [2]=0,1 []=3",
     .host = "alg",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = stateless_shuffle_shape,
     .record = record_stateless_shuffle},
    {.name = "RandomIndexShuffle",
     .inputs = "index:dtype[]|[n] seed:Tseed[3]|[n,3] max_index:dtype[]|[n]",
     .outputs = "output:dtype",
     .attrs = "rounds:int32=4 dtype:{int32 uint32 int64 uint64} Tseed:{int32 uint32 int64 uint64}",
     .python = "",
     .doc = "The place of an index in a random permutation of 0 to max_index. Equal seeds yield "
            "equal permutations.",
     .args = "index: A number from 0 to max_index, or a vector of such.\n"
             "seed: Vector of three integers, or a row of them for each index.\n"
             "max_index: The largest number of the permutation, one or a vector.\n"
             "rounds: Rounds of the cipher, an even number from 4; more are more random.",
     .samples = "dtype=int32 Tseed=int32 [4]=0,1,2,9 [3]=5,9,7 []=9; "
                "dtype=int64 Tseed=int64 rounds=6 []=3 [3]=1,2,3 []=70000; "
                "dtype=uint32 Tseed=uint32 [2]=0,1 [2,3]=1,2,3,4,5,6 [2]=1,8",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = index_shuffle_shape,
     .compute = index_shuffle_compute},
    {.name = "Multinomial",
     .inputs = "logits:T[b,c] num_samples:int32[]",
     .outputs = "output:output_dtype",
     .attrs = "seed:int=0 seed2:int=0 T:{" TYPE_NAMES_REAL "} output_dtype:{int32 int64}=int64",
     .doc = "Draws class indices from categorical distributions." RANDOM_SEEDS,
     .samples = "seed=7 seed2=3 [2,4] []=6; seed=1 output_dtype=int32 [3,7] []=5; seed=1 [1,1] "
                "[]=3",
     .host = "num_samples",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = choose_shape,
     .record = record_choose},
    {.name = "StatelessMultinomial",
     .inputs = "logits:T[b,c] num_samples:int32[] seed:Tseed[2]",
     .outputs = "output:output_dtype",
     .attrs = "T:{" TYPE_NAMES_REAL "} Tseed:{int32 int64}=int64 output_dtype:{int32 int64}=int64",
     .doc = "Draws class indices from categorical distributions. Equal seeds yield equal numbers.",
     .args = "seed: Vector of two integers, the seed.",
     .samples = "[2,4] []=6 [2]=1,2; output_dtype=int32 [3,7] []=5 [2]=3,0",
     .host = "num_samples",
     .devices = EVERYWHERE,
     .shape = choose_shape,
     .record = record_choose},
    {.name = "RandomGamma",
     .inputs = "shape:S[?] alpha:T",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_REAL "} S:{int32 int64}=int32 seed:int=0 seed2:int=0",
     .doc = GAMMA_DOC RANDOM_SEEDS,
     .args =
         "shape: Shape of the samples of each alpha; the shape of alpha follows in the result.\n"
         "alpha: Shape parameters of the distributions.",
     .samples = "seed=7 seed2=3 [1]=5 []=2.5; seed=1 [2]=2,2 [3]=0.5,1,4; seed=1 [0]= [2]=1,2",
     .host = "shape",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = gamma_shape,
     .record = record_gamma,
     .grad = gamma_grad},
    {.name = "StatelessRandomGammaV2",
     .inputs = "shape:T[?] seed:Tseed[2] alpha:dtype",
     .outputs = "output:dtype",
     .attrs = "dtype:{half float double} T:{int32 int64}=int32 Tseed:{int32 int64}=int64",
     .doc = GAMMA_DOC " Equal seeds yield equal numbers.",
     .args = "shape: Shape of the result, which ends with that of alpha.\n"
             "seed: Vector of two integers, the seed.\n"
             "alpha: Shape parameters of the distributions.",
     .samples = "dtype=float [1]=5 [2]=1,2 []=2.5; dtype=double [2]=2,3 [2]=1,2 [3]=0.5,1,4",
     .host = "shape",
     .devices = EVERYWHERE,
     .shape = stateless_gamma_shape,
     .record = record_stateless_gamma,
     .grad = gamma_grad},
    {.name = "StatelessRandomGammaV3",
     .inputs = "shape:shape_dtype[?] " RANDOM_KEY_INPUTS " alpha:dtype",
     .outputs = "output:dtype",
     .attrs = "dtype:{half float double} shape_dtype:{int32 int64}=int32",
     .doc = GAMMA_DOC " Equal keys and counters yield equal numbers.",
     .args = "shape: Shape of the result, which ends with that of alpha.\n"
             "alpha: Shape parameters of the distributions.",
     .samples = "dtype=float [1]=5 [1]=7 [2]=0,1 []=1 []=2.5; "
                "dtype=double [2]=2,3 [1]=7 [2]=0,1 []=3 [3]=0.5,1,4",
     .host = "shape alg",
     .devices = EVERYWHERE,
     .shape = stateless_gamma_shape,
     .record = record_stateless_gamma,
     .grad = gamma_grad},
};

OP_FAMILY(shuffle_multinomial_gamma, op_defs);
