/* SPDX-License-Identifier: Apache-2.0
 * poisson_binomial.c: RandomPoisson, StatelessRandomPoisson, StatelessRandomBinomial. Computes in
 * double, as TensorFlow does. */
#include "ops/array/strided_copy.h"
#include "ops/broadcast.h"
#include "ops/math/cast.h"
#include "ops/ops.h"
#include "ops/random/random_ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"

#define KERNELS "ops/random/poisson_binomial.cl"
#include "kernel/types.h"

static const struct kernel random_poisson_kernel = {
    .name = "random_poisson", .file = types_file, .host = {[SITU_DOUBLE] = random_poisson_double}};
static const struct kernel random_binomial_kernel = {
    .name = "random_binomial",
    .file = types_file,
    .host = {[SITU_DOUBLE] = random_binomial_double}};

enum { SAMPLING_GRAIN = 256 };

/* Input i in double, in scratch memory. */
static situ_status widen(struct call *call, int i, int32_t *slot) {
  const int64_t n = situ_shape_count(call->in[i].shape);
  TRY(call_scratch(call, (size_t)max_i64(1, n) * sizeof(double), slot));
  return cast_record(call, call->in[i].type, call->in[i].slot, SITU_DOUBLE, *slot, n);
}

/* Memory for the samples in double: that of the output if it has this type. */
static situ_status samples_begin(struct call *call, int32_t *slot) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  *slot = call->out[0].slot;
  if (call->out[0].type == SITU_DOUBLE) return NULL;
  return call_scratch(call, (size_t)max_i64(1, n) * sizeof(double), slot);
}

static situ_status samples_end(struct call *call, int32_t slot) {
  const situ_type type = call->out[0].type;
  if (type == SITU_DOUBLE) return NULL;
  return cast_record(call, SITU_DOUBLE, slot, type, call->out[0].slot,
                     situ_shape_count(call->out[0].shape));
}

/* Poisson */

static situ_status poisson_shape(struct call *call) {
  return random_samples_shape(call, &call->in[1].shape);
}

static situ_status poisson(struct call *call, int rate, int32_t state) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const int64_t rates = situ_shape_count(call->in[rate].shape);
  int32_t wide, samples;
  TRY(widen(call, rate, &wide));
  TRY(samples_begin(call, &samples));
  TRY(LAUNCH(call, &random_poisson_kernel, SITU_DOUBLE, n, SAMPLING_GRAIN, (double)n * 128,
             ARG_AT(state), ARG_AT(wide), ARG_AT(samples), ARG_INT(max_i64(1, rates)),
             ARG_INT(rates ? n / rates : 0), ARG_INT(n)));
  return samples_end(call, samples);
}

static situ_status record_poisson(struct call *call) {
  int32_t state;
  TRY(random_state(call, &state));
  TRY(poisson(call, 1, state));
  return random_skip(call, state, situ_shape_count(call->out[0].shape) * RANDOM_BLOCKS_PER_OUTPUT);
}

static situ_status stateless_poisson_shape(struct call *call) {
  TRY(random_need_seeds(call, 1));
  TRY(op_host_shape(call, 0, false, &call->out[0].shape));
  return random_need_ending(call, &call->in[2].shape, "Shape passed in must end with lam shape.");
}

static situ_status record_stateless_poisson(struct call *call) {
  int32_t state;
  TRY(random_mixed(call, 1, &state));
  return poisson(call, 2, state);
}

/* Binomial */

/* With seeds, or with a key and a counter. */
static int counts_input(const struct call *call) { return call->n_in - 2; }

static situ_status binomial_shape(struct call *call) {
  const int first = counts_input(call);
  const situ_shape *counts = &call->in[first].shape, *probs = &call->in[first + 1].shape;
  char left[SHAPE_STRING_SIZE], right[SHAPE_STRING_SIZE];
  situ_shape batch;
  if (first == 2)
    TRY(random_need_seeds(call, 1));
  else
    TRY(random_need_key(call, 1));
  TRY(op_host_shape(call, 0, false, &call->out[0].shape));
  if (!shape_broadcast(counts, probs, &batch))
    return INVALID("counts and probs must have compatible batch dimensions: %s vs. %s",
                   shape_print(counts, left), shape_print(probs, right));
  return random_need_ending(call, &batch, "Shape passed in must end with broadcasted shape.");
}

/* Input i in double, broadcast to the shape of a batch. */
static situ_status widen_to(struct call *call, int i, const situ_shape *batch, int32_t *slot) {
  struct broadcast b;
  struct view view = {.rank = SITU_MAX_RANK};
  int32_t wide;
  TRY(widen(call, i, &wide));
  TRY(call_scratch(call, (size_t)max_i64(1, situ_shape_count(*batch)) * sizeof(double), slot));
  broadcast_plan(batch, (const situ_shape *[]){&call->in[i].shape}, 1, &b);
  for (int d = 0; d < SITU_MAX_RANK; d++) {
    view.dim[d] = b.dim[d];
    view.stride[d] = b.stride[0][d];
  }
  return strided_copy(call, SITU_DOUBLE, wide, &view, *slot);
}

