"""PTX inside of LLVM code: each piece becomes a function; operands that PTX does not have are refused."""

import pytest
from cudasim import _native

HEAD = (
    'target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\ntarget triple = "nvptx64-nvidia-cuda"\n'
)


def read(body, result="i32", parameters="i32 %x"):
    return _native.read_llvm(f"{HEAD}define {result} @f({parameters}) {{\n{body}\n}}\n", "some code")


def test_code_without_assembly_is_one_image():
    (image,) = read("ret i32 %x")
    assert "define i32 @f" in image.ir_text()


def test_assembly_becomes_calls_of_functions():
    images = read('%a = call i32 asm "mov.u32 $0, %laneid;", "=r"()\n%b = add i32 %a, %x\nret i32 %b')
    assert len(images) == 2 and " asm " not in images[0].ir_text()
    assert "laneid" in images[1].ir_text()


def test_equal_assembly_is_one_function():
    body = "\n".join(f'%a{i} = call i32 asm "not.b32 $0, $1;", "=r,r"(i32 %x)' for i in range(3))
    assert len(read(body + "\nret i32 %a0")) == 2


def test_dollar_signs_braces_immediates_and_tied_operands():
    body = '%a = call i32 asm "{ // $$ ${0}\\0A add.s32 ${0}, $1, $2; }", "=r,0,n"(i32 %x, i32 5)\nret i32 %a'
    text = read(body)[1].ir_text()
    assert "add i32" in text and ", 5" in text


@pytest.mark.parametrize(
    "call, reason",
    [
        ('call i32 asm "mov.u32 $0, 1;", "=q"()', '"q" are not supported'),
        ('call i32 asm "mov.u32 $0, $3;", "=r"()', "operand that it does not have"),
        ('call i32 asm "nonsense $0;", "=r"()', "nonsense"),
        ('call i32 asm "add.s32 $0, $1, $2;", "=r,r,n"(i32 %x, i32 %x)', "has to be an integer constant"),
    ],
)
def test_what_is_not_supported_is_refused(call, reason):
    with pytest.raises(_native.PtxError) as refusal:
        read(f"%a = {call}\nret i32 %a")
    assert reason in refusal.value.args[0]


def test_text_that_is_no_llvm_code_is_refused():
    with pytest.raises(ValueError, match="expected type"):
        _native.read_llvm(HEAD + "define i32 @f( {", "some code")
