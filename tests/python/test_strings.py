# SPDX-License-Identifier: Apache-2.0
"""test_strings.py: tf.strings: numbers as strings, Unicode, substrings, splits."""

import pytest

import situ as tf


@pytest.mark.parametrize(
    "value, words, want",
    [
        ([1.0, 2.5], {}, [b"1.000000", b"2.500000"]),
        ([True, False], {}, [b"true", b"false"]),
        ([3, -4], {"width": 5, "fill": "0"}, [b"00003", b"-0004"]),
        ([1.5], {"precision": 2}, [b"1.50"]),
        ([1e10], {"scientific": True}, [b"1.000000e+10"]),
        ([0.5], {"shortest": True}, [b"0.5"]),
        ([], {}, []),
    ],
)
def test_as_string(value, words, want):
    result = tf.strings.as_string(value, **words)
    assert result.dtype == tf.string and result.numpy().tolist() == want


def test_wrong_formats():
    for words in ({"scientific": True, "shortest": True}, {"fill": "ab"}, {"width": 1000}):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.strings.as_string([1.0], **words)


def test_in_a_graph_on_a_gpu(situ):
    result = situ(
        "run",
        "--gpus",
        "2",
        "a.py",
        files={
            "a.py": """\
        import tensorflow as tf
        x = tf.constant([1.0], name='x')
        with tf.device('/gpu:1'):
            y = x * 2
            s = tf.as_string(y, name='s')
        config = tf.ConfigProto(allow_soft_placement=True)
        print(tf.Session(config=config).run(s))
        try:
            tf.Session().run(s)
        except tf.errors.InvalidArgumentError as e:
            print('no supported kernel for GPU devices is available' in str(e))
        """
        },
    )
    assert result.out.splitlines() == ["[b'2.000000']", "True"]


@pytest.mark.parametrize(
    "encoding, strings, want",
    [
        ("UTF-8", [b"\xf0\x9f\x98a", b"\xe2\x82"], [[0xFFFD, 97], [0xFFFD]]),
        ("utf8", [b"\xc0\x80", b"\xed\xa0\x80"], [[0xFFFD] * 2, [0xFFFD] * 3]),
        ("UTF-8", [b"\xef\xbb\xbfa", b""], [[0xFEFF, 97], []]),
        ("UTF-16", [b"\xfe\xff\0a", b"\xff\xfea\0", b"\0a"], [[97]] * 3),
        ("UTF-16-BE", [b"\xd8\0\0a", b"\xd8\x3d\xde\x0a"], [[0xFFFD, 97], [0x1F60A]]),
        ("UTF-16-LE", [b"a\0b"], [[97, 0xFFFD]]),
        ("UTF-32", [b"\xff\xfe\0\0a\0\0\0", b"\0\0\0a"], [[97]] * 2),
        ("UTF-32-BE", [b"\0\x11\0\0\0\0\0a"], [[0xFFFD, 97]]),
        ("US-ASCII", [b"a\x80"], [[97, 0xFFFD]]),
        ("latin-1", [b"\xe9\x80"], [[0xE9, 0x80]]),
    ],
)
def test_characters_of_encodings(encoding, strings, want):
    assert tf.strings.unicode_decode(strings, encoding).to_list() == want


def test_malformed_sequences():
    strings = [[b"==\xff\x01="], [b"a"]]
    codes, starts = tf.strings.unicode_decode_with_offsets(strings, "UTF-8", errors="ignore")
    assert codes.to_list() == [[[61, 61, 1, 61]], [[97]]]
    assert starts.to_list() == [[[0, 1, 3, 4]], [[0]]]
    codes = tf.strings.unicode_decode(
        strings, "UTF-8", replacement_char=63, replace_control_characters=True
    )
    assert codes.to_list() == [[[61, 61, 63, 63, 61]], [[97]]]
    for function in (tf.strings.unicode_decode, tf.strings.unicode_split):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid formatting"):
            function(strings, "UTF-8", errors="strict")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not create converter"):
        tf.strings.unicode_decode("a", "no such encoding")
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of unicode codepoint range"):
        tf.strings.unicode_decode("a", "UTF-8", replacement_char=0x110000)


def test_encoded_characters():
    encode = tf.strings.unicode_encode
    assert encode([0xFFFE, 0xD800, 65], "UTF-8", errors="ignore").numpy() == b"\xef\xbf\xbeA"
    assert encode([[0x1F60A, 65]], "UTF-16-BE").numpy().tolist() == [b"\xd8\x3d\xde\x0a\0A"]
    assert encode([-1], "UTF-32-BE", replacement_char=63).numpy() == b"\0\0\0?"
    rows = tf.ragged.constant([[[72, 105], []], [[246]]], dtype="int32")
    assert encode(rows, "UTF-8").to_list() == [[b"Hi", b""], [b"\xc3\xb6"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="is a surrogate"):
        encode([0x110000], "UTF-8", errors="strict")
    with pytest.raises(ValueError, match="must be at least 1"):
        encode(1, "UTF-8")
    parts = tf.strings.unicode_split([b"\0a\0b"], "UTF-16-BE")
    assert parts.to_list() == [[b"\0a", b"\0b"]]
    changed = tf.strings.unicode_transcode(["a\x01b"], "UTF-8", "UTF-16-BE", errors="ignore")
    assert changed.numpy().tolist() == [b"\0a\0\x01\0b"]


def test_substrings():
    substr = tf.strings.substr
    assert substr([["abc", "defg"]], [1, -2], [1, 5]).numpy().tolist() == [[b"b", b"fg"]]
    assert substr("abc", 1, -1).numpy() == b"bc"
    assert substr("a\u00f6b", -2, 1, unit="UTF8_CHAR").numpy() == "\u00f6".encode()
    for pos, length in ((-9, 1), (-2, -1), (4, 0), (-(2**62), -(2**62))):
        pos = tf.constant(pos, "int64")
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            substr("abc", pos, tf.constant(length, "int64"), unit="UTF8_CHAR")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"index \(0, 0\)"):
        substr([["abc", "d"]], [5, 0], [1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="should have the same shape"):
        substr(["abc"], [1, 2], [1])
    with pytest.raises(tf.errors.UnimplementedError, match="for 3 dimensions"):
        substr([[["abc"]]], [[1], [2]], [[1], [2]])


def test_splits_as_in_python():
    for text in (" a b  c ", "", "  ", "a,,b,", "x"):
        for separator in (None, ",", ",,"):
            for most in (-1, 0, 1, 5):
                found = tf.strings.split([[text]], separator, most).to_list()[0][0]
                want = text.split(separator, most)
                if most == 0:  # TensorFlow returns the string as it is
                    want = [text]
                elif separator is None and 0 < most == len(text.split()):
                    want = [*text.split(), b""]  # as TensorFlow: what is left is a part
                assert found == [w if isinstance(w, bytes) else w.encode() for w in want]
    assert tf.strings.bytes_split([["ab"], [""]]).to_list() == [[[b"a", b"b"]], [[]]]
