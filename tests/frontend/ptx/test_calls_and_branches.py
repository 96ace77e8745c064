"""PTX that goes where a register says: calls through prototypes and lists of functions, tables of functions, brx.idx."""

import numpy as np
import pytest
from cudasim import errors
from ptx_programs import HEAD, call, function

FUNCTIONS = (
    HEAD
    + """
.func (.param .b32 back) plus(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    add.u32 %r3, %r1, %r2;
    st.param.b32 [back], %r3;
    ret;
}
.func (.param .b32 back) times(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    mul.lo.u32 %r3, %r1, %r2;
    st.param.b32 [back], %r3;
    ret;
}
.func other(.param .b32 a) { ret; }
"""
)

CHOOSE = (
    FUNCTIONS
    + """
.global .align 8 .u64 table[4] = {plus, times, 0, other};
.visible .func (.param .b32 back) f(.param .b32 which, .param .b32 x)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u32 %r1, [which];
    ld.param.u32 %r2, [x];
    mul.wide.u32 %rd1, %r1, 8;
    mov.u64 %rd2, table;
    add.s64 %rd3, %rd2, %rd1;
    ld.global.u64 %rd4, [%rd3];
    {
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 back0;
    st.param.b32 [p0], %r2;
    st.param.b32 [p1], 10;
    form : %FORM%;
    call (back0), %rd4, (p0, p1), form;
    ld.param.b32 %r3, [back0];
    }
    st.param.b32 [back], %r3;
    ret;
}
"""
)
PROTOTYPE, LIST = (
    ".callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _)",
    ".calltargets plus, times",
)


@pytest.mark.parametrize("form", [PROTOTYPE, LIST])
def test_functions_of_a_table(form):
    which, x = np.arange(40) % 2, np.arange(40)
    found = call(CHOOSE.replace("%FORM%", form), "u32", ("u32", "u32"), [which, x])
    assert np.array_equal(found, np.where(which, 10 * x, x + 10))


@pytest.mark.parametrize("which", [2, 3])
def test_a_call_of_what_is_no_such_function_is_an_error_at_its_line(which):
    text = CHOOSE.replace("%FORM%", PROTOTYPE)
    with pytest.raises(errors.KernelError) as caught:
        call(text, "u32", ("u32", "u32"), [[0, which], [1, 1]])
    assert "tid=[1, 0, 0] ctaid=[0, 0, 0]" in str(caught.value)
    line = 1 + text[: text.index("call (back0)")].count("\n")
    assert any(
        str(frame.path).endswith("test.ptx") and frame.lineno + 1 == line for frame in caught.traceback
    )


def test_addresses_of_functions_in_registers():
    body = (
        "setp.ne.u32 %p, %a, 0;\nmov.u64 %w0, plus;\nmov.u64 %w1, times;\nselp.b64 %w2, %w1, %w0, %p;\n"
        f"form: {PROTOTYPE};\ncall (%r), %w2, (%b, %b), form;"
    )
    text = FUNCTIONS + function(body, "u32", "u32", "u32").removeprefix(HEAD)
    which, x = np.arange(20) % 2, np.arange(20)
    assert np.array_equal(call(text, "u32", ("u32", "u32"), [which, x]), np.where(which, x * x, 2 * x))


def test_two_prototypes_of_one_name_in_two_scopes():
    one = "{ form : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _); call (%r), %w0, (%a, 3), form; }"
    two = "{ form : .callprototype _ (.param .b32 _); call %w1, (%a), form; }"
    text = FUNCTIONS + function(
        f"mov.u64 %w0, times;\nmov.u64 %w1, other;\n{one}\n{two}", "u32", "u32"
    ).removeprefix(HEAD)
    assert call(text, "u32", ("u32",), [[5, 6]]).tolist() == [15, 18]


