"""Every public name of numba.cuda and its state in cudasim, found by asking cudasim: docs/numba_compatibility.md.

numba_cuda_names.json beside this file lists the names: `dir()` of the modules and classes of numba-cuda 0.30.4. A state
is looked up, never written down; only how a name differs (DIFFERS) and what is Numba's own affair (INTERNAL) is said here.
tests/docs keeps the document true. After a change: python tests/numba_compatibility.py --write
"""

import importlib
import json
import pathlib
import re
import sys
import textwrap
import warnings

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "docs" / "numba_compatibility.md"
NAMES = json.loads((HERE / "numba_cuda_names.json").read_text())

STATES = ("there", "in kernels", "differs", "not yet", "internal")

#: (section, name) → how it differs from numba-cuda on a GPU. Small differences of
#: behaviour are in docs/differences.md.
DIFFERS = {
    ("numba.cuda", "implementation"): "reads `cudasim`, so that programs can ask",
    (
        "numba.cuda",
        "compile",
    ): "PTX only (no LTO-IR); kernels' array parameters are address, extents, strides",
    ("numba.cuda", "compile_all"): "with output='ptx'; there is no LTO-IR",
    ("numba.cuda.extending", "intrinsic"): "where numba is installed, in compiled kernels",
    ("numba.cuda.extending", "overload_classmethod"): "where numba is installed",
    ("numba.cuda.extending", "lower_builtin"): "where numba is installed, in compiled kernels",
    **{
        ("numba.cuda.extending", name): "where numba is installed, in compiled kernels"
        for name in (
            "infer",
            "infer_getattr",
            "lower_cast",
            "lower_getattr",
            "lower_getattr_generic",
            "lower_setattr",
            "lower_setattr_generic",
            "make_attribute_wrapper",
            "type_callable",
        )
    },  # fmt: skip
    ("Dispatcher", "get_regs_per_thread"): "ptxas's number where a CUDA toolkit is found, else an estimate",
    ("Dispatcher", "inspect_sass"): "where a CUDA toolkit is found",
    ("Dispatcher", "inspect_sass_cfg"): "where a CUDA toolkit is found",
    ("Dispatcher", "inspect_lto_ptx"): "the PTX: nothing is linked",
    ("numba.cuda", "cuda_error"): "a function, as in Numba's own numba.cuda; gives None",
}

