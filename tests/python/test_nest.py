# SPDX-License-Identifier: Apache-2.0
"""test_nest.py: tf.nest and tensorflow.python.util.nest; expected results are those of TensorFlow
2.21."""

import collections
import dataclasses
import types

import numpy as np
import pytest

import situ as tf
from situ._src.framework.nest import CORE, DATA

nest = tf.python.util.nest
Point = collections.namedtuple("Point", "x y")
SamePoint = collections.namedtuple("Point", "x y")
Other = collections.namedtuple("Other", "x y")


class AttrsLike:
    """A class as attrs makes it."""

    __attrs_attrs__ = (types.SimpleNamespace(name="b"), types.SimpleNamespace(name="a"))

    def __init__(self, b, a):
        self.b, self.a = b, a

    def __repr__(self):
        return f"AttrsLike(b={self.b}, a={self.a})"


@dataclasses.dataclass
class Flattened:
    mode: str
    x: object
    y: object

    def __tf_flatten__(self):
        return (self.mode,), (self.x, self.y)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*metadata, *components)


class ReadOnly(collections.abc.Mapping):
    def __init__(self, items):
        self._items = dict(items)

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __repr__(self):
        return f"ReadOnly({self._items})"


STRUCTURES = [  # structure, leaves, with each leaf in a tuple
    (1, [1], "(1,)"),
    (None, [None], "(None,)"),
    ("ab", ["ab"], "('ab',)"),
    ({1}, [{1}], "({1},)"),
    ([], [], "[]"),
    ([1, (2, {"z": [3], "y": Point(5, 6)})], [1, 2, 5, 6, 3], None),
    (Point(1, (2,)), [1, 2], "Point(x=(1,), y=((2,),))"),
    ({"b": 1, "a": 2}, [2, 1], "{'b': (1,), 'a': (2,)}"),
    (collections.OrderedDict(b=1, a=2), [2, 1], None),
    (
        collections.defaultdict(list, b=1, a=2),
        [2, 1],
        "defaultdict(<class 'list'>, {'b': (1,), 'a': (2,)})",
    ),
    (collections.UserDict(b=1, a=2), [2, 1], "{'b': (1,), 'a': (2,)}"),
    (ReadOnly({"b": 1, "a": 2}), [2, 1], "ReadOnly({'b': (1,), 'a': (2,)})"),
    (collections.deque([1, 2]), [1, 2], "deque([(1,), (2,)])"),
    (range(2), [0, 1], "[(0,), (1,)]"),
    ({"b": 1, "a": 2}.values(), [1, 2], "[(1,), (2,)]"),
    ({"b": 1}.items(), ["b", 1], "[(('b',), (1,))]"),
    (AttrsLike(1, 2), [1, 2], "AttrsLike(b=(1,), a=(2,))"),
    (Flattened("m", 1, [2]), [1, 2], "Flattened(mode='m', x=(1,), y=[(2,)])"),
]


@pytest.mark.parametrize("structure, leaves, mapped", STRUCTURES, ids=lambda v: str(v)[:40])
def test_structures(structure, leaves, mapped):
    assert tf.nest.flatten(structure) == leaves
    assert tf.nest.is_nested(structure) == (leaves != [structure])
    result = tf.nest.map_structure(lambda x: (x,), structure)
    assert mapped is None or repr(result) == mapped
    packed = tf.nest.pack_sequence_as(structure, [10 + i for i in range(len(leaves))])
    assert tf.nest.flatten(packed) == [10 + i for i in range(len(leaves))]
    tf.nest.assert_same_structure(structure, structure)


def test_types_of_results():
    ordered = collections.OrderedDict([("b", 1), ("a", 2)])
    packed = tf.nest.pack_sequence_as(ordered, [3, 4])
    assert type(packed) is collections.OrderedDict and list(packed.items()) == [("b", 4), ("a", 3)]
    assert tf.nest.pack_sequence_as([1, 2], {0: 5, 1: 6}) == [5, 6]
    assert tf.nest.map_structure(lambda a, b: a + b, [1, (2,)], [3, (4,)]) == [4, (6,)]


