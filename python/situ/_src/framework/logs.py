# SPDX-License-Identifier: Apache-2.0
"""logs.py: tf.compat.v1.logging: the logger `tensorflow`, which writes `INFO:tensorflow:message` to
standard error."""

from __future__ import annotations

import logging
import sys

from situ._src.framework.api import BOTH, V1

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50


class _Stderr(logging.StreamHandler):
    """Writes to the current sys.stderr, which tests may replace."""

    def __init__(self):
        logging.Handler.__init__(self)

    stream = property(lambda s: sys.stderr)


def _logger() -> logging.Logger:
    """Returns the logger of the package, which is called "tensorflow"."""
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
        """Logs a message at the level of the function.

        Args:
          msg: the message, with % placeholders.
          *args: values for the placeholders.
          **kwargs: passed to logging.Logger.log.
        """
        _logger().log(level, msg, *args, **kwargs)

    return log


debug, info, warn, error, fatal = (_log(n) for n in (DEBUG, INFO, WARN, ERROR, FATAL))
_counts: dict = {}


def log_every_n(level, msg, n, *args):
    """Logs the first of every n calls with the same message.

    Args:
      level: the level.
      msg: the message, with % placeholders.
      n: the period.
      *args: values for the placeholders.
    """
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count % n == 0:
        _log(level)(msg, *args)


def log_first_n(level, msg, n, *args):
    """Logs the first n calls with the same message.

    Args:
      level: the level.
      msg: the message, with % placeholders.
      n: the number of calls.
      *args: values for the placeholders.
    """
    count = _counts[msg] = _counts.get(msg, -1) + 1
    if count < n:
        _log(level)(msg, *args)


def log_if(level, msg, condition, *args):
    """Logs a message if a condition holds.

    Args:
      level: the level.
      msg: the message, with % placeholders.
      condition: whether to log.
      *args: values for the placeholders.
    """
    if condition:
        _log(level)(msg, *args)


def get_verbosity() -> int:
    """Returns the lowest level that is logged."""
    return _logger().getEffectiveLevel()


def set_verbosity(v) -> None:
    """Sets the lowest level that is logged.

    Args:
      v: such as tf.compat.v1.logging.INFO.
    """
    _logger().setLevel(v)


def vlog(level, msg, *args, **kwargs):
    """Logs a message at a level.

    Args:
      level: the level.
      msg: the message, with % placeholders.
      *args: values for the placeholders.
      **kwargs: passed to logging.Logger.log.
    """
    _logger().log(level, msg, *args, **kwargs)


def flush():
    """Flushes the handlers."""
    for handler in _logger().handlers:
        handler.flush()


NO_MIXED_PRECISION = (
    "auto_mixed_precision is not supported: operations keep their types. Use "
    "tf.keras.mixed_precision."
)
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
    "log": vlog,
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
