package io.gds4j.tools.guest;

import io.gds4j.config.CuFileConfig;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.testkit.ChannelDescriptors;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.contract.BackendUnderTest;
import io.gds4j.testkit.contract.BatchContract;
import io.gds4j.testkit.contract.HandleContract;
import io.gds4j.testkit.contract.ReadContract;
import io.gds4j.testkit.contract.WriteContract;
import java.nio.file.Path;
import java.util.ServiceLoader;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;

/** The groups of the contract that a file system can break, on gds4j's own engine. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class FileContract implements BackendUnderTest {
    private final CuFileBackendProvider provider = ServiceLoader.load(CuFileBackendProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(found -> found.name().equals("compat"))
            .findFirst()
            .orElseThrow();
    private final RawDescriptors descriptors = new ChannelDescriptors();
    private Path point = Path.of("/");

    /** Mounts the file system, and returns where. */
    abstract Path mounted();

    @BeforeAll
    void mount() {
        point = mounted();
    }

    @AfterAll
    void unmount() {
        Guest.unmount(point);
    }

    @Override
    public Path directory() {
        return point;
    }

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return provider.create(config);
    }

    @Override
    public RawDescriptors descriptors() {
        return descriptors;
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return Set.of();
    }

    @Nested
    class Read extends ReadContract {
        @Override
        protected BackendUnderTest backend() {
            return FileContract.this;
        }
    }

    @Nested
    class Write extends WriteContract {
        @Override
        protected BackendUnderTest backend() {
            return FileContract.this;
        }
    }

    @Nested
    class Handle extends HandleContract {
        @Override
        protected BackendUnderTest backend() {
            return FileContract.this;
        }
    }

    @Nested
    class Batch extends BatchContract {
        @Override
        protected BackendUnderTest backend() {
            return FileContract.this;
        }
    }
}
