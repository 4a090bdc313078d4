# SPDX-License-Identifier: Apache-2.0
"""test_protos.py: ConfigProto, GPUOptions and the other options of sessions."""

import pytest

import situ.compat.v1 as tf

FIELDS = {
    "device_count": {"CPU": 2},
    "intra_op_parallelism_threads": 2,
    "inter_op_parallelism_threads": 3,
    "use_per_session_threads": True,
    "device_filters": ["/job:ps"],
    "allow_soft_placement": True,
    "log_device_placement": True,
    "operation_timeout_in_ms": 1000,
    "isolate_session_state": True,
}
GPU_FIELDS = {
    "per_process_gpu_memory_fraction": 0.5,
    "allow_growth": True,
    "allocator_type": "BFC",
    "deferred_deletion_bytes": 4,
    "visible_device_list": "0,1",
    "polling_active_delay_usecs": 3,
    "polling_inactive_delay_msecs": 4,
    "force_gpu_compatible": True,
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_config(name):
    value = FIELDS[name]
    config = tf.ConfigProto(**{name: value})
    assert getattr(config, name) == value
    other = tf.ConfigProto()
    if isinstance(value, dict):
        getattr(other, name).update(value)
    elif isinstance(value, list):
        getattr(other, name).extend(value)
    else:
        setattr(other, name, value)
    assert other == config and config != tf.ConfigProto() and name in str(config)


@pytest.mark.parametrize("name", GPU_FIELDS)
def test_fields_of_gpu_options(name):
    options = tf.GPUOptions(**{name: GPU_FIELDS[name]})
    assert getattr(options, name) == GPU_FIELDS[name]
    config = tf.ConfigProto(gpu_options=options)
    config.gpu_options.allow_growth = True
    assert (
        getattr(tf.ConfigProto(gpu_options={name: GPU_FIELDS[name]}).gpu_options, name)
        == GPU_FIELDS[name]
    )


def test_parts():
    config = tf.ConfigProto()
    config.graph_options.place_pruned_graph = True
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    config.graph_options.rewrite_options.constant_folding = tf.RewriterConfig.OFF
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[100, 200])
    assert (
        str(config)
        == """gpu_options {
  experimental {
    virtual_devices {
      memory_limit_mb: 100
      memory_limit_mb: 200
    }
  }
}
graph_options {
  optimizer_options {
    global_jit_level: ON_1
  }
  place_pruned_graph: true
  rewrite_options {
    constant_folding: OFF
  }
}
"""
    )
    copy = tf.ConfigProto()
    copy.CopyFrom(config)
    assert copy == config
    config.Clear()
    assert str(config) == "" and copy != config


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda: tf.ConfigProto(foo=1),
            ValueError,
            'Protocol message ConfigProto has no "foo" field.',
        ),
        (lambda: tf.GPUOptions(alow_growth=True), ValueError, 'has no "alow_growth" field'),
        (lambda: setattr(tf.ConfigProto(), "foo", 1), AttributeError, 'no field "foo"'),
        (lambda: setattr(tf.ConfigProto().gpu_options, "foo", 1), AttributeError, 'no field "foo"'),
        (lambda: tf.ConfigProto().foo, AttributeError, "foo"),
        (lambda: tf.ConfigProto(allow_soft_placement="yes"), TypeError, "'yes'"),
        (lambda: tf.GPUOptions(per_process_gpu_memory_fraction="a"), TypeError, "'a'"),
        (lambda: tf.ConfigProto(intra_op_parallelism_threads=1.5), TypeError, "1.5"),
        (lambda: tf.ConfigProto(intra_op_parallelism_threads=2**40), ValueError, "out of range"),
        (lambda: tf.ConfigProto(device_count={"GPU": "x"}), TypeError, "'x'"),
        (
            lambda: setattr(tf.ConfigProto(), "gpu_options", tf.GPUOptions()),
            AttributeError,
            "Assignment not allowed to",
        ),
        (lambda: tf.ConfigProto().HasField("foo"), ValueError, "foo"),
        (lambda: tf.ConfigProto(3), TypeError, "No positional arguments allowed"),
        (
            lambda: tf.Session(config={}),
            TypeError,
            "config must be a tf.ConfigProto, but got <class",
        ),
        (lambda: tf.RunOptions(foo=1), ValueError, 'RunOptions has no "foo" field'),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_graph_options_that_would_change_results(capfd):
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.debug_stripper = tf.RewriterConfig.ON
    with pytest.raises(NotImplementedError, match="debug_stripper"):
        tf.Session(config=config)
    config.graph_options.rewrite_options.debug_stripper = tf.RewriterConfig.OFF
    config.graph_options.enable_bfloat16_sendrecv = True
    with pytest.raises(NotImplementedError, match="enable_bfloat16_sendrecv=True"):
        tf.Session(config=config)
    config.graph_options.enable_bfloat16_sendrecv = False
    config.graph_options.rewrite_options.auto_mixed_precision = tf.RewriterConfig.ON
    tf.Session(config=config).close()
    assert "auto_mixed_precision is not supported" in capfd.readouterr().err
