/* SPDX-License-Identifier: Apache-2.0
 * cards.c: enumerates the NVIDIA GPUs that the driver reports. */
#include "backend/cuda/cards.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CARDS = 64 };

static struct card cards[MAX_CARDS];
static int n_cards;
static bool is_loaded;
static const char *why_none;
static cuda_result list_result;

static void write_uuid(const struct card *card, char *out, size_t size) {
  unsigned char id[CUDA_UUID_BYTES];
  const bool is_mig = strstr(card->info.model, " MIG ") && cuda.cuDeviceGetUuid_v2;
  if ((is_mig ? cuda.cuDeviceGetUuid_v2 : cuda.cuDeviceGetUuid)((cuda_uuid *)id, card->id) !=
      CUDA_OK)
    return;
  size_t used = (size_t)snprintf(out, size, is_mig ? "MIG-" : "GPU-");
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
  for (char *c = info->bus_id; *c; c++) *c = (char)tolower((unsigned char)*c);
  write_uuid(out, info->uuid, sizeof info->uuid);
  snprintf(out->label, sizeof out->label, "CUDA GPU %d (%s, %s)", index, info->model, info->bus_id);
  return CUDA_OK;
}

static void list_cards(void) {
  int count = 0;
  const char *setting = getenv("SITU_CUDA");
  if (setting && !strcmp(setting, "0")) {
    why_none = "disabled by SITU_CUDA=0";
    return;
  }
  is_loaded = cuda_load(&why_none);
  if (!is_loaded) return;
  list_result = cuda.cuDeviceGetCount(&count);
  for (int i = 0; i < count && i < MAX_CARDS && list_result == CUDA_OK; i++) {
    list_result = describe(i, &cards[i]);
    if (list_result == CUDA_OK) n_cards++;
  }
  if (!n_cards) why_none = "the driver reports no GPU";
}

situ_status cards_find(int *count, const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, list_cards);
  *count = n_cards;
  if (!n_cards) *why = why_none;
  return is_loaded ? cuda_status(list_result, "CUDA", "listing GPUs") : NULL;
}

struct card *cards_get(int index) {
  return index >= 0 && index < n_cards ? &cards[index] : NULL;
}
