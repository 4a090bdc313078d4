# SPDX-License-Identifier: Apache-2.0
"""test_server_channel.py: connections to servers over TCP from peers that are slow, hang, send
damaged or changed messages, or do not know the secret."""

import os
import pickle
import socket
import struct
import threading
import time

import numpy as np
import pytest
from conftest import addresses

import situ.compat.v1 as tf
from situ._src.cluster import channel, service, wire_format


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setenv("SITU_CLUSTER_KEY", "secret")
    return addresses(1)[0]


def tcp(address):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 10)


@pytest.fixture
def pair(address):
    """Two ends of an authenticated connection over TCP: the client's socket, the server's end."""
    unix, listening = channel.listen(address)
    unix.close()
    found = []
    accept = lambda: found.append(channel.Channel(listening.accept()[0], accepted=True))
    thread = threading.Thread(target=accept)
    thread.start()
    client = channel.connect(address)
    thread.join()
    yield client, found[0]
    client.close(), found[0].close(), listening.close()


def test_large_messages(pair):
    client, server = pair
    sent = np.frombuffer(os.urandom(1 << 20) * 200, "i4").reshape(2, -1)
    thread = threading.Thread(target=client.send, args=("tensor", "p", "k", sent))
    thread.start()
    kind, _, _, received = server.receive()
    thread.join()
    assert kind == "tensor" and np.array_equal(received, sent)


TENSORS = [
    np.float32(2.5),
    np.zeros([0, 3], "int8"),
    np.arange(6, dtype="complex128").reshape(2, 3).T,
    np.arange(6, dtype=">i4"),
    np.array([True, False]),
    np.array([[b"ab", ""], ["\u00e4", b"\0c\0"]], object),
    np.array(["x", "yz"]),
    np.array(b"scalar", object),
    np.array([1.5, -2.0], tf.bfloat16.as_numpy_dtype),
]


@pytest.mark.parametrize("tensor", TENSORS, ids=lambda t: f"{t.dtype}-{t.shape}")
def test_tensors_travel_as_bytes(pair, tensor):
    for sender, receiver in (pair, pair[::-1]):
        sender.send("tensor", "p", "k", tensor)
        received = receiver.receive()[3]
        assert received.shape == tensor.shape
        if tensor.dtype.kind in "OU":
            bytes_of = lambda s: s.encode() if isinstance(s, str) else s
            assert received.ravel().tolist() == [bytes_of(s) for s in tensor.ravel().tolist()]
        else:
            assert received.dtype == tensor.dtype.newbyteorder("=")
            assert np.array_equal(received, tensor)


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([object()]), np.zeros(1, "M8[s]")])
def test_what_is_no_tensor_is_not_sent(pair, value):
    with pytest.raises(TypeError):
        pair[0].send("tensor", "p", "k", value)
    pair[0].send("done")
    assert pair[1].receive() == ("done",)


class Attack:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return os.abort, ()


def framed(*parts):
    data = b"".join(parts)
    return struct.pack("<Q", len(data)) + data


def headed(header, rest=b""):
    start = struct.pack("<I", len(header)) + header
    return framed(start, bytes(-len(start) % 16), rest)


