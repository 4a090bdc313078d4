/* SPDX-License-Identifier: Apache-2.0
 * memory.c: memory of the devices, at addresses that are invalid on the host; pinned memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/driver/standin.h"

enum { MOST_EXTENTS = 4096, ALIGN = 512 };

/* Addresses of device d begin at BASE + (d + 1) * SPAN. Behind each allocation is a gap. */
#define BASE ((uint64_t)0x300000000000)
#define SPAN ((uint64_t)1 << 40)
#define GAP ((uint64_t)1 << 20)

/* Sorted by address. */
static struct extent *extents[MOST_EXTENTS];
static int n_extents;
static uint64_t next_address[MOST_CARDS];

static struct {
  unsigned char *data;
  size_t bytes;
} pinned[256];

static void *map(size_t bytes) {
  void *out =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return out == MAP_FAILED ? NULL : out;
}

/* How many extents begin at or before an address. */
static int before(uint64_t address) {
  int low = 0, high = n_extents;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (extents[middle]->address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct extent *memory_find(uint64_t address) {
  const int i = before(address) - 1;
  if (i < 0 || address - extents[i]->address >= extents[i]->bytes) return NULL;
  return extents[i];
}

static int owner(uint64_t address) { return (int)((address - BASE) / SPAN) - 1; }

cuda_result memory_take(struct card *card, size_t bytes, bool is_counted, uint64_t *address) {
  if (!bytes) return CUDA_INVALID_VALUE;
  if ((is_counted && bytes > card->memory - card->used) || n_extents == MOST_EXTENTS)
    return CUDA_OUT_OF_MEMORY;
  struct extent *extent = calloc(1, sizeof *extent);
  uint64_t *next = &next_address[card->number];
  if (!*next) *next = BASE + (uint64_t)(card->number + 1) * SPAN;
  *extent = (struct extent){.address = *next,
                            .bytes = bytes,
                            .data = map(bytes),
                            .shades = map(bytes * sizeof(struct shade)),
                            .from = 1u << card->number | card->peers};
  if (!extent->data || !extent->shades) return CUDA_OUT_OF_MEMORY;
  memset(extent->data, 0xff, bytes);
  *next += (bytes + GAP + ALIGN - 1) / ALIGN * ALIGN;
  const int at = before(extent->address);
  memmove(&extents[at + 1], &extents[at], (size_t)(n_extents - at) * sizeof *extents);
  extents[at] = extent;
  n_extents++;
  if (is_counted) card->used += bytes;
  extent->is_counted = is_counted;
  *address = extent->address;
  return CUDA_OK;
}

static void remove_at(int at) {
  struct extent *extent = extents[at];
  munmap(extent->data, extent->bytes);
  munmap(extent->shades, extent->bytes * sizeof(struct shade));
  free(extent);
  n_extents--;
  memmove(&extents[at], &extents[at + 1], (size_t)(n_extents - at) * sizeof *extents);
}

bool memory_give(struct card *card, uint64_t address) {
  const int at = before(address) - 1;
  if (at < 0 || extents[at]->address != address || owner(address) != card->number) return false;
  if (extents[at]->is_counted) card->used -= extents[at]->bytes;
  remove_at(at);
  return true;
}

void memory_end(struct card *card) {
  for (int i = n_extents - 1; i >= 0; i--)
    if (owner(extents[i]->address) == card->number) remove_at(i);
  card->used = 0;
}

void memory_share(const struct card *card) {
  for (int i = 0; i < n_extents; i++)
    if (owner(extents[i]->address) == card->number)
      extents[i]->from = 1u << card->number | card->peers;
}

unsigned char *memory_data(const struct card *card, uint64_t address, size_t bytes,
                           const char *what) {
  const struct extent *extent = memory_find(address);
  if (!extent || bytes > extent->bytes - (size_t)(address - extent->address)) {
    standin_say("%s: %zu bytes at 0x%llx are outside of all memory of devices", what, bytes,
                (unsigned long long)address);
    return NULL;
  }
  if (owner(address) != card->number) {
    standin_say("%s: 0x%llx is memory of another device", what, (unsigned long long)address);
    return NULL;
  }
  return extent->data + (address - extent->address);
}

bool standin_owns(int device, cuda_pointer address, size_t bytes) {
  pthread_mutex_lock(&standin_lock);
  const struct extent *extent = memory_find(address);
  const bool owns = extent && bytes <= extent->bytes - (size_t)(address - extent->address) &&
                    standin_card(device) && owner(address) == standin_card(device)->number;
  pthread_mutex_unlock(&standin_lock);
  return owns;
}

unsigned char *standin_data(cuda_pointer address, size_t bytes) {
  const struct extent *extent = memory_find(address);
  if (extent && bytes <= extent->bytes - (size_t)(address - extent->address))
    return extent->data + (address - extent->address);
  standin_say("a library: %zu bytes at 0x%llx are outside of all memory of devices", bytes,
              address);
  return NULL;
}

bool memory_is_pinned(const void *data, size_t bytes) {
  for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
    if ((const unsigned char *)data >= pinned[i].data &&
        (const unsigned char *)data + bytes <= pinned[i].data + pinned[i].bytes)
      return true;
  return false;
}

/* ---- Functions of the driver ---- */

EXPORT cuda_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
cuda_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  ENTER(true);
  const struct card *card = standin_context()->card;
  *free_bytes = card->memory - card->used;
  *total = card->memory;
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuMemAlloc_v2(cuda_pointer *out, size_t bytes);
cuda_result cuMemAlloc_v2(cuda_pointer *out, size_t bytes) {
  ENTER(true);
  uint64_t address = 0;
  const cuda_result result = memory_take(standin_context()->card, bytes, true, &address);
  *out = address;
  return standin_leave(result);
}

EXPORT cuda_result cuMemFree_v2(cuda_pointer address);
cuda_result cuMemFree_v2(cuda_pointer address) {
  ENTER(true);
  const bool known = memory_give(standin_context()->card, address);
  if (!known) standin_say("cuMemFree: 0x%llx was not allocated on this device", address);
  return standin_leave(known ? CUDA_OK : CUDA_INVALID_VALUE);
}

EXPORT cuda_result cuMemAllocHost_v2(void **out, size_t bytes);
cuda_result cuMemAllocHost_v2(void **out, size_t bytes) {
  ENTER(true);
  for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
    if (pinned[i].data) continue;
    *out = malloc(bytes);
    if (!*out) return standin_leave(CUDA_OUT_OF_MEMORY);
    memset(*out, 0xff, bytes);
    pinned[i].data = *out;
    pinned[i].bytes = bytes;
    return standin_leave(CUDA_OK);
  }
  return standin_leave(CUDA_OUT_OF_MEMORY);
}

EXPORT cuda_result cuMemFreeHost(void *data);
cuda_result cuMemFreeHost(void *data) {
  ENTER(LOST_TOO);
  for (size_t i = 0; data && i < sizeof pinned / sizeof *pinned; i++) {
    if (pinned[i].data != data) continue;
    pinned[i].data = NULL;
    pinned[i].bytes = 0;
    free(data);
    return standin_leave(CUDA_OK);
  }
  return standin_leave(CUDA_INVALID_VALUE);
}
