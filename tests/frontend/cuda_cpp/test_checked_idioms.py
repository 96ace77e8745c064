"""What the checks say of idioms of lock-free code: nothing where they are right, both lines where they are not."""

import pathlib
import re

import pytest
from cuda_programs import compiled, needs_clang, run

pytestmark = needs_clang

PROGRAMS = pathlib.Path(__file__).parent / "programs"
POLICIES = ["forward", "reverse", "random"]


@pytest.fixture(scope="module")
def lock_free(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lock_free")
    return compiled((PROGRAMS / "lock_free.cu").read_text(), folder, "-arch=sm_80", "--extended-lambda")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    return compiled((PROGRAMS / "planted_races.cu").read_text(), folder, "-arch=sm_80")


@pytest.fixture(scope="module")
def own_synchronisation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own_synchronisation")
    return compiled((PROGRAMS / "own_synchronisation.cu").read_text(), folder, "-arch=sm_80")


@pytest.mark.parametrize("policy", POLICIES)
def test_barriers_and_locks_of_the_program_itself_have_no_races(own_synchronisation, policy):
    result = run(own_synchronisation, CUDASIM_CHECK="all", CUDASIM_POLICY=policy)
    assert (result.returncode, result.stdout, result.stderr) == (0, "1" * 15 + "\n", "")


@pytest.mark.parametrize("policy", POLICIES[:2])
def test_without_their_fences_each_has_a_race(own_synchronisation, policy):
    for which in range(15):
        result = run(own_synchronisation, str(which), CUDASIM_CHECK="races", CUDASIM_POLICY=policy)
        assert "data-race" in result.stderr, which


@pytest.mark.parametrize("policy", POLICIES)
def test_idioms_that_are_right_have_no_findings(lock_free, policy):
    result = run(lock_free, CUDASIM_CHECK="all", CUDASIM_POLICY=policy)
    assert (result.returncode, result.stdout, result.stderr) == (0, "111111\n", "")


@pytest.mark.parametrize("policy", POLICIES[:2])
@pytest.mark.parametrize("which", range(6))
def test_a_twin_with_a_bug_is_found_at_both_lines(planted, which, policy):
    lines = (PROGRAMS / "planted_races.cu").read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith(f"// {which}")}
    result = run(planted, str(which), CUDASIM_CHECK="races", CUDASIM_POLICY=policy)
    assert "data-race" in result.stderr, result.stderr
    first_report = result.stderr.partition("\n\n")[0]
    named = {int(line) for line in re.findall(r"program\.cu:(\d+)", first_report)}
    assert marked <= named, result.stderr


UNWRITTEN = """
struct Fields { unsigned low : 1, next : 1, more : 2; };
template <int which> __global__ void use(int* out) {
    Fields fields;
    if (which == 0) fields.next = 1;
    if (which == 1) fields.low = 1;
    unsigned word;
    __builtin_memcpy(&word, &fields, sizeof word);
    word = __shfl_sync(0xffffffffu, word, 3);
    __builtin_memcpy(&fields, &word, sizeof word);
    if (which == 0 ? fields.low : which == 1 ? fields.next : fields.more) out[threadIdx.x] = 1;
}
int main(int argc, char**) {
    int* out;
    cudaMalloc(&out, 128);
    (argc == 1 ? use<0> : argc == 2 ? use<1> : use<2>)<<<1, 32>>>(out);
    cudaDeviceSynchronize();
}
"""


def test_unwritten_bits_are_still_known_behind_a_shuffle(tmp_path):
    program = compiled(UNWRITTEN, tmp_path)
    for number in range(3):
        assert "uninitialised-value" in run(program, *["more"] * number, CUDASIM_CHECK="init").stderr, number


ENDED_LANE = """
template <bool mixed> __global__ void use(int* out, int lanes) {
    int t = threadIdx.x;
    if (t >= lanes) return;
    int v = __shfl_down_sync(0xffffffffu, t, 1);
    if (mixed && t < lanes - 1) v = out[t];
    if (v > 5) out[t] = 1;
}
int main(int argc, char**) {
    int* out;
    cudaMalloc(&out, 128);
    (argc == 1 ? use<false> : use<true>)<<<1, 32>>>(out, 20);
    cudaDeviceSynchronize();
}
"""


def test_what_a_shuffle_gives_of_a_lane_that_ended_is_told_as_that(tmp_path):
    program = compiled(ENDED_LANE, tmp_path)
    report = run(program, CUDASIM_CHECK="init").stderr
    assert (
        "what the warp shuffle in line 5 gave is compared, and the lane that it is from has ended" in report
    )
    assert "tid=[19, 0, 0]" in report and "program.cu:7" in report
    mixed = run(program, "mixed", CUDASIM_CHECK="init").stderr
    assert "uninitialised value: " in mixed and "warp shuffle" not in mixed


SAME_LINE = """
__global__ void write(float* x) { x[100] = 1; }
#define CHECKED(call) do { if ((call) != cudaSuccess) return 1; } while (0)
int main(int argc, char**) {
    float *a, *b, *c, *d;
    cudaMalloc(&a, 400); cudaMalloc(&b, 400);
    CHECKED(cudaMalloc((void**)&c, 400)); CHECKED(cudaMalloc((void**)&d, 400));
    write<<<1, 1>>>(argc == 1 ? a : argc == 2 ? b : argc == 3 ? c : d);
    cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize("options", [("-O0",), ("-O2",)], ids=str)
def test_allocations_of_one_line_have_their_own_names(tmp_path, options):
    program = compiled(SAME_LINE, tmp_path, *options)
    for number, name in enumerate("abcd"):
        result = run(program, *["more"] * number)
        assert f"{name} (cudaMalloc at program.cu:" in result.stderr, result.stderr
