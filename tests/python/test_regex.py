# SPDX-License-Identifier: Apache-2.0
"""test_regex.py: regular expressions in the syntax of RE2; expected values are TensorFlow's."""

import pytest

import situ as tf

REPLACEMENTS = [
    ("aba\naba", "a.*a", "(\\0)", "(aba)\n(aba)"),
    ("abc", "", "x", "xaxbxcx"),
    ("aéb", "", "-", "-a-é-b-"),
    ("AbCdE", "\\p{Ll}", ".", "A.C.E"),
    ("aabbcc", "(a|b)+?", "<\\1>", "<a><a><b><b>cc"),
    ("abcabc", "(ab|a)(bc)?", "[\\1,\\2]", "[ab,]c[ab,]c"),
    ("abcbc", "^(?:ab|a)(c|bcd)*", "-", "-bc"),
    ("a.b", "\\Qa.\\E", "-", "-b"),
    ("aaa", "a{2}", "-", "-a"),
    ("aaaa", "a{1,3}?", "-", "----"),
    ("a{,2}", "a{,2}", "-", "-"),
    ("a\nb", "(?m)^", ">", ">a\n>b"),
    ("a\nb", "$", "-", "a\nb-"),
    ("Aa", "(?i)[^a]", "-", "Aa"),
    ("Éé", "(?i)é", "-", "--"),
    ("x1 y22", "[[:alpha:]](\\d+)", "\\1", "1 22"),
    ("foo bar", "\\bbar\\b", "\\\\", "foo \\"),
    ("a]b", "[]a]", "-", "--b"),
    ("xax", "a", "\\1", "xax"),  # no such group: nothing is replaced
    ("AB", "\\x41|\\102", "-", "--"),
    ("a[:b", "[[:]", "-", "a--b"),
    ("a{01}", "a{01}", "-", "-"),
    ("aa", "a{1234567890}", "-", "aa"),
    ("aa", "(?P<é_1>a)", "-", "--"),
]


@pytest.mark.parametrize(("text", "pattern", "rewrite", "expected"), REPLACEMENTS)
def test_replace(text, pattern, rewrite, expected):
    static = tf.strings.regex_replace([text], pattern, rewrite)
    dynamic = tf.strings.regex_replace([text], tf.constant(pattern), rewrite)
    assert static.numpy()[0].decode() == dynamic.numpy()[0].decode() == expected


ERRORS = {
    "A[": "missing ]: [",
    "(abc": "missing ): (abc",
    "abc)": "unexpected ): abc)",
    "*a": "no argument for repetition operator: *",
    "a**": "bad repetition operator: **",
    "a{1001}": "invalid repetition size: {1001}",
    "[b-a]": "invalid character class range: b-a",
    "\\8": "invalid escape sequence: \\8",
    "\\": "trailing \\",
    "(?=a)": "invalid perl operator: (?=",
    "(?z)": "invalid perl operator: (?z",
    "{2}a": "no argument for repetition operator: {2}",
    "(?i)*?": "no argument for repetition operator: *?",
    "b|+": "no argument for repetition operator: +",
    "a{3,2}?": "invalid repetition size: {3,2}?",
    "a{123456789}": "invalid repetition size: {123456789}",
    "[[:]:]]": "invalid character class range: [:]:]",
    "\\p^": "invalid character class range: \\p^",
    "\\pé": "invalid character class range: \\pé",
    "(?é)": "invalid perl operator: (?é",
    "(?P<a-b>a)": "invalid named capture group: (?P<a-b>",
    "(?P<a": "invalid named capture group: (?P<a",
    "(?P<": "invalid perl operator: (?P",
    "\\p{Foo}": "invalid character class range: \\p{Foo}",
}


@pytest.mark.parametrize("pattern", ERRORS)
def test_errors(pattern):
    for call in (
        lambda: tf.strings.regex_replace(["a"], pattern, "x"),
        lambda: tf.strings.regex_full_match(["a"], tf.constant(pattern)),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError) as info:
            call()
        assert f"Invalid pattern: {pattern}, error: {ERRORS[pattern]}" in str(info.value)


