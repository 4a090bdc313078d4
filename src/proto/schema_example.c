/* SPDX-License-Identifier: Apache-2.0
 * schema_example.c: the schemas of tf.train.Example and SequenceExample. */
#include "proto/schema.h"

MESSAGE_TYPE(bytes_list, "tensorflow.BytesList", REPEATED(1, value, BYTES))

MESSAGE_TYPE(float_list, "tensorflow.FloatList", REPEATED(1, value, FLOAT))

MESSAGE_TYPE(int64_list, "tensorflow.Int64List", REPEATED(1, value, INT64))

MESSAGE_TYPE(feature, "tensorflow.Feature", ONEOF_MESSAGE(kind, 1, bytes_list, bytes_list),
             ONEOF_MESSAGE(kind, 2, float_list, float_list),
             ONEOF_MESSAGE(kind, 3, int64_list, int64_list))

MAP_ENTRY(features_feature_entry, "tensorflow.Features.FeatureEntry", FIELD(1, key, STRING),
          MESSAGE(2, value, feature))

MESSAGE_TYPE(features, "tensorflow.Features", MAP(1, feature, features_feature_entry))

MESSAGE_TYPE(example, "tensorflow.Example", MESSAGE(1, features, features))

MESSAGE_TYPE(feature_list, "tensorflow.FeatureList", MESSAGES(1, feature, feature))

MAP_ENTRY(feature_lists_feature_list_entry, "tensorflow.FeatureLists.FeatureListEntry",
          FIELD(1, key, STRING), MESSAGE(2, value, feature_list))

MESSAGE_TYPE(feature_lists, "tensorflow.FeatureLists",
             MAP(1, feature_list, feature_lists_feature_list_entry))

MESSAGE_TYPE(sequence_example, "tensorflow.SequenceExample", MESSAGE(1, context, features),
             MESSAGE(2, feature_lists, feature_lists))
