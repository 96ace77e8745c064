"""The rooms of the Python package (docs/architecture.md): a room imports only from rooms to its left, and no more than three files import
each other in a circle. Imports inside functions count. Imports for annotations (`if TYPE_CHECKING:`) have to be from the left, too; they
do not run, so they make no circle. Types travel between the rooms as objects: their names are read, and made, in few places."""

import ast
import pathlib
import re

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "frontend" / "python"

#: The rooms, from left to right. A room may import itself and what stands to its left.
ROOMS = [
    "base", "type_system", "device", "streams", "memory", "compile", "launch", "python_mode", "ufuncs", "algorithms",
    "driver", "unit_testing", "cuda", "recording", "comparing", "debugger_client", "cuda_cpp", "programs",
]  # fmt: skip
#: The rooms of modules that lie in no folder.
LOOSE = {
    "base": ["", "options", "_option_sources", "_option_table", "_option_values", "device_profiles", "_cuda_errors", "errors", "findings", "debug_sockets", "native_programs",
             "_numba_config", "_numba_error_classes", "reports"],
    "type_system": ["types"],
    "compile": ["cache", "kernel_library"],
    "programs": ["switch", "command_line", "check_command", "check_reports", "suppressions", "compare_commands", "recording_commands", "info", "pytest_plugin", "script_runner", "debugging", "__main__", "numba_stand_in", "kernel_stages"],
}  # fmt: skip
#: `import cudasim` with ENABLE_CUDASIM set installs the switch.
EXCEPTIONS = {("cudasim", "cudasim.switch")}
LONGEST_CIRCLE = 3


