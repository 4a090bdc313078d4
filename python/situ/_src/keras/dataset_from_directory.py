# SPDX-License-Identifier: Apache-2.0
"""dataset_from_directory.py: datasets of the images or text files in a folder, and of windows of
a time series: tf.keras.utils.image_dataset_from_directory and others."""

from __future__ import annotations

import os
from typing import Any

import numpy

from situ._src.framework import api
from situ._src.framework.keywords import unsupported
from situ._src.keras.registry import keras_export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike

IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")


def _data(name):
    return api.named("data." + name)


def _list_files(directory, labels, class_names, endings, follow_links):
    """Returns paths, class ids (or None) and class names."""
    directory = os.fspath(directory)
    if labels != "inferred":
        paths = _listed(directory, endings, follow_links)
        if labels is None:
            return paths, None, None
        if len(labels) != len(paths):
            raise ValueError(
                "Expected the lengths of `labels` to match the number of files in the "
                f"target directory. len(labels) is {len(labels)} while we found "
                f"{len(paths)} files in directory {directory}."
            )
        return paths, list(labels), [str(v) for v in sorted(set(labels))]
    below = sorted(d for d in os.listdir(directory) if os.path.isdir(os.path.join(directory, d)))
    if class_names is not None and set(class_names) != set(below):
        raise ValueError(
            "The `class_names` passed did not match the names of the subdirectories "
            f"of the target directory. Expected: {below}, but received: {class_names}"
        )
    paths, class_ids = [], []
    for number, name in enumerate(class_names or below):
        some = _listed(os.path.join(directory, name), endings, follow_links)
        paths += some
        class_ids += [number] * len(some)
    return paths, class_ids, list(class_names or below)


def _listed(folder, endings, follow_links):
    return [
        os.path.join(root, name)
        for root, _, names in sorted(os.walk(folder, followlinks=follow_links))
        for name in sorted(names)
        if name.lower().endswith(endings)
    ]


def _check(labels, label_mode, validation_split, subset, shuffle, seed):
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(
            '`label_mode` argument must be one of "int", "categorical", "binary", or '
            f"None. Received: label_mode={label_mode}"
        )
    if labels is None or label_mode is None:
        labels = label_mode = None
    if validation_split and not 0 < validation_split < 1:
        raise ValueError(
            f"`validation_split` must be between 0 and 1, received: {validation_split}"
        )
    if (validation_split or subset) and not (validation_split and subset):
        raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
    if subset not in ("training", "validation", "both", None):
        raise ValueError(
            f'`subset` must be either "training", "validation" or "both", received: {subset}'
        )
    if validation_split and shuffle and seed is None:
        raise ValueError(
            "If using `validation_split` and shuffling the data, you must provide a "
            "`seed` argument, to make sure that there is no overlap between the "
            "training and validation subset."
        )
    return labels, label_mode


def _part(values, share, subset):
    if not share or values is None:
        return values
    count = int(share * len(values))
    return values[-count:] if subset == "validation" else values[:-count]


def _dataset(paths, labels, label_mode, classes, read):
    """Returns a dataset of the contents of files, with labels if any."""
    result = _data("Dataset").from_tensor_slices(numpy.array(paths, object)).map(read)
    if label_mode is None:
        return result
    if label_mode == "binary":
        class_ids = numpy.array(labels, "float32")[:, None]
    elif label_mode == "categorical":
        class_ids = numpy.eye(len(classes), dtype="float32")[numpy.array(labels)]
    else:
        class_ids = numpy.array(labels, "int32")
    return _data("Dataset").zip((result, _data("Dataset").from_tensor_slices(class_ids)))


