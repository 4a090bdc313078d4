/* SPDX-License-Identifier: Apache-2.0
 * limits.c: memory limits in bytes, different for each GPU.
 *
 * All GPUs leave 1 GiB free; the first uses at most 2 GiB, the second grows up to half of its
 * memory. Options of a device override those of all. They may change while the device holds no
 * memory. The same without a change to the program:
 * SITU_GPU_MEMORY='reserve=1GiB,0:limit=2GiB,1:fraction=0.5;growth'. */
#include <situ/situ.h>

int main(void) {
  const situ_device_memory own[] = {
      {"/gpu:0", {.limit_bytes = 2ull << 30}},
      {"/gpu:1", {.fraction = 0.5, .growth = true}},
  };
  const situ_device_config config = {
      .memory.reserve_bytes = 1ull << 30, .device_memory = own, .n_device_memory = 2};
  int count = 0;
  situ_status s = situ_devices_configure(&config);
  if (!s) s = situ_devices_count(&count);
  for (int i = 1; !s && i < count; i++) { /* device 0 is the CPU */
    situ_device device;
    situ_memory_info info;
    s = situ_devices_get(i, &device);
    if (!s) s = situ_device_memory_info(i, &info);
    if (!s)
      printf("%s: at most %.2f of %.2f GiB\n", device.name, (double)info.limit / 0x1p30,
             (double)device.memory / 0x1p30);
  }
  return situ_status_report(s, stderr);
}
