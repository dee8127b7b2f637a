#!/bin/bash
# Lists the GPUs of this host as Spark wants them from a discovery script: those of CUDA_VISIBLE_DEVICES, else all.
if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
    gpus=$(tr ',' '\n' <<< "$CUDA_VISIBLE_DEVICES" | sed '/^-1$/,$d')
else
    gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null) || gpus=
fi
printf '{"name": "gpu", "addresses": [%s]}\n' "$(sed '/^$/d; s/.*/"&"/' <<< "$gpus" | paste -sd,)"
