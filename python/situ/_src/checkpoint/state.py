# SPDX-License-Identifier: Apache-2.0
"""state.py: the state file `checkpoint` of a directory, which lists its checkpoints, and the policy
that removes old ones."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import _situ
from situ._src.checkpoint import safetensors
from situ._src.framework.api import V1, export
from situ._src.framework.message_classes import ParseError, message_class
from situ._src.ops.gfile import local_path

DATA, INDEX = ".data-00000-of-00001", ".index"


CheckpointState = message_class("tensorflow.CheckpointState")
V1["train.CheckpointState"] = CheckpointState


def _file(folder, name):
    return os.path.join(folder, name or "checkpoint")


@export("train.checkpoint_exists", v1="train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Returns whether a checkpoint exists.

    Args:
      checkpoint_prefix: the prefix of its files, or the path of a file.
    """
    prefix = local_path(checkpoint_prefix)
    return os.path.exists(prefix + DATA) or os.path.isfile(prefix)  # weights of Keras are one file


@export(v1="train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Returns a CheckpointState. Relative paths are relative to the directory if that is relative.

    Args:
      save_dir: the directory.
      model_checkpoint_path: the latest checkpoint.
      all_model_checkpoint_paths: all checkpoints, the oldest first.
      all_model_checkpoint_timestamps: the times of the checkpoints.
      last_preserved_timestamp: the time of the last checkpoint that is kept permanently.

    Raises:
      ValueError: there are not as many times as checkpoints.
    """
    newest = model_checkpoint_path
    kept = [] if all_model_checkpoint_paths is None else all_model_checkpoint_paths
    if not kept or kept[-1] != newest:
        kept.append(newest)  # to the list of the caller, as TensorFlow does
    times = all_model_checkpoint_timestamps
    if times and len(times) != len(kept):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{kept} and timestamps {times})"
        )
    if not os.path.isabs(save_dir):
        newest, *kept = (
            p if os.path.isabs(p) else os.path.relpath(p, save_dir) for p in (newest, *kept)
        )
    return CheckpointState(
        model_checkpoint_path=newest,
        all_model_checkpoint_paths=kept,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def write(folder, newest, kept, latest_filename=None, times=None, preserved=None, relative=False):
    """Writes the state file; `relative` makes absolute paths relative to the directory.

    Raises:
      RuntimeError: the state file would replace a checkpoint.
    """
    if relative:
        newest, *kept = (
            os.path.relpath(p, folder) if os.path.isabs(p) else p for p in (newest, *kept)
        )
    state = generate_checkpoint_state_proto(folder, newest, kept, times, preserved)
    path = _file(folder, latest_filename)
    if path == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{newest}' conflicts with path used for checkpoint state.  "
            "Please use a different save path."
        )
    _situ.replace_file(_file(folder or ".", latest_filename), str(state).encode())


@export("train.update_checkpoint_state", v1="train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the state file of a directory.

    Args:
      save_dir: the directory.
      model_checkpoint_path: the latest checkpoint.
      all_model_checkpoint_paths: all checkpoints, the oldest first.
      latest_filename: the name of the file; "checkpoint" by default.
      all_model_checkpoint_timestamps: the times of the checkpoints.
      last_preserved_timestamp: the time of the last checkpoint that is kept permanently.
    """
    write(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths or [],
        latest_filename,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def _whole(folder, path):
    return path if os.path.isabs(path) else os.path.join(folder, path)


@export("train.get_checkpoint_state", v1="train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """Reads the state file of a directory.

    Args:
      checkpoint_dir: the directory.
      latest_filename: the name of the file; "checkpoint" by default.

    Returns:
      A CheckpointState with paths that include the directory, or None if there is no such file.

    Raises:
      DataLossError: the file is not valid UTF-8.
      ValueError: the file names no checkpoint.
    """
    checkpoint_dir = local_path(checkpoint_dir)
    try:
        with open(_file(checkpoint_dir, latest_filename), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    except UnicodeDecodeError as error:
        raise safetensors.loss(
            _file(checkpoint_dir, latest_filename), error.start, "not valid UTF-8"
        ) from None
    state = CheckpointState()
    try:
        state._merge_text(text)
    except ParseError as error:
        raise safetensors.loss(_file(checkpoint_dir, latest_filename), 0, str(error)) from None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = _whole(checkpoint_dir, state.model_checkpoint_path)
    paths = [_whole(checkpoint_dir, path) for path in state.all_model_checkpoint_paths]
    state.all_model_checkpoint_paths[:] = paths
    return state


@export(
    "train.latest_checkpoint", v1=("train.latest_checkpoint", "contrib.framework.latest_checkpoint")
)
def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """Returns the prefix of the latest checkpoint of a directory, or None.

    Args:
      checkpoint_dir: the directory.
      latest_filename: the name of the state file; "checkpoint" by default.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


@export(v1=("train.get_checkpoint_mtimes", "train.get_checkpoint_mtimes"))
def get_checkpoint_mtimes(checkpoint_prefixes: list[str]) -> list[float]:
    """Returns the modification times of checkpoints that exist.

    Args:
      checkpoint_prefixes: a list of prefixes.
    """
    return [
        os.path.getmtime(p + DATA if os.path.exists(p + DATA) else p)
        for p in map(local_path, checkpoint_prefixes)
        if checkpoint_exists(p)
    ]


@export(v1="train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: Any = None, meta_graph_suffix: str = "meta"
) -> None:
    """Removes the files of a checkpoint, the index first, so that an interruption leaves no
    incomplete one.

    Args:
      checkpoint_prefix: the prefix of its files.
      checkpoint_format_version: 1 for a checkpoint that is one file; 2 by default.
      meta_graph_suffix: the suffix of the graph file.
    """
    files = ("",) if checkpoint_format_version == 1 else (INDEX, DATA)
    for suffix in (*files, "." + meta_graph_suffix):
        try:
            os.remove(checkpoint_prefix + suffix)
        except FileNotFoundError:
            pass


@export(
    "python.training.checkpoint_management.meta_graph_filename",
    "python.checkpoint.checkpoint_management.meta_graph_filename",
)
def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Returns the name of the graph file of a checkpoint.

    Args:
      checkpoint_filename: the prefix of the checkpoint, or the pattern of its shards.
      meta_graph_suffix: the suffix of the graph file.
    """
    basename = re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename)
    return f"{basename}.{meta_graph_suffix}"


class Kept:
    """The checkpoints that a writer keeps: at most `most`, and one per `hours` permanently."""

    def __init__(self, most, hours, remove=remove_checkpoint):
        self.most, self.hours, self.remove = most, hours, remove
        self.items = []  # (path, time), the oldest first
        self.next_permanent = time.time() + hours * 3600

    def add(self, path):
        """Adds a checkpoint. Returns the prefixes to remove."""
        self.items = [i for i in self.items if i[0] != path] + [(path, time.time())]
        expired = []
        while self.most and len(self.items) > self.most:
            old, created = self.items.pop(0)
            if created > self.next_permanent:
                self.next_permanent += self.hours * 3600
                continue
            expired.append(old)
        return expired

    paths = property(lambda s: [path for path, _ in s.items])
    times = property(lambda s: [made for _, made in s.items])