#: What numba.cuda shows without meaning it for programs: parts of its compiler, of
#: Python, of others' packages.
INTERNAL = {
    "numba.cuda": """
        alias api_util cext cgutils cloudpickle codegen config_default_cc contextlib core cpython cuda_paths datamodel
        debuginfo descriptor ffi ffi_forced_object flags importlib itanium_mangler launchconfig locks
        lowering mathimpl misc models nvvmutils os serialize sys target typeconv
        utils warnings np literal cudadecl cudaimpl deviceufunc tests memory_management simulator reduction
        deferred_type ufuncs numba_cuda_default_ptx_cc
    """,
    "numba.cuda.cudadrv.devicearray": """
        DeviceNDArrayBase NumbaPerformanceWarning array_core from_array_like from_record_like
        prepare_shape_strides_dtype sentry_contiguous to_fixed_tuple check_array_compatibility is_contiguous
    """,
    "numba.cuda.cudadrv.driver": """
        AutoFreePointer CudaPythonFunction CudaPythonModule Driver ERROR_MAP FuncAttr Function ManagedOwnedPointer
        MappedOwnedPointer OwnedPointer cached_file_read find_driver get_devptr_for_active_ctx get_version
        inspect_obj_content load_driver load_module_image locate_driver_and_loader make_logger memory_size_from_info
        device_memory_depends DeadMemoryError
    """,
    "numba.cuda.cudadrv.nvvm": """
        CompilationUnit LibDevice add_ir_version compile_ir get_cuda_paths get_libdevice ir_cas ir_numba_atomic_binary
        ir_numba_atomic_dec ir_numba_atomic_inc ir_numba_atomic_minmax llvm150_to_70_ir llvm_replace open_libdevice
        set_cuda_kernel set_launch_bounds
    """,
    "numba.cuda.testing": "TestCase cudadevrt_missing",
    "numba.cuda.types": "Dispatcher Function FunctionType Opaque DType NumberClass Buffer ArrayCompatible deferred_type",
    "numba.cuda.extending": "BoundLiteralArgs NativeValue ReduceMixin SentryLiteralArgs sentry_literal_args",
    "Dispatcher": """
        add_overload call dump fold_argument_types get_annotation_info get_call_template get_compile_result
        get_function_type get_metadata get_overload inspect_cfg inspect_disasm_cfg is_compiling
        mark_launch_config_sensitive targetdescr typeof_pyval
    """,
    "kernel": """
        NRT_functions bind codegen initialize_once library maybe_link_nrt launch type_annotation
    """,
    "modules": """
        numba.cuda.api_util numba.cuda.cgutils numba.cuda.codegen numba.cuda.core.sigutils numba.cuda.cuda_paths
        numba.cuda.cudadecl numba.cuda.cudaimpl numba.cuda.cudamath numba.cuda.descriptor numba.cuda.fp8
        numba.cuda.deviceufunc numba.cuda.launchconfig numba.cuda.locks
        numba.cuda.memory_management numba.cuda.models numba.cuda.printimpl numba.cuda.serialize
        numba.cuda.simulator numba.cuda.target numba.cuda.typing.templates numba.cuda.utils numba.cuda.np.ufunc
        numba.cuda.cudadrv.dummyarray numba.cuda.ufuncs
    """,
}
INTERNAL = {section: frozenset(names.split()) for section, names in INTERNAL.items()}
#: Sections whose names are named only where they are missing.
COUNTED = ("numba.cuda.libdevice", "numba.cuda.bf16")
_MISSING = object()


def _module(name):
    try:
        return importlib.import_module(name.replace("numba.cuda", "cudasim.cuda", 1))
    except ImportError:  # those that need numba say so
        return _MISSING


def _kernel():
    from cudasim import cuda

    def nothing(x):
        x[0] = 1

    return cuda.jit("void(int32[:])")(nothing)


def _owners():
    """Section → the object whose attributes it lists."""
    import numpy as np
    from cudasim import cuda

    dispatcher = _kernel()
    owners = {
        "DeviceNDArray": cuda.device_array((4, 1)),
        "Dispatcher": dispatcher,
        "kernel": next(iter(dispatcher.overloads.values())),
        "Dispatcher[griddim, blockdim]": dispatcher[1, 1],
        "Stream": cuda.stream(),
        "Event": cuda.event(),
        "Context": cuda.current_context(),
        "Device": cuda.get_current_device(),
        "MemoryPointer": cuda.current_context().memalloc(8),
        "Reduce": getattr(cuda, "Reduce", _MISSING),
        "DeviceRecord": _of_class("numba.cuda.cudadrv.devicearray", "DeviceRecord"),
        "IpcArrayHandle": _of_class("numba.cuda.cudadrv.devicearray", "IpcArrayHandle"),
        "BaseCUDAMemoryManager": _of_class("numba.cuda", "BaseCUDAMemoryManager"),
        "IpcHandle": _of_class("numba.cuda", "IpcHandle"),
        "MappedNDArray": _MISSING,
    }
    if hasattr(cuda, "mapped_array"):
        owners["MappedNDArray"] = cuda.mapped_array(4, dtype=np.int32)
    return owners


def _of_class(module, name):
    return _get(_module(module), name)


def _get(owner, name):
    if owner is _MISSING:
        return _MISSING
    try:
        found = getattr(owner, name, _MISSING)
        return _MISSING if hasattr(found, "__cudasim_absent__") else found
    except Exception:  # noqa: BLE001 - a value that exists in kernels only says so
        return _MISSING


