package io.gds4j.internal.registration;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;

/** What the cache registers, with a backend; at once, so that a refusal for lack of room comes to it. */
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
