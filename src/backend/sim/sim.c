/* SPDX-License-Identifier: Apache-2.0
 * sim.c: simulated GPUs: devices on the host with separate memory, queues and a worker thread each,
 * so that programs for several GPUs run and are tested on any machine.
 *
 * A region is an opaque handle that only its own device resolves. Memory is mapped with
 * MAP_NORESERVE: a simulated GPU of 12 GiB uses only what is written to it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/sim/spec.h"
#include "base/huge_pages.h"
#include "host/call.h"
#include "host/worker.h"

/* A simulated GPU, independent of open handles: virtual devices share it. */
struct sim_gpu {
  struct sim_spec spec;
  uint64_t used;   /* bytes allocated */
  int64_t kernels; /* number run, for lost_after */
  bool is_lost;
};

struct sim_region {
  struct sim_region *next;
  void *base;
  size_t bytes;
};

/* An open device. Mutable members are guarded by worker_lock. */
struct sim {
  struct sim_gpu *gpu;
  char label[128]; /* for errors: physical index, model and bus id */
  struct sim_region *regions;
  struct worker worker;
};

static struct sim_gpu gpus[SIM_MAX];
static int n_gpus;

static situ_status sim_probe(const struct backend_request *request, int *count, const char **why) {
  *count = 0;
  *why = "none are configured (SITU_SIM_GPUS, --gpus, or the config)";
  struct sim_spec specs[SIM_MAX];
  TRY(sim_spec_parse(request->sim_gpus, specs, &n_gpus));
  for (int i = 0; i < n_gpus; i++) gpus[i] = (struct sim_gpu){.spec = specs[i]};
  worker_reset_clock();
  *count = n_gpus;
  return NULL;
}

static situ_status check_index(int index) {
  if (index >= 0 && index < n_gpus) return NULL;
  return INVALID("There is no simulated GPU %d: there are %d.", index, n_gpus);
}

static situ_status sim_describe(int index, struct device_info *out) {
  TRY(check_index(index));
  const struct sim_spec *spec = &gpus[index].spec;
  *out = (struct device_info){.memory = spec->memory,
                              .capability_major = 3,
                              .capability_minor = 5,
                              .has_half = true,
                              .has_double = true,
                              .fail_alloc = spec->fail_alloc};
  snprintf(out->model, sizeof out->model, "%s", spec->model);
  snprintf(out->bus_id, sizeof out->bus_id, "%s", spec->bus_id);
  snprintf(out->uuid, sizeof out->uuid, "GPU-51710000-0000-4000-8000-%012x", index);
  return NULL;
}

static void unmap_region(struct sim_region *region) {
  munmap(region->base, region->bytes ? region->bytes : 1);
  free(region);
}

/* ---- Worker ---- */

/* Returns the error of a lost device; NULL if it works. Must hold the lock. */
static situ_status get_lost_status(const void *device) {
  const struct sim *sim = device;
  if (!sim->gpu->is_lost) return NULL;
  return situ_status_create(SITU_UNAVAILABLE, "%s is lost: lost_after=%lld was injected.",
                            sim->label, (long long)sim->gpu->spec.lost_after);
}

/* Counts kernels before they run, and loses the GPU after lost_after of them. */
static void count_kernel(void *device, const struct work *work) {
  struct sim_gpu *gpu = ((struct sim *)device)->gpu;
  if (work->kind != WORK_CALL) return;
  gpu->kernels++;
  if (gpu->spec.lost_after > 0 && gpu->kernels > gpu->spec.lost_after) gpu->is_lost = true;
}

static void run_call(struct bound_kernel *bound) {
  thread_pool_enter();
  const situ_status status = host_run((struct host_call *)bound);
  thread_pool_leave();
  if (status) worker_fail(bound, status);
}

static void run_work(void *device, int queue, const struct work *work) {
  (void)device;
  (void)queue;
  if (work->kind == WORK_CALL)
    run_call(work->bound);
  else
    memmove(work->to.region, work->from.region, work->bytes);
}

static const struct worker_owner owner = {
    .begin = count_kernel, .lost = get_lost_status, .run = run_work};

