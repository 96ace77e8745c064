"""Uninitialised values in images that clang makes of CUDA C++: variables, members, bits, arrays, copies."""

import ctypes
import re

import cudasim
import numpy as np
import pytest
from clang_images import IMAGES, image_of
from cudasim import cuda, options
from cudasim.cuda.cudadrv import driver

SOURCE = IMAGES / "uninitialised.cu"
MARK = "// uninitialised"


def kernels():
    """name → lines that use what nobody wrote"""
    found, name = {}, None
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        match = re.match(r"^KERNEL (\w+)\(", line)
        if match:
            name = match[1]
            found[name] = set()
        if name is not None and MARK in line:
            found[name].add(number)
    return found


KERNELS = kernels()


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return image_of(SOURCE, tmp_path_factory.mktemp("uninitialised"))


@pytest.mark.parametrize("chosen", [{}, {"carrier": "fiber"}], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_uses_in_cplusplus_are_found_at_their_lines(image, name, chosen):
    function = cuda.current_context().create_module_image(image).get_function(name)
    with options.override(**chosen), cudasim.check("init") as found:
        arrays = [cuda.device_array(64, np.int32), cuda.to_device(np.zeros(64, np.int32))]
        addresses = [ctypes.c_void_p(array.__cuda_array_interface__["data"][0]) for array in arrays]
        driver.launch_kernel(function.handle, 1, 1, 1, 64, 1, 1, 0, 0, addresses)
    assert {each.kind for each in found} <= {"uninitialised-value"}
    lines = {next(place.line for place in each.location if place.file == str(SOURCE)) for each in found}
    assert lines == KERNELS[name], "\n".join(map(str, found))


@pytest.mark.parametrize("name", ["a_value_chosen_among_two", "the_sign_of_a_narrow_value", "chosen_between"])
def test_uses_are_the_same_when_clang_has_optimised(tmp_path, name):
    image = image_of(SOURCE, tmp_path, optimised=True)
    assert "select i1" in image.ir_text()
    test_uses_in_cplusplus_are_found_at_their_lines(image, name, {})
