"""One object for each type: types that are equal are the same object, as Numba's are."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

#: One that a thread may take again: the garbage collector may run code that makes types.
_lock = threading.RLock()
#: (class, compiler's name, key) → type, which lives as long as somebody uses it.
_interned: Any = weakref.WeakValueDictionary()


def interned(made: Any) -> Any:
    """The type that is equal to this one and was made first, perhaps this one itself."""
    identity = (type(made), made.compiler_name, made.key)
    with _lock:
        return _interned.setdefault(identity, made)


def restored(kind: type, state: dict[str, Any]) -> Any:
    """The type that pickle.loads() gives.

    :param kind: its class
    :param state: its attributes
    """
    made: Any = object.__new__(kind)
    made.__dict__.update(state)
    return interned(made)


def _new_lock():
    global _lock
    _lock = threading.RLock()  # a thread of the parent process may have held the other


os.register_at_fork(after_in_child=_new_lock)


class InterningMeta(type):
    """The class of types' classes: calling one gives an interned object."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        return interned(super().__call__(*args, **keywords))
