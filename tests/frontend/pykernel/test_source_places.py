"""Debug info and source: lines, columns, names and variables as they are in the file."""

import math
import re

import numpy as np
import pytest
from cudasim import cuda
from cudasim.compile import compiler
from cudasim.compile.kernel_source import source_of

A1 = "array(float64, 1d, C)"


def ir(function, *types):
    return compiler.compile_kernel(function, types).image.ir_text()


def test_every_instruction_has_a_line_and_a_column():
    def kernel(x, n):
        tile = cuda.shared.array(8, np.float32)
        total = 0
        for i in range(0, n, 2):
            if i > 3 and x[i] < 2 or i == 0:
                total += x[i] ** i + n**i
        tile[0] = total // 2
        cuda.atomic.max(x, 0, total if n else 5.0)
        x[1] = tile[0]

    text = ir(kernel, A1, "int64")
    body = text[text.index("define") : text.index("\n}", text.index("define"))].splitlines()[1:]
    missing = [
        line
        for line in body
        if line.startswith("  ")
        and "!dbg" not in line
        and not line.lstrip().startswith("#dbg")
        and " = alloca " not in line
    ]
    assert missing == []
    first = kernel.__code__.co_firstlineno
    found = re.findall(r"DILocation\(line: (\d+), column: (\d+)", text)
    places = {(int(line), int(column)) for line, column in found}
    assert {line - first for line, _ in places} >= set(range(8))
    assert (first + 4, 16) in places  # i > 3
    assert (first + 5, 26) in places  # x[i]


def test_variables_and_arguments_are_described():
    def kernel(x, flag, n):
        i = cuda.threadIdx.x
        y = n
        y = 0.5
        x[i] = y

    text = ir(kernel, A1, "bool", "int32")
    variables = dict(re.findall(r'DILocalVariable\(name: "(\w+)",(?: arg: (\d),)?', text))
    assert variables == {"x": "1", "flag": "2", "n": "3", "i": "", "y": ""}
    assert len(re.findall(r'DILocalVariable\(name: "y"', text)) == 2  # one for each of its types
    assert 'DISubprogram(name: "kernel"' in text and f'DIFile(filename: "{__file__}", directory: "")' in text


def test_parameters_carry_the_python_names():
    def kernel(image, flag, shift):
        pass

    text = ir(kernel, "array(float32, 2d, A)", "bool", "UniTuple(int64 x 2)")
    parameters = re.search(r"define void @\S+\((.*?)\) !dbg", text).group(1)
    assert parameters == (
        "ptr addrspace(1) %image.data, i64 %image.shape0, i64 %image.shape1, "
        "i64 %image.stride0, i64 %image.stride1, i8 %flag, i64 %shift.0, i64 %shift.1"
    )


def test_kernel_symbols_are_legal_in_ptx_and_differ_by_types():
    def größe(x):
        pass

    names = [compiler.compile_kernel(größe, (t,)).kernel_name for t in (A1, "array(float64, 1d, F)", "int32")]
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", name) for name in names)
    assert 'DISubprogram(name: "gr\\C3\\B6\\C3\\9Fe"' in ir(größe, A1)


def test_the_same_kernel_compiles_to_the_same_image():
    def kernel(x):
        x[0] = math.sin(x[1])

    first, second = (compiler.compile_kernel(kernel, (A1,)).image for _ in range(2))
    assert first.hash == second.hash


def test_positions_in_an_indented_decorated_function_with_odd_lines():
    if True:

        @cuda.jit(
            device=False,
        )
        def kernel(
            x,
        ):
            """A docstring
            at column 0."""
            # a comment
            # and one at another depth
            y = x[0] + 1
            x[1] = y

    source = source_of(kernel.py_func)
    assert source.node.name == "kernel"
    with pytest.raises(IndexError) as caught:
        kernel[1, 1](np.zeros(1))
    import traceback

    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.line) == (__file__, "x[1] = y")


def test_lambdas_on_one_line_are_told_apart():
    functions = [lambda x: x + 1, lambda x: x + 2, lambda y: y + 3]
    bodies = [source_of(function).node.body.right.value for function in functions]
    assert bodies == [1, 2, 3]


def test_shared_arrays_are_named_after_their_variable():
    def kernel(x):
        tile = cuda.shared.array(8, np.float32)
        tile[0] = x[0]
        x[0] = tile[0]

    assert 'DIGlobalVariable(name: "tile"' in ir(kernel, A1)


def test_typed_ir_shows_types_and_versions():
    def kernel(x, n):
        y = 0
        for i in range(n):
            y += x[i]
        x[0] = y

    typed = compiler.compile_kernel(kernel, (A1, "int32")).typed_ir
    assert typed.startswith(f"kernel(x: {A1}, n: int32) -> none    # {__file__}:")
    assert re.search(r"y\.\d = phi \[block\d: y\] \[block\d: y\.\d\] : float64", typed)
    assert re.search(r"i = %\d+ : int32 ", typed)


def test_definitions_end_where_python_ends_them(tmp_path):
    import importlib.util

    text = '''
def first(x): x[0] = 1
def second(x):
    """Text
def not_this(x):
"""
    x[0] = (
2)
# a comment at the margin

    x[1] = 3 + \\
4
after = 5
class Holder:
    @staticmethod
    def third(x,
    y=(1,
2),
    ):
        x[0] = 6

    @staticmethod
    def fourth(x):
        x[0] = 7'''
    path = tmp_path / "definitions.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("definitions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [module.first, module.second, module.Holder.third, module.Holder.fourth]
    lines = text.splitlines()
    for function in functions:
        source = source_of(function)
        assert source.node.name == function.__name__
        assert (
            lines[source.node.lineno + source.line_offset - 1].strip().startswith(f"def {function.__name__}(")
        )
        last = source.node.body[-1]
        assert lines[last.lineno + source.line_offset - 1][last.col_offset :].startswith("x[")
