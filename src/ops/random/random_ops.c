/* SPDX-License-Identifier: Apache-2.0
 * random_ops.c: random number ops. Each node has its own generator, whose state the session
 * keeps between runs. */
#include "base/random_seed.h"
#include "ops/math/cast.h"
#include "ops/ops.h"
#include "ops/random/random_ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"

#define KERNELS "ops/random/random_ops.cl"
#include "kernel/types.h"

KERNEL_TABLE(random_uniform, REAL);
KERNEL_TABLE(random_normal, REAL);
KERNEL_TABLE(random_truncated, REAL);
static const struct kernel random_integers_kernel = {
    .name = "random_integers",
    .file = types_file,
    .host = {[SITU_INT32] = random_integers_int32,
             [SITU_INT64] = random_integers_int64,
             [SITU_UINT32] = random_integers_uint32,
             [SITU_UINT64] = random_integers_uint64}};
static const struct kernel random_split_kernel = {
    .name = "random_split", .file = types_file, .host = {[SITU_INT64] = random_split_int64}};
static const struct kernel random_skip_kernel = {
    .name = "random_skip", .file = types_file, .host = {[SITU_INT32] = random_skip_int32}};
static const struct kernel random_load_kernel = {
    .name = "random_load", .file = types_file, .host = {[SITU_INT64] = random_load_int64}};
static const struct kernel random_mix_kernel = {
    .name = "random_mix",
    .file = types_file,
    .host = {[SITU_INT32] = random_mix_int32, [SITU_INT64] = random_mix_int64}};

enum { RANDOM_GRAIN = 2048, STATE_BYTES = 24 };

static situ_status random_shape(struct call *call) {
  return op_host_shape(call, 0, false, &call->out[0].shape);
}

/* Two seeds of 0 mean: different in every session. */
situ_status random_state(struct call *call, int32_t *slot) {
  uint64_t seeds[2] = {(uint64_t)call_integer(call, "seed"), (uint64_t)call_integer(call, "seed2")};
  if (!seeds[0] && !seeds[1]) TRY(random_seed_next(seeds));
  const uint32_t state[6] = {0,
                             0,
                             (uint32_t)seeds[1],
                             (uint32_t)(seeds[1] >> 32),
                             (uint32_t)seeds[0],
                             (uint32_t)(seeds[0] >> 32)};
  return call_state(call, state, sizeof state, slot);
}

situ_status random_mixed(struct call *call, int seeds, int32_t *slot) {
  TRY(call_scratch(call, STATE_BYTES, slot));
  return LAUNCH(call, &random_mix_kernel, call->in[seeds].type, 1, 0, 0, ARG_IN(call, seeds),
                ARG_AT(*slot));
}

situ_status random_skip(struct call *call, int32_t state, int64_t blocks) {
  return LAUNCH(call, &random_skip_kernel, SITU_INT32, 1, 0, 0, ARG_AT(state), ARG_INT(blocks));
}

/* The number of blocks for the outputs. */
static int64_t groups(const struct call *call) {
  const int64_t group = situ_type_size(call->out[0].type) == 8 ? 2 : 4;
  return (situ_shape_count(call->out[0].shape) + group - 1) / group;
}

/* Whether the op takes its seeds as an input, and has no state. */
static bool is_stateless(const struct call *call) {
  return !(call->schema->op->flags & OP_STATEFUL);
}

/* Whether the inputs are the key and the counter of a generator. */
static bool is_keyed(const struct call *call) {
  return is_stateless(call) && schema_attr(call->schema, "Tseed") < 0;
}

situ_status random_keyed(struct call *call, int key, int32_t *slot) {
  TRY(call_scratch(call, STATE_BYTES, slot));
  return LAUNCH(call, &random_load_kernel, SITU_INT64, 1, 0, 0, ARG_IN(call, key),
                ARG_IN(call, key + 1), ARG_AT(*slot));
}

