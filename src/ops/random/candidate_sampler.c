/* SPDX-License-Identifier: Apache-2.0
 * candidate_sampler.c: candidate samplers for sampled losses. */
#include "base/interrupt.h"
#include "ops/ops.h"
#include "ops/random/random_ops.h"
#include "ops/random/unigram_sampler.h"
#include "schema/schema.h"
#include "tensor/shape.h"

#define KERNELS "ops/random/candidate_sampler.cl"
#include "kernel/types.h"

static const struct kernel draw_candidates_kernel = {
    .name = "draw_candidates", .file = types_file, .host = {[SITU_INT64] = draw_candidates_int64}};
static const struct kernel expect_candidates_kernel = {
    .name = "expect_candidates",
    .file = types_file,
    .host = {[SITU_FLOAT] = expect_candidates_float}};
static const struct kernel draw_weighted_kernel = {
    .name = "draw_weighted", .file = types_file, .host = {[SITU_INT64] = draw_weighted_int64}};
static const struct kernel expect_weighted_kernel = {
    .name = "expect_weighted", .file = types_file, .host = {[SITU_FLOAT] = expect_weighted_float}};

/* Words of the generator that TensorFlow sets aside for each class of the sample. */
enum { CANDIDATE_WORDS = 2048, CANDIDATE_GRAIN = 256 };

static situ_status candidate_shape(struct call *call) {
  const int64_t n = call_integer(call, "num_sampled"), range = call_integer(call, "range_max");
  const int64_t n_true = call_integer(call, "num_true");
  const situ_shape *in = &call->in[0].shape;
  if (n < 1 || range < 1 || n_true < 1)
    return INVALID("num_sampled, range_max and num_true must be positive, got %lld, %lld, %lld",
                   (long long)n, (long long)range, (long long)n_true);
  if (call_bool(call, "unique") && n > range)
    return INVALID("Sampler's range is too small: %lld different classes of %lld", (long long)n,
                   (long long)range);
  TRY(op_need_rank(call, 0, 2, "true_classes"));
  if (in->rank == 2 && in->dim[1] != SITU_ANY && in->dim[1] != n_true)
    return INVALID("true_classes must have num_true = %lld columns, not %lld", (long long)n_true,
                   (long long)in->dim[1]);
  call->out[0].shape = call->out[2].shape = (situ_shape){1, {n}};
  call->out[1].shape = (situ_shape){2, {in->rank == 2 ? in->dim[0] : SITU_ANY, n_true}};
  return NULL;
}

static situ_status record(struct call *call, int64_t even) {
  const int64_t n = call_integer(call, "num_sampled"), range = call_integer(call, "range_max");
  const int64_t count = situ_shape_count(call->in[0].shape);
  int32_t state, tries;
  TRY(random_state(call, &state));
  TRY(call_scratch(call, sizeof(int64_t), &tries));
  TRY(LAUNCH(call, &draw_candidates_kernel, SITU_INT64, 1, 0, (double)n * 64, ARG_AT(state),
             ARG_OUT(call, 0), ARG_AT(tries), ARG_INT(n), ARG_INT(range),
             ARG_INT(call_bool(call, "unique")), ARG_INT(even)));
  TRY(LAUNCH(call, &expect_candidates_kernel, SITU_FLOAT, count, CANDIDATE_GRAIN,
             (double)count * 32, ARG_IN(call, 0), ARG_AT(tries), ARG_OUT(call, 1), ARG_INT(range),
             ARG_INT(even), ARG_INT(n), ARG_INT(count)));
  TRY(LAUNCH(call, &expect_candidates_kernel, SITU_FLOAT, n, CANDIDATE_GRAIN, (double)n * 32,
             ARG_AT(call->out[0].slot), ARG_AT(tries), ARG_OUT(call, 2), ARG_INT(range),
             ARG_INT(even), ARG_INT(n), ARG_INT(n)));
  return random_skip(call, state, n * CANDIDATE_WORDS / 4);
}

/* The expected counts of classes that are drawn from a table. */
static situ_status expect(struct call *call, int32_t classes, int32_t tries, int32_t table,
                          int output, int64_t count) {
  return LAUNCH(call, &expect_weighted_kernel, SITU_FLOAT, count, CANDIDATE_GRAIN,
                (double)count * 32, ARG_AT(classes), ARG_AT(tries), ARG_AT(table),
                ARG_OUT(call, output), ARG_INT(call_integer(call, "range_max")),
                ARG_INT(call_integer(call, "num_sampled")), ARG_INT(count));
}

