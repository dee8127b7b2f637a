package io.gds4j.interop.dlpack;

import io.gds4j.ffi.NativeSegments;
import io.gds4j.ffi.dlpack.ManagedTensors;
import io.gds4j.ffi.dlpack.ManagedTensors.TensorFields;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A tensor of another runtime as memory of gds4j. Closing it waits for I/O on the memory, then calls the producer's deleter.
 * Thread-safe. The garbage collector logs and closes a forgotten import.
 *
 * @since 0.1
 */
public final class DlPackImport implements AutoCloseable {
    /** Structs of open imports: two of them would call its deleter twice. */
    private static final Set<Long> HELD = ConcurrentHashMap.newKeySet();

    private final DlPackTensor tensor;
    private final MemoryAllocation memory;

    DlPackImport(DlPackTensor tensor, MemoryAllocation memory) {
        this.tensor = tensor;
        this.memory = memory;
    }

    /** {@return type, shape, strides and flags; a READ_ONLY tensor of the host has a read-only segment, which no read may fill} */
    public DlPackTensor tensor() {
        return tensor;
    }

    /** {@return its memory, which {@link #close} gives back} */
    public MemoryAllocation memory() {
        return memory;
    }

    /** Takes the tensor, or throws and leaves it with the producer. */
    static DlPackImport of(DlPackVersion version, long address) {
        if (!HELD.add(address)) {
            throw Refusals.invalid("another import holds the tensor at 0x%x".formatted(address));
        }
        Arena arena = Arena.ofShared();
        return Undo.ifFails(() -> release(address, arena), () -> {
            DlPackTensor raw = describe(version, address, arena);
            MemoryAllocation memory = MemoryAllocation.of(raw.range(), () -> {
                release(address, arena);
                ManagedTensors.delete(version.kind(), address);
            });
            return new DlPackImport(new DlPackTensor(
                    memory.range(), raw.type(), raw.shape(), raw.strides(), raw.device(), raw.flags()), memory);
        });
    }

    private static void release(long address, Arena arena) {
        Uninterruptibly.close(arena);
        HELD.remove(address);
    }

    private static DlPackTensor describe(DlPackVersion version, long address, Arena arena) {
        if (version == DlPackVersion.VERSIONED) {
            int major = ManagedTensors.majorVersion(address);
            if (major != ManagedTensors.MAJOR) {
                throw Refusals.invalid("the tensor is of DLPack %s; known is version %s"
                        .formatted(Integer.toUnsignedString(major), ManagedTensors.MAJOR));
            }
        }
        TensorFields fields = ManagedTensors.read(version.kind(), address);
        DlPackType type = new DlPackType(fields.code(), fields.bits(), fields.lanes());
        DlPackDevice device = new DlPackDevice(fields.deviceType(), fields.deviceId());
        MemoryKind kind = device.kind();
        List<Long> shape = fields.shape();
        boolean noStrides = fields.strides().isEmpty();
        List<Long> strides = noStrides ? DlPackTensor.compactStrides(shape) : fields.strides();
        // Any range is long enough here: this description tells how long the memory is.
        MemoryRange unlimited = MemoryRange.ofAddress(1, Long.MAX_VALUE, MemoryKind.HOST);
        var flags = DlPackFlag.of(fields.flags());
        long bytes = new DlPackTensor(unlimited, type, shape, strides, device, flags).bytes();
        if (fields.data() == 0 && bytes > 0) {
            throw Refusals.invalid("the tensor has %s bytes and no data".formatted(bytes));
        }
        // An empty tensor may have no address; the struct's own stands for it and is never used.
        long data = fields.data() == 0 ? address : fields.data();
        MemoryRange range = MemoryRange.ofAddress(data, bytes, kind, device.id());
        return new DlPackTensor(
                kind.isHost() ? host(range, flags.contains(DlPackFlag.READ_ONLY), arena) : range, type, shape, strides,
                device, flags);
    }

    private static MemoryRange host(MemoryRange raw, boolean readOnly, Arena arena) {
        MemorySegment segment = NativeSegments.of(raw.address(), raw.length(), arena);
        return MemoryRange.ofSegment(readOnly ? segment.asReadOnly() : segment, raw.kind());
    }

    /**
     * Waits for I/O on the memory, then calls the producer's deleter. Idempotent.
     *
     * @throws io.gds4j.error.CuFileException IO_NOT_SUPPORTED (EBUSY) while the memory is registered, lent or in a batch
     */
    @Override
    public void close() {
        memory.close();
    }

    @Override
    public String toString() {
        return "DlPackImport[tensor=" + tensor + ", memory=" + memory + ']';
    }
}