static situ_status begin(struct call *call, int32_t *state) {
  if (is_keyed(call)) return random_keyed(call, 1, state);
  return is_stateless(call) ? random_mixed(call, 1, state) : random_state(call, state);
}

static situ_status end(struct call *call, int32_t state) {
  if (is_stateless(call)) return NULL;
  return random_skip(call, state, situ_shape_count(call->out[0].shape) * RANDOM_BLOCKS_PER_OUTPUT);
}

static situ_status record(struct call *call, const struct kernel *kernel) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  int32_t state;
  TRY(begin(call, &state));
  TRY(LAUNCH(call, kernel, call->out[0].type, groups(call), RANDOM_GRAIN, (double)n * 16,
             ARG_AT(state), ARG_OUT(call, 0), ARG_INT(n)));
  return end(call, state);
}

/* The number of significant bits of a uniform number of the type. */
static int64_t digits(situ_type type) {
  return type == SITU_BFLOAT16 ? 7 : type == SITU_HALF ? 10 : 23;
}

static situ_status record_uniform(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const situ_type type = call->out[0].type, wide = type == SITU_BFLOAT16 ? SITU_FLOAT : type;
  int32_t state, numbers = call->out[0].slot;
  TRY(begin(call, &state));
  if (wide != type) TRY(call_scratch(call, (size_t)max_i64(1, n) * situ_type_size(wide), &numbers));
  TRY(LAUNCH(call, &random_uniform_kernel, wide, groups(call), RANDOM_GRAIN, (double)n * 16,
             ARG_AT(state), ARG_AT(numbers), ARG_INT(n), ARG_INT(digits(type))));
  if (wide != type) TRY(cast_record(call, wide, numbers, type, call->out[0].slot, n));
  return end(call, state);
}
static situ_status record_normal(struct call *call) { return record(call, &random_normal_kernel); }
static situ_status record_truncated(struct call *call) {
  return record(call, &random_truncated_kernel);
}

situ_status random_need_seeds(const struct call *call, int input) {
  const situ_shape *seed = &call->in[input].shape;
  char text[SHAPE_STRING_SIZE];
  if (shape_compatible(seed, &(situ_shape){1, {2}})) return NULL;
  return INVALID("seed must have shape [2], not %s", shape_print(seed, text));
}

static situ_status stateless_shape(struct call *call) {
  TRY(random_need_seeds(call, 1));
  return random_shape(call);
}

/* The input alg; ThreeFry is 2. */
enum { PHILOX = 1, AUTO_SELECT = 3 };

situ_status random_need_key(struct call *call, int key) {
  char text[256];
  for (int i = 0; i < 2; i++)
    if (!shape_compatible(&call->in[key + i].shape, &(situ_shape){1, {i + 1}}))
      return INVALID("%s must have shape [%d], not %s", i == 0 ? "key" : "counter", i + 1,
                     shape_print(&call->in[key + i].shape, text));
  int64_t algorithm;
  bool known;
  TRY(op_host_scalar(call, key + 2, &algorithm, &known));
  if (known && algorithm != PHILOX && algorithm != AUTO_SELECT)
    return INVALID("Unsupported algorithm id: %lld", (long long)algorithm);
  return NULL;
}

static situ_status keyed_shape(struct call *call) {
  TRY(random_need_key(call, 1));
  return random_shape(call);
}

