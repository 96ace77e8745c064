"""What the switch does once it is on (the finder itself is _cudasim_switch, imported at interpreter start).

* `numba.cuda` and its submodules are `cudasim.cuda` and its submodules: the same module objects.
* numba itself is the real one where it is installed, with numba.config.ENABLE_CUDASIM set as the option
  report-as-simulator says; else a small stand-in (cudasim/numba_stand_in).
* The real numba.cuda must not be there already: half a script would run on it. That is an error.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "numba_stand_in")


class SwitchError(ImportError):
    """The switch was turned on too late, or contradicts itself."""


def is_on() -> Any:
    """Whether numba.cuda means cudasim.cuda now."""
    return _hook().is_on()


def enable() -> None:
    """Turns the switch on for this process and its children.

    :raises SwitchError: when the real numba.cuda has been imported, or ENABLE_CUDASIM=0 forbids it
    """
    hook = _hook()
    if hook.state() is False:
        raise SwitchError("ENABLE_CUDASIM=0 is set, which keeps cudasim off; unset it, or set it to 1")
    check_real_cuda_absent()
    os.environ["ENABLE_CUDASIM"] = "1"
    config = sys.modules.get("numba.core.config")
    if config is not None:
        _report_as_simulator(config)


def install() -> None:
    """Makes sure that the finder is there; it acts only while the switch is on."""
    _hook()


def _hook():
    """_cudasim_switch with its finder installed; loaded from beside the package when no .pth file did it
    (python -S, or the package on PYTHONPATH)."""
    import _cudasim_switch  # loaded here where no .pth file did it

    if _cudasim_switch.finder not in sys.meta_path:
        _cudasim_switch.finder.come_first()
    return _cudasim_switch


def check_real_cuda_absent() -> None:
    """Raises SwitchError when numba.cuda is there and is not ours."""
    real = sys.modules.get("numba.cuda")
    if real is not None and real is not sys.modules.get("cudasim.cuda"):
        raise SwitchError(
            "cudasim was switched on after the real numba.cuda had been imported (from "
            f"{getattr(real, '__file__', 'an unknown place')}), so it cannot take its place any more. Set "
            "ENABLE_CUDASIM=1 before Python starts, or numba.config.ENABLE_CUDASIM = 1 before the first import "
            "of numba.cuda."
        )


_has_warned = False


def warn_of_options_without_effect(name: Any) -> None:
    """Warns, once, where a program that sets options in the environment imports `name` with the switch off.

    :param name: "numba.cuda", or "numba", which counts where there is none
    """
    global _has_warned
    from cudasim import options  # the switch is loaded in programs that do not use cudasim

    given = [option.variable for option in options.TABLE if os.environ.get(option.variable)]
    if _has_warned or not given or (name == "numba" and _real_numba_exists()):
        return
    _has_warned = True
    from cudasim.reports.user_warnings import warn_at_calling_code

    are = "is set, but has" if len(given) == 1 else "are set, but have"
    warn_at_calling_code(
        "option",
        f"{', '.join(given)} {are} no effect: the simulator is not switched on. Set ENABLE_CUDASIM=1 too; "
        "ENABLE_CUDASIM=0 keeps it off without this warning",
    )


def find_spec(name: Any, path: Any) -> Any:
    """The module spec of numba or one of its modules, or None to leave it to the other finders."""
    if name == "numba":
        return None if _real_numba_exists() else _stand_in_spec()
    if name == "numba.cuda" or name.startswith("numba.cuda."):
        check_real_cuda_absent()
        return _cuda_spec(name)
    if name == "numba.core.config" and not _is_stand_in_loaded():
        return _config_spec(name, path)
    if _is_stand_in_loaded() and importlib.machinery.PathFinder.find_spec(name, path) is None:
        raise ModuleNotFoundError(
            f"no module named {name!r}: numba is not installed, and cudasim's stand-in for "
            "it has no such part; install numba",
            name=name,
        )
    return None


# -- numba.cuda -------------------------------------------------------------------------------------------


class _AliasLoader:
    """Loads a module of cudasim under its numba.cuda name: the same module object under both names."""

    def __init__(self, own_name):
        self._own_name = own_name
        self._own_spec = None

    def create_module(self, spec):
        module = importlib.import_module(self._own_name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has put the alias's spec on the module; it keeps its own.
        module.__spec__ = self._own_spec
        if self._own_name == "cudasim.cuda" and "_CUDASIM_RECORD" in os.environ:
            importlib.import_module("cudasim.recording.recorder").continue_recording()
        if self._own_name == "cudasim.cuda" and "_CUDASIM_COMPARE" in os.environ:
            importlib.import_module("cudasim.comparing.processes").continue_comparing()
        if self._own_name == "cudasim.cuda":
            _connect_to_debugger()
        if self._own_name == "cudasim.cuda" and not _is_stand_in_loaded():
            _report_as_simulator(sys.modules.get("numba.core.config"))

    def get_code(self, name):
        return None

    def is_package(self, name):
        return self._own_spec is not None and self._own_spec.submodule_search_locations is not None


def _connect_to_debugger():
    from cudasim import options  # start-up time: this module is there before anything is asked for

    if options.get("debugger"):
        importlib.import_module("cudasim.debugging").begin()


#: Modules that numba.cuda has of its own only where there is no numba.
_NUMBAS_OWN = {
    **{
        f"numba.cuda.core.{name}": f"numba.core.{name}"
        for name in ("compiler_lock", "config", "errors", "sigutils")
    },
    "numba.cuda.utils": "numba.core.utils",
}


#: Where numba-cuda keeps its copies of Numba's compiler, and where Numba has the originals. Programs import
#: them for their own llvmlite code, to name an error, to type a value.
_COPIES_OF_NUMBAS = {
    **{f"numba.cuda.datamodel.cuda_{name}": f"numba.core.datamodel.{name}" for name in (
        "manager", "models", "packer", "registry", "testing")},
    **{f"numba.cuda.{name}": f"numba.core.{name}" for name in (
        "cgutils", "datamodel", "debuginfo", "itanium_mangler", "serialize", "typeconv", "types", "typing", "utils")},
    **{f"numba.cuda.{name}": f"numba.{name}" for name in ("cloudpickle", "core", "cpython", "misc", "np")},
}  # fmt: skip


def _original_in_numba(name):
    """numba.cuda.core.sigutils → numba.core.sigutils; None for a module that is not a copy."""
    for copies, originals in _COPIES_OF_NUMBAS.items():
        if name == copies or name.startswith(copies + "."):
            return originals + name[len(copies) :]
    return None


def _found(name):
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None


def _is_part_of_types(name):
    """Whether it is a module in numba.cuda.types, which is one module here."""
    package, _, part = name.rpartition(".")
    return package == "numba.cuda.types" and part in importlib.import_module("cudasim.cuda.types").PARTS


class _AbsentLoader:
    """Loads what stands for a module of numba.cuda that has no meaning here."""

    def __init__(self, module):
        self._module = module

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        """Nothing: it is made."""


def _absent(name):
    """The spec of such a module; None for any other."""
    module = importlib.import_module("cudasim.cuda.absent_modules").named(name)
    loader: Any = _AbsentLoader(module)
    return None if module is None else importlib.machinery.ModuleSpec(name, loader, is_package=True)


def _cuda_spec(name):
    own_name = _NUMBAS_OWN.get(name) or "cudasim" + name[len("numba") :]
    own_spec = _found(own_name)
    original = _original_in_numba(name) if own_spec is None and _real_numba_exists() else None
    if original is not None:
        own_name, own_spec = original, _found(original)
    if own_spec is None and _is_part_of_types(name):
        own_name = "cudasim.cuda.types"
        own_spec = _found(own_name)
    if own_spec is None and (absent := _absent(name)) is not None:
        return absent
    if own_spec is None:
        raise ModuleNotFoundError(
            f"no module named {name!r}: cudasim has no such part of numba.cuda (yet)", name=name
        )
    return importlib.machinery.ModuleSpec(
        name,
        _AliasLoader(own_name),  # type: ignore[arg-type]  # a loader by its methods: importlib.abc is not imported at start
        origin=own_spec.origin,
        is_package=own_spec.submodule_search_locations is not None,
    )


# -- the real numba ---------------------------------------------------------------------------------------


def _real_numba_exists():
    for finder in sys.meta_path:
        if type(finder).__name__ == "NumbaFinder" or not hasattr(finder, "find_spec"):
            continue
        if finder.find_spec("numba", None) is not None:
            return True
    return False


def _report_as_simulator(config):
    from cudasim import options  # the switch is loaded in programs that do not use cudasim

    if config is not None:
        config.ENABLE_CUDASIM = int(options.get("report_as_simulator"))


def _config_spec(name, path):
    """numba.core.config, with ENABLE_CUDASIM set as soon as it has been executed."""
    return _spec_with(name, path, _report_as_simulator)


def _spec_with(name, path, afterwards):
    """The spec of a module of somebody else's; afterwards(module) is called when it has been executed."""
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None or spec.loader is None:
        return None
    execute = spec.loader.exec_module

    def execute_and_go_on(module):
        execute(module)
        afterwards(module)

    spec.loader.exec_module = execute_and_go_on  # type: ignore[method-assign]
    return spec


