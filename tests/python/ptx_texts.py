"""Modules in PTX that tests load."""

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
COUNTED_ADD = (
    HEAD
    + """
.global .align 4 .u32 counter = 5;
.extern .shared .align 4 .b8 dynamic[];
.entry add(.param .u64 values, .param .f32 summand, .param .align 8 .b8 pair[16])
.maxntid 128, 1, 1
{
    .reg .b64 %rd<6>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .f64 %d<2>;
    ld.param.u64 %rd1, [values];
    ld.param.f32 %f1, [summand];
    ld.param.f64 %d1, [pair+8];
    cvt.rn.f32.f64 %f3, %d1;
    add.f32 %f1, %f1, %f3;
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    add.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
    atom.global.add.u32 %r2, [counter], 1;
    ret;
}
"""
)
HALF = (
    HEAD + ".visible .func (.param .b32 back) half(.param .b32 x) { .reg .b32 %r; ld.param.u32 %r, [x];"
    " shr.u32 %r, %r, 1; st.param.b32 [back], %r; ret; }\n"
)
CALLER = (
    HEAD
    + """
.extern .func (.param .b32 back) half(.param .b32 x);
.visible .entry store(.param .u64 out, .param .u32 x)
{
    .reg .b64 %rd;
    .reg .b32 %r;
    ld.param.u64 %rd, [out];
    ld.param.u32 %r, [x];
    { .param .b32 given; .param .b32 back;
      st.param.b32 [given], %r;
      call (back), half, (given);
      ld.param.b32 %r, [back]; }
    st.global.u32 [%rd], %r;
    ret;
}
"""
)
