# SPDX-License-Identifier: Apache-2.0
"""sampling.py: random elements of datasets: tf.data.Dataset.random, sample_from_datasets,
rejection_resample. Equal seeds give TensorFlow's numbers."""

from __future__ import annotations

import numpy

import _situ
from situ._src.autograph.conversion import convert
from situ._src.data.dataset import RESHUFFLE, Dataset, number
from situ._src.framework.api import BOTH, OPS
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.tensor import constant_value
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.random_ops import get_seed, random_uniform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable, Sequence, TensorLike

_BATCH = 32  # elements per estimate of class frequencies
_INITIAL_COUNT = 10  # of each class


def random(seed=None, rerandomize_each_iteration=None, name=None):
    """Creates an endless dataset of random int64 in [0, 2^32)."""
    del name  # a name for debugging only
    one, two = get_seed(seed)
    return Dataset(
        "Random",
        (),
        [number(one or 0), number(two or 0)],
        TensorSpec([], "int64"),
        flags=RESHUFFLE if rerandomize_each_iteration else 0,
    )


def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
    """Creates a dataset whose elements come from the datasets with the indices of
    `choice_dataset`."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if not isinstance(choice_dataset, Dataset):
        raise TypeError(
            "Invalid `choice_dataset`. `choice_dataset` should be a `tf.data.Dataset` but is "
            f"{type(choice_dataset)}."
        )
    if choice_dataset.element_spec != TensorSpec([], "int64"):
        raise TypeError(
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar "
            f"`tf.int64` tensors but are {choice_dataset.element_spec}."
        )
    return _choose_from(datasets, choice_dataset, stop_on_empty_dataset)


def _choose_from(datasets, choices, stops):
    """Creates a dataset that takes each element from the input with the next index."""
    result = datasets[0]
    for i, other in enumerate(datasets[1:], 1):
        try:
            result = result.concatenate(other)  # merges the element specs
        except TypeError as error:
            raise TypeError(
                "Invalid `datasets`. `datasets` must have compatible element specs.\n Dataset 0 "
                f"element_spec={datasets[0].element_spec}.\nDataset {i} "
                f"element_spec={other.element_spec}."
            ) from error
    return Dataset(
        "Choose",
        (choices, *datasets),
        (_situ.host(int(stops), as_dtype("int64")),),
        result.element_spec,
    )


def _draw(logits, seed):
    drawn = OPS["StatelessMultinomial"](logits, convert_to_tensor(1), seed)
    return OPS["Reshape"](drawn, convert_to_tensor([], "int32"))


def sample_from_datasets(
    datasets: Any,
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
    rerandomize_each_iteration: bool | None = None,
):
    """Samples elements from datasets at random.

    Args:
      datasets: A list of datasets with compatible elements.
      weights: The probability of each dataset, a list or a dataset of lists; uniform by default.
      seed: The seed of the random numbers.
      stop_on_empty_dataset: Whether to stop when a dataset ends; otherwise it is skipped.
      rerandomize_each_iteration: Whether each iteration draws other numbers.

    Returns:
      A dataset.

    Raises:
      TypeError: If the weights are not floating point.
      ValueError: If `datasets` is empty or the weights have another length.
    """
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if isinstance(weights, Dataset):
        seeds = random(seed, rerandomize_each_iteration).batch(2)
        logits = weights.map(lambda *w: OPS["Log"](convert_to_tensor(list(w))))
        choices = Dataset.zip((logits, seeds)).map(_draw)
        return _choose_from(datasets, choices, stop_on_empty_dataset)
    datasets, logits = _with_logits(datasets, weights)
    if len(datasets) == 1:
        return datasets[0]
    choices = (
        random(seed, rerandomize_each_iteration).batch(2).map(lambda seeds: _draw(logits, seeds))
    )
    return _choose_from(datasets, choices, stop_on_empty_dataset)


def _with_logits(datasets, weights):
    """Returns the datasets with a positive weight and the logits of their weights."""
    if weights is None:
        return datasets, numpy.ones([1, len(datasets)], "float32")
    weights = convert_to_tensor(weights)
    if weights.dtype.name not in ("float32", "float64"):
        raise TypeError(
            "Invalid `weights`. `weights` type must be either `tf.float32` or "
            f"`tf.float64` but is {weights.dtype.name}."
        )
    if weights.shape.as_list() not in ([len(datasets)], [None]):
        raise ValueError(
            "Invalid `weights`. `weights` should have the same length as `datasets` "
            f"but its shape is {weights.shape} and `len(datasets)={len(datasets)}`."
        )
    known = constant_value(weights)
    if known is None:
        return datasets, OPS["ExpandDims"](OPS["Log"](weights), 0)
    if not known.any():
        return [datasets[0].take(0)], None
    datasets = [d for d, w in zip(datasets, known) if w > 0]
    return datasets, numpy.log(known[known > 0])[None]


def _mixture(initial, target):
    """Returns the probability to keep an element of each class, and to take an element without
    rejection."""
    tiny = numpy.finfo(initial.dtype.as_numpy_dtype).tiny
    ratio = target / OPS["Maximum"](initial, convert_to_tensor(tiny, initial.dtype))
    least, most = OPS["Min"](ratio, [0]), OPS["Max"](ratio, [0])
    return OPS["DivNoNan"](ratio - least, most - least), least


def _estimates(classes, n_classes):
    """Estimates the class frequencies, once per element."""
    counts = numpy.full(n_classes, _INITIAL_COUNT, "int64")

    def update(counts, labels):
        one_hot = OPS["OneHot"](
            OPS["Cast"](labels, DstT="int64"),
            n_classes,
            convert_to_tensor(1, "int64"),
            convert_to_tensor(0, "int64"),
        )
        counts = counts + OPS["Sum"](one_hot, [0])
        share = OPS["Cast"](counts, DstT="float32") / OPS["Cast"](
            OPS["Sum"](counts, [0]), DstT="float32"
        )
        return counts, OPS["Tile"](OPS["ExpandDims"](share, 0), [_BATCH, 1])

    return classes.batch(_BATCH).scan(counts, update).unbatch()


def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
    """Resamples a dataset to a class distribution by dropping elements at random.

    Args:
      class_func: A function of an element that returns its class.
      target_dist: The probability of each class in the result.
      initial_dist: The probability of each class in the input; estimated by default.
      seed: The seed of the random numbers.
      name: Ignored.

    Returns:
      A dataset of pairs (class, element).
    """
    del name  # a name for debugging only
    class_of = convert(class_func)
    target = OPS["Cast"](convert_to_tensor(target_dist), DstT="float32")

    def with_class(*element):
        return class_of(*element), element if len(element) > 1 else element[0]

    labeled = self.map(with_class)
    if initial_dist is None:
        initial = _estimates(self.map(class_func), target.shape.as_list()[0])
        mixtures = initial.map(lambda share: _mixture(share, target))
        likely = None
    else:
        initial = OPS["Cast"](convert_to_tensor(initial_dist), DstT="float32")
        mixtures = Dataset.from_tensors(_mixture(initial, target)).repeat()
        likely = constant_value(_mixture(initial, target)[1])
    kept = _reject(labeled, mixtures.map(lambda keep, _: keep), seed).prefetch(3)
    if likely is not None and likely in (0, 1):
        return kept if likely == 0 else labeled
    weights = mixtures.map(lambda _, least: OPS["Pack"]([least, 1 - least]))
    return sample_from_datasets([labeled, kept], weights, seed, True)


def _reject(labeled, probabilities, seed):
    """Keeps each element with the probability of its class."""

    def with_probability(keep, labeled_element):
        kind, element = labeled_element
        return kind, OPS["GatherV2"](keep, kind, 0), element

    candidates = Dataset.zip((probabilities, labeled)).map(with_probability)
    return candidates.filter(
        lambda kind, keep, element: OPS["Less"](
            random_uniform([], seed=seed, dtype=keep.dtype), keep
        )
    ).map(lambda kind, keep, element: (kind, element))


Dataset.random = staticmethod(random)
Dataset.choose_from_datasets = staticmethod(choose_from_datasets)
Dataset.sample_from_datasets = staticmethod(sample_from_datasets)
Dataset.rejection_resample = rejection_resample


def _resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike = None,
    seed: int | None = None,
) -> Callable[[Dataset], Dataset]:
    """Returns a transformation that drops elements until their classes have a distribution.

    Args:
      class_func: Function from an element to its class, a scalar int32 tensor.
      target_dist: Probabilities of the classes in the result, a float tensor [num_classes].
      initial_dist: Probabilities of the classes in the dataset; default: they are estimated.
      seed: Seed of the random numbers.

    Returns:
      A function for `Dataset.apply`.
    """
    return lambda dataset: rejection_resample(dataset, class_func, target_dist, initial_dist, seed)


def _choose(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Returns a dataset that takes each element from one of several datasets.

    Args:
      datasets: The datasets, with elements of the same structure.
      choice_dataset: Dataset of scalar int64 tensors: the index of the dataset of each element.
      stop_on_empty_dataset: Whether to stop where the chosen dataset has ended; else it is
        skipped.
    """
    return choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


for _prefix in ("data.experimental.", "contrib.data."):
    BOTH[_prefix + "rejection_resample"] = _resample
    BOTH[_prefix + "choose_from_datasets"] = _choose
    BOTH[_prefix + "sample_from_datasets"] = sample_from_datasets
