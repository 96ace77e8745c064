"""The CUDA driver's device attributes (CUDA Driver API, enum CUdevice_attribute), which numba.cuda's devices have as
attributes in capitals: each one's number there, and its value for a simulated device.

Values come from the device's profile where kernels feel them; the others are what devices of that kind report, or 0
for what the simulator does not have (textures are no part of numba.cuda, but their limits are asked for by `detect`-like
scripts that print every attribute).
"""


def _supports(major, minor=0):
    return lambda p: int(tuple(p["compute_capability"]) >= (major, minor))


def _constant(value):
    return lambda p: value


def _entry(key, index=None):
    return (lambda p: p[key]) if index is None else (lambda p: p[key][index])


_NO, _YES = _constant(0), _constant(1)

#: name without CU_DEVICE_ATTRIBUTE_ → (number, value from the profile)
ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": (1, _entry("max_threads_per_block")),
    "MAX_BLOCK_DIM_X": (2, _entry("max_block", 0)),
    "MAX_BLOCK_DIM_Y": (3, _entry("max_block", 1)),
    "MAX_BLOCK_DIM_Z": (4, _entry("max_block", 2)),
    "MAX_GRID_DIM_X": (5, _entry("max_grid", 0)),
    "MAX_GRID_DIM_Y": (6, _entry("max_grid", 1)),
    "MAX_GRID_DIM_Z": (7, _entry("max_grid", 2)),
    "MAX_SHARED_MEMORY_PER_BLOCK": (8, _entry("shared_per_block")),
    "SHARED_MEMORY_PER_BLOCK": (8, _entry("shared_per_block")),
    "TOTAL_CONSTANT_MEMORY": (9, _entry("constant_memory")),
    "WARP_SIZE": (10, _entry("warp_size")),
    "MAX_PITCH": (11, _constant((1 << 31) - 1)),
    "MAX_REGISTERS_PER_BLOCK": (12, _entry("registers_per_block")),
    "REGISTERS_PER_BLOCK": (12, _entry("registers_per_block")),
    "CLOCK_RATE": (13, _entry("clock_khz")),
    "TEXTURE_ALIGNMENT": (14, _constant(512)),
    "GPU_OVERLAP": (15, _YES),
    "MULTIPROCESSOR_COUNT": (16, _entry("multiprocessors")),
    "KERNEL_EXEC_TIMEOUT": (17, _NO),
    "INTEGRATED": (18, lambda p: int(p["integrated"])),
    "CAN_MAP_HOST_MEMORY": (19, _YES),
    "COMPUTE_MODE": (20, _NO),
    "MAXIMUM_TEXTURE1D_WIDTH": (21, _constant(131072)),
    "MAXIMUM_TEXTURE2D_WIDTH": (22, _constant(131072)),
    "MAXIMUM_TEXTURE2D_HEIGHT": (23, _constant(65536)),
    "MAXIMUM_TEXTURE3D_WIDTH": (24, _constant(16384)),
    "MAXIMUM_TEXTURE3D_HEIGHT": (25, _constant(16384)),
    "MAXIMUM_TEXTURE3D_DEPTH": (26, _constant(16384)),
    "MAXIMUM_TEXTURE2D_LAYERED_WIDTH": (27, _constant(32768)),
    "MAXIMUM_TEXTURE2D_LAYERED_HEIGHT": (28, _constant(32768)),
    "MAXIMUM_TEXTURE2D_LAYERED_LAYERS": (29, _constant(2048)),
    "SURFACE_ALIGNMENT": (30, _constant(512)),
    "CONCURRENT_KERNELS": (31, _YES),
    "ECC_ENABLED": (32, _NO),
    "PCI_BUS_ID": (33, _NO),  # Device overrides it: one bus for each device
    "PCI_DEVICE_ID": (34, _NO),
    "TCC_DRIVER": (35, _NO),
    "MEMORY_CLOCK_RATE": (36, _entry("memory_clock_khz")),
    "GLOBAL_MEMORY_BUS_WIDTH": (37, _entry("memory_bus_bits")),
    "L2_CACHE_SIZE": (38, _entry("l2_cache")),
    "MAX_THREADS_PER_MULTIPROCESSOR": (39, _entry("max_threads_per_multiprocessor")),
    # Not CUDA's name, but that of numba.cuda's documentation before the driver's was used.
    "MAX_THREADS_PER_MULTI_PROCESSOR": (39, _entry("max_threads_per_multiprocessor")),
    "ASYNC_ENGINE_COUNT": (40, _constant(3)),
    "UNIFIED_ADDRESSING": (41, _YES),
    "MAXIMUM_TEXTURE1D_LAYERED_WIDTH": (42, _constant(32768)),
    "MAXIMUM_TEXTURE1D_LAYERED_LAYERS": (43, _constant(2048)),
    "PCI_DOMAIN_ID": (50, _NO),
    "TEXTURE_PITCH_ALIGNMENT": (51, _constant(32)),
    "MAXIMUM_TEXTURECUBEMAP_WIDTH": (52, _constant(32768)),
    "MAXIMUM_SURFACE1D_WIDTH": (55, _constant(32768)),
    "MAXIMUM_SURFACE2D_WIDTH": (56, _constant(131072)),
    "MAXIMUM_SURFACE2D_HEIGHT": (57, _constant(65536)),
    "MAXIMUM_SURFACE3D_WIDTH": (58, _constant(16384)),
    "MAXIMUM_SURFACE3D_HEIGHT": (59, _constant(16384)),
    "MAXIMUM_SURFACE3D_DEPTH": (60, _constant(16384)),
    "MAXIMUM_TEXTURE1D_LINEAR_WIDTH": (69, _constant(1 << 28)),
    "MAXIMUM_TEXTURE2D_LINEAR_WIDTH": (70, _constant(131072)),
    "MAXIMUM_TEXTURE2D_LINEAR_HEIGHT": (71, _constant(65000)),
    "MAXIMUM_TEXTURE2D_LINEAR_PITCH": (72, _constant(2097120)),
    "COMPUTE_CAPABILITY_MAJOR": (75, _entry("compute_capability", 0)),
    "COMPUTE_CAPABILITY_MINOR": (76, _entry("compute_capability", 1)),
    "STREAM_PRIORITIES_SUPPORTED": (78, _YES),
    "GLOBAL_L1_CACHE_SUPPORTED": (79, _YES),
    "LOCAL_L1_CACHE_SUPPORTED": (80, _YES),
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": (81, _entry("shared_per_multiprocessor")),
    "MAX_REGISTERS_PER_MULTIPROCESSOR": (82, _entry("registers_per_multiprocessor")),
    "MANAGED_MEMORY": (83, _YES),
    "MULTI_GPU_BOARD": (84, _NO),
    "MULTI_GPU_BOARD_GROUP_ID": (85, _NO),
    "HOST_NATIVE_ATOMIC_SUPPORTED": (86, _NO),
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": (87, _entry("single_to_double_ratio")),
    "PAGEABLE_MEMORY_ACCESS": (88, _NO),  # rule E9: a kernel that touches host memory is an error
    "CONCURRENT_MANAGED_ACCESS": (89, _YES),
    "COMPUTE_PREEMPTION_SUPPORTED": (90, _YES),
    "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": (91, _YES),
    "COOPERATIVE_LAUNCH": (95, _supports(6)),
    "COOPERATIVE_MULTI_DEVICE_LAUNCH": (96, _NO),
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": (97, _entry("shared_per_block_optin")),
    "CAN_FLUSH_REMOTE_WRITES": (98, _NO),
    "HOST_REGISTER_SUPPORTED": (99, _YES),
    "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES": (100, _NO),
    "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST": (101, _NO),
    "VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED": (102, _NO),
    "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": (102, _NO),
    "MAX_BLOCKS_PER_MULTIPROCESSOR": (106, _entry("max_blocks_per_multiprocessor")),
    "GENERIC_COMPRESSION_SUPPORTED": (107, _NO),
    "MAX_PERSISTING_L2_CACHE_SIZE": (108, _NO),
    "MAX_ACCESS_POLICY_WINDOW_SIZE": (109, _NO),
    "RESERVED_SHARED_MEMORY_PER_BLOCK": (111, _entry("shared_reserved_per_block")),
    "SPARSE_CUDA_ARRAY_SUPPORTED": (112, _NO),
    "READ_ONLY_HOST_REGISTER_SUPPORTED": (113, _NO),
    "MEMORY_POOLS_SUPPORTED": (115, _NO),
    "GPU_DIRECT_RDMA_SUPPORTED": (116, _NO),
    "CLUSTER_LAUNCH": (120, _NO),
    "IPC_EVENT_SUPPORTED": (125, _NO),
    "UNIFIED_FUNCTION_POINTERS": (129, _NO),
    "MULTICAST_SUPPORTED": (132, _NO),
    "MPS_ENABLED": (133, _NO),
}