def cupy_spec() -> Any:
    """CuPy's module, which says what to do where it has no GPU to work with."""
    return _spec_with("cupy", None, _warn_where_cupy_cannot_work)


def _warn_where_cupy_cannot_work(cupy):
    try:
        usable = cupy.cuda.is_available()
    except Exception:  # whatever it is, CuPy will say it when it is used
        usable = False
    if usable:
        return
    from cudasim.reports.user_warnings import warn_at_calling_code  # only for a message

    warn_at_calling_code(
        "cupy-without-gpu",
        "CuPy needs a real GPU and finds none; cudasim simulates numba.cuda only, so every CuPy array fails (as a rule "
        "with cudaErrorInsufficientDriver or cudaErrorNoDevice). Pass NumPy arrays to kernels, or make device arrays with "
        "cuda.to_device(); programs for both often write `xp = cupy if cupy.cuda.is_available() else numpy`",
    )


def core_spec(path: Any) -> Any:
    """NVIDIA's cuda.core, by whose launch() programs for numba-cuda 0.30 launch kernels of modules."""
    return _spec_with("cuda.core", path, _launch_simulated_kernels)


def _launch_simulated_kernels(core):
    launch_on_a_gpu: Any = getattr(core, "launch", None)

    def launch(stream, config, kernel, *args):
        simulated = getattr(kernel, "__cudasim_function__", None)
        if simulated is None:
            return launch_on_a_gpu(stream, config, kernel, *args)
        return simulated.launch_as_core_does(stream, config, args)

    if launch_on_a_gpu is not None:
        launch.__doc__ = launch_on_a_gpu.__doc__
        core.launch = launch


# -- the stand-in -----------------------------------------------------------------------------------------


def _is_stand_in_loaded():
    return getattr(sys.modules.get("numba"), "__cudasim_stand_in__", False)


def _stand_in_spec():
    return importlib.util.spec_from_file_location(
        "numba", os.path.join(_STAND_IN, "__init__.py"), submodule_search_locations=[_STAND_IN]
    )
