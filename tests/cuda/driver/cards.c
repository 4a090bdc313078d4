/* SPDX-License-Identifier: Apache-2.0
 * cards.c: devices, contexts, errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver/standin.h"

static struct card cards[MOST_CARDS];
static struct card *visible[MOST_CARDS];
static int n_visible;
static bool is_started;

static _Thread_local struct CUctx_st *stack[16];
static _Thread_local int depth;

struct CUctx_st *standin_context(void) {
  return depth ? stack[depth - 1] : NULL;
}
int standin_cards(void) { return n_visible; }
struct card *standin_card(int device) {
  return device >= 0 && device < n_visible ? visible[device] : NULL;
}

/* ---- Starting ---- */

static long setting(const char *name, long otherwise) {
  const char *value = getenv(name);
  return value && *value ? strtol(value, NULL, 10) : otherwise;
}

/* The card that an entry names, by number or by the beginning of its id; -1: none. */
static int entry_of(const char *entry, size_t length, int count) {
  char *end = NULL;
  const long index = strtol(entry, &end, 10);
  if (end == entry + length && length) return index >= 0 && index < count ? (int)index : -1;
  for (int i = 0; i < count; i++) {
    char id[64];
    snprintf(id, sizeof id, "GPU-%02x5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a", i);
    if (length > 4 && !strncmp(id, entry, length)) return i;
  }
  return -1;
}

/* As the driver: a list that ends at the first entry that is no device; one that names a device
 * twice shows none. */
static void show(int count) {
  const char *list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list)
    for (int i = 0; i < count; i++) visible[n_visible++] = &cards[i];
  while (list && *list) {
    const size_t length = strcspn(list, ",");
    const int index = entry_of(list, length, count);
    if (index < 0) return;
    for (int i = 0; i < n_visible; i++) {
      if (visible[i] != &cards[index]) continue;
      n_visible = 0;
      return;
    }
    visible[n_visible++] = &cards[index];
    list += length + (list[length] == ',');
  }
}

/* The first device is of the oldest architecture that a current NVRTC compiles for, the others of a
 * new one. */
void standin_start(void) {
  long count = setting("STANDIN_DEVICES", 2);
  if (is_started) return;
  is_started = true;
  if (count > MOST_CARDS) count = MOST_CARDS;
  for (int i = 0; i < count; i++) {
    struct card *card = &cards[i];
    *card = (struct card){.number = i,
                          .major = i ? 12 : 7,
                          .minor = i ? 0 : 5,
                          .memory = (size_t)setting("STANDIN_MEMORY", 64) << 20};
    snprintf(card->name, sizeof card->name, "CUDA stand-in sm_%d%d", card->major, card->minor);
    snprintf(card->bus_id, sizeof card->bus_id, "0000:%02X:00.0", 0x81 + i);
  }
  show((int)count);
}

EXPORT cuda_result cuInit(unsigned flags);
cuda_result cuInit(unsigned flags) {
  ENTER(false);
  standin_start();
  return standin_leave(flags ? CUDA_INVALID_VALUE : n_visible ? CUDA_OK : CUDA_NO_DEVICE);
}

int standin_version(void) { return (int)setting("STANDIN_DRIVER", 13000); }

EXPORT cuda_result cuDriverGetVersion(int *version);
cuda_result cuDriverGetVersion(int *version) {
  *version = standin_version();
  return CUDA_OK;
}

/* NVRTC loads the driver and calls this. */
EXPORT cuda_result cuGetExportTable(const void **table, const void *id);
cuda_result cuGetExportTable(const void **table, const void *id) {
  (void)id;
  *table = NULL;
  return CUDA_NOT_SUPPORTED;
}

/* ---- Errors ---- */

static const struct {
  cuda_result code;
  const char *name, *text;
} errors[] = {
    {CUDA_OK, "CUDA_SUCCESS", "no error"},
    {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available"},
    {CUDA_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_UNSUPPORTED_PTX, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_CONTEXT_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_PEER_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_MISALIGNED, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

EXPORT cuda_result cuGetErrorName(cuda_result error, const char **out);
cuda_result cuGetErrorName(cuda_result error, const char **out) {
  *out = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == error) *out = errors[i].name;
  return *out ? CUDA_OK : CUDA_INVALID_VALUE;
}

EXPORT cuda_result cuGetErrorString(cuda_result error, const char **out);
cuda_result cuGetErrorString(cuda_result error, const char **out) {
  *out = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == error) *out = errors[i].text;
  return *out ? CUDA_OK : CUDA_INVALID_VALUE;
}

/* ---- Devices ---- */

EXPORT cuda_result cuDeviceGetCount(int *count);
cuda_result cuDeviceGetCount(int *count) {
  ENTER(false);
  *count = n_visible;
  return standin_leave(is_started ? CUDA_OK : CUDA_NOT_INITIALIZED);
}

EXPORT cuda_result cuDeviceGet(cuda_device *device, int index);
cuda_result cuDeviceGet(cuda_device *device, int index) {
  ENTER(false);
  *device = index;
  return standin_leave(standin_card(index) ? CUDA_OK : CUDA_INVALID_DEVICE);
}

EXPORT cuda_result cuDeviceGetName(char *name, int size, cuda_device device);
cuda_result cuDeviceGetName(char *name, int size, cuda_device device) {
  ENTER(false);
  const struct card *card = standin_card(device);
  if (card) snprintf(name, (size_t)size, "%s", card->name);
  return standin_leave(card ? CUDA_OK : CUDA_INVALID_DEVICE);
}

EXPORT cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_device device);
cuda_result cuDeviceTotalMem_v2(size_t *bytes, cuda_device device) {
  ENTER(false);
  const struct card *card = standin_card(device);
  if (card) *bytes = card->memory;
  return standin_leave(card ? CUDA_OK : CUDA_INVALID_DEVICE);
}

