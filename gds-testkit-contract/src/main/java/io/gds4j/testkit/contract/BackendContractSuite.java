package io.gds4j.testkit.contract;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;

/**
 * All groups of the contract, for one backend.
 *
 * <pre>{@code
 * class MyBackendContractTest extends BackendContractSuite {
 *     public CuFileBackend createBackend(CuFileConfig config) { return new MyBackend(config); }
 *     public Path directory() { return Path.of("target"); }
 *     public Set<String> unbuiltFunctions() { return Set.of("cuFileReadv", "cuFileWritev"); }
 * }
 * }</pre>
 *
 * @since 0.1
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class BackendContractSuite implements BackendUnderTest {
    /** For subclasses. */
    protected BackendContractSuite() {
    }

    @Nested
    class Read extends ReadContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Scatter extends ScatterContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Vector extends VectorContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Later extends LaterContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Write extends WriteContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class DataMatrix extends DataMatrixContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Driver extends DriverContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Buffer extends BufferContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Window extends WindowContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Cache extends CacheContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Handle extends HandleContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Misuse extends MisuseContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Threads extends ThreadsContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Lifecycle extends LifecycleContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Parameter extends ParameterContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Statistics extends StatisticsContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Batch extends BatchContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Streams extends StreamContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Async extends AsyncContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }

    @Nested
    class Unbuilt extends UnbuiltContract {
        @Override
        protected BackendUnderTest backend() {
            return BackendContractSuite.this;
        }
    }
}
