"""Launches of a real GPU as records and results, where the GPU is NumPy: `FakeGpu` has its arrays in this process's memory."""

import ctypes
import os

import cudasim
import numpy as np
import pytest
from cudasim import _native, cuda, errors
from cudasim.comparing.arrays import tolerances_of
from cudasim.comparing.files import diff_files
from cudasim.recording.parameters import arguments_of, elements_of
from cudasim.recording.real_launch import RealLaunch
from cudasim.recording.real_recorder import RealRecordFile
from cudasim.recording.recorder import Recorder, Selection
from cudasim.recording.replay import Reader, replay


class FakeGpu:
    description = "Fake GPU", (8, 6), (12, 4)

    def __init__(self):
        self.synchronized = 0

    def synchronize(self):
        self.synchronized += 1

    def read(self, address, count):
        return ctypes.string_at(address, count)


class OnGpu:
    """An array in the memory of the fake GPU."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype
        self.__cuda_array_interface__ = {
            "shape": array.shape, "strides": array.strides, "typestr": array.dtype.str, "version": 3,
            "data": (array.__array_interface__["data"][0], False),
        }  # fmt: skip


class DeviceRecord(OnGpu):
    """As numba-cuda's, by its name."""


def twice(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def compute_twice(x, out):
    def run():
        out[:] = 2 * x

    return run


class Recording:
    def __init__(self, folder, selection=None):
        self.file = RealRecordFile(str(folder / "run.cudasim"), selection or Selection())
        self.gpu = FakeGpu()
        self.file.open()

    def launch(self, function, arguments, run, grid=(1, 1, 1), block=(32, 1, 1), **more):
        given = {"options": {}, "signatures": [], "dynamic_shared_bytes": 0, **more}
        launch = RealLaunch(
            function=function, grid=grid, block=block, arguments=arguments, run=run, gpu=self.gpu, **given
        )
        with self.file.in_force():
            return self.file.take(launch)

    def close(self):
        self.file.close()
        return self

    def records(self):
        reader = Reader(self.file.path)
        assert reader.finished
        return [reader.read(k) for k in range(len(reader))]

    def report(self, **tolerances):
        report, _ = diff_files(
            self.file.path, self.file.result_path, tolerances_of(**tolerances), Selection()
        )
        return report

    def launches(self, **tolerances):
        return self.report(**tolerances)["launches"]


@pytest.fixture
def recording(tmp_path):
    return Recording(tmp_path)


def test_results_that_are_the_same(recording):
    x, out = np.arange(32, dtype=np.float32), np.full(32, -1, np.float32)
    recording.launch(twice, (OnGpu(x), OnGpu(out)), compute_twice(x, out))
    recording.close()
    assert not recording.file.refused and recording.file.recorded == recording.file.seen == 1
    assert os.path.basename(recording.file.result_path) == "run.gpu.cudasim"
    (launch,) = recording.launches(exact=True)
    assert launch["verdict"] == "same" and sorted(array["name"] for array in launch["arrays"]) == ["out", "x"]
    assert launch["gpu"] == {"name": "Fake GPU", "compute_capability": "8.6", "driver": "12.4"}


def test_a_record_is_as_any_other(recording):
    x, out = np.arange(32, dtype=np.float32), np.full(32, -1, np.float32)
    recording.launch(twice, (OnGpu(x), OnGpu(out)), compute_twice(x, out))
    (record,) = recording.close().records()
    (_, kind, array), (_, _, result) = arguments_of(record)
    assert record.headline() == "#1 twice<<<(1, 1, 1), (32, 1, 1)>>>" and kind == "array(float32, 1d, C)"
    assert elements_of(record, array).tolist() == list(range(32))
    assert elements_of(record, result).tolist() == [-1] * 32, "what the GPU's array held before the launch"
    assert elements_of(record, result, after=True).tolist() == [2 * k for k in range(32)]
    assert not replay(record, {}, False).differences
    assert _native.gpu_code(record)["architecture"] == "sm_75", "cudasim-gpu-run can run it, too"
    assert _native.gpu_code(record)["refusal"] == ""


def test_a_difference_is_traced_to_its_element(recording):
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)

    def run():
        out[:] = 2 * x
        out[7] = 99

    recording.launch(twice, (OnGpu(x), OnGpu(out)), run)
    (launch,) = recording.close().launches()
    assert launch["verdict"] == "different"
    (array,) = [array for array in launch["arrays"] if array["verdict"] == "different"]
    assert array["name"] == "out" and array["mismatched"] == 1
    (element,) = array["elements"]
    assert (
        element["index"] == [7]
        and element["simulated"]["value"] == "14.0"
        and element["gpu"]["value"] == "99.0"
    )
    assert element["writes"][-1]["thread"] == [7, 0, 0]


