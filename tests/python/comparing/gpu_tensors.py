"""Arrays in a GPU's memory as PyTorch and CuPy have them: in the driver that CUDASIM_LIBCUDA names, loaded by this module and not by
cudasim. Scripts of tests import it."""

import ctypes
import os

import numpy as np

driver = ctypes.CDLL(os.environ["CUDASIM_LIBCUDA"])


def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    assert code == 0, f"{name}: {code}"


def context(device):
    found = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(found), device)
    return found


def make_current(device):
    call("cuCtxSetCurrent", context(device))


def current():
    found = ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(found))
    return found.value


class Tensor:
    """An array on the GPU whose context is current."""

    def __init__(self, array, version=3, stream=None, read_only=False):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 1)))
        call(
            "cuMemcpyHtoD_v2",
            address,
            np.ascontiguousarray(array).ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(array.nbytes),
        )
        self._set(
            address.value,
            array.shape,
            np.ascontiguousarray(array).strides,
            array.dtype,
            version,
            stream,
            read_only,
        )

    def _set(self, address, shape, strides, dtype, version, stream, read_only):
        self.address, self.shape, self.strides, self.dtype = address, shape, strides, dtype
        self.version, self.stream, self.read_only = version, stream, read_only

    @property
    def __cuda_array_interface__(self):
        interface = {
            "shape": self.shape, "strides": self.strides, "typestr": self.dtype.str, "data": (self.address, self.read_only),
            "version": self.version,
        }  # fmt: skip
        if self.version >= 3:
            interface["stream"] = self.stream
        return interface

    def _dummy(self):
        """An array of this shape over no memory of its own."""
        return np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides)

    def __getitem__(self, key):
        dummy = self._dummy()
        part = dummy[key]
        view = object.__new__(Tensor)
        view._set(self.address + part.ctypes.data - dummy.ctypes.data, part.shape, part.strides, self.dtype,
                  self.version, self.stream, self.read_only)  # fmt: skip
        return view

    def numpy(self):
        """A copy of a contiguous one."""
        host = np.empty(self.shape, self.dtype)
        call(
            "cuMemcpyDtoH_v2",
            host.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_uint64(self.address),
            ctypes.c_size_t(host.nbytes),
        )
        return host


call("cuInit", 0)
make_current(0)
