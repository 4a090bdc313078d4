# SPDX-License-Identifier: Apache-2.0
"""checkpoint.py: tf.train.Checkpoint and CheckpointManager: variables keyed by their path in the
object graph."""

from __future__ import annotations

import inspect
import json
import os

import numpy

import _situ
from situ._src.checkpoint import deferred_restore
from situ._src.checkpoint import reader as checkpoint_reader
from situ._src.checkpoint import state as checkpoint_state
from situ._src.framework import default_session, errors
from situ._src.framework.api import export
from situ._src.framework.autotrackable import AutoTrackable
from situ._src.framework.keywords import unsupported
from situ._src.training.optimizer import updates_eagerly
from situ._src.variables.variable import Variable, variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable

_ATTRIBUTES = "/.ATTRIBUTES/"
_VALUE = _ATTRIBUTES + "VARIABLE_VALUE"
_PLAIN = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    numpy.ndarray,
    numpy.generic,
    _situ.Tensor,
)


def _escaped(name):
    return str(name).replace(".", "..").replace("/", ".S")


def _children(obj):
    """Returns (name, value) of what an object holds."""
    if hasattr(obj, "_checkpoint_children"):
        return list(obj._checkpoint_children().items())
    if isinstance(obj, dict):
        return [(k, v) for k, v in obj.items() if isinstance(k, (str, int))]
    if isinstance(obj, (list, tuple)):
        return list(enumerate(obj))
    if hasattr(obj, "apply_gradients") and hasattr(obj, "variables"):
        found = obj.variables
        return [
            (
                "_variables",
                list(found() if callable(found) and not isinstance(found, list) else found),
            )
        ]
    members = getattr(obj, "__dict__", {})
    return [(k, v) for k, v in members.items() if not k.startswith(("_self_", "__"))]


def _is_node(value):
    return (
        not isinstance(value, _PLAIN)
        and not callable(getattr(value, "__get__", None))
        and not isinstance(value, type)
        and (isinstance(value, (dict, list, tuple, Variable)) or hasattr(value, "__dict__"))
    )


def tracked(root, others=None):
    """Returns all reachable variables by key (breadth first, so the shortest path wins). `others`
    receives the other paths to objects."""
    found, seen, queue = {}, {}, [("", root)]
    while queue:
        path, obj = queue.pop(0)
        if id(obj) in seen:
            if others is not None:
                others[path] = seen[id(obj)]
            continue
        seen[id(obj)] = path
        if isinstance(obj, (Variable, _situ.Iterator)):
            found[path + _VALUE] = obj
            continue
        if hasattr(obj, "_checkpoint_parts"):  # a table
            found.update((path + _ATTRIBUTES + k, p) for k, p in obj._checkpoint_parts().items())
            continue
        for name, value in _children(obj):
            if _is_node(value):
                queue.append((f"{path}/{_escaped(name)}" if path else _escaped(name), value))
    return found


def _values(found, session):
    if updates_eagerly():
        return {
            k: numpy.asarray(v.save() if isinstance(v, _situ.Iterator) else v.numpy())
            for k, v in found.items()
        }
    session = session or default_session.current()
    parts = {k: numpy.asarray(v.numpy()) for k, v in found.items() if hasattr(v, "give")}
    rest = {k: v for k, v in found.items() if k not in parts}
    return {**parts, **{k: numpy.asarray(v) for k, v in session.run(rest).items()}}


def _assign(var, value, session):
    if isinstance(var, _situ.Iterator):
        var.restore(_situ.host(value.astype("int64", copy=False)))
        return
    if hasattr(var, "give"):
        var.give(value)
        return
    if list(value.shape) != var.shape.as_list():
        raise ValueError(
            f"Received incompatible tensor with shape {tuple(value.shape)} when "
            f"attempting to restore variable with shape {var.shape} and name "
            f"{var.name}."
        )
    if updates_eagerly() or not hasattr(var, "initializer"):
        var.assign(value)
    else:
        var.load(value, session or default_session.current())


