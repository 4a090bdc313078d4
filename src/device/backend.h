/* SPDX-License-Identifier: Apache-2.0
 * backend.h: the interface of a back end: one struct of functions.
 *
 * Above this line memory is a handle (a region and an offset), never an address: only the back end
 * can turn a handle into something that a kernel reads, and it refuses a handle of another device.
 * A kernel is called in two steps: `bind` prepares a call once, when a program is made (translates
 * handles, looks up or compiles the kernel); `launch` queues the prepared call, in every step.
 * Listing devices (probe, describe) opens nothing and takes no memory.
 */
#ifndef SITU_DEVICE_BACKEND_H
#define SITU_DEVICE_BACKEND_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/base.h"
#include "situ/tensor.h"

/* A place in a device's memory. A region is what `alloc` gave; it cannot be added to. */
struct span {
  void *region;
  size_t offset;
};

/* What a host kernel gets: eight bytes an argument. */
union arg {
  void *pointer;
  int64_t integer;
  double real;
};

/* A kernel as C: does the work items begin <= i < end. NULL is success. */
typedef situ_status host_kernel(const union arg *args, int64_t begin, int64_t end);

enum { MAX_TYPES = 24 }; /* more than the largest number in SITU_TYPES */

/* A kernel in all its element types; static data of ops/. Back ends that compile kernels at run
 * time take the text: the dialect of the back end in front (kernel/dialect.md), then the file's. */
struct kernel {
  const char *name;
  const char *file;             /* with its text, in kernel_sources: "ops/math/cast.cl" */
  const char *text;             /* of a kernel that is in none of these files; else NULL */
  bool bits;                    /* only moves elements: one form for each size of element */
  host_kernel *host[MAX_TYPES]; /* by situ_type; NULL where the type makes no sense */
};

/* The text of a kernel file, with what it includes. */
struct kernel_source {
  const char *file, *text;
};

/* All of them, ending in NULL, and the words that stand in front of them, "kernel/opencl.h"; made
 * by tools/embed.py. */
extern const struct kernel_source kernel_sources[];

enum arg_kind { ARG_SLOT, ARG_INTEGER, ARG_REAL };

/* An argument of a recorded call. Memory is named by slot: the number of a value in its program, so
 * that a recording serves every run whatever the addresses are. */
struct launch_arg {
  enum arg_kind kind;
  int32_t slot;
  union {
    int64_t offset; /* of a slot, in bytes */
    int64_t integer;
    double real;
  };
};

/* A recorded call of a kernel. */
struct launch {
  const struct kernel *kernel;
  situ_type type;
  int32_t n_args;
  int64_t items; /* work items */
  int64_t lanes; /* of each on a GPU, where several share the work of one; 0: it has none */
  int64_t grain; /* fewest items worth a thread of their own; 0: never split */
  double flops;  /* cost, for the virtual clock; bytes are what the arguments span */
  double bytes;
  double peer_bytes; /* of them, in memory of other devices; 0: no argument is there */
  uint32_t each;     /* bit i: argument i has an element for each item, and the kernel touches no
                        other for that item; 0: the kernel is not element-wise */
  const char *node;  /* who asked, for errors; borrowed */
  struct launch_arg *args;
};

/* Work-groups of GROUP_ITEMS items each that a GPU starts for a launch. */
enum { GROUP_ITEMS = 256 };
static inline int64_t launch_groups(const struct launch *launch) {
  return (launch->items * (launch->lanes ? launch->lanes : 1) - 1) / GROUP_ITEMS + 1;
}

/* A call prepared by a back end; what it holds behind this head is the back end's. Whoever bound it
 * sets `error`, which belongs to the run: a kernel that fails while it runs puts its status there
 * (the first one stays), and the device goes on; but with Cancelled or DeadlineExceeded there it
 * leaves out the kernels of the run that it has not begun. Where kernels run in the caller's thread
 * `launch` returns that status instead. */
struct bound_kernel {
  const struct launch *launch;
  _Atomic(situ_status) *error;
};

enum queue { QUEUE_COMPUTE, QUEUE_IN, QUEUE_OUT, N_QUEUES };

/* What is known of a device without opening it. */
struct device_info {
  char model[64];  /* "Tesla K40c" */
  char bus_id[32]; /* "0000:05:00.0"; "" where there is none */
  char unit[64];   /* a UUID, or "" */
  uint64_t memory; /* bytes in all */
  int capability_major, capability_minor;
  bool has_half, has_double;
  size_t align;       /* what kernels get begins at a multiple of this; 0: of 256 bytes */
  int64_t fail_alloc; /* a fault to inject: allocation number N of its memory fails; 0: none */
};

