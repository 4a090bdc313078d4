/* SPDX-License-Identifier: Apache-2.0
 * conform.h: one function per family of cases of the conformance tool. */
#ifndef SITU_TESTS_CONFORM_H
#define SITU_TESTS_CONFORM_H

#include "base/json.h"
#include "base/strbuf.h"

/* Each gets one case (a JSON object) and appends its "result" as JSON to `out`. What the case
 * expects is for the reader of the output: "expect" keys are not looked at. */
void conform_names(const struct json *test, struct strbuf *out);
void conform_placer(const struct json *test, struct strbuf *out);
void conform_bfc(const struct json *test, struct strbuf *out);

#endif
