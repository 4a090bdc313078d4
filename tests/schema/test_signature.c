/* SPDX-License-Identifier: Apache-2.0
 * test_signature.c: valid and invalid op definitions as text. */
#include "api/helpers.h"

#include "schema/signature.h"

static situ_status no_shape(struct call *call) {
  (void)call;
  return NULL;
}

static const struct op_def good = {
    .name = "Good",
    .inputs = "x:T index:int32 list:N*T ref:&T",
    .outputs = "y:T",
    .attrs =
        "T:{half float double}=float N:int>=2 way:{'SAME','VALID'}='SAME' rate:float=0.5 "
        "deep:bool=true size:shape=[2,?] any:shape=<unknown> axes:list(int)=[1,-2] "
        "out:type value:tensor name:string='' odds:list(float)=[0.5,-2]",
    .doc = "Something.",
    .host = "index",
    .devices = "CPU GPU(float half)",
    .shape = no_shape};

static void a_signature_is_read(void **state) {
  (void)state;
  struct arena arena = {0};
  struct schema s;
  OK(signature_parse(&good, &arena, &s));
  assert_int_equal(s.n_inputs, 4);
  assert_int_equal(s.n_outputs, 1);
  assert_int_equal(s.n_attrs, 12);
  assert_int_equal(s.defaults[11].reals.count, 2);
  assert_true(s.defaults[11].reals.items[0] == 0.5);
  assert_string_equal(s.inputs[1].name, "index");
  assert_int_equal(s.inputs[1].type, SITU_INT32);
  assert_true(s.inputs[1].is_host && !s.inputs[0].is_host);
  assert_int_equal(s.inputs[2].number_attr, 1);
  assert_int_equal(s.inputs[2].type_attr, 0);
  assert_true(s.inputs[3].is_ref && !s.inputs[2].is_ref);
  assert_true(s.attrs[0].inferred && s.attrs[1].inferred && !s.attrs[2].inferred);
  assert_int_equal(s.attrs[0].types, 1u << SITU_HALF | 1u << SITU_FLOAT | 1u << SITU_DOUBLE);
  assert_int_equal(s.defaults[0].type, SITU_FLOAT);
  assert_true(s.attrs[1].minimum == 2 && s.attrs[0].minimum == INT64_MIN);
  assert_string_equal(s.attrs[2].strings, "'SAME','VALID'");
  assert_string_equal(s.defaults[2].text, "SAME");
  assert_true(s.defaults[3].real == 0.5 && s.defaults[4].integer == 1);
  assert_int_equal(s.defaults[5].shape->rank, 2);
  assert_int_equal(s.defaults[5].shape->dim[1], SITU_ANY);
  assert_int_equal(s.defaults[6].shape->rank, SITU_ANY);
  assert_int_equal(s.defaults[7].list.count, 2);
  assert_int_equal(s.defaults[7].list.items[1], -2);
  assert_int_equal(s.defaults[8].kind, SITU_ATTR_NONE);
  assert_int_equal(s.attrs[9].kind, SITU_ATTR_TENSOR);
  assert_string_equal(s.defaults[10].text, "");
  assert_int_equal(s.device_type_attr, 0);
  assert_string_equal(s.kinds[1], "GPU");
  assert_null(s.kinds[2]);
  assert_int_equal(s.kind_types[0], UINT32_MAX);
  assert_int_equal(s.kind_types[1], 1u << SITU_FLOAT | 1u << SITU_HALF);
  arena_free(&arena);
}

static void refused(struct op_def def, const char *text) {
  struct arena arena = {0};
  struct schema s;
  FAILS(signature_parse(&def, &arena, &s), SITU_INTERNAL, text);
  arena_free(&arena);
}

static struct op_def with_inputs(const char *text) {
  struct op_def def = good;
  def.inputs = text;
  def.host = NULL;
  return def;
}

static struct op_def with_attrs(const char *text) {
  struct op_def def = with_inputs(NULL);
  def.outputs = NULL;
  def.attrs = text;
  def.devices = "CPU";
  return def;
}

static struct op_def with_devices(const char *text) {
  struct op_def def = good;
  def.devices = text;
  return def;
}

static void a_preferred_kind_has_priority(void **state) {
  (void)state;
  struct arena arena = {0};
  struct schema s;
  const struct op_def def = with_devices("CPU* GPU(float)");
  OK(signature_parse(&def, &arena, &s));
  assert_string_equal(s.kinds[0], "CPU");
  assert_true(s.kind_priority[0] > s.kind_priority[1]);
  arena_free(&arena);
}

static void bad_rows_are_named(void **state) {
  (void)state;
  refused(with_inputs("x"), "Op 'Good': cannot read port 'x'");
  refused(with_inputs(":T"), "cannot read port ':T'");
  refused(with_inputs("x:"), "cannot read port 'x:'");
  refused(with_inputs("x:U"), "cannot read port 'x:U'");
  refused(with_inputs("x:rate"), "cannot read port 'x:rate'");
  refused(with_inputs("x:M*T"), "cannot read port 'x:M*T'");
  refused(with_inputs("x:T*T"), "cannot read port 'x:T*T'");
  refused(with_attrs("T:{float complex}"), "cannot read attribute 'T:{float complex}'");
  refused(with_attrs("T:{float"), "cannot read attribute");
  refused(with_attrs("T:{}"), "cannot read attribute");
  refused(with_attrs("n:integer"), "attribute 'n' goes on with 'eger'");
  refused(with_attrs("n:number"), "cannot read attribute 'n:number'");
  refused(with_attrs("T:{float}=double"), "the default of 'T' is not in its set");
  refused(with_devices(""), "Op 'Good' has no devices");
  refused(with_devices("CPU GPU(quick)"), "cannot read devices");
  struct op_def host = good;
  host.host = "where";
  refused(host, "HostMemory args 'where' not found in OpDef: Good");
  struct op_def silent = good;
  silent.doc = NULL;
  refused(silent, "name, doc and shape must be there");
}

static void wrong_defaults_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"n:int=x",          "n:int=",
                                      "r:float=1.5.2",    "b:bool=yes",
                                      "t:type=quick",     "s:shape=[1",
                                      "s:shape=[1,,2]",   "s:string=a",
                                      "l:list(int)=[a]",  "l:list(float)=[1,]",
                                      "l:list(float)=[1", "v:tensor=[1]",
                                      "s:shape=1",        "s:shape=[1,2,3,4,5,6,7,8,9]"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    struct arena arena = {0};
    struct schema s;
    const struct op_def def = with_attrs(wrong[i]);
    FAILS(signature_parse(&def, &arena, &s), SITU_INVALID_ARGUMENT, "is no value of kind");
    arena_free(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_signature_is_read),
      cmocka_unit_test(a_preferred_kind_has_priority),
      cmocka_unit_test(bad_rows_are_named),
      cmocka_unit_test(wrong_defaults_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
