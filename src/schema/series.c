/* SPDX-License-Identifier: Apache-2.0
 * series.c: see series.h. */
#include "schema/series.h"

#include <stdlib.h>

static void destroy(struct resource *resource) {
  struct series *list = (struct series *)resource;
  for (int i = 0; i < list->count; i++) situ_tensor_release(list->items[i]);
  series_release(list->like);
  free(list);
}

static const struct resource_kind list_kind = {"list", destroy};

situ_status series_create(int count, struct series **out) {
  struct series *list = calloc(1, sizeof *list + sizeof(situ_tensor *) * (size_t)count);
  if (!list) return NO_MEMORY();
  list->head = (struct resource){.references = 1, .kind = &list_kind};
  list->count = count;
  *out = list;
  return NULL;
}

situ_status series_copy(const struct series *list, int count, struct series **out) {
  TRY(series_create(count, out));
  (*out)->like = (struct series *)resource_retain((struct resource *)list->like);
  for (int i = 0; i < count && i < list->count; i++)
    (*out)->items[i] = situ_tensor_retain(list->items[i]);
  return NULL;
}

void series_set(struct series *list, int index, situ_tensor *item) {
  situ_tensor_release(list->items[index]);
  list->items[index] = item;
}

situ_status series_tensor(struct series *list, situ_tensor **out) {
  return resource_handle_as(&list->head, SITU_VARIANT, out);
}

situ_status series_of(const situ_tensor *tensor, struct series **out) {
  struct resource *resource = NULL;
  TRY(resource_of(tensor, &list_kind, &resource));
  *out = (struct series *)resource;
  return NULL;
}

void series_release(struct series *list) { resource_release((struct resource *)list); }

situ_status series_grow(situ_tensor ***items, int *count, int *room, situ_tensor *item) {
  if (*count == *room) {
    const int more = *room ? *room * 2 : 16;
    situ_tensor **moved = realloc(*items, sizeof *moved * (size_t)more);
    if (!moved) {
      situ_tensor_release(item);
      return NO_MEMORY();
    }
    *items = moved;
    *room = more;
  }
  (*items)[(*count)++] = item;
  return NULL;
}
