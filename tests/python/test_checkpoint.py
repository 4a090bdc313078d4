# SPDX-License-Identifier: Apache-2.0
"""test_checkpoint.py: tf.train.Checkpoint and CheckpointManager in eager style."""

import os

import numpy as np
import pytest

import situ as tf


class Net:
    """Something with variables."""

    def __init__(self, value=0.0):
        self.w = tf.Variable([value, value], name="w")
        self.parts = [tf.Variable(value), {"b": tf.Variable(value)}]
        self.size, self.text = 3, "net"


def test_round_trip(tmp_path):
    step = tf.Variable(5)
    path = tf.train.Checkpoint(net=Net(2.0), step=step).save(str(tmp_path / "a" / "ckpt"))
    assert path == str(tmp_path / "a" / "ckpt-1")
    assert tf.train.latest_checkpoint(str(tmp_path / "a")) == path
    names = [n for n, _ in tf.train.list_variables(path)]
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    assert names == [
        n + end for n in ("net/parts/0", "net/parts/1/b", "net/w", "save_counter", "step")
    ]
    net, again = Net(), tf.Variable(0)
    tf.train.Checkpoint(net=net, step=again).restore(path).assert_consumed()
    assert net.w.numpy().tolist() == [2, 2] and net.parts[1]["b"].numpy() == 2
    assert again.numpy() == 5


def test_what_does_not_match(tmp_path):
    path = tf.train.Checkpoint(net=Net()).write(str(tmp_path / "c"))
    status = tf.train.Checkpoint(net=Net(), more=tf.Variable(1.0)).restore(path)
    with pytest.raises(AssertionError, match="more"):
        status.assert_existing_objects_matched()
    status = tf.train.Checkpoint().restore(path)
    status.expect_partial()
    with pytest.raises(AssertionError, match="Unresolved object in checkpoint"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="No checkpoint specified"):
        tf.train.Checkpoint().restore(None).assert_consumed()
    with pytest.raises(tf.errors.NotFoundError, match="matching files for"):
        tf.train.Checkpoint().restore(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="expecting x to be a trackable"):
        tf.train.Checkpoint(x=3)
    wrong = tf.train.Checkpoint(net=Net())
    wrong.net.w = tf.Variable([1.0])
    with pytest.raises(ValueError, match="incompatible tensor with shape"):
        wrong.restore(path)


def test_slots_are_restored_when_they_are_made(tmp_path):
    w, optimizer = tf.Variable([1.0]), tf.keras.optimizers.SGD(0.5, momentum=0.5)
    optimizer.apply_gradients([(tf.constant([1.0]), w)])
    path = tf.train.Checkpoint(w=w, optimizer=optimizer).save(str(tmp_path / "c"))
    w2, again = tf.Variable([0.0]), tf.keras.optimizers.SGD(0.1, momentum=0.5)
    tf.train.Checkpoint(w=w2, optimizer=again).restore(path)
    assert w2.numpy() == 0.5 and again.iterations.numpy() == 1 and again.lr.numpy() == 0.5
    for o, v in ((optimizer, w), (again, w2)):
        o.apply_gradients([(tf.constant([1.0]), v)])
    assert w.numpy() == w2.numpy() == -0.25


def test_manager(tmp_path):
    step = tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), str(tmp_path), 2)
    assert manager.latest_checkpoint is None and manager.restore_or_initialize() is None
    for _ in range(3):
        step.assign_add(1)
        manager.save()
    kept = [str(tmp_path / f"ckpt-{i}") for i in (2, 3)]
    assert manager.checkpoints == kept and not os.path.exists(str(tmp_path / "ckpt-1.index"))
    step.assign(0)
    again = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), str(tmp_path), 2)
    assert again.restore_or_initialize() == kept[1] and step.numpy() == 3
    again.save()
    assert again.checkpoints == [kept[1], str(tmp_path / "ckpt-4")]
    assert again.save(checkpoint_number=9).endswith("ckpt-9")


def test_damaged(tmp_path):
    path = tf.train.Checkpoint(net=Net()).save(str(tmp_path / "c"))
    name = path + ".data-00000-of-00001"
    with open(name, "r+b") as file:
        file.truncate(os.path.getsize(name) - 1)
    with pytest.raises(tf.errors.DataLossError, match=r"damaged at byte \d+"):
        tf.train.Checkpoint(net=Net()).restore(path)


