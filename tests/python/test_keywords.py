# SPDX-License-Identifier: Apache-2.0
"""test_keywords.py: a keyword argument that a function does not have is an error, with the name
that was probably meant; no argument of TensorFlow is accepted and ignored."""

import importlib.util
import os
import sys

import numpy
import pytest
from conftest import ROOT

import situ as tf

X, Y = numpy.zeros((4, 3), "float32"), numpy.zeros((4, 1), "float32")
layers, keras = tf.keras.layers, tf.keras


def model():
    made = keras.Sequential([layers.Dense(1, input_shape=(3,))])
    made.compile("sgd", "mse")
    return made


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda: model().fit(X, Y, epoch=5),
            r"fit\(\) got an unexpected keyword argument 'epoch'\. "
            r"Did you mean 'epochs'\?",
        ),
        (lambda: model().fit(X, Y, valdation_data=(X, Y)), "Did you mean 'validation_data'"),
        (
            lambda: model().evaluate(X, Y, batchsize=2),
            r"evaluate\(\) got .* 'batchsize'\. Did you "
            "mean 'batch_size'",
        ),
        (lambda: model().predict(X, batchsize=2), r"predict\(\) got .* 'batchsize'"),
        (
            lambda: model().compile("sgd", losses="mse"),
            r"compile\(\) got .* 'losses'\. Did you mean "
            "'loss'",
        ),
        (lambda: model().fit_generator([(X, Y)], epoch=2), "'epoch'"),
        (lambda: model().save("never", overwrit=True), r"save\(\) got .* 'overwrit'"),
        (lambda: model().add_loss(lambda: 0.0, input=1), "'input'"),
        (
            lambda: layers.Dense(1, activaton="relu"),
            "Keyword argument not understood: activaton. Did you mean 'activation'",
        ),
        (lambda: layers.Conv2D(1, 3, stride=2), "Did you mean 'strides'"),
        (lambda: layers.LSTM(2, return_sequence=True), "Did you mean 'return_sequences'"),
        (lambda: layers.BatchNormalization(momentun=0.9), "momentun"),
        (lambda: layers.Layer().add_weight("w", [1], initialiser="zeros"), "initialiser"),
        (
            lambda: keras.callbacks.ModelCheckpoint("f", save_best=True),
            "Did you mean 'save_best_only'",
        ),
        (lambda: keras.callbacks.EarlyStopping(patiance=2), "patiance"),
        (lambda: keras.callbacks.ReduceLROnPlateau(patiance=2), "Did you mean 'patience'"),
        (lambda: keras.callbacks.TensorBoard(logdir="x"), "Did you mean 'log_dir'"),
        (
            lambda: keras.losses.CategoricalCrossentropy(from_logit=True),
            "Did you mean 'from_logits'",
        ),
        (lambda: keras.losses.MeanSquaredError("none", "n", None, 1), "takes at most 3"),
        (lambda: keras.metrics.BinaryAccuracy(treshold=0.5), "Did you mean 'threshold'"),
        (lambda: keras.metrics.Mean(nane="x"), "nane"),
        (lambda: keras.metrics.IoU(2, [0], ignore=1), "ignore"),
        (lambda: keras.optimizers.Adam(learning_rat=0.1), "learning_rat"),
        (lambda: keras.optimizers.get("adam", lr=1), "lr"),
        (lambda: keras.optimizers.SGD(0.1).apply_gradients([], global_step=1), "global_step"),
        (lambda: keras.utils.get_file("f", "http://h/f", md5="x"), "md5"),
        (lambda: keras.preprocessing.text.Tokenizer(num_word=5), "num_word"),
        (lambda: keras.applications.MobileNet(weight=None), "weight"),
        (lambda: keras.initializers.Zeros()([2], dtyp="float32"), "dtyp"),
        (lambda: tf.einsum("i->i", [1.0], optimise=True), "optimise"),
        (lambda: tf.saved_model.SaveOptions(namespace=1), "namespace"),
        (lambda: tf.data.Dataset.range(3).snapshot("p", shard=1), "shard"),
        (lambda: tf.distribute.NcclAllReduce(packs=2), "packs"),
        (lambda: tf.sparse.reduce_sum(tf.sparse.from_dense([[1.0]]), axes=0), "axes"),
        (lambda: tf.sets.difference([[1]], [[1]], minus=True), "minus"),
        (lambda: tf.io.decode_and_crop_jpeg(b"", [0, 0, 1, 1], channel=3), "channel"),
        (lambda: tf.compat.v1.metrics.mean_squared_error([1.0], [1.0], weight=1.0), "weight"),
        (lambda: tf.compat.v1.losses.mean_squared_error([1.0], [1.0], weight=1.0), "weight"),
    ],
)
def test_unknown_keywords_are_errors(call, text):
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: keras.Input((2,), bogus=1),
        lambda: tf.nest.map_structure(abs, 1, check_type=True),
        lambda: keras.backend.function([], [], bogus=1),
    ],
)
def test_functions_whose_error_is_a_value_error(call):
    with pytest.raises(ValueError, match="check_type|bogus"):
        call()


