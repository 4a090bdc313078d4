/* SPDX-License-Identifier: Apache-2.0
 * json.h: writes indented JSON to standard output. */
#ifndef SITU_CLI_JSON_H
#define SITU_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* Opens an object '{' or array '['; `key` is NULL in an array and at the top level. */
void json_open(const char *key, char bracket);

/* Closes the innermost object or array; ends the line at the top level. */
void json_close(void);

/* Writes a member of an object, or an array element if `key` is NULL. */
void json_string(const char *key, const char *value);
void json_number(const char *key, int64_t value);
void json_size(const char *key, uint64_t value);
void json_bool(const char *key, bool value);

#endif
