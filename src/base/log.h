/* SPDX-License-Identifier: Apache-2.0
 * log.h: the few lines that the library says by itself, on standard error. */
#ifndef SITU_BASE_LOG_H
#define SITU_BASE_LOG_H

#include "base/base.h"

/* Prints "situ: text" on standard error. */
void log_warn(const char *format, ...) SITU_FORMAT(1, 2);

/* The same, but each distinct text at most once in the life of the process. */
void log_warn_once(const char *format, ...) SITU_FORMAT(1, 2);

#endif