situ_status random_samples_shape(struct call *call, const situ_shape *parameters) {
  situ_shape *out = &call->out[0].shape;
  TRY(op_host_shape(call, 0, false, out));
  if (out->rank == SITU_ANY || parameters->rank == SITU_ANY) {
    *out = SITU_ANY_SHAPE;
    return NULL;
  }
  if (out->rank + parameters->rank > SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  for (int d = 0; d < parameters->rank; d++) out->dim[out->rank++] = parameters->dim[d];
  return NULL;
}

situ_status random_need_ending(const struct call *call, const situ_shape *parameters,
                               const char *message) {
  const situ_shape *out = &call->out[0].shape;
  if (out->rank == SITU_ANY || parameters->rank == SITU_ANY) return NULL;
  if (out->rank < parameters->rank) return INVALID("%s", message);
  for (int d = 0; d < parameters->rank; d++) {
    const int64_t a = out->dim[out->rank - parameters->rank + d], b = parameters->dim[d];
    if (a != b && a != SITU_ANY && b != SITU_ANY) return INVALID("%s", message);
  }
  return NULL;
}

/* StatelessRandomGetKeyCounter and StatelessRandomGetKeyCounterAlg */

static situ_status key_counter_shape(struct call *call) {
  TRY(random_need_seeds(call, 0));
  call->out[0].shape = (situ_shape){1, {1}};
  call->out[1].shape = (situ_shape){1, {2}};
  return NULL;
}

static situ_status record_key_counter(struct call *call) {
  int32_t state;
  TRY(random_mixed(call, 0, &state));
  return LAUNCH(call, &random_split_kernel, SITU_INT64, 1, 0, 0, ARG_AT(state), ARG_OUT(call, 0),
                ARG_OUT(call, 1));
}

/* The bounds are inputs `first` and the next one. */
static situ_status check_bounds(const struct call *call, int first) {
  char text[SHAPE_STRING_SIZE];
  for (int i = 0; i < 2; i++) {
    const situ_shape *shape = &call->in[first + i].shape;
    if (shape->rank > 0)
      return INVALID("%s must be a scalar; got a tensor of shape %s", i ? "maxval" : "minval",
                     shape_print(shape, text));
  }
  if (situ_shape_count(call->out[0].shape) == 0) return NULL;
  if (call->in[first].value && call->in[first + 1].value) {
    const int64_t low = call_element(call, first, 0), high = call_element(call, first + 1, 0);
    if (low >= high)
      return INVALID("Need minval < maxval, got %lld >= %lld", (long long)low, (long long)high);
  }
  return NULL;
}

static situ_status integers_shape(struct call *call) {
  TRY(random_shape(call));
  return check_bounds(call, 1);
}

static situ_status stateless_integers_shape(struct call *call) {
  TRY(stateless_shape(call));
  return check_bounds(call, 2);
}

static situ_status keyed_integers_shape(struct call *call) {
  TRY(keyed_shape(call));
  return check_bounds(call, 4);
}

static situ_status launch_integers(struct call *call, int64_t low, int64_t high) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  int32_t state;
  TRY(begin(call, &state));
  TRY(LAUNCH(call, &random_integers_kernel, call->out[0].type, groups(call), RANDOM_GRAIN,
             (double)n * 16, ARG_AT(state), ARG_OUT(call, 0), ARG_INT(low),
             ARG_INT((int64_t)((uint64_t)high - (uint64_t)low)), ARG_INT(n)));
  return end(call, state);
}

static situ_status record_integers(struct call *call) {
  const int first = is_keyed(call) ? 4 : is_stateless(call) ? 2 : 1;
  return launch_integers(call, call_element(call, first, 0), call_element(call, first + 1, 0));
}

static situ_status record_all_integers(struct call *call) { return launch_integers(call, 0, 0); }

#define RANDOM_ATTRS \
  "dtype:{bfloat16 half float double} T:{int32 int64}=int32 seed:int=0 seed2:int=0"
#define SEEDS RANDOM_SEEDS
#define UNIFORM_DOC "Random numbers of the uniform distribution, 0 <= x < 1."
#define NORMAL_DOC "Random numbers of the standard normal distribution."
#define TRUNCATED_DOC \
  "Random numbers of the standard normal distribution, truncated to -2 <= x <= 2."
#define INTEGERS_DOC "Random integers of the uniform distribution, minval <= x < maxval."
#define FULL_DOC "Random integers of the uniform distribution over the whole range of the type."