class Status:
    """The status of a restore: which values were assigned."""

    def __init__(self, root, reader):
        self._root, self._reader, self._done = root, reader, set()
        self._others = json.loads(reader.metadata.get("others", "{}"))

    def run(self, session=None):
        """Restores the objects that exist and were not restored before."""
        for key, var in tracked(self._root).items():
            key = self._stored_key(key)
            if key not in self._done and self._reader.has_tensor(key):
                self._done.add(key)
                _assign(var, numpy.asarray(self._reader.get_tensor(key)), session)
        return self

    def _stored_key(self, key):
        """Returns the key of the checkpoint for an object that has several paths."""
        if self._reader.has_tensor(key):
            return key
        path, kind, attribute = key.partition(_ATTRIBUTES)
        parts = path.split("/")
        for n in range(len(parts), 0, -1):
            first = self._others.get("/".join(parts[:n]))
            if first is not None:
                return "/".join([first, *parts[n:]]) + kind + attribute
        return key

    def is_done(self) -> bool:
        """Returns whether all values of the checkpoint were used."""
        return set(self._reader.get_variable_to_shape_map()) <= self._done

    def assert_existing_objects_matched(self):
        """Raises AssertionError if a variable is not in the checkpoint. Returns self."""
        for key, var in tracked(self._root).items():
            if not self._reader.has_tensor(self._stored_key(key)):
                raise AssertionError(
                    f"Found 1 Python objects that were not bound to checkpointed "
                    f"values, likely due to changes in the Python program. "
                    f"Showing 1 of 1 unmatched objects: [{var!r}] ({key})"
                )
        return self

    def assert_consumed(self):
        """Raises AssertionError unless variables and checkpoint match completely. Returns self."""
        self.assert_existing_objects_matched()
        left = set(self._reader.get_variable_to_shape_map()) - self._done - self._matched()
        if left:
            raise AssertionError("Unresolved object in checkpoint: " + ", ".join(sorted(left)))
        return self

    def _matched(self):
        """Returns the keys of the checkpoint that variables match, restored or not."""
        return {k for k in map(self._stored_key, tracked(self._root)) if self._reader.has_tensor(k)}

    def assert_nontrivial_match(self):
        """Raises AssertionError if nothing matches. Returns self."""
        if not self._done and not self._matched():
            raise AssertionError(
                f"Nothing to load. No dependencies have been added to {self._root!r} yet."
            )
        return self

    def expect_partial(self):
        """Does nothing: partial restores are not reported. Returns self."""
        return self

    def run_restore_ops(self, session=None):
        """Restores the values; in graph mode in each call, as a program may have several sessions.

        Args:
          session: the session; the default session if it is None.
        """
        if not updates_eagerly():
            self._done.clear()
        self.run(session)

    def initialize_or_restore(self, session=None):
        """Restores the values and initializes variables that the checkpoint lacks.

        Args:
          session: the session; the default session if it is None.
        """
        self.run_restore_ops(session)
        if not updates_eagerly():
            session = session or default_session.current()
            session.run(
                [
                    v.initializer
                    for k, v in tracked(self._root).items()
                    if not self._reader.has_tensor(self._stored_key(k))
                ]
            )


class NoStatus:
    """The status of a restore without a checkpoint."""

    def __init__(self, root):
        self._root = root

    def assert_consumed(self):
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self):
        return self

    def run_restore_ops(self, session=None):
        del session  # nothing is restored
        self.assert_consumed()

    def initialize_or_restore(self, session=None):
        if not updates_eagerly():
            session = session or default_session.current()
            session.run([v.initializer for v in tracked(self._root).values()])


@export("train.CheckpointOptions")
class CheckpointOptions:
    """Options of tf.train.Checkpoint.

    Args:
      experimental_io_device: recorded only: this process reads and writes files.
      experimental_enable_async_checkpoint: recorded only: files are written before `save` returns.
      experimental_write_callbacks: functions that are called after a checkpoint is written, with
        its prefix if they have a parameter.
      enable_async: as `experimental_enable_async_checkpoint`.
      experimental_skip_slot_variables: must be False.
      experimental_sharding_callback: must be None.

    Raises:
      NotImplementedError: `experimental_skip_slot_variables` or `experimental_sharding_callback` is
        given.
    """

    def __init__(
        self,
        experimental_io_device: Any = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Any = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ):
        unsupported(
            "tf.train.CheckpointOptions",
            experimental_skip_slot_variables=(experimental_skip_slot_variables, False),
            experimental_sharding_callback=(experimental_sharding_callback, None),
        )
        self.experimental_io_device = experimental_io_device
        self.enable_async = experimental_enable_async_checkpoint or enable_async
        self.experimental_enable_async_checkpoint = self.enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        for callback in experimental_write_callbacks or ():
            if len(inspect.signature(callback).parameters) > 1:
                raise AssertionError("A write callback has at most one parameter.")


