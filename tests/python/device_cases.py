# SPDX-License-Identifier: Apache-2.0
"""device_cases.py: programs of graph style whose ops' devices are compared with TensorFlow's. Each
case is a function of `tf` (tensorflow.compat.v1); tests/golden/devices.json has what TensorFlow
2.21.0 reports as `op.device` of the ops that both have. `python device_cases.py FILE` writes that
of all ops, where TensorFlow is installed."""

import json
import sys

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def setter(tf, **options):
    options.setdefault("ps_tasks", 2)
    return tf.train.replica_device_setter(**options)


def model(tf, **options):
    a = tf.Variable(tf.zeros([2, 2]), name="a", **options)
    b = tf.Variable([1.0, 2.0], name="b", **options)
    c = tf.get_variable("c", [2], **options)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.matmul(x, a, name="mm") + b * c
    return a, b, c, tf.reduce_sum(y, name="loss")


# Plain device scopes


@case
def nested_strings(tf):
    with tf.device("/job:a"):
        with tf.device("/task:1"):
            for name, device in (("a", "/gpu:3"), ("b", ""), ("c", None), ("d", "/job:b")):
                with tf.device(device):
                    tf.constant(1, name=name)
            with tf.device(None), tf.device("/cpu:0"):
                tf.constant(1, name="e")
        with tf.device(tf.DeviceSpec(replica=1, device_type="GPU", device_index=1)):
            tf.constant(1, name="f")
        for name, device in (("g", "cpu:0"), ("h", "/device:GPU:*"), ("i", "CPU")):
            with tf.device(device):
                tf.constant(1, name=name)


@case
def functions(tf):
    def choose(op):
        return "/gpu:1" if op.type == "MatMul" else "/cpu:0"

    with tf.device(choose):
        model(tf)
        with tf.device("/job:j"):
            tf.constant(1.0, name="k")
        with tf.device(lambda op: "/job:inner" if op.type == "Const" else ""):
            tf.constant(1.0, name="k2")
            tf.zeros([2], name="z2")
    with tf.device("/job:out"):
        with tf.device(lambda op: op.device):
            tf.constant(2.0, name="k3")
        with tf.device(lambda op: "/gpu:3"):
            tf.constant(2.0, name="k4")
            tf.Variable(1.0, name="k5")
            with tf.device(""):
                tf.constant(2.0, name="k6")
    with tf.device(lambda op: tf.DeviceSpec(job="s", device_type="GPU", device_index=2)):
        tf.constant(2.0, name="k7")


@case
def colocation(tf):
    with tf.device("/gpu:0"):
        a = tf.constant(1.0, name="a")
    with tf.device("/cpu:0"):
        b = tf.constant(1.0, name="b")
    n = tf.constant(1.0, name="n")
    with tf.colocate_with(a):
        tf.constant(1.0, name="c1")
        with tf.device("/gpu:7"):
            tf.constant(1.0, name="c2")
        with tf.colocate_with(b):
            tf.constant(1.0, name="c3")
            with tf.colocate_with(n):
                tf.constant(1.0, name="c4")
        with tf.colocate_with(b, ignore_existing=True):
            tf.constant(1.0, name="c5")
        with tf.colocate_with(None, True):
            tf.constant(1.0, name="c6")
            with tf.device("/cpu:3"):
                tf.constant(1.0, name="c7")
    with tf.colocate_with(n):
        tf.constant(1.0, name="d1")
        with tf.device("/gpu:7"):
            tf.constant(1.0, name="d2")
        with tf.colocate_with(a):
            both = tf.constant(1.0, name="d3")
    with tf.colocate_with(both.op):
        tf.constant(1.0, name="d4")


@case
def colocation_hides_devices(tf):
    with tf.device("/gpu:0"):
        a = tf.constant(1.0, name="a")
    n = tf.constant(1.0, name="n")
    with tf.device("/gpu:5"):
        with tf.colocate_with(n):
            tf.constant(1.0, name="d4")
            with tf.device("/job:w"):
                tf.constant(1.0, name="d5")
        with tf.colocate_with(None, True):
            tf.constant(1.0, name="d6")
        tf.constant(1.0, name="d7")
    with tf.device(lambda op: "/gpu:6"):
        with tf.colocate_with(n):
            tf.constant(1.0, name="e2")
            with tf.device(lambda op: "/cpu:6"):
                tf.constant(1.0, name="e3")
        with tf.colocate_with(a), tf.device(lambda op: "/cpu:6"):
            tf.constant(1.0, name="e4")
        tf.constant(1.0, name="e5")


