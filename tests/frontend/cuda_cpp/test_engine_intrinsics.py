"""Device functions of clang's headers and of libdevice: the engine has them all, and their results are right."""

from __future__ import annotations

import pathlib
import random
import re
import subprocess

import pytest
from cuda_programs import compiled, needs_clang, output_of, run

pytestmark = needs_clang

#: Declared by clang and in no kernel: functions of the host's math library for the device, by pointer.
NOT_HERE = {"__nv_nan", "__nv_nanf", "__nv_norm", "__nv_normf", "__nv_rnorm", "__nv_rnormf"}


def libdevice_prototypes() -> list[tuple[str, str, list[str]]]:
    """Result, name and parameter types of what clang declares of libdevice."""
    resources = subprocess.run(
        ["clang++-19", "-print-resource-dir"], capture_output=True, text=True, check=True
    )
    header = pathlib.Path(resources.stdout.strip()) / "include/__clang_cuda_libdevice_declares.h"
    text = re.sub(r"//.*|/\*.*?\*/", "", header.read_text())
    found = re.findall(r"__DEVICE__\s+([\w ]+?)\s*(__nv_\w+)\(([^)]*)\)", text)
    prototypes = []
    for result, name, parameters in found:
        types = [re.sub(r"\b__\w+$", "", each.strip()).strip() for each in parameters.split(",")]
        prototypes.append((result, name, [each for each in types if each != "void"]))
    return prototypes


def test_the_engine_has_every_function_that_clang_declares_of_libdevice(tmp_path):
    prototypes = [each for each in libdevice_prototypes() if each[1] not in NOT_HERE]
    assert len(prototypes) > 400
    kernels, launches = [], []
    declarations = [
        f'extern "C" __device__ {result} {name}({", ".join(types)});' for result, name, types in prototypes
    ]
    for result, name, types in prototypes:
        arguments = []
        for k, each in enumerate(types):
            base = each.replace("*", "").replace("const", "").strip()
            pointer = "*" in each
            arguments.append(f"({each})(memory + {k})" if pointer else f"*({base}*)(memory + {k})")
        call = f"{name}({', '.join(arguments)})"
        store = call if result == "void" else f"*({result}*)(memory + 7) = {call}"
        kernels.append(f"__global__ void call{name}(double* memory) {{ {store}; }}")
        launches.append(f'try_it(call{name}, "{name}");')
    source = f"""
#include <cstdio>
{chr(10).join(declarations)}
{chr(10).join(kernels)}
static double* memory;
static void try_it(void (*kernel)(double*), const char* name) {{
    kernel<<<1, 1>>>(memory);
    if (cudaGetLastError() != cudaSuccess) std::printf("%s\\n", name);
}}
int main() {{
    cudaMalloc(&memory, 64);
    {chr(10).join(launches)}
}}
"""
    result = run(compiled(source, tmp_path))
    assert (result.stdout, result.stderr) == ("", "")


def lanes(word: int, bits: int, signed: bool) -> list[int]:
    values = [word >> shift & (1 << bits) - 1 for shift in range(0, 32, bits)]
    return [value - (1 << bits) if signed and value >> (bits - 1) else value for value in values]