_DIFFER = "The two structures don't have the same nested structure.\n\n"
DIFFERENCES = [
    (
        [1, [2, 3]],
        [1, 2],
        ValueError,
        'Substructure "type=list str=[2, 3]" is a sequence, while substructure "type=int str=2" is '
        "not\nEntire first structure:\n[., [., .]]\nEntire second structure:\n[., .]",
    ),
    (
        [1, 2],
        (1, 2),
        TypeError,
        "The two namedtuples don't have the same sequence type. First structure type=list "
        "str=[1, 2] has type list, while second structure type=tuple str=(1, 2) has type tuple\n"
        "Entire first structure:\n[., .]\nEntire second structure:\n(., .)",
    ),
    (
        [1, 2],
        [],
        ValueError,
        "The two structures don't have the same number of elements. First structure: type=list "
        "str=[1, 2]. Second structure: type=list str=[]\nEntire first structure:\n[., .]\n"
        "Entire second structure:\n[]",
    ),
    (
        {"b": 1, "a": 2},
        {"c": 1, "a": 2},
        ValueError,
        "The two dictionaries don't have the same set of keys. First structure has keys type=list "
        "str=['b', 'a'], while second structure has keys type=list str=['c', 'a']\n"
        "Entire first structure:\n{'b': ., 'a': .}\nEntire second structure:\n{'c': ., 'a': .}",
    ),
    (
        Point(1, 2),
        Other(1, 2),
        TypeError,
        "The two namedtuples don't have the same sequence type. First structure type=Point "
        "str=Point(x=1, y=2) has type Point, while second structure type=Other str=Other(x=1, y=2) "
        "has type Other\nEntire first structure:\nPoint(x=., y=.)\nEntire second structure:\n"
        "Other(x=., y=.)",
    ),
    (
        [1, 2],
        collections.deque([1, 2]),
        TypeError,
        "The two namedtuples don't have the same sequence type. First structure type=list "
        "str=[1, 2] has type list, while second structure type=deque str=deque([1, 2]) has type "
        "collections.deque\nEntire first structure:\n[., .]\nEntire second structure:\n"
        "deque([., .])",
    ),
]


@pytest.mark.parametrize("a, b, kind, text", DIFFERENCES)
def test_differences(a, b, kind, text):
    with pytest.raises(kind) as error:
        tf.nest.assert_same_structure(a, b)
    described = lambda x: f"type={type(x).__name__} str={x}"
    assert str(error.value) == (
        f"{_DIFFER}First structure: {described(a)}\n\nSecond structure: {described(b)}\n\n"
        f"More specifically: {text}"
    )
    with pytest.raises(kind):
        tf.nest.map_structure(lambda *x: x, a, b)


def test_equal_structures():
    tf.nest.assert_same_structure({"b": 1}, collections.OrderedDict(b=2))
    tf.nest.assert_same_structure(Point(1, 2), SamePoint(1, 2))
    tf.nest.assert_same_structure([1, 2], (1, 2), check_types=False)
    tf.nest.assert_same_structure({"a": 1}, {"b": 1}, check_types=False)
    assert tf.nest.map_structure(max, [1, 5], (4, 2), check_types=False) == [4, 5]


def test_errors():
    with pytest.raises(TypeError) as error:
        tf.nest.pack_sequence_as([1], 10)
    assert str(error.value) == (
        "Attempted to pack value:\n  10\ninto a structure, but found incompatible type "
        "`<class 'int'>` instead."
    )
    with pytest.raises(ValueError) as error:
        tf.nest.pack_sequence_as(1, [1, 2])
    assert str(error.value) == (
        "The target structure is of type `<class 'int'>`\n  1\nHowever the input is a sequence "
        "(<class 'list'>) of length 2.\n  [1, 2]\nnest cannot guarantee that it is safe to map one "
        "to the other."
    )
    for flat in ([10], [10, 20, 30]):
        with pytest.raises(ValueError) as error:
            tf.nest.pack_sequence_as((1, 2), flat)
        assert str(error.value) == (
            f"Could not pack sequence. Structure had 2 atoms, but flat_sequence had {len(flat)} "
            f"items.  Structure: (1, 2), flat_sequence: {flat}."
        )
    with pytest.raises(TypeError, match="func must be callable, got: 3"):
        tf.nest.map_structure(3, 4)
    with pytest.raises(ValueError, match="Must provide at least one structure"):
        tf.nest.map_structure(abs)
    with pytest.raises(ValueError, match="`expand_composites`, not: `foo`"):
        tf.nest.map_structure(abs, 4, foo=2)
    with pytest.raises(TypeError, match="'<' not supported"):
        tf.nest.flatten({1: 2, "a": 3})
    loop: list = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        tf.nest.flatten(loop)