@case
def colocated_variables(tf):
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0], name="v")
        r = tf.Variable([1.0], name="r", use_resource=True)
    for name, variable in (("with_v", v), ("with_r", r), ("with_op", r.op)):
        with tf.name_scope(name), tf.colocate_with(variable):
            tf.constant(1.0, name="a")
            tf.Variable([1.0], name="ref")
            tf.Variable(lambda: tf.zeros([3]), name="called")
            tf.Variable([1.0], name="resource", use_resource=True)
            r.read_value()
            r.assign([2.0])


# What a variable makes


@case
def reference_variables(tf):
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
        w = tf.Variable(lambda: tf.zeros([2]), name="w")
        with tf.device("/cpu:0"):
            tf.assign(v, [1.0, 1.0], name="as1")
            v.assign_add([1.0, 1.0], name="as2")
            tf.assign_sub(w, v, name="as3")
            tf.is_variable_initialized(v)
            tf.identity(v, name="id")
            v.read_value()
    with tf.device("/job:worker"):
        tf.assign(v, [1.0, 1.0], name="as4")


@case
def reference_ops(tf):
    with tf.device("/gpu:0"):
        i = tf.Variable(1, name="i")
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
    with tf.device("/job:w"):
        tf.count_up_to(i, 3, name="count")
        for word in "update add sub mul div min max".split():
            getattr(tf, "scatter_" + word)(v, [0], [[1.0, 1.0]], name="scatter_" + word)
        for word in "update add sub".split():
            getattr(tf, "scatter_nd_" + word)(v, [[0]], [[1.0, 1.0]], name="scatter_nd_" + word)
        tf.gather_nd(v, [[0]], name="gather_nd")


@case
def resource_variables(tf):
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
        w = tf.Variable(lambda: tf.zeros([2]), name="w", use_resource=True)
        with tf.device("/cpu:0"):
            v.assign([1.0, 1.0], name="as1")
            v.assign_add([1.0, 1.0], name="as2")
            w.assign_sub(v, name="as3")
            v.scatter_update(tf.IndexedSlices(tf.constant([2.0]), tf.constant([0])), name="sc")
            tf.is_variable_initialized(v)
            tf.identity(v, name="id")
            v.read_value()
            v.sparse_read([0], name="gather")
            v.value()
    with tf.device("/job:worker"):
        v.assign([1.0, 1.0], name="as4")
        tf.add(v, 1.0, name="add")


@case
def caching_devices(tf):
    with tf.device(setter(tf)):
        tf.Variable([1.0], name="a", caching_device="/job:worker/task:0/cpu:0")
        tf.Variable([1.0], name="b", caching_device=lambda op: op.device)
        tf.Variable([1.0], name="c", caching_device=lambda op: "/job:x/gpu:1")
        tf.Variable([1.0], name="d", caching_device="/gpu:0")
        tf.get_variable("e", [2], caching_device="/gpu:1")
        with tf.variable_scope("s", caching_device="/gpu:2"):
            tf.get_variable("a", [2])
            tf.get_variable("b", [2], caching_device="/gpu:3")
            with tf.variable_scope("t"):
                tf.get_variable("c", [2])
        with tf.variable_scope("s2", caching_device=lambda op: op.device):
            tf.get_variable("a", [2])
        with tf.variable_scope("s3") as scope:
            scope.set_caching_device("/cpu:3")
            tf.get_variable("a", [2])
    tf.Variable([1.0], name="n", caching_device="/cpu:0")


@case
def caching_devices_of_resources(tf):
    options = dict(use_resource=True)
    with tf.device(setter(tf)):
        made = [
            tf.Variable([1.0], name=f"v{i}", caching_device=device, **options)
            for i, device in enumerate(
                (
                    "/job:worker/task:0/cpu:0",
                    lambda op: op.device,
                    lambda op: "/job:x/gpu:1",
                    "/gpu:0",
                )
            )
        ]
        made.append(tf.get_variable("g", [2], caching_device="/gpu:1", **options))
        with tf.variable_scope("s", caching_device="/gpu:2", **options):
            made.append(tf.get_variable("h", [2]))
    for i, variable in enumerate(made):
        with tf.name_scope(f"use{i}"):
            variable.read_value()
            tf.add(variable, 1.0, name="add")
            tf.identity(variable, name="id")
            variable.assign(variable * 2.0, name="assign")


