package io.gds4j.interop.dlpack;

import io.gds4j.ffi.dlpack.ManagedTensors.StructKind;

/**
 * The struct by which a tensor is handed over, and the names of the Python capsule that holds it.
 *
 * @since 0.1
 */
public enum DlPackVersion {
    /** {@code DLManagedTensor}, before DLPack 1.0. It has no flags, so that it cannot describe read-only tensors. */
    UNVERSIONED(StructKind.UNVERSIONED, "dltensor"),
    /** {@code DLManagedTensorVersioned}, DLPack 1.x. */
    VERSIONED(StructKind.VERSIONED, "dltensor_versioned");

    private final StructKind kind;
    private final String capsule;

    DlPackVersion(StructKind kind, String capsule) {
        this.kind = kind;
        this.capsule = capsule;
    }

    /**
     * Returns the struct for a consumer, which passes its newest version as {@code max_version} of {@code __dlpack__}.
     *
     * @param major major version that the consumer passes; 0 for a consumer that passes none
     * @return VERSIONED for 1 and more, else UNVERSIONED
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for a negative version
     */
    public static DlPackVersion forConsumer(int major) {
        if (major < 0) {
            throw Refusals.invalid("the consumer's major version is negative: " + major);
        }
        return major == 0 ? UNVERSIONED : VERSIONED;
    }

    /** Returns the name of a Python capsule that no consumer has used. */
    public String capsuleName() {
        return capsule;
    }

    /** Returns the name that a consumer gives the Python capsule when it takes the tensor. */
    public String usedCapsuleName() {
        return "used_" + capsule;
    }

    StructKind kind() {
        return kind;
    }
}