def test_arguments_of_every_layer():
    made = layers.Dense(
        2,
        input_shape=(3,),
        batch_size=4,
        dtype="float32",
        name="d",
        trainable=False,
        autocast=True,
        dynamic=False,
        weights=[numpy.ones((3, 2)), numpy.zeros(2)],
    )
    assert keras.Sequential([made]).predict(X + 1).tolist() == [[3.0, 3.0]] * 4
    assert layers.Dense(2, input_dim=3)._batch_input_shape == (None, 3)
    assert layers.Dense(2, batch_input_shape=(5, 3))._batch_input_shape == (5, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: model().export("never", format="onnx"),
        lambda: keras.callbacks.BackupAndRestore("never", double_checkpoint=True),
        lambda: keras.callbacks.TensorBoard("never", embeddings_freq=1),
        lambda: tf.saved_model.LoadOptions(experimental_skip_checkpoint=True),
    ],
)
def test_arguments_that_are_not_supported_say_so(call):
    with pytest.raises((NotImplementedError, ValueError)):
        call()


def test_arguments_that_were_ignored_take_effect():
    first = tf.sets.difference([[1, 2]], [[2, 3]], aminusb=False)
    assert first.values.numpy().tolist() == [3]
    assert (
        keras.applications.MobileNet(
            weights=None, input_shape=(32, 32, 3), classes=2, name="mine"
        ).name
        == "mine"
    )
    tokens = keras.preprocessing.text.Tokenizer(analyzer=lambda text: text.split("-"))
    tokens.fit_on_texts(["a-b", "a-c"])
    assert tokens.word_index["a"] == 1 and set(tokens.word_index) == {"a", "b", "c"}


def test_get_file_checks_and_unpacks(tmp_path):
    import shutil

    (tmp_path / "datasets" / "things").mkdir(parents=True)
    (tmp_path / "datasets" / "things" / "a.txt").write_text("a")
    shutil.make_archive(
        str(tmp_path / "datasets" / "things"), "gztar", tmp_path / "datasets", "things"
    )
    shutil.rmtree(tmp_path / "datasets" / "things")
    found = keras.utils.get_file(
        "things", "http://h/things.tar.gz", untar=True, cache_dir=str(tmp_path)
    )
    assert os.path.isfile(os.path.join(found, "a.txt"))
    with pytest.raises(ValueError, match="hash does not match"):
        keras.utils.get_file("things.tar.gz", "", file_hash="0" * 64, cache_dir=str(tmp_path))


def checker():
    """tools/checks/keywords.py as a module."""
    path = os.path.join(ROOT, "tools", "checks", "keywords.py")
    spec = importlib.util.spec_from_file_location("checks_keywords", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "source, wrong",
    [
        ("def f(**kwargs):\n    return 1", True),
        ("def f(**kwargs):\n    return kwargs.get('a')", True),
        ("def f(**kwargs):\n    kwargs.pop('a')\n    return 'b' in kwargs", True),
        ("g = lambda **k: 1", True),
        ("def f(*args):\n    return 1", True),
        ("def f(*_args):\n    return 1", False),
        ("def f(**kwargs):\n    return g(**kwargs)", False),
        ("def f(**kwargs):\n    kwargs.pop('a')\n    if kwargs:\n        raise TypeError()", False),
        ("def f(**kwargs):\n    raise ValueError('no')", False),
        ("def _g(k):\n    return k.get('a')\ndef f(**kwargs):\n    return _g(kwargs)", True),
        ("def _g(x, k):\n    return k['a']\ndef f(**kwargs):\n    return _g(1, kwargs)", True),
        ("def _g(k):\n    return dict(k)\ndef f(**kwargs):\n    return _g(kwargs)", False),
        ("def g(k):\n    return k.get('a')\ndef f(**kwargs):\n    return g(kwargs)", False),
        ("def f(**kwargs):\n    return _g(kwargs)", False),
    ],
)
def test_the_checker_finds_ignored_keywords(source, wrong):
    assert bool(list(checker().problems_of("x.py", source))) == wrong


