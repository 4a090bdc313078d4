/* SPDX-License-Identifier: Apache-2.0
 * iterator_ops.c: dataset iterator ops; data/ implements them. */
#include "ops/io/iterator_ops.h"

#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "schema/function.h"
#include "tensor/tensor.h"

static situ_status constant_shape(struct call *call) {
  const situ_tensor *value = call_attr(call, "value")->tensor;
  if (situ_tensor_type(value) != SITU_RESOURCE)
    return INVALID("The value of a constant dataset must be a resource, not %s",
                   situ_type_name(situ_tensor_type(value)));
  return op_scalar_shape(call);
}

static situ_status compute_dataset(struct compute *compute) {
  compute->out[0] = situ_tensor_retain(call_attr(compute->call, "value")->tensor);
  return NULL;
}

static situ_status compute_iterator(struct compute *compute) {
  return compute_resource(compute, iterator_table.kind, iterator_table.create, NULL);
}

enum { MOST = 64 }; /* arguments of a dataset */

struct arguments {
  situ_tensor *at[MOST];
  int n;
};

/* Arguments from input `first` on, with references. Memory of the program is copied, because
 * iterators outlive the run. */
static situ_status take_arguments(const struct compute *compute, int first, struct arguments *out) {
  *out = (struct arguments){.n = compute->call->n_in - first};
  if (out->n > MOST) return INVALID("A dataset takes at most %d arguments.", MOST);
  for (int i = 0; i < out->n; i++) TRY(compute_keep(compute, i + first, &out->at[i]));
  return NULL;
}

static void drop_arguments(struct arguments *arguments) {
  for (int i = 0; i < arguments->n && i < MOST; i++) situ_tensor_release(arguments->at[i]);
}

/* Begins with the dataset of input 0 and arguments from input `first` on. */
static situ_status start(const struct compute *compute, struct resource *iterator, int first,
                         unsigned how) {
  struct arguments arguments;
  situ_status status = take_arguments(compute, first, &arguments);
  if (!status)
    status = iterator_table.start(iterator, compute->in[0], arguments.at, arguments.n, how);
  drop_arguments(&arguments);
  return status;
}

static situ_status compute_bind(struct compute *compute) {
  struct arguments arguments;
  situ_status status = take_arguments(compute, 1, &arguments);
  if (!status)
    status = iterator_table.bind(compute->in[0], arguments.at, arguments.n, &compute->out[0]);
  drop_arguments(&arguments);
  return status;
}

static situ_status compute_count(struct compute *compute) {
  int64_t count = 0;
  TRY(iterator_table.count(compute->in[0], &count));
  return situ_tensor_create(SITU_INT64, SITU_SCALAR, &count, &compute->out[0]);
}

static situ_status compute_dataset_once(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(compute_iterator(compute));
  TRY(resource_of(compute->out[0], iterator_table.kind, &iterator));
  return start(compute, iterator, 1, START_ONCE);
}

static situ_status one_shot_shape(struct call *call) {
  const struct function *factory = call_attr(call, "dataset_factory")->function;
  if (factory->n_inputs || factory->n_outputs != 1)
    return INVALID("dataset_factory must take no inputs and return one output, a dataset.");
  return op_scalar_shape(call);
}

static situ_status compute_one_shot(struct compute *compute) {
  const struct services *services = compute->services;
  struct resource *iterator = NULL;
  situ_tensor *dataset = NULL;
  TRY(compute_iterator(compute));
  TRY(resource_of(compute->out[0], iterator_table.kind, &iterator));
  if (!services->run)
    return situ_status_create(SITU_UNIMPLEMENTED, "OneShotIterator runs its function in a session");
  TRY(services->run(services->context, call_attr(compute->call, "dataset_factory")->function, NULL,
                    &dataset, NULL));
  const situ_status status = iterator_table.start(iterator, dataset, NULL, 0, START_ONCE);
  situ_tensor_release(dataset);
  return status;
}

static situ_status compute_make(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(compute_handle(compute, 1, iterator_table.kind, &iterator));
  return start(compute, iterator, 2, 0);
}

static situ_status next_shape(struct call *call) {
  const struct attr_value *shapes = call_attr(call, "output_shapes");
  for (int i = 0; i < call->n_out; i++)
    call->out[i].shape = i < shapes->shapes.count ? shapes->shapes.items[i] : SITU_ANY_SHAPE;
  return NULL;
}

/* Fails if the types of an element differ from those of the op: a handle may refer to any iterator.
 * */
static situ_status check_types(const struct compute *compute) {
  for (int i = 0; i < compute->call->n_out; i++) {
    const situ_type expected = compute->call->out[i].type;
    if (!compute->out[i] || compute->out[i]->type == expected) continue;
    return INVALID("Data type mismatch at component %d: expected %s but got %s.", i,
                   situ_type_name(expected), situ_type_name(compute->out[i]->type));
  }
  return NULL;
}

