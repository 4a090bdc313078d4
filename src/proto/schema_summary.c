/* SPDX-License-Identifier: Apache-2.0
 * schema_summary.c: the schemas of Summary, Event and their parts. */
#include "proto/schema.h"

ENUM_TYPE(data_class, "tensorflow.DataClass", {"DATA_CLASS_UNKNOWN", 0}, {"DATA_CLASS_SCALAR", 1},
          {"DATA_CLASS_TENSOR", 2}, {"DATA_CLASS_BLOB_SEQUENCE", 3})

ENUM_TYPE(log_message_level, "tensorflow.LogMessage.Level", {"UNKNOWN", 0}, {"DEBUGGING", 10},
          {"INFO", 20}, {"WARN", 30}, {"ERROR", 40}, {"FATAL", 50})

ENUM_TYPE(session_log_session_status, "tensorflow.SessionLog.SessionStatus",
          {"STATUS_UNSPECIFIED", 0}, {"START", 1}, {"STOP", 2}, {"CHECKPOINT", 3})

MESSAGE_TYPE(summary_metadata_plugin_data, "tensorflow.SummaryMetadata.PluginData",
             FIELD(1, plugin_name, STRING), FIELD(2, content, BYTES))

MESSAGE_TYPE(summary_metadata, "tensorflow.SummaryMetadata",
             MESSAGE(1, plugin_data, summary_metadata_plugin_data), FIELD(2, display_name, STRING),
             FIELD(3, summary_description, STRING), ENUM(4, data_class, data_class))

MESSAGE_TYPE(summary_image, "tensorflow.Summary.Image", FIELD(1, height, INT32),
             FIELD(2, width, INT32), FIELD(3, colorspace, INT32),
             FIELD(4, encoded_image_string, BYTES))

MESSAGE_TYPE(histogram_proto, "tensorflow.HistogramProto", FIELD(1, min, DOUBLE),
             FIELD(2, max, DOUBLE), FIELD(3, num, DOUBLE), FIELD(4, sum, DOUBLE),
             FIELD(5, sum_squares, DOUBLE), REPEATED(6, bucket_limit, DOUBLE),
             REPEATED(7, bucket, DOUBLE))

MESSAGE_TYPE(summary_audio, "tensorflow.Summary.Audio", FIELD(1, sample_rate, FLOAT),
             FIELD(2, num_channels, INT64), FIELD(3, length_frames, INT64),
             FIELD(4, encoded_audio_string, BYTES), FIELD(5, content_type, STRING))

MESSAGE_TYPE(summary_value, "tensorflow.Summary.Value", FIELD(1, tag, STRING),
             ONEOF_FIELD(value, 2, simple_value, FLOAT),
             ONEOF_FIELD(value, 3, obsolete_old_style_histogram, BYTES),
             ONEOF_MESSAGE(value, 4, image, summary_image),
             ONEOF_MESSAGE(value, 5, histo, histogram_proto),
             ONEOF_MESSAGE(value, 6, audio, summary_audio), FIELD(7, node_name, STRING),
             ONEOF_MESSAGE(value, 8, tensor, tensor_proto), MESSAGE(9, metadata, summary_metadata))

MESSAGE_TYPE(summary, "tensorflow.Summary", MESSAGES(1, value, summary_value))

MESSAGE_TYPE(log_message, "tensorflow.LogMessage", ENUM(1, level, log_message_level),
             FIELD(2, message, STRING))

MESSAGE_TYPE(session_log, "tensorflow.SessionLog", ENUM(1, status, session_log_session_status),
             FIELD(2, checkpoint_path, STRING), FIELD(3, msg, STRING))

MESSAGE_TYPE(tagged_run_metadata, "tensorflow.TaggedRunMetadata", FIELD(1, tag, STRING),
             FIELD(2, run_metadata, BYTES))

MESSAGE_TYPE(source_metadata, "tensorflow.SourceMetadata", FIELD(1, writer, STRING))

MESSAGE_TYPE(event, "tensorflow.Event", FIELD(1, wall_time, DOUBLE), FIELD(2, step, INT64),
             ONEOF_FIELD(what, 3, file_version, STRING), ONEOF_FIELD(what, 4, graph_def, BYTES),
             ONEOF_MESSAGE(what, 5, summary, summary),
             ONEOF_MESSAGE(what, 6, log_message, log_message),
             ONEOF_MESSAGE(what, 7, session_log, session_log),
             ONEOF_MESSAGE(what, 8, tagged_run_metadata, tagged_run_metadata),
             ONEOF_FIELD(what, 9, meta_graph_def, BYTES),
             MESSAGE(10, source_metadata, source_metadata))

MESSAGE_TYPE(summary_description, "tensorflow.SummaryDescription", FIELD(1, type_hint, STRING))

/* The embedding projector of TensorBoard. */
MESSAGE_TYPE(sprite_metadata, "tensorflow.SpriteMetadata", FIELD(1, image_path, STRING),
             REPEATED(2, single_image_dim, UINT32))

MESSAGE_TYPE(embedding_info, "tensorflow.EmbeddingInfo", FIELD(1, tensor_name, STRING),
             FIELD(2, metadata_path, STRING), FIELD(3, bookmarks_path, STRING),
             REPEATED(4, tensor_shape, UINT32), MESSAGE(5, sprite, sprite_metadata),
             FIELD(6, tensor_path, STRING))

MESSAGE_TYPE(projector_config, "tensorflow.ProjectorConfig",
             FIELD(1, model_checkpoint_path, STRING), MESSAGES(2, embeddings, embedding_info),
             FIELD(3, model_checkpoint_dir, STRING))
