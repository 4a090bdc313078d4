/* SPDX-License-Identifier: Apache-2.0
 * sim.c: simulated GPUs: devices with memory, queues and a worker of their own on the host, so that programs for many GPUs
 * run, and are tested, anywhere.
 *
 * A region is a handle, not an address: only the device that made it can turn it into one. Memory is mapped without
 * being reserved, so a simulated GPU of 12 GiB costs what is written to it. */
#include "backend/sim/sim.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "host/call.h"

/* What the devices of the process share by number, whatever handles are open: virtual devices share a memory. */
static struct sim_spec specs[SIM_MAX];
static int n_specs;
static uint64_t used[SIM_MAX];
static int64_t allocations[SIM_MAX];

static situ_status sim_probe(const struct backend_request *request, int *count, const char **why) {
  *count = 0;
  *why = "none were asked for (SITU_SIM_GPUS, --gpus, or the config)";
  if (!request->sim_gpus || !*request->sim_gpus) return NULL;
  TRY(sim_spec_parse(request->sim_gpus, specs, &n_specs));
  for (int i = 0; i < SIM_MAX; i++) used[i] = 0, allocations[i] = 0;
  *count = n_specs;
  return NULL;
}

static situ_status sim_describe(int index, struct device_info *out) {
  const struct sim_spec *spec = &specs[index];
  *out = (struct device_info){.memory = spec->memory,
                              .capability_major = 3,
                              .capability_minor = 5,
                              .has_half = true,
                              .has_double = true};
  snprintf(out->model, sizeof out->model, "%s", spec->model);
  snprintf(out->bus_id, sizeof out->bus_id, "%s", spec->bus_id);
  snprintf(out->unit, sizeof out->unit, "GPU-51710000-0000-4000-8000-%012x", index);
  return NULL;
}

static void sim_close(void *device) {
  struct sim *sim = device;
  worker_stop(sim);
  for (int i = 0; i < N_QUEUES; i++) free(sim->queues[i].commands);
  pthread_cond_destroy(&sim->wake);
  free(sim);
}

static situ_status sim_open(int index, void **device) {
  struct sim *sim = calloc(1, sizeof *sim);
  if (!sim) return NO_MEMORY();
  sim->spec = specs[index];
  sim->index = index;
  pthread_cond_init(&sim->wake, NULL);
  const situ_status status = worker_start(sim);
  if (status) {
    sim_close(sim);
    return status;
  }
  *device = sim;
  return NULL;
}

/* Whether the device may give that many bytes more; called with the lock. */
static situ_status admit(const struct sim *sim, size_t bytes) {
  const int64_t number = ++allocations[sim->index];
  if (sim->spec.fail_alloc > 0 && number == sim->spec.fail_alloc)
    return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                              "Allocation %lld of simulated GPU %d fails: fail_alloc was injected.",
                              (long long)number, sim->index);
  if (bytes > sim->spec.memory - used[sim->index])
    return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                              "Simulated GPU %d has %llu bytes free, not %llu.", sim->index,
                              (unsigned long long)(sim->spec.memory - used[sim->index]),
                              (unsigned long long)bytes);
  return NULL;
}

static situ_status sim_alloc(void *device, size_t bytes, void **out) {
  struct sim *sim = device;
  struct sim_region *region = calloc(1, sizeof *region);
  if (!region) return NO_MEMORY();
  pthread_mutex_lock(&sim_lock);
  situ_status status = admit(sim, bytes);
  if (!status) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    region->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (region->base == MAP_FAILED) status = NO_MEMORY();
  }
  if (!status) {
    region->bytes = bytes;
    region->next = sim->regions;
    sim->regions = region;
    used[sim->index] += bytes;
    *out = region;
  }
  pthread_mutex_unlock(&sim_lock);
  if (status) free(region);
  return status;
}

static void sim_free(void *device, void *handle) {
  struct sim *sim = device;
  pthread_mutex_lock(&sim_lock);
  struct sim_region **link = &sim->regions;
  while (*link && *link != handle) link = &(*link)->next;
  struct sim_region *region = *link;
  if (region) {
    *link = region->next;
    used[sim->index] -= region->bytes;
  }
  pthread_mutex_unlock(&sim_lock);
  if (!region) return;
  munmap(region->base, region->bytes);
  free(region);
}

