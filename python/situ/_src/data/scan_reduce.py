# SPDX-License-Identifier: Apache-2.0
"""scan_reduce.py: Dataset.scan and Dataset.reduce: functions of a state and each element."""

from situ._src.data import structure
from situ._src.data.dataset import Dataset
from situ._src.data.structure import Traced, component
from situ._src.framework import errors
from situ._src.framework.nest import DATA, PARTS

_PREFIXES = {"scan_func": "Invalid `scan_func`. ", "reduce_func": ""}


def _trace(function, state, spec, state_of, name):
    """Traces a function of (state, element), relaxing the shapes of the state until it keeps
    them."""
    specs = DATA.map(structure.spec_of, state)
    while True:
        traced = Traced(function, (specs, spec))
        new = DATA.map(structure.spec_of, state_of(traced.result))
        _check_state(specs, new, name)
        before, after = DATA.flatten(specs), DATA.flatten(new)
        wider = [b.most_specific_common_supertype([a]) for b, a in zip(before, after)]
        if wider == before:
            return traced
        specs = DATA.pack(specs, wider)


def _check_state(before, after, name):
    """Raises TypeError if a new state has other classes or types than the initial one,
    InvalidArgumentError if that of a reduction has another number of components."""
    counts = [len(DATA.flatten(spec)) for spec in (before, after)]
    if name == "reduce_func" and counts[0] != counts[1]:
        raise errors.InvalidArgumentError(
            None,
            None,
            "The number of components of the initial state and the reduce function output does "
            f"not match. (initial_state={counts[0]}, output={counts[1]}).",
        )
    both = [
        ("classes", [DATA.map(lambda s: s.value_type, spec) for spec in (before, after)]),
        ("types", [DATA.map(lambda s: s.dtype, spec) for spec in (before, after)]),
    ]
    same = len(DATA.flatten(before)) == len(DATA.flatten(after))
    for what, (old, new) in both:
        if not same or DATA.flatten(old) != DATA.flatten(new):
            raise TypeError(
                f"{_PREFIXES[name]}The element {what} for the new state must match the initial "
                f"state. Expected {old}{'; got' if name == 'scan_func' else ' but got'} {new}."
            )


def _pair(result):
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            "Invalid `scan_func`. `scan_func` should return a pair consisting of new "
            f"state and the output value but its return type is {type(result)}."
        )
    return result


def scan(self, initial_state, scan_func, name=None):
    """Applies a function to a state and each element.

    Args:
      initial_state: The initial state, a structure of tensors.
      scan_func: A function (state, element) that returns (new state, output).
      name: Ignored.

    Returns:
      A dataset of the outputs.
    """
    del name  # a name for debugging only
    state = DATA.map(component, initial_state)
    traced = _trace(scan_func, state, self.element_spec, lambda r: _pair(r)[0], "scan_func")
    spec = DATA.map(structure.spec_of, traced.result[1])
    n_components = len(PARTS.flatten(spec))
    return self._then(
        "Scan", *PARTS.flatten(state), spec=spec, traced=traced, n_components=n_components
    )


def reduce(self, initial_state, reduce_func, name=None):
    """Reduces a dataset to one value.

    Args:
      initial_state: The initial state, a structure of tensors.
      reduce_func: A function (state, element) that returns the new state.
      name: A name for the operation (optional).

    Returns:
      The final state.
    """
    state = DATA.map(component, initial_state)
    traced = _trace(reduce_func, state, self.element_spec, lambda r: r, "reduce_func")
    spec = DATA.map(structure.spec_of, traced.result)
    return self._then("Reduce", *PARTS.flatten(state), spec=spec, traced=traced).get_single_element(
        name
    )


Dataset.scan, Dataset.reduce = scan, reduce
