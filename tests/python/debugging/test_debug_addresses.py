"""Addresses and code through the debug server: &x, *ADDRESS, x@3, allocations, NVVM IR and PTX."""

import pathlib
import shutil
import subprocess

import pytest
from debug_session import debugging

PROGRAM = """
    import numpy as np
    from numba import cuda

    body = np.dtype([("mass", np.float32), ("kind", np.int32)])

    @cuda.jit(device=True)
    def twice(v):
        return v * 2  # inside

    @cuda.jit
    def kernel(x, grid, bodies, out):
        i = cuda.grid(1)
        s = cuda.shared.array(8, np.int16)
        s[i] = i * 10
        cuda.syncthreads()
        b = bodies[i]
        out[i] = twice(x[i])  # use

    x = np.arange(100, dtype=np.float32)
    grid = np.arange(12, dtype=np.int64).reshape(3, 4)
    bodies = np.zeros(8, body)
    bodies["kind"] = np.arange(8)
    kernel[1, 4](x, grid, bodies, np.zeros(4))
"""


@pytest.fixture
def client(tmp_path):
    with debugging(tmp_path, PROGRAM) as found:
        found.break_at("use", cudasim={"threads": "2"})
        found.run()
        found.wait("use")
        yield found


def told(client, expression):
    return client.ask("evaluate", expression=expression, context="repl", frameId=client.frames()[0]["id"])


def refused(client, expression):
    return client.refused("evaluate", expression=expression, context="repl", frameId=client.frames()[0]["id"])


def address(client, expression):
    found = told(client, expression)
    assert found["result"] == f"({found['type']}) {found['memoryReference']}"
    return int(found["memoryReference"], 16)


def test_addresses_of_elements(client):
    begin = address(client, "&x")
    assert begin == int(told(client, "x")["memoryReference"], 16)
    assert address(client, "&x[3]") == address(client, "& x[i + 1]") == begin + 12
    assert address(client, "&x[3] + 2") == begin + 20 and address(client, "&x[3] - (i + 1)") == begin
    assert address(client, "&grid[1, 2]") == address(client, "&grid") + 6 * 8
    assert address(client, "&bodies[3].kind") == address(client, "&bodies") + 3 * 8 + 4
    assert address(client, "&b") == address(client, "&bodies[2]")
    assert address(client, "&s[2]") == address(client, "&s") + 4
    assert told(client, "&s[2]")["type"] == "int16 *"


def test_what_lies_at_addresses(client):
    assert told(client, "*x")["result"] == "0.0" and told(client, "*grid")["result"] == "[0, 1, 2, 3]"
    assert told(client, f"*(float32 *) {address(client, '&x[7]'):#x}")["result"] == "7.0"
    assert told(client, f"*{address(client, '&grid[2, 3]'):#x} : 8")["result"] == "11"


def test_elements_one_behind_the_other(client):
    assert told(client, "x[i]@3")["result"] == "[2.0, 3.0, 4.0]"
    assert told(client, "x@i")["result"] == told(client, "*x@2")["result"] == "[0.0, 1.0]"
    found = told(client, "grid[1, 0]@6")
    assert (found["result"], found["type"], found["indexedVariables"]) == (
        "[4, 5, 6, 7, 8, 9]", "array(int64, 1d, C) shape (6,)", 6)  # fmt: skip
    parts = client.children(found["variablesReference"], start=4, count=2)
    assert {name: one["value"] for name, one in parts.items()} == {"[4]": "8", "[5]": "9"}
    assert told(client, parts["[4]"]["evaluateName"])["result"] == "8"
    assert told(client, "bodies[1].kind@3")["result"] == "[1, 0, 2]"
    assert told(client, "s[1]@2")["result"] == "[10, 20]"
    assert told(client, f"*(float32 *) {address(client, '&x[7]'):#x} @ 2")["result"] == "[7.0, 8.0]"
    assert (
        told(client, "grid.T @ grid[:, 0]")["result"] == "[ 80, 92, 104, 116]"
    )  # Python's product of matrices


