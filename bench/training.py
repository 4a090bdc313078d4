# SPDX-License-Identifier: Apache-2.0
"""training.py: steps of training beside other systems, in turns in one process.

Usage: training.py [--quick] [--only PATTERN] --peer tensorflow|torch|jax
Every step is compared with the same network, weights and batch of the peer: their losses must
agree. The note tells the seconds of processor time that a step took, which do not depend so much on
what else the machine does. Prints one JSON object a row.
"""

import argparse
import fnmatch
import json
import math
import os
import subprocess
import sys
import time

import networks

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
WORDS = {
    "cifar": "step of the CIFAR-10 network, batch 128",
    "mlp": "step of 784-512-512-10, batch 128",
}
CHECKED = 3  # steps before losses are compared


def burst(step, calls):
    """Seconds by the clock and of processors, per step."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        step()
    return ((time.perf_counter() - wall) / calls, (time.process_time() - cpu) / calls)


def alternate(steps, quick):
    """The best of bursts of about 50 ms in turns: [(seconds, seconds of processors)]."""
    calls = [max(1, round(0.05 / min(burst(step, 1)[0] for _ in range(3)))) for step in steps]
    found = [[] for _ in steps]
    for _ in range(5 if quick else 40):
        for i, step in enumerate(steps):
            time.sleep(0.02)  # threads of the other one stop looking for work
            step()
            found[i].append(burst(step, calls[i]))
    return [tuple(map(min, zip(*bursts))) for bursts in found]


def check(losses):
    """All must have learned the same."""
    for loss in losses[1:]:
        if not math.isclose(loss, losses[0], rel_tol=1e-3):
            raise RuntimeError(f"losses differ: {losses}")


def compare(name, model, against, makers, target, quick):
    """situ's rate of steps beside the best of the peer's ways."""
    steps, losses = zip(*[maker(model) for maker in (networks.make_situ, *makers)])
    for step in steps:
        for _ in range(CHECKED):
            step()
    check([loss() for loss in losses])
    (wall, cpu), *others = alternate(steps, quick)
    best = min(others)
    scale, unit = (networks.BATCH, "images/s") if model == "cifar" else (1, "steps/s")
    note = f"processor time of a step: {cpu * 1e3:.2f} ms, {against}'s {best[1] * 1e3:.2f} ms"
    ratio = best[0] / wall
    print(
        json.dumps(
            {
                "name": name,
                "what": WORDS[model],
                "value": scale / wall,
                "unit": unit,
                "against": against,
                "yardstick": scale / best[0],
                "ratio": ratio,
                "target": target,
                "at_least": True,
                "busy": os.getloadavg()[0] > os.cpu_count() + 1,
                "holds": None if target is None else ratio >= target / 1.1,
                "note": note,
            }
        ),
        flush=True,
    )


MEMORY = """
import sys
import networks
def status(key):
    return [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key)][0]
import resource
maker = getattr(networks, "make_" + sys.argv[1])
__import__(sys.argv[2])
before = status("VmRSS")
step, _ = maker("cifar")
for _ in range(5):
    step()
used = status("VmHWM") - before
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
print(used / 1024, faults / 5)
"""


def memory(name, against, quick):
    """Megabytes of the network and its steps, beyond what the import takes, in new processes."""
    found = []
    for maker, module in (("situ", "situ"), ("tensorflow", "tensorflow")):
        runs = []
        for _ in range(1 if quick else 3):
            done = subprocess.run(
                [sys.executable, "-c", MEMORY, maker, module],
                check=True,
                capture_output=True,
                cwd=os.path.dirname(__file__),
            )
            runs.append([float(word) for word in done.stdout.split()[-2:]])
        found.append(min(runs))
    (mine, my_faults), (other, other_faults) = found
    print(
        json.dumps(
            {
                "name": name,
                "what": "memory of the CIFAR-10 network and its steps",
                "value": mine,
                "unit": "MB",
                "against": against,
                "yardstick": other,
                "ratio": mine / other,
                "target": 1,
                "at_least": False,
                "holds": mine <= other * 1.1,
                "note": f"new pages in a later step: {my_faults:.0f}, "
                f"{against}'s {other_faults:.0f}",
            }
        ),
        flush=True,
    )


def beside_tensorflow(wants, quick):
    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    against = "TensorFlow " + tf.__version__
    for model, target in (("cifar", 1.2), ("mlp", 1)):
        if wants(f"training.tensorflow.{model}"):
            compare(
                f"training.tensorflow.{model}",
                model,
                against,
                [networks.make_tensorflow],
                target,
                quick,
            )
    if wants("training.tensorflow.memory"):
        memory("training.tensorflow.memory", against, quick)


def beside_torch(wants, quick):
    import torch

    def planes(model):
        return networks.make_torch(model, "planes")

    for model, target, makers in (
        ("cifar", 2, [networks.make_torch, planes]),
        ("mlp", 1, [networks.make_torch]),
    ):
        if wants(f"training.torch.{model}"):
            compare(
                f"training.torch.{model}",
                model,
                "PyTorch " + torch.__version__,
                makers,
                target,
                quick,
            )


def beside_jax(wants, quick):
    import jax

    for model, target in (("mlp", 1), ("cifar", 1)):
        if wants(f"training.jax.{model}"):
            compare(
                f"training.jax.{model}",
                model,
                "JAX jit " + jax.__version__,
                [networks.make_jax],
                target,
                quick,
            )


PEERS = {
    "tensorflow": (beside_tensorflow, ("cifar", "mlp", "memory")),
    "torch": (beside_torch, ("cifar", "mlp")),
    "jax": (beside_jax, ("cifar", "mlp")),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--peer", choices=PEERS, required=True)
    options = parser.parse_args()

    def wants(name):
        only = options.only
        return not only or only in name or fnmatch.fnmatch(name, only)

    run, rows = PEERS[options.peer]
    if not any(wants(f"training.{options.peer}.{row}") for row in rows):
        return
    try:
        __import__(options.peer)
    except ImportError:
        print(
            json.dumps(
                {
                    "name": f"training.{options.peer}",
                    "what": "",
                    "skipped": f"no {options.peer} here: run make bench-peers",
                }
            )
        )
        return
    run(wants, options.quick)


if __name__ == "__main__":
    main()
