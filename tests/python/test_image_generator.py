# SPDX-License-Identifier: Apache-2.0
"""test_image_generator.py: ImageDataGenerator and its iterators; the expected
values are TensorFlow's."""

import os

import numpy as np
import pytest

import situ as tf

image = tf.keras.preprocessing.image


@pytest.fixture
def pictures(tmp_path):
    pytest.importorskip("PIL")
    for name in ("cats", "dogs"):
        os.makedirs(tmp_path / name)
        for i in range(5):
            image.save_img(
                tmp_path / name / f"{i}.png", np.full((8 + i, 6, 3), 50.0 * i), scale=False
            )
    return tmp_path


@pytest.mark.parametrize(
    "mode, first",
    [
        ("nearest", [2.11, 5.19, 10.22, 14.76, 18.66, 22.56]),
        ("constant", [0, 5.19, 10.22, 0, 0, 0]),
        ("wrap", [30.17, 5.19, 10.22, 10.25, 15.27, 20.3]),
        ("reflect", [2.11, 5.19, 10.22, 14.76, 18.05, 20.82]),
    ],
)
def test_affine_map(mode, first):
    x = np.arange(36.0).reshape(6, 6, 1)
    result = image.apply_affine_transform(
        x,
        theta=30,
        tx=1.5,
        ty=0.5,
        zx=1.3,
        zy=1.1,
        row_axis=0,
        col_axis=1,
        channel_axis=2,
        fill_mode=mode,
    )
    np.testing.assert_allclose(result[0, :, 0], first, atol=0.006)


def test_flow_of_arrays_has_the_numbers_of_a_seed():
    change = image.ImageDataGenerator(
        rotation_range=30,
        width_shift_range=2,
        shear_range=5,
        zoom_range=[0.8, 1.2],
        fill_mode="reflect",
    )
    x = np.arange(72.0).reshape(2, 6, 6, 1)
    result, y = change.flow(x, np.array([0, 1]), 2, shuffle=False, seed=5).next()
    np.testing.assert_allclose(result[0, 0, :, 0], [11.71, 9.97, 9.08, 8.19, 7.3, 6.4], atol=0.006)
    assert y.tolist() == [0, 1]


def test_fit_and_standardize():
    x = np.random.RandomState(0).rand(8, 4, 4, 3).astype("float32")
    change = image.ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    change.fit(x)
    batch = next(change.flow(x, batch_size=8, shuffle=False))
    np.testing.assert_allclose(batch.mean((0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(batch.std((0, 1, 2)), 1, atol=1e-4)


def test_folder_of_classes(pictures, capsys):
    change = image.ImageDataGenerator(rescale=1 / 255, validation_split=0.2, horizontal_flip=True)
    train = change.flow_from_directory(
        pictures, (8, 8), batch_size=3, class_mode="binary", subset="training"
    )
    held = change.flow_from_directory(pictures, (8, 8), subset="validation", shuffle=False)
    assert "Found 8 images belonging to 2 classes." in capsys.readouterr().out
    assert len(train) == 3 and train.class_indices == {"cats": 0, "dogs": 1}
    assert held.filenames == [os.path.join("cats", "0.png"), os.path.join("dogs", "0.png")]
    assert held[0][1].tolist() == [[1, 0], [0, 1]]
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(train, epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2 and train.total_batches_seen == 6
    assert model.predict(held, verbose=0).shape == (2, 1)


def test_table_of_files(pictures):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"filename": ["cats/1.png", "dogs/2.png", "none.png"], "class": ["c", "d", "c"]}
    )
    result = image.ImageDataGenerator().flow_from_dataframe(
        table, pictures, target_size=(4, 4), shuffle=False
    )
    assert result.samples == 2 and result[0][1].tolist() == [[1, 0], [0, 1]]


def test_dataset_of_a_folder(pictures, capsys):
    some = dict(validation_split=0.2, seed=1, image_size=(4, 4), batch_size=4)
    train, held = tf.keras.utils.image_dataset_from_directory(pictures, subset="both", **some)
    assert "Using 8 files for training.\nUsing 2 files for validation." in capsys.readouterr().out
    assert train.class_names == ["cats", "dogs"] and len(train) == 2
    assert not set(train.file_paths) & set(held.file_paths)
    x, y = next(iter(train))
    assert x.shape == (4, 4, 4, 3) and y.dtype == tf.int32
    with pytest.raises(ValueError, match="seed"):
        tf.keras.utils.image_dataset_from_directory(
            pictures, validation_split=0.2, subset="training"
        )


def test_dataset_of_texts(tmp_path):
    for name in ("neg", "pos"):
        os.makedirs(tmp_path / name)
        (tmp_path / name / "a.txt").write_text(name + "!")
    result = tf.keras.utils.text_dataset_from_directory(
        tmp_path, shuffle=False, label_mode="binary"
    )
    x, y = next(iter(result))
    assert x.numpy().tolist() == [b"neg!", b"pos!"] and y.numpy().tolist() == [[0], [1]]


def test_windows_of_a_series():
    series = np.arange(20.0)
    result = tf.keras.utils.timeseries_dataset_from_array(series, series[5:], 5, batch_size=4)
    x, y = list(result)[-1]
    assert x.numpy()[0].tolist() == [12, 13, 14, 15, 16] and y.numpy().tolist() == [17, 18, 19]
    result = tf.keras.utils.timeseries_dataset_from_array(series, None, 3, 3, 2, batch_size=4)
    assert list(result)[1].numpy().tolist() == [[12, 14, 16], [15, 17, 19]]


def test_a_dataset_of_a_folder_is_silent(pictures, capsys):
    for verbose in (False, True):
        tf.keras.utils.image_dataset_from_directory(pictures, verbose=verbose)
        assert capsys.readouterr().out.startswith("Found 1" if verbose else "")


def test_both_subsets_have_all_classes():
    x, y = np.zeros((4, 2, 2, 3)), np.array([0, 0, 1, 1])
    generator = tf.keras.preprocessing.image.ImageDataGenerator(validation_split=0.5)
    with pytest.raises(ValueError, match="different number of classes"):
        generator.flow(x, y, subset="training")
    part = generator.flow(x, y, subset="training", ignore_class_split=True)
    assert part.y.tolist() == [1, 1]


def test_targets_of_series_begin_at_the_start_index():
    make = tf.keras.utils.timeseries_dataset_from_array
    series = np.arange(10)
    (batch,) = make(series, series, 3, 2, 2, 2, start_index=1, end_index=9)
    assert batch[0].numpy().tolist() == [[1, 3, 5], [3, 5, 7]]
    assert batch[1].numpy().tolist() == [1, 3]
    for wrong in ({"start_index": 10}, {"end_index": 10}, {"sampling_rate": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            make(series, series, 3, **wrong)