/* Where a back end's devices come from; texts are NULL where nobody said anything. */
struct backend_request {
  const char *sim_gpus;
  const char *opencl_devices;
  int cpu_devices;
};

/* Sums over several devices of a back end by a library of their maker's. A communicator belongs to
 * the back end, which closes it with the first of its devices. */
struct comm {
  /* Whether the library is there and adds numbers of the type. */
  bool (*supports)(situ_type type);
  /* The communicator of open devices, each of them once. */
  situ_status (*open)(void *const *devices, int n, void **comm);
  /* Queues on every device: the `count` numbers at to[i] become the sum of those at all `from`, in
   * the library's order. to[i] may be from[i]. */
  situ_status (*all_reduce)(void *comm, int queue, const struct span *from, const struct span *to,
                            int64_t count, situ_type type);
};

struct backend {
  const char *name;   /* "sim" */
  const char *kind;   /* "GPU": the word in /device:GPU:0 */
  const char *tested; /* one line for `situ devices`: how far this back end is tested */
  bool is_host;       /* regions are host memory and bound calls are struct host_call: runs in the
                         caller's thread */
  bool applies_visible_devices; /* its driver has applied CUDA_VISIBLE_DEVICES already */
  bool fuses_updates; /* runs host kernels, which reach the memory of all its devices: the planner
                         may join calls (host/fused_update.h), and set peer_bytes */

  /* How many devices there are; asked while none is open. None is a count of 0, not an error; `why`
   * (a static text) then says why, or is NULL where nobody would ask. */
  situ_status (*probe)(const struct backend_request *request, int *count, const char **why);
  situ_status (*describe)(int index, struct device_info *out);
  situ_status (*open)(int index, void **device);
  void (*close)(void *device);

  /* Large regions, aligned to 256 bytes at least; device/memory.c cuts them up. ResourceExhausted
   * when there is no memory; anything else says that the device is in trouble. `available` may be
   * NULL: all is free then. */
  situ_status (*alloc)(void *device, size_t bytes, void **region);
  void (*free)(void *device, void *region);
  situ_status (*available)(void *device, uint64_t *free_bytes);

  /* Copies, queued. `read` and `write` see host memory; it must stay until the queue has passed.
   * `peer` copies from another device of the same back end; it may be NULL: the copy then goes
   * through the host. Copies of 0 bytes do nothing. */
  situ_status (*write)(void *device, int queue, struct span to, const void *from, size_t bytes);
  situ_status (*read)(void *device, int queue, void *to, struct span from, size_t bytes);
  situ_status (*copy)(void *device, int queue, struct span to, struct span from, size_t bytes);
  situ_status (*peer)(void *device, int queue, struct span to, void *from_device, struct span from,
                      size_t bytes);

  /* Prepared calls. `slots[i]` is the memory of slot i (zero for a value without elements); what is
   * prepared lives in the arena. Memory of another device is an Internal error. `rebind` gives the
   * slot of an argument another memory. */
  situ_status (*bind)(void *device, const struct launch *launch, const struct span *slots,
                      struct arena *arena, struct bound_kernel **out);
  situ_status (*rebind)(void *device, struct bound_kernel *bound, int arg, struct span span);
  void (*unbind)(void *device, struct bound_kernel *bound); /* NULL: nothing to give back */
  situ_status (*launch)(void *device, int queue, struct bound_kernel *bound);

  /* A mark is a number that a queue reaches when all that was queued before is done. `wait` makes a
   * queue wait for a mark of another device of the same back end; `sync` blocks the caller, and
   * fails where the device failed as a whole (a kernel's own failure is in `error`). A device that
   * is lost reaches its marks all the same, so that nobody waits for ever. */
  situ_status (*mark)(void *device, int queue, uint64_t *mark);
  situ_status (*wait)(void *device, int queue, void *on_device, int on_queue, uint64_t mark);
  situ_status (*sync)(void *device, int queue, uint64_t mark);

  /* Both may be NULL. `reach` waits at most so many seconds, and says whether the queue has reached
   * the mark. `stamp` writes the time, as trace_now (base/trace.h), when the queue comes by. */
  bool (*reach)(void *device, int queue, uint64_t mark, double seconds);
  situ_status (*stamp)(void *device, int queue, int64_t *at);

  /* When all that was queued ends, in seconds on the virtual clock of a simulated device; NULL
   * elsewhere. */
  double (*clock)(void *device);

  const struct comm *comm; /* NULL: it has none */
};

/* All back ends in the order of the device list, ending in NULL; defined by backend/backends.c. */
extern const struct backend *const backends[];

#endif
