# SPDX-License-Identifier: Apache-2.0
"""test_contrib_eager.py: tf.contrib.eager, as programs of TensorFlow 1 import it: tfe."""


def test_a_program_that_tfe_runs(situ, tmp_path):
    result = situ(
        "run",
        "a.py",
        "--steps=3",
        files={
            "a.py": """
        import tensorflow as tf
        import tensorflow.contrib.eager as again
        from tensorflow.contrib.eager.python import tfe
        tf.app.flags.DEFINE_integer("steps", 1, "steps")

        def main(_):
            assert again.DEVICE_PLACEMENT_SILENT == tfe.DEVICE_PLACEMENT_SILENT == 2
            w = tfe.Variable(2.0, name="w")
            grad = tfe.implicit_gradients(lambda: w * w)
            optimizer = tf.train.MomentumOptimizer(0.25, 0.5)
            for _ in range(tf.app.flags.FLAGS.steps):
                optimizer.apply_gradients(grad())
            print(tf.executing_eagerly(), w.numpy(),
                  [float(v) for v in tfe.get_optimizer_variables(optimizer)])

        tfe.run(main)
        """
        },
    )
    assert result.code == 0, result.err
    # 2 -> 1 (speed 4), 0 (4), -0.5 (2)
    assert result.out == "True -0.5 [2.0]\n"


def test_eager_variables_are_saved_and_restored(python, tmp_path):
    result = python(f"""
        import situ.compat.v1 as tf
        tfe = tf.contrib.eager
        tfe.enable_eager_execution(device_policy=tfe.DEVICE_PLACEMENT_SILENT,
                                   execution_mode=tfe.SYNC)
        v, w = tfe.Variable(2.0, name="v"), tfe.Variable([1., 2.], name="w")
        step = tfe.Variable(3, name="step", dtype=tf.int64)
        saver = tfe.Saver([v, w])
        path = saver.save({str(tmp_path / "c")!r}, global_step=step)
        v.assign(5.)
        w.assign([0., 0.])
        saver.restore(path)
        assert path.endswith("c-3") and v.numpy() == 2 and w.numpy().tolist() == [1, 2]
        v.assign(7.)
        tfe.Saver({{"w": w, "v": v}}).restore(path)
        assert v.numpy() == 2 and tf.train.latest_checkpoint({str(tmp_path)!r}) == path
        try:
            tfe.Saver({{"other": v}}).restore(path)
        except tf.errors.NotFoundError as error:
            print("other" in str(error))
        """)
    assert result.out == "True\n", result.err


def test_layers_one_after_the_other_and_metrics(python):
    result = python("""
        import situ.compat.v1 as tf
        tfe = tf.contrib.eager
        tfe.enable_eager_execution()
        net = tfe.Sequential([tf.layers.Dense(3, use_bias=False), tf.nn.relu,
                              tf.layers.Dropout(0.999999)])
        net.add(lambda x: x * 2.)
        x = tf.ones([4, 2])
        assert net(x).shape.as_list() == [4, 3] and len(net.trainable_variables) == 1
        assert net(x, training=True).numpy().max() == 0
        right = tfe.metrics.SparseAccuracy()
        right([0, 1], [[.9, .1], [.8, .2]])
        assert right.result().numpy() == 0.5
        with tfe.execution_mode(tfe.ASYNC):
            assert tfe.py_func(lambda a: a + 1, [x], tf.float32).numpy().sum() == 16
        tfe.async_wait()
        """)
    assert result.code == 0, result.err


def test_distributions_check_their_arguments_eagerly(python):
    done = python("""
        import situ.compat.v1 as tf
        tf.enable_eager_execution()
        d = tf.distributions
        print(d.Normal(0.0, 2.0, validate_args=True).scale.numpy())
        nan = d.Normal(0.0, float("nan"))
        for make in (lambda: d.Normal(0.0, -2.0, validate_args=True),
                     lambda: d.kl_divergence(nan, nan, allow_nan_stats=False)):
            try:
                make()
            except tf.errors.InvalidArgumentError:
                print("invalid")
        """)
    assert done.out.split() == ["2.0", "invalid", "invalid"], done.err
