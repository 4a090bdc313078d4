# SPDX-License-Identifier: Apache-2.0
"""config.py: tf.estimator.RunConfig: model folder, seeds, checkpoint and logging intervals."""

from __future__ import annotations

import copy
import json
import os

from situ._src.cluster.servers import ClusterSpec
from situ._src.framework.api import export
from situ._src.framework.keywords import unsupported
from situ._src.framework.protos import ConfigProto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable

USE_DEFAULT = object()
_CHANGEABLE = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "train_distribute",
    "device_fn",
    "protocol",
    "eval_distribute",
    "experimental_distribute",
    "experimental_max_worker_delay_secs",
    "session_creation_timeout_secs",
)


def _positive(name, value, zero=False):
    if value is not None and not (value >= 0 if zero else value > 0):
        raise ValueError(f"{name} should be {'>= 0' if zero else '> 0'}")


@export("estimator.RunConfig", v1="contrib.learn.RunConfig")
class RunConfig:
    """Configuration of an Estimator's runs.

    Args:
      model_dir: Folder of checkpoints and summaries.
      tf_random_seed: Seed of the graphs.
      save_summary_steps: Number of steps between summaries; 0 or None: none.
      save_checkpoints_steps: Number of steps between checkpoints; with both intervals None or 0
        none are saved.
      save_checkpoints_secs: Seconds between checkpoints; default: 600, unless
        save_checkpoints_steps is given.
      session_config: ConfigProto of sessions.
      keep_checkpoint_max: Number of checkpoints to keep; 0 or None: all.
      keep_checkpoint_every_n_hours: Checkpoints at this interval are kept in any case.
      log_step_count_steps: Number of steps between log lines; 0 or None: none.
      train_distribute: Distribution strategy of training.
      device_fn: Device function of the graphs.
      protocol: Protocol of servers; "grpc" by default.
      eval_distribute: Kept as an attribute. Evaluations run on one device, with the same results.
      experimental_distribute: Only None is supported; use train_distribute.
      experimental_max_worker_delay_secs, session_creation_timeout_secs: Kept as attributes: workers
        start at once, and sessions are created without waiting for others.
      gpu_memory_fraction: Fraction of the memory of GPUs for sessions, if session_config is None.

    The cluster and the task of the process are read from the environment variable TF_CONFIG.

    Raises:
      NotImplementedError: If experimental_distribute is set.
      TypeError: For unknown arguments.
      ValueError: If a value is out of range, or both checkpoint intervals are set.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike | None = None,
        tf_random_seed: Any = None,
        save_summary_steps: int = 100,
        save_checkpoints_steps: Any = USE_DEFAULT,
        save_checkpoints_secs: Any = USE_DEFAULT,
        session_config: Any = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int = 100,
        train_distribute: Any = None,
        device_fn: Callable | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: float | None = None,
        session_creation_timeout_secs: float = 7200,
        gpu_memory_fraction: Any = None,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            raise TypeError(f"RunConfig() got an unexpected keyword argument '{min(kwargs)}'")
        if session_config is None and gpu_memory_fraction is not None:
            session_config = ConfigProto()
            session_config.gpu_options.per_process_gpu_memory_fraction = gpu_memory_fraction
        given = locals()
        steps, seconds = save_checkpoints_steps, save_checkpoints_secs
        if steps is USE_DEFAULT and seconds is USE_DEFAULT:
            steps, seconds = None, 600
        elif (
            steps is not USE_DEFAULT
            and seconds is not USE_DEFAULT
            and steps is not None
            and seconds is not None
        ):
            raise ValueError(
                "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
            )
        self._values = {name: given[name] for name in _CHANGEABLE}
        self._values.update(
            save_checkpoints_steps=None if steps is USE_DEFAULT else steps,
            save_checkpoints_secs=None if seconds is USE_DEFAULT else seconds,
        )
        self._check()
        self._read_environment()

    def _check(self):
        values = self._values
        unsupported("RunConfig", experimental_distribute=(values["experimental_distribute"], None))
        if values["model_dir"] == "":
            raise ValueError("model_dir should be non-empty")
        _positive("save_summary_steps", values["save_summary_steps"], True)
        _positive("save_checkpoints_steps", values["save_checkpoints_steps"], True)
        _positive("save_checkpoints_secs", values["save_checkpoints_secs"], True)
        _positive("keep_checkpoint_max", values["keep_checkpoint_max"], True)
        _positive("keep_checkpoint_every_n_hours", values["keep_checkpoint_every_n_hours"])
        _positive("log_step_count_steps", values["log_step_count_steps"], True)
        if values["model_dir"] is not None:
            values["model_dir"] = os.fspath(values["model_dir"])

    def _read_environment(self):
        """Reads the cluster and the task of this process from TF_CONFIG."""
        tf_config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        task = tf_config.get("task") or {}
        self.task_type = task.get("type") or "worker"
        self.task_id = int(task.get("index") or 0)
        # The evaluator is not one of the tasks that train.
        jobs = {} if self.task_type == "evaluator" else tf_config.get("cluster") or {}
        self.cluster_spec = ClusterSpec(jobs)
        self.num_ps_replicas = len(jobs.get("ps") or ())
        self.num_worker_replicas = (
            len(jobs.get("worker") or ()) + len(jobs.get("chief") or ())
            if jobs
            else int(self.task_type != "evaluator")
        )
        self.is_chief = self.task_type in ("chief", "master") or (
            not jobs and self.task_type != "evaluator"
        )
        self.master, self.evaluation_master, self.service = "", "", None
        self.global_id_in_cluster = self._global_id()
        strategy = self._values["train_distribute"]
        between = strategy is None or getattr(strategy, "trains_between_graphs", False)
        if between and self._is_one_of_several():
            address = self.cluster_spec.task_address(self.task_type, self.task_id)
            self.master = f"{self._values['protocol'] or 'grpc'}://{address}"

    def _is_one_of_several(self):
        """Whether the cluster has several tasks, and a chief that initializes the variables."""
        spec = self.cluster_spec
        several = sum(spec.num_tasks(job) for job in spec.jobs) > 1
        return several and any(job in ("chief", "master") for job in spec.jobs)

    def _global_id(self):
        """Returns the index of this task among the chief, the workers and the parameter servers."""
        spec, tasks = self.cluster_spec, []
        for job in ("chief", "master", "worker", "ps"):
            if job in spec.jobs:
                tasks += [(job, index) for index in spec.task_indices(job)]
        task = self.task_type, self.task_id
        return tasks.index(task) if task in tasks else None

    def __getattr__(self, name):
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"'RunConfig' object has no attribute '{name}'")

    def replace(self, **kwargs: Any) -> Any:
        """Returns a copy with some values changed.

        Args:
          **kwargs: The new values.

        Raises:
          ValueError: If a property cannot be replaced, or a value is out of range.
        """
        for name in kwargs:
            if name not in _CHANGEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are "
                    f"{list(_CHANGEABLE)}."
                )
        result = copy.copy(self)
        result._values = dict(self._values)
        for name, other in (
            ("save_checkpoints_steps", "save_checkpoints_secs"),
            ("save_checkpoints_secs", "save_checkpoints_steps"),
        ):
            if kwargs.get(name) is not None and other not in kwargs:
                result._values[other] = None
        result._values.update(kwargs)
        result._check()
        return result

    def __repr__(self):
        return f"<RunConfig {self._values}>"
