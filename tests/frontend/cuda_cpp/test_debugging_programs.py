"""`cudasim debug` in kernels of CUDA C++: which variables there are, what they show, and breakpoints by functions' names."""

import re
import subprocess
import sys

import pytest
from cuda_programs import compiled, environment, needs_clang

pytestmark = needs_clang

PROGRAM = """
namespace shapes {
namespace detail {
template <typename T> struct Point {
    T x, y;
    __device__ T dot(const Point& other) const {
        T sum = x * other.x;
        sum += y * other.y;
        return sum;
    }
};
}
template <typename T> __device__ T scaled(const detail::Point<T>& point, T factor) {
    T length = point.dot(point);
    return length * factor;
}
}
using shapes::detail::Point;
struct Flags { unsigned on : 1; int level : 5; unsigned long wide : 40; bool last : 1; };
struct Shape { Point<float> corner; Flags flags; float history[3]; Shape* next; };
__constant__ Shape limits = {{7, 8}, {1, -3, 1ul << 39, true}, {1, 2, 3}, nullptr};
__device__ __noinline__ void fill(int* values) {
    for (int i = 0; i < 3; i++) values[i] = 10 + i;
}
template <typename T> __global__ void measure(Shape* shapes, T* out, Shape given, const char* name) {
    const int i = threadIdx.x;
    Shape& shape = shapes[i];
    const Shape copy = shapes[i];
    int zeros[4] = {0};
    int listed[3] = {4, 5, 6};
    int filled[3];
    fill(filled);
    Shape** link = &shape.next;
    T length = shapes::scaled<T>({T(shape.corner.x), T(shape.corner.y)}, T(2));
    shape.flags.level = -5;
    out[i] = length + given.corner.x + zeros[i] + listed[0] + filled[1] + copy.history[0] + limits.corner.x;
    out[i] += *link != nullptr;
}
int main() {
    Shape* shapes;
    float* out;
    double* wide;
    char* name;
    cudaMallocManaged(&shapes, 4 * sizeof *shapes);
    cudaMallocManaged(&out, 4 * sizeof *out);
    cudaMallocManaged(&wide, 4 * sizeof *wide);
    cudaMallocManaged(&name, 8);
    for (int i = 0; i < 4; i++) shapes[i] = {{float(i), 3}, {1, 9, 5, false}, {.5f, 1, 2}, &shapes[0]};
    for (int i = 0; i < 6; i++) name[i] = "shape"[i];
    Shape given = {{100, 200}, {0, 1, 2, true}, {4, 5, 6}, nullptr};
    measure<float><<<1, 4>>>(shapes, out, given, name);
    measure<double><<<1, 4>>>(shapes, wide, given, name);
    return cudaDeviceSynchronize();
}
"""