static situ_status sim_available(void *device, uint64_t *free_bytes) {
  const struct sim *sim = device;
  pthread_mutex_lock(&sim_lock);
  *free_bytes = sim->spec.memory - used[sim->index];
  pthread_mutex_unlock(&sim_lock);
  return NULL;
}

void *sim_address(void *device, struct span span) {
  const struct sim *sim = device;
  pthread_mutex_lock(&sim_lock);
  const struct sim_region *region = sim->regions;
  while (region && region != span.region) region = region->next;
  pthread_mutex_unlock(&sim_lock);
  return region && span.offset <= region->bytes ? (char *)region->base + span.offset : NULL;
}

static situ_status foreign(const struct sim *sim) {
  return INTERNAL("A copy on simulated GPU %d names memory of another device.", sim->index);
}

/* Queues a copy between addresses; NULL is an address that was refused. */
static situ_status queue_copy(struct sim *sim, int queue, void *to, const void *from, size_t bytes,
                              double speed) {
  if (!to || !from) return foreign(sim);
  return worker_queue(sim, queue,
                      &(struct command){.kind = COMMAND_COPY,
                                        .to = to,
                                        .from = from,
                                        .bytes = bytes,
                                        .seconds = speed > 0 ? (double)bytes / speed : 0});
}

static situ_status sim_write(void *device, int queue, struct span to, const void *from,
                             size_t bytes) {
  struct sim *sim = device;
  return queue_copy(sim, queue, sim_address(sim, to), from, bytes, sim->spec.link);
}

static situ_status sim_read(void *device, int queue, void *to, struct span from, size_t bytes) {
  struct sim *sim = device;
  return queue_copy(sim, queue, to, sim_address(sim, from), bytes, sim->spec.link);
}

static situ_status sim_copy(void *device, int queue, struct span to, struct span from,
                            size_t bytes) {
  struct sim *sim = device;
  return queue_copy(sim, queue, sim_address(sim, to), sim_address(sim, from), bytes,
                    sim->spec.bandwidth / 2);
}

static situ_status sim_peer(void *device, int queue, struct span to, void *from_device,
                            struct span from, size_t bytes) {
  struct sim *sim = device;
  return queue_copy(sim, queue, sim_address(sim, to), sim_address(from_device, from), bytes,
                    sim->spec.link);
}

static situ_status sim_bind(void *device, const struct launch *launch, const struct span *slots,
                            struct arena *arena, struct bound **out) {
  return host_bind(device, sim_address, launch, slots, arena, out);
}

static situ_status sim_rebind(void *device, struct bound *bound, int arg, struct span span) {
  return host_rebind(device, sim_address, bound, arg, span);
}

/* A kernel takes as long as its arithmetic or its memory traffic, whichever is longer. */
static double launch_seconds(const struct sim *sim, const struct launch *launch) {
  const double compute = sim->spec.flops > 0 ? launch->flops / sim->spec.flops : 0;
  const double memory = sim->spec.bandwidth > 0 ? launch->bytes / sim->spec.bandwidth : 0;
  return compute > memory ? compute : memory;
}

static situ_status sim_launch(void *device, int queue, struct bound *bound) {
  struct sim *sim = device;
  return worker_queue(sim, queue,
                      &(struct command){.kind = COMMAND_LAUNCH,
                                        .bound = bound,
                                        .seconds = launch_seconds(sim, bound->launch)});
}

static situ_status sim_mark(void *device, int queue, uint64_t *mark) {
  const struct sim *sim = device;
  pthread_mutex_lock(&sim_lock);
  *mark = sim->queues[queue].queued;
  pthread_mutex_unlock(&sim_lock);
  return NULL;
}

static situ_status sim_wait(void *device, int queue, void *on_device, int on_queue, uint64_t mark) {
  return worker_queue(device, queue,
                      &(struct command){.kind = COMMAND_WAIT,
                                        .on = on_device,
                                        .on_queue = on_queue,
                                        .mark = mark});
}

static situ_status sim_sync(void *device, int queue, uint64_t mark) {
  return worker_sync(device, queue, mark);
}

static double sim_clock(void *device) {
  const struct sim *sim = device;
  double latest = 0;
  pthread_mutex_lock(&sim_lock);
  for (int i = 0; i < N_QUEUES; i++)
    if (sim->queues[i].clock > latest) latest = sim->queues[i].clock;
  pthread_mutex_unlock(&sim_lock);
  return latest;
}

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
    .clock = sim_clock,
};
