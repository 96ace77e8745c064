"""The modules of numba.cuda that programs import, under the switch: with the stand-in for numba, and with the real one."""

import pytest

PROGRAM = """
    from numba import cuda, config, types
    from numba.core import errors
    import numba.cuda.compiler
    import numba.cuda.dispatcher
    from numba.cuda.cudadrv import driver, devices, devicearray, drvapi, error, libs, linkable_code, nvrtc, nvvm, runtime
    from numba.cuda.cudadrv.error import CudaSupportError, NvvmError, NvvmSupportError, NvrtcError
    from numba.cuda.core import config as cuda_config
    from numba.cuda.errors import KernelRuntimeError, normalize_kernel_dimensions
    from numba.cuda.args import In, InOut, Out, wrap_arg
    from numba.cuda.api import to_device, current_context
    from numba.cuda.initialize import initialize_all
    from numba.cuda.np.numpy_support import as_dtype, from_dtype
    from numba.cuda.stubs import threadIdx
    from numba.cuda.testing import CUDATestCase, skip_on_cudasim, skip_unless_cudasim, unittest
    from numba.cuda.types import float32, int32
    from numba.cuda.typing import signature
    from numba.cuda.typing.typeof import typeof
    from numba.cuda.core.compiler_lock import global_compiler_lock, require_global_compiler_lock
    from numba.cuda.core.sigutils import is_signature, normalize_signature
    from numba.cuda.types import ext_types
    from numba.cuda.types.scalars import Integer
    from numba.cuda.utils import PYVERSION, pysignature
    import numba.cuda as same
    import numpy as np

    assert same is cuda and cuda.driver is driver and cuda.devicearray is devicearray and cuda.nvvm is nvvm
    assert cuda.config is config is cuda_config, (cuda.config, config, cuda_config)
    assert cuda.threadIdx is threadIdx and cuda.to_device is to_device
    assert types.float32 == float32 == cuda.float32 == from_dtype(np.dtype("f4")), (float32, cuda.float32)
    assert as_dtype(int32) == np.int32
    assert str(typeof(np.zeros((2, 3), "f4"))) == "array(float32, 2d, C)"
    assert str(signature(float32, int32)) == "(int32,) -> float32"
    assert normalize_signature("float32(int32[:])") == ((int32[:],), float32) and normalize_signature((int32,)) == ((int32,), None)
    assert is_signature("void(int32)") and isinstance(int32, Integer) and ext_types.Dim3 is cuda.types.Dim3
    with global_compiler_lock:
        require_global_compiler_lock()
    assert PYVERSION == __import__("sys").version_info[:2] and list(pysignature(lambda a: a).parameters) == ["a"]
    assert normalize_kernel_dimensions(4, (2, 3)) == ((4, 1, 1), (2, 3, 1))
    assert "thread=(1, 0, 0) block=(2, 0, 0)" in str(KernelRuntimeError("bad", (1, 0, 0), (2, 0, 0)))
    assert isinstance(wrap_arg(3), InOut) and wrap_arg(In(3), Out).value == 3
    assert nvvm.is_available() and len(cuda.runtime.get_version()) == 2
    assert nvrtc.find_closest_arch((8, 1)) == (8, 0)
    assert linkable_code.PTXSource(b".version 7.8").kind == "ptx"
    assert drvapi.CU_STREAM_PER_THREAD == 2
    initialize_all()
    try:
        import numba.cuda.no_such_part
    except ModuleNotFoundError as refusal:
        assert "no such part" in str(refusal)
    try:
        cuda.no_such_name
    except AttributeError as refusal:
        assert "no cuda.no_such_name" in str(refusal)
    cuda.jit("void(float32[:])")
    print("done", libs.get_libdevice() is None or libs.open_libdevice()[:2])
"""


def test_modules_that_programs_import(run):
    done = run.script(PROGRAM, ENABLE_CUDASIM="1")
    assert done.stdout.startswith("done"), done.stderr


@pytest.mark.parametrize("reported", ["0", "1"])
def test_modules_that_programs_import_beside_numba(run_with_numba, reported):
    done = run_with_numba.script(
        PROGRAM
        + """
    import numba
    assert types is numba.types and cuda.types.Integer is numba.types.Integer
    assert typeof(1) is types.int64 and cuda.types.float64 is types.float64
    from numba.cuda.extending import overload, intrinsic, typeof_impl, make_attribute_wrapper, infer, reflect
    exec("from numba.cuda.extending import *; from numba.cuda.stubs import *; from numba.cuda.typing import *", given := {})
    assert given["typeof_impl"] is typeof_impl and given["infer"] is infer and given["threadIdx"] is cuda.threadIdx
    assert given["signature"] is signature and given["Signature"]
    assert bool(config.ENABLE_CUDASIM) == bool(int("%s"))
    print("and more")
    """ % reported,
        ENABLE_CUDASIM="1",
        CUDASIM_REPORT_AS_SIMULATOR=reported,
    )  # fmt: skip
    assert done.stdout.startswith("done") and done.stdout.endswith("and more\n"), done.stderr


