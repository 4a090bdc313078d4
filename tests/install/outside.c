/* SPDX-License-Identifier: Apache-2.0
 * outside.c: a program that is built against an installed situ. */
#include <situ/tensor.h>
#include <string.h>

int main(void) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_tensor *tensor = NULL;
  situ_status s = situ_tensor_create(SITU_FLOAT, SITU_SHAPE(2, 3), data, &tensor);
  if (!s && memcmp(situ_tensor_data(tensor), data, sizeof data))
    s = situ_status_create(SITU_DATA_LOSS, "The tensor holds something else");
  if (!s) s = situ_tensor_print(tensor, stdout);
  situ_tensor_release(tensor);
  return situ_status_report(s, stderr);
}
