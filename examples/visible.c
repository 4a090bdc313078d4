/* SPDX-License-Identifier: Apache-2.0
 * visible.c: selects the visible GPUs: CUDA_VISIBLE_DEVICES masks and reorders them.
 *
 * The variable is a list of indices or PCI bus ids, or empty for no GPU; it ends at the first
 * invalid entry. SITU_VISIBLE_DEVICES has the same syntax and takes precedence. A program may set
 * either before it first uses situ, or set .visible_devices in its config, as argv[1] does here.
 * Listing devices opens none of them. */
#include <situ/situ.h>

int main(int argc, char **argv) {
  const situ_device_config config = {.visible_devices = argc > 1 ? argv[1] : NULL};
  int count = 0;
  situ_status s = situ_devices_configure(&config);
  if (!s) s = situ_devices_count(&count);
  for (int i = 0; !s && i < count; i++) {
    situ_device device;
    s = situ_devices_get(i, &device);
    if (s) break;
    printf("%s", device.name);
    if (*device.bus_id)
      printf(": %s at %s, GPU %d of the machine", device.model, device.bus_id, device.physical);
    printf("\n");
  }
  return situ_status_report(s, stderr);
}
