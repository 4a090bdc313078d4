/* SPDX-License-Identifier: Apache-2.0
 * device.h: which devices there are, what is known of them, and their memory.
 *
 * Devices are found once, when they are first listed or a session is created, and stay until
 * situ_devices_reset. Listing opens no device and takes no memory. What can be said about devices
 * is said in a situ_device_config: as part of a session's config, or beforehand with
 * situ_devices_configure; the environment comes before the defaults. A child of fork cannot use a
 * GPU that its parent had opened: it gets FailedPrecondition.
 */
#ifndef SITU_DEVICE_H
#define SITU_DEVICE_H

#include "situ/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How much memory of a device may be taken. Zero is the default: nearly all of it, taken at once on
 * first use. Of the bounds the first that is set counts: limit, reserve, fraction. SITU_GPU_MEMORY
 * says the same for what no config says: "growth;limit=4GiB", or by the number of the GPU
 * "0:limit=2GiB,1:fraction=0.5"; TF_FORCE_GPU_ALLOW_GROWTH=true or false overrides `growth`. */
typedef struct situ_memory_config {
  uint64_t limit_bytes;   /* at most that many */
  uint64_t reserve_bytes; /* leave that many free */
  double fraction;        /* that part of the whole memory: 0.4; at most 1 */
  bool growth;            /* begin small and grow; what was taken is kept until situ_device_trim */
  bool reference;         /* allocate as TensorFlow does, to the byte */
} situ_memory_config;

/* Memory of one device: a name such as "/gpu:1", and its options, which come before those for all.
 * Of two entries for one device the first counts. */
typedef struct situ_device_memory {
  const char *device;
  situ_memory_config memory;
} situ_device_memory;

/* GPUs cut in pieces: the visible GPU `gpu` becomes one device for each limit, numbered on. */
typedef struct situ_virtual_device {
  int gpu;
  uint64_t limit_bytes;
} situ_virtual_device;

/* What devices a process uses; zero is the default of everything. */
typedef struct situ_device_config {
  const char *sim_gpus;        /* "4", "Tesla K40c@0000:05:00.0=12GiB"; NULL: SITU_SIM_GPUS */
  const char *visible_devices; /* "0,2"; NULL: SITU_VISIBLE_DEVICES, then CUDA_VISIBLE_DEVICES */
  const char *visible_device_list; /* "1,0": those to use of the visible GPUs; NULL: all */
  const char *require;             /* "gpu", "gpu:2": fail if there are fewer; NULL: SITU_REQUIRE */
  int cpu_devices;                 /* 0: one */
  int gpu_devices;                 /* 0: all; n: the first n; SITU_NO_GPUS: none */
  situ_memory_config memory;       /* of every GPU */
  const situ_device_memory *device_memory; /* of single ones */
  int n_device_memory;
  const situ_virtual_device *virtual_devices; /* in the order of their GPUs */
  int n_virtual_devices;
} situ_device_config;

enum { SITU_NO_GPUS = -1 };

/* What is known of a device without opening it. Texts are borrowed until situ_devices_reset. */
typedef struct situ_device {
  const char *name;        /* "/job:localhost/replica:0/task:0/device:GPU:0" */
  const char *kind;        /* "CPU", "GPU" */
  const char *model;       /* "Tesla K40c" */
  const char *bus_id;      /* "0000:05:00.0"; "" where there is none */
  const char *description; /* "device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0"; CPU: "" */
  const char *backend;     /* "cpu", "sim" */
  const char *tested;      /* how far that back end is tested, in a line */
  int index;               /* 0 of GPU:0 */
  int physical;            /* its number before visibility */
  uint64_t memory;         /* bytes in all */
  bool has_half;           /* computes with SITU_HALF: kernels of types that a device lacks */
  bool has_double;         /* ... SITU_DOUBLE: go to other devices */
  int capability_major;    /* the compute capability of an NVIDIA GPU: 7 of 7.5; */
  int capability_minor;    /* 0 elsewhere */
} situ_device;

/* Memory of a device in bytes. All but `limit` are 0 while nothing was ever taken. */
typedef struct situ_memory_info {
  uint64_t current;      /* in use by tensors and running programs */
  uint64_t peak;         /* the most that was in use */
  uint64_t reserved;     /* taken from the device */
  uint64_t limit;        /* the most that may be taken */
  uint64_t largest_free; /* largest piece of what is reserved that is free */
  double clock;          /* seconds on the virtual clock of a simulated GPU */
} situ_memory_info;

/* Says which devices this process uses. Options may come in several calls: what a call leaves at
 * zero stays as it was. Those of memory may change until the device holds memory (also after
 * situ_device_trim took it all back); what can no longer be changed is FailedPrecondition, naming
 * both settings, and then nothing changes. */
SITU_API situ_status situ_devices_configure(const situ_device_config *config) SITU_MUST_USE;

/* The number of devices. Finds them if that has not been done. */
SITU_API situ_status situ_devices_count(int *count) SITU_MUST_USE;

/* Device 0 <= number < count: CPUs first, then GPUs. */
SITU_API situ_status situ_devices_get(int number, situ_device *out) SITU_MUST_USE;

/* The number of the device that a name ("/gpu:0", "GPU:0", a full name) means; NotFound lists what
 * there is. */
SITU_API situ_status situ_devices_find(const char *name, int *number) SITU_MUST_USE;

/* The memory figures of a device. Opens nothing; fails where its memory options cannot be met. */
SITU_API situ_status situ_device_memory_info(int number, situ_memory_info *out) SITU_MUST_USE;

/* Lets `peak` begin again at what is in use now. */
SITU_API situ_status situ_device_reset_peak(int number) SITU_MUST_USE;

/* Gives memory of which nothing is in use back to the device; *bytes (may be NULL) gets how much.
 */
SITU_API situ_status situ_device_trim(int number, uint64_t *bytes) SITU_MUST_USE;

/* Regions, pieces with their holders, and recent events of a device, as JSON. */
SITU_API situ_status situ_device_memory_report(int number, FILE *stream) SITU_MUST_USE;

/* Closes every session and moves what tensors hold on devices to host memory, so that
 * situ_devices_reset can follow: for tests, each of which wants devices of its own.
 * FailedPrecondition while something runs. Elements that went with their device are not numbers
 * afterwards (all bits set). */
SITU_API situ_status situ_devices_evacuate(void) SITU_MUST_USE;

/* Closes all devices, gives all their memory back and forgets the configuration, so that the next
 * use finds devices anew. FailedPrecondition while a session or a tensor on a device is alive. */
SITU_API situ_status situ_devices_reset(void) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
