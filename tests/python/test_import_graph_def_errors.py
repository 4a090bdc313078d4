# SPDX-License-Identifier: Apache-2.0
"""test_import_graph_def_errors.py: tf.import_graph_def of damaged and malicious GraphDefs:
errors and limits."""

import pytest

import situ as tf

GraphDef = tf.compat.v1.GraphDef
FLOAT, UINT8, STRING, COMPLEX64 = 1, 4, 7, 8


def add_const(graph_def, name, dtype, shape, **fields):
    node = graph_def.node.add(name=name, op="Const")
    node.attr["dtype"].type = dtype
    tensor = node.attr["value"].tensor
    tensor.dtype = dtype
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    for field, values in fields.items():
        if field == "tensor_content":
            tensor.tensor_content = values
        else:
            getattr(tensor, field).extend(values)
    return node


def add_identity(nodes, name, *inputs, dtype=FLOAT):
    node = nodes.add(name=name, op="Identity")
    node.input.extend(inputs)
    node.attr["T"].type = dtype


def add_function(graph_def, name, callee=None, calls=1, dtype=FLOAT):
    """Adds a function of one argument that calls another one several times in a row."""
    function = graph_def.library.function.add()
    function.signature.name = name
    function.signature.input_arg.add(name="x", type=dtype)
    function.signature.output_arg.add(name="y", type=dtype)
    last = "x"
    for i in range(calls if callee else 0):
        function.node_def.add(name=f"c{i}", op=callee).input.append(last)
        last = f"c{i}:y:0"
    function.ret["y"] = last
    return function


def call(graph_def, function, *inputs):
    add_const(graph_def, "a", FLOAT, [], float_val=[1.0])
    graph_def.node.add(name="call", op=function).input.extend(inputs or ("a",))


