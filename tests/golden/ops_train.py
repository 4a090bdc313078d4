# SPDX-License-Identifier: Apache-2.0
"""ops_train.py: the updates of optimizers in NumPy, from the papers' formulas."""
import inspect

import numpy as np


def gradient_descent(a, var, alpha, delta):
    return [var - alpha * delta]


def momentum(a, var, accum, lr, grad, mu):
    accum = mu * accum + grad
    return [var - lr * (grad + mu * accum if a["use_nesterov"] else accum), accum]


def keras_momentum(a, var, accum, lr, grad, mu):
    accum = mu * accum - lr * grad
    return [var + (mu * accum - lr * grad if a["use_nesterov"] else accum), accum]


def adagrad(a, var, accum, lr, grad):
    accum = accum + grad ** 2 * a["update_slots"]
    return [var - lr * grad / np.sqrt(accum), accum]


def adagrad_v2(a, var, accum, lr, epsilon, grad):
    accum = accum + grad ** 2 * a["update_slots"]
    return [var - lr * grad / (np.sqrt(accum) + epsilon), accum]


def adadelta(a, var, accum, update, lr, rho, epsilon, grad):
    accum = rho * accum + (1 - rho) * grad ** 2
    step = np.sqrt(update + epsilon) / np.sqrt(accum + epsilon) * grad
    return [var - lr * step, accum, rho * update + (1 - rho) * step ** 2]


def rms_prop(a, var, ms, mom, lr, rho, mu, epsilon, grad):
    ms = rho * ms + (1 - rho) * grad ** 2
    mom = mu * mom + lr * grad / np.sqrt(ms + epsilon)
    return [var - mom, ms, mom]


def centered_rms_prop(a, var, mg, ms, mom, lr, rho, mu, epsilon, grad):
    ms, mg = rho * ms + (1 - rho) * grad ** 2, rho * mg + (1 - rho) * grad
    mom = mu * mom + lr * grad / np.sqrt(ms - mg ** 2 + epsilon)
    return [var - mom, mg, ms, mom]


def adam(a, var, m, v, power1, power2, lr, beta1, beta2, epsilon, grad):
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad ** 2
    rate = lr * np.sqrt(1 - power2) / (1 - power1)
    ahead = (1 - beta1) * grad + beta1 * m if a["use_nesterov"] else m
    return [var - rate * ahead / (np.sqrt(v) + epsilon), m, v]


def ada_max(a, var, m, v, power1, lr, beta1, beta2, epsilon, grad):
    m, v = beta1 * m + (1 - beta1) * grad, np.maximum(beta2 * v, np.abs(grad))
    return [var - lr / (1 - power1) * m / (v + epsilon), m, v]


def ftrl_v2(a, var, accum, linear, grad, lr, l1, l2, shrinkage, power):
    new = accum + grad ** 2
    scale, divisor = (lr, 1) if a.get("multiply_linear_by_lr") else (1, lr)
    sigma = (new ** -power - accum ** -power) / divisor
    linear = linear + scale * (grad + 2 * shrinkage * var) - sigma * var
    value = (np.sign(linear) * scale * l1 - linear) / (new ** -power / divisor + 2 * scale * l2)
    return [np.where(np.abs(linear) > scale * l1, value, 0), new, linear]


def ftrl(a, var, accum, linear, grad, lr, l1, l2, power):
    return ftrl_v2(a, var, accum, linear, grad, lr, l1, l2, 0, power)


def shrunk(x, rate, l1, l2):
    return np.sign(x) * np.maximum(np.abs(x) - rate * l1, 0) / (1 + rate * l2)


def proximal_gradient_descent(a, var, alpha, l1, l2, delta):
    return [shrunk(var - alpha * delta, alpha, l1, l2)]


def proximal_adagrad(a, var, accum, lr, l1, l2, grad):
    accum = accum + grad ** 2
    rate = lr / np.sqrt(accum)
    return [shrunk(var - rate * grad, rate, l1, l2), accum]


TRAIN = {
    "StepGradientDescent": gradient_descent, "StepMomentum": momentum,
    "StepKerasMomentum": keras_momentum, "StepAdagrad": adagrad, "StepAdagradV2": adagrad_v2,
    "StepAdadelta": adadelta, "StepRMSProp": rms_prop, "StepCenteredRMSProp": centered_rms_prop,
    "StepAdam": adam, "StepAdaMax": ada_max, "StepFtrl": ftrl, "StepFtrlV2": ftrl_v2,
    "StepProximalGradientDescent": proximal_gradient_descent,
    "StepProximalAdagrad": proximal_adagrad,
}


def sparse(update):
    """The update for a gradient of rows: those of equal numbers are added, others stay."""
    names = list(inspect.signature(update).parameters)
    at = names.index("grad" if "grad" in names else "delta") - 1

    def run(a, *args):
        args, indices = list(args[:at + 1] + args[at + 2:]), args[at + 1]
        rows = np.unique(indices)
        grad = np.array([args[at][indices == row].sum(axis=0) for row in rows])
        args[at] = grad.reshape((len(rows),) + args[0].shape[1:])
        states = [x for x in args if x.shape == args[0].shape and x.ndim and x is not args[at]]
        small = [x[rows] if any(x is s for s in states) else x for x in args]
        found = []
        for state, changed in zip(states, update(a, *small)):
            state = state.copy()
            state[rows] = changed
            found.append(state)
        return found
    return run


TRAIN.update({name.replace("Step", "StepSparse"): sparse(f) for name, f in list(TRAIN.items())})
