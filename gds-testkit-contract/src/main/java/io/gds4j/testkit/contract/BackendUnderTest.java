package io.gds4j.testkit.contract;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.ChannelDescriptors;
import io.gds4j.testkit.RawDescriptors;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * What the contract suite must know about a backend: how to create it, where to create files, and its divergences.
 *
 * @since 0.1
 */
public interface BackendUnderTest {
    /** Creates a backend whose driver is closed. Called many times; several may be open at once. */
    CuFileBackend createBackend(CuFileConfig config);

    /** Existing directory for test files, on the file system to test. */
    Path directory();

    /** Configuration of most tests. */
    default CuFileConfig config() {
        return CuFileConfig.defaults();
    }

    /** Kinds of memory to test, which the machine must support. */
    default List<MemoryKind> kinds() {
        return List.of(MemoryKind.HOST);
    }

    /** Opens raw descriptors. */
    default RawDescriptors descriptors() {
        return new ChannelDescriptors();
    }

    /** Size of the pieces of a request, bytes. Tests use sizes around it. */
    default int pieceBytes() {
        return 1 << 20;
    }

    /** Whether to test a request of more than 2 GiB, which needs as much memory. */
    default boolean triesMoreThanTwoGibibytes() {
        return true;
    }

    /** Whether the backend supports stream-ordered I/O on streams of {@link #newStream}. */
    default boolean servesStreams() {
        return false;
    }

    /** Creates a stream for the backend: a host stream, unless the backend supports only CUDA streams. */
    default OrderedStream newStream() {
        return OrderedStream.onHost();
    }

    /** Known divergences of this backend from the contract. */
    default Set<Divergence> divergences() {
        return Set.of();
    }

    /**
     * C names of functions that this backend does not implement. Each must fail with IO_NOT_SUPPORTED and a message
     * that names it.
     */
    Set<String> unbuiltFunctions();
}
