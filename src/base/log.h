/* SPDX-License-Identifier: Apache-2.0
 * log.h: warnings of the library on standard error. */
#ifndef SITU_BASE_LOG_H
#define SITU_BASE_LOG_H

#include "base/base.h"

/* Prints "situ: message" on standard error. */
void log_warn(const char *format, ...) SITU_FORMAT(1, 2);

/* Prints each distinct message at most once per process. */
void log_warn_once(const char *format, ...) SITU_FORMAT(1, 2);

#endif
