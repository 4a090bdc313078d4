# SPDX-License-Identifier: Apache-2.0
"""test_resource_variables.py: variables of graphs by handle: names, reads, changes, training."""

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    tf.reset_default_graph()
    yield
    tf.disable_resource_variables()


def names():
    return [o.name for o in tf.get_default_graph().get_operations()]


def types():
    return {o.name: o.type for o in tf.get_default_graph().get_operations()}


def started():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_the_nodes_of_a_variable():
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    assert names() == [
        "v/Initializer/initial_value",
        "v",
        "v/IsInitialized/VarIsInitializedOp",
        "v/Assign",
        "v/Read/ReadVariableOp",
    ]
    assert (v.name, v.op.type, v.dtype, v.handle.dtype) == (
        "v:0",
        "VarHandleOp",
        tf.float32,
        tf.resource,
    )
    assert v.op.get_attr("shared_name") in ("v", b"v") and v.initializer.type == "AssignVariableOp"
    assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32>"
    assert isinstance(v, tf.Variable)


def test_uses_read_in_their_scope():
    v = tf.get_variable("v", [2, 2], use_resource=True)
    before = len(names())
    tf.matmul(v, v)
    v * 2.0
    tf.ones([2, 2]) + v
    tf.square(v)
    assert names()[before:] == [
        "MatMul/ReadVariableOp",
        "MatMul/ReadVariableOp_1",
        "MatMul",
        "ReadVariableOp",
        "mul/y",
        "mul",
        "ones",
        "add/ReadVariableOp",
        "add",
        "Square/ReadVariableOp",
        "Square",
    ]


@pytest.mark.parametrize("how", ["call", "scope", "program", "variable"])
def test_ways_to_ask(how):
    if how == "program":
        tf.enable_resource_variables()
        assert tf.resource_variables_enabled()
    with tf.variable_scope("s", use_resource=True if how == "scope" else None):
        if how == "variable":
            v = tf.Variable(1.0, use_resource=True)
        else:
            v = tf.get_variable("v", [], use_resource=True if how == "call" else None)
    assert v.op.type == "VarHandleOp"
    tf.disable_resource_variables()
    assert tf.get_variable("w", []).op.type == "VariableV2"


def test_a_read_stays_as_it_was():
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    before = v.value()
    with tf.control_dependencies([before]):
        change = v.assign_add([10.0, 10.0])
    with tf.control_dependencies([change.op]):
        late, after = before * 1.0, v.read_value()
    with started() as session:
        for k in range(3):
            got = session.run([before, late, after])
            numpy.testing.assert_array_equal(
                got, [[1 + 10 * k, 2 + 10 * k]] * 2 + [[11 + 10 * k, 12 + 10 * k]]
            )
        assert session.run(change).tolist() == [41, 42]
        assert session.run(v.assign([3.0, 4.0])).tolist() == [3, 4]
        assert session.run(v.assign_sub([1.0, 1.0], read_value=False)) is None
        assert session.run(v).tolist() == [2, 3] == v.eval(session).tolist()


def test_use_before_initialisation():
    v = tf.get_variable("v", initializer=[1.0], use_resource=True)
    y = v + 1.0
    with tf.Session() as session:
        assert not session.run(tf.is_variable_initialized(v))
        assert session.run(tf.report_uninitialized_variables()).tolist() == [b"v"]
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            session.run(y)
        assert caught.value.message.startswith(
            "Error while reading resource variable v from Container: localhost. This could mean "
            "that the variable was uninitialized. Not found: Resource localhost/v/"
        )
        assert caught.value.op.type == "ReadVariableOp"
        session.run(v.initializer)
        assert session.run([tf.is_variable_initialized(v), y])[1].tolist() == [2]


def test_rows():
    v = tf.get_variable("v", initializer=numpy.zeros((3, 2), "float32"), use_resource=True)
    with started() as session:
        assert session.run(tf.scatter_update(v, [1], [[1.0, 2.0]])).tolist() == [
            [0, 0],
            [1, 2],
            [0, 0],
        ]
        session.run(tf.scatter_add(v, [1, 1], [[1.0, 1.0], [1.0, 1.0]]))
        session.run(v.scatter_sub(tf.IndexedSlices([[5.0, 5.0]], [0])))
        session.run(tf.scatter_nd_update(v, [[2, 1]], [9.0]))
        assert session.run(v).tolist() == [[-5, -5], [3, 4], [0, 9]]
        found = tf.nn.embedding_lookup(v, [2, 2, 0])
        assert "ResourceGather" in types().values()
        assert session.run(found).tolist() == [[0, 9], [0, 9], [-5, -5]]
        slopes = tf.gradients(found, v)[0]
        assert session.run(tf.convert_to_tensor(slopes)).tolist() == [[1, 1], [0, 0], [2, 2]]
        shape = tf.raw_ops.VariableShape(input=v.handle)
        assert session.run(shape).tolist() == [3, 2]


