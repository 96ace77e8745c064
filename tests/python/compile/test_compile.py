"""cuda.compile and its kind, against what Numba's documentation says of them, and what dispatchers show of their code."""

import math
import re

import numpy as np
import pytest
from cudasim import _native, cuda, errors, options, types
from cudasim.compile.gpu_code import estimated_registers
from cudasim.cuda.cudadrv.error import LinkerError
from cudasim.types import boolean, float32, float64, int8, int32, int64, void

HAS_PTXAS = _native.find_toolkit_file("bin/ptxas") is not None


def add(x, y):
    return x + y


def add_arrays(r, x, y):
    i = cuda.grid(1)
    if i < r.size:
        r[i] = x[i] + y[i]


def first(a, i):
    return a[i, 0]


def item(a, i):
    return a[i]


def is_small(x, limit):
    return x < limit


def trigonometry(x):
    return math.sin(x) + math.cos(x) + math.tan(x) + math.exp(x) / math.log(x) + x**0.3


def entry(ptx):
    """(kind, name, types of the parameters) of the one visible function in the PTX."""
    (found,) = re.findall(r"\.visible \.(entry|func)\s*(?:\([^)]*\))?\s*([\w$]+)\(([^)]*)\)", ptx)
    return found[0], found[1], re.findall(r"\.param \.(?:align \d+ \.)?(\w+)", found[2])


def test_device_functions_have_the_c_abi_and_their_own_name():
    ptx, result = cuda.compile(add, float32(float32, float32))
    assert entry(ptx) == ("func", "add", ["b32", "b32"]) and result == float32
    assert "(.param .b32 func_retval0)" in ptx and "add.f32" in ptx.replace("rn.", "") and ".entry" not in ptx
    assert ".loc" not in ptx and ".debug" not in ptx


def test_kernels_are_what_compile_ptx_makes():
    ptx, result = cuda.compile_ptx(add_arrays, (float32[:], float32[:], float32[:]))
    assert entry(ptx)[0] == "entry" and result == void and ".func" not in ptx


@pytest.mark.parametrize("sig, result", [
    ((int32, int32), "int64"), ((float32, int32), "float64"), ("float32(float64, float64)", "float32"),
    (int64(int32, int8), "int64"), ((float32, float32), "float32"), (types.Signature(None, (int32, float32)), "float64"),
])  # fmt: skip
def test_results_are_inferred_or_converted(sig, result):
    assert str(cuda.compile(add, sig)[1]) == result


def test_arguments_have_the_sizes_of_the_c_abi():
    ptx, result = cuda.compile(first, (float64[:, ::1], int32))
    # two pointers of Numba's memory management, two sizes, the data, two extents, two strides; the index
    assert entry(ptx)[2] == ["b64"] * 9 + ["b32"] and result == float64
    ptx, result = cuda.compile(is_small, (boolean, int8))
    assert entry(ptx)[2] == ["b32", "b32"] and result == boolean and "st.param.b32" in ptx


def test_array_elements_come_from_the_data_pointer():
    ptx, _ = cuda.compile(item, (float32[::1], int64))
    assert re.search(r"ld\.param\.u64\s+%rd\d+, \[item_param_4\]", ptx) and "item_param_0]" not in ptx


def test_names_can_be_given():
    ptx, _ = cuda.compile(add, (int32, int32), abi_info={"abi_name": "my_add"})
    assert entry(ptx)[1] == "my_add"
    with pytest.raises(ValueError, match="name of a function in PTX"):
        cuda.compile(add, (int32, int32), abi_info={"abi_name": "my add"})


def test_numbas_abi_returns_a_status():
    ptx, result = cuda.compile(add, (float32, float32), abi="numba")
    kind, name, parameters = entry(ptx)
    assert (
        kind == "func"
        and name.startswith("_ZN")
        and parameters == ["b64", "b32", "b32"]
        and result == float32
    )


def test_the_compute_capability_is_the_targets():
    for cc, target in (
        ((5, 0), "sm_50"),
        ((8, 6), "sm_86"),
        ((9, 0), "sm_90"),
        ((8, 8), "sm_87"),
        (None, "sm_75"),
    ):
        assert f".target {target}\n" in cuda.compile(add, (int32, int32), cc=cc)[0]
    with pytest.raises(RuntimeError, match="3.5 is not supported"):
        cuda.compile(add, (int32, int32), cc=(3, 5))
    here = "sm_{}{}".format(*cuda.get_current_device().compute_capability)
    assert f".target {here}\n" in cuda.compile_for_current_device(add, (int32, int32))[0]
    assert f".target {here}\n" in cuda.compile_ptx_for_current_device(add_arrays, (int32[:],) * 3)[0]


