"""Arithmetic and conversions in each direction of rounding, on the device, against exact fractions."""

import itertools
import math
import struct
from fractions import Fraction

from cuda_programs import needs_clang, output_of

pytestmark = needs_clang

FLOAT, DOUBLE = (24, -149, "f", "I"), (53, -1074, "d", "Q")
MODES = ("rn", "rz", "ru", "rd")
REALS = [1.0, -3.0, 1 / 3, -0.1, 1e-3, 7.25, 2.0**25 + 8, 3.0e38, -2.5, 1.1754944e-38, 3e-42]
INTEGERS = [0, 1, -1, 7, 2**24 + 1, -(2**24) - 3, 2**31 - 1, -(2**31)]
LONGS = [*INTEGERS, 2**53 + 1, -(2**53) - 3, 2**63 - 1, -(2**63), 2**62 + 2**9 + 1]
CONVERTED = [0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2**31 - 0.5, -(2.0**31), 3e9, -1.0, 1e19, -1e19, 1e30]


def bits_of(value, form):
    return struct.unpack("<" + form[3], struct.pack("<" + form[2], value))[0]


def value_of(bits, form):
    return struct.unpack("<" + form[2], struct.pack("<" + form[3], bits))[0]


def as_float(value):
    return value_of(bits_of(value, FLOAT), FLOAT)


def directed(whole, rest, mode):
    """whole + rest, for a rest in [0, 1), as an integer."""
    if rest == 0 or mode == "rd" or (mode == "rz" and whole >= 0):
        return whole
    if mode in ("ru", "rz"):
        return whole + 1
    half = Fraction(1, 2)
    return whole + (rest > half or (rest == half and whole % 2))


def rounded(value, form, mode, square_root=False):
    """The value, a Fraction, or its square root, as a number of the form."""
    if value == 0:
        return 0.0
    precision, lowest = form[:2]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = exponent // 2 - 1 if square_root else exponent - 1
    while Fraction(2) ** (exponent + 1) * (Fraction(2) ** (exponent + 1) if square_root else 1) <= size:
        exponent += 1
    quantum = max(exponent - precision + 1, lowest)
    unit = Fraction(2) ** quantum
    if square_root:
        scaled = value / unit / unit
        whole = math.isqrt(scaled.numerator // scaled.denominator)
        # Where it lies between two integers matters only beside the half.
        if scaled == whole * whole:
            rest = Fraction(0)
        else:
            rest = Fraction(3, 4) if scaled > (whole + Fraction(1, 2)) ** 2 else Fraction(1, 4)
    else:
        whole = math.floor(value / unit)
        rest = value / unit - whole
    result = directed(whole, rest, mode) * unit
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** (1023 if form is DOUBLE else 127)
    if abs(result) > largest:
        away = mode == "rn" or (mode == "ru" if result > 0 else mode == "rd")
        return math.copysign(math.inf if away else float(largest), 1 if result > 0 else -1)
    return math.copysign(float(result), 1 if value > 0 else -1)


def integer(value, bits, is_signed, mode):
    value = Fraction(value)
    whole = directed(math.floor(value), value - math.floor(value), mode)
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return max(lowest, min(highest, whole)) & ((1 << bits) - 1)


def literal(value, form):
    constructor = "__int_as_float" if form is FLOAT else "__longlong_as_double"
    return f"{constructor}({bits_of(value, form):#x}{'' if form is FLOAT else 'ull'})"


def arithmetic_cases():
    """(call, expected bits) of +, -, *, /, reciprocal, square root and fused multiply-add."""
    operations = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
    }
    for letter, form, mode in itertools.product("fd", (None,), MODES):
        form = FLOAT if letter == "f" else DOUBLE
        values = [as_float(x) for x in REALS] if letter == "f" else [*REALS, 1e308, 5e-324]
        pairs = list(itertools.product(values, values))[::3]
        for (name, operation), (x, y) in itertools.product(operations.items(), pairs):
            exact = operation(Fraction(x), Fraction(y))
            if exact == 0:
                continue  # the sign of a zero depends on the direction
            call = f"__{letter}{name}_{mode}({literal(x, form)}, {literal(y, form)})"
            yield call, form, bits_of(rounded(exact, form, mode), form)
        for x, y in pairs:
            exact = Fraction(x) * Fraction(y) + Fraction(values[0])
            if exact != 0:
                name = "__fmaf_" if letter == "f" else "__fma_"
                call = f"{name}{mode}({literal(x, form)}, {literal(y, form)}, {literal(values[0], form)})"
                yield call, form, bits_of(rounded(exact, form, mode), form)
        for x in values:
            yield (
                f"__{letter}rcp_{mode}({literal(x, form)})",
                form,
                bits_of(rounded(1 / Fraction(x), form, mode), form),
            )
            if x > 0:
                result = rounded(Fraction(x), form, mode, square_root=True)
                yield f"__{letter}sqrt_{mode}({literal(x, form)})", form, bits_of(result, form)


