"""nvcc's command line: what options mean, how they are written, and what is refused."""

from __future__ import annotations

import re
import shlex

import pytest
from cuda_programs import NVCC, TOOLKIT, needs_clang, nvcc


@pytest.fixture
def folder(tmp_path):
    for name in ("a.cu", "b.cu", "c.cpp", "d.c"):
        (tmp_path / name).write_text("int main() {}\n")
    (tmp_path / "e.o").write_bytes(b"")
    return tmp_path


def commands(folder, *arguments: str, **variables: str) -> list[list[str]]:
    """The commands that --dryrun prints, as words."""
    result = nvcc("--dryrun", *arguments, cwd=folder, **variables)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    lines = [line[3:] for line in result.stderr.splitlines() if line.startswith("#$ ")]
    return [shlex.split(line) for line in lines if not re.match(r"\w+=|-- ", line)]


def device_and_host(folder, *arguments: str, **variables: str) -> tuple[list[str], list[str]]:
    found = commands(folder, "-c", "a.cu", *arguments, **variables)
    assert "--cuda-device-only" in found[0] and "--cuda-host-only" in found[1]
    return found[0], found[1]


def fatal(folder, *arguments: str, **variables: str) -> str:
    result = nvcc(*arguments, cwd=folder, **variables)
    assert result.returncode == 1
    assert result.stderr.startswith("nvcc fatal   : "), result.stderr
    return result.stderr.removeprefix("nvcc fatal   : ").strip()


def has(words: list[str], *expected: str) -> bool:
    """Whether the words stand in the command, one after the other."""
    return any(tuple(words[i : i + len(expected)]) == expected for i in range(len(words)))


def test_version_is_what_build_systems_parse(folder):
    result = nvcc("--version", cwd=folder)
    assert "nvcc: NVIDIA (R) Cuda compiler driver" in result.stdout
    assert re.search(r"^Cuda compilation tools, release 13\.0, V[1]3\.0\.\d+$", result.stdout, re.MULTILINE)
    assert "cudasim" in result.stdout
    assert result.stdout == nvcc("-V", cwd=folder).stdout


def test_help_and_its_table_list_every_option(folder):
    text = nvcc("--help", cwd=folder).stdout
    table = nvcc("--help-markdown", cwd=folder).stdout.splitlines()
    names = re.findall(r"^(--[\w-]+)", text, re.MULTILINE)
    assert {"--output-file", "--gpu-architecture", "--use_fast_math", "--keep-dir"} <= set(names)
    assert len(set(names)) == len(names) == len(table) - 2
    assert max(map(len, text.splitlines())) <= 110
    kinds = {row.replace("\\|", "/").split(" | ")[1] for row in table[2:]}
    assert kinds == {"honoured", "passed on", "without meaning here", "refused"}
    for row in table:
        assert len(re.findall(r"(?<!\\)\|", row)) == 4, row


@needs_clang
def test_short_and_long_names_with_and_without_equals_signs(folder):
    forms = [
        ["-o", "x.o", "-DA=1", "-Iinc", "-O3", "-std=c++14", "-arch=sm_80", "-Xcompiler", "-Wall"],
        ["-o", "x.o", "-D", "A=1", "-I", "inc", "-O", "3", "-std", "c++14", "-arch", "sm_80", "-Xcompiler=-Wall"],
        ["--output-file=x.o", "--define-macro=A=1", "--include-path=inc", "--optimize=3", "--std=c++14",
         "--gpu-architecture=sm_80", "--compiler-options=-Wall"],
        ["--output-file", "x.o", "--define-macro", "A=1", "--include-path", "inc", "--optimize", "3", "--std", "c++14",
         "--gpu-architecture", "sm_80", "--compiler-options", "-Wall"],
    ]  # fmt: skip
    for form in forms:
        device, host = device_and_host(folder, *form)
        for words in (device, host):
            for expected in ("-DA=1", "-Iinc", "-std=c++14", "--cuda-gpu-arch=sm_80", "-Wall"):
                assert expected in words, (form, expected)
        assert host[-2:] == ["-o", "x.o"]
        assert "-O3" in host and "-O3" not in device