def _in_order(options, session):
    """Returns (options, session), which have different positions in TensorFlow 1 and 2."""
    if isinstance(session, CheckpointOptions) or hasattr(options, "run"):
        options, session = session, options
    return _checked(options), session


def _checked(options):
    if options is not None and not isinstance(options, CheckpointOptions):
        raise TypeError(f"`options` must be a tf.train.CheckpointOptions, got {options!r}.")
    return options


def _call_back(options, prefix):
    """Calls the functions that are to be called after a checkpoint was written."""
    for callback in options and options.experimental_write_callbacks or ():
        callback(*[prefix][: len(inspect.signature(callback).parameters)])


@export("train.Checkpoint", v1="train.Checkpoint")
class Checkpoint(AutoTrackable):
    """Saves and restores groups of trackable objects.

    Args:
      root: an object whose attributes are saved.
      **kwargs: further objects by name: `Checkpoint(step=step, net=net)`.

    Raises:
      ValueError: a keyword argument cannot be tracked.
    """

    def __init__(self, root: Any = None, **kwargs: Any):
        if root is not None:
            object.__setattr__(self, "_root", root)
        for name, value in kwargs.items():
            if not _is_node(value) and not callable(value):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (an "
                    f"object derived from `Trackable`), got {value!r}. If you believe "
                    "this object should be trackable (i.e. it is part of the "
                    "TensorFlow Python API and manages state), please open an issue."
                )
            setattr(self, name, value)
        self._counter = None

    def _checkpoint_children(self):
        items = {k: v for k, v in self.__dict__.items() if k not in ("_root", "_counter")}
        if hasattr(self, "_root"):
            items.update(_children(self._root))
        if self._counter is not None:
            items["save_counter"] = self._counter
        return items

    @property
    def save_counter(self) -> Any:
        """A variable that counts calls of `save`."""
        if self._counter is None:
            self._counter = variable(0, dtype="int64", trainable=False, name="save_counter")
        return self._counter

    def write(self, file_prefix: str, options: Any = None, session: Any = None) -> Any:
        """Writes a checkpoint without numbering it.

        Args:
          file_prefix: the prefix of the files.
          options: a tf.train.CheckpointOptions, or None.
          session: the session in graph mode; by default the default session.

        Returns:
          The prefix.
        """
        options, session = _in_order(options, session)
        prefix = os.fspath(file_prefix)
        others: dict = {}
        found = _values(tracked(self, others), session)
        checkpoint_reader.write(prefix, found, {"kind": "objects", "others": json.dumps(others)})
        _call_back(options, prefix)
        return prefix

    def save(self, file_prefix: str, session: Any = None, options: Any = None) -> Any:
        """Writes a numbered checkpoint and registers it as the latest of its directory.

        Args:
          file_prefix: the prefix of the files, to which `-N` is appended.
          session: the session in graph mode; by default the default session.
          options: a tf.train.CheckpointOptions, or None.

        Returns:
          The prefix with the number.
        """
        options, session = _in_order(options, session)
        if updates_eagerly():
            number = int(self.save_counter.assign_add(numpy.int64(1)).numpy())
        else:
            session = session or default_session.current()
            if self._counter is None:
                session.run(self.save_counter.initializer)
            number = int(session.run(self.save_counter.assign_add(numpy.int64(1))))
        folder = os.path.dirname(os.fspath(file_prefix))
        if folder:
            os.makedirs(folder, exist_ok=True)
        path = self.write(f"{os.fspath(file_prefix)}-{number}", session=session)
        checkpoint_state.write(folder, path, [path])
        _call_back(options, path)
        return path

    def sync(self) -> None:
        """Waits until checkpoints are written; `save` and `write` return after that anyway."""

    def read(self, save_path: str, options: Any = None) -> Any:
        """Restores existing objects now, and objects created later when they are tracked.

        Args:
          save_path: the prefix of a checkpoint, or its directory.
          options: a tf.train.CheckpointOptions, or None.

        Returns:
          A status object.

        Raises:
          NotFoundError: there is no such checkpoint.
        """
        _checked(options)  # none of them changes what is read
        path = os.fspath(save_path)
        if os.path.isdir(path):
            path = checkpoint_state.latest_checkpoint(path) or path
        if not checkpoint_state.checkpoint_exists(path):
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: "
                f"Failed to find any matching files for {path}",
            )
        reader = checkpoint_reader.CheckpointReader(path)
        status = Status(self, reader)
        if updates_eagerly():
            status.run()
        if not status.is_done():
            deferred_restore.wait(status)
        return status

    def restore(self, save_path: str, options: Any = None) -> Any:
        """As `read`, and restores `save_counter`; None restores nothing.

        Args:
          save_path: the prefix of a checkpoint, its directory, or None.
          options: a tf.train.CheckpointOptions, or None.

        Returns:
          A status object.

        Raises:
          NotFoundError: there is no such checkpoint.
        """
        if save_path is None:
            return NoStatus(self)
        path = os.fspath(save_path)
        if checkpoint_state.checkpoint_exists(path) and checkpoint_reader.CheckpointReader(
            path
        ).has_tensor("save_counter" + _VALUE):
            _ = self.save_counter
        return self.read(path, options)


