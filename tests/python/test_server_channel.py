# SPDX-License-Identifier: Apache-2.0
"""test_server_channel.py: connections to servers over TCP from peers that are slow, hang, send
damaged messages, or do not know the secret."""

import os
import pickle
import socket
import struct
import threading
import time

import pytest
from conftest import addresses

import situ.compat.v1 as tf
from situ._src.cluster import channel, service


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
    sent = os.urandom(1 << 20) * 200
    thread = threading.Thread(target=client.send, args=("tensor", sent))
    thread.start()
    kind, received = server.receive()
    thread.join()
    assert kind == "tensor" and received == sent


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<Q", (1 << 64) - 1) + b"x" * 100,
        struct.pack("<Q", 1 << 45) + b"x" * 100,
        struct.pack("<Q", 3) + b"abc",
        struct.pack("<Q", 0),
        struct.pack("<Q", len(pickle.dumps(5))) + pickle.dumps(5),
        struct.pack("<Q", len(pickle.dumps(()))) + pickle.dumps(()),
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