def test_what_has_no_address(client):
    assert "'i' has no address" in refused(client, "&i") and "only values in memory" in refused(client, "i@2")
    assert "'i' is no array and no pointer" in refused(client, "*i")
    assert "special registers do not change, and have no address" in refused(client, "&threadIdx")
    assert "may not read all of the 40 elements" in refused(client, "x[90]@40")
    assert "from 1 to" in refused(client, "x[0]@0") and "from 1 to" in refused(client, "x@100000000")
    assert "out of bounds" in refused(client, "&x[100]") or "there is no 'x[100]'" in refused(
        client, "&x[100]"
    )
    assert "there is no variable 'nothing'" in refused(client, "&nothing")
    assert "may not read" in refused(client, "*(int32 *) 0x10") or "not readable" in refused(
        client, "*(int32 *) 0x10"
    )


def test_allocations_are_listed_with_the_variables_in_them(client):
    found = client.ask("cudasim/allocations")["allocations"]
    assert [(one["bytes"], one["variables"]) for one in found if "variables" in one] == [
        (400, ["x"]), (96, ["grid"]), (64, ["bodies"]), (32, ["out"])]  # fmt: skip
    assert int(found[0]["address"], 16) == address(client, "&x")


def test_nvvm_ir_of_the_function_names_its_lines(client):
    body = client.ask("cudasim/disassemble", frameId=client.frames()[0]["id"])
    assert (body["form"], body["function"]) == ("nvvm", "kernel")
    lines = body["lines"]
    assert lines[0]["text"].startswith("define void @") and lines[-1]["text"] == "}"
    current = [one for one in lines if one.get("current")]
    assert {(one["line"], one["file"]) for one in current} == {(client.line("use"), str(client.script))}
    assert any("call" in one["text"] and "twice" in one["text"] for one in current)
    assert any("llvm.nvvm.barrier0" in one["text"] and not one.get("current") for one in lines)
    whole = "\n".join(one["text"] for one in lines)
    assert "!dbg" not in whole and "__cudasim_variable" not in whole and "dbg_declare" not in whole


def test_nvvm_ir_of_another_function_and_of_all(client):
    (function,) = [
        one for one in client.ask("cudasim/disassemble", function="twice")["lines"] if "define" in one["text"]
    ]
    assert "twice" in function["text"]
    every = [
        one for one in client.ask("cudasim/disassemble", function="*")["lines"] if "define" in one["text"]
    ]
    assert len(every) == 2
    assert "no function 'thrice'" in client.refused("cudasim/disassemble", function="thrice")


def test_the_selected_frame_says_which_function(client):
    client.break_at("inside", cudasim={"threads": "2"})
    client.go(mark="inside")
    inner, outer = client.frames()[:2]
    body = client.ask("cudasim/disassemble", frameId=inner["id"])
    assert body["function"] == "twice" and {one["line"] for one in body["lines"] if one.get("current")} == {
        client.line("inside")
    }
    assert client.ask("cudasim/disassemble", frameId=outer["id"])["function"] == "kernel"


def test_ptx_of_the_kernel_names_its_lines(client):
    body = client.ask("cudasim/disassemble", form="ptx", frameId=client.frames()[0]["id"])
    assert body["architecture"].startswith("sm_")
    whole = "\n".join(one["text"] for one in body["lines"])
    assert ".visible .entry kernel" in whole and "bar.sync" in whole and ".loc" not in whole
    current = [one["text"] for one in body["lines"] if one.get("current")]
    assert any("st.global" in text for text in current)
    assert not any("bar.sync" in text for text in current)


def test_what_is_not_served(client):
    assert "is neither nvvm nor ptx" in client.refused("cudasim/disassemble", form="sass")
    message = client.refused("disassemble", memoryReference="0x0", instructionCount=1)
    assert message == "unsupported: cudasim does not have the request 'disassemble'"


C_PLUS_PLUS = """
    import ctypes, sys
    import numpy as np
    from cudasim import _native, cuda
    from numba.cuda.cudadrv import driver

    source = sys.argv[1]
    image = _native.KernelImage.from_ir_text(open(sys.argv[2]).read(), [(source, open(source).read())])
    function = cuda.current_context().create_module_image(image).get_function("simulate")
    particles, result = cuda.to_device(np.full(256, 3, np.int32)), cuda.to_device(np.zeros(4, np.float32))
    addresses = [ctypes.c_void_p(one.__cuda_array_interface__["data"][0]) for one in (particles, result)]
    driver.launch_kernel(function.handle, 1, 1, 1, 4, 1, 1, 0, 0, [*addresses, ctypes.c_int(4)])
    print(result.copy_to_host().tolist())
"""


