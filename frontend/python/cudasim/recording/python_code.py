"""What a kernel in Python mode is made of, as JSON: the texts of its functions' files, and the plain data that the functions refer to.

Nothing is pickled. A function is its file's text and where its code lies in there; restoring it compiles that text, which is not run,
and takes the function's code object out of it. Plain data are None, numbers, texts, bytes, tuples, lists, dictionaries, NumPy's
scalars, arrays and dtypes, types of kernels, and arrays on the device. What Python's library, NumPy and numba.cuda define is kept by
name. Anything else makes the launch unrecordable.
"""

from __future__ import annotations

import base64
import builtins
import dis
import importlib
import json
import linecache
import math
import sys
import types
from typing import Any

import numpy as np

from cudasim import types as kernel_types
from cudasim.compile.kernel_source import SourceNotAvailable, compile_tree, parse
from cudasim.compile.source_lines import codes_in, lines_of
from cudasim.launch.cuda_module import cuda_module
from cudasim.launch.dispatcher import CUDADispatcher
from cudasim.memory.array_interface import as_cuda_array, is_cuda_array
from cudasim.memory.device_array import DeviceNDArray

#: Instructions whose argument is the name of a global.
_GLOBAL_NAMES = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"))
#: Options of @cuda.jit that say how a function behaves.
_JIT_OPTIONS = ("debug", "opt", "fastmath", "lineinfo", "device", "inline", "forceinline")
#: Modules whose members are kept by name. Kernels' own names come first.
_NAMED = ("builtins", "math", "cmath", "operator", "numpy")
_DEEPEST = 50


class Unrecordable(Exception):
    """Something that is not plain data; says what, and where it was found."""


def described(kernel: Any) -> tuple[bytes, list[int]]:
    """The description of a PythonKernel, and the addresses on the device that it holds.

    :raises Unrecordable: names the global
    """
    for name, kind in zip(kernel.py_func.__code__.co_varnames, kernel.builder.types):
        if isinstance(kind, kernel_types.EnumMember):
            raise Unrecordable(f"the argument {name} is an enumeration's member")
    encoder = _Encoder()
    function = encoder.function(kernel.py_func, kernel.name)
    document = {
        "python": list(sys.version_info[:3]),
        "kernel": function,
        "target_options": _plain_options(kernel.target_options),
        "functions": encoder.functions,
        "files": encoder.files,
    }
    return json.dumps(document).encode(), encoder.addresses


def _plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """@cuda.jit's, as far as they say how a function behaves and are plain data."""
    return {name: options[name] for name in _JIT_OPTIONS if isinstance(options.get(name), (bool, int, str))}


def globals_of(code: types.CodeType) -> set[str]:
    """The names that a code object, or one in it, looks up as globals."""
    return {
        instruction.argval
        for each in codes_in(code)
        for instruction in dis.get_instructions(each)
        if instruction.opname in _GLOBAL_NAMES
    }