def test_paths():
    tree = {"b": [1, Point(2, 3)], "a": AttrsLike(4, ())}
    assert nest.flatten_with_joined_string_paths(tree) == [
        ("a/b", 4),
        ("b/0", 1),
        ("b/1/x", 2),
        ("b/1/y", 3),
    ]
    assert nest.flatten_with_tuple_paths([1, [2]]) == [((0,), 1), ((1, 0), 2)]
    assert list(nest.yield_flat_paths({"a": [3]})) == [("a", 0)]
    assert nest.map_structure_with_paths(lambda p, x: f"{p}={x}", {"a": [3, 4]}) == {
        "a": ["a/0=3", "a/1=4"]
    }
    assert nest.list_to_tuple([1, {"a": [2]}]) == (1, {"a": (2,)})
    assert nest.get_traverse_shallow_structure(
        lambda s: not isinstance(s, tuple), [1, (2, 3), [4]]
    ) == [True, False, [True]]


def test_shallow_structures():
    assert nest.flatten_up_to([0, [0]], [(1, 2), [{"a": 3}]]) == [(1, 2), {"a": 3}]
    assert nest.flatten_up_to(0, [1, 2]) == [[1, 2]]
    names, data = ["evens", ["odds", "primes"]], [[2, 4], [[1, 3, 5], [2]]]
    assert nest.map_structure_up_to(names, lambda n, d: (n, len(d)), names, data) == [
        ("evens", 2),
        [("odds", 3), ("primes", 1)],
    ]
    with pytest.raises(TypeError) as error:
        nest.flatten_up_to([0, 1], 0)
    assert str(error.value) == (
        "If shallow structure is a sequence, input must also be a sequence. Input has type: "
        "<class 'int'>."
    )
    with pytest.raises(TypeError, match="Input structure has type <class 'tuple'>, while shallow"):
        nest.assert_shallow_structure([0, 1], (0, 1))
    nest.assert_shallow_structure([0, 1], (0, 1), check_types=False)
    with pytest.raises(ValueError, match="Input structure has length 1, while shallow structure"):
        nest.assert_shallow_structure([0, 1], [0])
    with pytest.raises(ValueError, match=r"keys that are not in the input_tree: \['a'\]\."):
        nest.assert_shallow_structure({"a": 1}, {"b": 1})
    with pytest.raises(ValueError, match="Cannot map over no sequences"):
        nest.map_structure_up_to([1], abs)


