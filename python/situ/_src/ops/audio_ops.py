# SPDX-License-Identifier: Apache-2.0
"""audio_ops.py: tf.audio: sounds in WAV files of 16 bits, read and written."""

import collections
import io
import wave

import numpy

from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.script_ops import py_func

_Wav = collections.namedtuple("DecodeWav", "audio sample_rate")


def _bad(text):
    return errors.InvalidArgumentError(None, None, text)


@export("audio.decode_wav")
def decode_wav(contents, desired_channels=-1, desired_samples=-1, name=None):
    """Numbers from -1 to 1 [samples, channels], and how many there are in a second."""

    def read(data):
        try:
            with wave.open(io.BytesIO(numpy.asarray(data, object).item())) as file:
                if file.getsampwidth() != 2:
                    raise _bad(
                        f"Can only read 16-bit WAV files, but received {8 * file.getsampwidth()}"
                    )
                channels, rate = file.getnchannels(), file.getframerate()
                sound = numpy.frombuffer(file.readframes(file.getnframes()), "<i2")
        except (wave.Error, EOFError) as error:
            raise _bad(f"Header mismatch: {error}") from None
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

    audio, rate = py_func(read, [convert_to_tensor(contents, "string")], ["float32", "int32"])
    if hasattr(audio, "set_shape"):
        audio.set_shape(
            [
                desired_samples if desired_samples > 0 else None,
                desired_channels if desired_channels > 0 else None,
            ]
        )
        rate.set_shape([])
    return _Wav(audio, rate)


@export("audio.encode_wav")
def encode_wav(audio, sample_rate, name=None):
    """The text of a WAV file of numbers from -1 to 1 [samples, channels]."""

    def write(sound, rate):
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setnchannels(sound.shape[1])
            out.setsampwidth(2)
            out.setframerate(int(rate))
            whole = numpy.clip(numpy.rint(sound * 32767.0), -32768, 32767).astype("<i2")
            out.writeframes(whole.tobytes())
        return numpy.array(file.getvalue(), object)

    made = py_func(
        write, [convert_to_tensor(audio, "float32"), convert_to_tensor(sample_rate)], "string"
    )
    if hasattr(made, "set_shape"):
        made.set_shape([])
    return made
