/* SPDX-License-Identifier: Apache-2.0
 * fleet.c: fake devices, which have names only. */
#include "support/fleet.h"

#include <stdio.h>

static const struct backend host = {.name = "cpu", .kind = "CPU", .is_host = true};
static const struct backend other = {.name = "sim", .kind = "GPU"};

void fleet_create(struct fleet *fleet, int gpus) {
  *fleet = (struct fleet){.list = {.count = gpus + 1}};
  fleet->list.devices = fleet->pointers;
  for (int i = 0; i <= gpus; i++) {
    struct device *device = fleet->pointers[i] = &fleet->devices[i];
    const struct device_name name = {.job = "localhost",
                                     .has_job = true,
                                     .has_replica = true,
                                     .has_task = true,
                                     .has_kind = true,
                                     .has_index = true,
                                     .index = i ? i - 1 : 0};
    device->name = name;
    device->backend = i ? &other : &host;
    device->number = i;
    snprintf(device->name.kind, sizeof device->name.kind, "%s", device->backend->kind);
    name_mapping(&device->name, device->full, device->legacy);
    if (i)
      snprintf(device->description, sizeof device->description,
               "device: %d, name: Tesla K20m, pci bus id: 0000:%02d:00.0", i - 1, i);
  }
}
