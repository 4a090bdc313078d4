/* SPDX-License-Identifier: Apache-2.0
 * data.h: internals of datasets: kinds, cursors and the state of an iteration. */
#ifndef SITU_DATA_DATA_H
#define SITU_DATA_DATA_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "ops/io/iterator_ops.h"
#include "schema/resource.h"
#include "situ/data.h"

struct cursor;

enum { INFINITE_COUNT = -1, UNKNOWN_COUNT = -2 };

/* The implementation of a kind of dataset. */
struct data_kind {
  const char *name;
  size_t size;            /* sizeof its cursor, which begins with struct cursor */
  int n_inputs, n_params; /* minimum */
  /* Validates a new dataset; sets n_components if it differs from that of input 0. May be NULL. */
  situ_status (*init)(situ_dataset *dataset);
  /* Initializes a cursor; the cursors of the inputs are open (unless `lazy`). May be NULL. */
  situ_status (*open)(struct cursor *cursor);
  /* Sets one tensor per component, or *end. Called by one thread at a time. */
  situ_status (*next)(struct cursor *cursor, situ_tensor **components, bool *end);
  /* Stops threads and frees the members of the cursor; the inputs are closed afterwards. May be
   * NULL. */
  void (*close)(struct cursor *cursor);
  int64_t (*cardinality)(const situ_dataset *dataset); /* NULL: that of input 0 */
  /* Skips n elements before the first call of next, faster than next would. May be NULL. */
  situ_status (*skip)(struct cursor *cursor, int64_t n);
  int seeds; /* index of the second of two seed params; 0: not random */
  bool lazy; /* the kind opens the cursors of its inputs: cursor_open_input */
};

/* All kinds; kind_X is defined in the file of its implementation. */
#define DATA_KINDS(X)  \
  X(Tensor)            \
  X(TensorSlice)       \
  X(Numbers)           \
  X(Random)            \
  X(Generator)         \
  X(Handle)            \
  X(Bound)             \
  X(Elements)          \
  X(TextLine)          \
  X(TFRecord)          \
  X(FixedLengthRecord) \
  X(Zip)               \
  X(Concatenate)       \
  X(Repeat)            \
  X(Take)              \
  X(Skip)              \
  X(Shard)             \
  X(AssertCardinality) \
  X(Cache)             \
  X(CacheFile)         \
  X(Batch)             \
  X(PaddedBatch)       \
  X(Unbatch)           \
  X(Window)            \
  X(Shuffle)           \
  X(Prefetch)          \
  X(Map)               \
  X(Filter)            \
  X(TakeWhile)         \
  X(FlatMap)           \
  X(Interleave)        \
  X(CopyToDevice)      \
  X(Choose)            \
  X(Scan)              \
  X(Reduce)            \
  X(Group)             \
  X(Distinct)          \
  X(IgnoreErrors)

#define DATA_KIND_EXTERN(name) extern const struct data_kind kind_##name;
DATA_KINDS(DATA_KIND_EXTERN)
#undef DATA_KIND_EXTERN

/* State shared by the cursors of a dataset, across iterators (shuffle seeds, a cache). */
struct shared_state {
  int references; /* atomic */
  pthread_mutex_t lock;
  void (*release)(struct shared_state *shared_state);
};

struct situ_dataset {
  struct resource head;
  const struct data_kind *kind;
  situ_dataset_spec spec; /* owns what it points to */
  int n_components;
  pthread_mutex_t lock;
  struct shared_state *shared_state; /* of all iterators without their own; guarded by lock */
};

/* The arguments of an iterator, and the shared state of its cursors if the iterator has its own. */
struct binding {
  int references;   /* atomic */
  bool share_state; /* cursors use the shared state of their datasets */
  int n_arguments;
  situ_tensor **arguments;
  pthread_mutex_t lock;
  struct binding_state {
    struct binding_state *next;
    const situ_dataset *dataset;
    struct shared_state *shared_state;
  } * states;
};

/* State shared by all cursors of an iterator. */
struct iteration {
  _Atomic bool stopping;      /* the iterator is being released: cursors fail */
  _Atomic bool interrupted;   /* a call of next was interrupted: a thread may be blocked for long */
  _Atomic bool log_placement; /* functions log their placement when they are compiled */
  pthread_mutex_t lock;       /* guards the members below */
  struct function_session {
    struct function_session *next;
    situ_transform *transform;
    situ_session *session;
  } * function_sessions; /* sessions of functions with random state, which restarts with each
                            iterator */
  struct seed_record *seed_records;
};

/* The seeds of a dataset at the start of an iteration. */
struct seed_record {
  struct seed_record *next;
  const situ_dataset *dataset;
  int64_t seed, seed2, drawn; /* state of the seed generator, see rng.c */
  int64_t restarts;           /* number of times that random seeds were replaced */
  bool known, restored;       /* known: the seeds are set; restored: from a saved state, not yet
                                 applied */
};

/* The position of an iterator. */
struct iterator_position {
  int64_t n_requested; /* elements requested */
  bool failed;         /* at least one failed */
};

struct cursor {
  situ_dataset *dataset;       /* borrowed from the iterator */
  struct binding *binding;     /* borrowed; NULL: no arguments */
  struct iteration *iteration; /* borrowed */
  struct cursor **inputs;      /* one per input; NULL: not open */
  situ_tensor **element;       /* buffer for an element of input 0 */
};

