package io.gds4j.memory;

/**
 * Memory registered with an open driver: {@code io.gds4j.CuFileBuffer} and {@code BufferWindow}. Not sealed only because these
 * classes are in a higher package: a driver refuses other implementations with
 * {@link io.gds4j.error.CuFileError#MEMORY_NOT_REGISTERED}.
 *
 * @since 0.1
 */
public non-sealed interface RegisteredMemory extends IoMemory {
    /** {@return true until the registration is closed} */
    boolean isOpen();
}
