/* SPDX-License-Identifier: Apache-2.0
 * call.h: a call of an op, the argument of `shape` and `record`: attributes, operands, and the
 * recorder of kernel launches. */
#ifndef SITU_SCHEMA_CALL_H
#define SITU_SCHEMA_CALL_H

#include "device/backend.h"
#include "schema/attr.h"

/* A small integer tensor whose elements are partly known while a graph is built. */
struct known {
  const situ_tensor *tensor;
  unsigned unknown; /* bit i: element i is not known */
};

/* An input or output of a call. */
struct operand {
  situ_type type;
  int32_t slot; /* its memory, while recording */
  situ_shape shape;
  const situ_tensor
      *value; /* in host memory if it is known before the run (constants), else NULL */
  const struct known *known; /* while building, of small integer tensors, else NULL */
};

/* Memory that a call needs besides its operands. */
struct scratch {
  int32_t slot;
  int32_t launch; /* the number of launches recorded before it */
  size_t bytes;
  const void *initial; /* NULL: free after the call. Else state of the session with these initial
                          bytes, kept between runs */
  const struct saved_result *saved; /* of a result saved for a later call; else NULL */
};

/* A result, besides the outputs, that a call saves for a later call of the same program. */
struct saved_result {
  int32_t slot;
  size_t bytes;
  const void *key; /* its parameters besides the inputs; the reader compares them */
  size_t key_bytes;
};

/* The recorded kernel launches. The caller numbers the slots of operands; scratch gets new slots.
 */
struct recorder {
  struct arena *arena;
  const struct device_info *device; /* where the kernels will run */
  struct launch *launches;          /* of all calls recorded so far */
  int32_t n_launches, launch_capacity;
  struct scratch *scratch; /* of all calls recorded so far */
  int32_t n_scratch, scratch_capacity;
  int32_t next_slot;
};

struct schema;

struct call {
  const struct schema *schema;
  const struct attr_value *attrs;
  const char *node; /* its name */
  int n_in, n_out;
  struct operand *in, *out;
  struct recorder *to; /* NULL while shapes are inferred */
  bool building;       /* shapes are inferred while a node is added; selects the error message */
  situ_type stored;    /* the type of operands that were widened for the kernels; else none */
  bool saves_result;   /* a later call reads the saved result: call_save_result */
  const struct saved_result
      *saved; /* of an op with `forward_op`: the saved result of that op; else NULL */
};

/* Attributes by name; an unknown name is a bug and yields 0, "" or NULL. */
bool call_bool(const struct call *call, const char *name);
int64_t call_integer(const struct call *call, const char *name);
double call_real(const struct call *call, const char *name);
const char *call_text(const struct call *call, const char *name);
situ_type call_type(const struct call *call, const char *name);
const struct attr_value *call_attr(const struct call *call, const char *name);

/* Reads the known value of an integer input (int16, int32 or int64, at most SITU_MAX_RANK
 * elements); *count is SITU_ANY if the value is unknown (while building). */
situ_status call_integers(const struct call *call, int input, int64_t items[SITU_MAX_RANK],
                          int *count) SITU_MUST_USE;

/* As call_integers, for partly known values: bit i of *unknown is set if item i is unknown. */
situ_status call_sizes(const struct call *call, int input, int64_t items[SITU_MAX_RANK], int *count,
                       unsigned *unknown) SITU_MUST_USE;

/* Element `index` of an integer input whose value is known. */
int64_t call_element(const struct call *call, int input, int64_t index);

/* Adds the types and shapes of the inputs to an error. */
situ_status call_describe_error(const struct call *call, situ_status status) SITU_MUST_USE;

/* Records a kernel launch; arguments are copied; `bytes` and `node` are filled in. A launch
 * without work items is not recorded. */
situ_status call_launch(struct call *call, const struct launch *launch) SITU_MUST_USE;

/* Allocates a slot of scratch memory, free after this call. */
situ_status call_scratch(struct call *call, size_t bytes, int32_t *slot) SITU_MUST_USE;

/* Allocates a slot of session state, initialized with a copy of `initial`. */
situ_status call_state(struct call *call, const void *initial, size_t bytes,
                       int32_t *slot) SITU_MUST_USE;

/* Allocates a slot for a saved result, which lives until the last call that reads it. */
situ_status call_save_result(struct call *call, const void *key, size_t key_bytes, size_t bytes,
                             int32_t *slot) SITU_MUST_USE;

/* Returns whether a result was saved under this key, and its slot. */
bool call_find_result(const struct call *call, const void *key, size_t key_bytes, int32_t *slot);

/* Arguments for LAUNCH. */
#define ARG_IN(call, i) ((struct launch_arg){.kind = ARG_SLOT, .slot = (call)->in[i].slot})
#define ARG_OUT(call, i) ((struct launch_arg){.kind = ARG_SLOT, .slot = (call)->out[i].slot})
#define ARG_AT(number) ((struct launch_arg){.kind = ARG_SLOT, .slot = (number)})
#define ARG_INTS(v)                                                                    \
  ARG_INT((v)[0]), ARG_INT((v)[1]), ARG_INT((v)[2]), ARG_INT((v)[3]), ARG_INT((v)[4]), \
      ARG_INT((v)[5]), ARG_INT((v)[6]), ARG_INT((v)[7]) /* SITU_MAX_RANK of them: SIZES */
#define ARG_INT(value) ((struct launch_arg){.kind = ARG_INTEGER, .integer = (value)})
#define ARG_NUM(value) ((struct launch_arg){.kind = ARG_REAL, .real = (value)})

/* LAUNCH(call, &add_kernel, SITU_FLOAT, items, grain, flops, ARG_IN(call, 0), ..., ARG_INT(n)) */
#define LAUNCH(call, kernel_, type_, items_, grain_, flops_, ...) \
  LAUNCH_LANES(call, kernel_, type_, items_, 0, grain_, flops_, __VA_ARGS__)

/* As LAUNCH, for a kernel with several lanes per work item on a GPU; their number is its last
 * argument. */
#define LAUNCH_LANES(call, kernel_, type_, items_, lanes_, grain_, flops_, ...) \
  call_launch((call),                                                           \
              &(struct launch){.kernel = (kernel_),                             \
                               .type = (type_),                                 \
                               .items = (items_),                               \
                               .lanes = (lanes_),                               \
                               .grain = (grain_),                               \
                               .flops = (flops_),                               \
                               .args = (struct launch_arg[]){__VA_ARGS__},      \
                               .n_args = (int32_t)COUNT_OF(((struct launch_arg[]){__VA_ARGS__}))})

#endif
