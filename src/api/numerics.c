/* SPDX-License-Identifier: Apache-2.0
 * numerics.c: see numerics.h. */
#include "api/numerics.h"

#include <stdlib.h>
#include <string.h>

#include "situ/session.h"

atomic_int numerics_state = -1;

bool numerics_read_environment(void) {
  const char *text = getenv("SITU_CHECK_NUMERICS");
  const bool on = text && *text && strcmp(text, "0") != 0;
  int nobody = -1; /* does not override a concurrent situ_numerics_set_check */
  atomic_compare_exchange_strong(&numerics_state, &nobody, on);
  return atomic_load(&numerics_state);
}

void situ_numerics_set_check(bool on) { atomic_store(&numerics_state, on); }

bool situ_numerics_get_check(void) { return numerics_enabled(); }
