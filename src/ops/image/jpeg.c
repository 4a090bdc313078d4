/* SPDX-License-Identifier: Apache-2.0
 * jpeg.c: JPEG decoder with the libjpeg-turbo options of TensorFlow and the same handling of
 * truncated files. */
#include "ops/image/jpeg.h"

#ifdef SITU_JPEG
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/limits.h"
#include "ops/image/jpeg_library.h"

enum { MAX_SAMPLES = 1 << 29 }; /* TensorFlow's limit */

struct decoder {
  struct jpeg_decompress_struct info;
  struct jpeg_failure failure;
  struct jpeg_source_mgr source;
  struct jpeg_progress_mgr progress;
  const struct jpeg_functions *jpeg;
  const struct jpeg_decode_options *options;
  situ_string data;
  const JOCTET *asked_at; /* where libjpeg last requested more data, and how often */
  int requests;
  int64_t max_scans;
  int64_t height, width, channels; /* of the result */
  int64_t skip, offset;            /* lines above it, pixels left of it in a line */
  int64_t lines;                   /* that were decoded */
  uint8_t *pixels;
  uint8_t *line; /* a line from libjpeg that is not written to the result directly */
};

static void begin_source(j_decompress_ptr info) {
  const struct decoder *decoder = info->client_data;
  info->src->next_input_byte = (const JOCTET *)decoder->data.data;
  info->src->bytes_in_buffer = decoder->data.length;
}

/* Counts the requests of libjpeg for more data at one position. */
static int count_requests(struct decoder *decoder) {
  const struct jpeg_source_mgr *source = decoder->info.src;
  const bool same = decoder->asked_at == source->next_input_byte;
  decoder->asked_at = source->next_input_byte;
  return decoder->requests = same ? decoder->requests + 1 : 1;
}

/* The data end before the image does. If bytes are left, the entropy decoder requests more in the
 * middle of a block: it suspends, and jpeg_read_scanlines returns 0, or, to recover, reads them
 * again. Otherwise an end marker is inserted to recover; also if reading again does not help: in a
 * file that ends in the first byte of a marker. */
static boolean fill_source(j_decompress_ptr info) {
  enum { MAX_REQUESTS = 1 << 14 }; /* more than a block of the largest size can need */
  static const JOCTET end[] = {0xff, JPEG_EOI};
  struct decoder *decoder = info->client_data;
  const bool recover = decoder->options->try_recover_truncated;
  if (info->src->bytes_in_buffer && count_requests(decoder) < MAX_REQUESTS) return recover;
  if (!recover) ERREXIT(info, JERR_INPUT_EOF);
  info->src->next_input_byte = end;
  info->src->bytes_in_buffer = sizeof end;
  return TRUE;
}

static void skip_source(j_decompress_ptr info, long count) {
  if (count < 0) return;
  if ((unsigned long)count > info->src->bytes_in_buffer) {
    info->src->bytes_in_buffer = 0;
    fill_source(info);
    return;
  }
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= (size_t)count;
}

static void end_source(j_decompress_ptr info) { (void)info; }

/* Ends the decoder if the program is interrupted. Limits the scans: a scan of a few bytes visits
 * every block. */
static void observe(j_common_ptr codec) {
  struct decoder *decoder = codec->client_data;
  if (interrupt_pending()) longjmp(decoder->failure.jump, 1);
  if (decoder->info.input_scan_number <= decoder->max_scans) return;
  snprintf(decoder->failure.message, sizeof decoder->failure.message,
           "it has more than %lld scans (SITU_JPEG_SCANS)", (long long)decoder->max_scans);
  longjmp(decoder->failure.jump, 1);
}

