"""Mathematical functions of device and host."""

import pathlib

import pytest
from cuda_programs import needs_clang, output_of

pytestmark = needs_clang

FUNCTIONS = pathlib.Path(__file__).parent / "programs" / "math_functions.cu"

FURTHER = """
#include <cfloat>
#include <cmath>
#include <cstdio>
#define TRUE(condition) if (!(condition)) printf("line %d: %s\\n", __LINE__, #condition);
#define DEVICE_AND_HOST                                                                                  \\
    /* min and max: which overload, and of mixed signs the unsigned comparison */                        \\
    TRUE(min(2, 3) == 2 && max(-2, 3) == 3 && min(2u, 3u) == 2u && max(-1, 1u) == 0xffffffffu)           \\
    TRUE(min(-1, 1u) == 1u && max(2LL, 3LL) == 3 && max(-1LL, 1ULL) == ~0ULL && min(1L, 2UL) == 1UL)     \\
    TRUE(min(1.5f, 2.5f) == 1.5f && max(1.5, 2.5f) == 2.5 && sizeof(max(1.5f, 2.5f)) == 4)               \\
    TRUE(max(0.0f, 0.1) == 0.1 && max(0.1, 0.0f) == 0.1 && min(1.0f, 0.1) == 0.1 && min(0.1, 1.0f) == 0.1)          \\
    TRUE(max(nan_value, 1.0) == 1.0 && min(1.0f, (float)nan_value) == 1.0f && sizeof(min(1.f, 1.)) == 8) \\
    TRUE(abs(-2) == 2 && abs(-2.5f) == 2.5f && abs(-2.5) == 2.5 && abs(-2L) == 2 && abs(-2LL) == 2)      \\
    TRUE(labs(-3L) == 3 && llabs(-3LL) == 3 && fabs(-1.5f) == 1.5f && sizeof(sqrt(2.0f)) == 4)           \\
    TRUE(std::abs(-1.5f) == 1.5f && std::sqrt(4.0f) == 2.0f && sizeof(std::pow(2.0f, 3.0f)) == 4)        \\
    TRUE(sizeof(std::exp(1.0f)) == 4 && std::fma(2.0f, 3.0f, 4.0f) == 10.0f && pow(2, 3) == 8)           \\
    TRUE(pow(2.0f, 3) == 8 && pow(2.0, 3) == 8 && sqrt(4) == 2 && floor(2) == 2)                         \\
    TRUE(isnan(nan_value) && !isnan(1.0f) && isinf(infinity) && !isinf(1.0) && isfinite(1.0f))           \\
    TRUE(std::isnan(nan_value) && std::isinf((float)infinity) && !std::isfinite(infinity))               \\
    TRUE(signbit(-0.0) && !signbit(0.0f) && std::signbit(-1.0f) && isnormal(1.0) && !isnormal(1e-310))   \\
    TRUE(fpclassify(0.0) == FP_ZERO && std::fpclassify(nan_value) == FP_NAN && isless(1.0, 2.0))         \\
    TRUE(isunordered(1.0, nan_value) && islessgreater(1.0f, 2.0f) && !isgreaterequal(1.0, 2.0))          \\
    TRUE(frexp(8.0, &exponent) == 0.5 && exponent == 4 && frexpf(3.0f, &exponent) == 0.75f)              \\
    TRUE(ldexp(0.5, 4) == 8 && ldexpf(0.5f, 4) == 8 && scalbn(1.5, 3) == 12 && scalbnf(1.5f, 3) == 12)   \\
    TRUE(scalbln(1.5, 3L) == 12 && scalblnf(1.5f, 3L) == 12 && scalbn(1.5f, 3) == 12)                    \\
    TRUE(modf(2.75, &whole) == 0.75 && whole == 2 && modff(-2.75f, &wholef) == -0.75f && wholef == -2)   \\
    TRUE(remquo(7.0, 2.0, &quotient) == -1 && (quotient & 7) == 4)                                       \\
    TRUE(remquof(7.0f, 2.0f, &quotient) == -1 && (quotient & 7) == 4)                                    \\
    TRUE(ilogb(10.0) == 3 && ilogbf(10.0f) == 3 && ilogb(10.0f) == 3 && logb(10.0f) == 3)                \\
    TRUE(nextafter(1.0, 2.0) > 1 && nextafterf(1.0f, 2.0f) == 1 + FLT_EPSILON)                           \\
    TRUE(lrint(2.5) == 2 && lrintf(3.5f) == 4 && llrint(-2.5) == -2 && llrintf(-3.5f) == -4)             \\
    TRUE(lround(2.5) == 3 && lroundf(-2.5f) == -3 && llround(0.5) == 1 && llroundf(0.49999997f) == 0)    \\
    TRUE(rint(2.5) == 2 && rint(3.5f) == 4 && nearbyint(-2.5) == -2 && round(-2.5f) == -3)               \\
    TRUE(isnan(nan("")) && isnan(nanf("")))                                                              \\
    sincos(0.5, &whole, &other);                                                                         \\
    TRUE(whole == sin(0.5) && other == cos(0.5))                                                         \\
    sincosf(0.5f, &wholef, &otherf);                                                                     \\
    TRUE(wholef == sinf(0.5f) && otherf == cosf(0.5f))                                                   \\
    sincospi(0.5, &whole, &other);                                                                       \\
    TRUE(whole == 1 && other == 0)                                                                       \\
    sincospi(1.0f, &wholef, &otherf);                                                                    \\
    TRUE(wholef == 0 && otherf == -1 && sinpi(3.0) == 0 && cospif(1.5f) == 0 && isnan(sinpi(infinity)))  \\
    TRUE(normcdfinv(0.5) == 0 && isinf(normcdfinv(1.0)) && isnan(normcdfinv(-1.0)) && erfinv(0.0) == 0)  \\
    TRUE(isinf(erfcinv(0.0)) && erfcinv(1.0) == 0 && isinf(erfinv(-1.0f)) && rsqrt(4.0f) == 0.5f)        \\
    TRUE(fabs(jn(2, 1.5) - 0.23208767214421473) < 1e-15 && fabs(yn(2, 1.5) + 0.93219375976297405) < 1e-15)\\
    TRUE(fabsf(jnf(2, 1.5f) - 0.23208767f) < 1e-6f && umin(1u, 2u) == 1 && llmax(1, 2) == 2)
#define VARIABLES                                               \\
    double whole, other;                                        \\
    float wholef, otherf;                                       \\
    int exponent, quotient;

__global__ void on_the_device(double nan_value, double infinity, const double* v, const float* vf) {
    VARIABLES
    DEVICE_AND_HOST
    TRUE(norm3d(2.0, 3.0, 6.0) == 7 && norm3df(2, 3, 6) == 7 && norm4d(2.0, 2.0, 4.0, 5.0) == 7)
    TRUE(norm4df(2, 2, 4, 5) == 7 && norm(4, v) == 7 && normf(4, vf) == 7 && rnorm(4, v) == 1 / 7.0)
    TRUE(rnormf(4, vf) == 1 / 7.0f && rnorm3d(2.0, 3.0, 6.0) == 1 / 7.0 && rnorm3df(2, 3, 6) == 1 / 7.0f)
    TRUE(rnorm4d(2.0, 2.0, 4.0, 5.0) == 1 / 7.0 && rnorm4df(2, 2, 4, 5) == 1 / 7.0f)
    TRUE(norm3d(3e300, 4e300, 0.0) == 5e300 && norm3d(3e-320, 4e-320, 0.0) == 5e-320)
    TRUE(norm3df(3e37f, 4e37f, 0) == 5e37f && rnorm3d(0.0, 0.0, 0.0) == infinity)
    TRUE(isinf(norm3d(infinity, nan_value, 1.0)) && isnan(norm3d(nan_value, 1.0, 1.0)))
    TRUE(cyl_bessel_i0(0.0) == 1 && cyl_bessel_i1(0.0) == 0 && cyl_bessel_i0f(0) == 1)
    TRUE(isinf(cyl_bessel_i0(infinity)) && isnan(cyl_bessel_i1(nan_value)))
    TRUE(fabs(cyl_bessel_i0(712.0) / 2.468411057762752e+307 - 1) < 1e-14)
    TRUE(fabsf(__sinf(0.5f) - sinf(0.5f)) < 1e-6f && fabsf(__cosf(0.5f) - cosf(0.5f)) < 1e-6f)
    TRUE(fabsf(__tanf(0.5f) - tanf(0.5f)) < 1e-6f && fabsf(__expf(1) - expf(1)) < 1e-5f)
    TRUE(fabsf(__exp10f(2) - 100) < 1e-3f && fabsf(__logf(3) - logf(3)) < 1e-6f && __log2f(8) == 3)
    TRUE(fabsf(__log10f(100) - 2) < 1e-5f && fabsf(__powf(2, 3) - 8) < 1e-5f && __fdividef(6, 3) == 2)
    TRUE(fdividef(6, 3) == 2 && __saturatef(1.5f) == 1 && __saturatef(-1) == 0)
    TRUE(__saturatef((float)nan_value) == 0 && __frsqrt_rn(4) == 0.5f && fabsf(__tanhf(1) - tanhf(1)) < 1e-3f)
    __sincosf(0.5f, &wholef, &otherf);
    TRUE(fabsf(wholef - sinf(0.5f)) < 1e-6f && fabsf(otherf - cosf(0.5f)) < 1e-6f)
    TRUE(__float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2 && __float_as_uint(-0.0f) >> 31)
    TRUE(__uint_as_float(0x3f800000u) == 1 && __double_as_longlong(1.0) == 0x3ff0000000000000LL)
    TRUE(__longlong_as_double(0x4000000000000000LL) == 2 && __double2hiint(1.0) == 0x3ff00000)
    TRUE(__double2loint(1.0) == 0 && __hiloint2double(0x40000000, 0) == 2 && __finitef(1) && __isnanf(nanf("")))
    printf("device\\n");
}
int main() {
    volatile double zero = 0;
    const double nan_value = std::nan(""), infinity = 1 / zero;
    VARIABLES
    DEVICE_AND_HOST
    const double v[] = {2, 2, 4, 5};
    const float vf[] = {2, 2, 4, 5};
    double* dv;
    float* dvf;
    cudaMalloc(&dv, sizeof v);
    cudaMalloc(&dvf, sizeof vf);
    cudaMemcpy(dv, v, sizeof v, cudaMemcpyHostToDevice);
    cudaMemcpy(dvf, vf, sizeof vf, cudaMemcpyHostToDevice);
    on_the_device<<<1, 1>>>(nan_value, infinity, dv, dvf);
    cudaDeviceSynchronize();
    printf("host\\n");
}
"""


@pytest.mark.parametrize("option", ["-std=c++17", "-std=c++11"])
def test_every_function_is_exact_to_a_few_units(tmp_path, option):
    assert output_of(FUNCTIONS.read_text(), tmp_path, option) == "59 functions, 0 wrong\n"


def test_overloads_corner_cases_and_functions_with_several_results(tmp_path):
    assert output_of(FURTHER, tmp_path) == "device\nhost\n"
