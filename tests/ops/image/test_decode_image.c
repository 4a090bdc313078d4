/* SPDX-License-Identifier: Apache-2.0
 * test_decode_image.c: malicious image files are InvalidArgument errors; the address sanitizer
 * finds accesses out of bounds. */
#include <string.h>

#include "api/helpers.h"
#include "base/base.h"
#include "situ/situ.h"

struct file {
  unsigned char data[1024];
  size_t length;
};

static void add(struct file *file, const void *data, size_t length) {
  assert_true(file->length + length <= sizeof file->data);
  memcpy(file->data + file->length, data, length);
  file->length += length;
}

static void add_segment(struct file *file, unsigned char marker, const void *data, size_t length) {
  const unsigned char head[] = {0xff, marker, (unsigned char)((length + 2) >> 8),
                                (unsigned char)(length + 2)};
  add(file, head, sizeof head);
  add(file, data, length);
}

/* A file of side x side pixels whose blocks are all zeros. Each Huffman table has one code, of one
 * bit. */
static void make_jpeg(struct file *file, unsigned char side, const unsigned char sampling[3],
                      int n_components, int n_bytes) {
  unsigned char quantization[65] = {0}, huffman[18] = {0, 1};
  unsigned char frame[15] = {8, 0, side, 0, side, (unsigned char)n_components};
  unsigned char scan[10] = {(unsigned char)n_components};
  memset(quantization + 1, 1, 64);
  for (int i = 0; i < n_components; i++) {
    frame[6 + 3 * i] = scan[1 + 2 * i] = (unsigned char)(i + 1);
    frame[7 + 3 * i] = sampling[i];
  }
  scan[2 + 2 * n_components] = 63;
  file->length = 0;
  add(file, "\xff\xd8", 2);
  add_segment(file, 0xdb, quantization, sizeof quantization);
  add_segment(file, 0xc4, huffman, sizeof huffman);
  huffman[0] = 0x10;
  add_segment(file, 0xc4, huffman, sizeof huffman);
  add_segment(file, 0xc0, frame, 6 + 3 * (size_t)n_components);
  add_segment(file, 0xda, scan, 4 + 2 * (size_t)n_components);
  for (int i = 0; i < n_bytes; i++) add(file, "\0", 1);
  add(file, "\xff\xd9", 2);
}

/* Runs an op on the bytes of a file, in memory that ends where they end. */
static situ_status decode(const char *name, const struct file *file, const situ_attr *attrs,
                          int n_attrs, situ_tensor **out) {
  static situ_eager *eager;
  if (!eager) OK(situ_eager_create(NULL, &eager));
  situ_op op;
  OK(situ_ops_find(name, &op));
  const situ_string bytes = {(const char *)file->data, file->length};
  situ_tensor *contents = NULL;
  OK(situ_tensor_create_strings(SITU_SCALAR, &bytes, &contents));
  situ_call call = {
      .op = op.number, .inputs = &contents, .attrs = attrs, .n_inputs = 1, .n_attrs = n_attrs};
  int count = 0;
  const situ_status status = situ_eager_run(eager, &call, out, 1, &count);
  situ_tensor_release(contents);
  return status;
}

static void check_refused(const struct file *file, const situ_attr *attrs, int n_attrs) {
  situ_tensor *image = NULL;
  const situ_status status = decode("DecodeJpeg", file, attrs, n_attrs, &image);
  assert_int_equal(situ_status_code(status), SITU_INVALID_ARGUMENT);
  situ_status_release(status);
}

static void odd_sampling_ratios_are_refused(void **state) {
  (void)state;
  static const unsigned char sampling[][3] = {
      {0x43, 0x32, 0x11}, {0x32, 0x43, 0x21}, {0x41, 0x31, 0x11}, {0x14, 0x13, 0x11}};
  const situ_attr recover = situ_attr_bool("try_recover_truncated", true);
  struct file file;
  for (size_t i = 0; i < COUNT_OF(sampling); i++) {
    make_jpeg(&file, 200, sampling[i], 3, 8);
    check_refused(&file, NULL, 0);
    check_refused(&file, &recover, 1);
  }
}

static void every_sampling_is_decoded_or_refused(void **state) {
  (void)state;
  int n_decoded = 0;
  for (int first = 0; first < 16; first++)
    for (int second = 0; second < 16; second++) {
      const unsigned char sampling[] = {(unsigned char)((first / 4 + 1) << 4 | (first % 4 + 1)),
                                        (unsigned char)((second / 4 + 1) << 4 | (second % 4 + 1)),
                                        0x11};
      struct file file;
      situ_tensor *image = NULL;
      make_jpeg(&file, 37, sampling, 3, 400);
      const situ_status status = decode("DecodeJpeg", &file, NULL, 0, &image);
      assert_true(!status || situ_status_code(status) == SITU_INVALID_ARGUMENT);
      if (!status) n_decoded++;
      situ_status_release(status);
      situ_tensor_release(image);
    }
  assert_true(n_decoded > 0);
}

static void files_may_end_anywhere(void **state) {
  (void)state;
  const situ_attr recover = situ_attr_bool("try_recover_truncated", true);
  struct file file;
  make_jpeg(&file, 40, (const unsigned char[3]){0x22, 0x11, 0x11}, 3, 30);
  const size_t whole = file.length;
  for (file.length = 1; file.length < whole - 2; file.length++) {
    check_refused(&file, NULL, 0);
    situ_tensor *image = NULL;
    const situ_status status = decode("DecodeJpeg", &file, &recover, 1, &image);
    assert_true(!status || situ_status_code(status) == SITU_INVALID_ARGUMENT);
    situ_status_release(status);
    situ_tensor_release(image);
  }
}

static void shape_needs_the_header_alone(void **state) {
  (void)state;
  struct file file;
  situ_tensor *shape = NULL;
  make_jpeg(&file, 77, (const unsigned char[3]){0x11}, 1, 0);
  OK(decode("ExtractJpegShape", &file, NULL, 0, &shape));
  const int32_t *sizes = situ_tensor_data(shape);
  assert_int_equal(sizes[0], 77);
  assert_int_equal(sizes[1], 77);
  assert_int_equal(sizes[2], 1);
  situ_tensor_release(shape);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(odd_sampling_ratios_are_refused),
      cmocka_unit_test(every_sampling_is_decoded_or_refused),
      cmocka_unit_test(files_may_end_anywhere),
      cmocka_unit_test(shape_needs_the_header_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