@needs_clang
def test_lists_have_commas_and_options_repeat(folder):
    device, host = device_and_host(
        folder, "-DA,B=2", "-D", "F(x,y)=x", "-Ia,b", "-I", "c", "-Xcompiler", "-Wall,-g -O1"
    )
    for expected in ("-DA", "-DB=2", "-DF(x,y)=x", "-Ia", "-Ib", "-Ic"):
        assert expected in device
    assert has(host, "-Wall", "-g", "-O1")
    assert "-g" in device and "-O1" in device  # its own
    link = commands(folder, "e.o", "-lm,z", "-Lp,q", "-Xlinker", "-rpath,/x", "-l", "k")[-1]
    assert has(link, "-lm", "-lz", "-lk")
    assert has(link, "-Lp", "-Lq")
    assert has(link, "-Xlinker", "-rpath", "-Xlinker", "/x")
    # Those of the toolkit come first: the user's can be an installed toolkit's.
    assert link.index(f"-L{TOOLKIT / 'lib64'}") < link.index("-Lp")


@needs_clang
def test_options_come_from_files_and_from_the_environment(folder):
    (folder / "options").write_text("-DA='x y'\n -O2 -optf more\n")
    (folder / "more").write_text("-DB")
    device, host = device_and_host(
        folder, "--options-file", "options", NVCC_PREPEND_FLAGS="-O1 -DC", NVCC_APPEND_FLAGS="-DD"
    )
    assert {"-DA=x y", "-DB", "-DC", "-DD"} <= set(device)
    assert "-O2" in host and "-O1" not in host
    assert "Could not open" in fatal(folder, "-c", "a.cu", "-optf", "nothing")
    (folder / "more").write_text("-optf options")
    assert "name each other" in fatal(folder, "-c", "a.cu", "-optf", "options")


@needs_clang
@pytest.mark.parametrize(
    ("options", "chosen", "listed"),
    [
        ([], "sm_75", "750"),
        (["-arch=native"], "sm_90", "900"),
        (["-arch=compute_80"], "sm_80", "800"),
        (["-arch=sm_90a"], "sm_90a", "900"),
        (["-arch=sm_120"], "sm_90a", "1200"),
        (["-arch=sm_35"], "sm_60", "350"),
        (["-arch=sm_13", "-gencode=arch=compute_20,code=sm_20"], "sm_60", "130,200"),
        (["-arch=compute_80", "-code=sm_86,compute_80"], "sm_80", "800"),
        (["-gencode", "arch=compute_70,code=sm_70", "-gencode=arch=compute_86,code=[sm_86,compute_86]",
          "--generate-code", "arch=compute_100,code=sm_100"], "sm_86", "700,860,1000"),
        (["-arch=all-major"], "sm_90", "750,800,900,1000,1100,1200"),
    ],
)  # fmt: skip
def test_one_architecture_is_chosen(folder, options, chosen, listed):
    for words in device_and_host(folder, *options):
        assert f"--cuda-gpu-arch={chosen}" in words
        assert f"-D__CUDA_ARCH_LIST__={listed}" in words


@needs_clang
def test_options_of_the_language_define_what_nvcc_defines(folder):
    device, host = device_and_host(
        folder,
        "-use_fast_math",
        "--extended-lambda",
        "--expt-relaxed-constexpr",
        "--default-stream",
        "per-thread",
        "-G",
    )
    for words in (device, host):
        assert {
            "-D__CUDA_FTZ=1", "-D__CUDA_PREC_DIV=0", "-D__CUDA_PREC_SQRT=0", "-D__CUDACC_EXTENDED_LAMBDA__=1",
            "-D__CUDACC_RELAXED_CONSTEXPR__=1", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1", "-D__CUDACC_DEBUG__=1",
            "-D__NVCC__=1", "-D__CUDACC_VER_MAJOR__=13",
        } <= set(words)  # fmt: skip
    assert "-fgpu-flush-denormals-to-zero" in device
    device, _ = device_and_host(folder, "-fmad=false", "-rdc", "true")
    assert "-ffp-contract=off" in device and "-D__CUDACC_RDC__=1" in device


