# SPDX-License-Identifier: Apache-2.0
"""image_generator.py: tf.keras.preprocessing.image.ImageDataGenerator: endless batches of augmented
images from arrays, folders and data frames."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import logs
from situ._src.framework.keywords import reject_unknown
from situ._src.keras import context, image_augmentation, image_iterators
from situ._src.keras.registry import keras_export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, DTypeLike, TensorLike


@keras_export("preprocessing.image.ImageDataGenerator")
class ImageDataGenerator:
    """Augments and normalizes images; flow, flow_from_directory and flow_from_dataframe yield
    batches.
    """

    featurewise_center: Any
    samplewise_center: Any
    featurewise_std_normalization: Any
    samplewise_std_normalization: Any
    zca_whitening: Any
    zca_epsilon: Any
    rotation_range: Any
    height_shift_range: Any
    width_shift_range: Any
    shear_range: Any
    horizontal_flip: Any
    vertical_flip: Any
    channel_shift_range: Any
    brightness_range: Any
    fill_mode: Any
    cval: Any
    interpolation_order: Any
    rescale: Any
    preprocessing_function: Any
    mean: Any
    std: Any
    zca_whitening_matrix: Any
    zoom_range: Any

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: float = 0.0,
        height_shift_range: float = 0.0,
        brightness_range: Any = None,
        shear_range: float = 0.0,
        zoom_range: float = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: Any = None,
        preprocessing_function: Callable | None = None,
        data_format: str | None = None,
        validation_split: float | None = 0.0,
        interpolation_order: int = 1,
        dtype: DTypeLike = None,
    ):
        given = dict(locals())
        given.pop("self")
        self.__dict__.update(given)
        self.data_format = data_format or context.setting("format")
        self.dtype = dtype or context.setting("float")
        if self.data_format not in ("channels_last", "channels_first"):
            raise ValueError(
                '`data_format` should be `"channels_last"` (channel after row and '
                'column) or `"channels_first"` (channel before row and column). '
                f"Received: {data_format}"
            )
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                "`validation_split` must be strictly between 0 and 1.  Received: "
                f"{validation_split}"
            )
        self._validation_split = validation_split
        self.mean = self.std = self.zca_whitening_matrix = None
        if isinstance(zoom_range, (float, int)):
            self.zoom_range = [1 - zoom_range, 1 + zoom_range]
        elif len(zoom_range) != 2 or not all(isinstance(v, (float, int)) for v in zoom_range):
            raise ValueError(
                "`zoom_range` should be a float or a tuple or list of two floats. "
                f"Received: {zoom_range}"
            )
        if brightness_range is not None and (
            not isinstance(brightness_range, (tuple, list)) or len(brightness_range) != 2
        ):
            raise ValueError(
                "`brightness_range should be tuple or list of two floats. Received: "
                f"{brightness_range}"
            )
        self.featurewise_center |= zca_whitening or featurewise_std_normalization
        self.samplewise_center |= samplewise_std_normalization

    # Sources of images

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int | None = 32,
        shuffle: Any = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str | None = "png",
        ignore_class_split: bool = False,
        subset: Any = None,
    ) -> Any:
        """Returns an iterator over batches of arrays.

        With a subset, both subsets must have the same classes, unless ignore_class_split is set.
        """
        return image_iterators.NumpyArrayIterator(
            x,
            y,
            self,
            batch_size=batch_size,
            shuffle=shuffle,
            sample_weight=sample_weight,
            seed=seed,
            data_format=self.data_format,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            ignore_class_split=ignore_class_split,
            dtype=self.dtype,
        )

    def flow_from_directory(
        self,
        directory: str,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str = "categorical",
        batch_size: int | None = 32,
        shuffle: Any = True,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str | None = "png",
        follow_links: bool = False,
        subset: Any = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
    ) -> Any:
        """Returns an iterator over batches of the images of a folder with one subfolder per
        class.
        """
        return image_iterators.DirectoryIterator(
            directory,
            self,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode=class_mode,
            data_format=self.data_format,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            follow_links=follow_links,
            subset=subset,
            interpolation=interpolation,
            keep_aspect_ratio=keep_aspect_ratio,
            dtype=self.dtype,
        )

    def flow_from_dataframe(
        self,
        dataframe: Any,
        directory: str | None = None,
        x_col: str = "filename",
        y_col: str = "class",
        weight_col: Any = None,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str = "categorical",
        batch_size: int | None = 32,
        shuffle: Any = True,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str | None = "png",
        subset: Any = None,
        interpolation: str = "nearest",
        validate_filenames: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Returns an iterator over batches of the images that a pandas data frame names."""
        for old in ("has_ext", "sort", "drop_duplicates"):  # Keras accepts and ignores these
            kwargs.pop(old, None)
        reject_unknown(self.flow_from_dataframe, kwargs)
        return image_iterators.DataFrameIterator(
            dataframe,
            directory,
            self,
            x_col=x_col,
            y_col=y_col,
            weight_col=weight_col,
            target_size=target_size,
            color_mode=color_mode,
            classes=classes,
            class_mode=class_mode,
            data_format=self.data_format,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            save_to_dir=save_to_dir,
            save_prefix=save_prefix,
            save_format=save_format,
            subset=subset,
            interpolation=interpolation,
            validate_filenames=validate_filenames,
            dtype=self.dtype,
        )

    # What is done to each

    def standardize(self, x: TensorLike) -> Any:
        """Rescales and normalizes a batch, in place if possible."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= numpy.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= numpy.std(x, keepdims=True) + 1e-6
        if self.featurewise_center and self._has("mean", "featurewise_center"):
            x -= self.mean
        if self.featurewise_std_normalization and self._has("std", "featurewise_std_normalization"):
            x /= self.std + 1e-6
        if self.zca_whitening and self._has("zca_whitening_matrix", "zca_whitening"):
            x = (x.reshape(-1, x.size) @ self.zca_whitening_matrix).reshape(x.shape)
        return x

    def _has(self, what, wish):
        if getattr(self, what) is None:
            logs.warn(
                "This ImageDataGenerator specifies `%s`, but it hasn't been fit on any "
                "training data. Fit it first by calling `.fit(numpy_data)`.",
                wish,
            )
            return False
        return True

    @staticmethod
    def _shift(range_, size):
        if not range_ and not isinstance(range_, (list, tuple, numpy.ndarray)):
            return 0
        if isinstance(range_, (list, tuple, numpy.ndarray, int)):
            shift = numpy.random.choice(range_) * numpy.random.choice([-1, 1])
        else:
            shift = numpy.random.uniform(-range_, range_)
        return shift * size if numpy.max(range_) < 1 else shift

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict:
        """Returns random parameters for apply_transform."""
        if seed is not None:
            numpy.random.seed(seed)
        uniform = numpy.random.uniform
        theta = uniform(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx = self._shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = self._shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = uniform(-self.shear_range, self.shear_range) if self.shear_range else 0
        low, high = self.zoom_range
        zx, zy = (1, 1) if low == high == 1 else uniform(low, high, 2)
        horizontal = (numpy.random.random() < 0.5) * self.horizontal_flip
        vertical = (numpy.random.random() < 0.5) * self.vertical_flip
        color = self.channel_shift_range
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": horizontal,
            "flip_vertical": vertical,
            "channel_shift_intensity": uniform(-color, color) if color else None,
            "brightness": uniform(*self.brightness_range) if self.brightness_range else None,
        }

    def apply_transform(self, x: TensorLike, transform_parameters: Any) -> Any:
        """Returns a transformed image."""
        given = transform_parameters
        row, column, channel = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        x = image_augmentation.apply_affine_transform(
            x,
            given.get("theta", 0),
            given.get("tx", 0),
            given.get("ty", 0),
            given.get("shear", 0),
            given.get("zx", 1),
            given.get("zy", 1),
            row,
            column,
            channel,
            self.fill_mode,
            self.cval,
            self.interpolation_order,
        )
        if given.get("channel_shift_intensity") is not None:
            x = image_augmentation.apply_channel_shift(x, given["channel_shift_intensity"], channel)
        if given.get("flip_horizontal", False):
            x = numpy.flip(x, column)
        if given.get("flip_vertical", False):
            x = numpy.flip(x, row)
        if given.get("brightness") is not None:
            x = image_augmentation.apply_brightness_shift(x, given["brightness"], False)
        return x

    def random_transform(self, x: Any, seed: int | None = None) -> Any:
        """Applies a random transform to an image."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(
        self, x: TensorLike, augment: bool = False, rounds: int = 1, seed: int | None = None
    ) -> None:
        """Computes the mean, standard deviation and whitening matrix of images."""
        x = numpy.array(x, self.dtype)
        if x.ndim != 4:
            raise ValueError(
                f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}"
            )
        if seed is not None:
            numpy.random.seed(seed)
        if augment:
            x = numpy.concatenate(
                [numpy.stack([self.random_transform(one) for one in x]) for _ in range(rounds)]
            )
        axes = (0, self.row_axis, self.col_axis)
        shape = [1, 1, 1]
        shape[self.channel_axis - 1] = x.shape[self.channel_axis]
        if self.featurewise_center:
            self.mean = numpy.mean(x, axis=axes).reshape(shape)
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = numpy.std(x, axis=axes).reshape(shape)
            x /= self.std + 1e-6
        if self.zca_whitening:
            flat = x.reshape(len(x), -1)
            u, s, _ = numpy.linalg.svd(flat.T @ flat / len(flat))
            self.zca_whitening_matrix = (u / numpy.sqrt(s + self.zca_epsilon)) @ u.T
