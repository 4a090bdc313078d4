# SPDX-License-Identifier: Apache-2.0
"""sampling.py: elements of data sets by chance: random numbers, samples, classes as often as
wanted. The numbers are those of TensorFlow for the same seeds."""

import numpy

import _situ
from situ._src.autograph.conversion import convert
from situ._src.data.dataset import RESHUFFLE, Dataset, _number
from situ._src.framework.api import BOTH, OPS
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.tensor import constant_value
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.random_ops import get_seed, random_uniform

_AT_A_TIME, _SEEN_BEFORE = 32, 10  # elements between estimates of how often a class is there


def random(seed=None, rerandomize_each_iteration=None, name=None):
    """Numbers from 0 to before 2^32, for ever."""
    one, two = get_seed(seed)
    return Dataset(
        "Random",
        (),
        [_number(one or 0), _number(two or 0)],
        TensorSpec([], "int64"),
        flags=RESHUFFLE if rerandomize_each_iteration else 0,
    )


def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
    """Elements of the data sets that another one names."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if choice_dataset.element_spec != TensorSpec([], "int64"):
        raise TypeError(
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar "
            f"`tf.int64` tensors but are {choice_dataset.element_spec}."
        )
    return _chosen(datasets, choice_dataset, stop_on_empty_dataset)


def _chosen(datasets, choices, stops):
    made = datasets[0]
    for other in datasets[1:]:
        made = made.concatenate(other)  # what all have in common
    return Dataset(
        "Choose",
        (choices, *datasets),
        (_situ.host(int(stops), as_dtype("int64")),),
        made.element_spec,
    )


def _draw(logits, seed):
    drawn = OPS["StatelessMultinomial"](logits, convert_to_tensor(1), seed)
    return OPS["Reshape"](drawn, convert_to_tensor([], "int32"))


def sample_from_datasets(
    datasets, weights=None, seed=None, stop_on_empty_dataset=False, rerandomize_each_iteration=None
):
    """Elements of data sets at random."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if isinstance(weights, Dataset):
        seeds = random(seed, rerandomize_each_iteration).batch(2)
        chances = weights.map(lambda *w: OPS["Log"](convert_to_tensor(list(w))))
        choices = Dataset.zip((chances, seeds)).map(_draw)
        return _chosen(datasets, choices, stop_on_empty_dataset)
    datasets, logits = _weighed(datasets, weights)
    if len(datasets) == 1:
        return datasets[0]
    choices = (
        random(seed, rerandomize_each_iteration).batch(2).map(lambda seeds: _draw(logits, seeds))
    )
    return _chosen(datasets, choices, stop_on_empty_dataset)


def _weighed(datasets, weights):
    """The data sets that may be drawn, and how likely each is."""
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
        return datasets[:1], None
    datasets = [d for d, w in zip(datasets, known) if w > 0]
    return datasets, numpy.log(known[known > 0])[None]


# Classes


def _mixture(initial, target):
    """How likely an element of each class is kept, and how likely one is taken as it comes."""
    tiny = numpy.finfo(initial.dtype.as_numpy_dtype).tiny
    ratio = target / OPS["Maximum"](initial, convert_to_tensor(tiny, initial.dtype))
    least, most = OPS["Min"](ratio, [0]), OPS["Max"](ratio, [0])
    return OPS["DivNoNan"](ratio - least, most - least), least


def _estimates(classes, n_classes):
    """How often each class has been there, once for each element."""
    seen = numpy.full(n_classes, _SEEN_BEFORE, "int64")

    def update(seen, some):
        one_hot = OPS["OneHot"](
            OPS["Cast"](some, DstT="int64"),
            n_classes,
            convert_to_tensor(1, "int64"),
            convert_to_tensor(0, "int64"),
        )
        seen = seen + OPS["Sum"](one_hot, [0])
        share = OPS["Cast"](seen, DstT="float32") / OPS["Cast"](
            OPS["Sum"](seen, [0]), DstT="float32"
        )
        return seen, OPS["Tile"](OPS["ExpandDims"](share, 0), [_AT_A_TIME, 1])

    return classes.batch(_AT_A_TIME).scan(seen, update).unbatch()


def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
    """Elements with their class, dropped by chance so that classes are there as often as wanted."""
    class_of = convert(class_func)
    target = convert_to_tensor(target_dist)

    def classed(*element):
        return class_of(*element), element if len(element) > 1 else element[0]

    whole = self.map(classed)
    if initial_dist is None:
        initial = _estimates(self.map(class_func), target.shape.as_list()[0])
        chances = initial.map(lambda share: _mixture(share, target))
        likely = None
    else:
        chances = Dataset.from_tensors(_mixture(convert_to_tensor(initial_dist), target)).repeat()
        likely = constant_value(_mixture(convert_to_tensor(initial_dist), target)[1])
    kept = _kept(whole, chances.map(lambda keep, _: keep), seed).prefetch(3)
    if likely is not None and likely in (0, 1):
        return kept if likely == 0 else whole
    weights = chances.map(lambda _, least: OPS["Pack"]([least, 1 - least]))
    return sample_from_datasets([whole, kept], weights, seed, True)


def _kept(whole, chances, seed):
    """Elements with their classes, each kept as likely as its class is to be."""

    def likely(keep, classed):
        kind, element = classed
        return kind, OPS["GatherV2"](keep, kind, 0), element

    judged = Dataset.zip((chances, whole)).map(likely)
    return judged.filter(
        lambda kind, keep, element: OPS["Less"](
            random_uniform([], seed=seed, dtype=keep.dtype), keep
        )
    ).map(lambda kind, keep, element: (kind, element))


Dataset.random = staticmethod(random)
Dataset.choose_from_datasets = staticmethod(choose_from_datasets)
Dataset.sample_from_datasets = staticmethod(sample_from_datasets)
Dataset.rejection_resample = rejection_resample


def _resample(class_func, target_dist, initial_dist=None, seed=None):
    """A transformation: elements with their class, as rejection_resample."""
    return lambda dataset: rejection_resample(dataset, class_func, target_dist, initial_dist, seed)


def _choose(datasets, choice_dataset, stop_on_empty_dataset=False):
    """Elements of the data sets that another one names."""
    return choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


for _prefix in ("data.experimental.", "contrib.data."):
    BOTH[_prefix + "rejection_resample"] = _resample
    BOTH[_prefix + "choose_from_datasets"] = _choose
    BOTH[_prefix + "sample_from_datasets"] = sample_from_datasets
