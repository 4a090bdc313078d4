/* SPDX-License-Identifier: Apache-2.0
 * dl.h: loads a shared library at run time into a struct of function pointers.
 *
 *   #define SYMBOLS(X) X(int, f, (int)) X(void, g, (void))
 *   struct table { SYMBOLS(DL_FIELD) };
 *   static const struct dl_symbol symbols[] = {SYMBOLS(REQUIRED)};
 * where REQUIRED is: #define REQUIRED(result, name, args) DL_SYMBOL(struct table, name)
 */
#ifndef SITU_BASE_DL_H
#define SITU_BASE_DL_H

#include "base/base.h"

enum { DL_REASON_SIZE = 256 };

struct dl_symbol {
  const char *name;
  size_t offset;         /* of the pointer in the table */
  bool optional;         /* the pointer is NULL if the library lacks it */
  void (*address)(void); /* of a function that is linked statically; else NULL */
};

#define DL_FIELD(result, name, args) result(*name) args;
#define DL_SYMBOL(table, name) {#name, offsetof(table, name), false, NULL},
#define DL_OPTIONAL(table, name) {#name, offsetof(table, name), true, NULL},

/* Wheels contain some libraries: SITU_BUNDLED is defined for the files that use these. DL_BUNDLED
 * is DL_SYMBOL, but with the address there; DL_DECLARE declares the function for it. */
#ifdef SITU_BUNDLED
#define DL_BUNDLED(table, name) {#name, offsetof(table, name), false, (void (*)(void))name},
#define DL_DECLARE(result, name, args) result name args;
#else
#define DL_BUNDLED(table, name) DL_SYMBOL(table, name)
#define DL_DECLARE(result, name, args)
#endif

/* Loads the first library (file names, terminated by NULL) that exists and has all symbols, and
 * fills the table. It stays loaded. Bundled functions need no library. On failure returns false,
 * `why` gives the reason for each library, and the pointers are NULL. */
bool dl_load(const char *const *libraries, const struct dl_symbol *symbols, int n_symbols,
             void *table, char why[DL_REASON_SIZE]);

/* Returns Unimplemented: `feature` needs a library that could not be loaded, with the Debian
 * package to install; `why` comes from dl_load. */
situ_status dl_missing(const char *feature, const char *library, const char *package,
                       const char *why) SITU_MUST_USE;

#endif
