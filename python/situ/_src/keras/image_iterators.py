# SPDX-License-Identifier: Apache-2.0
"""image_iterators.py: the iterators of ImageDataGenerator over arrays, folders and data frames."""

from __future__ import annotations

import os
from typing import Any

import numpy

from situ._src.keras import context, data_adapter, image_utils
from situ._src.keras.registry import keras_export

WHITE_LIST = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")


def _named(thing):
    return keras_export("preprocessing.image." + thing.__name__)(thing)


@_named
class Iterator(data_adapter.Sequence):
    """Batches by index, and as an endless iterator."""

    white_list_formats = WHITE_LIST

    def __init__(self, n: int, batch_size: int | None, shuffle: Any, seed: int | None) -> None:
        self.n, self.batch_size, self.seed, self.shuffle = n, batch_size, seed, shuffle
        self.batch_index = self.total_batches_seen = 0
        self.index_array = None
        self.index_generator = self._flow_index()

    def _set_index_array(self):
        self.index_array = (
            numpy.random.permutation(self.n) if self.shuffle else numpy.arange(self.n)
        )

    def _seed(self):
        if self.seed is not None:
            numpy.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1

    def __len__(self):
        return (self.n + self.batch_size - 1) // self.batch_size

    def __getitem__(self, idx):
        if idx >= len(self):
            raise ValueError(
                f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}"
            )
        self._seed()
        if self.index_array is None:
            self._set_index_array()
        some = self.index_array[self.batch_size * idx : self.batch_size * (idx + 1)]
        return self._get_batches_of_transformed_samples(some)

    def on_epoch_end(self):
        self._set_index_array()

    def reset(self):
        self.batch_index = 0

    def _flow_index(self):
        self.reset()
        while True:
            self._seed()
            if self.batch_index == 0:
                self._set_index_array()
            at = self.batch_index * self.batch_size % max(self.n, 1)
            self.batch_index = self.batch_index + 1 if self.n > at + self.batch_size else 0
            yield self.index_array[at : at + self.batch_size]

    def __iter__(self):
        return self

    def __next__(self):
        return self._get_batches_of_transformed_samples(next(self.index_generator))

    next = __next__

    def _get_batches_of_transformed_samples(self, index_array):
        raise NotImplementedError

    def _save(self, batch, indices):
        """Saves the images of a batch if save_to_dir is set."""
        if not self.save_to_dir:
            return
        for i, j in enumerate(indices):
            name = f"{self.save_prefix}_{j}_{numpy.random.randint(1e7)}.{self.save_format}"
            img = image_utils.array_to_img(batch[i], self.data_format, scale=True)
            img.save(os.path.join(self.save_to_dir, name))


def _share(count, split, subset):
    """Returns the range of the examples of a subset."""
    if subset is None or not split:
        return 0, count
    if subset not in ("training", "validation"):
        raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation".')
    low, high = (0, split) if subset == "validation" else (split, 1)
    return int(low * count), int(high * count)