OPTIMIZERS = {
    "GradientDescent": (0.1,),
    "Momentum": (0.1, 0.9),
    "Adagrad": (0.1,),
    "Adadelta": (0.1,),
    "RMSProp": (0.1,),
    "Adam": (0.1,),
    "Ftrl": (0.1,),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_do_the_same_by_handle(name):
    curves = []
    for use_resource in (False, True):
        tf.reset_default_graph()
        v = tf.get_variable("v", initializer=[[1.0, -2.0], [3.0, 0.5]], use_resource=use_resource)
        x = tf.placeholder(tf.float32, [None, 2])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, v) - 1.0))
        train = getattr(tf.train, name + "Optimizer")(*OPTIMIZERS[name]).minimize(loss)
        kind = "ResourceApply" if use_resource else "Apply"
        assert types()[f"{name}/update_v/{kind}{name}"] == kind + name
        with started() as session:
            feed = {x: [[1.0, 2.0], [0.5, -1.0]]}
            curves.append([session.run([loss, train], feed)[0] for _ in range(5)])
            curves[-1].append(session.run(v).tolist())
        if use_resource:
            assert all(s.op.type == "VarHandleOp" for s in tf.global_variables())
    assert curves[0] == curves[1]


FTRL = [  # lr_power, l2_shrinkage, multiply_linear_by_lr, and TensorFlow's new var and linear
    (-0.5, 0.0, False, [-0.03102, 0.0, 0.04289, 1.341], [0.3126, 0.08102, -0.4142, -8.162]),
    (-0.5, 0.0, True, [-0.1795, 0.0, 0.3041, 1.333], [0.3063, -0.05949, -0.7071, -4.056]),
    (-0.75, 0.0, True, [-0.2184, 0.0, 0.3281, 1.68], [0.3137, 0.09688, -0.8409, -7.406]),
    (-0.5, 0.125, True, [-0.3033, 0.1293, 0.2715, 1.206], [0.4313, -0.3095, -0.6446, -3.681]),
    (-0.75, 0.125, True, [-0.3631, 0.02018, 0.2995, 1.593], [0.4387, -0.1531, -0.7784, -7.031]),
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("power,shrinkage,multiply,new_var,new_linear", FTRL)
def test_ftrl_multiplies_linear_by_lr(sparse, power, shrinkage, multiply, new_var, new_linear):
    var, accum, linear = (
        tf.Variable(value, use_resource=True)
        for value in ([1.0, -2.0, 0.5, 3.0], [0.1, 0.5, 1.0, 2.0], [0.3, -0.2, -1.0, 0.05])
    )
    name = f"Resource{'Sparse' if sparse else ''}ApplyFtrl{'V2' if shrinkage else ''}"
    apply = getattr(tf.raw_ops, name)(
        var=var.handle,
        accum=accum.handle,
        linear=linear.handle,
        grad=tf.constant([0.4, -0.6, 1.0, -2.0]),
        lr=0.5,
        l1=0.25,
        l2=0.5,
        lr_power=power,
        multiply_linear_by_lr=multiply,
        **({"l2_shrinkage": shrinkage} if shrinkage else {}),
        **({"indices": [0, 1, 2, 3]} if sparse else {}),
    )
    with started() as session:
        session.run(apply)
        found = session.run([var, accum, linear])
    want = [new_var, [0.26, 0.86, 2.0, 6.0], new_linear]
    numpy.testing.assert_allclose(found, want, rtol=1e-3)


def test_names_of_adam():
    v = tf.get_variable("v", initializer=[1.0], use_resource=True)
    tf.train.AdamOptimizer().minimize(v * v)
    for name in (
        "v/Adam/Initializer/zeros",
        "v/Adam_1/Read/ReadVariableOp",
        "beta1_power/IsInitialized/VarIsInitializedOp",
        "Adam/update_v/Cast/ReadVariableOp",
        "Adam/update_v/Cast_1/ReadVariableOp",
        "Adam/update_v/ResourceApplyAdam",
        "Adam/AssignVariableOp",
    ):
        assert name in names()


def test_branches_and_loops():
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    p = tf.placeholder(tf.bool, [])

    def change():
        with tf.control_dependencies([v.assign_add([10.0, 10.0])]):
            return v.read_value()

    branch = tf.cond(p, change, lambda: v * 2.0)
    three = tf.while_loop(
        lambda i: i < 3,
        lambda i: [tf.tuple([i + 1], control_inputs=[v.assign_add([1.0, 1.0]).op])[0]],
        [tf.constant(0)],
    )
    total = tf.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s + v), [tf.constant(0), tf.zeros([2])]
    )[1]
    squares = tf.cond(p, lambda: v * v, lambda: v * 3.0)
    slopes = tf.gradients(total, v)[0], tf.gradients(squares, v)[0]
    with started() as session:
        assert session.run(branch, {p: True}).tolist() == [11, 12] == session.run(v).tolist()
        assert session.run(branch, {p: False}).tolist() == [22, 24]
        assert session.run(three) == 3 and session.run(v).tolist() == [14, 15]
        assert session.run(total).tolist() == [42, 45]
        assert session.run(slopes[0]).tolist() == [3, 3]
        assert session.run(slopes[1], {p: True}).tolist() == [28, 30]
        assert session.run(slopes[1], {p: False}).tolist() == [3, 3]


