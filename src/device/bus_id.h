/* SPDX-License-Identifier: Apache-2.0
 * bus_id.h: parses and prints PCI bus ids such as `0000:05:00.0`. */
#ifndef SITU_DEVICE_BUS_ID_H
#define SITU_DEVICE_BUS_ID_H

#include "base/base.h"

enum { BUS_ID_SIZE = 32 }; /* enough for every printed id */

/* Parses `[domain:]bus:slot.function` (hexadecimal, any width) into a number that is equal for all
 * spellings of one address. Returns false if malformed. */
bool bus_id_parse(const char *text, size_t length, uint64_t *out);

/* Prints an id as `0000:05:00.0` and returns `out`. */
const char *bus_id_print(uint64_t id, char out[BUS_ID_SIZE]);

#endif
