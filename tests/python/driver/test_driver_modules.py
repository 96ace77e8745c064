"""PTX as modules of the driver: kernels and variables by name, raw launches, the linker, occupancy, NVVM IR."""

import ctypes
import gc
import shutil
import weakref

import numpy as np
import pytest
from cudasim import cuda, errors
from cudasim.cuda.cudadrv import driver, nvrtc, nvvm
from cudasim.cuda.kernels.transpose import transpose
from ptx_texts import CALLER, COUNTED_ADD, HALF, HEAD


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_int), ("second", ctypes.c_double)]


def load(text=COUNTED_ADD):
    return cuda.current_context().create_module_ptx(text)


def launch(function, threads, *args, stream=0, shared=0):
    driver.launch_kernel(function.handle, 1, 1, 1, threads, 1, 1, shared, stream, args)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_kernels_of_ptx_run_with_raw_parameters(as_bytes):
    module = load(COUNTED_ADD.encode() if as_bytes else COUNTED_ADD)
    function = module.get_function("add")
    values = cuda.to_device(np.arange(100, dtype=np.float32))
    launch(
        function, 100, ctypes.c_uint64(values.device_ctypes_pointer.value), ctypes.c_float(2.5), Pair(1, 4.0)
    )
    np.testing.assert_array_equal(values.copy_to_host(), np.arange(100) + 6.5)
    launch(function, 10, values, np.float32(1), Pair(1, -1.0), stream=cuda.stream().handle, shared=64)
    np.testing.assert_array_equal(values.copy_to_host(), np.arange(100) + 6.5)
    assert function.name == "add" and function.module is module and function.attrs.maxthreads == 1024


def test_variables_are_found_by_name():
    module = load(COUNTED_ADD.replace("= 5", "= 7"))
    memory, size = module.get_global_symbol("counter")
    launch(module.get_function("add"), 3, cuda.device_array(3, np.float32), ctypes.c_float(0), Pair())
    count = np.zeros(1, np.uint32)
    driver.device_to_host(count, memory, size)
    assert (count[0], size) == (10, 4)
    driver.host_to_device(memory, np.array([100], np.uint32), size)
    launch(module.get_function("add"), 3, cuda.device_array(3, np.float32), ctypes.c_float(0), Pair())
    driver.device_to_host(count, memory, size)
    assert count[0] == 103


def test_faults_in_modules_are_reported_with_their_line():
    values = cuda.to_device(np.zeros(4, np.float32))
    with pytest.raises(errors.KernelMemoryError, match=r"tid=\[4, 0, 0\]") as caught:
        launch(load().get_function("add"), 5, values, ctypes.c_float(1), Pair())
    assert caught.value.findings[0].location[0].line == 1 + COUNTED_ADD[
        : COUNTED_ADD.index("ld.global")
    ].count("\n")


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: load().get_function("sub"), 500),
        (lambda: load().get_global_symbol("nothing"), 500),
        (lambda: load(HEAD + ".entry f() { nonsense; }"), 218),
        (lambda: cuda.current_context().create_module_image(b"\x7fELF\2\1"), 200),
        (lambda: driver.launch_kernel(12345, 1, 1, 1, 1, 1, 1, 0, 0, ()), 400),
        (lambda: launch(load().get_function("add"), 2000, np.uint64(0), np.float32(0), Pair()), 1),
        (lambda: launch(load().get_function("add"), 0, np.uint64(0), np.float32(0), Pair()), 1),
    ],
)
def test_what_a_driver_refuses(call, code):
    with pytest.raises(driver.CudaAPIError) as caught:
        call()
    assert caught.value.code == code


def test_parameters_have_to_fit():
    function = load().get_function("add")
    with pytest.raises(TypeError, match="takes 3 parameters, got 1"):
        launch(function, 1, np.uint64(0))
    with pytest.raises(TypeError, match="parameter summand of add has 4 bytes"):
        launch(function, 1, np.uint64(0), ctypes.c_double(1), Pair())
    with pytest.raises(TypeError, match="ctypes or NumPy"):
        launch(function, 1, np.uint64(0), 1.5, Pair())


