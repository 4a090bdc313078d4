/* SPDX-License-Identifier: Apache-2.0
 * encode_image.c: EncodeJpeg and EncodeJpegVariableQuality. */
#include <string.h>

#include "ops/image/jpeg.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

/* The size of an image, checked against the requested format ('', 'grayscale', 'rgb'). */
static situ_status read_size(const situ_tensor *image, const char *format,
                             struct jpeg_encode_options *options) {
  if (image->shape.rank != 3)
    return INVALID("image must be 3-dimensional, got %d dimensions", image->shape.rank);
  const int64_t channels = image->shape.dim[2];
  const int64_t wanted = !*format ? channels : !strcmp(format, "rgb") ? 3 : 1;
  if (situ_shape_count(image->shape) >= INT32_MAX)
    return INVALID("image cannot have >= int32 max elements");
  if (channels != wanted)
    return INVALID("format '%s' expects %lld channel%s, got %lld", format, (long long)wanted,
                   wanted == 1 ? "" : "s", (long long)channels);
  if (channels != 1 && channels != 3)
    return INVALID("image must have 1 or 3 channels, got %lld", (long long)channels);
  options->height = image->shape.dim[0];
  options->width = image->shape.dim[1];
  options->channels = channels;
  if (!options->height || !options->width)
    return INVALID("JPEG encoding failed: the image is empty");
  return NULL;
}

static situ_status encode(const struct compute *compute, const char *format,
                          struct jpeg_encode_options *options) {
  struct strbuf file = {0};
  if (options->quality < 0 || options->quality > 100)
    return INVALID("quality must be in [0,100], got %lld", (long long)options->quality);
  TRY(read_size(compute->in[0], format, options));
  situ_status status = jpeg_encode(situ_tensor_data(compute->in[0]), options, &file);
  const situ_string bytes = {strbuf_get(&file), file.length};
  if (!status) status = situ_tensor_create_strings(SITU_SCALAR, &bytes, &compute->out[0]);
  strbuf_free(&file);
  return status;
}

static situ_status compute_encode(struct compute *compute) {
  const struct call *call = compute->call;
  struct jpeg_encode_options options = {
      .quality = call_integer(call, "quality"),
      .progressive = call_bool(call, "progressive"),
      .optimize_size = call_bool(call, "optimize_size"),
      .chroma_downsampling = call_bool(call, "chroma_downsampling"),
      .density_unit = !strcmp(call_text(call, "density_unit"), "cm") ? 2 : 1,
      .x_density = call_integer(call, "x_density"),
      .y_density = call_integer(call, "y_density"),
      .xmp_metadata = call_text(call, "xmp_metadata"),
  };
  return encode(compute, call_text(call, "format"), &options);
}

static situ_status compute_encode_quality(struct compute *compute) {
  if (situ_shape_count(compute->in[1]->shape) != 1) return INVALID("quality must be scalar");
  struct jpeg_encode_options options = {
      .quality = *(const int32_t *)situ_tensor_data(compute->in[1]),
      .chroma_downsampling = true,
      .density_unit = 1,
      .x_density = 300,
      .y_density = 300,
      .xmp_metadata = "",
  };
  return encode(compute, "", &options);
}

static const struct op_def op_defs[] = {
    {.name = "EncodeJpeg",
     .inputs = "image:uint8[h,w,c]",
     .outputs = "contents:string",
     .attrs = "format:{'','grayscale','rgb'}='' quality:int=95 progressive:bool=false "
              "optimize_size:bool=false chroma_downsampling:bool=true "
              "density_unit:{'in','cm'}='in' x_density:int=300 y_density:int=300 "
              "xmp_metadata:string=''",
     .python = "image.encode_jpeg io.encode_jpeg",
     .doc = "Encodes an image as JPEG.",
     .args = "image: Pixels [height, width, channels] of type uint8, with 1 or 3 channels.\n"
             "format: grayscale or rgb; empty follows the number of channels.\n"
             "quality: Quality from 0 to 100.\n"
             "progressive: Write a progressive file.\n"
             "optimize_size: Optimize the Huffman tables: smaller files, more time.\n"
             "chroma_downsampling: Store colors at half the resolution.\n"
             "density_unit: Unit of x_density and y_density: pixels per inch or per centimeter.\n"
             "x_density: Horizontal resolution stored in the header.\n"
             "y_density: Vertical resolution stored in the header.\n"
             "xmp_metadata: XMP metadata to store; empty stores none.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_scalar_shape,
     .compute = compute_encode},
    {.name = "EncodeJpegVariableQuality",
     .inputs = "images:uint8[h,w,c] quality:int32[]",
     .outputs = "contents:string",
     .attrs = "",
     .python = "",
     .doc = "Encodes an image as JPEG of a given quality.",
     .args = "images: Pixels [height, width, channels] of type uint8, with 1 or 3 channels.\n"
             "quality: Quality from 0 to 100, a scalar.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_scalar_shape,
     .compute = compute_encode_quality},
};

OP_FAMILY(encode_image, op_defs);
