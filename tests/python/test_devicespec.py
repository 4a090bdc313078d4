# SPDX-License-Identifier: Apache-2.0
"""test_devicespec.py: tf.DeviceSpec."""

import json
import os

import pytest

import situ as tf


def test_parses_and_prints():
    spec = tf.DeviceSpec.from_string("/job:ps/task:3/gpu:1")
    assert (spec.job, spec.task, spec.device_type, spec.device_index) == ("ps", 3, "GPU", 1)
    assert spec.replica is None
    assert spec.to_string() == "/job:ps/task:3/device:GPU:1"


def test_keywords():
    spec = tf.DeviceSpec(job="worker", replica=0, task=2, device_type="gpu", device_index=4)
    assert spec.to_string() == "/job:worker/replica:0/task:2/device:GPU:4"


@pytest.mark.parametrize(
    "text, error",
    [
        ("/gpu:x", "invalid literal for int() with base 10: 'x'"),
        (
            "/foo:0",
            "Unknown attribute 'foo' is encountered while parsing the device spec: '/foo:0'.",
        ),
        (
            "/cpu:0/gpu:0",
            "Multiple device types are not allowed while parsing the device spec: /cpu:0/gpu:0.",
        ),
    ],
)
def test_refuses(text, error):
    with pytest.raises(ValueError) as caught:
        tf.DeviceSpec.from_string(text)
    assert str(caught.value) == error


def test_equal_specs_are_equal_keys():
    a, b = (tf.DeviceSpec.from_string(t) for t in ("/gpu:1", "/device:GPU:1"))
    assert a == b and len({a, b}) == 1 and a != tf.DeviceSpec.from_string("/gpu:2")


def apply(case):
    """Returns the result of DeviceSpec for a case of the reference."""
    words = case["args"]
    if case["op"] == "py_merge":
        outer, inner = (tf.DeviceSpec.from_string(w) for w in words)
        return outer.make_merged_spec(inner).to_string()
    return tf.DeviceSpec.from_string(words[0]).to_string()


def test_cases_of_the_reference(shared):
    path = os.path.join(shared, "conform", "names_python.jsonl")
    with open(path, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    wrong = []
    for case in cases:
        try:
            found = apply(case)
        except ValueError as e:
            found = str(e)
        wrong += check(case, found)
    assert cases and not wrong


def check(case, found):
    want = case["expect"]
    good = want["contains"] in found if isinstance(want, dict) else want == found
    return [] if good else [(case, found)]
