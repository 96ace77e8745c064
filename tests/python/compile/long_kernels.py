"""Kernels of any length, as texts: for tests, and for the programs that they run."""

BODIES = {
    "lines": lambda n: "".join(f"    o[i] += {k}\n" for k in range(n)),
    "ifs": lambda n: "".join(f"    if o[i] > {k}:\n        o[i] = {k}\n" for k in range(n)),
    "shared": lambda n: "".join(
        f"    s{k} = cuda.shared.array(1, 'float32')\n    s{k}[0] = i\n    o[i] += s{k}[0]\n" for k in range(n)
    ),
    "local": lambda n: "".join(
        f"    a{k} = cuda.local.array(2, 'float32')\n    a{k}[1] = i\n    o[i] += a{k}[1]\n" for k in range(n)
    ),
    "variables": lambda n: "".join(f"    v{k} = o[i] * {k}\n" for k in range(n)) + "".join(f"    o[i] += v{k}\n" for k in range(n)),
    "branches": lambda n: "".join(f"    v{k} = 0\n    if o[i] > {k}:\n        v{k} = 1\n    o[i] += v{k}\n" for k in range(n)),
    "late": lambda n: "".join(f"    v{k} = 0\n    if o[i] > {k}:\n        v{k} = o[i]\n" for k in range(n))
    + "".join(f"    if o[i] > {k}:\n        o[i] += v{k}\n" for k in range(n)),
    "prints": lambda n: "".join(f"    print(i, {k})\n" for k in range(n)),
    "loops": lambda n: "".join(f"    for j in range(4):\n        o[i] += j * {k}\n" for k in range(n)),
    "calls": lambda n: "".join(f"    o[i] += d{k}(o[i])\n" for k in range(n)),
    "arguments": lambda n: "".join(f"    o[i] += p{k}\n" for k in range(n)),
    "barriers": lambda n: "".join(f"    o[i] += {k}\n    cuda.syncthreads()\n" for k in range(n)),
    "elif": lambda n: "    if o[i] == 0:\n        o[i] = 1\n"
    + "".join(f"    elif o[i] == {k}:\n        o[i] = {k}\n" for k in range(1, n)),
    "lambdas": lambda n: "    f0 = lambda x: x + 1\n"
    + "".join(f"    f{k} = lambda x: f{k - 1}(x) + f{k - 1}(x + 1)\n" for k in range(1, n))
    + f"    o[i] = f{n - 1}(o[i])\n",
    "sum": lambda n: "    o[i] = " + " + ".join(["o[i]"] * n) + "\n",
}  # fmt: skip
#: What stands in front of the kernel, and its further parameters.
BEFORE = {
    "calls": lambda n: "".join(
        f"@cuda.jit(device=True)\ndef d{k}(x):\n    return x * {k} + 1\n" for k in range(n)
    )
}
PARAMETERS = {"arguments": lambda n: [f"p{k}" for k in range(n)]}


def kernel_of(folder, kind, count):
    file = folder / f"{kind}_{count}.py"
    before = BEFORE[kind](count) if kind in BEFORE else ""
    parameters = ", ".join(["o", *(PARAMETERS[kind](count) if kind in PARAMETERS else ())])
    file.write_text(
        f"from cudasim import cuda\n{before}@cuda.jit\ndef k({parameters}):\n    i = cuda.grid(1)\n"
        + BODIES[kind](count)
    )
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    return namespace["k"]