static void read_header(void *context) {
  struct decoder *decoder = context;
  decoder->jpeg->jpeg_CreateDecompress(&decoder->info, JPEG_LIB_VERSION, sizeof decoder->info);
  decoder->source =
      (struct jpeg_source_mgr){.init_source = begin_source,
                               .fill_input_buffer = fill_source,
                               .skip_input_data = skip_source,
                               .resync_to_restart = decoder->jpeg->jpeg_resync_to_restart,
                               .term_source = end_source};
  decoder->info.src = &decoder->source;
  decoder->progress.progress_monitor = observe;
  decoder->info.progress = &decoder->progress;
  if (decoder->jpeg->jpeg_read_header(&decoder->info, TRUE) != JPEG_HEADER_OK)
    ERREXIT(&decoder->info, JERR_INPUT_EOF);
}

/* Sets colors and scale of the result from the header and the options. */
static void choose_output(void *context) {
  struct decoder *decoder = context;
  struct jpeg_decompress_struct *info = &decoder->info;
  const struct jpeg_decode_options *options = decoder->options;
  const bool has_black = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
  decoder->channels = options->channels ? options->channels : min_i64(info->num_components, 3);
  if (decoder->channels == 1)
    info->out_color_space = JCS_GRAYSCALE;
  else
    info->out_color_space = has_black ? JCS_CMYK : JCS_RGB;
  info->do_fancy_upsampling = options->fancy_upscaling;
  info->scale_num = 1;
  info->scale_denom = (unsigned)options->ratio;
  info->dct_method = options->is_accurate ? JDCT_ISLOW : JDCT_IFAST;
  decoder->jpeg->jpeg_calc_output_dimensions(info);
}

/* Restricts decoding to the crop window, rounded outwards to a block; returns how many samples
 * precede the window. */
static void crop(struct decoder *decoder) {
  struct jpeg_decompress_struct *info = &decoder->info;
  const struct jpeg_decode_options *options = decoder->options;
  JDIMENSION x = (JDIMENSION)options->crop_x, width = (JDIMENSION)options->crop_width;
  decoder->jpeg->jpeg_crop_scanline(info, &x, &width);
  decoder->offset = (int64_t)info->output_width - decoder->width;
  decoder->skip = options->crop_y;
  if (decoder->jpeg->jpeg_skip_scanlines(info, (JDIMENSION)decoder->skip) != decoder->skip)
    ERREXIT(info, JERR_INPUT_EOF);
}

static void start(void *context) {
  struct decoder *decoder = context;
  if (!decoder->jpeg->jpeg_start_decompress(&decoder->info))
    ERREXIT(&decoder->info, JERR_INPUT_EOF);
  if (decoder->options->has_crop) crop(decoder);
}

/* Converts a CMYK pixel to RGB. Files with Adobe's marker hold the inverse of each ink. */
static void rgb_of_cmyk(const uint8_t *from, bool is_inverted, uint8_t *to) {
  const int black = is_inverted ? from[3] : 255 - from[3];
  for (int i = 0; i < 3; i++)
    to[i] = (uint8_t)(black * (is_inverted ? from[i] : 255 - from[i]) / 255);
}

static void take_line(const struct decoder *decoder, uint8_t *to) {
  const struct jpeg_decompress_struct *info = &decoder->info;
  const uint8_t *from = decoder->line + decoder->offset * info->output_components;
  if (info->out_color_space != JCS_CMYK) {
    memcpy(to, from, (size_t)(decoder->width * decoder->channels));
    return;
  }
  for (int64_t x = 0; x < decoder->width; x++)
    rgb_of_cmyk(from + 4 * x, info->saw_Adobe_marker, to + 3 * x);
}

static void read_lines(void *context) {
  struct decoder *decoder = context;
  const int64_t stride = decoder->width * decoder->channels;
  for (; decoder->lines < decoder->height; decoder->lines++) {
    uint8_t *to = decoder->pixels + decoder->lines * stride;
    JSAMPROW row = decoder->line ? decoder->line : to;
    if (!decoder->jpeg->jpeg_read_scanlines(&decoder->info, &row, 1)) return;
    if (decoder->line) take_line(decoder, to);
  }
}