/* A row whose numbers depend on its two seeds alone. */
#define STATELESS_DOC " Equal seeds yield equal numbers."
#define STATELESS_ARGS "seed: Vector of two integers, the seed."
#define STATELESS(NAME, suffix, text)                                                          \
  {                                                                                            \
    .name = #NAME, .inputs = "shape:T[?] seed:Tseed[2]", .outputs = "output:dtype",            \
    .attrs =                                                                                   \
        "dtype:{bfloat16 half float double}=float T:{int32 int64}=int32 Tseed:{int32 "         \
        "int64}=int64",                                                                        \
    .doc = text STATELESS_DOC, .args = STATELESS_ARGS,                                         \
    .samples =                                                                                 \
        "dtype=float [2]=3,5 [2]=1,2; dtype=float T=int64 Tseed=int32 [1]=1 [2]=-7,0; "        \
        "dtype=double [1]=64 [2]=9,-9; dtype=half [1]=9 [2]=1,1",                              \
    .host = "shape", .devices = EVERYWHERE, .flags = OP_NO_GRADIENT, .shape = stateless_shape, \
    .record = record_##suffix                                                                  \
  }

#define KEYED_INPUTS "shape:Tshape " RANDOM_KEY_INPUTS
#define KEYED_DOC " Equal keys and counters yield equal numbers."

/* An op that continues the state of a tf.random.Generator. */
#define KEYED(NAME, suffix, text)                                                               \
  {                                                                                             \
    .name = #NAME, .inputs = KEYED_INPUTS, .outputs = "output:dtype",                           \
    .attrs = "dtype:{bfloat16 half float double}=float Tshape:{int32 int64}=int32",             \
    .doc = text KEYED_DOC,                                                                      \
    .samples = "dtype=float [2]=3,5 [1]=7 [2]=0,1 []=1; dtype=double [1]=9 [1]=7 [2]=9,5 []=1", \
    .host = "shape alg", .devices = EVERYWHERE, .flags = OP_NO_GRADIENT, .shape = keyed_shape,  \
    .record = record_##suffix                                                                   \
  }

