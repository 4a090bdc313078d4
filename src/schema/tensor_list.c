/* SPDX-License-Identifier: Apache-2.0
 * tensor_list.c: see tensor_list.h. */
#include "schema/tensor_list.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/host_memory.h"

/* Lists count as host memory: a scalar determines how long they are. */
static size_t bytes_of(int count) {
  return sizeof(struct tensor_list) + sizeof(situ_tensor *) * (size_t)count;
}

static void destroy(struct resource *resource) {
  struct tensor_list *list = (struct tensor_list *)resource;
  for (int i = 0; i < list->count; i++) situ_tensor_release(list->items[i]);
  tensor_list_release(list->like);
  host_memory_free(list, bytes_of(list->count));
}

static const struct resource_kind list_kind = {"list", destroy};

situ_status tensor_list_create(int count, struct tensor_list **out) {
  struct tensor_list *list = host_memory_alloc(bytes_of(count), _Alignof(max_align_t));
  if (!list) return host_memory_oom(bytes_of(count), NULL);
  memset(list, 0, bytes_of(count));
  list->head = (struct resource){.references = 1, .kind = &list_kind};
  list->count = count;
  *out = list;
  return NULL;
}

situ_status tensor_list_copy(const struct tensor_list *list, int count, struct tensor_list **out) {
  TRY(tensor_list_create(count, out));
  (*out)->like = (struct tensor_list *)resource_retain((struct resource *)list->like);
  for (int i = 0; i < count && i < list->count; i++)
    (*out)->items[i] = situ_tensor_retain(list->items[i]);
  return NULL;
}

void tensor_list_set(struct tensor_list *list, int index, situ_tensor *item) {
  situ_tensor_release(list->items[index]);
  list->items[index] = item;
}

situ_status tensor_list_tensor(struct tensor_list *list, situ_tensor **out) {
  return resource_handle_as(&list->head, SITU_VARIANT, out);
}

situ_status tensor_list_of(const situ_tensor *tensor, struct tensor_list **out) {
  struct resource *resource = NULL;
  TRY(resource_of(tensor, &list_kind, &resource));
  *out = (struct tensor_list *)resource;
  return NULL;
}

void tensor_list_release(struct tensor_list *list) { resource_release((struct resource *)list); }

situ_status tensor_list_grow(situ_tensor ***items, int *count, int *capacity, situ_tensor *item) {
  if (*count == *capacity) {
    const int more = *capacity ? *capacity * 2 : 16;
    situ_tensor **moved = realloc(*items, sizeof *moved * (size_t)more);
    if (!moved) {
      situ_tensor_release(item);
      return NO_MEMORY();
    }
    *items = moved;
    *capacity = more;
  }
  (*items)[(*count)++] = item;
  return NULL;
}
