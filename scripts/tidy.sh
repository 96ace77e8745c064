#!/usr/bin/env bash
# tidy.sh [--all | FILE...] — clang-tidy with the checks of .clang-tidy: over the C++ files that differ from main, over all, or
# over those named. Run it after `make build`, whose compile commands it uses. All files take about an hour of
# one core.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=build/release
[[ -f $folder/compile_commands.json ]] || { echo "tidy: run make build first" >&2; exit 1; }
if [[ ${1-} == --all ]]; then
    mapfile -t files < <(git ls-files 'simulator/*.cpp' 'frontend/*.cpp' 'gpu_backend/*.cpp' 'debugger/*.cpp' 'library/*.cpp')
elif (($#)); then
    files=("$@")
else
    base=$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
    mapfile -t files < <({ git diff --name-only --diff-filter=d "$base"; git ls-files -o --exclude-standard; } | sort -u |
        grep -E '^(simulator|frontend|gpu_backend|debugger|library)/.*\.cpp$' || true)
fi
if ((${#files[@]} == 0)); then
    echo "tidy: no C++ file differs from main; scripts/tidy.sh --all looks at all"
    exit
fi
# Only what the build compiles: a file for another processor or interpreter has no command.
python3 -c '
import json, os, sys
known = {os.path.realpath(os.path.join(entry["directory"], entry["file"])) for entry in json.load(open(sys.argv[1]))}
print("\n".join(file for file in sys.argv[2:] if os.path.realpath(file) in known))' "$folder/compile_commands.json" "${files[@]}" |
    xargs -r -n 1 -P "${JOBS:-$(nproc)}" .venv/bin/clang-tidy -p "$folder" --quiet
