# SPDX-License-Identifier: Apache-2.0
"""keras3_names.py: public names that Keras 3 shares with tf.keras; `situ.keras3` has them from
there. Names that Keras 3 defines otherwise are exported under "keras3." and take precedence."""

from __future__ import annotations

SHARED = {
    "": """
    DTypePolicy Input Model Sequential""",
    "activations": """
    deserialize elu exponential gelu get hard_sigmoid leaky_relu linear log_softmax mish relu relu6
    selu serialize sigmoid silu softmax softplus softsign swish tanh""",
    "applications": """
    DenseNet121 DenseNet169 DenseNet201 EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3
    EfficientNetB4 EfficientNetB5 EfficientNetB6 EfficientNetB7 InceptionResNetV2 InceptionV3
    MobileNet MobileNetV2 ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2 VGG16
    VGG19 Xception""",
    "applications.densenet": """
    DenseNet121 DenseNet169 DenseNet201 decode_predictions preprocess_input""",
    "applications.efficientnet": """
    EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 EfficientNetB4 EfficientNetB5
    EfficientNetB6 EfficientNetB7 decode_predictions preprocess_input""",
    "applications.imagenet_utils": """
    decode_predictions preprocess_input""",
    "applications.inception_resnet_v2": """
    InceptionResNetV2 decode_predictions preprocess_input""",
    "applications.inception_v3": """
    InceptionV3 decode_predictions preprocess_input""",
    "applications.mobilenet": """
    MobileNet decode_predictions preprocess_input""",
    "applications.mobilenet_v2": """
    MobileNetV2 decode_predictions preprocess_input""",
    "applications.resnet": """
    ResNet101 ResNet152 ResNet50 decode_predictions preprocess_input""",
    "applications.resnet50": """
    ResNet50 decode_predictions preprocess_input""",
    "applications.resnet_v2": """
    ResNet101V2 ResNet152V2 ResNet50V2 decode_predictions preprocess_input""",
    "applications.vgg16": """
    VGG16 decode_predictions preprocess_input""",
    "applications.vgg19": """
    VGG19 decode_predictions preprocess_input""",
    "applications.xception": """
    Xception decode_predictions preprocess_input""",
    "backend": """
    backend clear_session epsilon floatx get_uid image_data_format is_keras_tensor set_epsilon
    set_floatx set_image_data_format""",
    "callbacks": """
    BackupAndRestore CSVLogger Callback CallbackList EarlyStopping History LambdaCallback
    LearningRateScheduler ModelCheckpoint ProgbarLogger ReduceLROnPlateau RemoteMonitor
    SwapEMAWeights TensorBoard TerminateOnNaN""",
    "config": """
    dtype_policy set_dtype_policy""",
    "constraints": """
    Constraint MaxNorm MinMaxNorm NonNeg UnitNorm deserialize get max_norm min_max_norm non_neg
    serialize unit_norm""",
    "datasets.boston_housing": """
    load_data""",
    "datasets.cifar10": """
    load_data""",
    "datasets.cifar100": """
    load_data""",
    "datasets.fashion_mnist": """
    load_data""",
    "datasets.imdb": """
    get_word_index load_data""",
    "datasets.mnist": """
    load_data""",
    "datasets.reuters": """
    get_word_index load_data""",
    "initializers": """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer Initializer
    LecunNormal LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform STFT
    STFTInitializer TruncatedNormal VarianceScaling Zeros constant deserialize get glorot_normal
    glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform ones orthogonal
    random_normal random_uniform serialize stft truncated_normal variance_scaling zeros""",
    "layers": """
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
    AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add
    AdditiveAttention AlphaDropout Attention AutoContrast Average AveragePooling1D AveragePooling2D
    AveragePooling3D AvgPool1D AvgPool2D AvgPool3D BatchNormalization Bidirectional CategoryEncoding
    CenterCrop Concatenate Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose
    Convolution1D Convolution1DTranspose Convolution2D Convolution2DTranspose Convolution3D
    Convolution3DTranspose Cropping1D Cropping2D Cropping3D CutMix Dense DepthwiseConv1D
    DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Equalization Flatten GRU
    GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
    GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D
    GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D
    GroupNormalization GroupQueryAttention HashedCrossing Hashing Identity Input InputLayer
    InputSpec IntegerLookup LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU Masking
    MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D Maximum
    MelSpectrogram Minimum MixUp MultiHeadAttention Multiply Normalization PReLU Permute Pipeline
    RMSNormalization RNN RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast
    RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale
    RandomHue RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation
    RandomSharpness RandomShear RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape
    Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D
    SeparableConvolution1D SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax Solarization
    SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells
    StringLookup Subtract TextVectorization TimeDistributed UnitNormalization UpSampling1D
    UpSampling2D UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D add average
    concatenate deserialize dot maximum minimum multiply serialize subtract""",
    "losses": """
    BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy
    CategoricalFocalCrossentropy CategoricalGeneralizedCrossEntropy CategoricalHinge Circle
    CosineSimilarity Dice Hinge Huber KLDivergence LogCosh Loss MeanAbsoluteError
    MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson
    SparseCategoricalCrossentropy SquaredHinge Tversky binary_crossentropy binary_focal_crossentropy
    categorical_crossentropy categorical_focal_crossentropy categorical_generalized_cross_entropy
    categorical_hinge circle cosine_similarity ctc deserialize dice get hinge huber kl_divergence
    log_cosh mean_absolute_error mean_absolute_percentage_error mean_squared_error
    mean_squared_logarithmic_error poisson serialize sparse_categorical_crossentropy squared_hinge
    tversky""",
    "metrics": """
    AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy
    CategoricalCrossentropy CategoricalHinge ConcordanceCorrelation CosineSimilarity F1Score
    FBetaScore FalseNegatives FalsePositives Hinge IoU KLDivergence LogCoshError Mean
    MeanAbsoluteError MeanAbsolutePercentageError MeanIoU MeanMetricWrapper MeanSquaredError
    MeanSquaredLogarithmicError Metric OneHotIoU OneHotMeanIoU PearsonCorrelation Poisson Precision
    PrecisionAtRecall R2Score Recall RecallAtPrecision RootMeanSquaredError SensitivityAtSpecificity
    SparseCategoricalAccuracy SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy
    SpecificityAtSensitivity SquaredHinge Sum TopKCategoricalAccuracy TrueNegatives TruePositives
    binary_accuracy binary_crossentropy binary_focal_crossentropy categorical_accuracy
    categorical_crossentropy categorical_focal_crossentropy categorical_hinge
    concordance_correlation deserialize get hinge huber kl_divergence log_cosh mean_absolute_error
    mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error
    pearson_correlation poisson serialize sparse_categorical_accuracy
    sparse_categorical_crossentropy sparse_top_k_categorical_accuracy squared_hinge
    top_k_categorical_accuracy""",
    "mixed_precision": """
    DTypePolicy LossScaleOptimizer Policy dtype_policy global_policy set_dtype_policy
    set_global_policy""",
    "models": """
    Model Sequential clone_model load_model model_from_json save_model""",
    "optimizers": """
    Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer Muon Nadam
    Optimizer RMSprop SGD ScheduleFreeAdamW deserialize get serialize""",
    "optimizers.legacy": """
    Adagrad Adam Ftrl Optimizer RMSprop SGD""",
    "optimizers.schedules": """
    CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay LearningRateSchedule
    PiecewiseConstantDecay PolynomialDecay deserialize serialize""",
    "preprocessing": """
    image_dataset_from_directory text_dataset_from_directory timeseries_dataset_from_array""",
    "preprocessing.image": """
    array_to_img img_to_array load_img save_img smart_resize""",
    "preprocessing.sequence": """
    pad_sequences""",
    "regularizers": """
    L1 L1L2 L2 OrthogonalRegularizer Regularizer deserialize get l1 l1_l2 l2 orthogonal_regularizer
    serialize""",
    "saving": """
    CustomObjectScope custom_object_scope get_custom_objects register_keras_serializable""",
    "utils": """
    CustomObjectScope Progbar Sequence array_to_img custom_object_scope get_custom_objects get_file
    image_dataset_from_directory img_to_array load_img model_to_dot normalize pack_x_y_sample_weight
    pad_sequences plot_model register_keras_serializable save_img serialize_keras_object
    set_random_seed split_dataset text_dataset_from_directory timeseries_dataset_from_array
    to_categorical unpack_x_y_sample_weight""",
}


def current_name(name: str) -> str | None:
    """Returns the name below tf.keras of a name below keras3, or None if it is not shared."""
    module, _, last = name.rpartition(".")
    return name if last in SHARED.get(module, "").split() else None


def is_module(path: str) -> bool:
    """Returns whether Keras 3 has a module with shared names."""
    return any(module == path or module.startswith(path + ".") for module in SHARED)


def names_below(path: str) -> set[str]:
    """Returns the shared names of a module, and its modules."""
    start = path + "." if path else ""
    modules = {m[len(start) :].partition(".")[0] for m in SHARED if m.startswith(start) and m}
    return modules | set(SHARED.get(path, "").split())