#: Of the last statement but one of `measure`, where all variables have their values.
LINE = next(i for i, line in enumerate(PROGRAM.splitlines(), 1) if "out[i] = length" in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("shapes")
    (path / "cache").mkdir(mode=0o700)
    (path / "shapes.cu").write_text(PROGRAM)
    return path


def debug(folder, *commands, program="shapes.cu"):
    result = subprocess.run(
        [sys.executable, "-m", "cudasim", "debug", "-batch", *(part for each in commands for part in ("-ex", each)), program],
        cwd=folder, env=environment(CUDASIM_CACHE_DIR=str(folder / "cache")), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return result.stdout + result.stderr


def values_of(folder, *expressions, first=()):
    """What is printed for the expressions in thread 2 of measure<float>, at LINE."""
    text = debug(folder, f"break {LINE} thread 2", "run", *first, *(f"print {each}" for each in expressions))
    return dict(zip(expressions, re.findall(r"^\$\d+ = (.*)$", text, re.MULTILINE))), text


def test_variables_that_are_copied_filled_or_passed_by_address_are_there(folder):
    values, text = values_of(
        folder,
        "copy.corner.x",
        "zeros",
        "listed",
        "filled",
        "limits.corner",
    )
    assert values == {
        "copy.corner.x": "2.0",
        "zeros": "[0, 0, 0, 0]",
        "listed": "[4, 5, 6]",
        "filled": "[10, 11, 12]",
        "limits.corner": "(x=7.0, y=8.0)",
    }, text


def test_structures_that_functions_get_by_value_are_there(folder):
    values, text = values_of(
        folder, "given.corner", "given.history", "given.flags.level", "given.corner.x + i"
    )
    assert values == {
        "given.corner": "(x=100.0, y=200.0)",
        "given.history": "[4.0, 5.0, 6.0]",
        "given.flags.level": "1",
        "given.corner.x + i": "102.0",
    }, text


def test_bit_fields_are_the_bits_that_they_have(folder):
    values, text = values_of(
        folder, "shape.flags", "shape.flags.level", "limits.flags", "shape.flags.wide + 1", "shape.flags.level * 2",
        "shape.flags.on - 2", "shape.flags", "&shape.flags.on",
        first=("set var shape.flags.wide = 77",),
    )  # fmt: skip
    assert values == {
        "shape.flags": "(on=1, level=-5, wide=77, last=False)",
        "shape.flags.level": "-5",
        "limits.flags": "(on=1, level=-3, wide=549755813888, last=True)",
        "shape.flags.wide + 1": "78",
        "shape.flags.level * 2": "-10",
        "shape.flags.on - 2": "-1",
    }, text
    assert "a bit-field has no address" in text


def test_pointers_are_addresses_and_references_what_they_refer_to(folder):
    values, text = values_of(
        folder,
        "shapes",
        "link",
        "*link",
        "name",
        "shape.corner",
        "&shape",
        "copy.next",
        "link[0]->corner.y",
    )
    assert re.fullmatch(r"\(Shape \*\) 0x[0-9a-f]+", values["shapes"]), text
    assert re.fullmatch(r"\(Shape \*\*\) 0x[0-9a-f]+", values["link"]), text
    assert values["*link"] == values["copy.next"] == values["shapes"], text
    assert re.fullmatch(r'\(char \*\) 0x[0-9a-f]+ "shape"', values["name"]), text
    assert values["shape.corner"] == "(x=2.0, y=3.0)", text
    offset = int(values["&shape"].split("0x")[1], 16) - int(values["shapes"].split("0x")[1], 16)
    assert values["&shape"].startswith("(Shape *) ") and offset > 0 and offset % 2 == 0, text
    assert values["link[0]->corner.y"] == "3.0", text


LOOPS = """
__global__ void rounds(int* out) {
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++)
            out[0] += i;
        for (int i = 7; i < 9; i++)
            out[1] += i;
    }
    const int both[2] = {1, 2};
    for (int each : both)
        out[2] += each;
}
int main() {
    int* out;
    cudaMallocManaged(&out, 12);
    rounds<<<1, 1>>>(out);
    return cudaDeviceSynchronize();
}
"""


def test_of_variables_with_one_name_that_of_the_block_is_shown(folder):
    (folder / "rounds.cu").write_text(LOOPS)
    text = debug(folder, "break 5", "run", "print i", "continue", "print i", "tbreak 7", "continue", "print i", "continue", "print i", "print round",
                 program="rounds.cu")  # fmt: skip
    assert re.findall(r"^\$\d+ = (.*)$", text, re.MULTILINE) == ["0", "1", "7", "0", "1"], text


def test_a_line_of_an_executable_needs_its_file_until_something_has_stopped(folder):
    compiled(LOOPS, folder, "-G", name="looping")
    text = debug(folder, "break 5", "break looping.cu:5", "run", "tbreak 7", "continue", program="./looping")
    assert "There is no current file; write FILE:LINE." in text, text
    assert "Breakpoint 1 at looping.cu:5" in text and "reakpoint 2 at looping.cu:7" in text, text


def test_variables_of_the_compiler_are_not_listed(folder):
    (folder / "rounds.cu").write_text(LOOPS)
    text = debug(folder, "break 11 if each == 2", "run", "info locals", program="rounds.cu")
    assert "each = 2" in text and "__range" not in text, text


def test_types_keep_their_names_when_they_are_constant(folder):
    text = debug(folder, f"break {LINE}", "run", "whatis copy", "whatis i", "whatis shape")
    assert re.findall(r"^type = (.*)$", text, re.MULTILINE) == ["Shape", "int", "Shape"], text


@pytest.mark.parametrize("name", ["scaled", "shapes::scaled", "dot", "shapes::detail::Point<float>::dot"])
def test_a_function_breakpoint_stops_in_all_instances_of_a_template(folder, name):
    text = debug(folder, f"break {name} thread 3", "run", "continue", "info args")
    function = name.rsplit("::", 1)[-1]
    stops = re.findall(rf"^Breakpoint 1, {function}(\S*) block", text, re.MULTILINE)
    assert stops == (["<float>", "<double>"] if function == "scaled" else ["", ""]), text


def test_a_function_breakpoint_with_arguments_of_the_template_is_for_one_instance(folder):
    text = debug(folder, "break measure<double> thread 0", "run", "info cuda kernels")
    assert (
        text.count("Breakpoint 1, measure<double> block(0,0,0) thread(0,0,0)") == 1
        and "measure<float> block" not in text
    ), text


LAUNCHES = """
struct Pair { double x; int n; };
template <typename T, int N> struct Box { T items[N]; int used; };
struct alignas(32) Wide { long q[4]; };
__device__ __noinline__ double total(Pair pair, Box<float, 2> box, int k) {
    double sum = pair.x * pair.n + box.items[k];
    pair.n += 100;
    return sum + 1;
}
template <typename T> __global__ void many(T* out, Pair pair, const Box<T, 4> box, Wide wide) {
    int i = threadIdx.x;
    double sum = total(pair, {{7, 8}, 2}, i % 2);
    out[i] = sum + box.items[i] + wide.q[i];
}
template <typename F> __global__ void apply(F work, int* out) {
    int result = work(threadIdx.x);
    out[threadIdx.x] = result;
}
template <typename T> __global__ void filled(T* out, int n) {
    T parts[4][2];
    for (int k = 0; k < n; k++) parts[k / 2][k % 2] = k;
    out[threadIdx.x] = parts[threadIdx.x][1];
}
int main() {
    float* out;
    double* wide;
    int* numbers;
    cudaMallocManaged(&out, 4 * sizeof *out);
    cudaMallocManaged(&wide, 4 * sizeof *wide);
    cudaMallocManaged(&numbers, 4 * sizeof *numbers);
    int captured = 5;
    double other = 2.5;
    many<<<1, 4>>>(out, {1.5, 2}, Box<float, 4>{{1, 2, 3, 4}, 4}, {{1, 2, 3, 4}});
    many<<<1, 4>>>(wide, {2.5, 3}, Box<double, 4>{{5, 6, 7, 8}, 4}, {{5, 6, 7, 8}});
    apply<<<1, 4>>>([=] __device__(int k) { return k * captured + int(other); }, numbers);
    filled<<<1, 4>>>(out, 8);
    filled<<<1, 4>>>(wide, 8);
    return cudaDeviceSynchronize();
}
"""


def printed(text):
    return re.findall(r"^\$\d+ = (.*)$", text, re.MULTILINE)


def line_with(code, text=LAUNCHES):
    return next(number for number, line in enumerate(text.splitlines(), 1) if code in line)


@pytest.fixture(scope="module")
def launches(folder):
    (folder / "launches.cu").write_text(LAUNCHES)
    return folder


def test_each_launch_of_a_kernel_with_local_arrays_has_its_own_parameters(launches):
    text = debug(launches, "run", program="launches.cu")
    assert "exited normally" in text, text


def test_structures_by_value_are_there_in_instances_and_device_functions(launches):
    text = debug(launches, f"tbreak {line_with('return sum')}", f"break {line_with('out[i] = sum')}", "run",
                 "print pair", "print box", "up", "print pair", "print box.items[1]", "continue", "continue 4",
                 "print pair", "print box", "print wide", program="launches.cu")  # fmt: skip
    assert printed(text) == [
        "(x=1.5, n=102)", "(items=[7.0, 8.0], used=2)", "(x=1.5, n=2)", "2.0",
        "(x=2.5, n=3)", "(items=[5.0, 6.0, 7.0, 8.0], used=4)", "(q=[5, 6, 7, 8])",
    ], text  # fmt: skip


def test_structures_by_value_are_there_at_the_first_statement_and_can_be_set(launches):
    text = debug(launches, f"break {line_with('int i = threadIdx.x')} thread 2", "run", "print pair", "info args",
                 "set var pair.n = 10", "next", "next", "print sum", program="launches.cu")  # fmt: skip
    assert printed(text) == ["(x=1.5, n=2)", "23.0"], text
    assert "wide = (q=[1, 2, 3, 4])" in text, text


def test_what_a_lambda_captures_is_there(launches):
    text = debug(launches, f"break {line_with('out[threadIdx.x] = result')} thread 3", "run", "print work",
                 "print work.captured", program="launches.cu")  # fmt: skip
    assert printed(text) == ["(captured=5, other=2.5)", "5"], text


def test_names_of_captures_are_there_in_the_lambda(launches):
    text = debug(launches, f"break {line_with('captured + int')} thread 1", "run", "print captured", "print other * k",
                 program="launches.cu")  # fmt: skip
    assert printed(text) == ["5", "2.5"], text


def test_arrays_that_are_assigned_with_indices_only_are_there(launches):
    text = debug(launches, f"tbreak {line_with('= parts[threadIdx.x]')}", "run", "print parts", "print parts[2][1]",
                 program="launches.cu")  # fmt: skip
    assert printed(text) == ["[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]", "5.0"], text


NAMES = """
namespace paint {
enum Colour { red, green = 5, blue };
enum class Mode : unsigned char { fast, exact = 200 };
enum Access { none, reads = 1, writes = 2, runs = 4 };
}
struct Brush { paint::Colour colour; paint::Mode mode; };
struct Cell { float weight; int next; };
extern __shared__ Cell cells[];
__global__ void draw(Brush* brushes, paint::Access access, int* out) {
    extern __shared__ float weights[];
    __shared__ double fixed[3];
    const int i = threadIdx.x;
    Brush brush = brushes[i];
    weights[2 * i] = i + 0.5f;
    Cell& own = cells[i];
    own.next = i + 1;
    fixed[0] = 1;
    __syncthreads();
    out[i] = brush.colour == paint::green ? weights[2 * i] + own.next : fixed[0];
}
int main() {
    Brush* brushes;
    int* out;
    cudaMallocManaged(&brushes, 4 * sizeof *brushes);
    cudaMallocManaged(&out, 4 * sizeof *out);
    for (int i = 0; i < 4; i++) brushes[i] = {paint::Colour(4 + i), i % 2 ? paint::Mode::exact : paint::Mode::fast};
    draw<<<1, 4, 4 * sizeof(Cell)>>>(brushes, paint::Access(3), out);
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def names(folder):
    """Prints expressions in a thread of `draw`, behind the barrier."""
    (folder / "names.cu").write_text(NAMES)

    def values(*expressions, first=(), condition="thread 1"):
        text = debug(folder, f"break {line_with('out[i] = brush', NAMES)} {condition}", "run", *first,
                     *(f"print {each}" for each in expressions), program="names.cu")  # fmt: skip
        return printed(text), text

    return values


def test_enumerators_have_their_names(names):
    values, text = names("brush", "access", "brush.colour == green", "brush.colour == paint::blue", "red", "brush.colour + 1",
                         "brush.mode == Mode::exact", "(int)brush.colour", "(Colour)6", "brushes[0].colour", "brushes[2]")  # fmt: skip
    assert values == [
        "(colour=green, mode=Mode::exact)", "(reads | writes)", "True", "False", "red", "6",
        "True", "5", "blue", "4", "(colour=blue, mode=Mode::fast)",
    ], text  # fmt: skip


def test_enumerators_can_be_assigned_and_tested_by_conditions(names):
    values, text = names("brush.colour", "i", "brush.mode", first=("set var brush.mode = Mode::exact",),
                         condition="if brush.colour == blue")  # fmt: skip
    assert values == ["blue", "2", "Mode::exact"], text


def test_sizes_are_cpps(names):
    values, text = names("sizeof(int)", "sizeof brush", "sizeof(Brush)", "sizeof(Cell)", "sizeof(fixed)", "sizeof fixed[0] + 1",
                         "sizeof(float*)", "sizeof(Brush *)", "sizeof(i) * 2", "sizeof(paint::Mode)")  # fmt: skip
    assert values == ["4", "8", "8", "8", "24", "9", "8", "8", "8", "1"], text


def test_dynamic_shared_arrays_have_their_elements(names):
    values, text = names("weights[2]", "cells[1]", "cells[1].next + 1", "((float*)cells)[2]", "((Cell*)weights)[1].next",
                         "*(weights + 2)", "weights[1000]")  # fmt: skip
    assert values == ["1.5", "(weight=1.5, next=2)", "3", "1.5", "2", "1.5"], text
    assert "may not read" in text, text
