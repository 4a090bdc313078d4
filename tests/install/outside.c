/* SPDX-License-Identifier: Apache-2.0
 * outside.c: a program of somebody else that is built against an installed situ. */
#include <situ/status.h>
#include <string.h>

int main(void) {
  situ_status status = situ_status_create(SITU_NOT_FOUND, "outside %d", 7);
  const int wrong = situ_status_code(status) != SITU_NOT_FOUND ||
                    strcmp(situ_status_message(status), "outside 7");
  situ_status_release(status);
  return wrong;
}