def test_host_arrays_have_memory_of_their_own(recording):
    """As numba.cuda copies them: the same array twice is two copies, the last of which comes back."""
    x = np.arange(32, dtype=np.float64)

    def run():
        x[:] = 2 * x

    recording.launch(twice, (x, x), run)
    (record,) = recording.close().records()
    addresses = [array.address for _, _, array in arguments_of(record)]
    assert addresses[0] != addresses[1]
    (launch,) = recording.launches()
    verdicts = {array["name"]: array["verdict"] for array in launch["arrays"]}
    assert verdicts["out"] == "same"


def test_only_what_comes_back_is_compared(recording):
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)

    def spoils(x, out):
        i = cuda.grid(1)
        out[i] = 2 * x[i]
        x[i] = 5

    recording.launch(spoils, (cuda.In(x), cuda.Out(out)), compute_twice(x.copy(), out))
    (record,) = recording.close().records()
    assert recording.launches()[0]["verdict"] == "same", "nobody knows what the GPU's copy of x holds"
    (_, _, moved), _ = arguments_of(record)
    assert elements_of(record, moved).tolist() == list(range(32))
    assert x.tolist() == list(range(32)), "the simulator works on copies"


def test_arrays_that_overlap_do_so_on_the_simulator(recording):
    def shift(source, target):
        i = cuda.grid(1)
        value = source[i]
        cuda.syncthreads()
        target[i] = value

    memory = np.arange(33, dtype=np.int64)

    def run():
        memory[1:] = memory[:-1].copy()

    recording.launch(shift, (OnGpu(memory[:-1]), OnGpu(memory[1:])), run)
    (record,) = recording.close().records()
    (_, _, source), (_, _, target) = arguments_of(record)
    assert target.address - source.address == 8
    assert recording.launches()[0]["verdict"] == "same"


class Repeated(OnGpu):
    """As numba-cuda's ufuncs repeat scalars: the interface says that it is contiguous."""

    def __init__(self, array):
        super().__init__(array)
        self.strides = array.strides
        self.__cuda_array_interface__["strides"] = None


def test_scalars_that_numba_cuda_repeats_by_strides_of_0(recording):
    value, out = np.full(1, 3.0), np.zeros(20)
    read = []
    recording.gpu.read = lambda address, count: read.append(count) or ctypes.string_at(address, count)
    x = np.broadcast_to(value, 20)
    recording.launch(twice, (Repeated(x), OnGpu(out)), compute_twice(x, out))
    (record,) = recording.close().records()
    assert set(read) == {8, 160}
    (_, _, given), _ = arguments_of(record)
    assert (given.shape, given.strides) == ((20,), (0,))


def test_layouts_and_addresses_are_kept(recording):
    def fill(x):
        i, j = cuda.grid(2)
        x[i, j] = 10 * i + j

    memory = np.zeros(1000, np.uint8)
    begin = -memory.__array_interface__["data"][0] % 256 + 52
    base = memory[begin : begin + 160].view(np.float32).reshape(5, 8)
    for array in (base[:, ::2].T, base[::-1, ::-2], np.asfortranarray(np.zeros((3, 4), np.float32))):

        def run(array=array):
            array[...] = np.add.outer(10 * np.arange(array.shape[0]), np.arange(array.shape[1]))

        recording.launch(fill, (OnGpu(array),), run, block=(*array.shape, 1))
        real = array.__array_interface__["data"][0]
        assert not recording.file.refused
        moved = arguments_of(Reader(recording.file.path).read(recording.file.recorded - 1))[0][2]
        assert moved.strides == array.strides and moved.address % 256 == real % 256
    assert [launch["verdict"] for launch in recording.close().launches()] == ["same"] * 3


PAIR = np.dtype([("a", np.int32), ("b", np.float64)], align=True)


def test_every_kind_of_argument(recording):
    def mixed(pair, record, number, flag, point, pairs, empty, out):
        out[0] = pair[0][0] + pair[1] + record.a + number
        out[1] = record.b if flag else 0
        out[2] = point.real + point.imag + pairs[1].b + empty.size

    x, out = np.full(3, 4.0), np.zeros(3)
    record = np.zeros(1, PAIR)
    record[0] = 7, 8.5
    host_record = record[0].copy()
    pairs = np.zeros(2, PAIR)
    pairs["b"] = 1, 2

    def run():
        out[:] = 4 + 1 + 7 + 3, 8.5, 1 + 2 + 2

    for one in (DeviceRecord(record.reshape(())), host_record):
        arguments = (
            (OnGpu(x), 1),
            one,
            np.int8(3),
            True,
            1 + 2j,
            OnGpu(pairs),
            np.zeros(0, np.float32),
            OnGpu(out),
        )
        recording.launch(mixed, arguments, run, block=(1, 1, 1))
    assert not recording.file.refused
    launches = recording.close().launches()
    assert [launch["verdict"] for launch in launches] == ["same"] * 2
    names = {array["name"] for array in launches[0]["arrays"]}
    assert {"pair[0]", "pairs", "out"} <= names


