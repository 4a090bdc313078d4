/* SPDX-License-Identifier: Apache-2.0
 * jpeg_encode.c: writes JPEG files with libjpeg-turbo. */
#ifdef SITU_JPEG
#include <stdlib.h>
#include <string.h>

#include "ops/image/jpeg.h"
#include "ops/image/jpeg_library.h"

enum { CHUNK = 1 << 16 };

struct encoder {
  struct jpeg_compress_struct info;
  struct jpeg_failure failure;
  struct jpeg_destination_mgr destination;
  const struct jpeg_functions *jpeg;
  const struct jpeg_encode_options *options;
  const uint8_t *pixels;
  struct strbuf xmp, *out;
  JOCTET chunk[CHUNK];
};

static void begin_chunk(j_compress_ptr info) {
  struct encoder *encoder = info->client_data;
  info->dest->next_output_byte = encoder->chunk;
  info->dest->free_in_buffer = CHUNK;
}

static boolean write_chunk(j_compress_ptr info) {
  struct encoder *encoder = info->client_data;
  strbuf_append_n(encoder->out, (const char *)encoder->chunk, CHUNK); /* all of it, says libjpeg */
  begin_chunk(info);
  return TRUE;
}

static void end_chunk(j_compress_ptr info) {
  struct encoder *encoder = info->client_data;
  strbuf_append_n(encoder->out, (const char *)encoder->chunk, CHUNK - info->dest->free_in_buffer);
}

static void configure(struct encoder *encoder) {
  struct jpeg_compress_struct *info = &encoder->info;
  const struct jpeg_encode_options *options = encoder->options;
  info->image_width = (JDIMENSION)options->width;
  info->image_height = (JDIMENSION)options->height;
  info->input_components = (int)options->channels;
  info->in_color_space = options->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  encoder->jpeg->jpeg_set_defaults(info);
  info->optimize_coding = options->optimize_size;
  info->density_unit = options->density_unit;
  info->X_density = (UINT16)options->x_density;
  info->Y_density = (UINT16)options->y_density;
  encoder->jpeg->jpeg_set_quality(info, (int)options->quality, TRUE);
  if (options->progressive) encoder->jpeg->jpeg_simple_progression(info);
  for (int i = 0; !options->chroma_downsampling && i < info->num_components; i++)
    info->comp_info[i].h_samp_factor = info->comp_info[i].v_samp_factor = 1;
}

static void encode(void *context) {
  struct encoder *encoder = context;
  struct jpeg_compress_struct *info = &encoder->info;
  const struct jpeg_encode_options *options = encoder->options;
  encoder->jpeg->jpeg_CreateCompress(info, JPEG_LIB_VERSION, sizeof *info);
  encoder->destination = (struct jpeg_destination_mgr){
      .init_destination = begin_chunk,
      .empty_output_buffer = write_chunk,
      .term_destination = end_chunk,
  };
  info->dest = &encoder->destination;
  configure(encoder);
  encoder->jpeg->jpeg_start_compress(info, TRUE);
  if (encoder->xmp.length)
    encoder->jpeg->jpeg_write_marker(info, JPEG_APP0 + 1, (const JOCTET *)encoder->xmp.data,
                                     (unsigned)encoder->xmp.length);
  while (info->next_scanline < info->image_height) {
    const int64_t offset = info->next_scanline * options->width * options->channels;
    JSAMPROW row = (JSAMPROW)(uintptr_t)(encoder->pixels + offset); /* libjpeg only reads it */
    encoder->jpeg->jpeg_write_scanlines(info, &row, 1);
  }
  encoder->jpeg->jpeg_finish_compress(info);
}

/* The payload of a marker with XMP metadata: the name of the format, 0, the metadata. */
static void add_xmp(struct strbuf *xmp, const char *metadata) {
  static const char format[] = "http://ns.adobe.com/xap/1.0/";
  if (!*metadata) return;
  strbuf_append_n(xmp, format, sizeof format);
  strbuf_append(xmp, metadata);
}

situ_status jpeg_encode(const uint8_t *pixels, const struct jpeg_encode_options *options,
                        struct strbuf *out) {
  const struct jpeg_functions *jpeg = NULL;
  TRY(jpeg_library_load(&jpeg));
  struct encoder *encoder = calloc(1, sizeof *encoder);
  if (!encoder) return NO_MEMORY();
  encoder->jpeg = jpeg;
  encoder->options = options;
  encoder->pixels = pixels;
  encoder->out = out;
  encoder->info.err = jpeg_library_errors(jpeg, &encoder->failure);
  encoder->info.client_data = encoder;
  add_xmp(&encoder->xmp, options->xmp_metadata);
  situ_status status = NULL;
  if (!jpeg_library_guard(&encoder->failure, encode, encoder))
    status = INVALID("JPEG encoding failed: %s", encoder->failure.message);
  else if (out->failed || encoder->xmp.failed)
    status = NO_MEMORY();
  jpeg->jpeg_destroy_compress(&encoder->info);
  strbuf_free(&encoder->xmp);
  free(encoder);
  return status;
}
#endif
