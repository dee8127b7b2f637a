package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.contract.BackendContractSuite;
import java.nio.file.Path;
import java.util.Set;

/** The settings that all bindings of the contract to this backend share. */
abstract class CompatUnderTest extends BackendContractSuite {
    private final RawDescriptors descriptors = new NativeDescriptors();

    @Override
    public CuFileConfig config() {
        return CuFileConfig.defaults();
    }

    @Override
    public Path directory() {
        return TestFolder.onDisk();
    }

    @Override
    public RawDescriptors descriptors() {
        return descriptors;
    }

    @Override
    public int pieceBytes() {
        return (int) BouncePool.PIECE_SIZE;
    }

    @Override
    public boolean servesStreams() {
        return true;
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return Set.of();
    }
}