@case
def variable_scopes(tf):
    with tf.variable_scope("s"), tf.device("/gpu:1"):
        tf.get_variable("v", [2])
    with tf.variable_scope("s", reuse=True), tf.device("/gpu:2"):
        tf.add(tf.get_variable("v", [2]), 1.0, name="add")


# Parameter servers


@case
def parameter_servers(tf):
    with tf.device(setter(tf)):
        _, b, _, _ = model(tf)
        tf.assign(b, [0.0, 0.0], name="as1")
    tf.assign(b, [0.0, 0.0], name="as2")
    tf.is_variable_initialized(b)


@case
def parameter_servers_of_resources(tf):
    with tf.device(setter(tf)):
        _, b, _, _ = model(tf, use_resource=True)
        b.assign([0.0, 0.0], name="as1")
        b.read_value()
    b.assign([0.0, 0.0], name="as2")
    tf.is_variable_initialized(b)


@case
def worker_device(tf):
    with tf.device(setter(tf, worker_device="/job:worker/task:3/gpu:1", ps_device="/job:ps/cpu:0")):
        model(tf)
        with tf.device("/gpu:2"):
            tf.Variable(1.0, name="g")
            tf.constant(1.0, name="k")


@case
def no_merged_devices(tf):
    with tf.device(setter(tf, merge_devices=False)):
        with tf.device("/gpu:1"):
            model(tf)
        tf.Variable(1.0, name="z")
        tf.constant(1.0, name="k")


@case
def cluster_spec(tf):
    jobs = {"ps": ["a:1", "b:1", "c:1"], "worker": ["w:1"]}
    with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(jobs))):
        model(tf)


@case
def cluster_of_another_job(tf):
    jobs = {"params": ["a:1", "b:1"], "worker": ["w:1"]}
    with tf.device(tf.train.replica_device_setter(cluster=jobs, ps_device="/job:params")):
        model(tf)


@case
def no_parameter_servers(tf):
    assert tf.train.replica_device_setter() is None
    with tf.device(tf.train.replica_device_setter(cluster={"worker": ["w:1"]})):
        model(tf)


class Greedy:
    """A strategy as GreedyLoadBalancingStrategy: the task with the fewest elements is next."""

    def __init__(self, count):
        self.loads = [0] * count

    def __call__(self, op):
        task = self.loads.index(min(self.loads))
        size = 1
        for dimension in op.outputs[0].get_shape().as_list():
            size *= dimension
        self.loads[task] += size
        return task


@case
def greedy_strategy(tf):
    with tf.device(setter(tf, ps_tasks=3, ps_strategy=Greedy(3))):
        for i, shape in enumerate([[100], [10, 2], [3], [4, 4], [7], [1]]):
            tf.get_variable(f"v{i}", shape)
            tf.get_variable(f"r{i}", shape, use_resource=True)


@case
def other_ps_ops(tf):
    with tf.device(setter(tf, ps_ops=["Const"])):
        model(tf)


@case
def jobs_in_scopes(tf):
    with tf.device(setter(tf)):
        for name, device in (
            ("a", "/job:worker/task:1"),
            ("b", "/job:ps/task:7"),
            ("c", "/job:other"),
            ("d", ""),
        ):
            with tf.device(device):
                tf.Variable(1.0, name=name)
    with tf.device("/job:outer/gpu:3"), tf.device(setter(tf)):
        tf.Variable(1.0, name="e")
        tf.constant(1.0, name="f")
        with tf.device(None):
            tf.Variable(1.0, name="g")
            tf.constant(1.0, name="h")
            with tf.device("/cpu:1"):
                tf.constant(1.0, name="i")


