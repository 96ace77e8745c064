"""Finds the source of a function object: the syntax tree of its definition, with the file's own line numbers.

`inspect.getsource` looks through all loaded modules first and then tokenizes (10 ms and more); here the code
object's file name and first line lead straight to the lines in `linecache`, which notebooks and doctests fill too.
"""

from __future__ import annotations

import ast
import os
import threading
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.compile.source_lines import codes_in, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

_parsing = threading.RLock()


def _renew_lock():
    global _parsing
    _parsing = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


class SourceNotAvailable(Exception):
    """The text of a function cannot be found; says why and what to do."""


def parse(text: str) -> Any:
    """ast.parse by one thread at a time: CPython 3.11 counts the depth of trees for all threads together, and raises
    SystemError when a garbage collection lets another thread in (https://github.com/python/cpython/issues/106905).

    :raises SourceNotAvailable: what is nested deeper than CPython's parser goes
    """
    with _parsing:
        try:
            return _native.call_on_large_stack(ast.parse, text)
        except (RecursionError, MemoryError) as error:  # both stand for depth (Parser/pegen.h)
            raise SourceNotAvailable(
                f"the source is nested too deeply for CPython's own parser ({type(error).__name__}): give the inner "
                "expressions names, or write a loop") from None  # fmt: skip


def compile_tree(tree: Any, file: str) -> CodeType:
    """The code object of a module's tree. Its depth takes stack, which this thread may not have."""
    return _native.call_on_large_stack(compile, tree, file, "exec", 0, True)


def copied(tree: Any) -> Any:
    """A copy of a syntax tree, however deep (copy.deepcopy recurses)."""
    top = _twin(tree)
    left = [top]
    while left:
        node = left.pop()
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                setattr(node, name, child := _twin(value))
                left.append(child)
            elif isinstance(value, list):
                made = [_twin(each) if isinstance(each, ast.AST) else each for each in value]
                setattr(node, name, made)
                left.extend(each for each in made if isinstance(each, ast.AST))
    return top


def _twin(node: ast.AST) -> ast.AST:
    """A copy of a node without what others have attached to it: on CPython 3.10 IPython's tracebacks give
    nodes, also those that all trees share (ast.Load()), a `parent`, by which a copy would reach every tree
    that they have seen."""
    made, known = type(node).__new__(type(node)), vars(node)
    vars(made).update((name, known[name]) for name in (*node._fields, *node._attributes) if name in known)
    return made


class KernelSource:
    """The definition of one Python function.

    node: ast.FunctionDef or ast.Lambda. line_offset: what to add to the node's line numbers. lines: the source
    lines from first_line of the file on, without line ends. file_text: the whole file, for reports.
    """

    __slots__ = ("node", "line_offset", "file", "first_line", "lines", "file_text")

    def __init__(
        self, node: Any, line_offset: int, file: str, first_line: int, lines: list[str], file_text: str
    ) -> None:
        self.node, self.line_offset, self.file = node, line_offset, file
        self.first_line, self.lines, self.file_text = first_line, lines, file_text


#: The attribute of a function that holds (its code, its KernelSource or SourceNotAvailable).
_SOURCE = "__cudasim_source__"


def give_source(function: Callable[..., Any], source: KernelSource | SourceNotAvailable) -> None:
    """Makes source_of() answer with a KernelSource, or raise a SourceNotAvailable, for this function."""
    vars(function)[_SOURCE] = (function.__code__, source)


def source_of(function: Callable[..., Any]) -> KernelSource:
    """The KernelSource of a plain Python function. :raises SourceNotAvailable: where there is none"""
    code = function.__code__
    # Decorators copy attributes to other functions; the code says whose they are.
    given: tuple[Any, Any] = getattr(function, _SOURCE, (None, None))
    if given[0] is code:
        if isinstance(given[1], SourceNotAvailable):
            raise given[1]
        return given[1]
    lines = lines_of(function)
    if not lines or code.co_firstlineno > len(lines):
        raise _not_available(code)
    if code.co_name == "<lambda>":
        return _from_file(code, lines, _find_lambda)
    first = code.co_firstlineno
    for end in _possible_ends(lines, first):
        block = lines[first - 1 : end]
        node, offset = _parse_block(block, code.co_name)
        if node is not None:
            return KernelSource(
                node, first - 1 + offset, code.co_filename, first, _without_ends(block), "".join(lines)
            )
    return _from_file(code, lines, _find_function)


