#!/usr/bin/env python3
"""Compiles gds-engine's kernels that are written in CUDA C: dev/kernels.py, once a .cu file has changed.

Needs NVRTC, as pip's nvidia-cuda-nvrtc-cu12 has it: NVRTC=.../libnvrtc.so.12, or where the linker finds it. No GPU is needed. Run the
tests tagged gpu afterwards.
"""
import ctypes
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent / "gds-engine/src/main"
OPTIONS = [b"--gpu-architecture=compute_50", b"--fmad=false", b"--std=c++17"]


def text_of(call, size, program):
    length = ctypes.c_size_t()
    size(program, ctypes.byref(length))
    text = ctypes.create_string_buffer(length.value)
    call(program, text)
    return text.value.decode()


def compiled(nvrtc, source):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, len(OPTIONS), (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)):
        raise SystemExit(text_of(nvrtc.nvrtcGetProgramLog, nvrtc.nvrtcGetProgramLogSize, program))
    return text_of(nvrtc.nvrtcGetPTX, nvrtc.nvrtcGetPTXSize, program)


def main():
    nvrtc = ctypes.CDLL(os.environ.get("NVRTC", "libnvrtc.so.12"))
    for source in sorted((ROOT / "cuda").glob("*.cu")):
        ptx = re.sub(r"//.*", "", compiled(nvrtc, source))
        # no instruction is newer than those of the other kernels, so that drivers older than the compiler take it
        ptx = re.sub(r"(?m)^\.version .*$", ".version 6.0", ptx)
        lines = [line.rstrip() for line in ptx.splitlines() if line.strip()]
        target = ROOT / "resources/io/gds4j/engine/memory" / (source.stem + ".ptx")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"\(\s+\.param", "(.param", "\n".join(lines))
        head = f"// Compiled from {source.name} by dev/kernels.py: change that file."
        target.write_text(f"{head}\n{text}\n")
        print(target.relative_to(ROOT), len(lines), "lines")


main()
