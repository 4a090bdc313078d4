# SPDX-License-Identifier: Apache-2.0
"""nested.py: datasets whose elements are datasets: slices of lists of datasets."""

from situ._src.data.dataset import Dataset
from situ._src.framework.nest import DATA


def _is_list(leaf):
    return isinstance(leaf, Dataset) or (
        isinstance(leaf, list) and any(isinstance(one, Dataset) for one in leaf)
    )


def has_datasets(tensors):
    """Returns whether a leaf of a structure is a dataset or a list of datasets."""
    return any(_is_list(leaf) for leaf in DATA.flatten(tensors))


def _slices(leaf):
    """Returns the dataset of the slices of a leaf: a tensor, or a list of datasets."""
    if isinstance(leaf, Dataset):
        raise ValueError("Unbatching a dataset is only supported for rank >= 1")
    if not _is_list(leaf):
        return Dataset.from_tensor_slices(leaf)
    result, *rest = [Dataset.from_tensors(one) for one in leaf]
    for one in rest:
        result = result.concatenate(one)
    return result


def slices(tensors):
    """Returns the dataset of the slices of a structure with lists of datasets."""
    return Dataset.zip(DATA.map(_slices, tensors))