@pytest.mark.skipif(shutil.which("clang++-19") is None, reason="clang 19 is not there")
def test_kernels_of_cplusplus(tmp_path):
    folder = pathlib.Path(__file__).parents[2] / "images"
    (tmp_path / "no-toolkit").mkdir()
    shutil.copy(folder / "cuda_keywords.h", tmp_path)
    text = (folder / "particles.cu").read_text()
    text = text.replace("long wide = 1;", "int table[2][3] = {{1, 2, 3}, {4, 5, i}}; long wide = 1;")
    text = text.replace("total += counts", "total += table[1][0] * 100 + counts")
    source = tmp_path / "particles.cu"
    source.write_text(text)
    subprocess.run(["clang++-19", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_75", f"--cuda-path={tmp_path / 'no-toolkit'}",
                    "-nocudainc", "-nocudalib", "-Xclang", "-target-feature", "-Xclang", "+ptx78", "-std=c++20", "-O1", "-Xclang",
                    "-disable-llvm-passes", "-g", "-Xclang", "-debug-info-kind=limited", "-emit-llvm", "-S", str(source), "-o",
                    str(tmp_path / "image.ll")], check=True, cwd=tmp_path)  # fmt: skip
    with debugging(tmp_path, C_PLUS_PLUS, str(source), str(tmp_path / "image.ll")) as client:
        (line,) = [number for number, one in enumerate(text.splitlines(), 1) if one.endswith("// stop")]
        client.ask(
            "setBreakpoints",
            source={"path": str(source)},
            breakpoints=[{"line": line, "cudasim": {"threads": "2"}}],
        )
        client.run()
        client.wait()
        assert (
            told(client, "table")["result"] == "[[1, 2, 3], [4, 5, 2]]"
            and told(client, "table[1][2]")["result"] == "2"
        )
        assert told(client, "table[1]")["result"] == "[4, 5, 2]"
        begin = address(client, "&p->mass")
        assert (
            begin == int(told(client, "p")["memoryReference"], 16) + 8
            and address(client, "&p[1]") == begin + 24
        )
        assert told(client, "p->mass@2")["result"] == "[3, 3]" and "mass=3" in told(client, "*p@2")["result"]
        assert (
            told(client, "counts[1] = table[1][0] = 7")["result"] == "7"
            and told(client, "counts[2] += 1")["result"] == "5"
        )
        assert told(client, "counts")["result"] == "[2, 7, 5]"
        assert "has no address" in refused(client, "&counts[1]")
        # Static variables: of the function in shared memory, of the file in global and constant memory.
        assert list(client.scope("Shared")) == ["tile"] and set(client.scope("Globals")) == {
            "factors",
            "visits",
            "small",
        }
        assert told(client, "factors")["result"] == "[2.0, 0.5]" and "factors" not in client.scope("Locals")
        assert told(client, "tile[0][2]")["result"] == "20.0"
        assert address(client, "&tile[0][2]") == address(client, "&tile") + 8
        data = client.ask("dataBreakpointInfo", name="visits", frameId=client.frames()[0]["id"])
        assert data["cudasim"]["space"] == "global"
        data = client.ask("dataBreakpointInfo", name="tile[0][3]", frameId=client.frames()[0]["id"])
        assert data["cudasim"]["space"] == "shared"
        body = client.ask("cudasim/disassemble", frameId=client.frames()[0]["id"])
        assert body["function"] == "simulate"
        assert {one["line"] for one in body["lines"] if one.get("current")} == {line}
        device = client.ask("cudasim/disassemble", function="energy")["lines"]
        assert "energy" in next(one["text"] for one in device if "define" in one["text"])
        ptx = client.ask("cudasim/disassemble", form="ptx", frameId=client.frames()[0]["id"])["lines"]
        assert any(
            one.get("current") and "st.global" in one["text"] or "ld.global" in one["text"] for one in ptx
        )
        client.ask("setDataBreakpoints", breakpoints=[{"dataId": data["dataId"], "accessType": "write"}])
        body = client.go("continue", reason="data breakpoint")
        assert client.focus()["thread"] == [3, 0, 0] and body["cudasim"]["watches"][0]["new"] == "30.0"
        client.ask("setDataBreakpoints", breakpoints=[])
        client.break_at()
        client.ask("setBreakpoints", source={"path": str(source)}, breakpoints=[])
        assert client.go_to_end() == "[606.0, 608.5, 912.0, 610.5]\n"
