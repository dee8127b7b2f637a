package io.gds4j.jcuda;

import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;

/**
 * Reads the raw numbers of JCuda's objects. Their getters and copy constructors are protected: a subclass may use both, so that no
 * reflection is needed, on the class path or the module path. Does not load JCuda's native libraries.
 */
final class JCudaPointers {
    /** A handle: stream, event, context. */
    private static final class Handle extends NativePointerObject {
        Handle(NativePointerObject other) {
            super(other);
        }

        long value() {
            return getNativePointer();
        }
    }

    /** An address: a base and the offset of {@code withByteOffset}. */
    private static final class Address extends Pointer {
        Address(Pointer other) {
            super(other);
        }

        Address(long address) {
            super(address);
        }

        long base() {
            return getNativePointer();
        }

        long value() {
            return getNativePointer() + getByteOffset();
        }
    }

    private JCudaPointers() {
    }

    static long handle(NativePointerObject object) {
        return new Handle(object).value();
    }

    static long address(CUdeviceptr pointer) {
        return new Address(pointer).value();
    }

    /** Returns 0 for a pointer to a Java array or buffer, which has no address of its own. */
    static long hostAddress(Pointer pointer) {
        Address address = new Address(pointer);
        return address.base() == 0 ? 0 : address.value();
    }

    /** Returns a pointer with base 0 and the address as offset: JCuda makes no device pointer of a number. */
    static CUdeviceptr devicePointer(long address) {
        return new CUdeviceptr().withByteOffset(address);
    }

    static Pointer hostPointer(long address) {
        return new Address(address);
    }
}