def _from_directory(
    directory,
    labels,
    label_mode,
    class_names,
    batch_size,
    shuffle,
    seed,
    validation_split,
    subset,
    follow_links,
    endings,
    read,
    what,
    verbose=True,
):
    labels, label_mode = _check(labels, label_mode, validation_split, subset, shuffle, seed)
    paths, class_ids, classes = _list_files(directory, labels, class_names, endings, follow_links)
    if verbose:
        print(
            f"Found {len(paths)} files"
            + ("." if labels is None else f" belonging to {len(classes)} classes.")
        )
    if label_mode == "binary" and len(classes) != 2:
        raise ValueError(
            'When passing `label_mode="binary"`, there must be exactly 2 class_names. '
            f"Received: class_names={classes}"
        )
    if not paths:
        raise ValueError(f"No {what} found in directory {directory}. Allowed formats: {endings}")
    if shuffle:
        seed = numpy.random.randint(10**6) if seed is None else seed
        for some in (paths, class_ids):
            if some is not None:
                numpy.random.RandomState(seed).shuffle(some)
    subsets = [subset] if subset != "both" else ["training", "validation"]
    if validation_split and verbose:
        for one in subsets:
            print(f"Using {len(_part(paths, validation_split, one))} files for {one}.")
    created = []
    for one in subsets:
        some = _part(paths, validation_split, one)
        result = _dataset(some, _part(class_ids, validation_split, one), label_mode, classes, read)
        if shuffle and one != "validation" or shuffle and subset != "both":
            result = result.shuffle((batch_size or 128) * 8, seed=seed)
        result = result.batch(batch_size) if batch_size is not None else result
        result = result.prefetch(2)
        result.class_names, result.file_paths = classes, some
        created.append(result)
    return created if subset == "both" else created[0]