def clamp(value: int, bits: int, signed: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


#: name: (signed, function of lanes with their width)
PACKED = {
    "abs": (True, lambda b, x: abs(x)),
    "absss": (True, lambda b, x: clamp(abs(x), b, True)),
    "neg": (True, lambda b, x: -x),
    "negss": (True, lambda b, x: clamp(-x, b, True)),
    "add": (False, lambda b, x, y: x + y),
    "addss": (True, lambda b, x, y: clamp(x + y, b, True)),
    "addus": (False, lambda b, x, y: clamp(x + y, b, False)),
    "sub": (False, lambda b, x, y: x - y),
    "subss": (True, lambda b, x, y: clamp(x - y, b, True)),
    "subus": (False, lambda b, x, y: clamp(x - y, b, False)),
    "absdiffs": (True, lambda b, x, y: abs(x - y)),
    "absdiffu": (False, lambda b, x, y: abs(x - y)),
    "avgs": (True, lambda b, x, y: (x + y + (x + y >= 0)) >> 1),
    "avgu": (False, lambda b, x, y: (x + y + 1) >> 1),
    "haddu": (False, lambda b, x, y: (x + y) >> 1),
    "maxs": (True, lambda b, x, y: max(x, y)),
    "maxu": (False, lambda b, x, y: max(x, y)),
    "mins": (True, lambda b, x, y: min(x, y)),
    "minu": (False, lambda b, x, y: min(x, y)),
    "cmpeq": (False, lambda b, x, y: -(x == y)),
    "cmpne": (False, lambda b, x, y: -(x != y)),
    "cmpges": (True, lambda b, x, y: -(x >= y)),
    "cmpgtu": (False, lambda b, x, y: -(x > y)),
    "cmples": (True, lambda b, x, y: -(x <= y)),
    "cmpltu": (False, lambda b, x, y: -(x < y)),
    "seteq": (False, lambda b, x, y: x == y),
    "setgts": (True, lambda b, x, y: x > y),
    "setleu": (False, lambda b, x, y: x <= y),
    "setlts": (True, lambda b, x, y: x < y),
}


def test_numbers_packed_in_a_word(tmp_path):
    numbers = random.Random(3)
    words = [0, 0x80008000, 0x7FFF8080, 0xFFFFFFFF, 0x7F7F0180, *(numbers.getrandbits(32) for _ in range(27))]
    pairs = [(words[i], words[(i * 7 + 3) % len(words)]) for i in range(len(words))]
    pairs += [(word, word ^ 0x00FF0001) for word in words]
    calls, expected = [], []
    for name, (signed, function) in PACKED.items():
        for count in (2, 4):
            bits = 32 // count
            unary = function.__code__.co_argcount == 2
            calls.append(f"__nv_v{name}{count}({'x' if unary else 'x, y'})")
            for x, y in pairs:
                split = (
                    [lanes(x, bits, signed)] if unary else [lanes(x, bits, signed), lanes(y, bits, signed)]
                )
                values = [int(function(bits, *each)) & (1 << bits) - 1 for each in zip(*split, strict=True)]
                expected.append(sum(value << bits * k for k, value in enumerate(values)))
    for signed in "su":
        for count in (2, 4):
            calls.append(f"__nv_vsad{signed}{count}(x, y)")
            for pair in pairs:
                x, y = (lanes(word, 32 // count, signed == "s") for word in pair)
                expected.append(sum(abs(a - b) for a, b in zip(x, y, strict=True)))
    stores = "\n".join(f"out[{k} * count + i] = {call};" for k, call in enumerate(calls))
    # clang declares them for old versions of CUDA only.
    declarations = sorted(
        {f'extern "C" __device__ int {c.split("(")[0]}(int{", int" if "," in c else ""});' for c in calls}
    )
    source = f"""
#include <cstdio>
{chr(10).join(declarations)}
__constant__ unsigned pairs[][2] = {{{", ".join(f"{{{x}u, {y}u}}" for x, y in pairs)}}};
__global__ void all(unsigned* out) {{
    const int i = threadIdx.x, count = {len(pairs)};
    const unsigned x = pairs[i][0], y = pairs[i][1];
    {stores}
}}
int main() {{
    const int n = {len(calls) * len(pairs)};
    static unsigned host[n];
    unsigned* out;
    cudaMalloc(&out, sizeof host);
    all<<<1, {len(pairs)}>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (unsigned each : host) std::printf("%u\\n", each);
}}
"""
    found = [int(line) for line in output_of(source, tmp_path).split()]
    wrong = [
        (calls[k // len(pairs)], pairs[k % len(pairs)], found[k], expected[k])
        for k in range(len(expected))
        if found[k] != expected[k]
    ]
    assert len(found) == len(expected) and wrong == []


#: What a kernel of one warp computes for each lane, in CUDA C++ and in Python.
WARP = [
    ("__nvvm_redux_sync_add(lane * 5 - 7, full)", lambda i: sum(k * 5 - 7 for k in range(32))),
    ("__nvvm_redux_sync_min((int)lane - 9, full)", lambda i: -9),
    ("__nvvm_redux_sync_max((int)lane - 40, full)", lambda i: -9),
    ("__nvvm_redux_sync_umin(lane - 9u, full)", lambda i: 0),
    ("__nvvm_redux_sync_umax(lane - 9u, full)", lambda i: -1),
    ("__nvvm_redux_sync_and(lane | 8u, full)", lambda i: 8),
    ("__nvvm_redux_sync_or(1u << lane, 0xffffu << (lane & 16))", lambda i: 0xFFFF << (i & 16)),
    ("__nvvm_redux_sync_xor(lane, 3u << (lane & ~1u))", lambda i: (i & ~1) ^ (i | 1)),
    ("__nvvm_fns(0xf0f0u, lane, 1)", lambda i: next((k for k in range(i, 32) if 0xF0F0 >> k & 1), -1)),
    ("__nvvm_fns(0xf0f0u, lane, 0)", lambda i: i if 0xF0F0 >> i & 1 else -1),
    (
        "__nvvm_fns(0xf0f0u, lane, -3)",
        lambda i: ([k for k in range(i, -1, -1) if 0xF0F0 >> k & 1] + [-1] * 3)[2],
    ),
    ("__nvvm_prmt(0x11223344u, 0x8566778au, 0x7c40u)", lambda i: int.from_bytes(b"\x85\xff\x8a\x44")),
    ("__nvvm_read_ptx_sreg_cluster_nctarank() * 10 + __nvvm_read_ptx_sreg_cluster_ctarank()", lambda i: 10),
    ("__nvvm_read_ptx_sreg_nwarpid() * 100 + __nvvm_read_ptx_sreg_warpid()", lambda i: 100),
    ("__nvvm_read_ptx_sreg_lanemask_gt() + __nvvm_read_ptx_sreg_lanemask_le()", lambda i: 0xFFFFFFFF),
    ("__nvvm_read_ptx_sreg_smid() < __nvvm_read_ptx_sreg_nsmid()", lambda i: 1),
    ("__nvvm_bar0_popc(lane % 3 == 0)", lambda i: 11),
    ("__nvvm_bar0_and(lane < 32)", lambda i: 1),
    ("__nvvm_bar0_or(lane == 40)", lambda i: 0),
    ("__nvvm_ldg_i(table + lane)", lambda i: i * i),
    ("__nvvm_ldg_i4(reinterpret_cast<const int4v*>(table) + lane % 8)[2]", lambda i: (i % 8 * 4 + 2) ** 2),
    ("__nvvm_ldg_d(doubles + lane) * 4", lambda i: 4 * i + 1),
    ("__nvvm_mulhi_i(-5 - (int)lane, 1 << 30)", lambda i: (-5 - i) * (1 << 30) >> 32),
    ("__nvvm_mul24_ui(0xff000003u, lane)", lambda i: 3 * i),
    ("__nvvm_sad_i(-3, lane, 10)", lambda i: i + 13),
    ("__nvvm_d2i_hi(-2.5) + __nvvm_d2i_lo(__nvvm_lohi_i2d(lane, 7))", lambda i: 0xC0040000 + i),
    ("__nvvm_bitcast_f2i(__nvvm_bitcast_i2f(lane + 5))", lambda i: i + 5),
    ("__nvvm_f2i_rm(lane * -0.5f)", lambda i: -(i + 1) // 2 if i % 2 else -i // 2),
    ("__nvvm_f2i_rp(lane * 0.5f)", lambda i: (i + 1) // 2),
    ("__nvvm_f2ui_rz(-4.0f) + __nvvm_f2i_rn(lane + 0.5f)", lambda i: i + i % 2),
    ("__nvvm_d2ll_rz(1e10 + 0.7) / 10000", lambda i: 1000000),
    ("__nvvm_i2f_rz((1 << 24) + 1 + 0 * lane) == 16777216.0f", lambda i: 1),
    ("__nvvm_i2f_rp((1 << 24) + 1) == 16777218.0f", lambda i: 1),
    ("__nvvm_d2f_rm(0.1) < __nvvm_d2f_rp(0.1)", lambda i: 1),
    ("__nvvm_add_rp_f(1.0f, 1e-9f) > 1.0f", lambda i: 1),
    ("__nvvm_add_rm_f(1.0f, 1e-9f) == 1.0f", lambda i: 1),
    ("__nvvm_add_rz_d(-1.0, -1e-20) == -1.0 && __nvvm_add_rm_d(-1.0, -1e-20) < -1.0", lambda i: 1),
    ("__nvvm_mul_rm_f(0.1f, 0.1f) < __nvvm_mul_rp_f(0.1f, 0.1f)", lambda i: 1),
    ("__nvvm_div_rm_d(1, 3) < __nvvm_div_rp_d(1, 3)", lambda i: 1),
    ("__nvvm_sqrt_rm_f(2) < __nvvm_sqrt_rp_f(2)", lambda i: 1),
    ("__nvvm_rcp_rm_d(3) < __nvvm_rcp_rp_d(3)", lambda i: 1),
    ("__nvvm_fma_rm_f(0.1f, 0.1f, 1) < __nvvm_fma_rp_f(0.1f, 0.1f, 1)", lambda i: 1),
    ("__nvvm_mul_rn_ftz_f(1e-30f, 1e-10f) == 0 && 1e-30f * (1e-10f + 0 * lane) > 0", lambda i: 1),
    ("__nvvm_ex2_approx_f(lane % 8)", lambda i: 2 ** (i % 8)),
    ("__nvvm_lg2_approx_f(1024.0f) + lane", lambda i: 10 + i),
    ("__nvvm_sin_approx_f(0.5f) * 1e6f", lambda i: 479425),
    ("__nvvm_rsqrt_approx_f(0.0625f) + __nvvm_rcp_approx_ftz_d(0.5)", lambda i: 6),
    ("__nvvm_saturate_f(lane * 0.25f) * 100", lambda i: min(i * 25, 100)),
    ("__nvvm_isspacep_shared(&cell) + 2 * __nvvm_isspacep_global(&cell)", lambda i: 1),
    ("__nvvm_isspacep_global(table) + 2 * __nvvm_isspacep_shared(table)", lambda i: 1),
    ("__nvvm_isspacep_const(&fixed[31]) + 2 * __nvvm_isspacep_const(table)", lambda i: 1),
    ("__nvvm_isspacep_local(&local) + 2 * __nvvm_isspacep_global(&local)", lambda i: 1),
]


def test_builtins_have_the_results_of_ptx(tmp_path):
    stores = "\n".join(
        f"out[{k} * 32 + lane] = (unsigned)(long long)({call});" for k, (call, _) in enumerate(WARP)
    )
    source = f"""
#include <cstdio>
typedef int int4v __attribute__((ext_vector_type(4)));
__device__ __align__(16) int table[32];
__device__ double doubles[32];
__constant__ int fixed[32];
__global__ void fill() {{
    table[threadIdx.x] = threadIdx.x * threadIdx.x;
    doubles[threadIdx.x] = threadIdx.x + 0.25;
}}
__global__ void all(unsigned* out) {{
    __shared__ int cell;
    int local = 0;
    const unsigned lane = threadIdx.x, full = 0xffffffffu;
    {stores}
}}
int main() {{
    static unsigned host[{len(WARP) * 32}];
    unsigned* out;
    cudaMalloc(&out, sizeof host);
    fill<<<1, 32>>>();
    all<<<1, 32>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (unsigned each : host) std::printf("%u\\n", each);
}}
"""
    found = [int(line) for line in output_of(source, tmp_path, "-arch=sm_90").split()]
    wrong = [
        (call, lane, found[k * 32 + lane], expected(lane) & 0xFFFFFFFF)
        for k, (call, expected) in enumerate(WARP)
        for lane in range(32)
        if found[k * 32 + lane] != expected(lane) & 0xFFFFFFFF
    ]
    assert len(found) == len(WARP) * 32 and wrong == []


ATOMICS = r"""
#include <cstdio>
struct Cells {
    int i; unsigned u; long long ll; unsigned long long ull; float f; double d; unsigned short s, t;
    int block_sum; unsigned wrapped, down; unsigned long long exchanged; int least, most;
};
__global__ void all(Cells* c) {
    const int i = threadIdx.x;
    __nvvm_atom_add_gen_i(&c->i, i);
    __nvvm_atom_cta_add_gen_i(&c->block_sum, 1);
    __nvvm_atom_sys_add_gen_f(&c->f, 0.5f);
    __nvvm_atom_add_gen_d(&c->d, 0.25);
    __nvvm_atom_or_gen_ll(&c->ll, 1LL << i % 60);
    __nvvm_atom_sys_max_gen_ull(&c->ull, 1ULL << 40 | i);
    __nvvm_atom_inc_gen_ui(&c->wrapped, 9);
    __nvvm_atom_cta_dec_gen_ui(&c->down, 6);
    __nvvm_atom_min_gen_i(&c->least, -i);
    __nvvm_atom_cta_max_gen_i(&c->most, i);
    unsigned short old = c->s;
    while (!__atomic_compare_exchange_n(&c->s, &old, old + 2, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    __atomic_fetch_add(&c->t, 3, __ATOMIC_SEQ_CST);
    __nvvm_atom_xchg_gen_ll(reinterpret_cast<long long*>(&c->exchanged), 77);
}
int main() {
    Cells host = {}, *c;
    cudaMalloc(&c, sizeof host);
    cudaMemcpy(c, &host, sizeof host, cudaMemcpyHostToDevice);
    all<<<4, 64>>>(c);
    cudaMemcpy(&host, c, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d %d %g %g %lld %llu %u %u %d %d %u %u %llu\n", host.i, host.block_sum, host.f, host.d, host.ll,
                host.ull, host.wrapped, host.down, host.least, host.most, host.s, host.t, host.exchanged);
}
"""


def test_atomic_operations_of_every_width_and_scope(tmp_path):
    ones = (1 << 60) - 1
    # 256 decrements below 6: 0 becomes 6, which comes round every seven.
    down = -256 % 7
    expected = f"{4 * 2016} 256 128 64 {ones} {1 << 40 | 63} {256 % 10} {down} -63 63 512 768 77\n"
    assert output_of(ATOMICS, tmp_path, "-arch=sm_90") == expected


SHARED = r"""
#include <cstdio>
__global__ void round_trip(int* out) {
    __shared__ int a[64];
    extern __shared__ int dynamic[];
    a[threadIdx.x] = threadIdx.x;
    dynamic[threadIdx.x] = 100 + threadIdx.x;
    __syncthreads();
    // As programs write them for inline PTX: 32 bits.
    const unsigned address = (unsigned)__cvta_generic_to_shared(&a[63 - threadIdx.x]);
    const unsigned other = (unsigned)__cvta_generic_to_shared(dynamic);
    auto* back = (__attribute__((address_space(3))) int*)(size_t)address;
    int* generic = (int*)((__attribute__((address_space(3))) int*)(size_t)other);
    out[threadIdx.x] = *back + generic[threadIdx.x];
    if (generic != dynamic) out[0] = -1;
}
int main() {
    int *out, host[64];
    cudaMalloc(&out, sizeof host);
    round_trip<<<3, 64, 256>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int each : host) wrong += each != 163;
    std::printf("%d\n", wrong);
}
"""


@pytest.mark.parametrize("carrier", ["automatic", "fiber"])
def test_shared_addresses_cut_to_32_bits_are_still_addresses(tmp_path, carrier):
    assert output_of(SHARED, tmp_path, CUDASIM_CARRIER=carrier) == "0\n"
