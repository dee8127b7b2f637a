package io.gds4j.remote.contract;

import io.gds4j.source.SourcePath;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** What the contract of object stores must know about a store: a server on loopback, and paths of its objects. */
public interface StoreUnderTest extends AutoCloseable {
    /** What only some stores can do. */
    enum Ability {
        LIST, WRITE
    }

    Set<Ability> abilities();

    /** Port on loopback of the server that has the bytes of the objects. It speaks plain HTTP. */
    int port();

    /**
     * Makes or replaces an object, without the code under test.
     *
     * @param name names between slashes, of any characters
     */
    void put(String name, byte[] bytes) throws Exception;

    /**
     * Returns the path of an object. Its requests have parts of 64 KiB, 3 attempts, and pauses of a few milliseconds.
     *
     * @param port where the requests go in place of {@link #port}
     * @param stall time without progress after which a request fails
     */
    SourcePath path(String name, int port, Duration stall);

    /** Texts of credentials that every request has, and no message may have. */
    List<String> secrets();

    /** Bytes of an upload that this store sends in at least two parts. */
    default int largeBytes() {
        return 17 << 16;
    }

    /** What uploads left at the server besides objects. */
    default List<String> leftovers() {
        return List.of();
    }

    @Override
    void close();
}
