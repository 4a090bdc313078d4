# SPDX-License-Identifier: Apache-2.0
"""test_staging.py: staging areas: the ops Stage, MapStage and OrderedMapStage and related ops, and
tf.contrib.staging."""

import threading

import pytest

import situ as tf
from situ._src.legacy.staging import MapStagingArea, StagingArea

v1 = tf.compat.v1
raw = tf.raw_ops


@pytest.fixture
def session():
    with v1.Graph().as_default(), v1.Session() as made:
        yield made


def test_first_in_first_out(session):
    x = v1.placeholder("float32", [])
    area = StagingArea(["float32", "float32"], shapes=[[], [2]])
    put = area.put([x, tf.stack([x, -x])])
    got, peeked, size = area.get(), area.peek(1), area.size()
    assert [t.shape.as_list() for t in got] == [[], [2]]
    for value in (1.0, 2.0, 3.0):
        session.run(put, {x: value})
    assert session.run(peeked)[0] == 2
    assert session.run([size, *got])[1] == 1
    found = session.run(got)
    assert (found[0], found[1].tolist()) == (2, [2, -2])
    assert session.run(size) == 1
    session.run(area.clear())
    assert session.run(size) == 0


def test_put_and_get_in_one_step(session):
    x = v1.placeholder("int64", [])
    area = StagingArea(["int64"], capacity=1)
    put, (got,) = area.put(x), area.get()
    session.run(put, {x: 0})
    for i in range(1, 5):
        assert session.run([got, put], {x: i})[0] == i - 1


def test_a_put_waits_for_room(session):
    x = v1.placeholder("float32", [4])
    area = StagingArea(["float32"], memory_limit=40)
    put, (got,) = area.put([x]), area.get()
    for i in range(2):
        session.run(put, {x: [i] * 4})
    thread = threading.Thread(target=lambda: session.run(put, {x: [2.0] * 4}))
    thread.start()
    assert [session.run(got)[0] for _ in range(3)] == [0, 1, 2]
    thread.join()
    small = StagingArea(["float32"], memory_limit=8)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="combined size of '16' bytes"):
        session.run(small.put([x]), {x: [0.0] * 4})


def test_names(session):
    area = StagingArea(["float32", "int32"], names=["x", "n"], shared_name="ours")
    assert (area.name, area.names, area.dtypes) == ("ours", ["x", "n"], [tf.float32, tf.int32])
    session.run(area.put({"x": 2.0, "n": 3}))
    same = StagingArea(["float32", "int32"], names=["x", "n"], shared_name="ours")
    assert session.run(same.get()) == {"x": 2.0, "n": 3}
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        area.put([1.0, 2])
    with pytest.raises(ValueError, match="do not match"):
        area.put({"y": 1.0})
    with pytest.raises(ValueError, match="Datatypes do not match"):
        area.put({"x": 1.0, "n": 2.0})
    with pytest.raises(ValueError, match="same length as dtypes"):
        StagingArea(["float32"], names=["a", "b"])
    with pytest.raises(ValueError, match="must be a string"):
        StagingArea(["float32"], shared_name=3)
    with pytest.raises(ValueError, match="Unexpected number of inputs 2 vs 1"):
        StagingArea(["float32"]).put([1.0, 2.0])


def test_map(session):
    key, x = v1.placeholder("int64", []), v1.placeholder("float32", [])
    area = MapStagingArea(["float32", "float32"], shapes=[[], []], ordered=True)
    put = area.put(key, [x, -x], [0, 1])
    for k in (5, 3, 9):
        session.run(put, {key: k, x: 10 * k})
    assert session.run([area.size(), area.incomplete_size()]) == [3, 0]
    assert session.run(area.peek(key), {key: 9}) == [90, -90]
    assert session.run(area.get()) == (3, [30, -30])
    assert session.run(area.get(key)[1], {key: 9}) == [90, -90]
    assert session.run(area.get(key, [1])[1], {key: 5}) == [-50]
    with pytest.raises(tf.errors.InvalidArgumentError, match="has already been removed"):
        session.run(area.get(key, [1])[1], {key: 5})
    assert session.run(area.get(key, [0])[1], {key: 5}) == [50]
    session.run(put, {key: 1, x: 0})
    session.run(area.clear())
    assert session.run(area.size()) == 0


def test_map_in_parts(session):
    area = MapStagingArea(["float32", "int32"], names=["x", "n"])
    key = tf.constant(4, "int64")
    session.run(area.put(key, {"n": 7}))
    sizes = [area.size(), area.incomplete_size()]
    assert session.run(sizes) == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="was already initialized"):
        session.run(area.put(key, {"n": 8}))
    session.run(area.put(key, {"x": 2.0}))
    assert session.run(sizes) == [1, 0]
    assert session.run(area.get(key, ["n"])[1]) == {"n": 7}
    assert session.run(area.get(indices=["x"])) == (4, {"x": 2.0})
    for indices, kind in (((), ValueError), (["z"], ValueError), ([0, "x"], TypeError)):
        with pytest.raises(kind):
            area.get(key, indices)
    with pytest.raises(ValueError, match="Indices must be supplied"):
        MapStagingArea(["float32"]).put(key, [1.0])


@pytest.mark.parametrize(
    "indices,match",
    [
        ([], "Indices are empty"),
        ([1, 0], "not strictly ordered"),
        ([0, 7], "Index '7' for key '2' was out of bounds '2'"),
    ],
)
def test_bad_indices(session, indices, match):
    values = [1.0] * len(indices)
    put = raw.MapStage(
        key=2, indices=tf.constant(indices, "int32"), values=values, dtypes=["float32"] * 2
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        session.run(put)


def test_bad_keys():
    with pytest.raises(tf.errors.InvalidArgumentError, match="key must be an int64 scalar"):
        raw.MapPeek(key=[1, 2], indices=[0], dtypes=["float32"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="key must not be empty"):
        raw.OrderedMapStage(
            key=tf.zeros([0], "int64"), indices=[0], values=[1.0], dtypes=["float32"]
        )


def test_eager():
    kind = {"dtypes": ["float32", "string"], "shared_name": "eager"}
    raw.Stage(values=[1.0, "a"], **{k: v for k, v in kind.items() if k != "dtypes"})
    assert raw.StageSize(**kind).numpy() == 1
    x, s = raw.Unstage(**kind)
    assert (x.numpy(), s.numpy()) == (1, b"a")
    raw.StageClear(**kind)
