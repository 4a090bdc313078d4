# SPDX-License-Identifier: Apache-2.0
"""image_choice.py: boxes chosen among those that overlap, with scores and of classes; JPEG files
written, and how alike images are."""
import io
from typing import Optional

import numpy

from situ._lib.api import export, named
from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.keras.images import pillow
from situ._lib.readers import on_host


def _overlaps(box, boxes):
    """How much a box has in common with others: the common area by that of both together."""
    low, high = numpy.minimum(boxes[:, :2], boxes[:, 2:]), numpy.maximum(boxes[:, :2], boxes[:, 2:])
    first, last = numpy.minimum(box[:2], box[2:]), numpy.maximum(box[:2], box[2:])
    common = numpy.prod(numpy.maximum(numpy.minimum(high, last) - numpy.maximum(low, first), 0), 1)
    both = numpy.prod(high - low, 1) + numpy.prod(last - first) - common
    return numpy.where(both > 0, common / numpy.where(both > 0, both, 1), 0)


def _chosen(boxes, scores, count, most, least, sigma=0.0):
    """The numbers and scores of boxes, the best first, without those that overlap a chosen one."""
    scores, found, values = scores.astype("float64").copy(), [], []
    alive = scores > least
    while len(found) < count and alive.any():
        best = int(numpy.argmax(numpy.where(alive, scores, -numpy.inf)))
        found.append(best)
        values.append(scores[best])
        alive[best] = False
        common = _overlaps(boxes[best], boxes)
        if sigma > 0:
            scores = scores * numpy.exp(-common ** 2 / (2 * sigma)) * (common <= most)
            alive &= scores > least
        else:
            alive &= common <= most
    return numpy.array(found, "int32"), numpy.array(values, "float32")


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5,
                                    score_threshold=float("-inf"), soft_nms_sigma=0.0, name=None):
    """The best boxes that no better one covers, and their scores, which an overlap only lessens
    where sigma is not 0."""
    return tuple(on_host(
        lambda b, s, n: _chosen(b, s, int(n), iou_threshold, score_threshold, soft_nms_sigma),
        [boxes, scores, max_output_size], ["int32", "float32"], [[None], [None]]))


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size,
                                 iou_threshold=0.5, score_threshold=float("-inf"),
                                 pad_per_class=False, clip_boxes=True, name=None):
    """Boxes, scores and classes of each image: the best of all classes, filled up with zeros."""
    def call(boxes, scores):
        batch, _, classes = scores.shape
        size = min(max_total_size, max_output_size_per_class * classes) if pad_per_class else \
            max_total_size
        out = [numpy.zeros((batch, size, 4), "float32"), numpy.zeros((batch, size), "float32"),
               numpy.zeros((batch, size), "float32"), numpy.zeros(batch, "int32")]
        for i in range(batch):
            found = []
            for c in range(classes):
                own = boxes[i, :, c if boxes.shape[2] > 1 else 0]
                which, _ = _chosen(own, scores[i, :, c], max_output_size_per_class, iou_threshold,
                                   score_threshold)
                found += [(scores[i, k, c], c, own[k]) for k in which]
            found = sorted(found, key=lambda f: -f[0])[:size]
            for k, (score, c, box) in enumerate(found):
                out[0][i, k] = numpy.clip(box, 0, 1) if clip_boxes else box
                out[1][i, k], out[2][i, k] = score, c
            out[3][i] = len(found)
        return out
    made = on_host(call, [boxes, scores], ["float32", "float32", "float32", "int32"],
                 [[None, None, 4], [None, None], [None, None], [None]])
    import collections
    kind = collections.namedtuple("CombinedNonMaxSuppression", [
        "nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"])
    return kind(*made)


