#!/usr/bin/env bash
# test_pythons.sh [--except-venv] — for every CPython found on this machine (scripts/find_pythons.py, PYTHONS=...): a
# virtual environment .venv-3.X, the two extensions for it, and the tests named in tests/for_every_python.txt. Lists
# the supported ones that are absent. --except-venv leaves out the minor version of .venv, which `make test`
# tests wholly. Run after build.sh: all extensions are linked with libcudasim.so of build/release.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pythons=$(.venv/bin/python scripts/find_pythons.py) || exit 1
mapfile -t tests < <(sed -e 's/ *#.*//' -e '/^$/d' tests/for_every_python.txt)
of_venv=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

results=()
failed=0
one_python() {  # MINOR INTERPRETER
    local venv=.venv-$1
    scripts/set_up.sh further "$venv" "$2" || return
    scripts/build.sh further "$venv" || return
    "$venv/bin/python" -m pytest -q -n "$(nproc)" --dist loadfile -p no:cacheprovider "${tests[@]}"
}
while read -r minor interpreter; do
    if [[ ${1:-} == --except-venv && $minor == "$of_venv" ]]; then
        results+=("CPython $minor: that of .venv, tested by make test")
        continue
    fi
    echo "== CPython $minor: $interpreter"
    began=$SECONDS
    if one_python "$minor" "$interpreter"; then verdict=passed; else verdict=FAILED failed=1; fi
    results+=("CPython $minor: $verdict ($((SECONDS - began)) s)")
done <<<"$pythons"
echo "== every CPython"
printf '%s\n' "${results[@]}"
exit $failed