@export(
    "train.CheckpointManager",
    v1="train.CheckpointManager",
    v2="train.experimental.CheckpointManager",
)
class CheckpointManager:
    """Keeps the most recent checkpoints of a directory.

    Args:
      checkpoint: a tf.train.Checkpoint.
      directory: the directory.
      max_to_keep: the number of checkpoints to keep; None for all.
      keep_checkpoint_every_n_hours: keeps one checkpoint for each such period, too.
      checkpoint_name: the file name prefix.
      step_counter: a variable, for `checkpoint_interval`.
      checkpoint_interval: the minimum number of steps between checkpoints.
      init_fn: called by `restore_or_initialize` if there is no checkpoint.
      last_checkpoint_step: the step of the last checkpoint, for `checkpoint_interval`.

    Raises:
      ValueError: `max_to_keep` is not positive.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: str,
        max_to_keep: int,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: Any = None,
        init_fn: Callable | None = None,
        last_checkpoint_step: Any = None,
    ):
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}"
            )
        self._checkpoint, self._dir = checkpoint, os.fspath(directory)
        self._name, self._init_fn = checkpoint_name, init_fn
        self._counter, self._interval = step_counter, checkpoint_interval
        self._last = last_checkpoint_step
        self._kept = checkpoint_state.Kept(max_to_keep or 0, keep_checkpoint_every_n_hours or 1e6)
        state = checkpoint_state.get_checkpoint_state(self._dir)
        if state is not None:
            times = list(state.all_model_checkpoint_timestamps)
            paths = list(state.all_model_checkpoint_paths)
            self._kept.items = list(zip(paths, times or [0.0] * len(paths)))

    directory = property(lambda s: s._dir)
    checkpoint = property(lambda s: s._checkpoint)
    checkpoints = property(lambda s: s._kept.paths)
    checkpoint_interval = property(lambda s: s._interval)

    @property
    def latest_checkpoint(self) -> Any:
        """The prefix of the latest checkpoint, or None."""
        return self._kept.paths[-1] if self._kept.items else None

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None
    ) -> Any:
        """Writes a checkpoint and removes old ones.

        Args:
          checkpoint_number: the number; by default the save counter.
          check_interval: whether to respect `checkpoint_interval`.
          options: a tf.train.CheckpointOptions, or None.

        Returns:
          The prefix, or None if the interval has not passed.
        """
        if self._counter is not None and self._interval is not None and check_interval:
            now = int(self._counter.numpy())
            if self._last is not None and now - self._last < self._interval:
                return None
            self._last = now
        prefix = os.path.join(self._dir, self._name)
        if checkpoint_number is None:
            path = self._checkpoint.save(prefix, options=options)
        else:
            number = (
                checkpoint_number
                if isinstance(checkpoint_number, int)
                else int(checkpoint_number.numpy())
            )
            os.makedirs(self._dir, exist_ok=True)
            path = self._checkpoint.write(f"{prefix}-{number}", options)
        expired = self._kept.add(path)
        checkpoint_state.write(self._dir, path, self._kept.paths, times=self._kept.times)
        for old in expired:
            checkpoint_state.remove_checkpoint(old)
        return path

    def restore_or_initialize(self) -> Any:
        """Restores the latest checkpoint, or calls `init_fn`.

        Returns:
          The prefix of the checkpoint, or None.
        """
        if self.latest_checkpoint is not None:
            self._checkpoint.restore(self.latest_checkpoint)
            return self.latest_checkpoint
        if self._init_fn is not None:
            self._init_fn()
        return None