/* Repeats the last line that was decoded; black where there is none. */
static void repeat_line(const struct decoder *decoder) {
  const size_t stride = (size_t)(decoder->width * decoder->channels);
  for (int64_t y = decoder->lines; y < decoder->height; y++) {
    uint8_t *to = decoder->pixels + (size_t)y * stride;
    if (y)
      memcpy(to, to - stride, stride);
    else
      memset(to, 0, stride);
  }
}

/* Reads to the end of the file, to find errors. */
static void finish(void *context) {
  struct decoder *decoder = context;
  struct jpeg_decompress_struct *info = &decoder->info;
  if (decoder->lines < decoder->height) {
    if (!decoder->options->try_recover_truncated) {
      decoder->jpeg->jpeg_abort_decompress(info);
      return;
    }
    repeat_line(decoder);
    decoder->lines = decoder->height;
    info->output_scanline = (JDIMENSION)(decoder->skip + decoder->height);
  }
  if (decoder->options->has_crop && info->output_scanline < info->output_height)
    decoder->jpeg->jpeg_skip_scanlines(info, info->output_height - info->output_scanline);
  decoder->jpeg->jpeg_finish_decompress(info);
}

static situ_status invalid(const struct decoder *decoder, const char *reason) {
  return INVALID("Invalid JPEG data or crop window, data size %zu: %s", decoder->data.length,
                 reason);
}

static situ_status guard(struct decoder *decoder, void (*step)(void *)) {
  return jpeg_library_guard(&decoder->failure, step, decoder)
             ? NULL
             : invalid(decoder, decoder->failure.message);
}

/* The memory that libjpeg needs, per pixel: if components are in several scans, it keeps the
 * coefficients of all of them. */
static int64_t coefficient_bytes(const struct jpeg_decompress_struct *info) {
  const bool has_scans = info->progressive_mode || info->comps_in_scan < info->num_components;
  return has_scans ? info->num_components * (int64_t)sizeof(JCOEF) : 1;
}

/* Computes the size of the result and checks the limits. */
static situ_status check_size(struct decoder *decoder, const struct compute *compute) {
  const struct jpeg_decompress_struct *info = &decoder->info;
  const struct jpeg_decode_options *options = decoder->options;
  decoder->height = info->output_height;
  decoder->width = info->output_width;
  if (decoder->channels != 1 && decoder->channels != 3)
    return invalid(decoder, "it has neither 1, 3 nor 4 components");
  if (decoder->height * decoder->width * info->num_components >= MAX_SAMPLES)
    return INVALID("JPEG image too large: %lld x %lld pixels of %d components",
                   (long long)decoder->width, (long long)decoder->height, info->num_components);
  TRY(decode_image_check(compute, info->image_height, info->image_width, coefficient_bytes(info)));
  if (!options->has_crop) return NULL;
  if (!decoder->jpeg->jpeg_crop_scanline || !decoder->jpeg->jpeg_skip_scanlines)
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "DecodeAndCropJpeg needs libjpeg-turbo 1.5 or later");
  if (options->crop_height <= 0 || options->crop_width <= 0 || options->crop_y < 0 ||
      options->crop_x < 0 || options->crop_y + options->crop_height > decoder->height ||
      options->crop_x + options->crop_width > decoder->width)
    return invalid(decoder, "the crop window is not inside of the image");
  decoder->height = options->crop_height;
  decoder->width = options->crop_width;
  return NULL;
}

static situ_status allocate(struct decoder *decoder, struct image_buffer *buffer) {
  const struct jpeg_decompress_struct *info = &decoder->info;
  TRY(decode_image_allocate(buffer, decoder->height, decoder->width, decoder->channels));
  decoder->pixels = buffer->samples;
  if (info->out_color_space != JCS_CMYK && !decoder->offset) return NULL;
  decoder->line = malloc((size_t)info->output_width * (size_t)info->output_components);
  return decoder->line ? NULL : NO_MEMORY();
}