/* cursor.c */

/* Opens a cursor of a dataset. */
situ_status cursor_open(situ_dataset *dataset, struct binding *binding, struct iteration *iteration,
                        struct cursor **out) SITU_MUST_USE;
void cursor_close(struct cursor *cursor);

/* Opens the cursor of an input; closes the previous one. */
situ_status cursor_open_input(struct cursor *cursor, int input) SITU_MUST_USE;

/* Gets the next element; Cancelled while the iterator is being released. */
situ_status cursor_next(struct cursor *cursor, situ_tensor **components, bool *end) SITU_MUST_USE;

/* Gets the next element of input 0. */
situ_status cursor_pull(struct cursor *cursor, situ_tensor **components, bool *end) SITU_MUST_USE;

/* Skip n elements of a new cursor: as the kind can, or by reading and dropping them. */
situ_status cursor_skip(struct cursor *cursor, int64_t n) SITU_MUST_USE;
situ_status cursor_discard(struct cursor *cursor, int64_t n) SITU_MUST_USE;

/* Returns the value of a param; borrowed. */
situ_status cursor_param(const struct cursor *cursor, int index, situ_tensor **out) SITU_MUST_USE;

/* Returns the value of an integer param. */
situ_status cursor_int_param(const struct cursor *cursor, int index, int64_t *out) SITU_MUST_USE;

/* The services of the session whose run waits for an element in this thread; NULL if none. */
extern _Thread_local const struct services *cursor_services;

/* Waits on a condition for a short time. Must hold the lock. Fails if the program is interrupted.
 * */
situ_status cursor_wait(pthread_cond_t *condition, pthread_mutex_t *lock) SITU_MUST_USE;

/* Releases tensors and sets them to NULL. */
void cursor_release_tensors(situ_tensor **components, int n);

/* iterator_state.c */

/* Returns the seed record of a dataset, created if missing; NULL if out of memory. Must hold the
 * lock of the iteration. */
struct seed_record *iterator_state_seeds(struct iteration *iteration, const situ_dataset *dataset);

/* Frees the sessions and seed records of an iteration. */
void iterator_state_clear(struct iteration *iteration);

/* Applies the policy if a function of the datasets below a root depends on state outside of the
 * iterator. */
situ_status iterator_state_check(const situ_dataset *root, enum state_policy policy) SITU_MUST_USE;

/* Save a position as a vector, restore the seeds of an iteration from it, and skip to it. */
situ_status iterator_state_save(struct iteration *iteration, situ_dataset *root, bool share_state,
                                struct iterator_position position, situ_tensor **out) SITU_MUST_USE;
situ_status iterator_state_load(struct iteration *iteration, const situ_dataset *root,
                                const situ_tensor *saved,
                                struct iterator_position *position) SITU_MUST_USE;
situ_status iterator_state_resume(struct cursor *cursor,
                                  struct iterator_position position) SITU_MUST_USE;

/* shared_state.c */

/* Returns the shared state of a dataset with a reference; calls `create` if there is none. */
situ_status shared_state_find(const struct cursor *cursor,
                              situ_status (*create)(struct shared_state **out),
                              struct shared_state **out) SITU_MUST_USE;
void shared_state_release(struct shared_state *shared_state);

/* Creates a binding, which retains the arguments. */
situ_status shared_state_bind(situ_tensor *const *arguments, int n, bool share_state,
                              struct binding **out) SITU_MUST_USE;
void shared_state_unbind(struct binding *binding);

/* dataset.c: returns the value of an integer param, or `unknown` if it is an argument. */
int64_t dataset_int_param(const situ_dataset *dataset, int index, int64_t unknown);

/* transform.c: calls the function of the dataset with n tensors (an element, for Scan preceded by
 * the state) and the captured values, which are the last params. */
/* Names the function of group_by_window in an error of it; other errors stay as they are. */
situ_status transform_name_function(const struct cursor *cursor, situ_status cause) SITU_MUST_USE;

situ_status transform_call(const struct cursor *cursor, situ_tensor *const *element, int n,
                           situ_tensor **results) SITU_MUST_USE;

/* Releases the function sessions of an iteration. */
void transform_release_sessions(struct iteration *iteration);

/* Returns whether the function is stateless, so that calls may be skipped. */
bool transform_is_plain(const situ_transform *transform);

/* Returns the op of a function that depends on state outside of the iterator, or NULL. */
const struct op_def *transform_outer_state(const situ_transform *transform);
int transform_inputs(const situ_transform *transform);
int transform_outputs(const situ_transform *transform);

/* component.c */

/* Returns slice `index` of a tensor in host memory; numeric slices share its memory if large. */
situ_status component_slice(situ_tensor *tensor, int64_t index, situ_tensor **out) SITU_MUST_USE;

/* Replaces a tensor on a device by a copy in host memory. */
situ_status component_to_host(situ_tensor **component) SITU_MUST_USE;

/* dataset.c */
extern const struct resource_kind dataset_resource;

/* Fails unless the function accepts the components of input 0 and the captured values. */
situ_status dataset_check_function(const situ_dataset *dataset) SITU_MUST_USE;

/* Cardinality functions for data_kind. */
int64_t dataset_cardinality_one(const situ_dataset *dataset);
int64_t dataset_cardinality_unknown(const situ_dataset *dataset);

/* iterator.c implements iterator_table of ops/io/iterator_ops.h. */

#endif
