package io.gds4j.interop.dlpack;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.dlpack.ManagedTensors;
import io.gds4j.ffi.dlpack.ManagedTensors.StructKind;
import io.gds4j.ffi.dlpack.ManagedTensors.TensorFields;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.Loan;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A managed tensor of DLPack that one consumer may take, once: the counterpart of Python's capsule.
 *
 * <pre>{@code
 * try (DlPackCapsule capsule = DlPackCapsule.ofAddress(pointer, DlPackVersion.VERSIONED);
 *         DlPackImport tensor = capsule.open()) {
 *     handle.readFully(tensor.memory(), 0);
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. {@link #close} calls the deleter unless a consumer took the tensor. The garbage collector closes a forgotten
 * capsule. The deleter of a tensor of gds4j may run on any thread, also one that Java does not know, and releases the
 * memory exactly once.
 *
 * @since 0.1
 */
public final class DlPackCapsule implements AutoCloseable {
    private enum State {
        NEW, USED, CLOSED
    }

    /** Makes its text when a message needs it: a program may lend 100,000 tensors. */
    private record Borrower(DlPackTensor tensor) {
        @Override
        public String toString() {
            return "DLPack: " + tensor;
        }
    }

    /** Not a lifetime: a program may lend 100,000 tensors, and a lifetime walks the stack at its creation. */
    private static final Cleaner CLEANER = Cleaner.create();

    private final long address;
    private final DlPackVersion version;
    private final AtomicReference<State> state;
    private final Cleaner.Cleanable cleanable;

    private DlPackCapsule(long address, DlPackVersion version) {
        this.address = address;
        this.version = version;
        StructKind kind = version.kind();
        AtomicReference<State> taken = new AtomicReference<>(State.NEW); // the cleaner must not refer to the capsule
        this.state = taken;
        this.cleanable = CLEANER.register(this, () -> {
            // Not while another thread looks at the struct.
            synchronized (taken) {
                if (taken.compareAndSet(State.NEW, State.CLOSED)) {
                    ManagedTensors.delete(kind, address);
                }
            }
        });
    }

    /**
     * Wraps a managed tensor of another runtime.
     *
     * <p>
     * <b>The caller is responsible for the address.</b> gds4j cannot check that it points to such a struct, which belongs to the
     * capsule from now on; a wrong address can crash the process.
     *
     * @param address the struct, not 0
     * @param version which struct it is
     * @return the capsule
     * @throws CuFileException INVALID_VALUE if the address is 0 or not a multiple of 8
     */
    public static DlPackCapsule ofAddress(long address, DlPackVersion version) {
        if (address == 0 || address % Long.BYTES != 0) {
            throw Refusals.invalid("0x%x is no address of a managed tensor".formatted(address));
        }
        return new DlPackCapsule(address, version);
    }

    static DlPackCapsule lend(DlPackTensor tensor, DlPackVersion version) {
        Loan loan = MemoryAccess.USES.lend(tensor.range(), new Borrower(tensor));
        return Undo.ifFails(loan::close, () -> create(tensor, version, loan::close));
    }

    static DlPackCapsule give(DlPackTensor tensor, DlPackVersion version, MemoryAllocation owner) {
        MemoryRange range = tensor.range();
        long offset = range.address() - owner.address();
        if (offset < 0 || offset > owner.length() || range.length() > owner.length() - offset) {
            throw Refusals.invalid("%s is outside of %s".formatted(range, owner));
        }
        if (!owner.isOpen()) {
            throw Refusals.of(CuFileError.CUDA_POINTER_INVALID, "the memory is closed");
        }
        Lifetime lifetime = MemoryAccess.USES.lifetimeOf(owner);
        AtomicBoolean isGiven = new AtomicBoolean();
        DlPackCapsule capsule = create(tensor, version, () -> {
            if (isGiven.get()) {
                lifetime.closeGiven();
            }
        });
        isGiven.set(lifetime.give());
        if (!isGiven.get()) {
            capsule.close();
            throw Refusals.busy("the memory of the tensor is registered, lent or given already");
        }
        return capsule;
    }

    private static DlPackCapsule create(DlPackTensor tensor, DlPackVersion version, Runnable release) {
        if (version == DlPackVersion.UNVERSIONED && !tensor.flags().isEmpty()) {
            throw Refusals.invalid("an unversioned struct cannot express %s; the consumer must know DLPack 1.0"
                    .formatted(tensor.flags()));
        }
        TensorFields fields = new TensorFields(
                tensor.shape().contains(0L) ? 0 : tensor.range().address(),
                tensor.device().type(),
                tensor.device().id(),
                tensor.type().code(),
                tensor.type().bits(),
                tensor.type().lanes(),
                tensor.shape(),
                tensor.strides(),
                DlPackFlag.bits(tensor.flags()));
        return new DlPackCapsule(ManagedTensors.create(version.kind(), fields, release), version);
    }

    /** Returns which struct the capsule holds. */
    public DlPackVersion version() {
        return version;
    }

    /** Returns true until a consumer takes the tensor or the capsule is closed. */
    public boolean isUnused() {
        return state.get() == State.NEW;
    }

    /**
     * Gives the struct to a consumer outside of Java, who calls its deleter once.
     *
     * @return address of the struct
     * @throws CuFileException INVALID_VALUE if the capsule was used or closed
     */
    public long handOver() {
        synchronized (state) {
            State before = state.compareAndExchange(State.NEW, State.USED);
            if (before != State.NEW) {
                throw Refusals.invalid(before == State.USED
                        ? "the capsule was used already: a tensor has one consumer"
                        : "the capsule is closed");
            }
            cleanable.clean();
            return address;
        }
    }

    /**
     * Takes the tensor as memory of gds4j. If this fails, the capsule stays unused.
     *
     * @return the tensor; closing it calls the deleter
     * @throws CuFileException INVALID_VALUE if the capsule was used or closed, for an unknown major version, a type, shape or
     *         strides that gds4j does not know, or an address that another import holds; CUDA_MEMORY_TYPE_INVALID and
     *         DEVICE_NOT_FOUND as {@link DlPackDevice#kind}
     */
    public DlPackImport open() {
        synchronized (state) {
            if (!isUnused()) {
                handOver();
            }
            // A tensor that is refused stays with the capsule, whose close calls the deleter.
            DlPackImport imported = DlPackImport.of(version, address);
            handOver();
            return imported;
        }
    }

    /** Calls the deleter unless the tensor was taken. Idempotent. */
    @Override
    public void close() {
        cleanable.clean();
    }

    @Override
    public String toString() {
        return "DlPackCapsule[0x%x, %s, %s]".formatted(address, version, state.get());
    }
}
