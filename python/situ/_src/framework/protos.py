# SPDX-License-Identifier: Apache-2.0
"""protos.py: protocol messages in pure Python (ConfigProto, GPUOptions, RunOptions, ...): fields by
attribute and keyword, checked as protobuf checks them."""

from __future__ import annotations

# Suffixes of the names of 64-bit integer fields; other integers have 32 bits.
WIDE = ("_ms", "_bytes", "_micros", "_nanos", "_id", "_count", "float_ops", "parameters")


class Counts(dict):
    """A map field from strings to integers, such as device_count."""

    def __setitem__(self, key, value):
        if not isinstance(key, str) or isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{key!r}: {value!r} is not a pair of a string and an integer")
        super().__setitem__(key, int(value))

    def update(self, *others, **values):
        for key, value in dict(*others, **values).items():
            self[key] = value


class Message:
    """A message. FIELDS maps field names to defaults; a class is a submessage, a list repeated, a
    dict a map."""

    FIELDS: dict = {}
    ENUMS: dict = {}  # field -> {value: name}

    def __init__(self, *none, **values):
        if none:
            raise TypeError("No positional arguments allowed")
        object.__setattr__(self, "_values", {})
        for name, value in values.items():
            if name not in self.FIELDS:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            if value is None:
                continue
            part = self.FIELDS[name]
            if isinstance(part, type) and issubclass(part, Message):
                if isinstance(value, dict):
                    value = part(**value)
                if not isinstance(value, part):
                    raise TypeError(
                        f"Parameter to MergeFrom() must be instance of same class: "
                        f"expected {self.FIELDS[name].__name__} got "
                        f"{type(value).__name__}."
                    )
                self._values[name] = value
            elif isinstance(self.FIELDS[name], Counts):
                getattr(self, name).update(value)
            elif isinstance(self.FIELDS[name], (dict, list)):
                self._values[name] = type(self.FIELDS[name])(value)
            else:
                setattr(self, name, value)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.FIELDS:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        default = self.FIELDS[name]
        if isinstance(default, (type, dict, list)):
            if name not in self._values:
                self._values[name] = (
                    default() if isinstance(default, type) else type(default)(default)
                )
            return self._values[name]
        return self._values.get(name, default)

    def __setattr__(self, name, value):
        if name not in self.FIELDS:
            raise AttributeError(
                f'Assignment not allowed (no field "{name}" in protocol message '
                f"object {type(self).__name__})."
            )
        default = self.FIELDS[name]
        if isinstance(default, (type, dict, list)):
            raise AttributeError(
                f'Assignment not allowed to composite field "{name}" in protocol message object.'
            )
        self._values[name] = self._checked(name, default, value)

    def _checked(self, name, default, value):
        accepted = {bool: (bool, int), int: (int,), float: (float, int), str: (str,)}[type(default)]
        numpy_value = getattr(value, "item", None)
        value = numpy_value() if numpy_value is not None else value
        if not isinstance(value, accepted) or (isinstance(value, bool) and type(default) is str):
            raise TypeError(
                f"{value!r} has type {type(value).__name__}, but expected one of: "
                + ", ".join(t.__name__ for t in accepted)
            )
        bits = 63 if name.endswith(WIDE) else 31
        if type(default) is int and not -(2**bits) <= value < 2**bits:
            raise ValueError(f"Value out of range: {value}")
        return type(default)(value)

    def HasField(self, name):
        """Returns whether a field is set."""
        if name not in self.FIELDS:
            raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        return name in self._values

    def ListFields(self):
        """Returns (name, value) of the fields that are set."""
        return [(name, self._values[name]) for name in self.FIELDS if name in self._values]

    def ClearField(self, name):
        """Clears a field."""
        self._values.pop(name, None)

    def Clear(self):
        """Clears all fields."""
        self._values.clear()

    def CopyFrom(self, other):
        """Replaces all fields by those of another message."""
        self._values.clear()
        self.MergeFrom(other)

    def MergeFrom(self, other):
        """Merges the fields of another message: sets scalars, appends to lists, merges
        submessages."""
        for name, value in other._values.items():
            if isinstance(value, Message):
                getattr(self, name).MergeFrom(value)
            elif isinstance(value, dict):
                getattr(self, name).update(value)
            elif isinstance(value, list):
                getattr(self, name).extend(value)
            else:
                self._values[name] = value

    def _lines(self, depth):
        """Yields the message in protobuf's text format."""
        pad = "  " * depth
        for name, default in self.FIELDS.items():
            value = self._values.get(name)
            if value is None:
                continue
            if isinstance(value, Message):
                yield from self._format_submessage(name, value, depth)
            elif isinstance(value, dict):
                for key, item in sorted(value.items()):
                    yield f'{pad}{name} {{\n{pad}  key: "{key}"\n{pad}  value: {item}\n{pad}}}\n'
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, Message):
                        yield from self._format_submessage(name, item, depth)
                    else:
                        yield f"{pad}{name}: {self._format_scalar(item)}\n"
            elif value != default:
                string = self.ENUMS.get(name, {}).get(value) or self._format_scalar(value)
                yield f"{pad}{name}: {string}\n"

    @staticmethod
    def _format_submessage(name, value, depth):
        pad, inside = "  " * depth, "".join(value._lines(depth + 1))
        if inside:
            yield f"{pad}{name} {{\n{inside}{pad}}}\n"

    @staticmethod
    def _format_scalar(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        return f'"{value}"' if isinstance(value, str) else str(value)

    def __str__(self):
        return "".join(self._lines(0))

    __repr__ = __str__

    def __eq__(self, other):
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class Parts(list):
    """A repeated field of submessages."""

    kind = Message

    def add(self, **values):
        """Appends a new message and returns it."""
        self.append(self.kind(**values))
        return self[-1]


class VirtualDevices(Message):
    FIELDS: dict = {"memory_limit_mb": [], "priority": []}


class VirtualDevicesList(Parts):
    kind = VirtualDevices


class GPUExperimental(Message):
    FIELDS = {
        "virtual_devices": VirtualDevicesList(),
        "use_unified_memory": False,
        "num_dev_to_dev_copy_streams": 0,
        "collective_ring_order": "",
        "timestamped_allocator": False,
        "kernel_tracker_max_interval": 0,
        "kernel_tracker_max_bytes": 0,
        "kernel_tracker_max_pending": 0,
    }
    VirtualDevices = VirtualDevices


class GPUOptions(Message):
    FIELDS = {
        "per_process_gpu_memory_fraction": 0.0,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "allow_growth": False,
        "visible_device_list": "",
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False,
        "experimental": GPUExperimental,
    }
    Experimental = GPUExperimental


class OptimizerOptions(Message):
    L1, L0, DEFAULT, OFF, ON_1, ON_2 = 0, -1, 0, -1, 1, 2
    ENUMS = {
        "opt_level": {-1: "L0", 0: "L1"},
        "global_jit_level": {-1: "OFF", 1: "ON_1", 2: "ON_2"},
    }
    FIELDS = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "opt_level": 0,
        "do_function_inlining": False,
        "global_jit_level": 0,
        "max_folded_constant_in_bytes": 0,
    }


