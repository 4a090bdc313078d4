/* SPDX-License-Identifier: Apache-2.0
 * fuzz_ops.c: any op with any inputs and attributes, called eagerly. */
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "situ/situ.h"
#include "support/random_call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static situ_eager *eager;
  static int runs;
  if (size < 10) return 0;
  if (!eager && situ_eager_create(NULL, &eager)) abort();
  if (++runs % 2000 == 0) situ_eager_clear_cache(eager);
  struct random_bytes bytes = {.data = data + 10, .end = data + size};
  memcpy(&bytes.state, data + 2, sizeof bytes.state);
  const int id = (data[0] | data[1] << 8) % schema_count();
  situ_status status = NULL;
  random_call(eager, id, NULL, &bytes, &status);
  situ_status_release(status);
  return 0;
}