def _named_objects() -> dict[int, tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    cuda = cuda_module()
    modules = [(name, importlib.import_module(name)) for name in _NAMED]
    modules += [("numba.cuda", cuda)]
    modules += [(f"numba.cuda.{name}", member) for name, member in vars(cuda).items()
                if isinstance(member, types.ModuleType)]  # fmt: skip
    for name, module in reversed(modules):
        for member, value in vars(module).items():
            if callable(value):
                found[id(value)] = (name, member)
    return found


class _Encoder:
    def __init__(self) -> None:
        self.functions: list[dict | None] = []
        self.files: dict[str, str] = {}
        self.addresses: list[int] = []
        self._known: dict[int, int] = {}  # id of a function → its index in functions
        self._kept: list[Any] = []  # what these ids belong to
        self._named = _named_objects()

    def function(self, function: Any, path: str) -> int:
        """Its index in `functions`."""
        if id(function) in self._known:
            return self._known[id(function)]
        if not isinstance(function, types.FunctionType):
            raise Unrecordable(f"{path} is not a Python function, but a {type(function).__name__}")
        index = len(self.functions)
        self._known[id(function)] = index
        self._kept.append(function)
        self.functions.append(None)
        code = function.__code__
        text = self.files.get(code.co_filename) or "".join(lines_of(function))
        if not text:
            raise Unrecordable(f"the source of {path} ({code.co_filename}) is not available")
        ordinal = _ordinal(text, code)
        if ordinal is None:
            raise Unrecordable(f"{code.co_filename} has changed since {path} was defined in it")
        self.files[code.co_filename] = text
        entry: dict[str, Any] = {
            "name": code.co_name,
            "file": code.co_filename,
            "line": code.co_firstlineno,
            "ordinal": ordinal,
        }
        known = function.__globals__
        names = sorted(name for name in globals_of(code) if name in known)
        entry["globals"] = {name: self.value(known[name], name, code) for name in names}
        cells = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                cells[name] = self.value(cell.cell_contents, name, code)
            except ValueError:  # not assigned yet
                cells[name] = None
        entry["closure"] = cells
        entry["defaults"] = [
            self.value(value, f"a default of {path}", code) for value in function.__defaults__ or ()
        ]
        self.functions[index] = entry
        return index

    def value(self, value: Any, path: str, code: types.CodeType, depth: int = 0) -> Any:
        """A value as JSON.

        :param code: of the function that knows it
        """
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            return value if abs(value) < 2**53 else {"int": str(value)}
        if type(value) is float:
            return value if math.isfinite(value) else {"float": value.hex() if value == value else "nan"}
        if type(value) is complex:
            return {"complex": [value.real.hex(), value.imag.hex()]}
        if type(value) is bytes:
            return {"bytes": _text(value)}
        if depth > _DEEPEST:
            raise Unrecordable(f"{path} is nested too deeply")
        if type(value) in (tuple, list):
            elements = [self.value(each, f"{path}[{k}]", code, depth + 1) for k, each in enumerate(value)]
            return {type(value).__name__: elements}
        if type(value) is dict:
            return {
                "dict": [
                    [
                        self.value(key, path, code, depth + 1),
                        self.value(each, f"{path}[{key!r}]", code, depth + 1),
                    ]
                    for key, each in value.items()
                ]
            }
        if id(value) in self._named:
            return {"named": list(self._named[id(value)])}
        if isinstance(value, types.ModuleType):
            return self._module(value, path, code, depth)
        if isinstance(value, CUDADispatcher):
            return {
                "dispatcher": self.function(value.py_func, path),
                "options": _plain_options(value.targetoptions),
            }
        if isinstance(value, types.FunctionType):
            return {"function": self.function(value, path)}
        return self._of_numpy(value, path)

    def _module(self, module: types.ModuleType, path: str, code: types.CodeType, depth: int) -> dict:
        name = module.__name__
        top = name.partition(".")[0]
        if top in ("cudasim", "numba"):
            return {"module": "numba.cuda" + name.removeprefix("cudasim.cuda").removeprefix("numba.cuda")}
        if top == "numpy" or top in sys.stdlib_module_names:
            return {"module": name}
        used = {each for inner in codes_in(code) for each in inner.co_names}
        members = {key: value for key, value in vars(module).items() if key in used}
        return {
            "namespace": name,
            "members": {
                key: self.value(member, f"{path}.{key}", code, depth + 1) for key, member in members.items()
            },
        }

    def _of_numpy(self, value: Any, path: str) -> dict:
        if isinstance(value, np.ndarray) and type(value) is np.ndarray and not value.dtype.hasobject:
            content = np.ascontiguousarray(value)
            return {
                "array": _text(content.tobytes()),
                "dtype": np.lib.format.dtype_to_descr(value.dtype),
                "shape": list(value.shape),
                "fortran": bool(value.flags.f_contiguous and not value.flags.c_contiguous),
            }
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return {"scalar": _text(value.tobytes()), "dtype": np.lib.format.dtype_to_descr(value.dtype)}
        if isinstance(value, np.dtype) and not value.hasobject:
            return {"dtype_object": np.lib.format.dtype_to_descr(value)}
        if isinstance(value, kernel_types.Type):
            return {"type": kernel_types.name_of(value)}
        if is_cuda_array(value):
            array = value if isinstance(value, DeviceNDArray) else as_cuda_array(value)
            address = int(array.parameters[0])
            self.addresses.append(address)
            return {
                "device_array": address,
                "dtype": np.lib.format.dtype_to_descr(array.dtype),
                "shape": list(array.shape),
                "strides": list(array.strides),
            }
        raise Unrecordable(
            f"{path} is a {type(value).__module__}.{type(value).__qualname__}, which is not plain data "
            "(numbers, texts, arrays, functions)"
        )


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _ordinal(text: str, code: types.CodeType) -> int | None:
    """The number of a code object among those of the text's program with its name and line; None where it is
    none of them."""
    same = _candidates(text, code.co_filename, code.co_name, code.co_firstlineno)
    for ordinal, each in enumerate(same):
        if each == code:
            return ordinal
    # What rewrites code (coverage, assertions) keeps names and lines.
    return 0 if len(same) == 1 else None


def _candidates(text: str, file: str, name: str, line: int) -> list[types.CodeType]:
    try:
        program = compile_tree(parse(text), file)
    except (SyntaxError, ValueError, SourceNotAvailable, RecursionError):
        return []
    return [code for code in codes_in(program) if (code.co_name, code.co_firstlineno) == (name, line)]


class Decoder:
    """Makes the functions of a description anew. Running them is running code of whoever made the record.

    :param device_array: (address, shape, strides, dtype) → what stands for an array on the device
    :raises Unrecordable: for what no description has
    """

    def __init__(self, document: dict, device_array: Any) -> None:
        self._document, self._device_array = document, device_array
        self._functions: dict[int, types.FunctionType] = {}
        for file, text in document["files"].items():
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)

    def kernel(self) -> types.FunctionType:
        """The kernel's function."""
        return self._function(self._document["kernel"])

    def _function(self, index: int) -> types.FunctionType:
        if index in self._functions:
            return self._functions[index]
        entry = self._document["functions"][index]
        text = self._document["files"][entry["file"]]
        codes = _candidates(text, entry["file"], entry["name"], entry["line"])
        if entry["ordinal"] >= len(codes):
            version = ".".join(map(str, self._document["python"]))
            raise Unrecordable(
                f"{entry['name']}(), line {entry['line']} of {entry['file']}, is not found in the recorded text; it was "
                f"recorded with CPython {version}"
            )
        code = codes[entry["ordinal"]]
        cells = tuple(types.CellType() for _ in code.co_freevars)
        names: dict[str, Any] = {
            "__builtins__": builtins,
            "__name__": "__cudasim_replay__",
            "__file__": entry["file"],
        }
        function = types.FunctionType(code, names, entry["name"], None, cells)
        self._functions[index] = function  # which its own globals may name
        names.update((name, self.value(value)) for name, value in entry["globals"].items())
        function.__defaults__ = tuple(map(self.value, entry["defaults"])) or None
        for name, cell in zip(code.co_freevars, cells):
            cell.cell_contents = self.value(entry["closure"].get(name))
        return function

    def value(self, encoded: Any) -> Any:
        """The value that was described."""
        if not isinstance(encoded, dict):
            return encoded
        for form, decode in _FORMS.items():
            if form in encoded:
                return decode(self, encoded)
        raise Unrecordable(f"the record describes a value in no known form: {sorted(encoded)}")

    def _namespace(self, encoded: dict) -> types.ModuleType:
        module = types.ModuleType(encoded["namespace"])
        vars(module).update((name, self.value(value)) for name, value in encoded["members"].items())
        return module

    def _dispatcher(self, encoded: dict) -> Any:
        return cuda_module().jit(**encoded["options"])(self._function(encoded["dispatcher"]))

    def _array(self, encoded: dict) -> np.ndarray:
        content = np.frombuffer(base64.b64decode(encoded["array"]), _dtype(encoded["dtype"]))
        array = content.reshape(encoded["shape"])
        return np.asfortranarray(array) if encoded["fortran"] else array.copy()

    def _of_device(self, encoded: dict) -> Any:
        return self._device_array(
            encoded["device_array"],
            tuple(encoded["shape"]),
            tuple(encoded["strides"]),
            _dtype(encoded["dtype"]),
        )