def test_addresses_among_numbers():
    text = (
        HEAD
        + """
.global .align 8 .b8 $text[4] = {97, 98, 99, 0};
.const .align 4 .u32 weights[3] = {10, 20, 30};
.global .align 8 .u64 mixed[4] = {7, generic($text)+1, generic(weights), last};
.global .align 8 .u64 one = generic($text)+2;
.global .align 4 .u32 last = 1234;
"""
        + function(
            """
        setp.eq.u32 %p, %a, 0;
        mov.u64 %w0, mixed;
        ld.global.u64 %w1, [%w0];
        cvt.u32.u64 %t0, %w1;
        ld.global.u64 %w1, [%w0+8];
        ld.u8 %t1, [%w1];
        ld.global.u64 %w2, [%w0+16];
        ld.u32 %t2, [%w2+8];
        ld.global.u64 %w2, [%w0+24];
        ld.global.u32 %t3, [%w2];
        mad.lo.u32 %r, %t0, 1000000, %t1;
        mad.lo.u32 %r, %t2, 1000, %r;
        @%p bra $done;
        ld.global.u64 %w3, [one];
        ld.u8 %r, [%w3];
        add.u32 %r, %r, %t3;
        $done:""",
            "u32",
            "u32",
        ).removeprefix(HEAD)
    )
    assert call(text, "u32", ("u32",), [[0, 1]]).tolist() == [7030098, 99 + 1234]


def test_branches_by_a_list_of_labels():
    body = """
        mov.u32 %r, 1;
        places: .branchtargets $one, $two, $one, $three;
        brx.idx %a, places;
        $three: add.u32 %r, %r, 100;
        $two: add.u32 %r, %r, 10;
        $one: add.u32 %r, %r, 1;"""
    text = function(body, "u32", "u32")
    assert call(text, "u32", ("u32",), [[0, 1, 2, 3]]).tolist() == [2, 12, 2, 112]
    with pytest.raises(errors.KernelError, match=r"tid=\[2, 0, 0\]"):
        call(text, "u32", ("u32",), [[0, 1, 4, 3]])


@pytest.mark.parametrize("body, message", [
    ("call (%r), %w0, (%a);", "a call through a register needs a prototype"),
    ("call (%r), %w0, (%a), nowhere;", "there is no list of targets 'nowhere'"),
    (f"form: {PROTOTYPE};\ncall (%r), %w0, (%a), form;", "called in another form than it is declared"),
    ("form: .callprototype (.param .b32 _, .param .b32 _) _ ();\ncall %w0, (), form;", "a function has one result at most"),
    ("form: .calltargets nothing;\ncall (%r), %w0, (%a), form;", "the function 'nothing' is not declared"),
    ("places: .branchtargets $away;\nbrx.idx %a, places;", "there is no label '$away'"),
    ("brx.idx %a, places;", "there is no list of targets 'places'"),
])  # fmt: skip
def test_what_is_wrong_is_refused(body, message):
    from cudasim.cuda.cudadrv.driver import LinkerError

    with pytest.raises(LinkerError, match="test.ptx, line ") as caught:
        call(function(body, "u32", "u32"), "u32", ("u32",), [[1]])
    assert message in str(caught.value)


@pytest.mark.parametrize("variable, message", [
    (".global .u32 v = generic(w);", "holds addresses in fewer than 64 bits"),
    (".global .u64 v[2] = {w, nowhere};", "'nowhere' is not declared"),
    (".global .u64 v = {(3)};", "neither a number nor an address"),
    (".global .u64 v = {1, 2};", "has more initial values than elements"),
    (".global .u64 v[999999999] = {w};", "holds too many addresses"),
])  # fmt: skip
def test_wrong_initial_values_are_refused(variable, message):
    from cudasim.cuda.cudadrv.driver import LinkerError

    text = (
        HEAD
        + ".global .u64 w;\n"
        + variable
        + "\n"
        + function("mov.u32 %r, %a;", "u32", "u32").removeprefix(HEAD)
    )
    with pytest.raises(LinkerError, match="test.ptx, line ") as caught:
        call(text, "u32", ("u32",), [[1]])
    assert message in str(caught.value)