def test_iterators_are_saved(tmp_path):
    iterator, other = iter(tf.data.Dataset.range(5)), iter(tf.data.Dataset.range(5))
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0), numbers=iterator)
    assert [int(next(iterator)) for _ in range(2)] == [0, 1]
    path = checkpoint.save(str(tmp_path / "c"))
    assert int(next(iterator)) == 2
    checkpoint.restore(path).assert_consumed()
    assert int(next(iterator)) == 2
    tf.train.Checkpoint(v=tf.Variable(1.0), numbers=other).restore(path).expect_partial()
    assert [int(x) for x in other] == [2, 3, 4]


def test_strings_are_kept(tmp_path):
    words = np.array([["a", ""], ["äöü", "x" * 300]], object)
    path = tf.train.Checkpoint(v=tf.Variable(words), s=tf.Variable("word")).save(
        str(tmp_path / "c")
    )
    v, s = tf.Variable(np.full([2, 2], "", object)), tf.Variable("")
    tf.train.Checkpoint(v=v, s=s).restore(path).assert_consumed()
    assert v.numpy().tolist() == [[b"a", b""], ["äöü".encode(), b"x" * 300]]
    assert s.numpy() == b"word"
    key = "v/.ATTRIBUTES/VARIABLE_VALUE"
    assert tf.train.load_checkpoint(path).get_variable_to_dtype_map()[key] == tf.string
    assert dict(tf.train.list_variables(path))[key] == [2, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1),
        lambda: tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "$", "%"),
    ],
)
def test_tables_are_kept(tmp_path, make):
    class Holder(tf.Module):
        def __init__(self):
            super().__init__()
            self.table, self.tables = make(), [make()]

    one, two = Holder(), Holder()
    one.table.insert(["a", "b"], tf.constant([1, 2], tf.int64))
    one.tables[0].insert(["c"], tf.constant([3], tf.int64))
    path = tf.train.Checkpoint(h=one).save(str(tmp_path / "c"))
    two.table.insert(["z"], tf.constant([9], tf.int64))
    tf.train.Checkpoint(h=two).restore(path).assert_consumed()
    assert two.table.lookup(tf.constant(["a", "b", "z"])).numpy().tolist() == [1, 2, -1]
    assert int(two.tables[0].lookup(tf.constant("c"))) == 3 and int(two.table.size()) == 2
    assert "h/table/.ATTRIBUTES/table-keys" in dict(tf.train.list_variables(path))


def test_tables_of_vectors_and_empty_ones_are_kept(tmp_path):
    def make():
        return tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])

    full, empty = make(), make()
    full.insert(tf.constant([4, 5], tf.int64), [[1.0, 2.0], [3.0, 4.0]])
    path = tf.train.Checkpoint(a=full, b=empty).save(str(tmp_path / "c"))
    a, b = make(), make()
    b.insert(tf.constant([1], tf.int64), [[1.0, 1.0]])
    tf.train.Checkpoint(a=a, b=b).restore(path)
    assert a.lookup(tf.constant([5, 6], tf.int64)).numpy().tolist() == [[3, 4], [0, 0]]
    assert int(b.size()) == 0


def test_a_table_that_is_not_to_be_kept(tmp_path):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, checkpoint=False)
    path = tf.train.Checkpoint(t=table).save(str(tmp_path / "c"))
    assert not [k for k, _ in tf.train.list_variables(path) if "table" in k]


def test_options(tmp_path):
    calls = []
    options = tf.train.CheckpointOptions(
        experimental_write_callbacks=[lambda: calls.append("done"), calls.append], enable_async=True
    )
    prefix, checkpoint = str(tmp_path / "c"), tf.train.Checkpoint(v=tf.Variable(1.0))
    checkpoint.write(prefix, options)
    assert calls == ["done", prefix]
    assert checkpoint.save(prefix, options) == checkpoint.save(prefix, options=options)[:-1] + "1"
    assert calls[2:] == ["done", prefix + "-1", "done", prefix + "-2"]
    path = tf.train.CheckpointManager(checkpoint, tmp_path, 1).save(options=options)
    assert len(calls) == 8
    checkpoint.restore(path, options).assert_consumed()
    with pytest.raises(TypeError, match="CheckpointOptions"):
        checkpoint.restore(prefix, {"enable_async": True})
    with pytest.raises(NotImplementedError, match="experimental_skip_slot_variables"):
        tf.train.CheckpointOptions(experimental_skip_slot_variables=True)


def test_step_of_the_last_checkpoint(tmp_path):
    step = tf.Variable(7)
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(v=tf.Variable(1.0)),
        tmp_path,
        2,
        step_counter=step,
        checkpoint_interval=5,
        last_checkpoint_step=4,
    )
    assert manager.save() is None
    step.assign(9)
    assert manager.save() is not None