def _owner(section, owners):
    from cudasim import cuda

    if section in owners:
        return owners[section]
    if section == "numba.cuda":
        return cuda
    last = section.rpartition(".")[2]
    inside = _get(cuda, last)
    return inside if inside is not _MISSING else _module(section)


def state(section, name, owner):
    """One of STATES."""
    from cudasim.compile.intrinsics import Intrinsic

    if section == "modules":
        found = _module(name)
        if found is _MISSING:
            return "internal" if name in INTERNAL["modules"] else "not yet"
        return "there"
    if name.endswith("().sync"):
        name = name.partition("(")[0]
    value = _get(owner, name)
    if value is _MISSING and name in INTERNAL.get(section, ()):
        return "internal"
    if (section, name) in DIFFERS:
        return "differs"
    if value is _MISSING:
        return "not yet"
    if not isinstance(value, Intrinsic):
        return "there"
    return "in kernels" if _known_in_kernels(value) else "not yet"


def _known_in_kernels(intrinsic):
    from cudasim import _native
    from cudasim.compile.intrinsics import _GROUPS, _VALUES

    name = intrinsic.__cudasim_intrinsic__
    return name in _GROUPS or name in _VALUES or _native.kernel_knows(name)


def states():
    """{section: {name: state}}"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        owners = _owners()
        return {
            section: {name: state(section, name, _owner(section, owners)) for name in names}
            for section, names in NAMES.items()
        }


def _wrapped(text, indent="  "):
    return textwrap.fill(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _names(names):
    return ", ".join(f"`{name}`" for name in names)


def _section(section, found):
    lines = [f"## {section}", ""]
    by_state = {state: [name for name, known in found.items() if known == state] for state in STATES}
    count = len(found) - len(by_state["internal"])
    have = count - len(by_state["not yet"])
    lines += [f"{have} of {count}.", ""]
    for shown in ("there", "in kernels"):
        if by_state[shown] and section not in COUNTED:
            lines.append(_wrapped(f"- **{shown}**: {_names(by_state[shown])}"))
    lines += [_wrapped(f"- **differs**: `{name}`: {DIFFERS[section, name]}") for name in by_state["differs"]]
    if by_state["not yet"] and not (section in COUNTED and have == 0):
        lines.append(_wrapped(f"- **not yet**: {_names(by_state['not yet'])}"))
    if by_state["internal"]:
        lines.append(_wrapped(f"- internal to Numba: {_names(by_state['internal'])}"))
    if section in COUNTED and have == 0:
        lines.append(f"- **not yet**: all {count}")
    return "\n".join(lines)


HEADER = """# numba.cuda, name by name

Made by tests/numba_compatibility.py from what the package has; do not edit it by hand. The names are those of numba-cuda 0.30.4.

A name is *there* (on the host; types on both sides), *in kernels*, *differs* (and how), or *not yet*. What is *internal* to
Numba (its compiler's parts, modules that it imports) has no meaning for programs and is not provided: such modules can be imported, and
whoever takes a name of theirs learns why there is none. Where numba is
installed, modules that numba-cuda has copied from it (`numba.cuda.core.*`, `cgutils`, …) are Numba's own, and the registers
of `cudadecl`, `cudaimpl`, `cudamath`, `mathimpl`, `libdevicedecl`, `libdeviceimpl` and `models` are there, for compiled kernels, with
`nvvmutils`, except its `declare_atomic_…()`, and `printimpl.print_item`. How behaviour
differs is in [differences.md](differences.md).
"""


def document():
    """The whole document."""
    found = states()
    every = [state for section in found.values() for state in section.values()]
    counted = len(every) - every.count("internal")
    summary = f"{counted - every.count('not yet')} of {counted} names have a meaning here.\n"
    parts = [HEADER, summary, *(_section(section, names) + "\n" for section, names in found.items())]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip("\n") + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(document())
    else:
        print(document(), end="")
