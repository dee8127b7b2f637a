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
 * What the contract suite has to know of a backend: how to make it, where to put files, and where it differs.
 *
 * @since 0.1
 */
public interface BackendUnderTest {
    /** A new backend whose driver is closed. Called many times; several may be open at once. */
    CuFileBackend createBackend(CuFileConfig config);

    /** An existing directory for test files, on the file system to be tested. */
    Path directory();

    /** Configuration of most tests. */
    default CuFileConfig config() {
        return CuFileConfig.defaults();
    }

    /** Kinds of memory to be tested; the machine must have them. */
    default List<MemoryKind> kinds() {
        return List.of(MemoryKind.HOST);
    }

    /** How raw descriptors are opened. */
    default RawDescriptors descriptors() {
        return new ChannelDescriptors();
    }

    /** Bytes of the pieces into which the backend cuts requests; sizes around it are tested. */
    default int pieceBytes() {
        return 1 << 20;
    }

    /** Whether a request above 2 GiB is tried: it takes as much memory. */
    default boolean triesMoreThanTwoGibibytes() {
        return true;
    }

    /** Whether there is stream-ordered I/O, on streams of {@link #newStream}. */
    default boolean servesStreams() {
        return false;
    }

    /** A stream as the backend takes them: one of the host, unless it knows those of GPUs alone. */
    default OrderedStream newStream() {
        return OrderedStream.onHost();
    }

    /** Differences from the contract that this backend has to keep. */
    default Set<Divergence> divergences() {
        return Set.of();
    }

    /**
     * C names of functions that this backend does not have yet: each must fail with IO_NOT_SUPPORTED and a text that says
     * so.
     */
    Set<String> unbuiltFunctions();
}