EXPORT cuda_result cuDeviceGetAttribute(int *value, unsigned attribute, cuda_device device);
cuda_result cuDeviceGetAttribute(int *value, unsigned attribute, cuda_device device) {
  ENTER(false);
  const struct card *card = standin_card(device);
  if (!card) return standin_leave(CUDA_INVALID_DEVICE);
  if (attribute == CUDA_CAPABILITY_MAJOR)
    *value = card->major;
  else if (attribute == CUDA_CAPABILITY_MINOR)
    *value = card->minor;
  else if (attribute == CUDA_PROCESSORS)
    *value = 4;
  else
    return standin_leave(CUDA_INVALID_VALUE);
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuDeviceGetPCIBusId(char *out, int size, cuda_device device);
cuda_result cuDeviceGetPCIBusId(char *out, int size, cuda_device device) {
  ENTER(false);
  const struct card *card = standin_card(device);
  if (card) snprintf(out, (size_t)size, "%s", card->bus_id);
  return standin_leave(card ? CUDA_OK : CUDA_INVALID_DEVICE);
}

EXPORT cuda_result cuDeviceGetUuid(cuda_uuid *out, cuda_device device);
cuda_result cuDeviceGetUuid(cuda_uuid *out, cuda_device device) {
  ENTER(false);
  const struct card *card = standin_card(device);
  if (!card) return standin_leave(CUDA_INVALID_DEVICE);
  memset(out, 0x5a, CUDA_UUID_BYTES);
  *(unsigned char *)out = (unsigned char)card->number;
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuDeviceCanAccessPeer(int *can, cuda_device device, cuda_device peer);
cuda_result cuDeviceCanAccessPeer(int *can, cuda_device device, cuda_device peer) {
  ENTER(false);
  const bool known = standin_card(device) && standin_card(peer);
  *can = known && device != peer;
  return standin_leave(known ? CUDA_OK : CUDA_INVALID_DEVICE);
}

/* ---- Contexts ---- */

cuda_result cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device device) {
  ENTER(false);
  struct card *card = standin_card(device);
  if (!card) return standin_leave(CUDA_INVALID_DEVICE);
  if (!card->context) {
    card->context = calloc(1, sizeof *card->context);
    card->context->card = card;
  }
  card->retained++;
  *out = card->context;
  return standin_leave(CUDA_OK);
}

/* With the last one everything of the context is gone, also its error. */
cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device device) {
  ENTER(false);
  struct card *card = standin_card(device);
  if (!card || !card->retained) return standin_leave(CUDA_INVALID_CONTEXT);
  if (--card->retained == 0) {
    memory_end(card);
    card->context->error = CUDA_OK;
    card->peers = 0;
  }
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuCtxPushCurrent_v2(cuda_context context);
cuda_result cuCtxPushCurrent_v2(cuda_context context) {
  ENTER(false);
  if (!context || depth == 16) return standin_leave(CUDA_INVALID_CONTEXT);
  if (!context->card->retained) return standin_leave(CUDA_CONTEXT_DESTROYED);
  stack[depth++] = context;
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuCtxPopCurrent_v2(cuda_context *out);
cuda_result cuCtxPopCurrent_v2(cuda_context *out) {
  ENTER(false);
  if (!depth) return standin_leave(CUDA_INVALID_CONTEXT);
  depth--;
  if (out) *out = stack[depth];
  return standin_leave(CUDA_OK);
}

EXPORT cuda_result cuCtxEnablePeerAccess(cuda_context peer, unsigned flags);
cuda_result cuCtxEnablePeerAccess(cuda_context peer, unsigned flags) {
  ENTER(true);
  const unsigned me = 1u << standin_context()->card->number;
  if (flags || !peer || peer == standin_context()) return standin_leave(CUDA_INVALID_VALUE);
  if (peer->card->peers & me) return standin_leave(CUDA_PEER_ALREADY_ENABLED);
  peer->card->peers |= me;
  memory_share(peer->card);
  return standin_leave(CUDA_OK);
}