@_named
class NumpyArrayIterator(Iterator):
    """Batches of arrays."""

    def __init__(
        self,
        x,
        y,
        image_data_generator,
        batch_size=32,
        shuffle=False,
        sample_weight=None,
        seed=None,
        data_format=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        ignore_class_split=False,
        dtype=None,
    ):
        self.dtype, self.data_format = dtype or "float32", data_format
        misc = (
            [numpy.asarray(v) for v in x[1]]
            if isinstance(x, (list, tuple)) and isinstance(x[1], list)
            else [numpy.asarray(x[1])]
            if isinstance(x, tuple)
            else []
        )
        x = numpy.asarray(x[0] if misc else x)
        for what, other in (("labels", y), ("sample weights", sample_weight)):
            if other is not None and len(other) != len(x):
                raise ValueError(
                    f"`x` (images tensor) and `{'y' if what == 'labels' else what}` "
                    f"({what}) should have the same length. Found: x.shape = "
                    f"{x.shape}, {len(other)} {what}"
                )
        split = image_data_generator._validation_split
        if subset is not None and y is not None and not ignore_class_split:
            at = int(len(x) * (split or 0))
            if not numpy.array_equal(numpy.unique(y[:at]), numpy.unique(y[at:])):
                raise ValueError(
                    "Training and validation subsets have different number of classes after the "
                    "split. If your numpy arrays are sorted by the label, you might want to "
                    "shuffle them."
                )
        cut = slice(*self._part(len(x), split, subset))
        pick = lambda v: None if v is None else numpy.asarray(v)[cut]
        self.x, self.y, self.sample_weight = (
            pick(x).astype(self.dtype),
            pick(y),
            pick(sample_weight),
        )
        self.x_misc = [m[cut] for m in misc]
        if self.x.ndim != 4:
            raise ValueError(
                "Input data in `NumpyArrayIterator` should have rank 4. You passed "
                f"an array with shape {self.x.shape}"
            )
        self.image_data_generator = image_data_generator
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    @staticmethod
    def _part(count, split, subset):
        """As of a folder, but the rest begins where the validation ends."""
        first, last = _share(count, split, subset)
        return first, count if subset == "training" else last

    def _get_batches_of_transformed_samples(self, index_array):
        change = self.image_data_generator
        created = numpy.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        for i, j in enumerate(index_array):
            one = self.x[j].copy()
            created[i] = change.standardize(
                change.apply_transform(one, change.get_random_transform(one.shape))
            )
        self._save(created, index_array)
        result = (
            created if not self.x_misc else [created, *[m[index_array] for m in self.x_misc]],
        )
        if self.y is None:
            return result[0]
        result += (self.y[index_array],)
        return result if self.sample_weight is None else (*result, self.sample_weight[index_array])


class _Files(Iterator):
    """Base class of batches of files; subclasses define `filepaths`, `labels` and `class_mode`."""

    sample_weight = None

    def _describe_images(
        self,
        image_data_generator,
        target_size,
        color_mode,
        data_format,
        save_to_dir,
        save_prefix,
        save_format,
        subset,
        interpolation,
        keep_aspect_ratio,
        dtype,
    ):
        if color_mode not in ("rgb", "rgba", "grayscale"):
            raise ValueError(
                f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".'
            )
        self.image_data_generator, self.target_size = image_data_generator, tuple(target_size)
        self.color_mode, self.data_format = color_mode, data_format or context.setting("format")
        depth = {"rgb": 3, "rgba": 4, "grayscale": 1}[color_mode]
        self.image_shape = (
            (depth, *self.target_size)
            if self.data_format == "channels_first"
            else (*self.target_size, depth)
        )
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        self.interpolation, self.keep_aspect_ratio = interpolation, keep_aspect_ratio
        self.subset, self.dtype = subset, dtype or "float32"
        self.split = image_data_generator._validation_split

    def _get_batches_of_transformed_samples(self, index_array):
        change, paths = self.image_data_generator, self.filepaths
        created = numpy.zeros((len(index_array), *self.image_shape), self.dtype)
        for i, j in enumerate(index_array):
            img = image_utils.load_img(
                paths[j],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
                keep_aspect_ratio=self.keep_aspect_ratio,
            )
            x = image_utils.img_to_array(img, self.data_format)
            x = change.apply_transform(x, change.get_random_transform(x.shape))
            created[i] = change.standardize(x)
        self._save(created, index_array)
        if self.class_mode == "input":
            result = (created, created.copy())
        elif self.class_mode in ("binary", "sparse"):
            result = (created, numpy.asarray(self.classes)[index_array].astype(self.dtype))
        elif self.class_mode == "categorical":
            labels = numpy.zeros((len(created), len(self.class_indices)), self.dtype)
            for i, j in enumerate(index_array):
                labels[i, self.classes[j]] = 1
            result = (created, labels)
        elif self.class_mode == "multi_output":
            result = (created, [column[index_array] for column in self.labels])
        elif self.class_mode == "raw":
            result = (created, self.labels[index_array])
        else:
            return created
        return result if self.sample_weight is None else (*result, self.sample_weight[index_array])