def test_map_over_structures_of_other_types():
    add = lambda a, b: a + b
    assert CORE.map(add, (1, {"b": 2, "a": 3}), [10, {"a": 30, "b": 20}]) == (
        11,
        {"b": 22, "a": 33},
    )
    assert repr(CORE.map(add, AttrsLike(1, 2), AttrsLike(3, 4))) == "AttrsLike(b=4, a=6)"
    assert CORE.flatten_like((1, 2), [[3, 4], 5]) == [[3, 4], 5]
    for structure, other, kind in (
        ((1, 2), 3, TypeError),
        ((1, 2), "ab", TypeError),
        ((1, 2), (1,), ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
        ({"a": 1}, [1], ValueError),
    ):
        with pytest.raises(kind):
            CORE.flatten_like(structure, other)


def test_composite_tensors():
    sparse = tf.sparse.SparseTensor([[0, 0]], [1], [1, 1])
    ragged = tf.ragged.constant([[1], [2, 3]])
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    assert tf.nest.flatten([sparse, ragged, slices]) == [sparse, ragged, slices]
    assert len(tf.nest.flatten([sparse, ragged, slices], expand_composites=True)) == 3 + 2 + 2
    assert list(nest.yield_flat_paths({"a": ragged}, expand_composites=True)) == [
        ("a", "RaggedTensor", 0),
        ("a", "RaggedTensor", 1),
    ]
    again = tf.nest.map_structure(lambda t: t + 1, ragged, expand_composites=True)
    assert isinstance(again, tf.RaggedTensor)
    tf.nest.assert_same_structure(sparse, ragged)
    with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs: type=SparseTe"):
        tf.nest.assert_same_structure(sparse, ragged, expand_composites=True)
    with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs"):
        deeper = tf.ragged.constant([[[1]], [[2, 3]]])
        tf.nest.assert_same_structure(ragged, deeper, expand_composites=True)


def test_structures_of_data():
    assert DATA.flatten({"b": [1, 2], "a": (3, (4, 5))}) == [3, 4, 5, [1, 2]]
    value = tf.compat.v1.SparseTensorValue([[0]], [1], [1])
    assert DATA.flatten((value, None)) == [value, None]
    spec = tf.data.Dataset.from_tensors(range(3)).element_spec
    assert spec == tf.TensorSpec([3], tf.int32)
    dataset = tf.data.Dataset.from_tensors(AttrsLike(1, Flattened("m", 2, 3)))
    (element,) = dataset.map(lambda e: AttrsLike(e.b + 1, e.a))
    assert isinstance(element, AttrsLike) and isinstance(element.a, Flattened)
    assert [int(v) for v in (element.b, element.a.x, element.a.y)] == [2, 2, 3]


def test_arguments_and_results_of_functions():
    @tf.function
    def change(value):
        return tf.nest.map_structure(lambda x: x + 1, value)

    one = tf.constant(1)
    for value in (
        {"b": one, "a": one * 2},
        Point(one, [one]),
        AttrsLike(one, one),
        Flattened("m", one, one),
        collections.UserDict(a=one),
        collections.defaultdict(int, a=one),
    ):
        result = change(value)
        assert type(result) is type(value)
        assert tf.nest.flatten(result) == [x + 1 for x in tf.nest.flatten(value)]
        with tf.GradientTape():
            tf.nest.assert_same_structure(change(value), value)
    concrete = change.get_concrete_function(
        {"b": tf.TensorSpec([2], tf.int32), "a": tf.TensorSpec([1], tf.float32)}
    )
    assert [t.dtype for t in concrete.inputs] == [tf.float32, tf.int32]
    assert [t.dtype for t in concrete.outputs] == [tf.float32, tf.int32]
    assert list(concrete.structured_outputs) == ["b", "a"]


def test_composite_results_of_functions():
    @tf.function
    def make(x):
        return tf.IndexedSlices(x, tf.constant([0])), None, tf.sparse.from_dense(x)

    slices, nothing, sparse = make(tf.constant([1.0]))
    assert isinstance(slices, tf.IndexedSlices) and nothing is None
    np.testing.assert_array_equal(slices.values, [1.0])
    assert isinstance(sparse, tf.sparse.SparseTensor)
    outputs = make.get_concrete_function(tf.TensorSpec([1])).structured_outputs
    assert isinstance(outputs[2], tf.sparse.SparseTensor)


def test_lists_are_leaves_of_elements_of_datasets():
    nest = tf.python.data.util.nest
    element = {"b": [1, 2], "a": (np.arange(3), [[4]])}
    leaves = nest.flatten(element)
    assert [type(leaf) for leaf in leaves] == [np.ndarray, list, list] and leaves[2] == [1, 2]
    assert nest.pack_sequence_as(element, ["x", "y", "z"]) == {"a": ("x", "y"), "b": "z"}
    assert nest.map_structure(len, element) == {"a": (3, 1), "b": 2}
    nest.assert_same_structure((np.arange(2), 1), ([1, 2], [3]))
    assert not nest.is_nested([1]) and nest.is_nested((1,)) and nest.is_nested({})
    assert nest.flatten_up_to((0, 0), [(1, 2), [3]]) == [(1, 2), [3]]
    double = lambda x, y: (x, y)
    assert nest.map_structure_up_to((0, 0), double, ((1, 2), 3), (4, [5])) == (
        ((1, 2), 4),
        (3, [5]),
    )
    with pytest.raises(ValueError, match="nested structure"):
        nest.assert_same_structure((1, 2), [1, 2])
    with pytest.raises(ValueError, match="had 3 elements, but argument `flat_sequence` had 1"):
        nest.pack_sequence_as(element, [1])
    with pytest.raises(TypeError, match="flat_sequence"):
        nest.pack_sequence_as((4, 5), "bad_sequence")
    with pytest.raises(ValueError, match="at least one structure"):
        nest.map_structure(len)
    with pytest.raises(TypeError, match="callable"):
        nest.map_structure(1, element)
    with pytest.raises(ValueError, match="empty"):
        nest.map_structure_up_to((1,), len)