static situ_status compute_next(struct compute *compute) {
  struct resource *iterator = NULL;
  bool end = false;
  TRY(compute_handle(compute, 0, iterator_table.kind, &iterator));
  TRY(iterator_table.next(iterator, compute->services, compute->out, compute->call->n_out, &end));
  return end ? situ_status_create(SITU_OUT_OF_RANGE, "End of sequence") : check_types(compute);
}

static unsigned how_of(const struct compute *compute) {
  return call_attr(compute->call, "shares")->integer ? START_SHARED : 0;
}

static situ_status compute_anonymous(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(iterator_table.create(NULL, &iterator));
  return resource_handle(iterator, &compute->out[0]);
}

static situ_status compute_dataset_iterator(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(iterator_table.create(NULL, &iterator));
  const situ_status status = start(compute, iterator, 1, how_of(compute));
  if (!status) return resource_handle(iterator, &compute->out[0]);
  resource_release(iterator);
  return status;
}

static situ_status next_or_shape(struct call *call) {
  const struct attr_value *shapes = call_attr(call, "output_shapes");
  call->out[0].shape = SITU_SCALAR;
  for (int i = 1; i < call->n_out; i++)
    call->out[i].shape = i <= shapes->shapes.count ? shapes->shapes.items[i - 1] : SITU_ANY_SHAPE;
  return NULL;
}

static situ_status compute_next_or(struct compute *compute) {
  const int n = compute->call->n_out;
  struct resource *iterator = NULL;
  bool end = false;
  TRY(compute_handle(compute, 0, iterator_table.kind, &iterator));
  if (situ_shape_count(compute->in[1]->shape) != 1) return INVALID("`ask` must be a scalar.");
  end = !*(const bool *)situ_tensor_data(compute->in[1]);
  if (!end) TRY(iterator_table.next(iterator, compute->services, compute->out + 1, n - 1, &end));
  for (int i = 1; i < n && end; i++) TRY(compute_keep(compute, i + 1, &compute->out[i]));
  const bool found = !end;
  return situ_tensor_create(SITU_BOOL, SITU_SCALAR, &found, &compute->out[0]);
}

/* The element of a dataset with a single element. */
static situ_status take_single(const struct compute *compute, struct resource *iterator) {
  const int n = compute->call->n_out;
  bool end = false;
  TRY(start(compute, iterator, 1, how_of(compute)));
  TRY(iterator_table.next(iterator, compute->services, compute->out, n, &end));
  if (end) return INVALID("Dataset was empty.");
  situ_tensor **more = calloc((size_t)n + 1, sizeof(situ_tensor *));
  if (!more) return NO_MEMORY();
  situ_status status = iterator_table.next(iterator, compute->services, more, n, &end);
  if (!status && !end) status = INVALID("Dataset had more than one element.");
  for (int i = 0; i < n; i++) situ_tensor_release(more[i]);
  free(more);
  return status;
}

static situ_status compute_single(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(iterator_table.create(NULL, &iterator));
  const situ_status status = take_single(compute, iterator);
  resource_release(iterator);
  return status;
}

static situ_status compute_to_text(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(compute_handle(compute, 0, iterator_table.kind, &iterator));
  if (!iterator->name) return INVALID("An anonymous iterator has no string handle.");
  const situ_string text = {iterator->name, strlen(iterator->name)};
  return situ_tensor_create_strings(SITU_SCALAR, &text, &compute->out[0]);
}

static situ_status compute_from_text(struct compute *compute) {
  struct resource *iterator = NULL;
  const char *name = situ_tensor_string(compute->in[0], 0).data;
  TRY(resource_named(compute->services->resources, iterator_table.kind, name, &iterator));
  return resource_handle(iterator, &compute->out[0]);
}

bool iterator_op_has_state(const struct op_def *op) {
  static const char *const harmless[] = {"Assert",      "Print",           "PrintV2",
                                         "DatasetBind", "DatasetConstant", "DatasetSize",
                                         "Timestamp",   "Placeholder"};
  for (size_t i = 0; i < COUNT_OF(harmless); i++)
    if (!strcmp(op->name, harmless[i])) return false;
  return (op->flags & OP_STATEFUL) && strncmp(op->name, "LookupTable", strlen("LookupTable"));
}

static situ_status compute_serialize(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(compute_handle(compute, 0, iterator_table.kind, &iterator));
  const int64_t policy = call_attr(compute->call, "external_state_policy")->integer;
  return iterator_table.save(iterator, (enum state_policy)policy, &compute->out[0]);
}

static situ_status compute_deserialize(struct compute *compute) {
  struct resource *iterator = NULL;
  TRY(compute_handle(compute, 0, iterator_table.kind, &iterator));
  return iterator_table.restore(iterator, compute->in[1]);
}

