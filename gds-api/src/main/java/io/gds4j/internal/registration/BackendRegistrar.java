package io.gds4j.internal.registration;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;

/** Registers with a backend, without delay, so that the cache sees a refusal for lack of room. */
record BackendRegistrar(CuFileBackend backend) implements RegistrationCache.Registrar {
    @Override
    public void register(MemoryRange range) {
        backend.bufRegisterNow(range, 0);
    }

    @Override
    public void deregister(MemoryRange range) {
        backend.bufDeregister(range);
    }
}