class RewriterConfig(Message):
    """Options of TensorFlow's graph optimizer (Grappler); situ accepts and ignores them."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    FIELDS: dict = dict.fromkeys(
        (
            "layout_optimizer constant_folding shape_optimization remapping "
            "arithmetic_optimization dependency_optimization loop_optimization "
            "function_optimization debug_stripper scoped_allocator_optimization "
            "pin_to_host_optimization implementation_selector "
            "auto_mixed_precision memory_optimization meta_optimizer_iterations min_graph_nodes "
            "meta_optimizer_timeout_ms"
        ).split(),
        0,
    )
    FIELDS.update(
        {
            "disable_model_pruning": False,
            "disable_meta_optimizer": False,
            "fail_on_optimizer_errors": False,
            "optimizers": [],
            "memory_optimizer_target_node_name_scope": "",
        }
    )


class GraphOptions(Message):
    FIELDS = {
        "enable_recv_scheduling": False,
        "optimizer_options": OptimizerOptions,
        "build_cost_model": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
        "build_cost_model_after": 0,
        "rewrite_options": RewriterConfig,
    }


class ThreadPoolOption(Message):
    FIELDS = {"num_threads": 0, "global_name": ""}


class ConfigExperimental(Message):
    FIELDS = {
        "collective_group_leader": "",
        "executor_type": "",
        "use_numa_affinity": False,
        "recv_buf_max_chunk": 0,
        "disable_thread_spinning": False,
        "sim_gpus": "",
    }


class ConfigProto(Message):
    """Options of a session. `sim_gpus` is situ's own field: simulated GPUs, as in SITU_SIM_GPUS.

    situ reads device_count, intra_op_parallelism_threads, allow_soft_placement,
    log_device_placement, operation_timeout_in_ms and, of gpu_options, the memory fraction, growth,
    visible devices and virtual devices. A local session ignores the other fields."""

    FIELDS = {
        "device_count": Counts(),
        "intra_op_parallelism_threads": 0,
        "placement_period": 0,
        "device_filters": [],
        "inter_op_parallelism_threads": 0,
        "gpu_options": GPUOptions,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "use_per_session_threads": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "session_inter_op_thread_pool": [],
        "rpc_options": Message,
        "cluster_def": Message,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "experimental": ConfigExperimental,
        "sim_gpus": "",
    }
    Experimental = ConfigExperimental


class RunOptions(Message):
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    ENUMS = {"trace_level": {1: "SOFTWARE_TRACE", 2: "HARDWARE_TRACE", 3: "FULL_TRACE"}}
    FIELDS = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "report_tensor_allocations_upon_oom": False,
    }


def config_options(config: ConfigProto | None) -> dict:
    """Converts a ConfigProto to the options of the engine."""
    if config is None:
        return {}
    gpu = config.gpu_options
    counts = {k.upper(): v for k, v in config.device_count.items()}
    options = {
        "log_device_placement": config.log_device_placement,
        "allow_soft_placement": config.allow_soft_placement,
        "threads": config.intra_op_parallelism_threads,
        "sim_gpus": config.sim_gpus or None,
        "visible_device_list": gpu.visible_device_list or None,
        "cpu_devices": counts.get("CPU", 0),
        "gpu_devices": (counts["GPU"] or -1) if "GPU" in counts else 0,
        "memory": {"fraction": gpu.per_process_gpu_memory_fraction, "growth": gpu.allow_growth},
    }
    pieces = [
        (i, mb << 20)
        for i, v in enumerate(gpu.experimental.virtual_devices)
        for mb in v.memory_limit_mb
    ]
    if pieces:
        options["virtual_devices"] = pieces
    return options
