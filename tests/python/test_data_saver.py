# SPDX-License-Identifier: Apache-2.0
"""test_data_saver.py: positions of iterators in checkpoints of a Saver, and datasets in GraphDefs
that are read again."""

import gc

import numpy as np
import pytest

import situ as tf

v1, Dataset = tf.compat.v1, tf.data.Dataset


def loop(x):
    return tf.while_loop(lambda i: i < 100, lambda i: [i * 2 + 1], [x])[0]


PIPELINES = {
    "numbers": lambda: Dataset.range(9).shuffle(4, seed=3).repeat(2),
    "tensors": lambda: Dataset.from_tensor_slices((["a", "b", "c"], [1.5, 2.5, 3.5])).batch(2),
    "map": lambda: Dataset.range(6).map(lambda x: x * 2).filter(lambda x: x % 4 == 0),
    "nested": lambda: Dataset.range(4).flat_map(
        lambda x: Dataset.from_tensors(x).repeat(x).map(lambda y: y + x)
    ),
    "loop": lambda: Dataset.range(4).map(loop),
    "branch": lambda: Dataset.range(4).map(
        lambda x: tf.cond(x > 1, lambda: tf.constant("big"), lambda: tf.constant("small"))
    ),
    "padded": lambda: Dataset.range(4).map(lambda x: tf.fill([x], x)).padded_batch(3, [None]),
    "windows": lambda: Dataset.range(9).window(4, 3).flat_map(lambda w: w.batch(4)),
    "scan": lambda: Dataset.range(5).scan(np.int64(0), lambda s, x: (s + x, s)),
}


def lists(value):
    return np.asarray(value).tolist()


def take(session, element, most=1000):
    taken = []
    try:
        while len(taken) < most:
            taken.append([lists(part) for part in tf.nest.flatten(session.run(element))])
    except tf.errors.OutOfRangeError:
        pass
    return taken


def build(dataset):
    iterator = v1.data.make_initializable_iterator(dataset)
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, saveable)
    for tensor in [iterator.initializer, *tf.nest.flatten(iterator.get_next())]:
        v1.add_to_collection("nodes", tensor)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_saver_goes_on_in_an_imported_graph(name, tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        build(PIPELINES[name]())
        variable = v1.get_variable("v", initializer=3.0)
        initializer, *element = v1.get_collection("nodes")
        session.run([initializer, v1.global_variables_initializer()])
        everything = take(session, element)
        session.run([initializer, variable.assign(7.0)])
        take(session, element, 2)
        path = v1.train.Saver().save(session, str(tmp_path / "iterator"))
    gc.collect()
    with tf.Graph().as_default() as graph, v1.Session() as session:
        saver = v1.train.import_meta_graph(path + ".meta")
        initializer, *element = v1.get_collection("nodes")
        session.run(initializer)
        saver.restore(session, path)
        assert take(session, element) == everything[2:]
        assert session.run(graph.get_tensor_by_name("v/Read/ReadVariableOp:0")) == 7.0
        session.run(initializer)
        assert take(session, element) == everything
        again = saver.save(session, str(tmp_path / "again"))
        saver.restore(session, again)
        assert take(session, element) == []


def test_policies(tmp_path):
    random = Dataset.range(3).map(lambda x: tf.random.uniform([], seed=4))
    make = tf.data.experimental.make_saveable_from_iterator
    with tf.Graph().as_default(), v1.Session() as session:
        iterator = v1.data.make_initializable_iterator(random)
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="is stateful"):
            v1.train.Saver([make(iterator)]).save(session, str(tmp_path / "a"))
        for policy in ("ignore", tf.data.experimental.ExternalStatePolicy.WARN):
            v1.train.Saver([make(iterator, policy)]).save(session, str(tmp_path / "b"))
        with pytest.raises(ValueError, match="Supported values include 'warn', 'ignore'"):
            make(iterator, "other")


def test_datasets_of_this_process_are_not_read():
    generated = Dataset.from_generator(lambda: iter(range(3)), tf.int32)
    with tf.Graph().as_default() as graph:
        v1.data.make_one_shot_iterator(generated).get_next()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="DatasetConstant"):
        tf.import_graph_def(graph.as_graph_def(), name="")


@pytest.mark.parametrize("data", [b"", b"\x0a\x03abc", b"\xff"])
def test_damaged_datasets(data):
    with tf.Graph().as_default() as graph:
        v1.data.make_one_shot_iterator(Dataset.range(3)).get_next()
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        if node.op == "DatasetConstant":
            node.attr["dataset"].s = data
    with tf.Graph().as_default(), pytest.raises(ValueError, match="DatasetConstant"):
        tf.import_graph_def(graph_def, name="")


def test_elements_at_an_index():
    at = tf.data.experimental.at
    assert at(Dataset.range(4), 2).numpy() == 2
    with pytest.raises(tf.errors.OutOfRangeError, match=r"\[0, 4\):7"):
        at(Dataset.range(4), 7)
    with tf.Graph().as_default(), v1.Session() as session:
        assert session.run(at(Dataset.range(4), 3)) == 3
        for index in (4, -1):
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(at(Dataset.range(4), index))
