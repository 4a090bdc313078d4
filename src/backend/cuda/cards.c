/* SPDX-License-Identifier: Apache-2.0
 * cards.c: see cards.h. */
#include "backend/cuda/cards.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CARDS = 64 };

static struct card cards[MOST_CARDS];
static int n_cards;
static bool is_loaded;
static const char *why_none; /* NULL where nobody wants it */
static cuda_result failed;

static void write_unit(const struct card *card, char *out, size_t size) {
  unsigned char id[CUDA_UUID_BYTES];
  const bool is_part = strstr(card->info.model, " MIG ") && cuda.cuDeviceGetUuid_v2;
  if ((is_part ? cuda.cuDeviceGetUuid_v2 : cuda.cuDeviceGetUuid)((cuda_uuid *)id, card->id) !=
      CUDA_OK)
    return;
  size_t used = (size_t)snprintf(out, size, is_part ? "MIG-" : "GPU-");
  for (int i = 0; i < CUDA_UUID_BYTES; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%02x",
                             i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

static cuda_result describe(int index, struct card *out) {
  struct device_info *info = &out->info;
  size_t memory = 0;
  *out = (struct card){.info = {.has_half = true, .has_double = true}};
  cuda_result result = cuda.cuDeviceGet(&out->id, index);
  if (result == CUDA_OK) result = cuda.cuDeviceGetName(info->model, sizeof info->model, out->id);
  if (result == CUDA_OK) result = cuda.cuDeviceTotalMem_v2(&memory, out->id);
  if (result == CUDA_OK)
    result = cuda.cuDeviceGetAttribute(&info->capability_major, CUDA_CAPABILITY_MAJOR, out->id);
  if (result == CUDA_OK)
    result = cuda.cuDeviceGetAttribute(&info->capability_minor, CUDA_CAPABILITY_MINOR, out->id);
  if (result == CUDA_OK)
    result = cuda.cuDeviceGetPCIBusId(info->bus_id, sizeof info->bus_id, out->id);
  if (result != CUDA_OK) return result;
  info->memory = memory;
  for (char *at = info->bus_id; *at; at++) *at = (char)tolower((unsigned char)*at);
  write_unit(out, info->uuid, sizeof info->uuid);
  snprintf(out->label, sizeof out->label, "CUDA GPU %d (%s, %s)", index, info->model, info->bus_id);
  return CUDA_OK;
}

static void find(void) {
  int count = 0;
  const char *wanted = getenv("SITU_CUDA");
  is_loaded = !(wanted && !strcmp(wanted, "0")) && cuda_load(&why_none);
  if (!is_loaded) return;
  failed = cuda.cuDeviceGetCount(&count);
  for (int i = 0; i < count && i < MOST_CARDS && failed == CUDA_OK; i++) {
    failed = describe(i, &cards[i]);
    if (failed == CUDA_OK) n_cards++;
  }
  if (!n_cards) why_none = "the driver shows no GPU";
}

situ_status cards_find(int *count, const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  *count = n_cards;
  if (!n_cards) *why = why_none;
  return is_loaded ? cuda_status(failed, "CUDA", "listing GPUs") : NULL;
}

struct card *cards_get(int index) {
  return index >= 0 && index < n_cards ? &cards[index] : NULL;
}