def test_host_sources_go_to_the_host_compiler(folder):
    found = commands(folder, "c.cpp", "d.c", "e.o", "-o", "program", "-g", "-cudart", "none", "-I", "inc")
    assert [words[:3] for words in found[:2]] == [["g++", "-x", "c++"], ["g++", "-x", "c"]]
    assert all(str(TOOLKIT / "include") in words and "-Iinc" in words for words in found[:2])
    link = found[2]
    assert not any(word.startswith("-lcudart") for word in link)
    assert link[-2:] == ["-o", "program"]
    assert commands(folder, "c.cpp", "-c", "-ccbin", "/usr/bin/gcc")[0][0] == "/usr/bin/g++"
    assert commands(folder, "-x", "c++", "-c", "a.cu")[0][:3] == ["g++", "-x", "c++"]


def test_libraries_shared_libraries_and_device_links(folder):
    assert commands(folder, "-lib", "e.o", "-o", "x.a")[-1] == ["ar", "qcs", "x.a", "e.o"]
    link = commands(folder, "-shared", "e.o", "-o", "x.so")[-1]
    assert "-shared" in link and "-lcudart_static" in link
    assert "-lcudart" in commands(folder, "e.o", "-cudart=shared")[-1]
    result = nvcc("-dlink", "-Xcompiler=-fPIC", "-shared", "e.o", "-o", "link.o", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert (folder / "link.o").read_bytes().startswith(b"\x7fELF")


def test_what_cmake_reads_is_printed(folder):
    result = nvcc("-v", "__cmake_determine_cuda", cwd=folder)
    assert f"#$ TOP={NVCC.parent}/.." in result.stderr
    assert f"#$ NVVMIR_LIBRARY_DIR={NVCC.parent}/../nvvm/libdevice" in result.stderr
    assert "#$ INCLUDES=" in result.stderr and "-arch compute_75" in result.stderr
    result = nvcc("--dryrun", "e.o", cwd=folder)
    libraries = re.search(r"LIBRARIES= *(.*)\n", result.stderr)[1]
    assert sum(libraries in line for line in result.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No input files specified"),
        (["-foo", "a.cu"], "Unknown option '-foo'"),
        (["--expt-relaxed-constexp", "a.cu"], "did you mean '--expt-relaxed-constexpr'?"),
        (["-use-fast-math", "a.cu"], "did you mean '--use_fast_math'?"),
        (["-fopenmp", "a.cu"], "-Xcompiler -fopenmp"),
        (["-Ofast", "a.cu"], "Unknown option '-Ofast'"),
        (["-O4", "a.cu"], "Value '4' is not defined for option 'optimize'"),
        (["-std=c++42", "a.cu"], "Value 'c++42' is not defined for option 'std'"),
        (["-arch=sm_45", "a.cu"], "Unsupported gpu architecture 'sm_45'"),
        (["-arch=", "a.cu", "-code=sm_80"], "needs '--gpu-architecture'"),
        (["-gencode", "compute_80", "a.cu"], "needs the form arch="),
        (["-gencode", "arch=compute_80,code=foo", "a.cu"], "Unsupported gpu architecture 'foo'"),
        (["-rdc=maybe", "a.cu"], "'true' or 'false' expected"),
        (["a.cu", "-o"], "Missing argument of option '-o'"),
        (["-c", "-E", "a.cu"], "contradict each other"),
        (["-dc", "-dw", "a.cu"], "contradict each other"),
        (["-lib", "-shared", "a.cu"], "contradict each other"),
        (["-run", "-c", "a.cu"], "--run"),
        (["-c", "a.cu", "b.cu", "-o", "x.o"], "A single input file is required for a non-link phase"),
        (["-cubin", "a.cu"], "makes no machine code"),
        (["-fatbin", "a.cu"], "makes no fat binaries"),
        (["-m32", "a.cu"], "32 bits"),
        (["a.foo"], "Don't know what to do with 'a.foo'"),
        (["-c", "nothing.cpp"], "Cannot find the input file 'nothing.cpp'"),
        (["-x", "fortran", "a.cu"], "Language 'fortran'"),
        (["-ccbin", "/nowhere/g++", "a.cu"], "Failed to find the host compiler"),
        (["-cudart=some", "a.cu"], "not defined for option 'cudart'"),
        (["--verbose=1", "a.cu"], "takes no value"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(folder, arguments, message):
    assert message in fatal(folder, *arguments)


def test_unknown_options_are_forwarded_if_that_is_asked_for(folder):
    assert (
        "-funroll-loops"
        in commands(folder, "-c", "c.cpp", "-forward-unknown-to-host-compiler", "-funroll-loops")[0]
    )
    assert has(commands(folder, "e.o", "-z", "-forward-unknown-to-host-linker")[-1], "-Xlinker", "-z")


def test_a_missing_clang_is_named_with_its_package(folder):
    message = fatal(folder, "-c", "a.cu", CUDASIM_CLANG="/nowhere/clang++")
    assert "/nowhere/clang++" in message
    (folder / "clang++").write_text("#!/bin/sh\n")
    (folder / "clang++").chmod(0o755)
    assert "apt install clang-19" in fatal(folder, "-c", "a.cu", CUDASIM_CLANG=str(folder / "clang++"))


@needs_clang
def test_an_option_that_no_compiler_knows_is_an_error(folder):
    # -fipa-pta is GCC's; build systems ask in this way what a compiler takes.
    known = nvcc("-c", "a.cu", "-forward-unknown-to-host-compiler", "-fipa-pta", cwd=folder)
    assert known.returncode == 0, known.stderr
    unknown = nvcc("-c", "b.cu", "-forward-unknown-to-host-compiler", "-fno-such-option", cwd=folder)
    assert unknown.returncode != 0
    assert "-fno-such-option" in unknown.stderr
    assert not (folder / "b.o").exists()


@needs_clang
def test_options_that_makefiles_have(folder):
    """Each is taken, as "NVCC Command Options" says, in the form in which it is found in makefiles."""
    for options in (
        ["-Xcompiler=-Wall,-O2"], ["-Xcompiler", "-Wall -O2"], ["-gencode=arch=compute_80,code=\"sm_80,compute_80\""],
        ["-lineinfo", "-Xptxas", "-v"], ["-Xptxas=-v,-O3", "-Xptxas", "-dlcm=ca"], ["--ptxas-options=-v"],
        ["-Xcudafe", "--diag_suppress=177 --display_error_number"], ["--diag-suppress=177"], ["-diag-suppress", "177,550"],
        ["-Wno-deprecated-gpu-targets", "-t4"], ["-t", "4"], ["--threads", "0"], ["-maxrregcount=32", "-res-usage"],
        ["-ftz=true", "-prec-div=false", "-prec-sqrt=false", "-fmad=false"], ["-opt-info=inline"], ["-jobserver"],
        ["-static-global-template-stub=false", "-device-entity-has-hidden-visibility=false"], ["--objdir-as-tempdir"],
        ["-frandom-seed=7", "--fdevice-syntax-only", "-sanitize=memcheck"], ["-lnvToolsExt", "-lcuda", "-lcudadevrt"],
        ["-forward-unknown-to-host-compiler", "-Wall", "-rdynamic", "-pthread"], ["-O3", "-dlto", "-arch=sm_80", "-code=lto_80"],
    ):  # fmt: skip
        assert len(device_and_host(folder, *options)) == 2, options
    device, host = device_and_host(folder, "-ftemplate-depth", "50", "--ftemplate-backtrace-limit=3")
    for words in (device, host):
        assert has(words, "-ftemplate-depth=50", "-ftemplate-backtrace-limit=3")
    assert "-fgpu-rdc" in device_and_host(folder, "-ewp")[0]
    assert "ld -r" in fatal(folder, "-r", "e.o")
    assert fatal(folder, "-traditional", "-c", "a.cu").startswith("Unknown option")
