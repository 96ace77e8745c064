"""`@cuda.jit(cache=True)`: what a function was compiled to, kept in files for the next process, as Numba documents it.

The files lie in NUMBA_CACHE_DIR, else in `__pycache__` beside the source, else in the user's cache folder:

    module.function-12.py311.nbi        the index: of which state of the source, what is there for which types (Numba's too)
    module.function-12.py311.1.nbc      one compiled overload: its kernel image

As with Numba an entry counts as long as the source file has the same time and size and the function the same code and
closure: changes in other files and of global values from there are not seen. (Machine code of images is kept always and
elsewhere, simulator/jit/object_cache.h; that cache needs no file's time to be right.)
"""

from __future__ import annotations

import hashlib
import itertools
import linecache
import os
import pickle
import sys
import tempfile
from typing import TYPE_CHECKING

from cudasim import _native, _numba_config
from cudasim.compile.compiler import CompiledPythonKernel
from cudasim.types import is_added, name_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _build():
    """What an entry depends on besides the function: this build, of the extension and of the engine."""
    built = os.stat(_native.__file__)
    return "cudasim", _native.engine_build_id, built.st_mtime_ns, built.st_size


def _version():
    """The beginning of an index: Numba's version, as in Numba's own index of a function that is compiled for
    the CPU too."""
    return getattr(sys.modules.get("numba"), "__version__", "cudasim")


def _user_folder():
    base = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "numba")


def _usable(folder):
    """Whether files can be made in the folder, which is made if need be."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _place_of(file):
    """The folder for a source file, and what tells whether the source has changed; None when there is none."""
    parent = os.path.dirname(os.path.abspath(file))
    if os.path.isfile(file):
        state = os.stat(file)
        stamp: Any = (state.st_mtime, state.st_size)
        nested = "_".join((os.path.basename(parent), hashlib.sha1(os.fsencode(parent)).hexdigest()))
        chosen = _numba_config.setting("CACHE_DIR")
        folders = [
            *([os.path.join(chosen, nested)] if chosen else []),
            os.path.join(parent, "__pycache__"),
            os.path.join(_user_folder(), nested),
        ]
    elif "ipykernel_" in file or file.startswith("<ipython-input"):  # a cell of a notebook
        stamp = hashlib.sha256("".join(linecache.getlines(file)).encode(errors="surrogatepass")).hexdigest()
        folders = [os.path.join(_user_folder(), "ipython")]
    else:
        return None
    folder = next(filter(_usable, folders), None)
    return None if folder is None else (folder, stamp)


def _names_added_type(description):
    """Whether a constant (resolve.py) is a type that a program has added, or a tuple with one in it."""
    if isinstance(description, str):
        return "Added(" in description
    return isinstance(description, (tuple, list)) and any(map(_names_added_type, description))


def _has_device_array(description):
    """Whether a constant (resolve.py) is a device array, or a tuple with one in it."""
    if not isinstance(description, (tuple, list)):
        return False
    return description[:1] == ("device_array",) or any(map(_has_device_array, description))


class FunctionCache:
    """The files of one function.

    :ivar path: their folder
    :raises RuntimeError: when there is no place for them, as for functions without a source file
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        place = _place_of(code.co_filename)
        if place is None:
            raise RuntimeError(
                f"cannot cache function {function.__qualname__!r}: no locator available for file {code.co_filename!r}"
            )
        self.path, self._stamp = place
        module = os.path.splitext(os.path.basename(code.co_filename))[0]
        name = f"{module}.{function.__qualname__}".translate({ord("<"): None, ord(">"): None})
        tag = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
        self._name = f"{name}-{code.co_firstlineno}.{tag}"
        self._function = function

    def _file(self, name):
        return os.path.join(self.path, name)

    def _key(self, argument_types, options):
        """None when the function closes over what cannot be pickled, and for types that a program has added, which have numbers of this
        process."""
        if any(map(is_added, argument_types)):
            return None
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        try:
            closure = hashlib.sha256(pickle.dumps(cells)).hexdigest()
        except Exception:  # noqa: BLE001 - objects raise what they like
            return None
        return (
            _build(),
            tuple(map(name_of, argument_types)),
            options,
            hashlib.sha256(self._function.__code__.co_code).hexdigest(),
            closure,
        )

    def _index(self):
        """Key → file name, of what is valid."""
        try:
            with open(self._file(self._name + ".nbi"), "rb") as file:
                if pickle.load(file) != _version():
                    return {}
                stamp, entries = pickle.load(file)
        except Exception:  # noqa: BLE001 - whatever is in a file that is not there, or not ours
            return {}
        return entries if stamp == self._stamp else {}

    def _write_index(self, entries):
        self._write(self._name + ".nbi", pickle.dumps(_version()) + pickle.dumps((self._stamp, entries)))

    def _write(self, name, content):
        """Replaces a file atomically: other processes see the old file or the new one."""
        handle, path = tempfile.mkstemp(dir=self.path)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(path, self._file(name))
        except BaseException:
            os.unlink(path)
            raise

    def load(self, argument_types: Any, options: Any) -> Any:
        """The CompiledPythonKernel for these types and options; None when there is none."""
        key = self._key(argument_types, options)
        name = self._index().get(key)
        if key is None or name is None:
            return None
        try:
            with open(self._file(name), "rb") as file:
                return CompiledPythonKernel.from_state(pickle.load(file))
        except Exception:  # noqa: BLE001 - a file that another process is replacing, or that is spoiled
            return None

    def save(self, argument_types: Any, options: Any, compiled: Any) -> None:
        """Keeps a CompiledPythonKernel, unless compiling it gave warnings: they are to come again.

        :raises RuntimeError: for one that is linked with other code
        :raises pickle.PicklingError: for one that has addresses of this process's device memory in it
        """
        if compiled.links:
            raise RuntimeError(
                "Cannot pickle CUDACodeLibrary with linking files: a kernel with link= cannot be cached"
            )
        captured = [
            constant.name for constant in compiled.constants if _has_device_array(constant.description)
        ]
        if captured:
            raise pickle.PicklingError(
                "Cannot serialize kernels or device functions referencing global device arrays. Pass the array(s) as arguments "
                f"to the kernel instead: {', '.join(captured)}"
            )
        key = self._key(argument_types, options)
        if any(_names_added_type(constant.description) for constant in compiled.constants):
            return
        try:
            content = pickle.dumps(compiled.state())
        except Exception:  # noqa: BLE001 - exception classes of a function's own cannot be found by name
            content = None
        if key is None or content is None or compiled.notes:
            return
        entries = self._index()
        taken = set(entries.values())
        names = (f"{self._name}.{number}.nbc" for number in itertools.count(1))
        name = entries.get(key) or next(name for name in names if name not in taken)
        try:
            self._write(name, content)
            self._write_index({**entries, key: name})
        except OSError:  # the disk is full: nothing is kept
            pass

    def flush(self) -> None:
        """Forgets all entries."""
        try:
            self._write_index({})
        except OSError:
            pass