@pytest.mark.parametrize(
    "source, wrong",
    [
        ("def f(a, b):\n    return a", ["b"]),
        ("def f(a, *, b=1):\n    return a", ["b"]),
        ("def f(a):\n    a = 1", ["a"]),
        ("def f(a):\n    del a  # a hint", []),
        ("def f(a):\n    del a", ["a"]),
        ("def f(a, b):\n    del a, b  # hints", []),
        ("def f(_a):\n    return 1", []),
        ("def f(a):\n    return locals()", []),
        ("def f(a):\n    raise ValueError('no')", []),
        ("def f(a):\n    'Does nothing.'", []),
        ("def f(a):\n    return lambda: a", []),
        ("class C:\n    def __init__(self, a):\n        self.b = 1", ["a"]),
        ("class C:\n    def on_epoch_end(self, epoch, logs=None):\n        self.b = 1", []),
        ("class C:\n    def f(self, a):\n        return self", ["a"]),
    ],
)
def test_the_checker_finds_parameters_that_nothing_reads(source, wrong):
    found = [text for _, _, text in checker().unread_of("x.py", source)]
    assert [text.split()[2].rstrip(":") for text in found] == wrong


def test_no_function_of_the_package_ignores_arguments():
    found = []
    for folder, _, files in os.walk(os.path.join(ROOT, "python")):
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                found += [*checker().problems_of(path, text), *checker().unread_of(path, text)]
    assert found == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.keras.layers.BatchNormalization(renorm=True),
        lambda: tf.keras.layers.TextVectorization(sparse=True, output_mode="multi_hot"),
        lambda: tf.keras.layers.CategoryEncoding(3, sparse=True),
        lambda: tf.feature_column.crossed_column(["a", "b"], 4, hash_key=5),
        lambda: tf.nn.conv3d_transpose(
            tf.ones([1, 2, 2, 2, 1]), tf.ones([2, 2, 2, 1, 1]), [1, 4, 4, 4, 1], 1, dilations=2
        ),
    ],
)
def test_arguments_with_another_result_are_not_ignored(call):
    with pytest.raises(NotImplementedError, match="is not supported yet"):
        call()


def test_a_threshold_of_sparse_sums():
    first = tf.sparse.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [2, 2])
    second = tf.sparse.SparseTensor([[0, 0], [1, 0]], [-0.95, 0.5], [2, 2])
    found = tf.sparse.add(first, second, threshold=0.1)
    assert found.indices.numpy().tolist() == [[1, 0], [1, 1]]
    wide = tf.sparse.SparseTensor([[0, 0]], [1.0], [1, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input shapes must match"):
        tf.sparse.concat(0, [first, wide])
    both = tf.sparse.concat(0, [first, wide], expand_nonconcat_dims=True)
    assert both.dense_shape.numpy().tolist() == [3, 3]


def test_a_clone_of_other_layers():
    first = keras.Sequential([layers.Dense(2, input_shape=(3,)), layers.Dense(1)])
    made = keras.models.clone_model(
        first, clone_function=lambda layer: layers.Dense(layer.units + 1)
    )
    assert [layer.units for layer in made.layers] == [3, 2] and made.built


def test_names_of_arguments():
    assert tf.bitwise.bitwise_and(x=[3], y=[1]).numpy().tolist() == [1]
    assert tf.compat.as_bytes(bytes_or_text="a") == b"a"
    assert tf.as_dtype(type_value="float32") == tf.float32
    assert tf.math.top_k([1.0, 3.0], index_type=tf.int64).indices.dtype == tf.int64
    assert tf.compat.v1.gfile.Exists(filename=ROOT)
    with pytest.raises(TypeError, match="Did you mean 'filename'"):
        tf.compat.v1.gfile.Exists(filenam=ROOT)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        tf.compat.v1.gfile.Exists()
