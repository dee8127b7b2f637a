package io.gds4j.libcufile.process;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.ffi.cufile.CuFileVersion;

/**
 * What differs between versions of libcufile and shows by no symbol: the one place with version numbers. docs/notes/libcufile.md
 * lists the faults and versions.
 */
public enum LibraryTrait {
    /** {@code profile.nvtx} is a parameter: reading it answers INVALID_VALUE later. */
    NVTX_PARAMETER(0, 1160),
    /** {@code execution.max_io_threads} may be more than 32. */
    MANY_THREADS(1170, Integer.MAX_VALUE),
    /** The parameters of {@code vanilla_posix_io_mode}, {@code gds_fallback_io} and {@code rdma_transport_type} exist. */
    MODE_PARAMETERS(1190, Integer.MAX_VALUE);

    private final int first;
    private final int last;

    LibraryTrait(int first, int last) {
        this.first = first;
        this.last = last;
    }

    /** Returns whether a version has the trait. */
    public boolean isOf(CuFileVersion version) {
        return version.number() >= first && version.number() <= last;
    }

    /** Returns whether a version has a parameter. gds4j keeps the values of the others itself. */
    public static boolean hasParameter(CuFileVersion version, CuFileParameter<?> parameter) {
        if (parameter == BoolParameter.PROFILE_NVTX) {
            return NVTX_PARAMETER.isOf(version);
        }
        boolean isMode =
                parameter == BoolParameter.PROPERTIES_POSIX_IO_MODE || parameter == BoolParameter.GDS_FALLBACK_IO
                        || parameter == StringParameter.RDMA_TRANSPORT;
        return !isMode || MODE_PARAMETERS.isOf(version);
    }
}
