# SPDX-License-Identifier: Apache-2.0
"""logs.py: tf.logging: lines such as `INFO:tensorflow:text` on standard error."""

from __future__ import annotations

import logging
import sys

from situ._src.framework.api import BOTH, V1

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50


class _Stderr(logging.StreamHandler):
    """Writes to what standard error is now, not to what it was once."""

    def __init__(self):
        logging.Handler.__init__(self)

    stream = property(lambda s: sys.stderr)


def _logger():
    logger = logging.getLogger("tensorflow")
    if not logger.handlers:
        handler = _Stderr()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT, None))
        logger.addHandler(handler)
        logger.propagate = False
        if logger.level == logging.NOTSET:
            logger.setLevel(WARN)
    return logger


def _log(level):
    def log(msg, *args, **kwargs):
        _logger().log(level, msg, *args, **kwargs)

    return log


debug, info, warn, error, fatal = (_log(n) for n in (DEBUG, INFO, WARN, ERROR, FATAL))
_counts: dict = {}


def log_every_n(level, msg, n, *args):
    """Logs the first of every n calls with the same text."""
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count % n == 0:
        _log(level)(msg, *args)


def log_first_n(level, msg, n, *args):
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count < n:
        _log(level)(msg, *args)


def log_if(level, msg, condition, *args):
    if condition:
        _log(level)(msg, *args)


def get_verbosity():
    return _logger().getEffectiveLevel()


def set_verbosity(level):
    _logger().setLevel(level)


def vlog(level, msg, *args, **kwargs):
    _logger().log(level, msg, *args, **kwargs)


def flush():
    for handler in _logger().handlers:
        handler.flush()


_NAMES = {
    "DEBUG": DEBUG,
    "INFO": INFO,
    "WARN": WARN,
    "ERROR": ERROR,
    "FATAL": FATAL,
    "debug": debug,
    "info": info,
    "warn": warn,
    "warning": warn,
    "error": error,
    "fatal": fatal,
    "log": lambda level, msg, *args, **kwargs: _logger().log(level, msg, *args, **kwargs),
    "log_every_n": log_every_n,
    "log_first_n": log_first_n,
    "log_if": log_if,
    "get_verbosity": get_verbosity,
    "set_verbosity": set_verbosity,
    "vlog": vlog,
    "flush": flush,
    "TaskLevelStatusMessage": info,
}
V1.update({"logging." + k: v for k, v in _NAMES.items()})
V1.update({"python.platform.tf_logging." + k: v for k, v in _NAMES.items()})
BOTH["get_logger"] = _logger
