/* SPDX-License-Identifier: Apache-2.0
 * device.h: device discovery, device properties and memory options.
 *
 * Devices are discovered once, when they are first listed or a session is created, and stay until
 * situ_devices_reset. Listing neither opens a device nor allocates memory. A situ_device_config,
 * passed to situ_devices_configure or as part of a session's config, overrides the environment,
 * which overrides the defaults. After fork, a child that uses a GPU opened by its parent gets
 * FailedPrecondition.
 */
#ifndef SITU_DEVICE_H
#define SITU_DEVICE_H

#include "situ/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory limits of a device. All zero is the default: nearly all memory, allocated on first use.
 * If several limits are set, the first counts: limit_bytes, reserve_bytes, fraction. The
 * environment variable SITU_GPU_MEMORY supplies options that no config sets: "growth;limit=4GiB",
 * or per GPU "0:limit=2GiB,1:fraction=0.5". TF_FORCE_GPU_ALLOW_GROWTH=true or false overrides
 * `growth`. */
typedef struct situ_memory_config {
  uint64_t limit_bytes;   /* allocate at most this */
  uint64_t reserve_bytes; /* leave this free */
  double fraction;        /* allocate at most this fraction of the memory; at most 1 */
  bool growth;            /* allocate on demand; memory is kept until situ_device_trim */
  bool reference;         /* use TensorFlow's allocation strategy, equal to the byte */
} situ_memory_config;

/* Memory options of one device ("/gpu:1"); they override those for all GPUs. The first entry for a
 * device counts. */
typedef struct situ_device_memory {
  const char *device;
  situ_memory_config memory;
} situ_device_memory;

/* A virtual device: visible GPU `gpu` is split into one device per entry. Virtual devices are
 * numbered consecutively. */
typedef struct situ_virtual_device {
  int gpu;
  uint64_t limit_bytes;
} situ_virtual_device;

/* Selects and configures the devices of the process; zero members are defaults. */
typedef struct situ_device_config {
  const char *sim_gpus;        /* "4", "Tesla K40c@0000:05:00.0=12GiB"; NULL: SITU_SIM_GPUS */
  const char *visible_devices; /* "0,2"; NULL: SITU_VISIBLE_DEVICES, then CUDA_VISIBLE_DEVICES */
  const char *visible_device_list; /* "1,0": subset and order of the visible GPUs; NULL: all */
  const char *require;             /* "gpu", "gpu:2": fail if there are fewer; NULL: SITU_REQUIRE */
  int cpu_devices;                 /* 0: one; each session may have its own number */
  int gpu_devices;                 /* 0: all; n: the first n; SITU_NO_GPUS: none */
  situ_memory_config memory;       /* for every GPU */
  const situ_device_memory *device_memory; /* for individual devices */
  int n_device_memory;
  const situ_virtual_device *virtual_devices; /* in the order of their names */
  int n_virtual_devices;
} situ_device_config;

enum { SITU_NO_GPUS = -1 };

/* Properties of a device. Strings are borrowed until situ_devices_reset. */
typedef struct situ_device {
  const char *name;        /* "/job:localhost/replica:0/task:0/device:GPU:0" */
  const char *kind;        /* "CPU", "GPU" */
  const char *model;       /* "Tesla K40c" */
  const char *bus_id;      /* "0000:05:00.0"; "" if it has none */
  const char *description; /* "device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0"; CPU: "" */
  const char *backend;     /* "cpu", "sim" */
  const char *tested;      /* one line: how far the back end is tested */
  int index;               /* 0 for GPU:0 */
  int physical;            /* the index before visible_devices selects and reorders */
  uint64_t memory;         /* total bytes */
  bool has_half;           /* supports SITU_HALF; kernels of an unsupported type are */
  bool has_double;         /* supports SITU_DOUBLE; placed on other devices */
  int capability_major;    /* compute capability of an NVIDIA GPU: 7 for 7.5; */
  int capability_minor;    /* 0 for other devices */
} situ_device;

/* Memory statistics of a device in bytes. All but `limit` are 0 before the first allocation. */
typedef struct situ_memory_info {
  uint64_t current;      /* in use by tensors and running programs */
  uint64_t peak;         /* maximum of `current` */
  uint64_t reserved;     /* allocated from the device */
  uint64_t limit;        /* maximum of `reserved` */
  uint64_t largest_free; /* largest free block of the reserved memory */
  double clock;          /* simulated GPU: seconds on the virtual clock */
} situ_memory_info;

/* Configures the devices of the process. Several calls add up: zero members keep their value.
 * Memory options of a device may change while it holds no memory (also again after
 * situ_device_trim freed all). A change that comes too late is FailedPrecondition, whose message
 * has both settings, and changes nothing. */
SITU_API situ_status situ_devices_configure(const situ_device_config *config) SITU_MUST_USE;

/* Gets the number of devices; discovers them on the first call. */
SITU_API situ_status situ_devices_count(int *count) SITU_MUST_USE;

/* Describes device 0 <= number < count: CPUs first, then GPUs. */
SITU_API situ_status situ_devices_get(int number, situ_device *out) SITU_MUST_USE;

/* Writes why there are not more GPUs: for each back end without devices and each option that hides
 * GPUs, a newline and the reason. The text is cut if it does not fit. */
SITU_API situ_status situ_devices_missing_gpus(char *out, size_t size) SITU_MUST_USE;

/* Finds the number of a device by name ("/gpu:0", "GPU:0", a full name). NotFound lists the devices
 * that exist. */
SITU_API situ_status situ_devices_find(const char *name, int *number) SITU_MUST_USE;

/* Gets the memory statistics of a device without opening it. Fails if its memory options cannot be
 * satisfied. */
SITU_API situ_status situ_device_memory_info(int number, situ_memory_info *out) SITU_MUST_USE;

/* Resets `peak` to `current`. */
SITU_API situ_status situ_device_reset_peak(int number) SITU_MUST_USE;

/* Returns unused reserved memory to the device; *bytes (may be NULL) is set to how much. */
SITU_API situ_status situ_device_trim(int number, uint64_t *bytes) SITU_MUST_USE;

/* Writes the memory regions, their blocks with owners, and recent allocation events of a device as
 * JSON. */
SITU_API situ_status situ_device_memory_report(int number, FILE *stream) SITU_MUST_USE;

/* Closes all sessions and moves all tensors to host memory, so that situ_devices_reset can follow;
 * for tests that each configure their own devices. FailedPrecondition during a run. Tensors of a
 * device that failed are filled with set bits (NaN). */
SITU_API situ_status situ_devices_evacuate(void) SITU_MUST_USE;

/* Closes all devices, frees their memory and clears the configuration; the next use discovers the
 * devices again. FailedPrecondition while a session or a tensor on a device exists. */
SITU_API situ_status situ_devices_reset(void) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
