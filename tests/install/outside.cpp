// SPDX-License-Identifier: Apache-2.0
// outside.cpp: the same from C++, with the macros that C++ spells in another way.
#include <situ/tensor.h>

int main() {
  const situ_shape shape = SITU_SHAPE(2, 3);
  const situ_shape scalar = SITU_SCALAR, any = SITU_ANY_SHAPE;
  situ_status status = situ_status_create(SITU_NOT_FOUND, "outside");
  const int code = situ_status_code(status);
  situ_status_release(status);
  return !(shape.rank == 2 && shape.dim[1] == 3 && scalar.rank == 0 && any.rank == SITU_ANY &&
           code == SITU_NOT_FOUND);
}