def modules():
    """name → path of every module of the package."""
    found = {}
    for path in sorted((PACKAGE / "cudasim").rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def room_of(module):
    top = module.partition(".")[2].partition(".")[0]
    for room, names in LOOSE.items():
        if top in names:
            return room
    return top


def known(module):
    """The module of ours that a dotted name is in, or None."""
    while module and module not in MODULES:
        module = module.rpartition(".")[0]
    return module if module.partition(".")[0] == "cudasim" else None


#: Extensions, written in C++.
NATIVE = {"cudasim._native", "cudasim._pyfiber"}


def is_for_annotations(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def statements(node, with_annotations):
    """All nodes below a node; those below `if TYPE_CHECKING:` on request."""
    yield node
    for child in ast.iter_child_nodes(node):
        if with_annotations or not is_for_annotations(child):
            yield from statements(child, with_annotations)


def imports_in(module, source, with_annotations):
    found = set()
    for node in statements(ast.parse(source), with_annotations):
        if isinstance(node, ast.Import):
            found |= {known(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {known(name) for name in names - NATIVE}
    return found - {None, module}


IMPORTS = {module: imports_in(module, path.read_text(), True) for module, path in MODULES.items()}
#: Those that run.
RUN = {module: imports_in(module, path.read_text(), False) for module, path in MODULES.items()}


def circles():
    """Sets of modules that import each other, directly or not (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in RUN[module]:
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            found.append(set(stack[at:]))
            del stack[at:]

    for module in MODULES:
        if module not in index:
            visit(module)
    return [circle for circle in found if len(circle) > 1]


def test_imports_for_annotations_do_not_run():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cudasim import options\nimport cudasim.errors\n"
    assert imports_in("cudasim.info", source, True) == {"cudasim.options", "cudasim.errors"}
    assert imports_in("cudasim.info", source, False) == {"cudasim.errors"}


def test_every_module_is_in_a_room():
    assert not {module: room_of(module) for module in MODULES if room_of(module) not in ROOMS}


def test_a_room_imports_only_from_its_left():
    wrong = [
        f"{module} ({room_of(module)}) imports {other} ({room_of(other)})"
        for module, others in IMPORTS.items()
        for other in others
        if ROOMS.index(room_of(other)) > ROOMS.index(room_of(module)) and (module, other) not in EXCEPTIONS
    ]
    assert not wrong, "\n".join(wrong)


def test_no_more_than_three_files_import_each_other():
    large = [sorted(circle) for circle in circles() if len(circle) > LONGEST_CIRCLE]
    assert not large, large


def imports_without_reason(source):
    """Lines of imports inside functions that have no comment: on the line, on the one above, or at an import before it in the function."""
    lines = source.splitlines()
    found = []

    def says_why(node):
        above, own = lines[node.lineno - 2].strip(), lines[node.end_lineno - 1]
        return above.startswith("#") or re.sub(r"noqa(: *[A-Z\d, ]+)?", "", own.partition("#")[2]).strip(" -")

    def visit(node, function, explained):
        for child in ast.iter_child_nodes(node):
            if is_for_annotations(child):
                continue
            if isinstance(child, (ast.Import, ast.ImportFrom)) and function:
                if says_why(child):
                    explained.add(function)
                elif function not in explained:
                    found.append(child.lineno)
            inner = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            visit(child, child if inner else function, explained)

    visit(ast.parse(source), None, set())
    return found


def test_what_counts_as_a_reason():
    assert imports_without_reason("import a\ndef f():\n    import b\n") == [3]
    assert imports_without_reason("def f():\n    import b  # noqa: F401\n    def g():\n        import c") == [
        2,
        4,
    ]
    assert not imports_without_reason("def f():\n    import b  # noqa: F401 - may be absent\n    import c\n")
    assert not imports_without_reason("def f():\n    # start-up\n    import b\n    import c\n")
    assert imports_without_reason("class A:\n    def f(self):\n        if x:\n            import b  # why\n    def g(self):\n        import b") == [6]  # fmt: skip


def test_an_import_inside_a_function_has_a_reason():
    """Imports stand at the top. Those that do not have a comment: start-up time, a package that may be absent, a circle."""
    wrong = {
        module: lines
        for module, path in MODULES.items()
        if (lines := imports_without_reason(path.read_text()))
    }
    assert not wrong, wrong


#: Where the name of a type comes from outside of Python's rooms, by the function of
#: type_system/type_names.py that reads it.
READERS = {
    "evaluate": {"type_system.signatures"},  # text that a user has written
    "parse_type": set(),
    "from_compiler": {"compile.compiler", "debugging.expression_functions"},  # debug information has the compiler's names
    "type_named": {"kernel_library", "cuda.libdevicefuncs",  # tables
                   "recording.parameters", "recording.python_code", "recording.replay"},  # files
}  # fmt: skip
#: Where the name of a type is made, outside of type_system/: for C++, for files, and to
#: compare types as the compiler does.
WRITERS = {"compile.compiler", "compile.llvmlite_code", "compile.overloads", "compile.resolve", "launch.arguments", "launch.function_cache",
           "launch.kernel", "python_mode.stopped_values", "recording.python_code", "recording.recorder"}  # fmt: skip


def names_used_in(source):
    """Names and attributes that a module's code reads; imports and what it defines itself do not count."""
    nodes = list(ast.walk(ast.parse(source)))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


USED = {module.partition(".")[2]: names_used_in(path.read_text()) for module, path in MODULES.items()}


def test_names_of_types_are_read_where_they_come_from_outside_only():
    for reader, places in READERS.items():
        found = {module for module, names in USED.items() if reader in names} - {"type_system.type_names"}
        assert found == places, reader


def test_names_of_types_are_made_where_they_leave_python_only():
    found = {module for module, names in USED.items() if names & {"name_of", "compiler_name"}}
    assert {module for module in found if not module.startswith("type_system.")} == WRITERS


def test_types_are_not_passed_as_names():
    """No function takes types of arguments, or of a result, that are annotated as texts."""
    wrong = []
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.arg) and node.arg in (
                "argument_types",
                "result_type",
                "return_type",
                "kinds",
            ):
                if "str" in ast.unparse(node.annotation or ast.Name("")):
                    wrong.append(f"{module}:{node.lineno}: {node.arg}")
    assert not wrong


#: Modules of cuda/ that hold more than re-exports, and why that is there and not in a room.
NOT_ONLY_NAMES = {
    "__init__": "makes some of numba.cuda's names when they are asked for",
    "absent_modules": "what stands for modules of numba.cuda that have no meaning here",
    "api": "numba.cuda's names once more",
    "args": "wrap_arg(), which nothing of ours calls",
    "bf16": "bfloat16 depends on whether numba has been imported",
    "cg": "GridGroup stands for a group on the host, where it can do nothing",
    "cudadecl": "Numba's register, where numba is installed",
    "cudaimpl": "Numba's register, where numba is installed",
    "cudamath": "Numba's register, where numba is installed",
    "descriptor": "Numba's contexts, where numba is installed",
    "models": "Numba's data models, where numba is installed",
    "nvvmutils": "functions that need llvmlite, where numba is installed",
    "numbas_target": "what such modules say where numba is not installed",
    "printimpl": "a register that needs llvmlite, where numba is installed",
    "target": "the classes of Numba's contexts, where numba is installed",
    "core": "makes names when they are asked for",
    "cudadrv": "its modules are there without being imported",
    "cudadrv.driver": "Numba's constants of this module, and a function where Numba has an object",
    "cudadrv.drvapi": "ctypes of CUDA's handles, which nothing of ours takes",
    "cudadrv.enums": "numbers of the driver's API, which the engine does not take from Python",
    "cudadrv.ndarray": "a function that nothing of ours calls",
    "device_init": "numba.cuda's names once more",
    "errors": "KernelRuntimeError, which nothing of ours raises; Numba's names of errors",
    "extending": "names that extend Numba's compiler come from numba",
    "initialize": "initialize_all(), which has nothing to do",
    "libdevicefuncs": "the engine's table in the form in which numba-cuda has it",
    "libdevicedecl": "Numba's register, where numba is installed",
    "libdeviceimpl": "Numba's register, where numba is installed",
    "mathimpl": "Numba's register, where numba is installed",
    "misc.special": "a name that is made when it is asked for",
    "module_names": "where names are that are made when they are asked for",
    "np.ufunc": "a package in numba-cuda",
    "random": "the type of a state depends on whether numba has been imported",
    "stubs": "what kernels use, once more",
    "types": "Numba's types where numba has been imported",
    "typing": "the class of signatures depends on whether numba has been imported",
    "vector_types": "the types of vectors by their names",
}


def holds_names_only(source):
    """Whether a module consists of imports, other names of what it imports, and `__all__`."""
    return all(
        isinstance(node, (ast.Expr, ast.Import, ast.ImportFrom))
        or is_for_annotations(node)
        or isinstance(node, ast.Assign)
        and (isinstance(node.value, (ast.Name, ast.Attribute)) or ast.unparse(node.targets[0]) == "__all__")
        for node in ast.parse(source).body
    )


def test_what_counts_as_names():
    assert holds_names_only('"""Doc."""\nimport a\nfrom b import c\nd = c\ne = a.f\n__all__ = ["c", *d]\n')
    assert not holds_names_only("x = 1")
    assert not holds_names_only("def f(): pass")
    assert not holds_names_only("class A: pass")


def test_cuda_holds_numbas_names_only():
    """cuda/ re-exports what the rooms hold. What has more than names is listed, with the reason; the list has nothing else."""
    modules = {
        module.removeprefix("cudasim.cuda").removeprefix(".") or "__init__": path
        for module, path in MODULES.items()
        if module == "cudasim.cuda" or module.startswith("cudasim.cuda.")
    }
    assert {name for name, path in modules.items() if not holds_names_only(path.read_text())} == set(
        NOT_ONLY_NAMES
    )
