// SPDX-License-Identifier: Apache-2.0
// outside.cpp: the same from C++, with the macros that C++ spells in another way.
#include <situ/tensor.h>

int main() {
  const situ_shape scalar = SITU_SCALAR, any = SITU_ANY_SHAPE;
  if (scalar.rank != 0 || any.rank != SITU_ANY) return 1;
  const double data[] = {1, 2, 3, 4, 5, 6};
  situ_tensor *tensor = nullptr;
  situ_status s = situ_tensor_create(SITU_DOUBLE, SITU_SHAPE(2, 3), data, &tensor);
  if (!s && situ_tensor_shape(tensor).dim[1] != 3)
    s = situ_status_create(SITU_DATA_LOSS, "The tensor has another shape");
  if (!s) s = situ_tensor_print(tensor, stdout);
  situ_tensor_release(tensor);
  return situ_status_report(s, stderr);
}