@_named
class DirectoryIterator(_Files):
    """Batches of the images of a folder, whose subfolders are the classes."""

    def __init__(
        self,
        directory,
        image_data_generator,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size: int | None = 32,
        shuffle: Any = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir=None,
        save_prefix="",
        save_format: str | None = "png",
        follow_links: bool = False,
        subset=None,
        interpolation="nearest",
        keep_aspect_ratio: bool = False,
        dtype: Any = None,
    ) -> None:
        self._describe_images(
            image_data_generator,
            target_size,
            color_mode,
            data_format,
            save_to_dir,
            save_prefix,
            save_format,
            subset,
            interpolation,
            keep_aspect_ratio,
            dtype,
        )
        if class_mode not in ("categorical", "binary", "sparse", "input", None):
            raise ValueError(
                f'Invalid class_mode: {class_mode}; expected one of "categorical", '
                '"binary", "sparse", "input" or None'
            )
        self.directory, self.class_mode = directory, class_mode
        if not classes:
            classes = sorted(
                d for d in os.listdir(directory) if os.path.isdir(os.path.join(directory, d))
            )
        self.num_classes = len(classes)
        self.class_indices = {name: i for i, name in enumerate(classes)}
        self.filenames, labels = [], []
        for name in classes:
            some = [
                f
                for f in _files(os.path.join(directory, name), follow_links)
                if f.lower().rpartition(".")[2] in WHITE_LIST
            ]
            first, last = _share(len(some), self.split, subset)
            self.filenames += [os.path.relpath(f, directory) for f in some[first:last]]
            labels += [self.class_indices[name]] * (last - first)
        self.samples, self.classes = len(labels), numpy.array(labels, "int32")
        self.filepaths = [os.path.join(directory, f) for f in self.filenames]
        self.labels = self.classes
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(self.samples, batch_size, shuffle, seed)


def _files(folder, follow_links=False):
    """Returns the files below a folder, sorted."""
    for root, _, names in sorted(os.walk(folder, followlinks=follow_links)):
        yield from (os.path.join(root, name) for name in sorted(names))


@_named
class DataFrameIterator(_Files):
    """Batches of the images that a column of a data frame names."""

    def __init__(
        self,
        dataframe,
        directory=None,
        image_data_generator=None,
        x_col="filename",
        y_col="class",
        weight_col=None,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        data_format="channels_last",
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        interpolation="nearest",
        keep_aspect_ratio=False,
        dtype="float32",
        validate_filenames=True,
    ):
        self._describe_images(
            image_data_generator,
            target_size,
            color_mode,
            data_format,
            save_to_dir,
            save_prefix,
            save_format,
            subset,
            interpolation,
            keep_aspect_ratio,
            dtype,
        )
        self.directory, self.class_mode = directory or "", class_mode
        table = dataframe.copy()
        table[x_col] = [os.path.join(self.directory, str(f)) for f in table[x_col]]
        if validate_filenames:
            table = table[
                [
                    f.lower().rpartition(".")[2] in WHITE_LIST and os.path.isfile(f)
                    for f in table[x_col]
                ]
            ]
        if class_mode in ("categorical", "binary", "sparse"):
            if classes:
                table = table[table[y_col].isin(classes)]
            names = list(classes) if classes else sorted(set(table[y_col]))
            self.class_indices = {name: i for i, name in enumerate(names)}
        first, last = _share(len(table), self.split, subset)
        table = table.iloc[first:last]
        self.filepaths = list(table[x_col])
        self.filenames, self.samples = list(dataframe[x_col]), len(table)
        self.labels = self.classes = None
        suffix = ""
        if class_mode in ("categorical", "binary", "sparse"):
            self.classes = [self.class_indices[name] for name in table[y_col]]
            self.labels = self.classes
            suffix = f" belonging to {len(self.class_indices)} classes"
        elif class_mode == "multi_output":
            self.labels = [numpy.array(table[c].tolist()) for c in y_col]
        elif class_mode == "raw":
            self.labels = table[y_col].values
        if weight_col:
            self.sample_weight = table[weight_col].values
        kind = "validated " if validate_filenames else "non-validated "
        print(f"Found {self.samples} {kind}image filenames{suffix}.")
        super().__init__(self.samples, batch_size, shuffle, seed)
