# SPDX-License-Identifier: Apache-2.0
"""option_builder.py: the options of a profile: tf.profiler.ProfileOptionBuilder."""

from __future__ import annotations

import copy

from situ._src.framework.api import V1, export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

TRAINABLE = "_trainable_variables"  # the type of operations that hold trainable variables
FIELDS = {
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",  # what is selected -> its field
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "params": "parameters",
    "float_ops": "float_ops",
    "occurrence": "run_count",
}
# The default of every option, in the order in which they are printed.
DEFAULTS = {
    "max_depth": 10,
    **{"min_" + word: 0 for word in FIELDS},
    "step": -1,
    "order_by": "name",
    "account_type_regexes": [],
    "start_name_regexes": [],
    "trim_name_regexes": [],
    "show_name_regexes": [],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": [],
    "output": "stdout",
}


def _options(**kwargs):
    """Returns options that show everything, except for the given ones."""
    every = {
        "account_type_regexes": [".*"],
        "start_name_regexes": [".*"],
        "show_name_regexes": [".*"],
        "account_displayed_op_only": True,
        "max_depth": 10000,
    }
    return copy.deepcopy({**DEFAULTS, **every, **kwargs})


@export("python.profiler.option_builder.ProfileOptionBuilder", v1="profiler.ProfileOptionBuilder")
class ProfileOptionBuilder:
    """Builds the options of a profile: methods that change options, then build()."""

    def __init__(self, options: Any = None):
        self._options = (
            copy.deepcopy(options)
            if options is not None
            else _options(max_depth=100, account_displayed_op_only=False, select=["micros"])
        )

    @staticmethod
    def trainable_variables_parameter() -> Any:
        """Returns options for the number of parameters of the trainable variables."""
        return _options(account_type_regexes=[TRAINABLE], select=["params"])

    @staticmethod
    def float_operation() -> Any:
        """Returns options for the number of float operations."""
        return _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Any:
        """Returns options for the times and output bytes of operations, above these limits."""
        return _options(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
            order_by="micros",
            select=["micros", "bytes"],
        )

    def build(self) -> Any:
        """Returns the options as a dictionary."""
        return copy.deepcopy(self._options)

    def _with(self, **kwargs):
        self._options.update(copy.deepcopy(kwargs))
        return self

    def with_max_depth(self, max_depth: int) -> Any:
        """Limits the depth of the tree; in the view of ops, the number of ops."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Any:
        """Shows only nodes with at least these numbers of bytes."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> Any:
        """Shows only nodes with at least these execution times."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> Any:
        """Shows only nodes with at least this number of parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> Any:
        """Shows only ops with at least this number of occurrences."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> Any:
        """Shows only nodes with at least this number of float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Any) -> Any:
        """Counts only operations with a type that matches: the op, the device, or the kind of
        variable."""
        return self._with(account_type_regexes=account_type_regexes)

    def with_node_names(
        self,
        start_name_regexes: Any = None,
        show_name_regexes: Any = None,
        hide_name_regexes: Any = None,
        trim_name_regexes: Any = None,
    ) -> Any:
        """Selects nodes by name: where the tree starts, which nodes are shown or hidden, and
        where it ends."""
        kwargs = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{k: v for k, v in kwargs.items() if v is not None})

    def account_displayed_op_only(self, is_true: bool) -> Any:
        """Sets whether totals include only the displayed nodes."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> Any:
        """Prints nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> Any:
        """Prints the profile to standard output; returns the builder."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: Any) -> Any:
        """Writes the profile to a file; returns the builder.

        Args:
          outfile: Path of the file.
        """
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: Any) -> Any:
        """Writes a trace of a step for chrome://tracing: timeline_file_STEP."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: Any) -> Any:
        """Writes a profile for pprof to a file; returns the builder.

        Args:
          pprof_file: Path of the file.
        """
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: Any) -> Any:
        """Sets the order of nodes: by name, or a field, the largest first."""
        return self._with(order_by=attribute)

    def select(self, attributes: Any) -> Any:
        """Sets the fields to print."""
        return self._with(select=attributes)

    def with_step(self, step: Any) -> Any:
        """Selects the step whose times are printed; -1: the mean of all steps."""
        return self._with(step=step)


# The names of these options in the first versions.
V1.update(
    {
        "contrib.tfprof.model_analyzer." + name: options
        for name, options in (
            (
                "TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
                ProfileOptionBuilder.trainable_variables_parameter(),
            ),
            ("FLOAT_OPS_OPTIONS", ProfileOptionBuilder.float_operation()),
            ("PRINT_ALL_TIMING_MEMORY", ProfileOptionBuilder.time_and_memory()),
        )
    }
)


def complete(options):
    """Returns all options with defaults for those not given; `dump_to_file` is the former name
    of file output."""
    given = dict(DEFAULTS, **{k: v for k, v in options.items() if k in DEFAULTS})
    if options.get("dump_to_file"):
        given["output"] = f"file:outfile={options['dump_to_file']}"
    known = sorted({*FIELDS, "tensor_value", "device", "op_types", "input_shapes"})
    for word in given["select"]:
        if word not in known:
            raise ValueError(f"A profile cannot select {word!r}; it knows {', '.join(known)}.")
    if given["order_by"] not in ("name", *FIELDS):
        raise ValueError(
            f"A profile cannot be ordered by {given['order_by']!r}; it can by name, "
            f"{', '.join(FIELDS)}."
        )
    return given


def as_text(options):
    """Returns the options as a profile prints them."""

    def word(name, value):
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (list, tuple)):
            return ",".join(sorted(value) if name == "select" else value)
        return value + ":" if value in ("stdout", "none") else str(value)

    return "".join(f"-{name:<26} {word(name, value)}\n" for name, value in options.items())