/* Fails if too little of the image was decoded; otherwise the missing lines are black. */
static situ_status accept(const struct decoder *decoder) {
  const int64_t stride = decoder->width * decoder->channels,
                left = decoder->height - decoder->lines;
  const float fraction = (float)decoder->lines / (float)decoder->height;
  const float least = (float)decoder->options->acceptable_fraction;
  if (left && fraction < (least < 1 ? least : 1)) {
    char reason[64];
    snprintf(reason, sizeof reason, "premature end at line %lld of %lld", (long long)decoder->lines,
             (long long)decoder->height);
    return invalid(decoder, reason);
  }
  memset(decoder->pixels + decoder->lines * stride, 0, (size_t)(left * stride));
  return NULL;
}

static situ_status create_decoder(situ_string data, const struct jpeg_decode_options *options,
                                  struct decoder **out) {
  const struct jpeg_functions *jpeg = NULL;
  TRY(jpeg_library_load(&jpeg));
  struct decoder *decoder = calloc(1, sizeof *decoder);
  if (!decoder) return NO_MEMORY();
  decoder->jpeg = jpeg;
  decoder->options = options;
  decoder->data = data;
  decoder->max_scans = limits_jpeg_scans();
  decoder->info.err = jpeg_library_errors(jpeg, &decoder->failure);
  decoder->info.client_data = decoder;
  *out = decoder;
  return NULL;
}

static void destroy_decoder(struct decoder *decoder) {
  decoder->jpeg->jpeg_destroy_decompress(&decoder->info);
  free(decoder->line);
  free(decoder);
}

situ_status jpeg_decode(situ_string data, const struct jpeg_decode_options *options,
                        struct image_buffer *buffer) {
  struct decoder *decoder = NULL;
  TRY(create_decoder(data, options, &decoder));
  situ_status status = guard(decoder, read_header);
  if (!status) status = guard(decoder, choose_output);
  if (!status) status = check_size(decoder, buffer->compute);
  if (!status) status = guard(decoder, start);
  if (!status) status = allocate(decoder, buffer);
  if (!status) status = guard(decoder, read_lines);
  if (!status) status = guard(decoder, finish);
  if (!status) status = accept(decoder);
  destroy_decoder(decoder);
  return status;
}

static void measure(void *context) {
  struct decoder *decoder = context;
  read_header(decoder);
  decoder->jpeg->jpeg_calc_output_dimensions(&decoder->info);
}

situ_status jpeg_read_shape(situ_string data, int64_t shape[3]) {
  static const struct jpeg_decode_options options = {.ratio = 1};
  struct decoder *decoder = NULL;
  TRY(create_decoder(data, &options, &decoder));
  situ_status status = NULL;
  if (!jpeg_library_guard(&decoder->failure, measure, decoder))
    status = INVALID("Invalid JPEG data, size %zu: %s", data.length, decoder->failure.message);
  shape[0] = decoder->info.output_height;
  shape[1] = decoder->info.output_width;
  shape[2] = decoder->info.out_color_components;
  destroy_decoder(decoder);
  return status;
}

#else

static situ_status absent(void) {
  return situ_status_create(SITU_UNIMPLEMENTED,
                            "situ was built without JPEG. Install the headers of libjpeg-turbo "
                            "(Debian: apt install libjpeg62-turbo-dev) and build it again.");
}

situ_status jpeg_decode(situ_string data, const struct jpeg_decode_options *options,
                        struct image_buffer *buffer) {
  (void)data, (void)options, (void)buffer;
  return absent();
}

situ_status jpeg_read_shape(situ_string data, int64_t shape[3]) {
  (void)data, (void)shape;
  return absent();
}

situ_status jpeg_encode(const uint8_t *pixels, const struct jpeg_encode_options *options,
                        struct strbuf *out) {
  (void)pixels, (void)options, (void)out;
  return absent();
}
#endif