@keras_export("utils.image_dataset_from_directory", "preprocessing.image_dataset_from_directory")
def image_dataset_from_directory(
    directory: str,
    labels: Any = "inferred",
    label_mode: str = "int",
    class_names: Any = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: Any = (256, 256),
    shuffle: Any = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: Any = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    verbose: str | int = True,
) -> Any:
    """Returns a dataset of batches of the images in the subfolders (classes) of a folder.

    pad_to_aspect_ratio and the data_format "channels_first" are not supported and raise a
    NotImplementedError. verbose says whether to print the number of files and classes.

    Args:
      directory: The folder.
      labels: "inferred" (the names of subfolders), a list of labels in the order of the files, or
        None.
      label_mode: "int", "categorical", "binary", or None for no labels.
      class_names: Names of the subfolders, in the order of the classes.
      color_mode: "grayscale", "rgb" or "rgba".
      batch_size: Batch size; None: no batches.
      image_size: Height and width of the result.
      shuffle: Whether to shuffle; otherwise files are in the order of their names.
      seed: Seed of the order.
      validation_split: Fraction of the files for validation.
      subset: "training", "validation" or "both", with validation_split.
      interpolation: Method of `tf.image.resize`.
      follow_links: Whether to follow links to folders.
      crop_to_aspect_ratio: Whether to crop images, instead of distorting them.
      pad_to_aspect_ratio: Whether to pad images, instead of distorting them.
      data_format: "channels_last" or "channels_first".
      verbose: Whether to print the number of files.
    """
    unsupported("image_dataset_from_directory", pad_to_aspect_ratio=(pad_to_aspect_ratio, False))
    if data_format not in (None, "channels_last"):
        unsupported("image_dataset_from_directory", data_format=(data_format, "channels_last"))
    channels = {"rgb": 3, "rgba": 4, "grayscale": 1}.get(color_mode)
    if channels is None:
        raise ValueError(
            '`color_mode` must be one of {"rgb", "rgba", "grayscale"}. Received: '
            f"color_mode={color_mode}"
        )
    find, size = api.named, tuple(image_size)

    def read(path):
        image = find("io.decode_image")(
            find("io.read_file")(path), channels=channels, expand_animations=False
        )
        image.set_shape([None, None, channels])
        if crop_to_aspect_ratio:
            shape = find("shape")(image)
            high = find("minimum")(shape[0], shape[1] * size[0] // size[1])
            wide = find("minimum")(shape[1], shape[0] * size[1] // size[0])
            image = find("image.crop_to_bounding_box")(
                image, (shape[0] - high) // 2, (shape[1] - wide) // 2, high, wide
            )
        image = find("image.resize")(image, size, method=interpolation)
        image.set_shape([*size, channels])
        return image

    return _from_directory(
        directory,
        labels,
        label_mode,
        class_names,
        batch_size,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        IMAGE_SUFFIXES,
        read,
        "images",
        verbose,
    )


@keras_export("utils.text_dataset_from_directory", "preprocessing.text_dataset_from_directory")
def text_dataset_from_directory(
    directory: str,
    labels: Any = "inferred",
    label_mode: str = "int",
    class_names: Any = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: Any = None,
    follow_links: bool = False,
) -> Any:
    """Returns a dataset of batches of the .txt files in the subfolders (classes) of a folder.

    Args:
      directory: The folder.
      labels: "inferred" (the names of subfolders), a list of labels in the order of the files, or
        None.
      label_mode: "int", "categorical", "binary", or None for no labels.
      class_names: Names of the subfolders, in the order of the classes.
      batch_size: Batch size; None: no batches.
      max_length: Largest number of bytes of a text; None: no limit.
      shuffle: Whether to shuffle; otherwise files are in the order of their names.
      seed: Seed of the order.
      validation_split: Fraction of the files for validation.
      subset: "training", "validation" or "both", with validation_split.
      follow_links: Whether to follow links to folders.
    """

    def read(path):
        text = api.named("io.read_file")(path)
        return text if max_length is None else api.named("strings.substr")(text, 0, max_length)

    return _from_directory(
        directory,
        labels,
        label_mode,
        class_names,
        batch_size,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        (".txt",),
        read,
        "text files",
    )


def _check_series(length, start_index, end_index, sampling_rate, sequence_stride):
    """Raises ValueError for arguments of timeseries_dataset_from_array that are out of range."""
    if start_index and not 0 <= start_index < length:
        raise ValueError(
            "`start_index` must be 0 or greater and lower than the length of the data. Received: "
            f"start_index={start_index}, for data of length {length}"
        )
    if end_index and not (start_index or 0) < end_index < length:
        raise ValueError(
            "`end_index` must be higher than `start_index` and lower than the length of the data. "
            f"Received: start_index={start_index}, end_index={end_index}, for data of length "
            f"{length}"
        )
    for name, step in (("sampling_rate", sampling_rate), ("sequence_stride", sequence_stride)):
        if not 0 < step < length:
            raise ValueError(
                f"`{name}` must be higher than 0 and lower than the length of the data. Received: "
                f"{name}={step}, for data of length {length}"
            )


@keras_export("utils.timeseries_dataset_from_array", "preprocessing.timeseries_dataset_from_array")
def timeseries_dataset_from_array(
    data: TensorLike,
    targets: TensorLike,
    sequence_length: TensorLike,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: Any = None,
    end_index: Any = None,
) -> Any:
    """Returns a dataset of batches of windows of a series, with the target of the first step of
    each.

    Args:
      data: Array of the steps of a series.
      targets: Target of each step, or None.
      sequence_length: Number of steps of a window.
      sequence_stride: Steps between the starts of windows.
      sampling_rate: Steps between the elements of a window.
      batch_size: Batch size; None: no batches.
      shuffle: Whether to shuffle the elements.
      seed: Seed of the order.
      start_index: First step to use.
      end_index: Step to end before.

    Raises:
      ValueError: If an index or a step is out of range.
    """
    _check_series(len(data), start_index, end_index, sampling_rate, sequence_stride)
    start, end = start_index or 0, len(data) if end_index is None else end_index
    last = end - (sequence_length - 1) * sampling_rate
    if targets is not None:
        last = min(last, end, len(targets) + start)
    firsts = numpy.arange(start, max(last, start), sequence_stride)
    if shuffle:
        seed = numpy.random.randint(10**6) if seed is None else seed
        numpy.random.RandomState(seed).shuffle(firsts)
    series, find = numpy.asarray(data), api.named
    steps = numpy.arange(0, sequence_length * sampling_rate, sampling_rate)
    values = find("constant")(series)
    result = (
        _data("Dataset")
        .from_tensor_slices(firsts)
        .map(lambda first: find("gather")(values, first + find("constant")(steps, "int64")))
    )
    if targets is not None:
        wanted = find("constant")(numpy.asarray(targets))
        labels = (
            _data("Dataset")
            .from_tensor_slices(firsts)
            .map(lambda first: find("gather")(wanted, first))
        )
        result = _data("Dataset").zip((result, labels))
    if batch_size is not None:
        if shuffle:
            result = result.shuffle(batch_size * 8, seed=seed)
        result = result.batch(batch_size)
    elif shuffle:
        result = result.shuffle(1024, seed=seed)
    return result.prefetch(2)
