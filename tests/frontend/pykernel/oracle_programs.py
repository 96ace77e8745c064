"""Random kernels' bodies for the oracle, as source text.

A program is a function `f(a, b, c, d, ints, floats)`: numbers of random types, an array of 64-bit integers and
one of float64 for results. What the CUDA target types or computes otherwise than Numba on the CPU
(docs/differences.md) is kept out by how expressions are built: signed and unsigned integers do not meet, integer
divisors are odd, shifts are masked, floats become integers only within range, min and max are of integers.
"""

import dataclasses

from hypothesis import strategies as st

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
PARAMETERS = ["a", "b", "c", "d"]
#: Cells of each result array.
CELLS = 8

_UNARY_MATH = ["sqrt", "fabs", "sin", "cos", "exp", "log", "atan", "erf", "log1p", "expm1"]
_EXTREMA = ["minimum", "maximum", "fmin", "fmax"]
_INTEGER_UFUNCS = [*_EXTREMA, "bitwise_and", "bitwise_or", "bitwise_xor"]
_COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


@dataclasses.dataclass
class Program:
    types: list
    source: str
    unsigned: bool  # the integers are


class Writer:
    """Draws one program. kinds: variable → "i" (integer), "f" (float) or "b" (bool). Expressions of kind "z" are complex."""

    def __init__(self, draw, kinds, unsigned):
        self.draw, self.kinds, self.unsigned = draw, dict(kinds), unsigned
        self.tuples = {}  # variable → kinds of its elements
        self.lines, self.fresh, self.helpers = [], 0, []

    def pick(self, *choices):
        return self.draw(st.sampled_from(choices))

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    # -- expressions --------------------------------------------------------------------------------------

    def names(self, kind):
        return [name for name, its in self.kinds.items() if its == kind]

    def literal(self, *values):
        value = self.pick(*values)
        if not self.unsigned:  # CPython folds plain ones, and sums and products of them
            return (
                str(value)
                if 0 <= value < 1000
                else f"({value})"
                if abs(value) < 1000
                else f"np.int64({value})"
            )
        width = self.pick(8, 16, 32, 64)
        return f"np.uint{width}({value % 2**width})"

    def known(self, value):
        return f"np.uint8({value})" if self.unsigned else str(value)

    def leaf(self, kind):
        known = self.names(kind)
        if known and self.number(0, 3):
            return self.pick(*known)
        if kind == "i":
            return self.literal(0, 1, 2, 3, 7, 10, 255, -1, -5, 1000003, 2**31, -(2**40))
        if kind == "z":
            return self.pick("1j", "(-2.5j)", "(1.5 - 0.25j)", "np.complex64(3 - 1j)")
        if kind == "f":
            return self.pick("0.0", "1.0", "-1.0", "0.5", "2.5", "-3.25", "1e10", "1e-7", "0.1")
        return self.pick("True", "False")

    def expression(self, kind, depth):
        if depth <= 0:
            return self.leaf(kind)
        return getattr(self, "expression_" + kind)(depth - 1)

    def expression_i(self, depth):
        e = self.expression
        form = self.number(0, 17)
        if form <= 3:
            operator = self.pick("+", "-", "*", "&", "|", "^")
            return self.masked(f"({e('i', depth)} {operator} {e('i', depth)})", operator == "*")
        if form == 4:
            return f"({e('i', depth)} {self.pick('//', '%')} ({e('i', depth)} | {self.known(1)}))"
        if form == 5:
            operator = self.pick("<<", ">>")
            shifted = f"({self.wide(depth)} {operator} ({e('i', depth)} & {self.known(31)}))"
            return self.masked(shifted, operator == "<<")
        if form == 6:
            return f"({self.pick('-', '~', '+')}{e('i', depth)})"
        if form == 7:
            return f"{self.pick('min', 'max')}({e('i', depth)}, {e('i', depth)})"
        if form == 8:
            return f"({e('i', depth)} if {e('b', depth)} else {e('i', depth)})"
        if form == 9:
            return f"abs({self.wide(depth)} >> {self.known(1)})"
        if form == 10 and not self.unsigned:
            self.fresh += 1
            name = f"x{self.fresh}"
            self.lines.append(f"{name} = {e('f', depth)}")
            return f"(int({name}) if -1e6 < {name} < 1e6 else {self.number(-9, 9)})"
        if form == 11:
            return self.masked(f"({self.wide(depth)} ** {self.known(self.number(0, 5))})")
        if form == 12:
            return self.masked(f"({self.wide(depth)} ** ({e('i', depth)} & {self.known(7)}))")
        if form == 13:
            return f"divmod({e('i', depth)}, {e('i', depth)} | {self.known(1)})[{self.number(0, 1)}]"
        if form == 14:
            return f"ints[{e('i', 0)} & {self.known(CELLS - 1)}]"
        if form == 15:
            return f"({e('i', depth)} {self.pick('and', 'or')} {e('i', depth)})"
        if form == 16:
            return f"np.{self.pick(*_INTEGER_UFUNCS)}({e('i', depth)}, {e('i', depth)})"
        return self.tuple_element("i", depth)

    def expression_z(self, depth):
        """Complex: only as part of what gives a float."""
        e = self.expression
        form = self.number(0, 6)
        if form <= 2:
            return f"({e('z', depth)} {self.pick('+', '-', '*')} {e(self.pick('z', 'z', 'f', 'i'), depth)})"
        if form == 3:
            return f"complex({e('f', depth)}, {e('f', depth)})"
        if form == 4:
            return f"(-{e('z', depth)}).conjugate()"
        if form == 5:
            return f"({e('z', depth)} if {e('b', depth)} else {e(self.pick('z', 'f'), depth)})"
        return f"({e('z', depth)} if {e('z', depth)} {self.pick('==', '!=')} {e('z', depth)} else {e('z', depth)})"

    def masked(self, value, grows=True):
        """Below 2**40: Numba tells LLVM that signed integers do not overflow, so that what follows is undefined."""
        return value if self.unsigned or not grows else f"({value} & 1099511627775)"

    def wide(self, depth):
        """64 bits that CPython does not fold."""
        return f"np.{'uint64' if self.unsigned else 'int64'}({self.expression('i', depth)})"

    def expression_f(self, depth):
        e = self.expression
        form = self.number(0, 14)
        if form == 14:
            return f"({e('z', depth)}).{self.pick('real', 'imag')}"
        if form <= 3:
            return f"({e('f', depth)} {self.pick('+', '-', '*', '/')} {e(self.pick('f', 'f', 'i'), depth)})"
        if form == 4:
            return f"({e('i', depth)} / ({e('i', depth)} | {self.known(1)}))"
        if form == 5:
            return f"({self.pick('-', '+')}{e('f', depth)})"
        if form == 6:
            return f"({e('f', depth)} {self.pick('%', '//')} {e('f', depth)})"
        if form == 7:
            return f"math.{self.pick(*_UNARY_MATH)}({e(self.pick('f', 'i'), depth)})"
        if form == 8:
            return f"({e('f', depth)} if {e('b', depth)} else {e(self.pick('f', 'i'), depth)})"
        if form == 9:
            return f"abs({e('f', depth)})"
        if form == 10:
            return f"({e('f', depth)} ** {self.pick('2', '3', '4', '0.5', '0')})"
        if form == 11:
            return f"floats[{e('i', 0)} & {self.known(CELLS - 1)}]"
        if form == 12:
            return f"np.{self.pick(*_EXTREMA)}({e('f', depth)}, {e(self.pick('f', 'i'), depth)})"
        return self.pick(
            f"math.{self.pick('hypot', 'atan2')}({e('f', depth)}, {e('f', depth)})",
            f"math.copysign({e('f', depth)}, {e('i', depth)})",  # NaN may have either sign
            f"float({e('i', depth)})",
            f"np.float32({e('f', depth)})",
        )

    def expression_b(self, depth):
        e = self.expression
        form = self.number(0, 8)
        kind = self.pick("i", "f", "i")
        if form <= 2:
            return f"({self.variable(depth)} {self.pick(*_COMPARISONS)} {e(self.pick('i', 'f'), depth)})"
        if form == 3:
            return (
                f"({self.variable(depth)} {self.pick(*_COMPARISONS)} {e(kind, depth)} "
                f"{self.pick(*_COMPARISONS)} {e('i', depth)})"
            )
        if form == 4:
            return f"({e('b', depth)} {self.pick('and', 'or', '&', '|', '^')} {e('b', depth)})"
        if form == 5:
            return f"(not {e(self.pick('b', 'i', 'f'), depth)})"
        if form == 6:
            choices = f"({self.known(self.number(0, 9))}, {self.known(self.number(0, 99))})"
            return f"({e('i', depth)} {self.pick('in', 'not in')} {choices})"
        if form == 7:
            ufunc = self.pick("isnan", "logical_not", "logical_and", "logical_xor", "less", "equal")
            others = (
                [e(kind, depth)] if ufunc[0] == "l" and ufunc != "logical_not" or ufunc == "equal" else []
            )
            return f"np.{ufunc}({', '.join([e(kind, depth), *others])})"
        return f"bool({e(self.pick('i', 'f'), depth)})"

    def variable(self, depth):
        """A number that is not known while compiling: Numba finds more of those than cudasim and drops branches."""
        known = self.names("i") + self.names("f")
        return self.pick(*known) if known else self.expression("i", depth)

    def tuple_element(self, kind, depth):
        fitting = [
            f"{name}[{i}]"
            for name, kinds in self.tuples.items()
            for i, its in enumerate(kinds)
            if its == kind
        ]
        return self.pick(*fitting) if fitting else self.leaf(kind)

    # -- statements ---------------------------------------------------------------------------------------

    def block(self, depth, loops, indent):
        saved, self.lines = self.lines, []
        kinds, tuples = dict(self.kinds), dict(self.tuples)
        for _ in range(self.number(1, 3)):
            self.statement(depth, loops)
        if not self.lines:
            self.lines.append("pass")
        block = [indent + line for line in self.lines]
        # Names that only this block assigns are not used after it.
        self.kinds = {name: self.kinds[name] for name in kinds if name in self.kinds}
        self.tuples = {name: self.tuples[name] for name in tuples if name in self.tuples}
        for name in kinds:  # a number that may now be of the other kind counts as a float
            if self.kinds.get(name) != kinds[name]:
                self.kinds[name] = "f"
        for name in tuples:
            if self.tuples.get(name) != tuples[name]:
                self.tuples.pop(name, None)
        self.lines = saved
        return block

    def statement(self, depth, loops=False):
        form = self.number(0, 13)
        if form <= 3:
            kind = self.pick("i", "f", "i", "f", "b")
            value = self.expression(kind, 3)
            name = self.pick("p", "q", "r", "s", "t")
            if depth < 2 and self.kinds.get(name, kind) != kind:
                name = f"{name}_{kind}"
            if name in self.tuples:
                return
            self.lines.append(f"{name} = {value}")
            self.kinds[name] = kind
        elif form == 4:
            known = self.names("i")
            if known:
                name = self.pick(*known)
                value = self.expression("i", 2)
                self.lines.append(f"{name} {self.pick('+=', '-=', '^=', '|=')} {value}")
        elif form == 5:
            known = self.names("f")
            if known:
                name = self.pick(*known)
                value = self.expression("f", 2)
                self.lines.append(f"{name} {self.pick('+=', '-=', '*=', '/=')} {value}")
        elif form == 6 or form == 7:
            self.store()
        elif form == 8:
            self.tuple_statement()
        elif depth <= 0:
            self.store()
        elif form <= 10:
            condition = self.expression("b", 2)
            body = self.block(depth - 1, loops, "    ")
            self.lines += [f"if {condition}:", *body]
            if self.number(0, 1):
                self.lines += ["else:", *self.block(depth - 1, loops, "    ")]
        elif form == 11:
            self.loop(depth)
        elif form == 12 and loops:
            condition = self.expression("b", 1)
            self.lines += [f"if {condition}:", f"    {self.pick('break', 'continue')}"]
        else:
            self.store()

    def store(self):
        kind = self.pick("i", "f")
        value = self.expression(kind, 3)
        array = "ints" if kind == "i" else "floats"
        operator = self.pick("=", "=", "+=", "-=")
        self.lines.append(f"{array}[{self.number(0, CELLS - 1)}] {operator} {value}")

    def tuple_statement(self):
        kinds = [self.pick("i", "f") for _ in range(self.number(2, 3))]
        values = [self.expression(kind, 1) for kind in kinds]
        if self.number(0, 1):
            self.fresh += 1
            name = f"u{self.fresh}"
            self.lines.append(f"{name} = ({', '.join(values)})")
            self.tuples[name] = kinds
        else:
            self.fresh += 1
            names = [f"v{self.fresh}{i}" for i in range(len(kinds))]
            self.lines.append(f"{', '.join(names)} = {', '.join(values)}")
            self.kinds.update(zip(names, kinds))

    def loop(self, depth):
        self.fresh += 1
        if self.number(0, 1):
            name = f"i{self.fresh}"
            count = self.pick(self.known(self.number(0, 5)), f"{self.expression('i', 1)} & {self.known(3)}")
            header = f"for {name} in range({count}):"
            self.kinds[name] = "i"
            body = self.block(depth - 1, True, "    ")
            del self.kinds[name]
            self.lines += [header, *body]
        else:
            name = f"w{self.fresh}"
            self.lines.append(f"{name} = {self.number(1, 4)}")
            condition = self.expression("b", 1)
            body = self.block(depth - 1, True, "    ")
            self.lines += [f"while {name} > 0 and {condition}:", f"    {name} -= 1", *body]


@st.composite
def programs(draw):
    unsigned = draw(st.integers(0, 3)) == 0
    integers = UNSIGNED if unsigned else SIGNED
    types = [draw(st.sampled_from(integers + FLOATS + ["bool"])) for _ in PARAMETERS]
    kinds = {
        name: "b" if its == "bool" else "f" if its in FLOATS else "i" for name, its in zip(PARAMETERS, types)
    }
    writer = Writer(draw, kinds, unsigned)
    for _ in range(draw(st.integers(3, 8))):
        writer.statement(2)
    writer.store()
    body = "\n    ".join(writer.lines)
    return Program(types, f"def f({', '.join(PARAMETERS)}, ints, floats):\n    {body}\n", unsigned)
