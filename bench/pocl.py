"""The peer in OpenCL: PoCL, a CPU implementation of the other language of GPU kernels, through pyopencl.

It checks nothing and reports nothing; its times say what a compiler that turns work groups into loops reaches.
"""

import os
import pathlib
import tempfile

import numpy as np

from bench import workloads
from bench.timing import REPEATS, Absent, require, timed

SOURCE = pathlib.Path(__file__).with_name("pocl_kernels.cl")


def platform():
    """pyopencl and PoCL's platform. :raises Absent:"""
    try:
        import pyopencl
    except ImportError as error:
        raise Absent(f"no pyopencl: {error}") from None
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error as error:
        raise Absent(f"no OpenCL platform, install pocl-opencl-icd ({error})") from None
    for found in platforms:
        if found.name == "Portable Computing Language":
            return pyopencl, found
    raise Absent(f"no PoCL among the OpenCL platforms, install pocl-opencl-icd (there is {platforms})")


class PoCL:
    """The measurements, on one core."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()  # compiled anew, and nothing stays behind
        os.environ |= {
            "POCL_CACHE_DIR": self.folder.name,
            "POCL_MAX_PTHREAD_COUNT": "1",
            "POCL_CPU_MAX_CU_COUNT": "1",
        }
        self.cl, found = platform()
        self.version = found.version
        self.context = self.cl.Context(found.get_devices()[:1])
        self.queue = self.cl.CommandQueue(self.context)
        self.program = self.cl.Program(self.context, SOURCE.read_text()).build()

    def to_device(self, array):
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        return self.cl.Buffer(self.context, flags, hostbuf=array)

    def to_host(self, buffer, shape, dtype):
        array = np.empty(shape, dtype)
        self.cl.enqueue_copy(self.queue, array, buffer)
        return array

    def measure(self, name, threads, block, *arguments):
        """:param threads: in all, by dimension"""
        kernel = getattr(self.program, name)
        kernel.set_args(*arguments)

        def action():
            self.cl.enqueue_nd_range_kernel(self.queue, kernel, threads, block)
            self.queue.finish()

        action()
        return timed(action, REPEATS)

    def vector_add_large(self):
        x, y = workloads.vectors(10_000_000)
        out = self.to_device(np.zeros_like(x))
        threads = (x.size + 255) // 256 * 256
        seconds = self.measure(
            "add", (threads,), (256,), self.to_device(x), self.to_device(y), out, np.int64(x.size)
        )
        require(np.array_equal(self.to_host(out, x.shape, x.dtype), x + y), "vector_add_large")
        return seconds

    def matmul(self, kernel, dtype, tolerance):
        a, b = workloads.matrices(512, dtype)
        out = self.to_device(np.zeros_like(a))
        seconds = self.measure(
            kernel, a.shape, (16, 16), self.to_device(a), self.to_device(b), out, np.int64(512)
        )
        require(np.allclose(self.to_host(out, a.shape, dtype), a @ b, rtol=tolerance), kernel)
        return seconds

    def matmul_naive(self):
        return self.matmul("matmul_naive", np.float64, 1e-10)

    def matmul_tiled(self):
        return self.matmul("matmul_tiled", np.float32, 1e-3)

    def block_sums(self):
        x = workloads.block_sums_input()
        sums = workloads.block_sums_result(x)
        out = self.to_device(np.zeros_like(sums))
        seconds = self.measure("reduce_blocks", x.shape, (256,), self.to_device(x), out)
        require(np.array_equal(self.to_host(out, sums.shape, sums.dtype), sums), "block_sums")
        return seconds / x.size

    def histogram_large(self):
        values = workloads.large_histogram_input()
        bins = self.to_device(np.zeros(workloads.HISTOGRAM_BINS, np.int32))
        seconds = self.measure(
            "count_values", values.shape, (256,), self.to_device(values), bins, np.int64(values.size)
        )
        counted = self.to_host(bins, workloads.HISTOGRAM_BINS, np.int32)
        require(
            np.array_equal(counted, (REPEATS + 1) * workloads.histogram_result(values)), "histogram_large"
        )
        return seconds / values.size

    def barrier_exchange(self):
        rounds = workloads.EXCHANGE_ROUNDS
        out = self.to_device(np.zeros(256, np.int64))
        seconds = self.measure("pass_on", (256,), (256,), np.int64(rounds), out)
        require(
            np.array_equal(self.to_host(out, 256, np.int64), workloads.exchange_result()), "barrier_exchange"
        )
        return seconds / (2 * rounds * 256)
