# SPDX-License-Identifier: Apache-2.0
# _situ.pyi: the C extension, as mypy sees it: its objects are not typed.
from typing import Any

def __getattr__(name: str) -> Any: ...
