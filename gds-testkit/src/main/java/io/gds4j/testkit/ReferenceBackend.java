package io.gds4j.testkit;

import io.gds4j.internal.plain.PlainBackend;
import io.gds4j.spi.ForwardingBackend;

/**
 * The simplest backend that meets the contract: host memory, sequential transfers, plain Java without native access. It
 * serves tests that need any backend, and shows what the contract suite requires.
 *
 * <p>
 * Accesses memory through segments and refuses ranges of raw addresses. Accepts O_DIRECT, but ignores it.
 *
 * @since 0.1
 */
public final class ReferenceBackend extends ForwardingBackend {
    /** Creates a backend whose driver is closed. */
    public ReferenceBackend() {
        super(new PlainBackend("reference"));
    }
}
