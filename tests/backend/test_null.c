/* SPDX-License-Identifier: Apache-2.0
 * test_null.c: the skeleton of a back end. */
#include "backend/backends.h"
#include "backend/rig.h"

static void the_skeleton_does_nothing(void **state) {
  (void)state;
  const struct backend *api = &null_backend;
  const struct span span = {0};
  int count = -1;
  const char *why = "";
  struct device_info info;
  void *device = NULL, *region = NULL;
  struct bound_kernel *bound = NULL;
  uint64_t number = 0;
  OK(api->probe(&(struct backend_request){.sim_gpus = "4"}, &count, &why));
  assert_int_equal(count, 0);
  const situ_status all[] = {
      api->describe(0, &info),
      api->open(0, &device),
      api->alloc(NULL, 1, &region),
      api->available(NULL, &number),
      api->write(NULL, 0, span, "", 1),
      api->read(NULL, 0, &count, span, 1),
      api->copy(NULL, 0, span, span, 1),
      api->bind(NULL, NULL, &span, NULL, &bound),
      api->rebind(NULL, NULL, 0, span),
      api->launch(NULL, 0, NULL),
      api->mark(NULL, 0, &number),
      api->wait(NULL, 0, NULL, 0, 0),
      api->sync(NULL, 0, 0),
  };
  for (size_t i = 0; i < COUNT_OF(all); i++) FAILS(all[i], SITU_UNIMPLEMENTED, "null back end");
  api->free(NULL, NULL);
  api->close(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_skeleton_does_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