def test_unloaded_modules_are_gone():
    torn_down = []
    module = cuda.current_context().create_module_image(COUNTED_ADD, teardown_callbacks=[torn_down.append])
    function = module.get_function("add")
    module.unload()
    module.unload()
    assert torn_down == [module]
    with pytest.raises(driver.CudaAPIError, match="unloaded"):
        launch(function, 1, np.uint64(0), np.float32(0), Pair())
    other = load()
    cuda.current_context().reset()
    with pytest.raises(driver.CudaAPIError, match="unloaded"):
        other.get_global_symbol("counter")


def test_linker_puts_modules_together(tmp_path):
    linker = driver.Linker.new(cc=(8, 0))
    linker.add_ptx(CALLER)
    (tmp_path / "half.ptx").write_text(HALF)
    linker.add_file_guess_ext(tmp_path / "half.ptx")
    code = linker.complete()
    for image in (code, code.code):
        out = cuda.to_device(np.zeros(1, np.uint32))
        launch(cuda.current_context().create_module_image(image).get_function("store"), 1, out, np.uint32(42))
        assert out.copy_to_host()[0] == 21
    assert b".entry store" in linker.get_linked_ptx() and b"shr.u32" in linker.get_linked_ptx()


def test_linker_says_what_does_not_fit(tmp_path):
    linker = driver.Linker.new(cc=(8, 0))
    linker.add_ptx(CALLER.encode())
    with pytest.raises(driver.LinkerError, match="Undefined reference to 'half'"):
        linker.complete()
    assert "Undefined reference to 'half'" in linker.error_log
    with pytest.raises(driver.LinkerError, match="wrong, line 4"):
        linker.add_ptx(HEAD + "nonsense", "wrong")
    with pytest.raises(driver.LinkerError, match=r"none.ptx not found"):
        linker.add_file_guess_ext(tmp_path / "none.ptx")
    with pytest.raises(driver.LinkerError, match="cannot be simulated"):
        linker.add_cubin(b"\x7fELF")
    with pytest.raises(RuntimeError, match="Don't know how to link file with extension .xyz"):
        linker.add_file_guess_ext("file.xyz")
    with pytest.raises(RuntimeError, match="Don't know how to link file with no extension"):
        linker.add_file_guess_ext("file")


def test_callbacks_of_linked_code():
    calls = []
    text = (
        HEAD
        + """
.visible .global .align 4 .u32 number;
.visible .func (.param .b32 status) number_of(.param .b64 result)
{ .reg .b32 %r; .reg .b64 %rd<2>;
  mov.u64 %rd0, number; ld.global.u32 %r, [%rd0]; ld.param.u64 %rd1, [result]; st.u32 [%rd1], %r;
  st.param.b32 [status], 0; ret; }
"""
    )

    def set_up(module):
        memory, size = module.get_global_symbol("number")
        driver.host_to_device(memory, np.array([42], np.uint32), size)
        calls.append("set up")

    code = cuda.PTXSource(
        text, setup_callback=set_up, teardown_callback=lambda module: calls.append("torn down")
    )
    number_of = cuda.declare_device("number_of", "uint32()", link=code)

    @cuda.jit
    def store(out):
        out[0] = number_of()

    out = np.zeros(1, np.uint32)
    store[1, 1](out)
    store[1, 1](out)
    assert out[0] == 42 and calls == ["set up"]
    watched = weakref.ref(store)
    del store
    gc.collect()
    assert watched() is None and calls == ["set up", "torn down"]


def test_occupancy():
    context, function = cuda.current_context(), load().get_function("add")
    multiprocessors = cuda.get_current_device().MULTIPROCESSOR_COUNT
    assert context.get_active_blocks_per_multiprocessor(function, 128, 0) == 16
    assert context.get_active_blocks_per_multiprocessor(function, 128, 100_000) == 2
    assert context.get_active_blocks_per_multiprocessor(function, 5000, 0) == 0
    assert context.get_max_potential_block_size(function, None, 0, 0) == (2 * multiprocessors, 1024)
    assert context.get_max_potential_block_size(function, None, 0, 100)[1] == 64
    blocks, threads = context.get_max_potential_block_size(function, lambda block: 400 * block, 0, 0)
    assert (
        threads * 400 <= cuda.get_current_device().MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        and blocks == multiprocessors
    )

    @cuda.jit("void(float32[:])")
    def kernel(x):
        tile = cuda.shared.array(8192, np.float32)
        tile[0] = x[0]
        x[1] = tile[0]

    assert context.get_active_blocks_per_multiprocessor(next(iter(kernel.overloads.values())), 64, 0) == 6


