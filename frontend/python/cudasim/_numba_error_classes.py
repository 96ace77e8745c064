"""The exception and warning classes of numba.core.errors, by name and inheritance, for when Numba is not there.

Only what a kernel's author may meet or catch. `cudasim.errors` hands out Numba's own classes instead when the
real numba has been imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class NumbaWarning(Warning):
    """Base of all warnings about compiling."""

    def __init__(self, msg: str = "", loc: Any = None, highlighting: bool = True) -> None:
        self.msg = msg
        self.loc = loc
        super().__init__(msg if loc is None else f"{msg}\n{loc}")


class NumbaPerformanceWarning(NumbaWarning):
    """Something runs slower than it could."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """A feature will go away."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """A feature will be deprecated."""


class NumbaParallelSafetyWarning(NumbaWarning):
    """An operation in a parallel region may be unsafe."""


class NumbaTypeSafetyWarning(NumbaWarning):
    """A conversion may lose information."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """A feature may still change."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """A configuration value is not valid."""


class NumbaIRAssumptionWarning(NumbaPerformanceWarning):
    """An assumption about the intermediate form does not hold."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Debug information is incomplete."""


class NumbaSystemWarning(NumbaWarning):
    """A warning about the machine."""


class NumbaError(Exception):
    """Base of all errors about compiling."""

    def __init__(self, msg: str = "", loc: Any = None, highlighting: bool = True) -> None:
        self.msg = msg
        self.loc = loc
        super().__init__(msg if loc is None else f"{msg}\n{loc}")

    @property
    def contexts(self) -> Any:
        return self.__dict__.setdefault("_contexts", [])

    def add_context(self, msg: Any) -> Any:
        """Appends a line that says during what the error happened."""
        self.contexts.append(msg)
        self.args = (f"{self}\n[{len(self.contexts)}] During: {msg}",)
        return self


class UnsupportedError(NumbaError):
    """The kernel uses something that cannot be compiled."""


class UnsupportedBytecodeError(NumbaError):
    """The kernel uses a form of Python that cannot be compiled."""


class UnsupportedRewriteError(UnsupportedError):
    """A rewrite does not support its input."""


class IRError(NumbaError):
    """The intermediate form is wrong."""


class RedefinedError(IRError):
    """A name is defined twice."""


class NotDefinedError(IRError):
    """A name is not defined."""

    def __init__(self, name: Any, loc: Any = None) -> None:
        self.name = name
        super().__init__(f"the variable '{name}' has no value here", loc=loc)


class VerificationError(IRError):
    """The intermediate form breaks its own rules."""


class DeprecationError(NumbaError):
    """A feature that is gone."""


class LoweringError(NumbaError):
    """Code generation failed."""


class UnsupportedParforsError(NumbaError):
    """A parallel loop cannot be compiled."""


class ForbiddenConstruct(LoweringError):
    """A construct that is not allowed where it stands."""


class TypingError(NumbaError):
    """The types do not fit."""


class UntypedAttributeError(TypingError):
    """A type has no such attribute."""

    def __init__(self, value: Any, attr: Any, loc: Any = None) -> None:
        super().__init__(f"{value} has no attribute '{attr}'", loc=loc)


class ByteCodeSupportError(NumbaError):
    """The byte code cannot be read."""


class CompilerError(NumbaError):
    """The compiler itself failed."""


class ConstantInferenceError(NumbaError):
    """A value that must be constant is not."""

    def __init__(self, value: Any, loc: Any = None) -> None:
        self.value = value
        super().__init__(f"not a constant: {value}", loc=loc)


class InternalError(NumbaError):
    """A defect of the compiler."""

    def __init__(self, exception: Any) -> None:
        self.old_exception = exception
        super().__init__(str(exception))


class RequireLiteralValue(TypingError):
    """An argument must be a literal."""


class ForceLiteralArg(NumbaError):
    """Internal signal: an argument must be a literal."""


class LiteralTypingError(TypingError):
    """A literal type does not fit."""


class NumbaValueError(TypingError):
    """A value does not fit."""


class NumbaTypeError(TypingError):
    """A type does not fit."""


class NumbaAttributeError(TypingError):
    """An attribute does not exist."""


class NumbaAssertionError(TypingError):
    """An assertion of the compiler."""


class NumbaNotImplementedError(TypingError):
    """An operation is not implemented for these types."""


class NumbaKeyError(TypingError):
    """A key does not exist."""


class NumbaIndexError(TypingError):
    """An index does not exist."""


class NumbaRuntimeError(NumbaError):
    """An error while compiled code runs."""


__all__ = [
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, (NumbaError, NumbaWarning))
]

# Where users find them; tracebacks name this module.
for _name in __all__:
    globals()[_name].__module__ = "cudasim.errors"
