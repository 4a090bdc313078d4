# SPDX-License-Identifier: Apache-2.0
"""metrics_iou.py: metrics of intersection over union (IoU), computed from a confusion matrix."""

from __future__ import annotations

from typing import Any

from situ._src.keras.metrics import Metric, named, to_floatx
from situ._src.ops.array_ops import cast, convert_to_tensor, op


class _Confusion(Metric):
    """Base class: a confusion matrix; ids outside of [0, num_classes) are ignored."""

    def __init__(
        self,
        num_classes,
        name=None,
        dtype=None,
        ignore_class=None,
        sparse_y_true=True,
        sparse_y_pred=True,
        axis=-1,
    ):
        super().__init__(name, dtype)
        self.num_classes, self.ignore_class, self.axis = num_classes, ignore_class, axis
        self.sparse_y_true, self.sparse_y_pred = sparse_y_true, sparse_y_pred
        self.total_cm = self.add_weight("total_confusion_matrix", (num_classes, num_classes))

    def _ids(self, tensor, sparse):
        tensor = convert_to_tensor(tensor)
        if not sparse:
            if tensor.shape.rank is not None and tensor.shape.rank < 2:
                raise ValueError(
                    f"{type(self).__name__} expects classes along axis {self.axis} of "
                    f"at least 2 dimensions. Received: shape={tensor.shape}"
                )
            tensor = op("ArgMax", tensor, self.axis)
        return op("Reshape", cast(tensor, "int64"), [-1])

    def update_state(self, y_true, y_pred, sample_weight=None):
        labels = self._ids(y_true, self.sparse_y_true)
        result = self._ids(y_pred, self.sparse_y_pred)
        weight = to_floatx(1.0 if sample_weight is None else sample_weight)
        if weight.shape.rank is None or weight.shape.rank > 1:
            weight = op("Reshape", weight, [-1])
        weight = op("BroadcastTo", weight, op("Shape", labels))
        classes = cast(self.num_classes, "int64")
        known = op("Equal", labels, labels)
        for ids in (labels, result):
            known = op(
                "LogicalAnd",
                known,
                op(
                    "LogicalAnd",
                    op("Less", ids, classes),
                    op("GreaterEqual", ids, cast(0, "int64")),
                ),
            )
        if self.ignore_class is not None:
            known = op(
                "LogicalAnd", known, op("NotEqual", labels, cast(self.ignore_class, "int64"))
            )
        place = op("SelectV2", known, labels * classes + result, op("ZerosLike", labels))
        weight = op("SelectV2", known, weight, op("ZerosLike", weight))
        n = self.num_classes
        table = op("UnsortedSegmentSum", weight, place, n * n)
        self.total_cm.assign_add(op("Reshape", table, [n, n]))

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "ignore_class": self.ignore_class,
            "sparse_y_true": self.sparse_y_true,
            "sparse_y_pred": self.sparse_y_pred,
            "axis": self.axis,
        }


@named("IoU", v2=False)
class IoU(_Confusion):
    """Mean intersection over union of some classes: `TP / (TP + FP + FN)`. Classes that occur
    neither in labels nor in predictions do not count.

    Args:
      num_classes: Number of classes.
      target_class_ids: Classes to average over.
      name: Name of the metric.
      dtype: Type of the state.
      ignore_class: Class id whose examples are left out.
      sparse_y_true: Whether labels are class ids rather than one-hot.
      sparse_y_pred: Whether predictions are class ids rather than scores.
      axis: The axis of the classes.

    Raises:
      ValueError: If a target class is not below num_classes.
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: Any = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)
        if max(target_class_ids) >= num_classes:
            raise ValueError(
                f"Target class id {max(target_class_ids)} is out of range, which is "
                f"[0, {num_classes})."
            )
        self.target_class_ids = list(target_class_ids)

    def result(self):
        table = self.total_cm.value()
        hit = op("DiagPart", table)
        either = op("Sum", table, [0]) + op("Sum", table, [1]) - hit
        pick = lambda v: op("GatherV2", v, convert_to_tensor(self.target_class_ids), 0)
        hit, either = pick(hit), pick(either)
        seen = cast(op("Greater", either, 1e-9), "float32")
        return op("DivNoNan", op("Sum", op("DivNoNan", hit, either), [0]), op("Sum", seen, [0]))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "target_class_ids": self.target_class_ids}


@named("BinaryIoU", v2=False)
class BinaryIoU(IoU):
    """Mean intersection over union of two classes; predictions from the threshold on are class 1.

    Args:
      target_class_ids: Classes to average over.
      threshold: The threshold.
      name: Name of the metric.
      dtype: Type of the state.
    """

    def __init__(
        self,
        target_class_ids=(0, 1),
        threshold: Any = 0.5,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true, y_pred, sample_weight=None):
        yes = op("GreaterEqual", to_floatx(y_pred), cast(self.threshold, to_floatx(y_pred).dtype))
        super().update_state(y_true, cast(yes, "int64"), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "threshold": self.threshold,
            "target_class_ids": self.target_class_ids,
        }


@named("MeanIoU")
class MeanIoU(IoU):
    """Mean intersection over union of all classes that occur.

    Args:
      num_classes: Number of classes.
      name: Name of the metric.
      dtype: Type of the state.
      ignore_class: Class id whose examples are left out.
      sparse_y_true: Whether labels are class ids rather than one-hot.
      sparse_y_pred: Whether predictions are class ids rather than scores.
      axis: The axis of the classes.
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: Any = -1,
    ) -> None:
        super().__init__(
            num_classes,
            range(num_classes),
            name,
            dtype,
            ignore_class,
            sparse_y_true,
            sparse_y_pred,
            axis,
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("target_class_ids")
        return config


def _without(config, *names):
    return {k: v for k, v in config.items() if k not in names}


@named("OneHotIoU", v2=False)
class OneHotIoU(IoU):
    """Mean intersection over union of some classes, for one-hot labels; arguments as in `IoU`."""

    def __init__(
        self,
        num_classes: int,
        target_class_ids,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: Any = -1,
    ) -> None:
        super().__init__(
            num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis
        )

    def get_config(self) -> dict[str, Any]:
        return _without(super().get_config(), "sparse_y_true")


@named("OneHotMeanIoU", v2=False)
class OneHotMeanIoU(MeanIoU):
    """Mean intersection over union of all classes, for one-hot labels; arguments as in
    `MeanIoU`.
    """

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: Any = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self) -> dict[str, Any]:
        return _without(super().get_config(), "sparse_y_true")
