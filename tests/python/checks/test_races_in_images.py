"""Races in images that clang makes of CUDA C++: volatile flags, idioms of atomic operations, orders, scopes, barriers for some threads, parts of words,
asynchronous copies."""

import ctypes
import re

import cudasim
import numpy as np
import pytest
from clang_images import IMAGES, image_of
from cudasim import cuda, options
from cudasim.cuda.cudadrv import driver
from race_expectations import expected_in

KERNEL = re.compile(r"^KERNEL (\w+)\(")
#: file → the architecture that clang compiles it for
FILES = {"races.cu": "sm_75", "atomic_idioms.cu": "sm_75", "copies.cu": "sm_80"}


def kernels(source):
    """name → (first line, its lines)"""
    found, name = {}, None
    for number, line in enumerate(source.read_text().splitlines(), 1):
        match = KERNEL.match(line)
        if match:
            name = match[1]
            found[name] = (number, [])
        if name is not None:
            found[name][1].append(line)
    return found


KERNELS = {(file, name): text for file in FILES for name, text in kernels(IMAGES / file).items()}


@pytest.fixture(scope="module", params=[False, True], ids=["as_written", "optimised"])
def images(request, tmp_path_factory):
    return {
        file: image_of(IMAGES / file, tmp_path_factory.mktemp("races"), request.param, architecture)
        for file, architecture in FILES.items()
    }


@pytest.mark.parametrize("chosen", [{}, {"carrier": "fiber"}, {"policy": "reverse"}], ids=str)
@pytest.mark.parametrize(("file", "name"), KERNELS)
def test_races_of_cplusplus_are_found_at_their_lines(images, file, name, chosen):
    function = cuda.current_context().create_module_image(images[file]).get_function(name)
    arrays = [cuda.to_device(np.zeros(64, np.int32)) for _ in range(3)]
    addresses = [ctypes.c_void_p(array.__cuda_array_interface__["data"][0]) for array in arrays]
    with options.override(**chosen), cudasim.check("races") as found:
        driver.launch_kernel(function.handle, 2, 1, 1, 64, 1, 1, 0, 0, addresses)
    pairs = {(each.kind, *sorted(access.place.line for access in each.accesses)) for each in found}
    start, lines = KERNELS[file, name]
    assert pairs == expected_in(lines, start, "//"), "\n".join(map(str, found))