def test_numba_cudas_copies_of_numbas_modules_are_numbas(run_with_numba, run):
    program = """
        import importlib, importlib.metadata
        HAS_NUMBA = any(importlib.metadata.distributions(name="numba"))
        COPIES = {
            "core.sigutils": "core.sigutils", "core.imputils": "core.imputils", "core.ir": "core.ir", "cgutils": "core.cgutils",
            "serialize": "core.serialize", "utils": "core.utils", "typing.templates": "core.typing.templates",
            "types.abstract": "core.types.abstract", "np.unsafe.ndarray": "np.unsafe.ndarray",
            "np.ufunc.sigparse": "np.ufunc.sigparse", "cpython.unsafe.tuple": "cpython.unsafe.tuple",
            "misc.literal": "misc.literal", "datamodel.models": "core.datamodel.models",
        }
        for copy, original in COPIES.items():
            try:
                module = importlib.import_module("numba.cuda." + copy)
            except ModuleNotFoundError as refusal:
                print(refusal.name)
            else:
                assert not HAS_NUMBA or module is importlib.import_module("numba." + original), copy
        from numba.cuda import misc, np, types
        assert misc.__name__ == "cudasim.cuda.misc" and types.__name__ == "cudasim.cuda.types", (misc, types)
        print("done")
        """
    done = run_with_numba.script(program, ENABLE_CUDASIM="1")
    assert done.stdout == "done\n", done.stdout + done.stderr
    alone = run.script(program, ENABLE_CUDASIM="1")
    assert "numba.cuda.core.ir\n" in alone.stdout and alone.stdout.endswith("done\n"), (
        alone.stdout + alone.stderr
    )