@pytest.mark.parametrize("arguments, error, message", [
    ({"output": "sass"}, NotImplementedError, "Unsupported output type: sass"),
    ({"output": "ltoir"}, NotImplementedError, "LTO-IR"),
    ({"abi": "cpp"}, NotImplementedError, "Unsupported ABI: cpp"),
    ({"device": False}, NotImplementedError, "C ABI is not supported for kernels"),
    ({"device": False, "abi": "numba"}, TypeError, "must have void return type"),
    ({"forceinline": True}, ValueError, "forced inlining in LTO-IR"),
    ({"forceinline": True, "output": "ltoir", "device": False, "abi": "numba"}, ValueError, "Cannot force-inline kernels"),
    ({"sig": (float32,)}, TypeError, "Signature mismatch: 1 argument types given, but function takes 2"),
    ({"sig": 3}, TypeError, "invalid signature: 3"),
    ({"sig": void(float32, float32)}, errors.TypingError, "No conversion from float32 to none"),
    ({"pyfunc": 3}, TypeError, "3 is not a callable object"),
])  # fmt: skip
def test_wrong_forms_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        cuda.compile(**{"pyfunc": add, "sig": (float32, float32), **arguments})


def test_a_kernel_returns_nothing():
    with pytest.raises(TypeError, match="must have void return type"):
        cuda.compile_ptx(add_arrays, int32(float32[:], float32[:], float32[:]))
    assert cuda.compile_ptx(add_arrays, void(float32[:], float32[:], float32[:]))[1] == void


def test_compile_all_gives_a_list():
    (ptx,), result = cuda.compile_all(add, (int32, int32), output="ptx")
    assert entry(ptx)[1] == "add" and result == int64


def test_line_information_and_debug_information():
    lines, _ = cuda.compile(add, (float32, float32), lineinfo=True)
    line = add.__code__.co_firstlineno + 1
    assert (
        re.search(rf"\.loc\s+1 {line} ", lines) and "test_compile.py" in lines and ".debug_info" not in lines
    )
    assert ".target sm_75\n" in lines
    debug, _ = cuda.compile(add, (float32, float32), debug=True, opt=False)
    assert (
        ".target sm_75, debug" in debug and ".debug_info" in debug and re.search(rf"\.loc\s+1 {line} ", debug)
    )
    with pytest.warns(errors.NumbaInvalidConfigWarning, match="not supported by CUDA"):
        cuda.compile(add, (float32, float32), debug=True, opt=True)


def test_fastmath_takes_what_the_processor_has():
    fast, _ = cuda.compile(trigonometry, (float32,), fastmath=True)
    for instruction in ("sin.approx.ftz.f32", "cos.approx.ftz.f32", "div.approx.ftz.f32", "ex2.approx.ftz.f32",
                        "lg2.approx.ftz.f32"):  # fmt: skip
        assert instruction in fast, instruction
    assert "__nv_" not in fast
    exact, _ = cuda.compile(trigonometry, (float32,))
    assert (
        not {"sin.approx", "cos.approx", "div.approx"} & set(re.findall(r"\w+\.approx", exact))
        and "div.rn.f32" in exact
    )
    double, _ = cuda.compile(trigonometry, (float64,), fastmath=True)
    assert "sin.approx" not in double


def root_and_rest(x, y):
    return math.sqrt(x) + x * y


def test_fastmath_approximates_square_roots():
    fast, _ = cuda.compile(root_and_rest, (float32, float32), fastmath=True)
    assert "sqrt.approx.ftz.f32" in fast
    exact, _ = cuda.compile(root_and_rest, (float32, float32))
    assert "sqrt.rn.f32" in exact


def test_ptx_is_fused_as_the_gpus_compiler_does_unless_option_fma_says_no():
    assert "fma.rn.f32" in cuda.compile(root_and_rest, (float32, float32))[0]
    with options.override(fma=False):
        assert "fma.rn.f32" not in cuda.compile(root_and_rest, (float32, float32))[0]


def test_optimisation_can_be_switched_off():
    def many(x):
        y = x * 2
        y = y * 2
        return y + 0 * x

    optimised, _ = cuda.compile(many, (int32,))
    plain, _ = cuda.compile(many, (int32,), opt=False)
    assert len(plain.splitlines()) > len(optimised.splitlines())


