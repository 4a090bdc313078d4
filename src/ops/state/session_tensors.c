/* SPDX-License-Identifier: Apache-2.0
 * session_tensors.c: tensors that a session keeps between runs, by handle: a string of the node
 * that computed the tensor, a number and the device. The session owns them until they are deleted
 * or it is closed. */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

struct kept {
  char *handle;
  situ_tensor *tensor;
  struct kept *next;
};

struct store {
  struct resource head;
  pthread_mutex_t lock;
  struct kept *first;
  int64_t n_created;
};

static void kept_free(struct kept *kept) {
  situ_tensor_release(kept->tensor);
  free(kept->handle);
  free(kept);
}

static void destroy(struct resource *resource) {
  struct store *store = (struct store *)resource;
  while (store->first) {
    struct kept *kept = store->first;
    store->first = kept->next;
    kept_free(kept);
  }
  pthread_mutex_destroy(&store->lock);
  free(store);
}

static const struct resource_kind store_kind = {"session tensors", destroy};

static situ_status create(void *context, struct resource **out) {
  (void)context;
  struct store *store = calloc(1, sizeof *store);
  if (!store) return NO_MEMORY();
  pthread_mutex_init(&store->lock, NULL);
  *out = &store->head;
  return NULL;
}

/* The store of the session, which has one under a name that no op can request; a new reference. */
static situ_status find_store(const struct compute *compute, struct store **out) {
  struct resource *resource = NULL;
  TRY(resource_find(compute->services->resources, &store_kind, "\n", "session tensors", NULL,
                    create, NULL, &resource));
  *out = (struct store *)resource;
  return NULL;
}

/* The link to the tensor of a handle, or to NULL. Must hold the lock. */
static struct kept **find(struct store *store, situ_string handle) {
  struct kept **at = &store->first;
  while (*at && (strlen((*at)->handle) != handle.length ||
                 memcmp((*at)->handle, handle.data, handle.length) != 0))
    at = &(*at)->next;
  return at;
}

/* Gives the kept tensor a handle, adds it to the store and returns the handle as the output. */
static situ_status add(struct compute *compute, struct store *store, struct kept *kept) {
  struct strbuf text = {0};
  pthread_mutex_lock(&store->lock);
  strbuf_appendf(&text, "%s;%lld;/device:CPU:0", compute->call->node,
                 (long long)store->n_created++);
  pthread_mutex_unlock(&store->lock);
  kept->handle = text.failed ? NULL : strdup(strbuf_get(&text));
  strbuf_free(&text);
  if (!kept->handle) return NO_MEMORY();
  const situ_string handle = {kept->handle, strlen(kept->handle)};
  TRY(situ_tensor_create_strings(SITU_SCALAR, &handle, &compute->out[0]));
  pthread_mutex_lock(&store->lock);
  kept->next = store->first;
  store->first = kept;
  pthread_mutex_unlock(&store->lock);
  return NULL;
}

static situ_status compute_keep_tensor(struct compute *compute) {
  struct store *store = NULL;
  struct kept *kept = calloc(1, sizeof *kept);
  situ_status status = kept ? find_store(compute, &store) : NO_MEMORY();
  if (!status) status = compute_keep(compute, 0, &kept->tensor);
  if (!status) status = add(compute, store, kept);
  if (status && kept) kept_free(kept);
  if (store) resource_release(&store->head);
  return status;
}

/* Checks the tensor of a handle and returns a reference to it. */
static situ_status get(const struct call *call, const struct kept *kept, situ_string handle,
                       situ_tensor **out) {
  if (!kept)
    return INVALID("The tensor with handle '%.*s' is not in the session store.", (int)handle.length,
                   handle.data);
  const situ_type wanted = call->out[0].type;
  if (kept->tensor->type != wanted)
    return INVALID("The tensor with handle '%s' has type %s, not %s.", kept->handle,
                   situ_type_name(kept->tensor->type), situ_type_name(wanted));
  *out = situ_tensor_retain(kept->tensor);
  return NULL;
}

static situ_status compute_get(struct compute *compute) {
  struct store *store = NULL;
  TRY(find_store(compute, &store));
  const situ_string handle = situ_tensor_string(compute->in[0], 0);
  pthread_mutex_lock(&store->lock);
  const situ_status status = get(compute->call, *find(store, handle), handle, &compute->out[0]);
  pthread_mutex_unlock(&store->lock);
  resource_release(&store->head);
  return status;
}

static situ_status compute_delete(struct compute *compute) {
  struct store *store = NULL;
  TRY(find_store(compute, &store));
  const situ_string handle = situ_tensor_string(compute->in[0], 0);
  pthread_mutex_lock(&store->lock);
  struct kept **at = find(store, handle), *kept = *at;
  if (kept) *at = kept->next;
  pthread_mutex_unlock(&store->lock);
  resource_release(&store->head);
  if (!kept)
    return INVALID("Failed to delete a tensor with handle '%.*s' in the session store.",
                   (int)handle.length, handle.data);
  kept_free(kept);
  return NULL;
}

static situ_status get_shape(struct call *call) {
  call->out[0].shape = SITU_ANY_SHAPE;
  return NULL;
}

#define OP_DEF(op, in, out, attributes, text, shaper, function, strings)                       \
  {                                                                                            \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text,  \
    .args = strings, .devices = EVERYWHERE, .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_EFFECT, \
    .shape = shaper, .compute = function                                                       \
  }

static const struct op_def op_defs[] = {
    OP_DEF("GetSessionHandle", "value:T", "handle:string", "T:type",
           "Keeps a tensor in the session and returns a handle.", op_scalar_shape,
           compute_keep_tensor, "value: Tensor to keep."),
    OP_DEF("GetSessionTensor", "handle:string[]", "value:dtype", "dtype:type",
           "The tensor of a handle of GetSessionHandle.", get_shape, compute_get,
           "handle: Handle of the tensor.\ndtype: Type of the tensor."),
    OP_DEF("DeleteSessionTensor", "handle:string[]", "", "", "Deletes the tensor of a handle.",
           op_no_shape, compute_delete, "handle: Handle of the tensor."),
};

OP_FAMILY(session_tensors, op_defs);
