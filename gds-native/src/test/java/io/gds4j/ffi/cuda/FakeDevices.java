package io.gds4j.ffi.cuda;

import java.nio.charset.StandardCharsets;

/** GPUs and contexts of {@link FakeCuda}, and the names of errors. */
abstract class FakeDevices extends FakeDriver {
    FakeDevices(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
    }

    @Override
    public int init() {
        return plain(CudaFunction.INIT, () -> SUCCESS);
    }

    @Override
    public int driverGetVersion(int[] version) {
        return plain(CudaFunction.DRIVER_GET_VERSION, () -> {
            version[0] = 13000;
            return SUCCESS;
        });
    }

    @Override
    public int deviceGetCount(int[] count) {
        return plain(CudaFunction.DEVICE_GET_COUNT, () -> {
            count[0] = devices;
            return SUCCESS;
        });
    }

    @Override
    public int deviceGet(int[] device, int ordinal) {
        return onDevice(CudaFunction.DEVICE_GET, ordinal, () -> device[0] = ordinal);
    }

    @Override
    public int deviceGetName(String[] name, int device) {
        return onDevice(CudaFunction.DEVICE_GET_NAME, device, () -> name[0] = "Fake GPU " + device);
    }

    @Override
    public int deviceGetUuid(byte[] uuid, int device) {
        return onDevice(CudaFunction.DEVICE_GET_UUID, device, () -> {
            byte[] text = "fake-gpu-%07d".formatted(device).getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(text, 0, uuid, 0, 16);
        });
    }

    @Override
    public int deviceTotalMem(long[] bytes, int device) {
        return onDevice(CudaFunction.DEVICE_TOTAL_MEM, device, () -> bytes[0] = memoryPerDevice);
    }

    @Override
    public int deviceGetAttribute(int[] value, int attribute, int device) {
        return onDevice(CudaFunction.DEVICE_GET_ATTRIBUTE, device, () -> value[0] = switch (attribute) {
            case CudaAttributes.DEVICE_COMPUTE_CAPABILITY_MAJOR -> 9;
            case CudaAttributes.DEVICE_COMPUTE_CAPABILITY_MINOR -> 0;
            default -> 1;
        });
    }

    @Override
    public int deviceCanAccessPeer(int[] answer, int device, int peer) {
        return onDevice(CudaFunction.DEVICE_CAN_ACCESS_PEER, device, () -> answer[0] = device == peer ? 0 : 1);
    }

    @Override
    public int deviceGetPciBusId(String[] id, int device) {
        return onDevice(
                CudaFunction.DEVICE_GET_PCI_BUS_ID, device, () -> id[0] = "0000:%02x:00.0".formatted(device + 1));
    }

    @Override
    public int devicePrimaryCtxRetain(long[] context, int device) {
        return onDevice(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, device, () -> {
            FakeContext primary = primaries.computeIfAbsent(device, d -> {
                FakeContext made = new FakeContext(handle(), ++lastId, d, true);
                contexts.put(made.handle, made);
                return made;
            });
            retained.merge(device, 1, Integer::sum);
            context[0] = primary.handle;
        });
    }

    @Override
    public int devicePrimaryCtxRelease(int device) {
        return plain(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, () -> {
            Integer users = retained.get(device);
            if (users == null) {
                return ERROR_INVALID_CONTEXT;
            }
            if (users == 1) {
                retained.remove(device);
                destroyContext(primaries.remove(device).handle);
            } else {
                retained.put(device, users - 1);
            }
            return SUCCESS;
        });
    }

    @Override
    public int ctxPushCurrent(long context) {
        return plain(CudaFunction.CTX_PUSH_CURRENT, () -> {
            checkNotDestroyed(context);
            FakeContext pushed = contexts.get(context);
            if (pushed == null) {
                return ERROR_INVALID_CONTEXT;
            }
            if (Thread.currentThread().isVirtual() && !stack.get().isEmpty()) {
                violation("a virtual thread enters a context within another, where it could wait", SUCCESS);
            }
            stack.get().push(pushed);
            pushes++;
            return SUCCESS;
        });
    }

    @Override
    public int ctxPopCurrent(long[] context) {
        return plain(CudaFunction.CTX_POP_CURRENT, () -> {
            FakeContext popped = stack.get().poll();
            if (popped == null) {
                return ERROR_INVALID_CONTEXT;
            }
            pushes--;
            context[0] = popped.handle;
            return SUCCESS;
        });
    }

    @Override
    public boolean ctxIsCurrent(long context) {
        long[] current = new long[1];
        return ctxGetCurrent(current) == SUCCESS && current[0] == context;
    }

    @Override
    public int ctxGetCurrent(long[] context) {
        return plain(CudaFunction.CTX_GET_CURRENT, () -> {
            FakeContext current = stack.get().peek();
            context[0] = current == null ? 0 : current.handle;
            return SUCCESS;
        });
    }

    @Override
    public int ctxSetCurrent(long context) {
        return plain(CudaFunction.CTX_SET_CURRENT, () -> {
            checkNotDestroyed(context);
            FakeContext wanted = contexts.get(context);
            if (context != 0 && wanted == null) {
                return ERROR_INVALID_CONTEXT;
            }
            if (stack.get().poll() != null) {
                pushes--;
            }
            if (wanted != null) {
                stack.get().push(wanted);
                pushes++;
            }
            return SUCCESS;
        });
    }

    @Override
    public int ctxEnablePeerAccess(long peer) {
        return plain(CudaFunction.CTX_ENABLE_PEER_ACCESS, () -> {
            FakeContext target = contexts.get(peer);
            return target == null || target.destroyed ? ERROR_INVALID_CONTEXT : SUCCESS;
        });
    }

    @Override
    public int ctxGetId(long context, long[] id) {
        return plain(CudaFunction.CTX_GET_ID, () -> {
            checkNotDestroyed(context);
            FakeContext asked = context == 0 ? stack.get().peek() : contexts.get(context);
            if (asked == null || asked.destroyed) {
                return context == 0 ? ERROR_INVALID_CONTEXT : ERROR_CONTEXT_IS_DESTROYED;
            }
            id[0] = asked.id;
            return SUCCESS;
        });
    }

    @Override
    public String errorName(int result) {
        return switch (result) {
            case SUCCESS -> "CUDA_SUCCESS";
            case ERROR_INVALID_VALUE -> "CUDA_ERROR_INVALID_VALUE";
            case ERROR_OUT_OF_MEMORY -> "CUDA_ERROR_OUT_OF_MEMORY";
            case ERROR_DEINITIALIZED -> "CUDA_ERROR_DEINITIALIZED";
            case ERROR_INVALID_CONTEXT -> "CUDA_ERROR_INVALID_CONTEXT";
            case ERROR_ILLEGAL_ADDRESS -> "CUDA_ERROR_ILLEGAL_ADDRESS";
            default -> "CUDA error " + result;
        };
    }

    @Override
    public String errorText(int result) {
        return result == SUCCESS ? "no error" : "text of error " + result;
    }
}