def test_bytes_that_are_not_utf8_match_nothing():
    result = tf.strings.regex_replace([b"a\xffb"], "[^a]", "<\\0>")
    assert result.numpy().tolist() == [b"a\xff<b>"]


def test_first_match_only():
    result = tf.strings.regex_replace(["a:b:c"], ":", "-", replace_global=False)
    assert result.numpy().tolist() == [b"a-b:c"]


def test_full_match_and_ragged_strings():
    assert tf.strings.regex_full_match(["ab", "abc"], "a|ab").numpy().tolist() == [True, False]
    ragged = tf.ragged.constant([["ab"], ["b", "aa"]])
    assert tf.strings.regex_full_match(ragged, "a+b?").to_list() == [[True], [False, True]]


def test_nodes_of_constant_and_of_computed_patterns():
    with tf.Graph().as_default():
        text = tf.constant("foo")
        assert tf.strings.regex_replace(text, "o", "").op.type == "StaticRegexReplace"
        assert tf.strings.regex_replace(text, tf.constant("o"), "").op.type == "RegexReplace"
        assert tf.strings.regex_full_match(text, "o").op.type == "StaticRegexFullMatch"


def test_patterns_must_be_scalars():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Pattern must be scalar"):
        tf.raw_ops.RegexReplace(input=["a"], pattern=["a"], rewrite="b")


def test_nested_repetitions_take_linear_time():
    text = "a" * 5000
    assert not tf.strings.regex_full_match(text, "(a*)*(a|aa)*b").numpy()
    assert tf.strings.regex_full_match(text, "(" * 400 + "a" + ")+" * 400).numpy()


@pytest.mark.parametrize("depth", [20, 400])
def test_nested_empty_repetitions_are_compiled_in_linear_time(depth):
    for operator in ["+", "*", "?", "{1}", "{1,}"]:
        pattern = "(?:" * depth + (")" + operator) * depth
        assert tf.strings.regex_full_match(["", "a"], pattern).numpy().tolist() == [True, False]


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("((a{100}){100}){100}", "{100}"),
        ("(?:(?:(?:){1000}){1000}){1000}", "{1000}"),
        ("(a{1000}){2}", "{2}"),
        ("(b|(a{500,}|b)*?){3}?", "{3}?"),
    ],
)
def test_nested_repetitions_make_at_most_1000_copies(pattern, size):
    with pytest.raises(tf.errors.InvalidArgumentError) as info:
        tf.strings.regex_full_match("a", pattern)
    assert f"error: invalid repetition size: {size}" in str(info.value)
    assert tf.strings.regex_full_match("a" * 1000, "(a{500}|b){2}").numpy()


def test_flags_are_no_operand_of_a_repetition():
    assert tf.strings.regex_replace("ééx", "é(?i)*X", "-").numpy() == b"-"
    assert tf.strings.regex_replace("aa", "a(?U)*", "-", replace_global=False).numpy() == b"-aa"
    assert tf.strings.regex_full_match("", "a*(?i)*").numpy()


def test_a_wrong_rewrite_string_replaces_no_single_match():
    for rewrite in ["x\\", "x\\q"]:
        first = tf.strings.regex_replace("aba", "a", rewrite, replace_global=False)
        assert first.numpy() == b"aba"
        assert tf.strings.regex_replace("aba", "a", rewrite).numpy() == b"xbx"


def test_patterns_with_nul_characters():
    assert tf.strings.regex_replace(["a\0b"], "\0", "-").numpy().tolist() == [b"a-b"]
    assert tf.strings.regex_replace(["a\0b"], b"a\0b", "x\0y").numpy().tolist() == [b"x\0y"]
    assert tf.strings.regex_full_match(["ab\0c"], "ab\0.").numpy().tolist() == [True]
    with pytest.raises(ValueError, match="'pattern' must not contain NUL"):
        tf.raw_ops.StaticRegexReplace(input=["a"], pattern="a\0", rewrite="")
