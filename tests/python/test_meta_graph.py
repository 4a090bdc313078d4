# SPDX-License-Identifier: Apache-2.0
"""test_meta_graph.py: MetaGraphDef, SaverDef, CollectionDef and FunctionDefs as messages, the nodes
of savers, and objects to save that are no variables."""

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def _model(use_resource=True):
    x = tf.placeholder(tf.float32, [None, 2], "x")
    w = tf.get_variable("w", [2, 3], initializer=tf.ones_initializer(), use_resource=use_resource)
    return tf.matmul(x, w, name="y"), w


@pytest.mark.parametrize("as_text", [False, True])
def test_binary_and_text_files(tmp_path, as_text):
    y, _ = _model()
    saver, path = tf.train.Saver(), str(tmp_path / "graph.meta")
    meta = saver.export_meta_graph(path, as_text=as_text)
    data = open(path, "rb").read()
    assert data == (str(meta).encode() if as_text else meta.SerializeToString())
    with tf.Graph().as_default() as graph:
        again = tf.train.import_meta_graph(path)
        assert again.saver_def == saver.saver_def
        assert again.export_meta_graph().collection_def == meta.collection_def
        assert graph.get_tensor_by_name(y.name).shape.as_list() == [None, 3]


def test_a_file_that_is_no_meta_graph(tmp_path):
    path = tmp_path / "graph.meta"
    path.write_text("this is no message")
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.train.import_meta_graph(str(path))
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "other.meta"))


@pytest.mark.parametrize("use_resource", [False, True])
def test_nodes_of_a_saver(tmp_path, use_resource):
    _, w = _model(use_resource)
    saver = tf.train.Saver(max_to_keep=3)
    definition = saver.saver_def
    assert definition.filename_tensor_name == "save/Const:0"
    assert definition.save_tensor_name == "save/control_dependency:0"
    assert definition.restore_op_name == "save/restore_all"
    assert definition.max_to_keep == 3 and definition.version == tf.train.SaverDef.V2
    path = str(tmp_path / "m")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saved = session.run(definition.save_tensor_name, {definition.filename_tensor_name: path})
        assert saved == path.encode()
        session.run(w.assign(np.zeros([2, 3])))
        session.run(definition.restore_op_name, {definition.filename_tensor_name: path})
        np.testing.assert_array_equal(session.run(w), np.ones([2, 3]))
        session.run(w.assign(np.zeros([2, 3])))
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(w), np.ones([2, 3]))


def test_saver_without_collections(tmp_path):
    _model()
    saver, path = tf.train.Saver(), str(tmp_path / "m")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, path)
    meta = saver.export_meta_graph(collection_list=[])
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        tf.train.import_meta_graph(meta).restore(session, path)
        np.testing.assert_array_equal(session.run("y:0", {"x:0": [[1, 2]]}), [[3, 3, 3]])


def test_scopes_of_exports_and_imports():
    with tf.name_scope("a"):
        x = tf.constant(2.0, name="x")
        with tf.name_scope("b"):
            v = tf.Variable(3.0, name="v")
            tf.multiply(x, v, name="y")
    meta = tf.train.export_meta_graph(export_scope="a/b")
    names = [n.name for n in meta.graph_def.node]
    assert "y" in names and "v" in names and not any(n.startswith("a/") for n in names)
    unbound = list(meta.collection_def["unbound_inputs"].bytes_list.value)
    assert unbound == [b"$unbound_inputs_a/x"]
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match="unbound inputs"):
            tf.train.import_meta_graph(meta)
        mapped = {"$unbound_inputs_a/x": tf.constant(5.0)}
        tf.train.import_meta_graph(meta, import_scope="new", input_map=mapped)
        assert [v.op.name for v in tf.global_variables()] == ["new/v"]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run("new/y:0") == 15
        assert graph.get_collection("unbound_inputs") == []