def conversion_cases():
    for mode in MODES:
        for x in [*REALS, 1e308, -1e-300, 1 + 2.0**-24]:
            result = bits_of(rounded(Fraction(x), FLOAT, mode), FLOAT)
            yield f"__double2float_{mode}({literal(x, DOUBLE)})", FLOAT, result
        for name, bits, is_signed, values in (
            ("int", 32, True, INTEGERS),
            ("uint", 32, False, [i % 2**32 for i in INTEGERS]),
            ("ll", 64, True, LONGS),
            ("ull", 64, False, [i % 2**64 for i in LONGS]),
        ):
            for x in values:
                argument = f"{x % 2**bits}{'ull' if bits == 64 else 'u'}"
                result = rounded(Fraction(x), FLOAT, mode)
                yield f"__{name}2float_{mode}({argument})", FLOAT, bits_of(result, FLOAT)
                if bits == 64 or mode == "rn":
                    result = rounded(Fraction(x), DOUBLE, mode)
                    yield f"__{name}2double_{mode}({argument})", DOUBLE, bits_of(result, DOUBLE)
            for x in CONVERTED:
                form = FLOAT if bits == 32 else DOUBLE
                for source, source_form in (("float", FLOAT), ("double", DOUBLE)):
                    value = as_float(x) if source == "float" else x
                    result = integer(value, bits, is_signed, mode)
                    yield f"__{source}2{name}_{mode}({literal(value, source_form)})", form[3], result


def cast(call, form):
    """The bits of a result, as unsigned long long."""
    if form is FLOAT:
        return f"__float_as_uint({call})"
    if form is DOUBLE:
        return f"(unsigned long long)__double_as_longlong({call})"
    return f"(unsigned long long)({'unsigned' if form == 'I' else 'unsigned long long'})({call})"


def test_each_direction_of_rounding(tmp_path):
    cases = [*arithmetic_cases(), *conversion_cases()]
    # The arguments come from memory: the compiler does not compute the results itself.
    calls, arguments = [], []
    for call, form, _ in cases:
        name, inside = call.split("(", 1)
        values = []
        for argument in inside[:-1].split(", "):
            values.append(len(arguments))
            arguments.append(argument.split("(")[-1].strip(")").removesuffix("ull").removesuffix("u"))
        kind = argument.split("(")[0] + "({})" if "(" in argument else "{}"
        calls.append((name, form, kind, values))
    rows, lines = [], []
    for (name, kind), group in itertools.groupby(
        sorted(range(len(calls)), key=lambda i: calls[i][0]), key=lambda i: (calls[i][0], calls[i][2])
    ):
        group = list(group)
        first = len(rows)
        rows += group
        taken = ", ".join(kind.format(f"in[3 * i + {at}]") for at in range(len(calls[group[0]][3])))
        result = cast(f"{name}({taken})", calls[group[0]][1])
        lines.append(f"for (int i = {first}; i < {len(rows)}; ++i) out[i] = {result};")
    table = ", ".join(
        f"{arguments[place]}ull" for i in rows for place in (calls[i][3] + [calls[i][3][0]] * 2)[:3]
    )
    source = f"""
#include <cstdio>
const unsigned long long table[] = {{{table}}};
static unsigned long long results[{len(rows)}];
__global__ void compute(const unsigned long long* in, unsigned long long* out) {{
    {" ".join(lines)}
}}
int main() {{
    unsigned long long *in, *out;
    cudaMalloc(&in, sizeof table);
    cudaMalloc(&out, sizeof results);
    cudaMemcpy(in, table, sizeof table, cudaMemcpyHostToDevice);
    compute<<<1, 1>>>(in, out);
    cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
    for (unsigned long long result : results) printf("%llu\\n", result);
}}
"""
    printed = output_of(source, tmp_path).split()
    assert len(printed) == len(cases)
    wrong = [
        f"{cases[i][0]}: {int(result):#x}, not {cases[i][2]:#x}"
        for i, result in zip(rows, printed, strict=True)
        if int(result) != cases[i][2]
    ]
    assert not wrong, "\n".join(wrong[:40])
