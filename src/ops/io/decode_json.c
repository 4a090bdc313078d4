/* SPDX-License-Identifier: Apache-2.0
 * decode_json.c: DecodeJSONExample: tf.Example records from JSON to binary format. */
#include <stdlib.h>

#include "base/interrupt.h"
#include "ops/ops.h"
#include "situ/message.h"
#include "tensor/tensor.h"

static situ_status convert(situ_string text, situ_string *out) {
  char *data = NULL;
  size_t length = 0;
  situ_message *message = situ_message_create(situ_message_type_find("tensorflow.Example"));
  if (!message) return NO_MEMORY();
  const situ_status parsed = situ_message_parse(message, SITU_FORMAT_JSON, text.data, text.length);
  situ_status status = NULL;
  if (parsed)
    status = INVALID("Error while parsing JSON: %s", situ_status_message(parsed));
  else
    status = situ_message_write(message, SITU_FORMAT_BINARY, &data, &length);
  situ_status_release(parsed);
  situ_message_release(message);
  *out = (situ_string){data, length};
  return status;
}

static situ_status compute_decode_json(struct compute *compute) {
  const situ_shape shape = situ_tensor_shape(compute->in[0]);
  const int64_t n = situ_shape_count(shape);
  situ_string *records = calloc((size_t)n + 1, sizeof *records);
  if (!records) return NO_MEMORY();
  situ_status status = NULL;
  for (int64_t i = 0; i < n && !status && !interrupt_pending(); i++)
    status = convert(situ_tensor_string(compute->in[0], i), &records[i]);
  if (!status) status = situ_tensor_create_strings(shape, records, &compute->out[0]);
  for (int64_t i = 0; i < n; i++) free((void *)(uintptr_t)records[i].data);
  free(records);
  return status;
}

static const struct op_def op_defs[] = {
    {.name = "DecodeJSONExample",
     .inputs = "json_examples:string",
     .outputs = "binary_examples:string",
     .attrs = "",
     .python = "io.decode_json_example decode_json_example",
     .doc = "Converts tf.Example records from JSON to the binary format.",
     .args = "json_examples: Tensor of records in the JSON format of protocol messages.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_decode_json},
};

OP_FAMILY(decode_json, op_defs);