static void sim_close(void *device) {
  struct sim *sim = device;
  worker_stop(&sim->worker);
  while (sim->regions) {
    struct sim_region *region = sim->regions;
    sim->regions = region->next;
    pthread_mutex_lock(&worker_lock);
    sim->gpu->used -= region->bytes;
    pthread_mutex_unlock(&worker_lock);
    unmap_region(region);
  }
  free(sim);
}

static situ_status sim_open(int index, void **device) {
  TRY(check_index(index));
  struct sim *sim = calloc(1, sizeof *sim);
  if (!sim) return NO_MEMORY();
  sim->gpu = &gpus[index];
  snprintf(sim->label, sizeof sim->label, "Simulated GPU %d (%s, %s)", index, sim->gpu->spec.model,
           sim->gpu->spec.bus_id);
  const situ_status status = worker_start(&sim->worker, &owner, sim, sim->label);
  if (status) {
    sim_close(sim);
    return status;
  }
  *device = sim;
  return NULL;
}

/* ---- Memory ---- */

/* Checks that `bytes` more bytes fit into the memory. Must hold the lock. */
static situ_status check_available(const struct sim *sim, size_t bytes) {
  TRY(get_lost_status(sim));
  const uint64_t left = sim->gpu->spec.memory - sim->gpu->used;
  if (bytes <= left) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s has %llu bytes free, not %llu.",
                            sim->label, (unsigned long long)left, (unsigned long long)bytes);
}

static situ_status map_region(struct sim_region *region, size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  region->base = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
  region->bytes = bytes;
  if (region->base == MAP_FAILED) return NO_MEMORY();
  huge_pages_advise(region->base, bytes);
  return NULL;
}

static situ_status sim_alloc(void *device, size_t bytes, void **out) {
  struct sim *sim = device;
  struct sim_region *region = calloc(1, sizeof *region);
  if (!region) return NO_MEMORY();
  pthread_mutex_lock(&worker_lock);
  situ_status status = check_available(sim, bytes);
  if (!status) status = map_region(region, bytes);
  if (!status) {
    region->next = sim->regions;
    sim->regions = region;
    sim->gpu->used += bytes;
    *out = region;
  }
  pthread_mutex_unlock(&worker_lock);
  if (status) free(region);
  return status;
}

static void sim_free(void *device, void *handle) {
  struct sim *sim = device;
  pthread_mutex_lock(&worker_lock);
  struct sim_region **link = &sim->regions;
  while (*link && *link != handle) link = &(*link)->next;
  struct sim_region *region = *link;
  if (region) {
    *link = region->next;
    sim->gpu->used -= region->bytes;
  }
  pthread_mutex_unlock(&worker_lock);
  if (region) unmap_region(region);
}

static situ_status sim_available(void *device, uint64_t *free_bytes) {
  const struct sim *sim = device;
  pthread_mutex_lock(&worker_lock);
  *free_bytes = sim->gpu->spec.memory - sim->gpu->used;
  const situ_status status = get_lost_status(sim);
  pthread_mutex_unlock(&worker_lock);
  return status;
}

/* Returns the address of `bytes` bytes of the device; NULL if they are not inside a region. */
static void *find_address(const struct sim *sim, struct span span, size_t bytes) {
  pthread_mutex_lock(&worker_lock);
  const struct sim_region *region = sim->regions;
  while (region && region != span.region) region = region->next;
  const bool is_inside =
      region && span.offset <= region->bytes && bytes <= region->bytes - span.offset;
  void *address = is_inside ? (char *)region->base + span.offset : NULL;
  pthread_mutex_unlock(&worker_lock);
  return address;
}

static void *translate(void *device, struct span span) { return find_address(device, span, 0); }

/* ---- Copies ---- */

/* Enqueues a copy between addresses; NULL is an invalid address. */
static situ_status queue_copy(struct sim *sim, int queue, void *to, const void *from, size_t bytes,
                              double speed) {
  if (!bytes) return NULL;
  if (!to || !from)
    return INTERNAL("A copy of %zu bytes on %s uses memory that does not belong to it.", bytes,
                    sim->label);
  return worker_enqueue(&sim->worker, queue,
                        &(struct work){.kind = WORK_COPY,
                                       .to = {.region = to},
                                       .from = {.region = (void *)(uintptr_t)from},
                                       .bytes = bytes,
                                       .seconds = speed > 0 ? (double)bytes / speed : 0});
}