def test_launch_bounds_and_registers_are_directives():
    arrays = (float32[:],) * 3
    assert ".maxntid 128" in cuda.compile_ptx(add_arrays, arrays, launch_bounds=128)[0]
    both = cuda.compile_ptx(add_arrays, arrays, launch_bounds=(128, 2))[0]
    assert ".maxntid 128" in both and ".minnctapersm 2" in both
    cluster = cuda.compile_ptx(add_arrays, arrays, launch_bounds=(128, 2, 4), cc=(9, 0))[0]
    assert ".maxclusterrank 4" in cluster
    assert ".maxntid" not in cuda.compile_ptx(add_arrays, arrays)[0]
    limited = cuda.jit("void(float32[:], float32[:], float32[:])", max_registers=24, launch_bounds=64)(
        add_arrays
    )
    (ptx,) = limited.inspect_asm().values()
    assert ".maxnreg 24" in ptx and ".maxntid 64" in ptx
    assert 0 < limited.get_regs_per_thread() <= 24 and limited.get_max_threads_per_block() == 64


def test_a_device_function_that_calls_others_is_whole():
    @cuda.jit(device=True)
    def twice(x):
        return x + x

    def four_times(x):
        return twice(twice(x))

    ptx, result = cuda.compile(four_times, (float64,))
    assert entry(ptx)[1] == "four_times" and result == float64 and ".extern" not in ptx


def test_functions_without_parameters_and_recursive_ones():
    def answer():
        return 42

    ptx, result = cuda.compile(answer, ())
    assert entry(ptx) == ("func", "answer", []) and result == int64


