# SPDX-License-Identifier: Apache-2.0
"""audio_ops.py: tf.audio: decodes and encodes 16-bit WAV files."""

from __future__ import annotations

import collections
import io
import wave

import numpy

from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.script_ops import py_func

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

DecodeWav = collections.namedtuple("DecodeWav", "audio sample_rate")


def _invalid_argument(message):
    return errors.InvalidArgumentError(None, None, message)


@export("audio.decode_wav")
def decode_wav(
    contents: TensorLike,
    desired_channels: TensorLike = -1,
    desired_samples: TensorLike = -1,
    name: str | None = None,
) -> Any:
    """Decodes a 16-bit PCM WAV file.

    Args:
      contents: A scalar string tensor, the bytes of the file.
      desired_channels: The number of channels to return; -1 for those of the file.
      desired_samples: The number of samples to return; -1 for those of the file.
      name: A name for the operation (optional).

    Returns:
      A named tuple (audio, sample_rate): a float32 tensor of shape [samples, channels] with values
      between -1 and 1, and the rate in Hz.

    Raises:
      InvalidArgumentError: If the bytes are not a 16-bit WAV file.
    """

    def read(data):
        try:
            with wave.open(io.BytesIO(numpy.asarray(data, object).item())) as file:
                if file.getsampwidth() != 2:
                    raise _invalid_argument(
                        f"Can only read 16-bit WAV files, but received {8 * file.getsampwidth()}"
                    )
                channels, rate = file.getnchannels(), file.getframerate()
                sound = numpy.frombuffer(file.readframes(file.getnframes()), "<i2")
        except (wave.Error, EOFError, RuntimeError) as error:  # of a chunk that ends too early
            raise _invalid_argument(f"Header mismatch: {error}") from None
        if rate >= 1 << 31:
            raise _invalid_argument(f"Header mismatch: a sample rate of {rate} Hz")
        if len(sound) % channels:
            raise _invalid_argument("Header mismatch: the last sample is not complete")
        sound = sound.reshape(-1, channels).astype("float32") / 32768.0
        if desired_channels > 0 and desired_channels != channels:
            sound = (
                sound[:, :desired_channels]
                if channels > desired_channels
                else numpy.repeat(sound[:, :1], desired_channels, 1)
            )
        if desired_samples > 0:
            sound = numpy.pad(
                sound[:desired_samples], ((0, max(0, desired_samples - len(sound))), (0, 0))
            )
        return [sound, numpy.int32(rate)]

    audio, rate = py_func(
        read, [convert_to_tensor(contents, "string")], ["float32", "int32"], name=name
    )
    if hasattr(audio, "set_shape"):
        audio.set_shape(
            [
                desired_samples if desired_samples > 0 else None,
                desired_channels if desired_channels > 0 else None,
            ]
        )
        rate.set_shape([])
    return DecodeWav(audio, rate)


def wav_bytes(sound: numpy.ndarray, rate: int) -> bytes:
    """Returns a WAV file of 16-bit samples.

    Args:
      sound: Values between -1 and 1, of shape [samples, channels].
      rate: Samples per second.

    Returns:
      The contents of the file.
    """
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(sound.shape[1])
        out.setsampwidth(2)
        out.setframerate(rate)
        whole = numpy.clip(numpy.rint(sound * 32767.0), -32768, 32767).astype("<i2")
        out.writeframes(whole.tobytes())
    return file.getvalue()


@export("audio.encode_wav")
def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Encodes a float32 tensor [samples, channels], with values between -1 and 1, as a WAV file.

    Args:
      audio: The samples.
      sample_rate: Samples per second, a scalar.
      name: A name for the operation (optional).
    """

    result = py_func(
        lambda sound, rate: numpy.array(wav_bytes(sound, int(rate)), object),
        [convert_to_tensor(audio, "float32"), convert_to_tensor(sample_rate)],
        "string",
        name=name,
    )
    if hasattr(result, "set_shape"):
        result.set_shape([])
    return result