def test_collections():
    _, w = _model()
    for key, value in (("ints", 3), ("floats", 3.5), ("strings", "s"), ("nodes", w.op)):
        tf.add_to_collection(key, value)
    tf.add_to_collection("mixed", 3)
    tf.add_to_collection("mixed", object())
    meta = tf.train.export_meta_graph()
    assert "mixed" not in meta.collection_def
    kinds = {k: c.WhichOneof("kind") for k, c in meta.collection_def.items()}
    assert kinds["ints"] == "int64_list" and kinds["floats"] == "float_list"
    assert kinds["strings"] == kinds["variables"] == "bytes_list" and kinds["nodes"] == "node_list"
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta, restore_collections_predicate=lambda key: key != "floats")
        assert graph.get_collection("ints") == [3] and graph.get_collection("floats") == []
        assert graph.get_collection("nodes") == [graph.get_operation_by_name("w")]
        (new,) = tf.trainable_variables()
        assert new.to_proto() == w.to_proto() and tf.global_variables() == [new]


def test_queue_runners():
    queue = tf.FIFOQueue(10, tf.float32, name="q")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0)])
    tf.train.add_queue_runner(runner)
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        (new,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert new.to_proto() == runner.to_proto()


def test_attributes_with_default_values():
    a = tf.constant([[1.0]])
    tf.matmul(a, a, transpose_a=True, name="product")
    for strip, known in ((True, {"T", "transpose_a"}), (False, {"transpose_b"})):
        meta = tf.train.export_meta_graph(strip_default_attrs=strip)
        (node,) = [n for n in meta.graph_def.node if n.name == "product"]
        assert set(node.attr) >= known and ("transpose_b" in node.attr) == (not strip)
        assert meta.meta_info_def.stripped_default_attrs == strip
    assert {op.name for op in meta.meta_info_def.stripped_op_list.op} == {"Const", "MatMul"}


def test_nodes_of_other_savers():
    _model()
    first, second = tf.train.Saver(), tf.train.Saver()
    assert second.saver_def.restore_op_name == "save_1/restore_all"
    tf.add_to_collection(tf.GraphKeys.SAVERS, first)
    meta = second.export_meta_graph(clear_extraneous_savers=True)
    names = [n.name for n in meta.graph_def.node]
    assert "save_1/SaveV2" in names and not any(n.startswith("save/") for n in names)
    (left,) = meta.collection_def[tf.GraphKeys.SAVERS].bytes_list.value
    assert left == second.saver_def.SerializeToString()


def test_functions_with_variables_and_nested_functions():
    v = tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=True)
    w = tf.get_variable("w", [], initializer=tf.ones_initializer(), use_resource=False)

    def body(i, x):
        return i + 1, tf.cond(i > 1, lambda: x + v, lambda: x * 2.0 + w)

    _, x = tf.while_loop(lambda i, x: i < 4, body, [0, tf.constant(3.0)])
    tf.identity(x, "x")
    graph_def = tf.get_default_graph().as_graph_def()
    assert len(graph_def.library.function) == 4
    parsed = tf.GraphDef.FromString(graph_def.SerializeToString())
    for definition in (graph_def, parsed):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.import_graph_def(definition, name="")
            session.run(["v/Assign", "w/Assign"])
            assert session.run("x:0") == 17
            again = graph.as_graph_def()
            assert again.library == graph_def.library


def test_calls_of_functions_in_a_graph_def():
    graph_def = tf.GraphDef()
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [], "a")
        tf.add(a, 1.0, "b")
        body = graph.as_graph_def()
        graph_def.node.add().CopyFrom(body.node[0])
    function = graph_def.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="arg", type=1)
    function.signature.output_arg.add(name="result", type=1)
    for node in body.node[1:]:
        copy = function.node_def.add()
        copy.CopyFrom(node)
        names = {"a": "arg", "b/y": "b/y:output:0"}
        copy.input[:] = [names[i] for i in node.input]
    function.ret["result"] = "b:z:0"
    call = graph_def.node.add(name="call", op="PartitionedCall", input=["a"])
    call.attr["f"].func.name = "f"
    graph_def.node.add(name="direct", op="f", input=["call"])
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        assert session.run(["call:0", "direct:0"], {"a:0": 3}) == [4, 5]