@pytest.mark.skipif(not HAS_PTXAS, reason="there is no ptxas")
def test_ptxas_accepts_what_compile_makes(tmp_path):
    import subprocess

    for ptx in (cuda.compile(add, (float32, float32))[0], cuda.compile(add, (float32, float32), debug=True, opt=False)[0],
                cuda.compile_ptx(add_arrays, (float32[:],) * 3, lineinfo=True)[0]):  # fmt: skip
        command = [
            _native.find_toolkit_file("bin/ptxas"),
            "-arch=sm_75",
            "-c",
            "-o",
            str(tmp_path / "a"),
            "-",
        ]
        done = subprocess.run(command, input=ptx, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


# -- what dispatchers show --------------------------------------------------------------------------------


@cuda.jit
def scale(x, factor):
    shared = cuda.shared.array(32, float64)
    i = cuda.grid(1)
    shared[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    x[i] = shared[31 - cuda.threadIdx.x] * factor


def launched():
    kernel = cuda.jit(scale.py_func)
    kernel[1, 32](np.ones(32), 2.0)
    kernel[1, 32](np.ones(32, np.float32), 2)
    return kernel


def test_everything_is_found_by_signature_in_any_form():
    kernel = launched()
    wanted = (float64[::1], float64)
    assert len(kernel.overloads) == 2 and kernel.signatures == [wanted, (float32[::1], int64)]
    compiled = kernel.overloads[wanted]
    for form in (wanted, ("array(float64, 1d, C)", "float64"), void(*wanted), kernel.nopython_signatures[0],
                 kernel.signatures[0]):  # fmt: skip
        assert kernel.overloads[form] is compiled and form in kernel.overloads
        assert kernel.inspect_llvm(form) == compiled.inspect_llvm()
        assert kernel.inspect_asm(form) == kernel.inspect_asm()[form] == compiled.inspect_asm()
        assert kernel.get_shared_mem_per_block(form) == 256 == kernel.get_shared_mem_per_block()[form]
        assert kernel.get_max_threads_per_block(form) == 1024
        assert kernel.get_regs_per_thread(form) == compiled.regs_per_thread > 0
    with pytest.raises(KeyError):
        kernel.overloads[(int8,)]
    assert (
        str(kernel.nopython_signatures[0]) == "(Array(float64, 1, 'C', False, aligned=True), float64) -> none"
    )


def test_one_signature_specialises_and_gives_numbers():
    kernel = cuda.jit("void(float64[::1], float64)")(scale.py_func)
    assert kernel.specialized and kernel.get_shared_mem_per_block() == 256
    assert isinstance(kernel.get_regs_per_thread(), int) and kernel.get_local_mem_per_thread() == 0
    several = cuda.jit(["void(float64[::1], float64)", "void(float32[::1], float32)"])(scale.py_func)
    assert not several.specialized and len(several.get_shared_mem_per_block()) == 2
    with pytest.raises(RuntimeError, match="Compilation disabled"):
        kernel.compile("void(int8[:], int8)")
    with pytest.raises(RuntimeError, match="already specialized"):
        kernel.specialize(np.ones(1), 1.0)


def test_ambiguous_declarations_are_refused_for_what_fits_them_equally():
    def store(r, a, b):
        r[0] = a + b

    kernel = cuda.jit(["void(float64[::1], int64, float64)", "void(float64[::1], float64, int64)"])(store)
    r = np.zeros(1)
    kernel[1, 1](r, 1, 2.5)
    assert r[0] == 3.5
    array = r"\(Array\(float64, 1, 'C', False, aligned=True\)"
    expected = rf"Ambiguous overloading for <function .*store.*> {array}, int64, int64\):\n{array}, "
    with pytest.raises(TypeError, match=expected):
        kernel[1, 1](r, 1, 2)


def test_ir_has_the_debug_information_that_was_asked_for():
    signature = "void(float32[::1], float32[::1], float32[::1])"
    shown = [next(iter(cuda.jit(signature, **options)(add_arrays).inspect_llvm().values()))
             for options in ({}, {"lineinfo": True}, {"debug": True, "opt": False})]  # fmt: skip
    kinds = [re.findall(r"emissionKind: (\w+)", text) for text in shown]
    assert (
        kinds == [[], ["DebugDirectivesOnly"], ["FullDebug"]]
        and "!dbg" not in shown[0]
        and "!dbg" in shown[1]
    )


def test_specialisations_are_kept():
    x = np.ones(32)
    assert scale.specialize(x, 1.0) is scale.specialize(x, 2.0) is not scale.specialize(x, 1)


def test_memory_that_a_kernel_takes():
    table = np.arange(50, dtype=np.int32)

    @cuda.jit("void(int32[::1], int32)")
    def look_up(x, n):
        constant = cuda.const.array_like(table)
        local = cuda.local.array(20, int64)
        for i in range(20):
            local[(i * n) % 20] = i
        x[0] = constant[local[n]]

    assert look_up.get_const_mem_size() >= 200 and look_up.get_local_mem_per_thread() >= 160


def test_more_values_alive_take_more_registers():
    def kernel_of(count):
        names = [f"v{i}" for i in range(count)]
        body = "".join(f"    {name} = x[{i}]\n" for i, name in enumerate(names))
        source = (
            f"def k(x):\n{body}    cuda.syncthreads()\n    x[0] = {' + '.join(f'{n} * {n}' for n in names)}\n"
        )
        namespace = {"cuda": cuda}
        exec(source, namespace)
        import linecache

        linecache.cache["<registers>"] = (len(source), None, source.splitlines(True), "<registers>")
        exec(compile(source, "<registers>", "exec"), namespace)
        return cuda.jit("void(float64[::1])")(namespace["k"])

    few, many = kernel_of(2), kernel_of(40)
    assert 0 < few.get_regs_per_thread() < many.get_regs_per_thread() <= 255
    estimates = [estimated_registers(next(iter(kernel.inspect_asm().values()))) for kernel in (few, many)]
    assert 0 < estimates[0] < 30 and estimates[0] + 30 < estimates[1] <= 255


def test_what_lives_into_a_loop_counts_in_all_of_it():
    head = ".visible .entry k()\n{\n.reg .b64 %rd<9>;\nmov.u64 %rd1, 1;\n"
    straight = "add.s64 %rd2, %rd1, 1;\nmov.u64 %rd3, 2;\nadd.s64 %rd4, %rd3, %rd3;\n"
    once = estimated_registers(head + straight)
    looped = estimated_registers(head + "$L__BB0_1:\n" + straight + "bra $L__BB0_1;\n")
    assert looped == once + 2  # %rd1, two 32-bit registers, is still wanted when %rd3 and %rd4 live


def test_types_are_shown_beside_the_source(capsys):
    launched().inspect_types()
    shown = capsys.readouterr().out
    assert (
        "shared[cuda.threadIdx.x] = x[i]" in shown and "array(float64, 1d, C)" in shown and "int64" in shown
    )


@pytest.mark.skipif(HAS_PTXAS, reason="there is a CUDA toolkit")
def test_machine_code_needs_a_toolkit():
    kernel = launched()
    for inspect in (kernel.inspect_sass, kernel.inspect_sass_cfg):
        with pytest.raises(RuntimeError, match="ptxas and nvdisasm not found.*CUDA toolkit"):
            inspect()


@pytest.mark.skipif(
    not HAS_PTXAS or _native.find_toolkit_file("bin/nvdisasm") is None, reason="there is no CUDA toolkit"
)
def test_machine_code_comes_from_the_toolkit():
    kernel = launched()
    wanted = (float64[::1], float64)
    assert "BAR.SYNC" in kernel.inspect_sass(wanted) and len(kernel.inspect_sass()) == 2
    assert "digraph" in kernel.inspect_sass_cfg(wanted)


def test_device_functions_have_overloads_when_kernels_called_them():
    @cuda.jit(device=True)
    def half(x):
        return x / 2

    @cuda.jit
    def kernel(x):
        x[0] = half(x[0])

    assert not half.overloads
    kernel[1, 1](np.ones(1))
    assert (
        list(half.overloads) == [(float64,)] and str(half.nopython_signatures[0]) == "(float64,) -> float64"
    )
    assert "define" in half.inspect_llvm((float64,)) and ".func" in half.inspect_asm((float64,))
    made = half.compile_device((int32,))
    assert made.signature.return_type == float64 and len(half.overloads) == 2
    assert ".func" in made.library.get_asm_str()
    with pytest.raises(RuntimeError, match="device function"):
        half.inspect_sass()
    declared = cuda.jit("int32(int32)", device=True)(half.py_func)
    assert [str(sig) for sig in declared.nopython_signatures] == ["(int32,) -> int32"]


def test_recompiling_sees_new_globals():
    kernel = cuda.jit(uses_global)
    x = np.zeros(1)
    kernel[1, 1](x)
    globals()["AMOUNT"] = 5
    try:
        kernel.recompile()
        kernel[1, 1](x)
    finally:
        globals()["AMOUNT"] = 3
    assert x[0] == 8


AMOUNT = 3


def uses_global(x):
    x[0] += AMOUNT


def test_arguments_pass_through_extensions():
    class Boxed:
        def __init__(self, array):
            self.array = array

    class Unbox:
        def prepare_args(self, ty, val, stream, retr):
            retr.append(lambda: log.append(type(val).__name__))
            return (ty, val.array) if isinstance(val, Boxed) else (ty, val)

    log = []
    kernel = cuda.jit(extensions=[Unbox()])(uses_global)
    x = np.zeros(1)
    kernel[1, 1](Boxed(x))
    assert x[0] == 3 and log == ["Boxed"] and len(kernel.extensions) == 1


def test_declared_functions_need_a_result_and_code():
    outer = cuda.declare_device("outer", "int32(int32)")
    assert outer.name == "outer" and str(outer.sig) == "(int32,) -> int32"
    with pytest.raises(TypeError, match="Return type must be provided"):
        cuda.declare_device("outer", (int32,))
    with pytest.raises(NotImplementedError, match="Unsupported ABI"):
        cuda.declare_device("outer", "int32(int32)", abi="cpp")

    @cuda.jit
    def kernel(x):
        x[0] = outer(x[0])

    with options.override(mode="native"), pytest.raises(LinkerError, match="Undefined reference to 'outer'"):
        kernel[1, 1](np.zeros(1, np.int32))


def test_unknown_keywords_of_device_functions_are_accepted():
    cuda.jit(device=True, nopython=True)(add)
    assert cuda.jit(device=True, link=["a.ptx"])(add).links == ("a.ptx",)


def test_performance_warnings_follow_numbas_switches(run):
    code = """
        import warnings
        import numpy as np
        from numba import config, cuda
        from numba.core.errors import NumbaPerformanceWarning

        @cuda.jit
        def kernel(x):
            x[0] = 1

        def caught(grid, argument):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always", NumbaPerformanceWarning)
                kernel[grid, 1](argument)
            return [(str(each.message).split()[0], each.category is NumbaPerformanceWarning, each.lineno) for each in found]

        x = np.zeros(1)
        print(caught(1, x), caught(127, cuda.to_device(x)), caught(128, x), caught(128, cuda.to_device(x)))
        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
        print(caught(2, cuda.to_device(x)))
        config.CUDA_WARN_ON_IMPLICIT_COPY = 0
        print(caught(3, x))
    """
    done = run.script(code, ENABLE_CUDASIM="1", CUDASIM_REPORT_AS_SIMULATOR="0")
    line = 14
    grid, host = f"('Grid', True, {line})", f"('Host', True, {line})"
    assert done.stdout.splitlines() == [f"[{grid}, {host}] [{grid}] [{host}] []", "[]", "[]"], done.stderr
    silent = run.script(code, ENABLE_CUDASIM="1")
    assert silent.stdout.splitlines() == ["[] [] [] []", "[]", "[]"], silent.stderr
    asked = run.script(code, ENABLE_CUDASIM="1", NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="1")
    assert asked.stdout.splitlines()[0] == f"[{grid}] [{grid}] [] []", asked.stderr