def _dtype(description: Any) -> np.dtype:
    def with_tuples(value: Any) -> Any:
        return [tuple(map(_field, each)) for each in value] if isinstance(value, list) else value

    def _field(part: Any) -> Any:
        if not isinstance(part, list):
            return part
        return tuple(part) if all(isinstance(each, int) for each in part) else with_tuples(part)

    return np.lib.format.descr_to_dtype(with_tuples(description))


def _module_of(name: str) -> types.ModuleType:
    if name == "numba.cuda" or name.startswith("numba.cuda."):
        return importlib.import_module("cudasim.cuda" + name.removeprefix("numba.cuda"))
    if name.partition(".")[0] != "numpy" and name.partition(".")[0] not in sys.stdlib_module_names:
        raise Unrecordable(f"the record asks for the module {name}, which no record needs")
    return importlib.import_module(name)


_FORMS = {
    "int": lambda decoder, encoded: int(encoded["int"]),
    "float": lambda decoder, encoded: (
        math.nan if encoded["float"] == "nan" else float.fromhex(encoded["float"])
    ),
    "complex": lambda decoder, encoded: complex(*map(float.fromhex, encoded["complex"])),
    "bytes": lambda decoder, encoded: base64.b64decode(encoded["bytes"]),
    "tuple": lambda decoder, encoded: tuple(map(decoder.value, encoded["tuple"])),
    "list": lambda decoder, encoded: list(map(decoder.value, encoded["list"])),
    "dict": lambda decoder, encoded: {
        decoder.value(key): decoder.value(value) for key, value in encoded["dict"]
    },
    "named": lambda decoder, encoded: getattr(_module_of(encoded["named"][0]), encoded["named"][1]),
    "module": lambda decoder, encoded: _module_of(encoded["module"]),
    "namespace": Decoder._namespace,
    "dispatcher": Decoder._dispatcher,
    "function": lambda decoder, encoded: decoder._function(encoded["function"]),
    "array": Decoder._array,
    "scalar": lambda decoder, encoded: np.frombuffer(
        base64.b64decode(encoded["scalar"]), _dtype(encoded["dtype"])
    )[0],
    "dtype_object": lambda decoder, encoded: _dtype(encoded["dtype_object"]),
    "type": lambda decoder, encoded: kernel_types.type_named(encoded["type"]),
    "device_array": Decoder._of_device,
}