def _possible_ends(lines, first):
    """Line numbers after which the definition that begins on line `first` may end, nearest first.

    It ends before a line that is not indented deeper than its beginning. Such a line may also lie in a string or
    in parentheses, or follow a decorator: then what came before is not a complete definition and does not parse.
    """
    start = lines[first - 1]
    depth = len(start) - len(start.lstrip())
    seen_def = False
    for number, line in enumerate(lines[first - 1 :], first):
        stripped = line.strip()
        deeper = len(line) - len(line.lstrip()) > depth
        if seen_def and stripped and not deeper and not stripped.startswith(("#", ")")):
            yield number - 1
        seen_def = seen_def or stripped.startswith(("def ", "def\t", "def\\"))
    yield len(lines)


def _without_ends(lines):
    return [line.rstrip("\r\n") for line in lines]


def _parse_block(block, name):
    """(node, line offset within the block), or (None, 0). Indentation stays, so that columns stay the file's."""
    text = "".join(block)
    indented = text[:1] in " \t"
    try:
        tree = parse("if 1:\n" + text if indented else text)
    except SyntaxError:
        return None, 0
    body = tree.body[0].body if indented else tree.body
    if body and isinstance(body[0], ast.FunctionDef) and body[0].name == name:
        return body[0], -1 if indented else 0
    return None, 0


def _not_available(code):
    return SourceNotAvailable(
        f"the source of {code.co_name}() is not available (looked for line {code.co_firstlineno} of "
        f"{code.co_filename!r}): kernels are compiled from source, so define them in a file or a notebook cell, "
        "or give exec() a text that a variable holds while @cuda.jit sees the function, or while a function of overload() runs, or that "
        "linecache.cache has under the name of the file"
    )


def _from_file(code, lines, find):
    """The slow way, for what does not start a line of its own: parse the whole file."""
    text = "".join(lines)
    try:
        tree = parse(text)
    except SyntaxError as error:
        raise SourceNotAvailable(f"{code.co_filename}, line {error.lineno}: {error.msg}") from None
    node = find(tree, code)
    if node is None and code.co_filename == "<string>":
        raise _not_available(
            code
        )  # `python -c` and every exec() share that name, and linecache may know one of them
    if node is None:
        raise SourceNotAvailable(
            f"the definition of {code.co_name} was not found on line {code.co_firstlineno} of "
            f"{code.co_filename!r}; has the file changed since it was imported?"
        )
    return KernelSource(node, 0, code.co_filename, 1, _without_ends(lines), text)


def _find_function(tree, code):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if start == code.co_firstlineno:
                return node
    return None


def _find_lambda(tree, code):
    names = code.co_varnames[: code.co_argcount]
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and tuple(argument.arg for argument in node.args.posonlyargs + node.args.args) == names
    ]
    if len(found) > 1 and hasattr(code, "co_positions"):
        places = {(line, column) for line, _, column, _ in code.co_positions() if column is not None}
        found = [node for node in found if (node.body.lineno, node.body.col_offset) in places] or found
    if len(found) > 1:
        found = [node for node in found if _compiles_to(tree, node, code)][:1]  # equal ones do the same
    return found[0] if len(found) == 1 else None


def _compiles_to(tree, node, code):
    """Whether a lambda is where the code comes from, which does not know its columns (before Python 3.11)."""
    place = node.lineno, node.end_lineno
    node.lineno = node.end_lineno = 1 << 24  # found by it among all code of the file
    try:
        program = compile_tree(tree, code.co_filename)
        made = next(each for each in codes_in(program) if each.co_firstlineno == node.lineno)
    except (SyntaxError, ValueError, StopIteration, RecursionError):
        return False
    finally:
        node.lineno, node.end_lineno = place
    return all(
        getattr(made, what) == getattr(code, what)
        for what in ("co_code", "co_consts", "co_names", "co_freevars", "co_cellvars")
    )
