/* SPDX-License-Identifier: Apache-2.0
 * utf8_case.h: upper and lower case of strings in UTF-8. */
#ifndef SITU_OPS_STRING_UTF8_CASE_H
#define SITU_OPS_STRING_UTF8_CASE_H

#include <situ/tensor.h>

#include "base/base.h"
#include "base/strbuf.h"

/* Appends `text` in upper or lower case. Bytes that are not UTF-8 become U+FFFD. Unimplemented on
 * systems without a UTF-8 locale. */
situ_status utf8_case(situ_string text, bool upper, struct strbuf *out) SITU_MUST_USE;

/* The upper or lower case of a character that is one character; of ASCII only on systems without a
 * UTF-8 locale. */
uint32_t utf8_case_of(uint32_t c, bool upper);

#endif