@pytest.mark.parametrize(
    "data",
    [
        framed(pickle.dumps(("done", Attack()))),
        framed(b""),
        headed(b"{}"),
        headed(b"[" * 100000),
        headed(b'{"fields":["done"]}'),
        headed(b'{"fields":["done",1],"parts":[]}'),
        headed(b'{"fields":["unknown"],"parts":[]}'),
        headed(b'{"fields":["done"],"parts":[]}', bytes(16)),
        headed(b'{"fields":["state",{"$part":0}],"parts":[]}'),
        headed(b'{"fields":["state",{"$part":-1}],"parts":[]}'),
        headed(b'{"fields":["done"],"parts":[{"dtype":null,"size":1000000000000}]}'),
        *[
            headed(
                b'{"fields":["tensor","p","k",{"$part":0}],"parts":[{"dtype":%s,"shape":%s,'
                b'"size":16}]}' % described,
                bytes(16),
            )
            for described in [
                (b'"float32"', b"[5]"),
                (b'"float32"', b"[-4]"),
                (b'"float32"', b"[4.0]"),
                (b'"float32"', b"4"),
                (b'"float32"', str([1] * 1000).encode()),
                (b'"float32"', b"[4611686018427387905,4]"),
                (b'"object"', b"[2]"),
                (b'"resource"', b"[2]"),
                (b"[]", b"[2]"),
                (b'"string"', b"[1]"),
                (b'"string"', b"[3]"),
                (b'"string"', b"[1000000000000]"),
            ]
        ],
    ],
)
def test_messages_that_are_no_messages_end_the_connection(data):
    """Of a peer that is the same user."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        receiver = channel.Channel(ours)
        theirs.sendall(data)
        with pytest.raises(EOFError, match="."):
            wire_format.check(receiver.receive())


class Recorder:
    """A socket that keeps what is sent instead of sending it."""

    def __init__(self):
        self.sent = b""

    def sendall(self, data):
        self.sent += bytes(data)


def recorded(client, *message):
    """Returns the bytes of a message that is not sent."""
    real, client._socket = client._socket, Recorder()
    client.send(*message)
    sent, client._socket = client._socket.sent, real
    return sent


@pytest.mark.parametrize("how", ["changed", "repeated", "left out", "returned"])
def test_messages_are_authenticated(pair, how):
    client, server = pair
    message = ("tensor", "p", "k", np.arange(4.0))
    sent = recorded(client, *message)
    if how == "changed":
        at = sent.index(np.arange(4.0).tobytes())
        client._socket.sendall(sent[:at] + b"\1" + sent[at + 1 :])
    elif how == "left out":
        client.send(*message)
    elif how == "repeated":
        client._socket.sendall(sent * 2)
        assert server.receive()[0] == "tensor"
    else:
        server, receiver = client, server
        receiver._socket.sendall(sent)
    with pytest.raises(EOFError, match="changed"):
        server.receive()


def test_a_server_survives_messages_in_another_order(address):
    server = tf.train.Server({"worker": [address]}, "worker", 0)
    cut = {"nodes": b"[[", "functions": b""}
    for message in [
        ("tensor", "p", "k", np.ones(1)),
        ("cancel", "x"),
        ("done",),
        ("ended", [[1]]),
        ("run", 1, cut, b"\xff", {}, 0),
        ("run", 1, {}, None, {}, 0),
        ("hello", "s", [[]]),
    ]:
        connected = channel._connect_tcp(address)
        connected.send(*message)
        connected.close()
    connected = channel._connect_tcp(address)
    connected.send("hello", "scope", [])
    assert connected.receive()[0] == "hello"
    for fields in (cut, {"nodes": b"[]"}, {"nodes": b"[1]", "functions": b"x", "feeds": []}):
        connected.send("run", 1, fields, None, {}, 0)
        assert connected.receive()[0] == "failed"
    connected.close()
    with tf.Session(server.target) as session:
        assert session.run(tf.constant(3)) == 3


def test_a_message_is_encoded_without_copies_of_tensors():
    array = np.arange(1 << 16)
    parts = wire_format.encode(("tensor", "p", "k", array))
    assert any(np.shares_memory(np.frombuffer(p, "u1"), array) for p in parts if len(p) > 1 << 16)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<Q", (1 << 64) - 1) + b"x" * 100,
        struct.pack("<Q", 1 << 45) + b"x" * 100,
        struct.pack("<Q", 3) + b"abc",
        struct.pack("<Q", 0),
        struct.pack("<Q", 5) + b"hello" + bytes(32),
        b"\1\2",
    ],
)
def test_damaged_messages_end_the_connection(pair, data):
    client, server = pair
    client._socket.sendall(data)
    client.close()
    with pytest.raises(EOFError):
        server.receive()


def test_a_slow_handshake_is_limited(address, monkeypatch):
    """The limit holds for the whole handshake, not for each byte."""
    monkeypatch.setattr(channel, "_HANDSHAKE", 0.5)
    unix, listening = channel.listen(address)
    peer = tcp(address)
    stop = threading.Event()

    def trickle():
        while not stop.wait(0.1):
            try:
                peer.sendall(b"x")
            except OSError:
                return

    thread = threading.Thread(target=trickle)
    thread.start()
    begin = time.monotonic()
    with pytest.raises(OSError):
        channel.Channel(listening.accept()[0], accepted=True)
    took = time.monotonic() - begin
    stop.set(), thread.join()
    for one in (peer, unix, listening):
        one.close()
    assert took < 3


def test_untrusted_connections_are_limited(address):
    """Peers that connect and say nothing cost a bounded number of threads, and do not keep sessions
    away: they are on the Unix socket here, or try again."""
    server = tf.train.Server({"worker": [address]}, "worker", 0)
    before = threading.active_count()
    peers = [tcp(address) for _ in range(service._UNTRUSTED + 40)]
    until = time.monotonic() + 10
    while threading.active_count() < before + service._UNTRUSTED and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.2)
    assert threading.active_count() <= before + service._UNTRUSTED
    for peer in peers:
        peer.close()
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.02)
    connected = channel._connect_tcp(address)
    connected.send("hello", "scope", [])
    assert connected.receive()[0] == "hello"
    connected.send("no such message")
    with pytest.raises(EOFError):
        connected.receive()
    connected.close()
    with tf.Session(server.target) as session:
        assert session.run(tf.constant(3)) == 3
