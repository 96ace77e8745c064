"""Which memory a record has, and a recorder that nobody ends."""

import numpy as np
from cudasim import cuda, options
from cudasim.recording.recorder import Recorder


def test_memory_whose_address_is_in_the_kernel_s_code_is_recorded():
    outside = cuda.to_device(np.arange(3.0))

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = 2 * outside[i]
        outside[i] = 10

    records = []
    with options.override(mode="native"), Recorder(records.append).in_force():
        kernel[1, 3](np.zeros(3))
    (record,) = records
    address = outside.device_ctypes_pointer.value
    (index,) = [i for i, entry in enumerate(record.memory) if entry["address"] == address]
    assert np.frombuffer(record.content(index), np.float64)[:3].tolist() == [0, 1, 2]


def test_a_recorder_that_is_left_in_force_does_not_disturb_the_end_of_the_process(run):
    done = run.script(
        """
        from cudasim.recording.recorder import Recorder

        held = Recorder(lambda record: None).in_force()
        held.__enter__()
        print("end")
        """,
        ENABLE_CUDASIM="1",
    )
    assert (done.returncode, done.stdout) == (0, "end\n")