def read(graph_def):
    """Imports a GraphDef that was written and parsed. Returns the graph."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(GraphDef.FromString(graph_def.SerializeToString()), name="")
    return graph


@pytest.mark.parametrize(
    ("dtype", "shape", "fields"),
    [
        (FLOAT, [30000, 30000], {"float_val": [1.0]}),
        (FLOAT, [30000, 30000], {}),
        (STRING, [1000000000], {"string_val": [b"x"]}),
        (STRING, [10000], {"string_val": [b"x" * 1000000]}),
    ],
)
def test_repeated_elements_are_limited(dtype, shape, fields):
    graph_def = GraphDef()
    add_const(graph_def, "a", dtype, shape, **fields)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="repeats its last element"):
        read(graph_def)


def test_repeated_elements_of_all_nodes_are_limited():
    graph_def = GraphDef()
    for i in range(3):
        add_const(graph_def, f"a{i}", FLOAT, [100, 1024, 1024], float_val=[1.0])
    with pytest.raises(tf.errors.ResourceExhaustedError, match="repeats its last element"):
        read(graph_def)


def test_few_repeated_elements_are_read():
    graph_def = GraphDef()
    add_const(graph_def, "a", FLOAT, [3], float_val=[1.0, 2.0])
    add_const(graph_def, "b", STRING, [2], string_val=[b"x"])
    with tf.compat.v1.Session(graph=read(graph_def)) as session:
        numbers, strings = session.run(["a:0", "b:0"])
    assert numbers.tolist() == [1.0, 2.0, 2.0]
    assert strings.tolist() == [b"x", b"x"]


@pytest.mark.parametrize(
    ("dtype", "shape", "fields", "message"),
    [
        (FLOAT, [2], {"int_val": [1]}, "'int_val' in a tensor of type DT_FLOAT"),
        (FLOAT, [2], {"string_val": [b"12"]}, "'string_val' in a tensor of type DT_FLOAT"),
        (FLOAT, [2], {"float_val": [1.0] * 3}, "3 values for a tensor of 2 elements"),
        (FLOAT, [-1], {"float_val": [1.0]}, "cannot have shape"),
        (FLOAT, [1 << 32, 1 << 32], {"float_val": [1.0]}, "more than 2\\^63 - 1 elements"),
        (FLOAT, [2], {"tensor_content": b"abc"}, "3 bytes for a tensor of 8"),
        (FLOAT, [1] * 300, {"float_val": [1.0]}, "dimension"),
        (UINT8, [2], {"int_val": [300]}, "300 is not a value of type uint8"),
        (STRING, [2], {"tensor_content": b"abcdefgh"}, "in a tensor of strings"),
        (COMPLEX64, [2], {"scomplex_val": [1.0, 2.0, 3.0]}, "Node 'a'"),
        (0, [], {"float_val": [1.0]}, "Cannot convert type_value 0"),
        (9999, [], {"float_val": [1.0]}, "Cannot convert type_value 9999"),
    ],
)
def test_invalid_tensors(dtype, shape, fields, message):
    graph_def = GraphDef()
    add_const(graph_def, "a", dtype, shape, **fields)
    with pytest.raises(ValueError, match=message):
        read(graph_def)


def test_names_of_nodes_are_unique():
    graph_def = GraphDef()
    add_const(graph_def, "a", FLOAT, [], float_val=[1.0])
    add_const(graph_def, "a", FLOAT, [], float_val=[2.0])
    with pytest.raises(ValueError, match="Node 'a' is not unique"):
        read(graph_def)


@pytest.mark.parametrize(
    ("inputs", "dtype", "message"),
    [
        (["none"], FLOAT, "Node 'b': Unknown input node 'none'"),
        (["a", "^none"], FLOAT, "Node 'b': Unknown input node '\\^none'"),
        (["b"], FLOAT, "in a cycle"),
        (["a:-1"], FLOAT, "'a' has 1 outputs"),
        (["a:99999999999999999999"], FLOAT, "'a' has 1 outputs"),
        (["a"], 3, "was passed float32 from a:0 incompatible with expected int32"),
    ],
)
def test_invalid_inputs(inputs, dtype, message):
    graph_def = GraphDef()
    add_const(graph_def, "a", FLOAT, [], float_val=[1.0])
    add_identity(graph_def.node, "b", *inputs, dtype=dtype)
    with pytest.raises(ValueError, match=message):
        read(graph_def)


def test_missing_attributes():
    for op, inputs in (("Const", ()), ("Cast", ("a",))):
        graph_def = GraphDef()
        add_const(graph_def, "a", FLOAT, [], float_val=[1.0])
        graph_def.node.add(name="b", op=op).input.extend(inputs)
        with pytest.raises(ValueError, match="Node 'b'"):
            read(graph_def)


def test_recursive_functions():
    graph_def = GraphDef()
    add_function(graph_def, "f", "g")
    add_function(graph_def, "g", "f")
    call(graph_def, "f")
    with pytest.raises(ValueError, match="Function 'f' calls itself"):
        read(graph_def)


def test_recursive_branches():
    graph_def = GraphDef()
    function = add_function(graph_def, "f", dtype=10)
    node = function.node_def.add(name="if", op="If")
    function.ret["y"] = "if:output:0"
    add_const(graph_def, "a", 10, [], bool_val=[True])
    for one, name in ((node, "x"), (graph_def.node.add(name="call", op="If"), "a")):
        one.input.extend([name, name])
        one.attr["Tcond"].type = 10
        one.attr["Tin"].list.type.append(10)
        one.attr["Tout"].list.type.append(10)
        one.attr["then_branch"].func.name = "f"
        one.attr["else_branch"].func.name = "f"
    with pytest.raises(ValueError, match="Function 'f' calls itself"):
        read(graph_def)


@pytest.mark.parametrize(("count", "calls"), [(300, 1), (24, 2)])
def test_nested_functions_are_limited(count, calls):
    graph_def = GraphDef()
    for i in range(count):
        add_function(graph_def, f"f{i}", f"f{i + 1}" if i + 1 < count else None, calls)
    call(graph_def, "f0")
    with pytest.raises(ValueError, match="too many nested calls"):
        read(graph_def)


def test_nodes_of_nested_functions_are_limited(monkeypatch):
    monkeypatch.setenv("SITU_EXPANSION_LIMIT", "1MiB")
    graph_def = GraphDef()
    for i in range(12):
        function = add_function(graph_def, f"f{i}", f"f{i + 1}" if i < 11 else None, 2)
        for k in range(10):
            function.node_def.add(name=f"nothing{k}", op="NoOp")
    call(graph_def, "f0")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="SITU_EXPANSION_LIMIT"):
        read(graph_def)


def test_calls_that_do_not_match_the_signature():
    graph_def = GraphDef()
    add_function(graph_def, "f", dtype=3)
    call(graph_def, "f")
    with pytest.raises(ValueError, match="was passed float32 from a:0"):
        read(graph_def)
    graph_def = GraphDef()
    add_function(graph_def, "f")
    call(graph_def, "f", "a", "a")
    with pytest.raises(ValueError, match="takes 1 inputs, but was passed 2"):
        read(graph_def)


@pytest.mark.parametrize(
    ("returned", "message"),
    [(None, "Return y missing"), ("z:y:0", "Unknown input"), ("c:output:q", "is not an output")],
)
def test_invalid_returns(returned, message):
    graph_def = GraphDef()
    function = add_function(graph_def, "f")
    add_identity(function.node_def, "c", "x")
    del function.ret["y"]
    if returned:
        function.ret["y"] = returned
    call(graph_def, "f")
    with pytest.raises(ValueError, match=message):
        read(graph_def)


def test_unknown_control_output():
    graph_def = GraphDef()
    add_function(graph_def, "f").control_ret["effect"] = "none"
    call(graph_def, "f")
    with pytest.raises(ValueError, match="Control output 'none'"):
        read(graph_def)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"input_map": {"z": 1.0}}, r"not found in graph_def: \[z:0\]"),
        ({"input_map": {"a:0": 1.0}, "name": ""}, "requires a non-empty `name`"),
        ({"return_elements": ["z"]}, "Requested return node 'z' not found in graph def"),
        ({"return_elements": ["z:1"]}, "Requested return tensor 'z:1' not found in graph def"),
        ({"return_elements": ["z:b:c"]}, "Cannot convert 'z:b:c' to a tensor name"),
        ({"return_elements": ["a:5"]}, "Invalid return output 5 of node 'a', which has 1 output"),
        ({"return_elements": ["a:x"]}, "should be an int. Got x."),
    ],
)
def test_names_in_arguments(arguments, message):
    graph_def = GraphDef()
    add_const(graph_def, "a", FLOAT, [], float_val=[1.0])
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.import_graph_def(graph_def, **arguments)


def test_types_of_arguments():
    graph_def = GraphDef()
    add_const(graph_def, "a", FLOAT, [], float_val=[1.0])
    with tf.Graph().as_default():
        for arguments, message in (
            ({"input_map": [1.0]}, "`input_map` must be a dictionary. Obtained list"),
            ({"input_map": {1: 1.0}}, r"must be strings. Obtained keys: \[1\]"),
            ({"return_elements": [7]}, "`return_elements` must be a list of strings"),
        ):
            with pytest.raises(TypeError, match=message):
                tf.import_graph_def(graph_def, **arguments)
        mapped = {b"a:0": tf.constant(2.0)}
        found = tf.import_graph_def(graph_def, input_map=mapped, return_elements=[b"a", "a:0"])
        assert [element.name for element in found] == ["import/a", "import/a:0"]


def test_versions():
    current = tf.version.GRAPH_DEF_VERSION
    for field, value, message in (
        ("producer", -1, r"producer version -1 below min producer 0 .*regenerate your graph\.$"),
        ("min_consumer", current + 1, r"above current version \d+ for TensorFlow .*upgrade"),
        ("bad_consumers", [current], f"disallows consumer version {current}"),
    ):
        graph_def = GraphDef()
        if isinstance(value, list):
            getattr(graph_def.versions, field).extend(value)
        else:
            setattr(graph_def.versions, field, value)
        with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
            tf.import_graph_def(graph_def)


def test_other_objects_are_no_graph_defs():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="must be a GraphDef proto"):
        tf.import_graph_def("graph.pb")


def test_damaged_meta_files(tmp_path):
    """Every truncated file is rejected or read, with an error that programs expect."""
    path = tmp_path / "model.meta"
    with tf.Graph().as_default():
        v = tf.compat.v1.get_variable("v", [2], initializer=tf.compat.v1.zeros_initializer())
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        tf.identity(v)
        tf.compat.v1.train.Saver()
        tf.compat.v1.train.export_meta_graph(str(path))
    data = path.read_bytes()
    for end in range(1, len(data), max(1, len(data) // 40)):
        path.write_bytes(data[:end])
        with tf.Graph().as_default(), pytest.raises((OSError, ValueError)):
            tf.compat.v1.train.import_meta_graph(str(path))
            raise ValueError  # a prefix may be a valid message


def test_colocation_groups_are_strings():
    graph_def = GraphDef()
    node = add_const(graph_def, "a", FLOAT, [], float_val=[1.0])
    node.attr["_class"].list.i.append(3)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="'_class' of node 'a'"):
        tf.import_graph_def(graph_def, name="")
