# SPDX-License-Identifier: Apache-2.0
"""progbar.py: tf.keras.utils.Progbar: the progress bar of training."""

from __future__ import annotations

import sys
import time

from situ._src.keras.registry import keras_export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike

_WIDTH = 30


def _short(seconds, unit):
    """A time in the unit that fits it."""
    if seconds >= 1 or seconds == 0:
        return f" {seconds:.0f}s/{unit}"
    if seconds >= 1e-3:
        return f" {seconds * 1e3:.0f}ms/{unit}"
    return f" {seconds * 1e6:.0f}us/{unit}"


@keras_export("utils.Progbar")
class Progbar:
    """Prints a progress bar with averaged values.

    Args:
      target: Number of steps; None if unknown.
      width: Width of the bar.
      verbose: 1: progress bar; 2: one line at the end; 0: nothing.
      interval: Smallest time in seconds between updates.
      stateful_metrics: Names of values that are not averaged.
      unit_name: Name of a step.
    """

    _values: dict
    _order: list
    _last: Any
    _after_first: Any

    def __init__(
        self,
        target: Any,
        width: Any = _WIDTH,
        verbose: Any = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ):
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.stateful_metrics = () if stateful_metrics is None else stateful_metrics
        self.unit_name = unit_name
        self._dynamic = (
            hasattr(sys.stdout, "isatty") and sys.stdout.isatty() or "ipykernel" in sys.modules
        )
        self._values, self._order = {}, []
        self._seen = self._width_now = 0
        self._start = time.time()
        self._last = self._after_first = None

    def wants(self, now: Any = None) -> Any:
        """Whether an update would be printed."""
        return self.verbose == 1 and (
            self._last is None or (now or time.time()) - self._last >= self.interval
        )

    def update(self, current: Any, values: TensorLike = None, finalize: Any = None) -> None:
        """Updates the bar.

        Args:
          current: Number of steps done.
          values: List of (name, value).
          finalize: Whether this is the last update; default: whether the target is reached.
        """
        finalize = (
            current >= self.target
            if finalize is None and self.target is not None
            else bool(finalize)
        )
        for name, value in values or []:
            if name not in self._order:
                self._order.append(name)
            if name in self.stateful_metrics:
                self._values[name] = [value, 1]
            else:
                steps = max(current - self._seen, 1)
                total, count = self._values.get(name, [0.0, 0])
                self._values[name] = [total + value * steps, count + steps]
        self._seen = current
        now = time.time()
        if self.verbose == 1:
            if not finalize and self._last is not None and now - self._last < self.interval:
                return
            self._draw(current, now, finalize)
        elif self.verbose == 2 and finalize:
            digits = len(str(self.target)) if self.target else 0
            head = f"{current:{digits}d}/{self.target}" if self.target else str(current)
            spent = now - self._start
            sys.stdout.write(
                f"{head} - {spent:.0f}s{self._format_values()} -{_short(spent, 'epoch')} -"
                f"{_short(spent / max(current, 1), self.unit_name)}\n"
            )
            sys.stdout.flush()
        self._last = now

    def _draw(self, current, now, finalize):
        text = ""
        if self._dynamic:
            text += "\b" * self._width_now + "\r"
        elif self._last is not None:
            text += "\n"
        if self.target is not None:
            digits = len(str(self.target))
            bar = f"{current:{digits}d}/{self.target} ["
            full = int(self.width * current / self.target) if self.target else self.width
            if full > 0:
                bar += "=" * (full - 1) + (">" if current < self.target else "=")
            bar += "." * (self.width - full) + "]"
        else:
            bar = f"{current:7d}/Unknown"
        line = bar + self._time(current, now, finalize) + self._format_values()
        before, self._width_now = self._width_now, len(line)
        line += " " * max(0, before - self._width_now)
        sys.stdout.write(text + line + ("\n" if finalize else ""))
        sys.stdout.flush()

    def _each(self, current, now):
        """Returns the time per step; the first step, which compiles, is not counted."""
        if current > 0 and self._after_first is not None and current > 1:
            each = (now - self._after_first) / (current - 1)
        else:
            each = (now - self._start) / max(current, 1)
        if current == 1:
            self._after_first = now
        return each

    def _time(self, current, now, finalize):
        each = self._each(current, now)
        if self.target is not None and not finalize:
            left = each * (self.target - current)
            if left > 3600:
                shown_left = f"{left // 3600:.0f}:{left % 3600 // 60:02.0f}:{left % 60:02.0f}"
            elif left > 60:
                shown_left = f"{left // 60:.0f}:{left % 60:02.0f}"
            else:
                shown_left = f"{left:.0f}s"
            return f" - ETA: {shown_left}"
        return f" - {now - self._start:.0f}s{_short(each, self.unit_name)}"

    def _format_values(self):
        text = ""
        for name in self._order:
            total, count = self._values[name]
            value = total / max(count, 1)
            text += f" - {name}: {value:.4f}" if abs(value) > 1e-3 else f" - {name}: {value:.4e}"
        return text

    def add(self, n: int, values: TensorLike = None) -> None:
        """Advances by n steps."""
        self.update(self._seen + n, values)
