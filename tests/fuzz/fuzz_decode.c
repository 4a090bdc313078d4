/* SPDX-License-Identifier: Apache-2.0
 * fuzz_decode.c: any bytes as an image, a tf.Example or another text that an op decodes. The first
 * byte selects the format: a letter of the table below. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "situ/situ.h"

enum { MOST = 8 };

struct decoder {
  char letter;
  const char *op;
  int (*more)(situ_tensor **inputs, situ_attr *attrs, int *n_attrs); /* inputs after the bytes */
};

static situ_tensor *texts(situ_shape shape, const char *const *words) {
  situ_string all[MOST] = {0};
  situ_tensor *made = NULL;
  for (int64_t i = 0; i < situ_shape_count(shape); i++)
    all[i] = (situ_string){words[i], strlen(words[i])};
  if (situ_tensor_create_strings(shape, all, &made)) abort();
  return made;
}

static int more_csv(situ_tensor **inputs, situ_attr *attrs, int *n_attrs) {
  static const int64_t types[] = {SITU_STRING, SITU_STRING};
  attrs[(*n_attrs)++] = situ_attr_types("OUT_TYPE", types, 2);
  inputs[1] = texts(SITU_SHAPE(1), (const char *const[]){"x"});
  inputs[2] = texts(SITU_SHAPE(1), (const char *const[]){""});
  return 2;
}

/* One dense feature "d" of two numbers, sparse ones "s" and "t" of numbers and texts. */
static int more_example(situ_tensor **inputs, situ_attr *attrs, int *n_attrs) {
  static const int64_t types[] = {SITU_INT64, SITU_STRING};
  static const float preset[] = {1, 2};
  static const situ_shape dense = {1, {2}};
  inputs[1] = texts(SITU_SHAPE(0), NULL);
  inputs[2] = texts(SITU_SHAPE(2), (const char *const[]){"s", "t"});
  inputs[3] = texts(SITU_SHAPE(1), (const char *const[]){"d"});
  inputs[4] = texts(SITU_SHAPE(0), NULL);
  if (situ_tensor_create(SITU_FLOAT, dense, preset, &inputs[5])) abort();
  attrs[(*n_attrs)++] = situ_attr_int("num_sparse", 2);
  attrs[(*n_attrs)++] = situ_attr_types("sparse_types", types, 2);
  attrs[(*n_attrs)++] = situ_attr_shapes("dense_shapes", &dense, 1);
  return 5;
}

/* Samples of 16 bits. */
static int more_wide(situ_tensor **inputs, situ_attr *attrs, int *n_attrs) {
  (void)inputs;
  attrs[(*n_attrs)++] = situ_attr_type("dtype", SITU_UINT16);
  return 0;
}

/* As much as can be had of a damaged file, in colors. */
static int more_recover(situ_tensor **inputs, situ_attr *attrs, int *n_attrs) {
  (void)inputs;
  attrs[(*n_attrs)++] = situ_attr_bool("try_recover_truncated", true);
  attrs[(*n_attrs)++] = situ_attr_int("channels", 3);
  return 0;
}

static int more_window(situ_tensor **inputs, situ_attr *attrs, int *n_attrs) {
  (void)attrs, (void)n_attrs;
  static const int32_t window[] = {1, 2, 3, 3};
  if (situ_tensor_create(SITU_INT32, SITU_SHAPE(4), window, &inputs[1])) abort();
  return 1;
}

static const struct decoder decoders[] = {
    {'p', "DecodePng", NULL},
    {'P', "DecodePng", more_wide},
    {'j', "DecodeJpeg", NULL},
    {'J', "DecodeJpeg", more_recover},
    {'w', "DecodeAndCropJpeg", more_window},
    {'h', "ExtractJpegShape", NULL},
    {'i', "DecodeImage", more_wide},
    {'b', "DecodeBmp", NULL},
    {'x', "DecodeBase64", NULL},
    {'n', "StringToNumber", NULL},
    {'c', "DecodeCSV", more_csv},
    {'e', "ParseExampleV2", more_example},
};

static const struct decoder *decoder_of(uint8_t letter) {
  for (size_t i = 0; i < COUNT_OF(decoders); i++)
    if (decoders[i].letter == (char)letter) return &decoders[i];
  return NULL;
}

/* A failure must be one of the data, and say something. */
static void check(situ_status status) {
  if (!status) return;
  const situ_code code = situ_status_code(status);
  if (code == SITU_INTERNAL || code == SITU_UNKNOWN || !*situ_status_message(status)) {
    fprintf(stderr, "%s\n", situ_status_message(status));
    abort();
  }
  situ_status_release(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static situ_eager *eager;
  const struct decoder *decoder = size ? decoder_of(data[0]) : NULL;
  if (!decoder) return 0;
  situ_op op;
  setenv("SITU_EXPANSION_LIMIT", "16MiB", 1); /* larger images are slow with sanitizers */
  if (!eager && situ_eager_create(NULL, &eager)) abort();
  if (situ_ops_find(decoder->op, &op)) abort();
  situ_tensor *inputs[MOST] = {NULL}, *outputs[MOST] = {NULL};
  situ_attr attrs[MOST];
  situ_call call = {.op = op.number, .inputs = inputs, .attrs = attrs, .n_inputs = 1};
  const situ_string bytes = {(const char *)data + 1, size - 1};
  if (situ_tensor_create_strings(SITU_SCALAR, &bytes, &inputs[0])) abort();
  if (decoder->more) call.n_inputs += decoder->more(inputs, attrs, &call.n_attrs);
  int count = 0;
  check(situ_eager_run(eager, &call, outputs, MOST, &count));
  for (int i = 0; i < MOST; i++) situ_tensor_release(inputs[i]), situ_tensor_release(outputs[i]);
  return 0;
}
