/* SPDX-License-Identifier: Apache-2.0
 * dl.h: loads a shared library at run time into a struct of function pointers.
 *
 *   #define SYMBOLS(X) X(int, f, (int)) X(void, g, (void))
 *   struct table { SYMBOLS(DL_FIELD) };
 *   static const struct dl_symbol symbols[] = {SYMBOLS(DL_NEED)};
 * where DL_NEED is: #define DL_NEED(result, name, args) DL_SYMBOL(struct table, name)
 */
#ifndef SITU_BASE_DL_H
#define SITU_BASE_DL_H

#include "base/base.h"

enum { DL_REASON_SIZE = 256 };

struct dl_symbol {
  const char *name;
  size_t offset; /* of its pointer in the table */
  bool optional; /* a library without it is good too; the pointer is then NULL */
};

#define DL_FIELD(result, name, args) result(*name) args;
#define DL_SYMBOL(table, name) {#name, offsetof(table, name), false},
#define DL_OPTIONAL(table, name) {#name, offsetof(table, name), true},

/* Loads the first of the libraries (file names, ending in NULL) that is there and has all symbols,
 * and fills the table. It stays loaded. False: `why` says for each library what is wrong, and the
 * table is all zeros at the symbols. */
bool dl_load(const char *const *libraries, const struct dl_symbol *symbols, int n_symbols,
             void *table, char why[DL_REASON_SIZE]);

/* Unimplemented: `feature` needs a library that could not be loaded, with the Debian package that
 * has it; `why` is what dl_load said. */
situ_status dl_missing(const char *feature, const char *library, const char *package,
                       const char *why) SITU_MUST_USE;

#endif