static situ_status weighted_shape(struct call *call) {
  TRY(unigram_check(call));
  return candidate_shape(call);
}

static situ_status record_weighted(struct call *call) {
  const int64_t n = call_integer(call, "num_sampled"), range = call_integer(call, "range_max");
  int32_t state, tries, table;
  uint32_t *words = NULL;
  int64_t likely = 0;
  TRY(unigram_table(call, range, &words, &likely));
  if (call_bool(call, "unique") && n > likely)
    return INVALID(
        "Sampler's range is too small: %lld different classes of %lld whose weight is "
        "not 0",
        (long long)n, (long long)likely);
  TRY(random_state(call, &state));
  TRY(call_state(call, words, sizeof *words * UNIGRAM_WORDS * (size_t)range, &table));
  TRY(call_scratch(call, sizeof(int64_t), &tries));
  TRY(LAUNCH(call, &draw_weighted_kernel, SITU_INT64, 1, 0, (double)n * 64, ARG_AT(state),
             ARG_AT(table), ARG_OUT(call, 0), ARG_AT(tries), ARG_INT(n), ARG_INT(range),
             ARG_INT(call_bool(call, "unique"))));
  TRY(expect(call, call->in[0].slot, tries, table, 1, situ_shape_count(call->in[0].shape)));
  TRY(expect(call, call->out[0].slot, tries, table, 2, n));
  return random_skip(call, state, n * CANDIDATE_WORDS / 4);
}

static situ_status record_log(struct call *call) { return record(call, 0); }
static situ_status record_even(struct call *call) { return record(call, 1); }

#define SAMPLE_OUTPUTS \
  "sampled_candidates:int64 true_expected_count:float sampled_expected_count:float"
#define SAMPLE_DOC(text)                               \
  "Samples candidate classes 0 <= i < range_max " text \
  ", and returns the expected counts of the true and the sampled classes." RANDOM_SEEDS

#define SAMPLER(NAME, record_, text)                                                          \
  {                                                                                           \
    .name = #NAME, .inputs = "true_classes:int64[?,num_true]", .outputs = SAMPLE_OUTPUTS,     \
    .attrs = "num_true:int num_sampled:int unique:bool range_max:int seed:int=0 seed2:int=0", \
    .python = "", .doc = SAMPLE_DOC(text),                                                    \
    .samples =                                                                                \
        "num_true=1 num_sampled=5 unique=true range_max=20 seed=7 seed2=3 [3,1]=1,5,0; "      \
        "num_true=2 num_sampled=4 unique=false range_max=7 seed=1 [2,2]=0,6,3,1",             \
    .devices = EVERYWHERE, .flags = OP_NO_GRADIENT | OP_STATEFUL, .shape = candidate_shape,   \
    .record = record_                                                                         \
  }

static const struct op_def op_defs[] = {
    SAMPLER(LogUniformCandidateSampler, record_log, "from a log-uniform (Zipfian) distribution"),
    SAMPLER(UniformCandidateSampler, record_even, "from a uniform distribution"),
    {.name = "FixedUnigramCandidateSampler",
     .inputs = "true_classes:int64[?,num_true]",
     .outputs = SAMPLE_OUTPUTS,
     .attrs = "num_true:int num_sampled:int unique:bool range_max:int vocab_file:string='' "
              "distortion:float=1 num_reserved_ids:int=0 num_shards:int=1 shard:int=0 "
              "unigrams:list(float)=[] seed:int=0 seed2:int=0",
     .python = "",
     .doc = SAMPLE_DOC("in proportion to their unigram weights"),
     .args = "vocab_file: CSV file whose last column has the weights; or see unigrams.\n"
             "distortion: Exponent applied to the weights.\n"
             "num_reserved_ids: Number of classes from 0 on that are never sampled.\n"
             "num_shards: Number of shards of the classes.\n"
             "shard: Shard to sample from.\n"
             "unigrams: Weights of the classes, in place of vocab_file.",
     .samples = "num_true=1 num_sampled=3 unique=true range_max=5 unigrams=[3,1,0,0.5,7] seed=7 "
                "seed2=3 [3,1]=1,4,0; num_true=2 num_sampled=6 unique=false range_max=4 "
                "unigrams=[1,2,3] distortion=0.75 num_reserved_ids=1 seed=1 [2,2]=0,3,2,1",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT | OP_STATEFUL,
     .shape = weighted_shape,
     .record = record_weighted},
};

OP_FAMILY(candidate_sampler, op_defs);