def test_objects_that_save_themselves(tmp_path):
    from situ._src.checkpoint.saveables import SaveableObject, SaveSpec

    class Pair(SaveableObject):
        def __init__(self, name):
            self.a, self.b = tf.Variable(1.0), tf.Variable(2.0)
            specs = [SaveSpec(v.value(), "", name + s) for v, s in ((self.a, "/a"), (self.b, "/b"))]
            super().__init__(self.a, specs, name)

        def restore(self, restored_tensors, restored_shapes):
            a, b = restored_tensors
            return tf.group(self.a.assign(a), self.b.assign(b))

    class Owner:
        def __init__(self, pair):
            self.pair = pair

        def _gather_saveables_for_checkpoint(self):
            return {"VARIABLE_VALUE": lambda name="own": self.pair}

    pair, other = Pair("pair"), tf.Variable(5.0, name="other")
    path = str(tmp_path / "m")
    for items in ([pair, other], {"pair": pair, "other": other}, [Owner(pair), other]):
        saver = tf.train.Saver(items)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run([pair.a.assign(7.0), pair.b.assign(8.0), other.assign(9.0)])
            saver.save(session, path)
            session.run(tf.global_variables_initializer())
            saver.restore(session, path)
            assert session.run([pair.a, pair.b, other]) == [7, 8, 9]
    with pytest.raises(ValueError, match="The same saveable will be restored with two names"):
        tf.train.Saver({"a": pair, "b": pair})
    assert dict(tf.train.list_variables(path)) == {"other": [], "pair/a": [], "pair/b": []}


def test_a_variable_is_restored_with_another_shape():
    from situ._src.checkpoint.saveables import BaseSaverBuilder

    variable = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]])
    saveable = BaseSaverBuilder.VariableSaveable(variable, "", "v")
    restored = saveable.restore([tf.constant([5.0, 6.0, 7.0, 8.0])], [[2, 2]])
    with tf.Session() as session:
        session.run(restored)
        assert session.run(variable).tolist() == [[5, 6], [7, 8]]


def test_names_of_sharded_files():
    with tf.Session() as session:
        name = tf.raw_ops.ShardedFilename(basename="f", shard=1, num_shards=2)
        spec = tf.raw_ops.ShardedFilespec(basename="f", num_shards=2)
        assert session.run([name, spec]) == [b"f-00001-of-00002", b"f-?????-of-00002"]


def test_errors_of_checkpoint_ops(tmp_path):
    path = str(tmp_path / "m")
    ops = tf.raw_ops
    with tf.Session() as session:
        arguments = {"prefix": path, "tensor_names": ["a"], "shape_and_slices": [""]}
        session.run(ops.SaveV2(tensors=[tf.constant([1.0, 2.0])], **arguments))
        (value,) = session.run(ops.RestoreV2(dtypes=[tf.float32], **arguments))
        np.testing.assert_array_equal(value, [1, 2])
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected dtype int32"):
            session.run(ops.RestoreV2(dtypes=[tf.int32], **arguments))
        arguments["tensor_names"] = ["b"]
        with pytest.raises(tf.errors.NotFoundError, match="Key b not found"):
            session.run(ops.RestoreV2(dtypes=[tf.float32], **arguments))
        arguments["shape_and_slices"] = ["2 0,1"]
        with pytest.raises(tf.errors.UnimplementedError, match="Slices"):
            session.run(ops.RestoreV2(dtypes=[tf.float32], **arguments))


def test_loops_that_were_differentiated():
    v = tf.get_variable("v", initializer=2.0)
    _, x = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * v), [0, tf.constant(3.0)])
    tf.identity(x, "x")
    before = tf.get_default_graph().as_graph_def().library
    tf.gradients(x, v)
    meta = tf.train.export_meta_graph()
    assert meta.graph_def.library == before
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(meta)
        session.run(tf.global_variables_initializer())
        assert session.run("x:0") == 12


def test_initializers_are_operations_with_values():
    with tf.Graph().as_default() as graph:
        made = tf.get_variable("v", [2])
        definition = made.to_proto()
        definition.initial_value_name = ""
        assert (
            tf.Variable.from_proto(definition).initial_value
            is made.op.graph.get_operation_by_name("v/Assign").inputs[1]
        )
        definition.initializer_name = "v:0"
        with pytest.raises(ValueError, match="appears to refer to a Tensor"):
            tf.Variable.from_proto(definition)
        graph.create_op("NoOp", [], [], name="none")
        definition.initializer_name = "none"
        assert tf.Variable.from_proto(definition).initial_value is None