def test_kernels_with_declared_types(recording):
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)

    def scaled(x, factor, out):
        i = cuda.grid(1)
        out[i] = factor * x[i]

    def run():
        out[:] = 3 * x

    kinds = (cudasim.types.float32[:], cudasim.types.float32, cudasim.types.float32[:])
    recording.launch(scaled, (OnGpu(x), 3, OnGpu(out)), run, signatures=[kinds])
    (record,) = recording.close().records()
    assert [kind for _, kind, _ in arguments_of(record)][1] == "float32"
    assert recording.launches()[0]["verdict"] == "same"


def test_what_kernels_print(recording, capfd):
    def says(x):
        print("value", x[0])

    x = np.array([3], np.int32)
    recording.launch(says, (OnGpu(x),), lambda: os.write(1, b"value 3\n"), block=(1, 1, 1))
    assert capfd.readouterr().out == "value 3\n", "the GPU's line, once"
    recording.launch(says, (OnGpu(x),), lambda: os.write(1, b"value 4\n"), block=(1, 1, 1))
    same, other = recording.close().launches()
    assert same["verdict"] == "same" and other["verdict"] == "different"
    assert other["printed"]["lines"] == {"simulated": 1, "gpu": 1}


def test_what_the_program_gets_is_the_gpus(recording):
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)

    def run():
        out[:] = 1
        return "what numba returns"

    assert recording.launch(twice, (x, out), run) == "what numba returns"
    assert out.tolist() == [1] * 32


def test_errors_that_the_simulator_finds_are_recorded_only(recording):
    x, out = np.arange(8, dtype=np.float32), np.zeros(32, np.float32)
    recording.launch(twice, (x, out), lambda: None)
    (record,) = recording.close().records()
    assert b"out-of-bounds-index" in record.findings and not recording.file.refused
    assert replay(record, {}, False).exception is not None


def test_a_launch_that_fails_on_the_gpu(recording):
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)

    def run():
        raise RuntimeError("[700] Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS")

    with pytest.raises(RuntimeError, match="700"):
        recording.launch(twice, (x, out), run)
    (launch,) = recording.close().launches()
    assert launch["status"] == "failed" and launch["verdict"] == "different"
    assert launch["message"].startswith("RuntimeError: [700] Call")


@pytest.mark.parametrize(
    "function, arguments, more, reason",
    [
        (twice, (np.arange(64.0)[::2], np.zeros(32)), {}, "host array passed for 'x' is not contiguous"),
        (twice, (np.arange(32.0), object()), {}, "Cannot determine"),
        (twice, (np.arange(32.0),), {}, "Signature mismatch"),
        (lambda x: open("y"), (np.arange(32.0),), {}, "is not supported"),
        (twice, (np.arange(32.0), np.zeros(32)), {"refusal": "it is linked with C"}, "it is linked with C"),
    ],
)
def test_launches_that_cannot_be_recorded_run_all_the_same(recording, function, arguments, more, reason):
    ran = []
    recording.launch(function, arguments, lambda: ran.append(1), **more)
    recording.close()
    (sentence,) = recording.file.refused
    assert ran == [1] and recording.file.recorded == 0
    assert sentence.startswith(f"launch 1: {function.__name__}: ") and reason in sentence, sentence


def test_chosen_launches(tmp_path):
    recording = Recording(tmp_path, Selection("twice", "2..3"))
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)

    def other(x, out):
        out[0] = x[0]

    for _ in range(4):
        recording.launch(other, (x, out), lambda: None)
        recording.launch(twice, (x, out), compute_twice(x, out))
    assert [record.number for record in recording.close().records()] == [2, 3]
    assert recording.file.seen == 4
    assert [launch["verdict"] for launch in recording.launches()] == ["same"] * 2


def test_the_gpu_is_waited_for_before_its_memory_is_read(recording):
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    pending = [lambda: x.__setitem__(slice(None), 5)]  # what the program has enqueued before

    def synchronize():
        while pending:
            pending.pop(0)()

    recording.gpu.synchronize = synchronize
    recording.launch(twice, (OnGpu(x), OnGpu(out)), lambda: pending.append(compute_twice(x, out)))
    (record,) = recording.close().records()
    assert elements_of(record, arguments_of(record)[0][2]).tolist() == [5] * 32
    assert recording.launches()[0]["verdict"] == "same"


def test_results_need_memory_after_the_launch(tmp_path):
    """The writer of results refuses records that do not have it."""
    path = str(tmp_path / "run.cudasim")
    kept = []
    with Recorder(kept.append).in_force():
        cuda.jit(twice)[1, 32](np.arange(32.0), np.zeros(32))
    writer = _native.GpuResultWriter(path)
    with pytest.raises(errors.RecordError, match="memory after the launch"):
        writer.add(kept[0], ("GPU", (8, 0), (12, 0)), [], "", "")
    with pytest.raises(errors.RecordError, match="not of its size"):
        writer.add(kept[0], ("GPU", (8, 0), (12, 0)), [b"1"] * len(kept[0].memory), "", "")
