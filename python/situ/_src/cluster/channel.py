# SPDX-License-Identifier: Apache-2.0
"""channel.py: messages between processes of one user, over Unix sockets or TCP.

On one machine the address of a server ("localhost:2222") names a socket of the abstract namespace.
Messages are pickles: both ends check that the other process belongs to the same user. Over TCP
both ends prove that they know a secret: SITU_CLUSTER_KEY, or the key that mpirun gives its
processes."""

import errno
import hashlib
import hmac
import os
import pickle
import socket
import struct
import threading
import time

from situ._src.cluster import processes
from situ._src.framework import errors

_LENGTH = struct.Struct("<Q")
_PIECE = 64 << 20  # bytes of a message for which memory is allocated before they arrive


def _socket_name(address):
    return f"\0situ-{os.getuid()}-{address}"


def _check_user(connected):
    """Raises ConnectionRefusedError if the other process belongs to another user."""
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    if struct.unpack("3i", credentials)[1] != os.getuid():
        raise ConnectionRefusedError(errno.ECONNREFUSED, "it belongs to another user")


# ---- TCP ----

_NONCE, _HANDSHAKE = 32, 30.0  # bytes; seconds


def _key():
    """Returns the secret of the cluster, or b""."""
    text = os.environ.get("SITU_CLUSTER_KEY") or os.environ.get(
        "OMPI_MCA_orte_precondition_transports",  # noqa: SIM112
        "",
    )
    return text.encode()


def _uses_tcp():
    return processes.spans_machines() or bool(os.environ.get("SITU_CLUSTER_KEY"))


def _required_key():
    key = _key()
    if not key:
        raise errors.FailedPreconditionError(
            None,
            None,
            "Servers on several machines need a secret: set SITU_CLUSTER_KEY to the same value for "
            "all processes of the cluster.",
        )
    return key


def _receive_bytes(connected, count, until):
    """Returns `count` bytes; TimeoutError if they have not arrived at a point in time."""
    data = b""
    while len(data) < count:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(errno.ETIMEDOUT, "the other end does not answer")
        connected.settimeout(left)
        part = connected.recv(count - len(data))
        if not part:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "the other end closed the connection")
        data += part
    return data


def _detect_dead_peers(connected):
    """Has the kernel end a connection whose peer has not answered for two minutes: its machine, or
    the network, may have failed."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6)):
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _authenticate(connected, me, other):
    """Proves knowledge of the key and checks the proof of the other end. `me` and `other` differ,
    so that a proof cannot be returned to its sender."""
    key, nonce = _required_key(), os.urandom(_NONCE)
    until = time.monotonic() + _HANDSHAKE
    proof = lambda who, text: hmac.new(key, who + text, hashlib.sha256).digest()
    connected.settimeout(_HANDSHAKE)
    connected.sendall(nonce)
    connected.sendall(proof(me, _receive_bytes(connected, _NONCE, until)))
    if not hmac.compare_digest(_receive_bytes(connected, 32, until), proof(other, nonce)):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "it has another SITU_CLUSTER_KEY")
    connected.settimeout(None)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _detect_dead_peers(connected)


class Channel:
    """A connection; any thread may send, one receives. `accepted`: this end is the server.

    Raises:
      OSError: the other end is not trusted.
    """

    def __init__(self, connected, accepted=False):
        self._socket, self._lock = connected, threading.Lock()
        try:
            if connected.family == socket.AF_UNIX:
                _check_user(connected)
            else:
                _authenticate(connected, *[b"client", b"server"][:: -1 if accepted else 1])
        except BaseException:
            connected.close()
            raise

    def send(self, *message):
        """Sends a tuple; OSError where the other end is gone."""
        data = pickle.dumps(message, 5)
        with self._lock:
            self._socket.sendall(_LENGTH.pack(len(data)))
            self._socket.sendall(data)

    def receive(self):
        """The next tuple; EOFError where the other end is gone, or sends something else."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        data = self._exactly(length)
        try:
            message = pickle.loads(data)
        except Exception as error:  # pickle raises many types of errors
            raise EOFError(f"A message cannot be decoded: {error}") from error
        if not isinstance(message, tuple) or not message:
            raise EOFError("A message is not a tuple.")
        return message

    def _exactly(self, count):
        """Receives `count` bytes. Memory grows with what arrives: a length may be wrong."""
        data, at = bytearray(min(count, _PIECE)), 0
        while at < count:
            if at == len(data):
                data.extend(bytes(min(count - at, max(at, _PIECE))))
            try:
                with memoryview(data) as view, view[at:] as rest:
                    got = self._socket.recv_into(rest)
            except OSError:
                got = 0
            if not got:
                raise EOFError
            at += got
        return data

    def close(self):
        """Ends the connection; a thread that waits in receive gets EOFError."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was faster
        self._socket.close()


def connect(address):
    """A channel to the server of an address; OSError where there is none (yet)."""
    if processes.spans_machines():
        return _connect_tcp(address)
    result = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        result.connect(_socket_name(address))
    except OSError:
        result.close()
        if _uses_tcp():
            return _connect_tcp(address)
        raise
    return Channel(result)


def _connect_tcp(address):
    _required_key()
    host, _, port = address.rpartition(":")
    return Channel(socket.create_connection((host, int(port)), _HANDSHAKE))


def listen(address):
    """Sockets that accept connections to an address; OSError where another server has it."""
    result = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)]
    try:
        result[0].bind(_socket_name(address))
        if _uses_tcp():
            _required_key()
            result.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            result[1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            result[1].bind(("", int(address.rpartition(":")[2])))
        for one in result:
            one.listen(128)
        return result
    except BaseException:
        for one in result:
            one.close()
        raise
