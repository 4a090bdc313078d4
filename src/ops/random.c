/* SPDX-License-Identifier: Apache-2.0
 * random.c: random numbers. A node has a generator of its own, whose state lives in the session and
 * goes on with every run. */
#include <sys/random.h>

#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/random.cl"
#include "kernel/types.h"

KERNEL_TABLE(random_uniform, REAL);
KERNEL_TABLE(random_normal, REAL);
KERNEL_TABLE(random_truncated, REAL);
static const struct kernel random_integers_kernel = {
    "random_integers",
    {[SITU_INT32] = random_integers_int32, [SITU_INT64] = random_integers_int64}};
static const struct kernel random_skip_kernel = {"random_skip", {[SITU_INT32] = random_skip_int32}};

enum { BLOCKS_PER_OUTPUT = 256, RANDOM_GRAIN = 2048 };

static situ_status random_shape(struct call *call) {
  return op_host_shape(call, 0, false, &call->out[0].shape);
}

/* Two seeds of 0 mean: different in every session. */
static situ_status make_state(struct call *call, int32_t *slot) {
  uint64_t seeds[2] = {(uint64_t)call_integer(call, "seed"), (uint64_t)call_integer(call, "seed2")};
  if (!seeds[0] && !seeds[1] && getrandom(seeds, sizeof seeds, 0) != sizeof seeds)
    return INTERNAL("The system gives no random numbers");
  const uint32_t state[6] = {0,
                             0,
                             (uint32_t)seeds[1],
                             (uint32_t)(seeds[1] >> 32),
                             (uint32_t)seeds[0],
                             (uint32_t)(seeds[0] >> 32)};
  return call_state(call, state, sizeof state, slot);
}

static situ_status skip(struct call *call, int32_t state) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  return LAUNCH(call, &random_skip_kernel, SITU_INT32, 1, 0, 0, ARG_AT(state),
                ARG_INT(n * BLOCKS_PER_OUTPUT));
}

/* Groups of outputs that come from one block. */
static int64_t groups(const struct call *call) {
  const int64_t group = situ_type_size(call->out[0].type) == 8 ? 2 : 4;
  return (situ_shape_count(call->out[0].shape) + group - 1) / group;
}

static situ_status record(struct call *call, const struct kernel *kernel) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  int32_t state;
  TRY(make_state(call, &state));
  TRY(LAUNCH(call, kernel, call->out[0].type, groups(call), RANDOM_GRAIN, (double)n * 16,
             ARG_AT(state), ARG_OUT(call, 0), ARG_INT(n)));
  return skip(call, state);
}

static situ_status record_uniform(struct call *call) {
  return record(call, &random_uniform_kernel);
}
static situ_status record_normal(struct call *call) { return record(call, &random_normal_kernel); }
static situ_status record_truncated(struct call *call) {
  return record(call, &random_truncated_kernel);
}

static situ_status integers_shape(struct call *call) {
  TRY(op_need_rank(call, 1, 0, "minval"));
  TRY(op_need_rank(call, 2, 0, "maxval"));
  if (call->in[1].value && call->in[2].value) {
    const int64_t low = call_element(call, 1, 0), high = call_element(call, 2, 0);
    if (low >= high)
      return INVALID("Need minval < maxval, got %lld >= %lld", (long long)low, (long long)high);
  }
  return random_shape(call);
}

static situ_status record_integers(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const int64_t low = call_element(call, 1, 0), high = call_element(call, 2, 0);
  int32_t state;
  TRY(make_state(call, &state));
  TRY(LAUNCH(call, &random_integers_kernel, call->out[0].type, groups(call), RANDOM_GRAIN,
             (double)n * 16, ARG_AT(state), ARG_OUT(call, 0), ARG_INT(low),
             ARG_INT((int64_t)((uint64_t)high - (uint64_t)low)), ARG_INT(n)));
  return skip(call, state);
}

#define RANDOM_ATTRS "dtype:{half float double} T:{int32 int64}=int32 seed:int=0 seed2:int=0"
#define SEEDS " The same seeds give the same numbers, on every device; 0 and 0: always others."

static const struct op rows[] = {
    {.name = "RandomUniform",
     .inputs = "shape:T",
     .outputs = "output:dtype",
     .attrs = RANDOM_ATTRS,
     .doc = "Numbers from 0 to before 1, all equally likely." SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5; seed=1 T=int64 [1]=1; seed=-5 seed2=-6 [0]=; "
                "seed=1 [2]=0,3",
     .host = "shape",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = random_shape,
     .record = record_uniform},
    {.name = "RandomStandardNormal",
     .inputs = "shape:T",
     .outputs = "output:dtype",
     .attrs = RANDOM_ATTRS,
     .doc = "Numbers of the normal distribution of mean 0 and deviation 1." SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5; seed2=1 T=int64 [1]=1; seed=9 [1]=64",
     .host = "shape",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = random_shape,
     .record = record_normal},
    {.name = "TruncatedNormal",
     .inputs = "shape:T",
     .outputs = "output:dtype",
     .attrs = RANDOM_ATTRS,
     .doc = "Numbers of the normal distribution of mean 0 and deviation 1 that lie between -2 and "
            "2." SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5; seed2=1 T=int64 [1]=1; seed=9 [1]=64",
     .host = "shape",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = random_shape,
     .record = record_truncated},
    {.name = "RandomUniformInt",
     .inputs = "shape:T minval:Tout maxval:Tout",
     .outputs = "output:Tout",
     .attrs = "Tout:{int32 int64} T:{int32 int64}=int32 seed:int=0 seed2:int=0",
     .doc = "Integers from minval to before maxval, all equally likely." SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5 []=-4 []=9; seed=1 T=int64 [1]=1 []=0 []=100",
     .host = "shape minval maxval",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = integers_shape,
     .record = record_integers},
};

OP_FAMILY(random, rows);
