/* SPDX-License-Identifier: Apache-2.0
 * bus_id.h: where on the PCI bus a GPU sits: `0000:05:00.0`. */
#ifndef SITU_DEVICE_BUS_ID_H
#define SITU_DEVICE_BUS_ID_H

#include "base/base.h"

enum { BUS_ID_SIZE = 32 }; /* holds every printed one */

/* Reads `[domain:]bus:slot.function`, hexadecimal, of any width, as a number that is the same for
 * every way to write one place; false where the text is anything else. */
bool bus_id_parse(const char *text, size_t length, uint64_t *out);

/* Writes such a number as `0000:05:00.0` and returns `out`. */
const char *bus_id_print(uint64_t id, char out[BUS_ID_SIZE]);

#endif