def test_checkpoints(tmp_path):
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    saver = tf.train.Saver()
    with started() as session:
        session.run(v.assign([5.0, 6.0]))
        path = saver.save(session, str(tmp_path / "model"))
    tf.reset_default_graph()
    saver = tf.train.import_meta_graph(path + ".meta")
    (v,) = tf.global_variables()
    assert v.op.type == "VarHandleOp"
    with tf.Session() as session:
        saver.restore(session, path)
        assert session.run(v).tolist() == [5, 6]
        assert session.run(v.assign_add([1.0, 1.0])).tolist() == [6, 7]


def test_graphs_go_out_and_in():
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    v.assign_add([1.0, 1.0], name="up")
    tf.identity(v, name="out")
    graph_def = tf.get_default_graph().as_graph_def()
    tf.reset_default_graph()
    tf.import_graph_def(graph_def, name="a")
    tf.import_graph_def(graph_def, name="b")  # the same shared name: the same variable
    with tf.Session() as session:
        session.run("a/v/Assign")
        session.run("b/up")
        assert session.run("a/out:0").tolist() == [2, 3] == session.run("b/out:0").tolist()


def test_the_placement_log(python):
    result = python(
        """
import situ.compat.v1 as tf
with tf.device("/cpu:0"):
    v = tf.get_variable("v", initializer=[1.0], use_resource=True)
with tf.device("/gpu:1"):
    y = v * 2.0
with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
    session.run(tf.global_variables_initializer())
    print(session.run(y))
""",
        gpus=2,
    )
    output = result.out
    assert result.code == 0, result.err
    cpu, gpu = ("/job:localhost/replica:0/task:0/device:" + d for d in ("CPU:0", "GPU:1"))
    for name in (
        "v",
        "v/Assign",
        "v/Read/ReadVariableOp",
        "ReadVariableOp",
        "v/IsInitialized/VarIsInitializedOp",
    ):
        assert f"\n{name}: {cpu}\n" in output
    assert f"\nmul: {gpu}\n" in output and "[2.]" in output


def test_the_log_of_eager_variables(python):
    result = python("""
import situ as tf
tf.debugging.set_log_device_placement(True)
v = tf.Variable([1.0, 2.0])
v * 3.0
v.assign_add([1.0, 1.0])
v.assign_sub([1.0, 1.0])
with tf.GradientTape() as tape:
    loss = v * v
tf.keras.optimizers.SGD(0.1).apply_gradients([(tape.gradient(loss, v), v)])
print(v.numpy())
""")
    output = result.out
    assert result.code == 0, result.err
    said = [line.split()[2] for line in output.splitlines() if line.startswith("Executing op")]
    assert said[:6] == [
        "VarHandleOp",
        "AssignVariableOp",
        "ReadVariableOp",
        "Mul",
        "AssignAddVariableOp",
        "AssignSubVariableOp",
    ]
    assert "ResourceApplyGradientDescent" in said and "Step" not in output
    assert said.count("ReadVariableOp") == 1  # once for a type and a device
    assert "[0.8 1.6]" in output


def test_changes_of_a_changed_variable_run_in_order():
    v = tf.Variable([3.0, 4.0], use_resource=True)
    with started() as session:
        run = session.run
        assert run(v.assign_add([1.0, 1.0]).assign_add([1.0, 2.0])).tolist() == [5, 7]
        assert run(v.assign_sub([1.0, 1.0]).assign([0.0, 1.0]).assign_sub([1.0, 1.0])).tolist() == [
            -1,
            0,
        ]
        assert run(v).tolist() == [-1, 0]
        assert run(v.assign([5.0, 6.0]).sparse_read([1])).tolist() == [6]
        changed = v.assign([1.0, 2.0]).scatter_add(tf.IndexedSlices([10.0], [1]))
        assert run(changed).tolist() == [1, 12]
        assert run(v.assign([7.0, 8.0])[:1].assign([9.0])).tolist() == [9, 8]
