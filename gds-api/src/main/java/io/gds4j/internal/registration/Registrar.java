package io.gds4j.internal.registration;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;

/** What a {@link RegistrationCache} registers whole allocations with. */
public interface Registrar {
    /**
     * Registers an allocation.
     *
     * @param whole the allocation, without its owner
     * @throws CuFileException if it is refused; the memory stays unregistered then
     */
    void register(MemoryRange whole);

    /**
     * Ends a registration.
     *
     * @param whole the same object as at {@link #register}
     * @throws CuFileException if that fails
     */
    void deregister(MemoryRange whole);
}