static situ_status record_binomial(struct call *call) {
  const int first = counts_input(call);
  const int64_t n = situ_shape_count(call->out[0].shape);
  int32_t state, counts, probs, samples;
  situ_shape batch;
  if (!shape_broadcast(&call->in[first].shape, &call->in[first + 1].shape, &batch))
    return INVALID("counts and probs must have compatible batch dimensions");
  const int64_t batches = situ_shape_count(batch);
  if (first == 2)
    TRY(random_mixed(call, 1, &state));
  else
    TRY(random_keyed(call, 1, &state));
  TRY(widen_to(call, first, &batch, &counts));
  TRY(widen_to(call, first + 1, &batch, &probs));
  TRY(samples_begin(call, &samples));
  TRY(LAUNCH(call, &random_binomial_kernel, SITU_DOUBLE, n, SAMPLING_GRAIN, (double)n * 256,
             ARG_AT(state), ARG_AT(counts), ARG_AT(probs), ARG_AT(samples),
             ARG_INT(max_i64(1, batches)), ARG_INT(batches ? n / batches : 0), ARG_INT(n)));
  return samples_end(call, samples);
}

#define SAMPLE_TYPES "{half float double int32 int64}"
#define POISSON_DOC "Random numbers of Poisson distributions."
#define STATELESS_DOC " Equal seeds yield equal numbers."

static const struct op_def op_defs[] = {
    {.name = "RandomPoissonV2",
     .inputs = "shape:S[?] rate:R",
     .outputs = "output:dtype",
     .attrs = "seed:int=0 seed2:int=0 S:{int32 int64} R:" SAMPLE_TYPES "=double dtype:" SAMPLE_TYPES
              "=int64",
     .doc = POISSON_DOC RANDOM_SEEDS,
     .args = "shape: Shape of the samples of each rate; the shape of rate follows in the result.\n"
             "rate: Means of the distributions.",
     .samples = "S=int32 seed=7 seed2=3 dtype=float [1]=5 []=2.5; "
                "S=int32 seed=1 R=float dtype=int32 [2]=2,2 [3]=0.5,15,400; "
                "S=int32 seed=1 dtype=int64 [0]= [2]=1,20",
     .host = "shape",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT | OP_STATEFUL,
     .shape = poisson_shape,
     .record = record_poisson},
    {.name = "RandomPoisson",
     .inputs = "shape:S[?] rate:dtype",
     .outputs = "output:dtype",
     .attrs = "seed:int=0 seed2:int=0 S:{int32 int64} dtype:{half float double}",
     .doc = POISSON_DOC RANDOM_SEEDS,
     .args = "shape: Shape of the samples of each rate; the shape of rate follows in the result.\n"
             "rate: Means of the distributions.",
     .samples = "S=int32 seed=7 seed2=3 dtype=float [1]=5 []=2.5; S=int32 seed=1 dtype=half "
                "[2]=2,2 [2]=0.5,15",
     .host = "shape",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT | OP_STATEFUL,
     .shape = poisson_shape,
     .record = record_poisson},
    {.name = "StatelessRandomPoisson",
     .inputs = "shape:T[?] seed:Tseed[2] lam:Rtype",
     .outputs = "output:dtype",
     .attrs =
         "Rtype:" SAMPLE_TYPES " dtype:" SAMPLE_TYPES " T:{int32 int64} Tseed:{int32 int64}=int64",
     .doc = POISSON_DOC STATELESS_DOC,
     .args = "shape: Shape of the result, which ends with that of lam.\n"
             "seed: Vector of two integers, the seed.\n"
             "lam: Means of the distributions.",
     .samples = "T=int32 Rtype=float dtype=float [2]=4,2 [2]=1,2 [2]=0.5,70; "
                "T=int32 Rtype=int32 dtype=int64 [1]=4 [2]=1,2 []=3",
     .host = "shape",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = stateless_poisson_shape,
     .record = record_stateless_poisson},
    {.name = "StatelessRandomBinomial",
     .inputs = "shape:S[?] seed:Tseed[2] counts:T probs:T",
     .outputs = "output:dtype",
     .attrs = "S:{int32 int64} Tseed:{int32 int64}=int64 T:" SAMPLE_TYPES
              "=double dtype:" SAMPLE_TYPES "=int64",
     .doc = "Random numbers of binomial distributions." STATELESS_DOC,
     .args = "shape: Shape of the result, which ends with that of counts and probs, broadcast.\n"
             "seed: Vector of two integers, the seed.\n"
             "counts: Numbers of trials.\n"
             "probs: Probabilities of success.",
     .samples = "S=int32 T=float dtype=float [2]=4,2 [2]=1,2 [2]=7,70 [2]=0.3,0.9; "
                "S=int32 T=double dtype=int32 [2]=3,2 [2]=1,2 []=50 [2]=0.4,0.01",
     .host = "shape",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = binomial_shape,
     .record = record_binomial},
    {.name = "StatelessRandomBinomialV2",
     .inputs = "shape:S[?] " RANDOM_KEY_INPUTS " counts:T probs:T",
     .outputs = "output:dtype",
     .attrs = "S:{int32 int64} T:" SAMPLE_TYPES "=double dtype:" SAMPLE_TYPES "=int64",
     .doc = "Random numbers of binomial distributions. Equal keys and counters yield equal "
            "numbers.",
     .args = "shape: Shape of the result, which ends with that of counts and probs, broadcast.\n"
             "counts: Numbers of trials.\n"
             "probs: Probabilities of success.",
     .samples = "S=int32 T=float dtype=float [2]=4,2 [1]=7 [2]=0,1 []=1 [2]=7,70 [2]=0.3,0.9",
     .host = "shape alg",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = binomial_shape,
     .record = record_binomial},
};

OP_FAMILY(poisson_binomial, op_defs);
