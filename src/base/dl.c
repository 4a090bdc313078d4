/* SPDX-License-Identifier: Apache-2.0
 * dl.c: loads a shared library at run time into a struct of function pointers. */
#include "base/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Fills the table; returns the first missing symbol, or NULL if it is complete. */
static const char *fill_table(void *library, const struct dl_symbol *symbols, int n_symbols,
                              char *table) {
  const char *missing = NULL;
  for (int i = 0; i < n_symbols; i++) {
    void *address = library ? dlsym(library, symbols[i].name) : NULL;
    memcpy(table + symbols[i].offset, &address, sizeof address);
    if (!address && !symbols[i].optional && !missing) missing = symbols[i].name;
  }
  return missing;
}

static void append_reason(char why[DL_REASON_SIZE], const char *library, const char *missing) {
  const size_t used = strlen(why);
  const char *separator = used ? "; " : "";
  if (missing) {
    snprintf(why + used, DL_REASON_SIZE - used, "%s%s: no symbol %s", separator, library, missing);
    return;
  }
  const char *reason = dlerror();
  snprintf(why + used, DL_REASON_SIZE - used, "%s%s", separator, reason ? reason : library);
}

/* Fills the table with functions that are linked statically; false if these are not. */
static bool fill_bundled(const struct dl_symbol *symbols, int n_symbols, char *table) {
  for (int i = 0; i < n_symbols; i++) {
    if (!symbols[i].address) return false;
    memcpy(table + symbols[i].offset, &symbols[i].address, sizeof symbols[i].address);
  }
  return n_symbols > 0;
}

bool dl_load(const char *const *libraries, const struct dl_symbol *symbols, int n_symbols,
             void *table, char why[DL_REASON_SIZE]) {
  why[0] = '\0';
  if (fill_bundled(symbols, n_symbols, table)) return true;
  for (; *libraries; libraries++) {
    void *library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? fill_table(library, symbols, n_symbols, table) : NULL;
    if (library && !missing) return true;
    append_reason(why, *libraries, missing);
    if (library) dlclose(library);
  }
  fill_table(NULL, symbols, n_symbols, table);
  return false;
}

situ_status dl_missing(const char *feature, const char *library, const char *package,
                       const char *why) {
  return situ_status_create(
      SITU_UNIMPLEMENTED,
      "%s needs %s, which could not be loaded (%s). Install it (Debian: apt install %s) and run "
      "the program again.",
      feature, library, why, package);
}
