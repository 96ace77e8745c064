// Written by scripts/write_missing_headers.py.
#error "cub/block/specializations/block_scan_warp_scans.cuh is not part of cudasim (yet): CUB"