@case
def partitioned_variables(tf):
    with tf.device(setter(tf, ps_tasks=3)):
        v = tf.get_variable("v", [6, 2], partitioner=tf.fixed_size_partitioner(3))
        tf.nn.embedding_lookup(v, [1, 2], name="look")
        with tf.variable_scope(
            "s", partitioner=tf.fixed_size_partitioner(2), caching_device="/gpu:1"
        ):
            tf.get_variable("u", [4, 2], initializer=tf.zeros_initializer())


@case
def other_state(tf):
    with tf.device(setter(tf)):
        queue = tf.FIFOQueue(3, [tf.float32], name="q")
        queue.enqueue(1.0, name="enq")
        queue.dequeue(name="deq")
        tf.train.get_or_create_global_step()
        tf.global_variables_initializer()
        tf.group(tf.no_op(name="n1"), name="group")


# Training


def _training(make, **options):
    colocate = options.pop("colocate", False)
    counted = options.pop("counted", False)

    def train(tf):
        with tf.device(setter(tf)):
            loss = model(tf, **options)[-1]
            step = tf.train.get_or_create_global_step() if counted else None
            make(tf).minimize(loss, step, colocate_gradients_with_ops=colocate)
        tf.global_variables_initializer()

    return train


OPTIMIZERS = {
    "gradient_descent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda tf: tf.train.AdamOptimizer(),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.1),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
}
for _name, _make in OPTIMIZERS.items():
    CASES[_name] = _training(_make, counted=True)
    CASES[_name + "_colocated"] = _training(_make, colocate=True)
    CASES[_name + "_of_resources"] = _training(_make, use_resource=True, counted=True)


@case
def training_outside_of_the_scope(tf):
    with tf.device(setter(tf)):
        loss = model(tf)[-1]
    tf.train.AdamOptimizer().minimize(loss)


@case
def colocated_gradients(tf):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        w = tf.Variable(tf.zeros([2, 2]), name="w")
        y = tf.matmul(x, w, name="y")
    with tf.device("/gpu:1"):
        z = tf.reduce_sum(tf.nn.relu(y, name="z"), name="sum")
    with tf.device("/cpu:0"):
        tf.gradients(z, [w], name="g1")
        tf.gradients(z, [w], colocate_gradients_with_ops=True, name="g2")
    with tf.device(lambda op: "/gpu:7"):
        tf.gradients(z, [w], name="g3")
        tf.gradients(z, [w], colocate_gradients_with_ops=True, name="g4")
    with tf.colocate_with(w):
        tf.gradients(z, [w], name="g5")
        tf.gradients(z, [w], colocate_gradients_with_ops=True, name="g6")


def _embedding(tf, **options):
    with tf.device(setter(tf)):
        v = tf.get_variable("v", [6, 2], **options)
        found = tf.nn.embedding_lookup(v, [1, 2], name="look")
        row = tf.gather(v, [1], name="row")
        loss = tf.reduce_sum(found) + tf.reduce_sum(row)
        tf.train.AdagradOptimizer(0.1).minimize(loss)


CASES["embedding"] = _embedding
CASES["embedding_of_resources"] = lambda tf: _embedding(tf, use_resource=True)


@case
def moving_averages(tf):
    with tf.device(setter(tf)):
        v = tf.get_variable("v", [2])
        tf.train.ExponentialMovingAverage(0.9).apply([v])


# With layers: TensorFlow has these where Keras 2 is installed, with TF_USE_LEGACY_KERAS=1.


@case
def layers(tf):
    with tf.device(setter(tf)):
        x = tf.placeholder(tf.float32, [None, 4, 4, 3], name="x")
        y = tf.layers.conv2d(x, 2, 2)
        y = tf.layers.batch_normalization(y, training=True)
        tf.layers.dense(tf.layers.flatten(y), 3)


@case
def layers_of_resources(tf):
    with tf.device(setter(tf)), tf.variable_scope("s", use_resource=True, caching_device="/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        tf.layers.dense(x, 3)


def devices(tf, name):
    """What a program's ops report: {name of the op: device}."""
    with tf.Graph().as_default() as graph:
        CASES[name](tf)
    return {op.name: op.device for op in graph.get_operations()}


def _write(path):
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    with open(path, "w", encoding="utf-8") as file:
        json.dump({name: devices(tf, name) for name in CASES}, file, indent=0, sort_keys=True)


if __name__ == "__main__":
    _write(sys.argv[1])
