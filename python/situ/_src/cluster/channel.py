# SPDX-License-Identifier: Apache-2.0
"""channel.py: messages between processes of one user: over Unix sockets or TCP, and of all ranks.

On one machine the address of a server ("localhost:2222") names a socket of the abstract namespace.
Both ends check that the other process belongs to the same user. Over TCP both ends prove that they
know a secret, SITU_CLUSTER_KEY or the key that mpirun gives its processes, and each message carries
a code (HMAC) that nobody without the secret can compute. wire_format.py describes the messages."""

import errno
import hashlib
import hmac
import itertools
import os
import socket
import struct
import threading
import time

import _situ
from situ._src.cluster import processes, wire_format
from situ._src.framework import errors

_LENGTH = struct.Struct("<Q")
_LONGEST = 1 << 40  # bytes of a message
_SMALL = 64 << 10  # bytes of buffers that are joined before they are sent
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
            "Processes on several machines need a secret: set SITU_CLUSTER_KEY to the same value "
            "for all processes of the cluster.",
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


class _Codes:
    """Computes the codes of the messages of one direction of a connection. A message that is
    changed, repeated, left out or returned to its sender has another code."""

    SIZE = 32

    def __init__(self, key):
        self._key, self._count = key, 0

    def next(self, parts):
        """Returns the code of the next message, a list of buffers."""
        code = hmac.new(self._key, _LENGTH.pack(self._count), hashlib.sha256)
        self._count += 1
        for part in parts:
            code.update(part)
        return code.digest()


def _authenticate(connected, me, other):
    """Proves knowledge of the key and checks the proof of the other end. `me` and `other` differ,
    so that a proof cannot be returned to its sender. Returns the codes of messages that are sent,
    and of those that are received."""
    key, nonce = _required_key(), os.urandom(_NONCE)
    until = time.monotonic() + _HANDSHAKE
    proof = lambda who, text: hmac.new(key, who + text, hashlib.sha256).digest()
    connected.settimeout(_HANDSHAKE)
    connected.sendall(nonce)
    theirs = _receive_bytes(connected, _NONCE, until)
    connected.sendall(proof(me, theirs))
    if not hmac.compare_digest(_receive_bytes(connected, 32, until), proof(other, nonce)):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "it has another SITU_CLUSTER_KEY")
    connected.settimeout(None)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _detect_dead_peers(connected)
    return _Codes(proof(me, b"messages" + nonce + theirs)), _Codes(
        proof(other, b"messages" + theirs + nonce)
    )


_gathered = itertools.count()  # every rank gathers the same number of times


def gather_trusted(data):
    """Gathers bytes of processes that are proven to belong to the same user: on one machine the
    owner of the memory that they share, between machines codes that nobody without the secret can
    compute, and that no other message has.

    Args:
      data: the bytes of this rank.

    Returns:
      A list of the bytes of all ranks.

    Raises:
      FailedPreconditionError: there are several machines, but no secret.
      PermissionDeniedError: a rank does not know the secret, or its bytes were changed.
    """
    if not processes.spans_machines():
        return _situ.cluster_gather(data)
    key, number = _required_key(), next(_gathered)

    def code(rank, text):
        about = b"gathered" + _LENGTH.pack(number) + _LENGTH.pack(rank)
        return hmac.new(key, about + text, hashlib.sha256).digest()

    parts = _situ.cluster_gather(code(processes.rank(), data) + data)
    split = [(part[: _Codes.SIZE], part[_Codes.SIZE :]) for part in parts]
    for rank, (given, text) in enumerate(split):
        if not hmac.compare_digest(given, code(rank, text)):
            raise errors.PermissionDeniedError(
                None,
                None,
                f"Rank {rank} has another SITU_CLUSTER_KEY, or its data were changed on the way.",
            )
    return [text for _, text in split]


class Channel:
    """A connection; any thread may send, one receives. `accepted`: this end is the server.

    Raises:
      OSError: the other end is not trusted.
    """

    def __init__(self, connected, accepted=False):
        self._socket, self._lock = connected, threading.Lock()
        self._sent = self._received = None  # their codes; the kernel protects Unix sockets
        try:
            if connected.family == socket.AF_UNIX:
                _check_user(connected)
            else:
                names = [b"client", b"server"][:: -1 if accepted else 1]
                self._sent, self._received = _authenticate(connected, *names)
        except BaseException:
            connected.close()
            raise

    def send(self, *message):
        """Sends a message of wire_format.py, its kind and its fields.

        Raises:
          OSError: the other end is gone.
          TypeError: a field cannot be sent.
        """
        parts = wire_format.encode(message)
        small = [_LENGTH.pack(sum(map(len, parts)))]
        with self._lock:
            if self._sent is not None:
                parts.append(self._sent.next(small + parts))
            for part in parts:
                if len(part) < _SMALL:
                    small.append(part)
                    continue
                self._socket.sendall(b"".join(small))
                self._socket.sendall(part)
                small = []
            self._socket.sendall(b"".join(small))

    def receive(self):
        """Returns the next message; wire_format.check checks its fields.

        Raises:
          EOFError: the other end is gone (without a text), or sends something else.
        """
        size = self._exactly(_LENGTH.size)
        (length,) = _LENGTH.unpack(size)
        if length > _LONGEST:
            raise EOFError(f"a message of {length} bytes")
        data = self._exactly(length)
        if self._received is not None:
            code = self._exactly(_Codes.SIZE)
            if not hmac.compare_digest(self._received.next([size, data]), code):
                raise EOFError("a message was changed on its way")
        try:
            return wire_format.decode(data)
        except ValueError as error:
            raise EOFError(str(error)) from None

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