def test_signatures_are_numbas_types_where_numba_is(run_with_numba):
    done = run_with_numba.script(
        """
        import numpy as np
        from numba import cuda, float32, float64, int64, types, void

        @cuda.jit
        def kernel(x, n):
            x[0] = n

        kernel[1, 1](np.zeros(3, np.float32), 2)
        wanted = (float32[::1], int64)
        assert kernel.signatures == [wanted] and wanted in kernel.overloads, kernel.signatures
        assert list(kernel.inspect_asm()) == [wanted] and kernel.inspect_asm(wanted) == kernel.inspect_asm()[wanted]
        (signature,) = kernel.nopython_signatures
        assert signature == void(*wanted) and signature.args == wanted, signature
        assert kernel.get_shared_mem_per_block(signature) == 0
        assert kernel.overloads[wanted].signature == signature
        ptx, result = cuda.compile(lambda x: x + 1, (float64,))
        assert result is types.float64
        assert cuda.compile_ptx(kernel.py_func, types.void(types.float32[:], types.int64))[1] is types.void
        declared = cuda.jit([void(float32[:], int64), void(float64[:], int64)])(kernel.py_func)
        assert declared.get_max_threads_per_block(void(float64[:], int64)) == 1024
        print("done")
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout == "done\n", done.stderr


def test_extending_needs_numba(run):
    done = run.script(
        """
        from numba.cuda import extending
        try:
            extending.box
        except AttributeError as refusal:
            print(refusal)
        """,
        ENABLE_CUDASIM="1",
    )
    assert "install numba" in done.stdout, done.stderr


def test_linkable_code_is_read_from_files(tmp_path):
    from cudasim import cuda

    (tmp_path / "a.ptx").write_text(".version 8.0")
    code = cuda.LinkableCode.from_path(str(tmp_path / "a.ptx"))
    assert isinstance(code, cuda.PTXSource) and code.data == ".version 8.0" and code.name == "a.ptx"
    assert cuda.LinkableCode.from_path_or_obj(code) is code
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(ValueError, match=r"Unknown extension: \.txt"):
        cuda.LinkableCode.from_path(str(tmp_path / "a.txt"))
    with pytest.raises(FileNotFoundError):
        cuda.LinkableCode.from_path(str(tmp_path / "b.txt"))


def test_modules_that_have_no_meaning_here_say_why(any_run):
    done = any_run.script(
        """
        import numba.cuda.flags, numba.cuda.simulator.kernel, numba.cuda.memory_management.nrt
        import numba.cuda._compat
        from numba import cuda
        from numba.cuda import device_init, lowering, simulator_init

        assert lowering is cuda.lowering and device_init.grid is cuda.grid
        assert simulator_init.is_available() and simulator_init.cuda_error is cuda.cuda_error
        for statement in (
            "from numba.cuda.flags import CUDAFlags",
            "from numba.cuda.simulator.kernel import FakeCUDAKernel",
            "lowering.CUDALower",
            "from numba.cuda.typing.npdatetime import DatetimePlusTimedelta",
            "import numba.cuda.no_such_part",
        ):
            try:
                exec(statement)
            except ImportError as error:
                print(error)
        print(hasattr(lowering, "__file__"))
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.splitlines() == [
        "numba.cuda.flags has no CUDAFlags here: it holds options of Numba's compiler, and kernels are compiled by cudasim's own here",
        "numba.cuda.simulator.kernel has no FakeCUDAKernel here: it is Numba's simulator, in whose place cudasim is",
        "numba.cuda.lowering has no CUDALower here: it is a part of Numba's compiler, and kernels are compiled by cudasim's own here",
        "numba.cuda.typing.npdatetime has no DatetimePlusTimedelta here: it holds Numba's own rules for dates and durations, and cudasim "
        "has its own; register rules with numba.cuda.cudadecl",
        "no module named 'numba.cuda.no_such_part': cudasim has no such part of numba.cuda (yet)",
        "False",
    ], done.stderr


def test_modules_for_code_generators(run_with_numba, run):
    program = """
        import math
        import numpy as np
        from llvmlite import ir
        from numba import cuda, types
        from numba.core import cgutils
        from numba.cuda import cudaimpl, cudadecl, cudamath, libdevicedecl, libdeviceimpl, mathimpl, nvvmutils
        from numba.cuda.datamodel.cuda_models import StructModel
        from numba.cuda.extending import intrinsic
        from numba.cuda.mathimpl import get_binary_impl_for_fn_and_ty, get_unary_impl_for_fn_and_ty
        from numba.core.datamodel import models
        from numba.np.arrayobj import make_array

        assert mathimpl.registry is libdeviceimpl.registry is cudaimpl.registry and StructModel is models.StructModel
        assert cudamath.registry is libdevicedecl.registry is cudadecl.registry

        @intrinsic
        def place(typingctx):
            def codegen(context, builder, signature, args):
                return context.make_tuple(builder, signature.return_type, nvvmutils.get_global_id(builder, 2))

            return types.UniTuple(types.int64, 2)(), codegen

        @intrinsic
        def lane(typingctx):
            return types.int32(), lambda context, builder, signature, args: nvvmutils.call_sreg(builder, "laneid")

        @intrinsic
        def length(typingctx, a, b):
            def codegen(context, builder, signature, args):
                squared = get_binary_impl_for_fn_and_ty(math.pow, types.float64)(context, builder, signature, args)
                return get_unary_impl_for_fn_and_ty(math.sqrt, types.float64)(context, builder, signature, [squared])

            return types.float64(types.float64, types.float64), codegen

        @intrinsic
        def swap(typingctx, array, old, new):
            def codegen(context, builder, signature, args):
                data = make_array(signature.args[0])(context, builder, args[0]).data
                return nvvmutils.atomic_cmpxchg(builder, builder.module, 64, data, args[1], args[2])

            return types.int64(array, types.int64, types.int64), codegen

        @intrinsic
        def say(typingctx, number):
            def codegen(context, builder, signature, args):
                values = cgutils.alloca_once_value(builder, args[0])
                text = nvvmutils.declare_string(builder, "number %lld")
                given = builder.bitcast(values, ir.IntType(8).as_pointer())
                builder.call(nvvmutils.declare_vprint(builder.module), [text, given])
                return context.get_dummy_value()

            return types.void(types.int64), codegen

        @cuda.jit
        def kernel(out):
            x, y = place()
            if x == 5 and y == 7:
                out[0], out[1], out[2] = 10 * x + y, lane(), length(3.0, 4.0)
                out[3], out[5] = swap(out[4:], 0, 8), swap(out[4:], 0, 9)
                say(out[4])

        out = np.zeros(6, np.int64)
        kernel[(2, 4), (4, 2)](out)
        print(out.tolist())
        try:
            nvvmutils.declare_atomic_add_float32
        except ImportError as error:
            print(error)
        """
    done = run_with_numba.script(program, ENABLE_CUDASIM="1", CUDASIM_MODE="native")
    assert done.stdout.replace("number 8", "number 8\n").split("\n")[:3] == [
        "number 8",
        "[57, 5, 9, 0, 8, 8]",
        "numba.cuda.nvvmutils has no declare_atomic_add_float32 here: write builder.atomic_rmw(), or call cuda.atomic in a device "
        "function that context.compile_internal() takes",
    ], done.stdout + done.stderr
    alone = run.script(
        """
        try:
            from numba.cuda import nvvmutils
        except ImportError as error:
            print(error)
        """,
        ENABLE_CUDASIM="1",
    )
    assert "nvvmutils" in alone.stdout, alone.stderr
