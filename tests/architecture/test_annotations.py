"""Types of the Python package: mypy finds nothing, public functions have annotations, stubs of the extensions name what they have."""

import ast
import importlib
import json
import pathlib
import re
import subprocess
import sys

import pytest
from test_format import tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "frontend" / "python" / "cudasim"

#: Functions that need no annotations: path in the package, or path::name → why.
NOT_ANNOTATED = {
    "kernel_library": "device code, compiled for the types of each call",
}


def test_mypy_finds_nothing():
    done = tool("mypy")
    assert done.returncode == 0, done.stdout + done.stderr


def is_public(name):
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def public_functions(body, in_class=False):
    """(function, whether it is a method) of a module or class, nested classes included."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            yield node, in_class
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            yield from public_functions(node.body, in_class=True)
        elif isinstance(node, (ast.If, ast.Try)):
            yield from public_functions(node.body + node.orelse, in_class)


def is_device_code(function):
    return any(re.search(r"\bjit\b", ast.unparse(decorator)) for decorator in function.decorator_list)


def lacks_annotations(function, is_method):
    arguments = function.args
    positional = arguments.posonlyargs + arguments.args
    static = any(ast.unparse(decorator) == "staticmethod" for decorator in function.decorator_list)
    if is_method and not static:
        positional = positional[1:]
    every = [*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return function.returns is None or any(one is not None and one.annotation is None for one in every)


def unannotated(source):
    return [
        function.name
        for function, is_method in public_functions(ast.parse(source).body)
        if lacks_annotations(function, is_method) and not is_device_code(function)
    ]


def test_public_functions_are_annotated():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if any(name == known or name.startswith(known + "/") for known in NOT_ANNOTATED):
            continue
        wrong += [
            f"{name}: {function}"
            for function in unannotated(path.read_text())
            if f"{name}::{function}" not in NOT_ANNOTATED
        ]
    assert not wrong, "\n".join(wrong)


def test_what_counts_as_annotated():
    assert unannotated("def f(x): pass") == ["f"]
    assert unannotated("def f(x: int): pass") == ["f"]
    assert unannotated("class A:\n  def f(self, *rest) -> None: pass") == ["f"]
    assert unannotated("class A:\n  @staticmethod\n  def f(x) -> None: pass") == ["f"]
    assert unannotated("class A:\n  def __init__(self, x): pass") == ["__init__"]
    assert not unannotated("class A:\n  def f(self, x: int) -> None: pass\ndef _private(x): pass")


def test_exceptions_are_needed():
    for known in NOT_ANNOTATED:
        path, _, function = known.partition("::")
        files = [PACKAGE / path] if path.endswith(".py") else sorted((PACKAGE / path).rglob("*.py"))
        names = [name for file in files for name in unannotated(file.read_text())]
        assert function in names if function else names, known


def names_of_stub(module):
    """Public names that a stub declares; "Class.member" for those of classes."""
    found = set()
    for node in ast.parse((PACKAGE / f"{module}.pyi").read_text()).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    found.add(f"{node.name}.{member.name}")
                elif isinstance(member, ast.AnnAssign):
                    found.add(f"{node.name}.{member.target.id}")
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("module", ["_native", "_pyfiber"])
def test_stubs_name_what_the_extensions_have(module):
    try:
        extension = importlib.import_module(f"cudasim.{module}")
    except ImportError as error:
        assert module == "_pyfiber" and "Python mode" in str(error)
        pytest.skip(str(error))
    stub, real = names_of_stub(module), names_of_extension(module)
    assert {name for name in stub if "." not in name} == set(real)
    missing = []
    for name in stub:
        owner, _, member = name.partition(".")
        if member and not hasattr(getattr(extension, owner), member):
            missing.append(name)
    assert not missing, missing
    for owner, members in real.items():
        public = {f"{owner}.{member}" for member in members}
        if any(name.startswith(owner + ".") for name in stub):
            assert public <= stub, public - stub


def names_of_extension(module):
    """Public name → public members of its own, where it is a class. They are read in a fresh interpreter,
    because overloads of attributes that other tests declare are attributes of _pyfiber.KernelArray."""
    code = f"""if 1:
        import json
        from cudasim import {module} as extension
        def public(owner):
            return [name for name in vars(owner) if not name.startswith("_")]
        values = {{name: getattr(extension, name) for name in public(extension)}}
        own = {{name for name, value in values.items()
               if isinstance(value, type) and not issubclass(value, (Exception, int, float, complex))}}
        print(json.dumps({{name: public(value) if name in own else [] for name, value in values.items()}}))
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def signature_of(function):
    """Names of parameters as pybind11 writes them into the docstring; positional-only ones have none."""
    first = function.__doc__.strip().splitlines()[0]
    inside = first[first.index("(") + 1 : first.rindex(") ->")]
    names = re.findall(
        r"(?:^|, )\*{0,2}(\w+)(?=:|,|$)", re.sub(r"\[[^\[\]]*(\[[^\[\]]*\][^\[\]]*)*\]", "", inside)
    )
    return [name for name in names if name != "self" and not re.fullmatch(r"arg\d", name)]


def test_stubs_have_the_parameters_of_the_engines_functions():
    from cudasim import _native

    for node in ast.parse((PACKAGE / "_native.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            names = [one.arg for one in [*arguments.args, arguments.vararg, *arguments.kwonlyargs] if one]
            assert names == signature_of(getattr(_native, node.name)), node.name


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
