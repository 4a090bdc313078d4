/* SPDX-License-Identifier: Apache-2.0
 * arg_docs.c: see arg_docs.h. `args` of an op definition has a line "name: sentence." for each
 * argument; inputs and attributes that mean the same in several ops are documented here once. */
#include "schema/arg_docs.h"

#include <stdio.h>
#include <string.h>

static const char *const shared_docs[] = {
    /* Gradients */
    "gradients: Gradient of the output of the forward op.\n"
    "dy: Gradient of the output of the forward op.\n"
    "features: Input of the forward op, or its output.\n"
    "outputs: Output of the forward op.\n"
    "y: Output of the forward op.\n",
    /* Shapes and types */
    "shape: Shape of the output.\n"
    "dtype: Element type of the output.\n"
    "Tout: Element types of the outputs.\n"
    "output_dtype: Integer type of the result.\n"
    "paddings: Matrix [rank, 2] with the padding before and after each dimension.\n"
    "output_types: Types of the components of an element.\n"
    "output_shapes: Static shapes of the outputs; empty if unknown.\n"
    "_output_shapes: Static shapes of the outputs; empty if unknown.\n"
    "message: Message of the error.\n",
    /* Slices: bit i of a mask concerns the i-th index */
    "begin_mask: Bit i: slice i starts at the beginning of its dimension.\n"
    "end_mask: Bit i: slice i extends to the end of its dimension.\n"
    "ellipsis_mask: Bit i: slice i is an ellipsis; at most one bit may be set.\n"
    "new_axis_mask: Bit i: slice i inserts a dimension of size 1.\n"
    "shrink_axis_mask: Bit i: slice i is a single index, which removes its dimension.\n",
    /* Images, convolution and pooling */
    "data_format: Order of the dimensions, channels last (NHWC) or channels first (NCHW).\n"
    "padding: SAME pads so that strides alone determine the output size; VALID does not pad.\n"
    "explicit_paddings: Padding before and after each of the 4 dimensions, for padding = "
    "EXPLICIT.\n"
    "strides: Stride of the window in each of the 4 dimensions.\n"
    "ksize: Size of the window in each of the 4 dimensions.\n"
    "dilations: Dilation of the filter in each of the 4 dimensions.\n"
    "use_cudnn_on_gpu: Accepted and ignored.\n"
    "align_corners: Align the centers of the corner pixels of both images.\n"
    "half_pixel_centers: Sample at the centers of pixels, not at their corners.\n"
    "depth_radius: Number of channels on either side to sum over.\n"
    "bias: Offset that avoids division by zero.\n"
    "beta: Exponent.\n"
    "contents: Contents of the file, a scalar.\n"
    "crop_window: Vector y, x, height, width of the rectangle.\n"
    "channels: Number of channels to return; 0 keeps those of the file.\n"
    "ratio: Divisor of height and width: 1, 2, 4 or 8.\n"
    "fancy_upscaling: Interpolate subsampled chroma channels.\n"
    "try_recover_truncated: Decode truncated files as far as possible.\n"
    "acceptable_fraction: Minimum fraction of lines that a truncated file must have.\n"
    "dct_method: Algorithm of the decoder: INTEGER_ACCURATE, INTEGER_FAST or empty for the fast "
    "one.\n"
    "expand_animations: Whether animations have a dimension of frames. GIF, the only format with "
    "animations, is not supported and fails.\n",
    /* Random numbers */
    "seed: Seed of the op; 0 together with seed2 = 0 selects a random seed.\n"
    "seed2: Second seed, which avoids collisions.\n"
    "key: Vector of one integer, the key of the generator.\n"
    "counter: Vector of two integers, the counter of the generator.\n"
    "alg: Algorithm, a scalar: 1 for Philox, 3 to select it automatically; others fail.\n"
    "minval: Lower limit, a scalar.\n"
    "maxval: Upper limit, a scalar, which is not included.\n"
    "logits: Unnormalized log-probabilities [batch, classes].\n"
    "num_samples: Number of samples per example, a scalar.\n"
    "true_classes: Target classes [batch, num_true].\n"
    "num_true: Number of target classes per example.\n"
    "num_sampled: Number of classes to sample.\n"
    "unique: Sample without replacement.\n"
    "range_max: Number of classes.\n",
    /* Variables and optimizers */
    "use_locking: Accepted and ignored; no lock protects the update from concurrent steps.\n"
    "ref: Reference to the variable, or its handle.\n"
    "resource: Handle of the variable.\n"
    "value: Value to assign, add or subtract.\n"
    "validate_shape: Require the shape of the variable when the graph is built; a value of another "
    "shape fails in any case.\n"
    "bad_indices_policy: What an index out of range does: with \"IGNORE\" it is skipped (gathered "
    "elements are 0), otherwise it is an error.\n"
    "indices: Indices into the first dimension.\n"
    "updates: Slices, one per index, or a scalar.\n"
    "var: Variable to update.\n"
    "accum: Accumulator slot of the shape of var.\n"
    "accum_update: Slot with the moving average of squared steps.\n"
    "ms: Slot with the moving average of squared gradients.\n"
    "mg: Slot with the moving average of gradients.\n"
    "mom: Momentum slot.\n"
    "m: First moment slot.\n"
    "v: Second moment slot.\n"
    "linear: Slot with the linear terms.\n"
    "grad: Gradient of var.\n"
    "delta: Gradient of var.\n"
    "lr: Learning rate, a scalar.\n"
    "alpha: Learning rate, a scalar.\n"
    "rho: Decay of the moving averages, a scalar.\n"
    "momentum: Momentum, a scalar.\n"
    "epsilon: Small number that avoids division by zero.\n"
    "beta1: Decay of the first moment, a scalar.\n"
    "beta2: Decay of the second moment, a scalar.\n"
    "beta1_power: beta1 to the power of the step, a scalar.\n"
    "beta2_power: beta2 to the power of the step, a scalar.\n"
    "l1: L1 regularization strength, a scalar.\n"
    "l2: L2 regularization strength, a scalar.\n"
    "l2_shrinkage: L2 shrinkage strength, a scalar.\n"
    "lr_power: Power of the accumulator in the learning rate, a scalar, at most 0.\n"
    "use_nesterov: Use Nesterov momentum.\n"
    "update_slots: Update the accumulator.\n"
    "multiply_linear_by_lr: Keep linear multiplied by lr, which allows lr to be 0.\n",
    /* Resources, queues, readers and datasets */
    "container: Container of the resource; empty selects the default one.\n"
    "shared_name: Name under which sessions share the resource; empty selects the node's name.\n"
    "use_node_name_sharing: Use the node's name if shared_name is empty.\n"
    "table_handle: Handle of the table.\n"
    "key_dtype: Type of the keys.\n"
    "value_dtype: Type of the values.\n"
    "Tkeys: Type of the keys.\n"
    "Tvalues: Type of the values.\n"
    "value_shape: Shape of a value.\n"
    "empty_key: Key that marks unused buckets and is never inserted.\n"
    "deleted_key: Key that marks removed entries and is never inserted.\n"
    "initial_num_buckets: Initial number of buckets, a power of 2.\n"
    "max_load_factor: Fraction of used buckets above which the table grows.\n"
    "mutex: Handle of the mutex.\n"
    "mutex_lock: Lock to release.\n"
    "handle: Handle of the queue.\n"
    "components: Components of the element, or of a batch of elements.\n"
    "component_types: Types of the components of an element.\n"
    "shapes: Shapes of the components of an element; empty if unknown.\n"
    "capacity: Maximum number of elements; negative for no limit.\n"
    "min_after_dequeue: Minimum number of elements that stay in the queue while it is open.\n"
    "timeout_ms: Accepted and ignored; the op has no time limit of its own.\n"
    "n: Number of elements, a scalar.\n"
    "cancel_pending_enqueues: Fail enqueue ops that are waiting.\n"
    "reader_handle: Handle of the reader.\n"
    "queue_handle: Handle of a queue of file names.\n"
    "num_records: Maximum number of records, a scalar.\n"
    "skip_header_lines: Number of lines to skip at the beginning of each file.\n"
    "record_bytes: Length of a record.\n"
    "header_bytes: Number of bytes to skip at the beginning of each file.\n"
    "footer_bytes: Number of bytes to skip at the end of each file.\n"
    "hop_bytes: Distance of the starts of records; 0 selects record_bytes.\n"
    "encoding: Compression: empty, ZLIB or GZIP.\n"
    "compression_type: Compression: empty, ZLIB or GZIP.\n"
    "dataset: Handle of the dataset.\n"
    "input_dataset: Handle of the dataset.\n"
    "arguments: Values of the dataset's arguments.\n"
    "iterator: Handle of the iterator.\n"
    "resource_handle: Handle of the iterator.\n"
    "string_handle: String handle of the iterator.\n"
    "shares: Share shuffle orders and caches with other iterators of the dataset.\n"
    "ask: Whether to read an element, a scalar.\n"
    "otherwise: Components to return when there is no element.\n",
    /* Tensor lists and collectives */
    "input_handle: List.\n"
    "element_shape: Shape of the elements; -1 for an unknown dimension.\n"
    "element_dtype: Type of the elements.\n"
    "index: Index of the element, a scalar.\n"
    "item: New element.\n"
    "resize_if_index_out_of_bounds: Extend the list if the index is beyond its end.\n"
    "num_elements: Number of elements; -1 if unknown.\n"
    "leading_dims: First dimension of each element that is not set; may be empty.\n"
    "lengths: First dimension of each element.\n"
    "reduction: How to combine elements.\n"
    "root: Rank whose tensors all ranks receive.\n"
    "tensor_name: Name that sender and receiver agree on.\n"
    "to_rank: Rank of the receiver.\n"
    "from_rank: Rank of the sender.\n",
};

/* Copies the line "name: ..." of `lines` without its name. */
static bool find_line(const char *lines, const char *name, char *out, size_t size) {
  const size_t length = strlen(name);
  for (const char *line = lines; line && *line;
       line += strcspn(line, "\n"), line += *line == '\n') {
    if (strncmp(line, name, length) || strncmp(line + length, ": ", 2)) continue;
    const char *sentence = line + length + 2;
    snprintf(out, size, "%.*s", (int)strcspn(sentence, "\n"), sentence);
    return true;
  }
  return false;
}

bool arg_docs_find(const struct op_def *op, const char *name, char *out, size_t size) {
  if (size) *out = '\0';
  bool documented = find_line(op->args, name, out, size);
  for (size_t i = 0; !documented && i < sizeof shared_docs / sizeof *shared_docs; i++)
    documented = find_line(shared_docs[i], name, out, size);
  return documented;
}