# JPEG


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(image, jpeg_quality, dct_method: str = "", name: Optional[str] = None):
    """Encodes an image as JPEG of some quality (0 to 100) and decodes it again.

    Args:
      image: a tensor [height, width, channels] with 1 or 3 channels; floating point values are
        between 0 and 1.
      jpeg_quality: an int or an int32 scalar tensor.
      dct_method: how it is decoded, as of tf.io.decode_jpeg.
      name: a name for the op.

    Returns:
      The image after that, of the same type and shape.
    """
    image = convert_to_tensor(image)
    kind, convert = image.dtype, named("image.convert_image_dtype")
    channels = image.shape.as_list()[-1] or 0
    file = op("EncodeJpegVariableQuality", convert(image, "uint8", saturate=True),
              convert_to_tensor(jpeg_quality, "int32"))
    made = op("DecodeJpeg", file, channels=channels, dct_method=dct_method, name=name)
    return convert(made, kind, saturate=True)


def _check_qualities(least: int, most: int) -> None:
    if not (0 <= least <= 100 and 0 <= most <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if least >= most:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")


@export("image.random_jpeg_quality")
def random_jpeg_quality(image, min_jpeg_quality: int, max_jpeg_quality: int, seed=None):
    """Encodes an image as JPEG of a random quality, at least min_jpeg_quality and less than
    max_jpeg_quality, and decodes it again."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = named("random.uniform")([], min_jpeg_quality, max_jpeg_quality, "int32", seed)
    return adjust_jpeg_quality(image, quality)


@export("image.stateless_random_jpeg_quality")
def stateless_random_jpeg_quality(image, min_jpeg_quality: int, max_jpeg_quality: int, seed):
    """As tf.image.random_jpeg_quality, of a quality that the two seeds decide."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = named("random.stateless_uniform")([], seed, min_jpeg_quality, max_jpeg_quality,
                                                "int32")
    return adjust_jpeg_quality(image, quality)


@export("io.decode_gif", "image.decode_gif")
def decode_gif(contents, name=None):
    """The pictures of a GIF file: [number, height, width, 3] (Pillow reads them)."""
    def call(data):
        file = pillow().open(io.BytesIO(numpy.asarray(data, object).item()))
        frames = []
        for k in range(getattr(file, "n_frames", 1)):
            file.seek(k)
            frames.append(numpy.asarray(file.convert("RGB")))
        return [numpy.stack(frames)]
    return on_host(call, [contents], ["uint8"], [[None, None, None, 3]])[0]


# How alike images are


@export("image.ssim")
def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03,
         return_index_map=False):
    """How alike two images are in their structure: 1 if they are the same."""
    first, second = (named("image.convert_image_dtype")(convert_to_tensor(i), "float32")
                     for i in (img1, img2))
    kind = convert_to_tensor(img1).dtype
    most = float(max_val) if kind.is_floating else 1.0 * float(max_val) / kind.max
    at = numpy.arange(filter_size) - (filter_size - 1) / 2.0
    window = numpy.exp(-at ** 2 / (2 * filter_sigma ** 2))
    window = (window[:, None] * window[None]) / (window.sum() ** 2)
    depth = first.shape.as_list()[-1]
    kernel = constant(numpy.tile(window[:, :, None, None], [1, 1, depth, 1]).astype("float32"))
    rank = first.shape.rank
    if rank == 3:
        first, second = op("ExpandDims", first, 0), op("ExpandDims", second, 0)

    def mean(x):
        return named("nn.depthwise_conv2d")(x, kernel, [1, 1, 1, 1], "VALID")
    c1, c2 = (k1 * most) ** 2, (k2 * most) ** 2
    m0, m1 = mean(first), mean(second)
    light = (2.0 * m0 * m1 + c1) / (m0 * m0 + m1 * m1 + c1)
    both = 2.0 * mean(first * second) - 2.0 * m0 * m1
    each = mean(first * first + second * second) - m0 * m0 - m1 * m1
    made = op("Mean", light * ((both + c2) / (each + c2)), [-1] if return_index_map else
              [-3, -2, -1])
    return op("Squeeze", made, squeeze_dims=[0]) if rank == 3 else made
