# SPDX-License-Identifier: Apache-2.0
"""ops_random.py: Philox 4x32-10 and its distributions in plain Python, for ops.py."""
import math

import numpy as np

MASK = 0xFFFFFFFF


def philox(counter, key):
    """Four words from a counter of four words and a key of two."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        left, right = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = ((right >> 32) ^ b ^ k0) & MASK, right & MASK, \
            ((left >> 32) ^ d ^ k1) & MASK, left & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return a, b, c, d


def block(attrs, number):
    """Block `number` of the generator that the seeds begin."""
    seed, seed2 = attrs["seed"] % (1 << 64), attrs["seed2"] % (1 << 64)
    at = (seed2 << 64) + attrs.get("start", 0) + number
    return philox([at >> 32 * i & MASK for i in range(4)], (seed & MASK, seed >> 32))


def units(attrs, words):
    """The uniform numbers of a block."""
    if attrs["dtype"] == "float64":
        return [((words[i] & 0xFFFFF) << 32 | words[i + 1]) / 2.0 ** 52 for i in (0, 2)]
    return [(word & 0x7FFFFF) / 2.0 ** 23 for word in words]


def normals(attrs, words):
    """Box and Muller: pairs of uniform numbers become pairs of normal ones."""
    made = []
    u = units(attrs, words)
    for first, second in zip(u[::2], u[1::2]):
        radius = math.sqrt(-2 * math.log(max(first, 1e-7)))
        made += [radius * math.sin(2 * math.pi * second), radius * math.cos(2 * math.pi * second)]
    return made


def collect(shape, blocks):
    """The numbers of the blocks, as many as the shape needs."""
    count, made = math.prod(int(d) for d in shape), []
    for numbers in blocks:
        if len(made) >= count:
            break
        made += numbers
    return np.array(made[:count]).reshape([int(d) for d in shape])


def forever():
    number = 0
    while True:
        yield number
        number += 1


def uniform(attrs, shape):
    short = {"float16": 1024, "bfloat16": 128}.get(attrs["dtype"])
    if short:
        digits = lambda n: [word % short / short for word in block(attrs, n)]
    else:
        digits = lambda n: units(attrs, block(attrs, n))
    return collect(shape, map(digits, forever()))


def normal(attrs, shape):
    return collect(shape, (normals(attrs, block(attrs, n)) for n in forever()))


def truncated(attrs, shape):
    """Each group of outputs takes from a stretch of blocks of its own."""
    group = 2 if attrs["dtype"] == "float64" else 4

    def take(index):
        made, number = [], index * group * 256 // 4
        while len(made) < group:
            made += [v for v in normals(attrs, block(attrs, number)) if abs(v) < 2]
            number += 1
        return made[:group]
    return collect(shape, map(take, forever()))


def integers(attrs, shape, low, high):
    def words(n):
        w = block(attrs, n)
        return [w[0] | w[1] << 32, w[2] | w[3] << 32] if attrs["Tout"] == "int64" else list(w)
    return collect(shape, ([int(low) + w % int(high - low) for w in words(n)] for n in forever()))


def mixed(attrs, seed):
    """The attributes with a state that two seeds begin; see `block`."""
    words = [int(v) % (1 << 64) for v in seed]
    x = philox((words[0] & MASK, words[0] >> 32, words[1] & MASK, words[1] >> 32),
               (0x3EC8F720, 0x02461E29))
    return {**attrs, "seed": x[0] | x[1] << 32, "seed2": x[2] | x[3] << 32}


def stateless(function):
    return lambda attrs, shape, seed, *rest: function(mixed(attrs, seed), shape, *rest)


def shuffle(attrs, value):
    """Fisher and Yates, a word for each step."""
    if value.ndim == 0 or len(value) < 2:
        return value
    order = list(range(len(value)))
    for i in range(len(value) - 1):
        other = i + block(attrs, i // 4)[i % 4] % (len(value) - i)
        order[i], order[other] = order[other], order[i]
    return value[order]


def doubles(attrs, number):
    w = block(attrs, number)
    return [((w[i] & 0xFFFFF) << 32 | w[i + 1]) / 2.0 ** 52 for i in (0, 2)]


def choose(attrs, logits, samples):
    made = np.zeros((len(logits), int(samples)), np.int64)
    for i in range(made.size):
        row = logits[i // int(samples)]
        sums = np.cumsum(np.exp(row - row.max()))
        made.flat[i] = np.searchsorted(sums, doubles(attrs, i // 2)[i % 2] * sums[-1], "right")
    return made


def gamma_of(attrs, alpha, number):
    """Marsaglia and Tsang; pairs of numbers are used from the last on."""
    stream, uniforms, normals_ = iter(range(number * 256, (number + 1) * 256)), [], []

    def uniform_():
        if not uniforms:
            uniforms.extend(doubles(attrs, next(stream)))
        return uniforms.pop()

    def normal_():
        if not normals_:
            normals_.extend(normals({"dtype": "float64"}, block(attrs, next(stream))))
        return normals_.pop()
    if alpha == 1:
        return -math.log1p(-uniform_())
    d = alpha + (2 / 3 if alpha < 1 else -1 / 3)
    while True:
        x = normal_()
        v = (1 + x / 3 / math.sqrt(d)) ** 3
        if v <= 0:
            continue
        u = uniform_()
        if u < 1 - 0.0331 * x ** 4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return d * v * (uniform_() ** (1 / alpha) if alpha < 1 else 1)


def gamma(attrs, shape, alpha):
    count = math.prod(int(d) for d in shape)
    flat = alpha.ravel()
    made = [[gamma_of(attrs, float(a), k * count + i) for k, a in enumerate(flat)]
            for i in range(count)]
    return np.array(made).reshape([int(d) for d in shape] + list(alpha.shape))


def stateless_integers(attrs, shape, seed, low, high):
    return integers({**mixed(attrs, seed), "Tout": attrs["dtype"]}, shape, low, high)


def keyed(function):
    """A row that is told the key and the counter of its generator."""
    def call(attrs, shape, key, counter, alg, *more):
        attrs = {**attrs, "seed": int(key[0]), "seed2": int(counter[1]),
                 "start": int(counter[0]) % (1 << 64)}
        return function(attrs, shape, *more)
    return call


def bounded(attrs, shape, low, high):
    return integers({**attrs, "Tout": attrs["dtype"]}, shape, low, high)


def all_integers(attrs, shape):
    """Words as they are, also as signed numbers."""
    wide, signed = attrs["dtype"].endswith("64"), attrs["dtype"].startswith("int")
    bits = 64 if wide else 32

    def numbers(words):
        whole = [words[i + 1] << 32 | words[i] for i in (0, 2)] if wide else words
        return [w - (1 << bits) if signed and w >> bits - 1 else w for w in whole]
    made = collect(shape, (numbers(block(attrs, n)) for n in forever()))
    return made.astype(attrs["dtype"])


def key_counter(attrs, seed):
    state = mixed(attrs, seed)
    return [np.array([state["seed"]], np.uint64), np.array([0, state["seed2"]], np.uint64)]


def whole_gamma(attrs, shape, alpha):
    """The shape ends with that of alpha."""
    return gamma(attrs, shape[:len(shape) - alpha.ndim], alpha)


def uniforms(attrs, block_number):
    """A stream of uniform numbers; pairs are used from the last on."""
    while True:
        yield from reversed(doubles(attrs, block_number))
        block_number += 1


def poisson_of(attrs, rate, number):
    """Knuth for small rates, else transformed rejection (Hoermann)."""
    stream, count, product = uniforms(attrs, number * 256), 0, 1.0
    while rate < 10:
        product *= next(stream)
        if product <= math.exp(-rate):
            return count
        count += 1
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    while True:
        u, v = next(stream) - 0.5, next(stream)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or us < 0.013 and v > us:
            continue
        scale = (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b)
        if math.log(v * scale) <= k * math.log(rate) - rate - math.lgamma(k + 1):
            return k


def binomial_of(attrs, count, prob, number):
    """Sums of geometric numbers for small means, else transformed rejection (Hoermann)."""
    if prob > 0.5:
        return count - binomial_of(attrs, count, 1 - prob, number)
    large, successes, total = count * prob >= 10, 0, 0
    stream = uniforms(attrs, number * (256 if large else 42))
    while not large:
        total += math.ceil(math.log(next(stream)) / math.log1p(-prob))
        if total > count:
            return successes
        successes += 1
    stddev = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    logarithm = lambda k: (math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
                           + k * math.log(prob) + (count - k) * math.log1p(-prob))
    peak = logarithm(math.floor((count + 1) * prob))
    while True:
        u, v = next(stream) - 0.5, next(stream)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + count * prob + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if k < 0 or k > count:
            continue
        if math.log(v * (2.83 + 5.1 / b) * stddev / (a / (us * us) + b)) <= logarithm(k) - peak:
            return k


def poisson(attrs, shape, rate):
    count, flat = math.prod(int(d) for d in shape), rate.ravel()
    made = [[poisson_of(attrs, float(a), k * count + i) for k, a in enumerate(flat)]
            for i in range(count)]
    return np.array(made).reshape([int(d) for d in shape] + list(rate.shape))


def binomial(attrs, shape, counts, probs):
    counts, probs = np.broadcast_arrays(counts, probs)
    samples = math.prod(int(d) for d in shape) // counts.size
    pairs = list(zip(counts.ravel(), probs.ravel()))
    made = [[binomial_of(attrs, float(n), float(p), k * samples + i)
             for k, (n, p) in enumerate(pairs)] for i in range(samples)]
    return np.array(made).reshape([int(d) for d in shape])


def by_logarithm(attrs, words):
    """How a class is drawn that is the rarer the larger it is, and how likely each is."""
    last = int(attrs["range_max"])

    def draw():
        first, second = next(words), next(words)
        unit = ((first & 0xFFFFF) << 32 | second) / 2.0 ** 52
        return (int(math.exp(unit * math.log1p(last))) - 1) % last
    return draw, lambda value: math.log((value + 2) / (value + 1)) / math.log1p(last)


def evenly(attrs, words):
    last = int(attrs["range_max"])

    def draw():
        first, second = next(words), next(words)
        word = second << 32 | first
        if not last & (last - 1):
            return word & (last - 1)
        return word % last if word >= (2 ** 64 - 1) % last + 1 else draw()
    return draw, lambda value: 1 / last


def by_weight(attrs, words):
    """Entries that are drawn evenly and give what they lack to others, the last ones first."""
    given = [w ** attrs["distortion"] for w in attrs["unigrams"]]
    weights = [0.0] * int(attrs["num_reserved_ids"]) + given
    n, other = len(weights), list(range(len(weights)))
    odds = [w * n / sum(weights) for w in weights]
    low = [i for i in range(n) if odds[i] < 1]
    high = [i for i in range(n) if odds[i] >= 1]
    while low and high:
        rare, rich = low.pop(), high.pop()
        other[rare] = rich
        odds[rich] -= 1 - odds[rare]
        (low if odds[rich] < 1 else high).append(rich)
    for i in low + high:
        odds[i] = 1.0

    def draw():
        unit, entry = (next(words) & 0x7FFFFF) / 2.0 ** 23, next(words) % n
        return entry if unit < odds[entry] else other[entry]
    return draw, lambda value: weights[value] / sum(weights)


def candidates(kind):
    """Classes that are drawn until enough differ, and how often each is to be expected."""
    def call(attrs, true):
        n = int(attrs["num_sampled"])
        draw, chance = kind(attrs, (w for number in forever() for w in block(attrs, number)))
        made, tries = [], 0
        while len(made) < n:
            value, tries = draw(), tries + 1
            if not attrs["unique"] or value not in made:
                made.append(value)

        def expected(value):
            p = chance(value)
            return p * n if tries == n else -math.expm1(tries * math.log1p(-p))
        expect = np.vectorize(expected, otypes=[float])
        return [np.array(made), expect(true), expect(made)]
    return call


def simon(value, key, width, rounds):
    """A number of two words of `width` bits, encrypted with the Simon cipher."""
    mask = (1 << width) - 1

    def left(x, by):
        return (x << by | x >> (width - by)) & mask

    keys = [k & mask for k in key]
    for i in range(3, rounds):
        bit = (0x7369F885192C0EF5 & mask) >> (i - 3) & 1
        keys.append((0xFFFFFFFC & mask) ^ bit ^ keys[i - 3] ^ left(keys[i - 1], width - 3) ^
                    left(keys[i - 1], width - 4))
    high, low = value >> width & mask, value & mask
    for i in range(0, rounds, 2):
        high ^= (left(low, 1) & left(low, 8)) ^ left(low, 2) ^ keys[i]
        low ^= (left(high, 1) & left(high, 8)) ^ left(high, 2) ^ keys[i + 1]
    return high << width | low


def index_shuffle(a, index, seed, most):
    """Where each index lies in a permutation of 0 to `most`."""
    count = max(index.size, most.size, seed.size // 3)
    rows = zip(np.broadcast_to(index.ravel(), count), np.broadcast_to(most.ravel(), count),
               np.broadcast_to(seed.reshape(-1, 3), (count, 3)))
    places = []
    for value, limit, key in rows:
        bits = math.ceil(math.log2(limit)) if limit else 0
        width = max(bits + bits % 2, 16) // 2
        value = int(value)
        while True:
            value = simon(value, [int(k) & MASK for k in key], width, int(a.get("rounds", 4)))
            if value <= limit:
                break
        places.append(value)
    return np.array(places).reshape(() if index.ndim + seed.ndim + most.ndim == 1 else count)


RANDOM = {"LogUniformCandidateSampler": candidates(by_logarithm),
          "UniformCandidateSampler": candidates(evenly),
          "FixedUnigramCandidateSampler": candidates(by_weight),
          "RandomUniform": uniform, "RandomStandardNormal": normal, "TruncatedNormal": truncated,
          "RandomUniformInt": integers, "StatelessRandomUniform": stateless(uniform),
          "StatelessRandomNormal": stateless(normal),
          "StatelessTruncatedNormal": stateless(truncated),
          "StatelessRandomUniformInt": stateless_integers, "RandomShuffle": shuffle,
          "RandomIndexShuffle": index_shuffle,
          "StatelessRandomUniformV2": keyed(uniform), "StatelessRandomNormalV2": keyed(normal),
          "StatelessTruncatedNormalV2": keyed(truncated),
          "StatelessRandomUniformIntV2": keyed(bounded),
          "StatelessRandomUniformFullIntV2": keyed(all_integers),
          "StatelessRandomUniformFullInt": stateless(all_integers),
          "StatelessRandomGetKeyCounter": key_counter, "StatelessShuffle": keyed(shuffle),
          "RandomPoisson": poisson, "RandomPoissonV2": poisson,
          "StatelessRandomPoisson": stateless(
              lambda a, shape, rate: poisson(a, shape[:len(shape) - rate.ndim], rate)),
          "StatelessRandomBinomial": stateless(binomial),
          "StatelessRandomBinomialV2": keyed(binomial),
          "StatelessRandomGammaV2": stateless(whole_gamma),
          "StatelessRandomGammaV3": keyed(whole_gamma),
          "Multinomial": choose, "RandomGamma": gamma,
          "StatelessMultinomial": lambda a, x, n, seed: choose(mixed(a, seed), x, n)}
