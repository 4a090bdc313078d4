/* SPDX-License-Identifier: Apache-2.0
 * test_type.c: names, sizes and parsing of every element type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "situ/tensor.h"
#include "tensor/type.h"

static void every_type_has_its_words(void **state) {
  (void)state;
#define CHECK_TYPE(name, number, bytes, word, numpy)        \
  assert_string_equal(situ_type_name(SITU_##name), word);   \
  assert_string_equal(situ_type_numpy(SITU_##name), numpy); \
  assert_int_equal(situ_type_size(SITU_##name), bytes);     \
  assert_int_equal(situ_type_parse(word), SITU_##name);     \
  assert_int_equal(situ_type_parse(numpy), SITU_##name);    \
  assert_int_equal(situ_type_parse("DT_" #name), SITU_##name);
  SITU_TYPES(CHECK_TYPE)
#undef CHECK_TYPE
  assert_int_equal(situ_type_size(SITU_DOUBLE), sizeof(double));
  assert_int_equal(situ_type_size(SITU_STRING), sizeof(char *));
}

static void other_numbers_and_words_are_no_types(void **state) {
  (void)state;
  const int numbers[] = {-1, 0, 11, 26, 31, 1 << 30};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    assert_int_equal(situ_type_size((situ_type)numbers[i]), 0);
    assert_string_equal(situ_type_name((situ_type)numbers[i]), "invalid");
    assert_string_equal(situ_type_numpy((situ_type)numbers[i]), "invalid");
  }
  const char *words[] = {"", "Float", "float ", "DT_", "DT_float", "qint8", "invalid"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    assert_int_equal(situ_type_parse(words[i]), SITU_NO_TYPE);
  assert_int_equal(situ_type_parse(NULL), SITU_NO_TYPE);
}

static void types_have_classes(void **state) {
  (void)state;
  assert_true(type_is_real(SITU_BFLOAT16) && type_is_real(SITU_HALF));
  assert_false(type_is_real(SITU_COMPLEX64) || type_is_real(SITU_UINT64));
  assert_true(type_is_complex(SITU_COMPLEX128) && !type_is_complex(SITU_DOUBLE));
  assert_true(type_is_unsigned(SITU_UINT32) && !type_is_unsigned(SITU_INT32));
  assert_int_equal(type_real(SITU_COMPLEX64), SITU_FLOAT);
  assert_int_equal(type_real(SITU_COMPLEX128), SITU_DOUBLE);
  assert_int_equal(type_real(SITU_UINT32), SITU_UINT32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_has_its_words),
      cmocka_unit_test(types_have_classes),
      cmocka_unit_test(other_numbers_and_words_are_no_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
