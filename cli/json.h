/* SPDX-License-Identifier: Apache-2.0
 * json.h: prints JSON on standard output, two blanks per level, commas where they belong. */
#ifndef SITU_CLI_JSON_H
#define SITU_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* Begins an object '{' or a list '['; `key` is NULL in a list and for the whole. */
void json_open(const char *key, char bracket);

/* Ends what was begun last; the end of the whole ends its line. */
void json_close(void);

/* A member of an object, or of a list where `key` is NULL. */
void json_string(const char *key, const char *value);
void json_number(const char *key, int64_t value);
void json_size(const char *key, uint64_t value);
void json_bool(const char *key, bool value);

#endif