static situ_status serialized_shape(struct call *call) {
  call->out[0].shape = SITU_SHAPE(SITU_ANY);
  return NULL;
}

#define OP_DEF(op, in, out, attributes, text, kinds, shape_, ...)                             \
  {                                                                                           \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text, \
    .devices = EVERYWHERE_PREFER_CPU, .flags = OP_STATEFUL | OP_NO_GRADIENT | (kinds),        \
    .shape = shape_, .compute = __VA_ARGS__                                                   \
  }
#define ELEMENTS "output_types:list(type) output_shapes:list(shape)=[]"
#define SHARES "shares:bool=false"
#define NAMED " container:string='' shared_name:string=''"

static const struct op_def op_defs[] = {
    OP_DEF("DatasetConstant", "", "handle:resource", "value:tensor", "A constant dataset.", 0,
           constant_shape, compute_dataset, .args = "value: Handle of the dataset."),
    OP_DEF("DatasetBind", "dataset:resource arguments:Targuments", "handle:resource",
           "Targuments:list(type)=[]", "Binds arguments to a dataset.", 0, op_scalar_shape,
           compute_bind),
    OP_DEF("DatasetSize", "input_dataset:resource", "cardinality:int64", "",
           "The number of elements of a dataset: -1 if infinite, -2 if unknown.", 0,
           op_scalar_shape, compute_count),
    OP_DEF("IteratorV2", "", "handle:resource", ELEMENTS NAMED,
           "An iterator that MakeIterator initializes with a dataset.", 0, op_scalar_shape,
           compute_iterator),
    OP_DEF("OneShotIterator", "", "handle:resource", "dataset_factory:func " ELEMENTS NAMED,
           "An iterator over the dataset of a function, initialized at its first use.", 0,
           one_shot_shape, compute_one_shot,
           .args = "dataset_factory: Function without inputs that returns a dataset."),
    OP_DEF("DatasetOneShotIterator", "dataset:resource arguments:Targuments", "handle:resource",
           "Targuments:list(type)=[] " ELEMENTS NAMED,
           "An iterator over one dataset, initialized at its first use.", 0, op_scalar_shape,
           compute_dataset_once),
    OP_DEF("MakeIterator", "dataset:resource iterator:resource arguments:Targuments", "",
           "Targuments:list(type)=[]", "Initializes an iterator with a dataset.", 0, op_no_shape,
           compute_make),
    OP_DEF("IteratorGetNext", "iterator:resource", "components:output_types", ELEMENTS,
           "The next element of an iterator; OutOfRange at the end.", OP_BLOCKS, next_shape,
           compute_next),
    OP_DEF("AnonymousIterator", "", "handle:resource", ELEMENTS,
           "A new iterator in each run, which MakeIterator initializes with a dataset.", 0,
           op_scalar_shape, compute_anonymous),
    OP_DEF("DatasetIterator", "dataset:resource arguments:Targuments", "handle:resource",
           "Targuments:list(type)=[] " SHARES, "A new iterator over a dataset in each run.", 0,
           op_scalar_shape, compute_dataset_iterator),
    OP_DEF("IteratorGetNextOr", "iterator:resource ask:bool[] otherwise:output_types",
           "more:bool components:output_types", ELEMENTS,
           "Whether there is a next element, and the element, or default values.", OP_BLOCKS,
           next_or_shape, compute_next_or),
    OP_DEF("DatasetToSingleElement", "dataset:resource arguments:Targuments",
           "components:output_types",
           "Targuments:list(type)=[] " SHARES " " ELEMENTS " metadata:string=''",
           "The only element of a dataset; fails if there are none or several.", OP_BLOCKS,
           next_shape, compute_single,
           .args = "metadata: Accepted and ignored; TensorFlow uses it for monitoring."),
    OP_DEF("SerializeIterator", "resource_handle:resource", "serialized:int64",
           "external_state_policy:int=0", "The position of an iterator.", 0, serialized_shape,
           compute_serialize,
           .args = "external_state_policy: What to do if the functions of elements depend on state "
                   "outside of the iterator: 0 warns, 1 ignores it, 2 fails."),
    OP_DEF("DeserializeIterator", "resource_handle:resource serialized:int64", "", "",
           "Continues at a position of an iterator that SerializeIterator returned.", 0,
           op_no_shape, compute_deserialize, .args = "serialized: The position."),
    OP_DEF("IteratorToStringHandle", "resource_handle:resource", "string_handle:string", "",
           "The string handle of an iterator, for IteratorFromStringHandleV2.", 0, op_scalar_shape,
           compute_to_text),
    OP_DEF("IteratorFromStringHandleV2", "string_handle:string[]", "resource_handle:resource",
           "output_types:list(type)=[] output_shapes:list(shape)=[]",
           "The iterator of a string handle.", 0, op_scalar_shape, compute_from_text),
};

OP_FAMILY(iterator_ops, op_defs);
