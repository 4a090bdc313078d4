# SPDX-License-Identifier: Apache-2.0
"""test_training.py: programs that learn: graph style, towers, eager style, functions."""

REGRESSION = """
import numpy as np
import situ.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None])
step = tf.train.get_or_create_global_step()
w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
out = tf.reshape(tf.matmul(x, w) + b, [-1])
loss = tf.losses.mean_squared_error(y, out)
rate = tf.train.exponential_decay(0.2, step, 50, 0.9)
"""
DATA = """
rng = np.random.RandomState(0)
xs = rng.randn(64, 2).astype("f")
ys = xs @ np.array([2.0, -1.0], "f") + 0.5
"""


def test_minimize(python):
    done = python(
        REGRESSION
        + """
optimizer = tf.train.MomentumOptimizer(rate, 0.5)
train = optimizer.minimize(loss, global_step=step)
"""
        + DATA
        + """
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(200):
        sess.run(train, {x: xs, y: ys})
    print(np.round(sess.run(w).ravel(), 3), np.round(sess.run(b), 3), sess.run(step))
print([v.name for g, v in optimizer.compute_gradients(loss)])
"""
    )
    assert done.out.splitlines() == ["[ 2. -1.] [0.5] 200", "['w:0', 'b:0']"], done.err


def test_clipped_gradients(python):
    done = python(
        REGRESSION
        + """
optimizer = tf.train.AdamOptimizer(0.05)
pairs = optimizer.compute_gradients(loss, [w])
grads, norm = tf.clip_by_global_norm([g for g, _ in pairs], 0.1)
train = optimizer.apply_gradients(zip(grads, [v for _, v in pairs]))
"""
        + DATA
        + """
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    value, size = sess.run([grads, norm], {x: xs, y: ys})
    print(round(float(np.linalg.norm(value[0])), 4), size > 0.1)
    before = sess.run(loss, {x: xs, y: ys})
    for _ in range(100):
        sess.run(train, {x: xs, y: ys})
    print(sess.run(loss, {x: xs, y: ys}) < before / 4)
"""
    )
    assert done.out.splitlines() == ["0.1 True", "True"], done.err


TOWERS = """
import numpy as np
import sys
import situ.compat.v1 as tf
n = int(sys.argv[1])
xs = np.random.RandomState(0).randn(8, 3).astype("f")
ys = (xs @ np.array([[1.0], [2.0], [3.0]], "f"))
with tf.device("/cpu:0"):
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
grads = []
for i in range(n):
    with tf.device("/gpu:%d" % i), tf.name_scope("tower_%d" % i):
        x, y = (tf.constant(a[i * 8 // n:(i + 1) * 8 // n]) for a in (xs, ys))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        grads.append(optimizer.compute_gradients(loss)[0][0])
with tf.device("/cpu:0"):
    mean = tf.add_n(grads) / float(n)
    train = optimizer.apply_gradients([(mean, w)])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(30):
        sess.run(train)
    print(" ".join("%.4f" % v for v in sess.run(w).ravel()))
"""


def test_towers_agree(python):
    lines = [python(TOWERS, gpus=4, words=[str(n)]) for n in (1, 2, 4)]
    assert lines[0].out and len({d.out for d in lines}) == 1, [d.err for d in lines]


def test_eager(python):
    done = python("""
import situ as tf
v = tf.Variable([3.0, -2.0])
optimizer = tf.keras.optimizers.Adam(0.1)
loss = lambda: tf.reduce_sum(tf.square(v))
for _ in range(5):
    optimizer.minimize(loss, [v])
print(["%.5f" % x for x in v.numpy()], int(optimizer.iterations))

@tf.function
def step():
    with tf.GradientTape() as tape:
        value = loss()
    optimizer.apply_gradients([(tape.gradient(value, v), v)])
    return value
first = step()
for _ in range(60):
    last = step()
print(bool(last < first / 10), int(optimizer.iterations))
old = tf.compat.v1.train.GradientDescentOptimizer(0.25)
w = tf.Variable(3.0)
old.minimize(lambda: tf.square(w - 1.0), var_list=[w])
print(w.numpy())
""")
    want = ["['2.50178', '-1.50296'] 5", "True 66", "2.0"]
    assert done.out.splitlines() == want, done.out + done.err


def test_optimize_loss(python):
    done = python(
        REGRESSION
        + """
train = tf.contrib.layers.optimize_loss(loss, step, 0.1, "SGD", clip_gradients=1.0)
"""
        + DATA
        + """
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    values = [sess.run(train, {x: xs, y: ys}) for _ in range(50)]
    print(values[-1] < values[0] / 10, sess.run(step))
"""
    )
    assert done.out.strip() == "True 50", done.err


def test_nothing_to_optimize(python):
    done = python("""
import situ.compat.v1 as tf
v = tf.Variable(1.0)
w = tf.Variable(1.0)
try:
    tf.train.GradientDescentOptimizer(0.1).minimize(w * 2.0, var_list=[v])
except ValueError as e:
    print(str(e)[:40])
""")
    assert done.out.strip() == "No gradients provided for any variable,", done.err


AVERAGES = """
import situ.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 2])
w = tf.get_variable("w", initializer=[[1.0], [1.0]])
h = tf.matmul(x, w)
MASK
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(h ** 2), step)
average = tf.train.ExponentialMovingAverage(0.5)
with tf.control_dependencies([train]):
    update = average.apply([w])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(2):
        session.run(update, {x: [[1.0, 0.0], [0.0, 1.0]]})
    print("%.2f %.2f" % tuple(session.run(average.average(w)).ravel()))
"""


def test_averages_behind_a_step_see_what_it_did(python):
    for mask in ("", "h = tf.boolean_mask(h, h[:, 0] > -100.0)"):
        assert python(AVERAGES.replace("MASK", mask)).out.strip() == "0.77 0.77"
