# SPDX-License-Identifier: Apache-2.0
"""state.py: the file `checkpoint` of a folder: which checkpoints there are."""

from __future__ import annotations

import os
import re
import time

from situ._src.checkpoint import safetensors
from situ._src.framework.api import export
from situ._src.framework.protos import Message

DATA, INDEX = ".data-00000-of-00001", ".index"


class CheckpointState(Message):
    """The newest checkpoint, and all that are kept, the oldest first."""

    FIELDS = {
        "model_checkpoint_path": "",
        "all_model_checkpoint_paths": [],
        "all_model_checkpoint_timestamps": [],
        "last_preserved_timestamp": 0.0,
    }


export(v1=("train.CheckpointState", "python.training.checkpoint_state_pb2.CheckpointState"))(
    CheckpointState
)


def _file(folder, name):
    return os.path.join(folder, name or "checkpoint")


@export("train.checkpoint_exists", v1="train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix):
    """Whether a checkpoint of that name is there."""
    prefix = os.fspath(checkpoint_prefix)
    return os.path.exists(prefix + DATA) or os.path.isfile(prefix)  # the latter: Keras's weights


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def write(folder, newest, kept, latest_filename=None, times=None, preserved=None):
    """Writes the file; paths inside of the folder are kept relative where the folder is."""
    if not os.path.isabs(folder):
        newest = os.path.relpath(newest, folder)
        kept = [os.path.relpath(p, folder) for p in kept]
    lines = [f"model_checkpoint_path: {_quoted(newest)}\n"]
    lines += [f"all_model_checkpoint_paths: {_quoted(p)}\n" for p in kept]
    lines += [f"all_model_checkpoint_timestamps: {t!r}\n" for t in times or ()]
    if preserved is not None:
        lines.append(f"last_preserved_timestamp: {preserved!r}\n")
    safetensors.replace(_file(folder or ".", latest_filename), ["".join(lines).encode()])


@export("train.update_checkpoint_state", v1="train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir,
    model_checkpoint_path,
    all_model_checkpoint_paths=None,
    latest_filename=None,
    all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
):
    kept = list(all_model_checkpoint_paths or [])
    if not kept or kept[-1] != model_checkpoint_path:
        kept.append(model_checkpoint_path)
    write(
        save_dir,
        model_checkpoint_path,
        kept,
        latest_filename,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def _whole(folder, path):
    return path if os.path.isabs(path) else os.path.join(folder, path)


@export("train.get_checkpoint_state", v1="train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """What the file `checkpoint` of a folder says, or None."""
    checkpoint_dir = os.fspath(checkpoint_dir)
    try:
        with open(_file(checkpoint_dir, latest_filename), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    except UnicodeDecodeError as error:
        raise safetensors.loss(
            _file(checkpoint_dir, latest_filename), error.start, "this is no text"
        ) from None
    state = CheckpointState()
    for key, value in re.findall(r"^(\w+): *(.*)$", text, re.MULTILINE):
        if value.startswith('"'):
            value = value[1:-1].replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
        if key == "model_checkpoint_path":
            state.model_checkpoint_path = _whole(checkpoint_dir, value)
        elif key == "all_model_checkpoint_paths":
            state.all_model_checkpoint_paths.append(_whole(checkpoint_dir, value))
        elif key == "all_model_checkpoint_timestamps":
            state.all_model_checkpoint_timestamps.append(float(value))
        elif key == "last_preserved_timestamp":
            state.last_preserved_timestamp = float(value)
    return state if state.model_checkpoint_path else None


@export(
    "train.latest_checkpoint", v1=("train.latest_checkpoint", "contrib.framework.latest_checkpoint")
)
def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The name of the newest checkpoint of a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


@export(v1=("train.get_checkpoint_mtimes", "train.get_checkpoint_mtimes"))
def get_checkpoint_mtimes(checkpoint_prefixes):
    return [os.path.getmtime(p + DATA) for p in checkpoint_prefixes if checkpoint_exists(p)]


@export(v1="train.remove_checkpoint")
def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=None, meta_graph_suffix="meta"):
    """Removes the files of a checkpoint; its index first, so that half of one is none."""
    for suffix in (INDEX, DATA, "." + meta_graph_suffix):
        try:
            os.remove(checkpoint_prefix + suffix)
        except FileNotFoundError:
            pass


class Kept:
    """The checkpoints that one writer keeps: at most so many, and one each so many hours."""

    def __init__(self, most, hours, remove=remove_checkpoint):
        self.most, self.hours, self.remove = most, hours, remove
        self.items = []  # (path, time), the oldest first
        self.next_forever = time.time() + hours * 3600

    def add(self, path):
        """Notes a new checkpoint; gives what must go."""
        self.items = [i for i in self.items if i[0] != path] + [(path, time.time())]
        gone = []
        while self.most and len(self.items) > self.most:
            old, made = self.items.pop(0)
            if made > self.next_forever:
                self.next_forever += self.hours * 3600
                continue
            gone.append(old)
        return gone

    paths = property(lambda s: [path for path, _ in s.items])
    times = property(lambda s: [made for _, made in s.items])
