package io.gds4j.jcuda;

import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;

/**
 * The raw numbers behind JCuda's objects. Their getters are protected, as are copy constructors: a subclass may use both, so
 * no reflection is needed, on the class path or the module path. Nothing here loads JCuda's native libraries.
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

    /** An address, made of a base and what {@code withByteOffset} added. */
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

    /** 0 for a pointer to a Java array or buffer, which has no address of its own. */
    static long hostAddress(Pointer pointer) {
        Address address = new Address(pointer);
        return address.base() == 0 ? 0 : address.value();
    }

    /** JCuda makes no device pointer of a number; its base is 0 and its offset the address. */
    static CUdeviceptr devicePointer(long address) {
        return new CUdeviceptr().withByteOffset(address);
    }

    static Pointer hostPointer(long address) {
        return new Address(address);
    }
}
