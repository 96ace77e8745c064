"""Devices of one's own: CUDASIM_DEVICE=gpu.toml."""

import json

import pytest
from cudasim import device_profiles, options
from cudasim._option_values import NotValid

WHOLE = {
    "compute_capability": "8.6", "name": "My GPU", "multiprocessors": 20, "total_memory": "64M",
    "max_threads_per_block": 512, "max_block": [512, 512, 64], "max_grid": [1000, 100, 10], "shared_per_block": "16K",
    "shared_per_block_optin": "20K", "shared_per_multiprocessor": "32K", "clock_khz": 1000000, "integrated": True,
}  # fmt: skip


def toml_of(values):
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


@pytest.mark.parametrize("name, content", [("my.toml", toml_of(WHOLE)), ("my.json", json.dumps(WHOLE))])
def test_kernels_feel_the_limits_of_the_file(run, name, content):
    run.write(content, name)
    done = run.script(
        """
        from cudasim import cuda, options
        gpu = cuda.get_current_device()
        print(options.get("device").endswith("my." + options.get("device")[-4:]), gpu.name, gpu.compute_capability)
        print(gpu.MULTIPROCESSOR_COUNT, gpu.MAX_SHARED_MEMORY_PER_BLOCK, gpu.CLOCK_RATE, gpu.INTEGRATED, gpu.MAX_GRID_DIM_X)
        print(gpu.MAX_THREADS_PER_MULTIPROCESSOR, gpu.MAX_REGISTERS_PER_BLOCK, cuda.current_context().get_memory_info().total >> 20)

        @cuda.jit
        def kernel():
            pass

        for configuration in (1, 513), (1001, 1), (1, 1, 0, (20 << 10) + 1):
            try:
                kernel[configuration]()
            except cuda.cudadrv.driver.CudaAPIError as error:
                print(error.code, str(error).split(": ")[-1])
        kernel[1000, 512, 0, 20 << 10]()
        """,
        CUDASIM_DEVICE="./" + name,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("My GPU (simulated) (8, 6)")
    assert lines[1:3] == ["20 16384 1000000 1 1000", "1536 65536 64"]
    assert [line[:2] for line in lines[3:]] == ["1 "] * 3
    assert "512 of My GPU" in lines[3] and "1000 of My GPU" in lines[4] and "20480 of My GPU" in lines[5], (
        lines
    )


def test_a_base_gives_what_the_file_lacks(tmp_path):
    path = tmp_path / "seventh.toml"
    path.write_text('base = "a100"\nmultiprocessors = 14\ntotal_memory = "10G"\n')
    whole, own = device_profiles.profile("a100"), device_profiles.load(str(path))
    assert {name for name in whole if whole[name] != own[name]} == {
        "key",
        "name",
        "multiprocessors",
        "total_memory",
    }
    assert (own["name"], own["multiprocessors"], own["total_memory"]) == ("seventh (simulated)", 14, 10 << 30)


def test_files_and_keys_go_together(run):
    run.write('base = "t4"\n', "one.toml")
    done = run.script(
        "from cudasim import cuda; print([gpu.name for gpu in cuda.gpus], len({gpu.uuid for gpu in cuda.gpus}))",
        CUDASIM_DEVICE="RTX 4090, one.toml,one.toml",
    )
    assert (
        done.stdout.count("one (simulated)") == 2
        and "RTX 4090" in done.stdout
        and done.stdout.endswith("3\n")
    ), done.stderr


def test_paths_in_pyproject_begin_in_its_folder(run):
    run.write('base = "t4"\n', "one.toml")
    run.write('[tool.cudasim]\ndevice = "one.toml"\n', "pyproject.toml")
    top = run.folder
    (top / "below").mkdir()
    run.folder = top / "below"
    done = run.script("from cudasim import options; print(options.get('device'))")
    assert done.stdout.strip() == str(top / "one.toml"), done.stderr


@pytest.mark.parametrize("content, says", [
    ("", "lacks compute_capability, multiprocessors, total_memory; or it names a base"),
    ('base = "a1000"', "there is no device 'a1000'. Did you mean 'a100'?"),
    ('base = "a100"\nmultiprocesors = 3', "'multiprocesors' is nothing that a device has. Did you mean 'multiprocessors'?"),
    ('base = "a100"\nmultiprocessors = 0', "multiprocessors is 0, but has to be a whole number from 1 to 100000"),
    ('base = "a100"\nmultiprocessors = 1.5', "multiprocessors is 1.5"),
    ('base = "a100"\ntotal_memory = "10X"', "total_memory is '10X', but has to be bytes, or text with K, M, G, T"),
    ('base = "a100"\nmax_threads_per_block = 2048', "max_threads_per_block is 2048, but has to be a whole number from 1 to 1024"),
    ('base = "a100"\nwarp_size = 64', "warp_size is 64, but has to be 32"),
    ('base = "a100"\nmax_block = [1, 2]', "max_block is [1, 2], but has to be three whole numbers"),
    ('base = "a100"\nshared_per_block_optin = "200K"', "shared_per_block_optin is 204800, more than shared_per_multiprocessor"),
    ('base = "a100"\ncompute_capability = "new"', "compute_capability is 'new'"),
    ('compute_capability = "42.0"\nmultiprocessors = 1\ntotal_memory = 1', "the limits of compute capability 42.0 are not known"),
    ("base = ", "is neither TOML nor, with the ending .json, JSON"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_the_file(tmp_path, content, says):
    path = tmp_path / "gpu.toml"
    path.write_text(content)
    with pytest.raises(NotValid) as caught:
        device_profiles.load(str(path))
    assert str(path) in str(caught.value) and says in str(caught.value)
    with pytest.raises(options.OptionError, match="CUDASIM_DEVICE|device"):
        options.set(device=str(path))


def test_files_that_are_not_there_are_refused(run):
    done = run.script("from cudasim import cuda; cuda.device_array(1)", CUDASIM_DEVICE="none.toml")
    assert "OptionError: environment variable CUDASIM_DEVICE: 'none.toml' is not valid" in done.stderr
    assert "none.toml cannot be read: No such file or directory" in done.stderr


def test_the_page_of_devices_has_them_all():
    import pathlib

    from cudasim import _native

    page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "devices.md").read_text()
    for values in _native.device_profiles():
        capability = ".".join(map(str, values["compute_capability"]))
        default = " (default)" if values["key"] == options.DEVICES[0] else ""
        row = (
            f"| `{values['key']}`{default} | {capability} | {values['multiprocessors']} | {values['total_memory'] >> 30}G | "
            f"{values['shared_per_block_optin'] >> 10}K |"
        )
        assert row in page
