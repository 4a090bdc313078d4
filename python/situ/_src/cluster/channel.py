# SPDX-License-Identifier: Apache-2.0
"""channel.py: messages between processes of one user on one machine, over Unix sockets.

The address of a server ("localhost:2222") names a socket of the abstract namespace. Messages are
pickles: both ends check that the other process belongs to the same user."""

import errno
import os
import pickle
import socket
import struct
import threading

_LENGTH = struct.Struct("<Q")


def _socket_name(address):
    return f"\0situ-{os.getuid()}-{address}"


class Channel:
    """A connection; any thread may send, one receives."""

    def __init__(self, connected):
        self._socket, self._lock = connected, threading.Lock()
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("3i", credentials)[1] != os.getuid():
            connected.close()
            raise ConnectionRefusedError(errno.ECONNREFUSED, "it belongs to another user")

    def send(self, *message):
        """Sends a tuple; OSError where the other end is gone."""
        data = pickle.dumps(message, 5)
        with self._lock:
            self._socket.sendall(_LENGTH.pack(len(data)))
            self._socket.sendall(data)

    def receive(self):
        """The next tuple; EOFError where the other end is gone."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return pickle.loads(self._exactly(length))

    def _exactly(self, count):
        data = bytearray(count)
        view, at = memoryview(data), 0
        while at < count:
            try:
                got = self._socket.recv_into(view[at:])
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
    result = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        result.connect(_socket_name(address))
        return Channel(result)
    except OSError:
        result.close()
        raise


def listen(address):
    """A socket that accepts connections to an address; OSError where another server has it."""
    result = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        result.bind(_socket_name(address))
        result.listen(128)
        return result
    except OSError:
        result.close()
        raise
