# SPDX-License-Identifier: Apache-2.0
"""variable_scatter.py: rows and elements of eager variables, read and changed by their numbers."""
from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.variable_eager import EagerVariable

_ROWS = {"Update": "TensorScatterUpdate", "Add": "TensorScatterAdd", "Sub": "TensorScatterSub",
         "Min": "TensorScatterMin", "Max": "TensorScatterMax"}


def _scaled(whole, places, updates, row):
    """Rows multiplied or divided one after the other: by the product of what is for each."""
    count = op("StridedSlice", op("Shape", whole), [0], [1], [1], shrink_axis_mask=1)
    return op(row, whole, op("UnsortedSegmentProd", updates, places, count))


def _by_rows(word):
    def scatter(self, sparse_delta, use_locking=False, name=None):
        whole = self._situ_tensor_()
        places = convert_to_tensor(sparse_delta.indices)
        behind = op("StridedSlice", op("Shape", whole), [1], [0], [1], end_mask=1)
        updates = op("BroadcastTo", convert_to_tensor(sparse_delta.values, self.dtype),
                     op("ConcatV2", [op("Shape", places), behind], 0))
        if word in _ROWS:
            made = self._unrecorded(_ROWS[word], whole, op("ExpandDims", places, -1), updates)
        else:
            made = _scaled(whole, places, updates, word)
        return self._put(made)
    scatter.__name__, scatter.__doc__ = "scatter_" + word.lower(), "Changes rows by their numbers."
    return scatter


def _by_elements(word):
    def scatter(self, indices, updates, name=None):
        return self._put(self._unrecorded(_ROWS[word], self._situ_tensor_(),
                                          convert_to_tensor(indices),
                                          convert_to_tensor(updates, self.dtype)))
    scatter.__name__ = "scatter_nd_" + word.lower()
    scatter.__doc__ = "Changes parts that tuples of numbers name."
    return scatter


def _sparse_read(self, indices, name=None):
    """The rows with these numbers."""
    return op("GatherV2", self._situ_tensor_(), indices, 0, name=name)


def _gather_nd(self, indices, name=None):
    """The parts that tuples of numbers name."""
    return op("GatherNd", self._situ_tensor_(), indices, name=name)


def _is_initialized(self, name=None):
    return constant(True, "bool")


for _word in (*_ROWS, "Mul", "Div"):
    setattr(EagerVariable, "scatter_" + _word.lower(), _by_rows(_word))
for _word in _ROWS:
    setattr(EagerVariable, "scatter_nd_" + _word.lower(), _by_elements(_word))
EagerVariable.sparse_read, EagerVariable.gather_nd = _sparse_read, _gather_nd
EagerVariable.is_initialized = _is_initialized
EagerVariable.initialized_value = lambda self: self._situ_tensor_()