static const struct op_def op_defs[] = {
    {.name = "RandomUniform",
     .inputs = "shape:T[?]",
     .outputs = "output:dtype",
     .attrs = RANDOM_ATTRS,
     .doc = UNIFORM_DOC SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5; seed=1 T=int64 [1]=1; seed=-5 seed2=-6 [0]=; "
                "seed=1 [2]=0,3",
     .host = "shape",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT | OP_STATEFUL,
     .shape = random_shape,
     .record = record_uniform},
    {.name = "RandomStandardNormal",
     .inputs = "shape:T[?]",
     .outputs = "output:dtype",
     .attrs = RANDOM_ATTRS,
     .doc = NORMAL_DOC SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5; seed2=1 T=int64 [1]=1; seed=9 [1]=64",
     .host = "shape",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT | OP_STATEFUL,
     .shape = random_shape,
     .record = record_normal},
    {.name = "TruncatedNormal",
     .inputs = "shape:T[?]",
     .outputs = "output:dtype",
     .attrs = RANDOM_ATTRS,
     .doc = TRUNCATED_DOC SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5; seed2=1 T=int64 [1]=1; seed=9 [1]=64",
     .host = "shape",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT | OP_STATEFUL,
     .shape = random_shape,
     .record = record_truncated},
    {.name = "RandomUniformInt",
     .inputs = "shape:T[?] minval:Tout[] maxval:Tout[]",
     .outputs = "output:Tout",
     .attrs = "Tout:{int32 int64} T:{int32 int64}=int32 seed:int=0 seed2:int=0",
     .doc = INTEGERS_DOC SEEDS,
     .samples = "seed=7 seed2=3 [2]=3,5 []=-4 []=9; seed=1 T=int64 [1]=1 []=0 []=100",
     .host = "shape minval maxval",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = integers_shape,
     .record = record_integers},
    STATELESS(StatelessRandomUniform, uniform, UNIFORM_DOC),
    STATELESS(StatelessRandomNormal, normal, NORMAL_DOC),
    STATELESS(StatelessTruncatedNormal, truncated, TRUNCATED_DOC),
    {.name = "StatelessRandomUniformInt",
     .inputs = "shape:T[?] seed:Tseed[2] minval:dtype[] maxval:dtype[]",
     .outputs = "output:dtype",
     .attrs = "dtype:{int32 int64} T:{int32 int64}=int32 Tseed:{int32 int64}=int64",
     .doc = INTEGERS_DOC STATELESS_DOC,
     .args = STATELESS_ARGS,
     .samples = "dtype=int32 [2]=3,5 [2]=1,2 []=-4 []=9; "
                "dtype=int64 Tseed=int32 [1]=9 [2]=0,0 []=0 []=1000",
     .host = "shape minval maxval",
     .devices = EVERYWHERE,
     .shape = stateless_integers_shape,
     .record = record_integers},
    KEYED(StatelessRandomUniformV2, uniform, UNIFORM_DOC),
    KEYED(StatelessRandomNormalV2, normal, NORMAL_DOC),
    KEYED(StatelessTruncatedNormalV2, truncated, TRUNCATED_DOC),
    {.name = "StatelessRandomUniformIntV2",
     .inputs = KEYED_INPUTS " minval:dtype[] maxval:dtype[]",
     .outputs = "output:dtype",
     .attrs = "dtype:{int32 int64} Tshape:{int32 int64}=int32",
     .doc = INTEGERS_DOC KEYED_DOC,
     .samples = "dtype=int32 [2]=3,5 [1]=7 [2]=0,1 []=1 []=-4 []=9; "
                "dtype=int64 [1]=9 [1]=0 [2]=0,0 []=1 []=0 []=1000",
     .host = "shape alg minval maxval",
     .devices = EVERYWHERE,
     .shape = keyed_integers_shape,
     .record = record_integers},
    {.name = "StatelessRandomGetKeyCounter",
     .inputs = "seed:Tseed[2]",
     .outputs = "key:uint64 counter:uint64",
     .attrs = "Tseed:{int32 int64}=int64",
     .doc = "Returns the key and the counter of Philox that a seed of stateless ops determines.",
     .args = STATELESS_ARGS,
     .samples = "[2]=1,2; Tseed=int32 [2]=-7,0",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = key_counter_shape,
     .record = record_key_counter},
    {.name = "StatelessRandomUniformFullInt",
     .inputs = "shape:T[?] seed:Tseed[2]",
     .outputs = "output:dtype",
     .attrs = "dtype:{int32 int64 uint32 uint64}=uint64 T:{int32 int64}=int32 Tseed:{int32 "
              "int64}=int64",
     .doc = FULL_DOC STATELESS_DOC,
     .args = STATELESS_ARGS,
     .samples = "dtype=int32 [2]=3,5 [2]=1,2; dtype=uint64 Tseed=int32 [1]=9 [2]=0,0",
     .host = "shape",
     .devices = EVERYWHERE,
     .shape = stateless_shape,
     .record = record_all_integers},
    {.name = "StatelessRandomUniformFullIntV2",
     .inputs = KEYED_INPUTS,
     .outputs = "output:dtype",
     .attrs = "dtype:{int32 int64 uint32 uint64}=uint64 Tshape:{int32 int64}=int32",
     .doc = FULL_DOC KEYED_DOC,
     .samples = "dtype=int32 [2]=3,5 [1]=7 [2]=0,1 []=1; dtype=int64 [1]=9 [1]=0 [2]=0,0 []=1",
     .host = "shape alg",
     .devices = EVERYWHERE,
     .shape = keyed_shape,
     .record = record_all_integers},
};

OP_FAMILY(random_ops, op_defs);
