// Written by scripts/write_missing_headers.py.
#error "cub/warp/specializations/warp_scan_smem.cuh is not part of cudasim (yet): CUB"