static situ_status sim_write(void *device, int queue, struct span to, const void *from,
                             size_t bytes) {
  struct sim *sim = device;
  return queue_copy(sim, queue, find_address(sim, to, bytes), from, bytes, sim->gpu->spec.link);
}

static situ_status sim_read(void *device, int queue, void *to, struct span from, size_t bytes) {
  struct sim *sim = device;
  return queue_copy(sim, queue, to, find_address(sim, from, bytes), bytes, sim->gpu->spec.link);
}

/* Half the bandwidth, since every byte is read and written. */
static situ_status sim_copy(void *device, int queue, struct span to, struct span from,
                            size_t bytes) {
  struct sim *sim = device;
  return queue_copy(sim, queue, find_address(sim, to, bytes), find_address(sim, from, bytes), bytes,
                    sim->gpu->spec.bandwidth / 2);
}

/* Returns the slower of two links; 0 is infinitely fast. */
static double slower(double a, double b) {
  if (a <= 0 || b <= 0) return a > b ? a : b;
  return a < b ? a : b;
}

static situ_status sim_peer(void *device, int queue, struct span to, void *from_device,
                            struct span from, size_t bytes) {
  struct sim *sim = device;
  const struct sim *other = from_device;
  return queue_copy(sim, queue, find_address(sim, to, bytes), find_address(other, from, bytes),
                    bytes, slower(sim->gpu->spec.link, other->gpu->spec.link));
}

/* ---- Kernels ---- */

static situ_status sim_bind(void *device, const struct launch *launch, const struct span *slots,
                            struct arena *arena, struct bound_kernel **out) {
  return host_bind(device, translate, launch, slots, arena, out);
}

static situ_status sim_rebind(void *device, struct bound_kernel *bound, int arg, struct span span) {
  return host_rebind(device, translate, bound, arg, span);
}

/* Roofline model: the maximum of arithmetic time and memory time. */
static double launch_seconds(const struct sim *sim, const struct launch *launch) {
  const double compute = sim->gpu->spec.flops > 0 ? launch->flops / sim->gpu->spec.flops : 0;
  const double memory = sim->gpu->spec.bandwidth > 0 ? launch->bytes / sim->gpu->spec.bandwidth : 0;
  return compute > memory ? compute : memory;
}

static situ_status sim_launch(void *device, int queue, struct bound_kernel *bound) {
  struct sim *sim = device;
  return worker_enqueue(
      &sim->worker, queue,
      &(struct work){
          .kind = WORK_CALL, .bound = bound, .seconds = launch_seconds(sim, bound->launch)});
}

/* ---- Queues ---- */

static situ_status sim_mark(void *device, int queue, uint64_t *mark) {
  *mark = worker_mark(&((struct sim *)device)->worker, queue);
  return NULL;
}

static situ_status sim_wait(void *device, int queue, void *on_device, int on_queue, uint64_t mark) {
  return worker_wait(&((struct sim *)device)->worker, queue, &((struct sim *)on_device)->worker,
                     on_queue, mark);
}

static situ_status sim_sync(void *device, int queue, uint64_t mark) {
  return worker_sync(&((struct sim *)device)->worker, queue, mark);
}

static bool sim_reach(void *device, int queue, uint64_t mark, double seconds) {
  return worker_sync_timeout(&((struct sim *)device)->worker, queue, mark, seconds);
}

static situ_status sim_stamp(void *device, int queue, int64_t *at) {
  return worker_stamp(&((struct sim *)device)->worker, queue, at);
}

static double sim_clock(void *device) { return worker_clock(&((struct sim *)device)->worker); }

const struct backend sim_backend = {
    .name = "sim",
    .kind = "GPU",
    .tested = "every op, in every test run",
    .probe = sim_probe,
    .describe = sim_describe,
    .open = sim_open,
    .close = sim_close,
    .alloc = sim_alloc,
    .free = sim_free,
    .available = sim_available,
    .write = sim_write,
    .read = sim_read,
    .copy = sim_copy,
    .peer = sim_peer,
    .bind = sim_bind,
    .rebind = sim_rebind,
    .launch = sim_launch,
    .mark = sim_mark,
    .wait = sim_wait,
    .sync = sim_sync,
    .reach = sim_reach,
    .stamp = sim_stamp,
    .clock = sim_clock,
};