def test_cuda_cpp_in_a_string():
    source = 'extern "C" __global__ void add(int *x) { x[threadIdx.x] += 7; }'
    if shutil.which("nvcc") is None:
        with pytest.raises(nvrtc.NvrtcSupportError, match="needs nvcc"):
            nvrtc.compile(source, "add.cu", (8, 0))
        return
    code, _ = nvrtc.compile(source, "add.cu", (8, 0))
    x = cuda.to_device(np.zeros(3, np.int32))
    launch(cuda.current_context().create_module_image(code.code).get_function("add"), 3, x)
    assert x.copy_to_host().tolist() == [7, 7, 7]
    with pytest.raises(nvrtc.NvrtcCompilationError, match=r"add.cu\(1\): error"):
        nvrtc.compile("int f() { return nothing; }", "add.cu", (8, 0))


def test_nvvm_ir_becomes_ptx():
    text = "define i32 @next(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n"
    made = nvvm.compile_ir(text, arch="compute_80")
    assert b".func" in made and b".target sm_80" in made
    with pytest.raises(nvvm.NvvmError, match="INVALID_IR"):
        nvvm.compile_ir("nonsense")
    with pytest.raises(nvvm.NvvmError, match="INVALID_OPTION"):
        nvvm.compile_ir(text, nonsense=1)


def test_transpose():
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(transpose(matrix).copy_to_host(), matrix.T)
    result = cuda.device_array((3, 2))
    assert transpose(cuda.to_device(matrix), result) is result
    np.testing.assert_array_equal(result.copy_to_host(), matrix.T)
    with pytest.raises(ValueError, match="shape"):
        transpose(matrix, cuda.device_array((2, 3)))
    with pytest.raises(NotImplementedError):
        transpose(np.zeros(3))


def test_launch_of_cuda_core_takes_kernels_of_modules(run_with_numba):
    done = run_with_numba.script(
        f"""
        import numpy as np
        from numba import cuda
        from cuda.core import LaunchConfig, launch
        from numba.cuda.cudadrv import driver

        module = cuda.current_context().create_module_ptx({COUNTED_ADD!r})
        values = cuda.to_device(np.zeros(8, np.float32))
        address = values.__cuda_array_interface__["data"][0]
        launch(cuda.stream(), LaunchConfig(grid=1, block=4), module.get_function("add").kernel, address, np.float32(3), np.zeros(2))
        print(values.copy_to_host().tolist())
        try:
            launch(cuda.stream(), LaunchConfig(grid=1, block=4), 5)
        except TypeError as error:
            print(error)
        """,
        ENABLE_CUDASIM="1",
    )
    if "No module named 'cuda" in done.stderr:
        pytest.skip("cuda.core is not installed")
    assert done.stdout.splitlines()[0] == "[3.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0]", done.stderr
    assert "Argument 'kernel' has incorrect type" in done.stdout


def test_kernels_with_c_pointers_are_compiled_loaded_and_launched():
    from cudasim import types

    def scale(x, count, out):
        i = cuda.grid(1)
        if i < count:
            out[i] = x[i] * 2 + x[i - 1]
            out[i] += 1

    pointer = types.CPointer(types.float32)
    ptx, _ = cuda.compile_ptx(scale, (pointer, types.int32, types.CPointer(types.float64)), device=False)
    module = load(ptx)
    function = module.get_function(module.image.kernels[0]["name"])
    x, out = cuda.to_device(np.arange(9, dtype=np.float32)), cuda.to_device(np.zeros(8))
    launch(function, 32, x[1:], np.int32(8), out)
    np.testing.assert_array_equal(out.copy_to_host(), np.arange(1, 9) * 2 + np.arange(8) + 1)
    with pytest.raises(errors.KernelMemoryError, match="behind the end"):
        launch(function, 32, x[1:], np.int32(12), out)


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("void(CPointer(float32), float32)", r"float32\* cannot be indexed with float32"),
        ("void(voidptr, int32)", "cannot be indexed"),
    ],
)
def test_what_c_pointers_cannot_do(signature, message):
    def function(x, i):
        x[i] = 1

    with pytest.raises(errors.TypingError, match=message):
        cuda.compile(function, signature)
