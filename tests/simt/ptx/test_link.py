"""Device linking: several PTX texts as the parts of one program."""

import pytest

from simt.core.findings import Stop
from simt.ptx.link import link

HEAD = ".version 9.0\n.target sm_80\n.address_size 64\n"
USES = (
    HEAD
    + """
.extern .func (.param .b32 func_retval0) twice
(
    .param .b32 twice_param_0
)
;
.extern .global .align 4 .u32 total;
.global .align 1 .b8 $str[2] = {97};
.visible .entry k()
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, $str;
    ret;
}
"""
)
DEFINES = (
    HEAD
    + """
.visible .global .align 4 .u32 total = 7;
.global .align 1 .b8 $str[2] = {98};
.global .align 8 .u64 table[1] = {twice};
.weak .func (.param .b32 func_retval0) twice(
    .param .b32 twice_param_0
)
{
    ret;
}
"""
)


@pytest.mark.parametrize("texts", [(USES, DEFINES), (DEFINES, USES)])
def test_what_one_text_declares_and_another_defines_is_one_thing(texts):
    module = link(texts, [{"1": 0}] * 2)
    assert set(module.functions) == {"k", "twice"}
    assert module.arrays["total"].content == bytes([7, 0, 0, 0])


def test_each_text_keeps_what_is_its_own():
    module = link((USES, DEFINES), [{"1": 0}] * 2)
    assert [module.arrays[f"$str${n}"].content for n in (0, 1)] == [b"a\0", b"b\0"]
    (move, _) = module.functions["k"].instructions
    assert move.operands[1] == "$str$0"


def test_a_variable_that_nobody_defines_is_refused():
    with pytest.raises(Stop, match="total"):
        link((USES,), [{"1": 0}])
