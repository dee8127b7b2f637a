package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.ffi.CallState;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.StructLayout;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks sizes and offsets against those of a C compiler for the headers of cuFile 1.15.1 and 1.20.0 on LP64. */
class StructLayoutsTest {
    private static final StatsLevel3 FIRST = StatsLevel3.of(new CuFileVersion(1180));
    private static final StatsLevel3 NEWEST = StatsLevel3.of(new CuFileVersion(1190));

    static Stream<Arguments> sizes() {
        return Stream.of(
                arguments("CUfileError_t", CuFileResults.STATUS, 8),
                arguments("CUfileDescr_t", FileDescr.LAYOUT, 24),
                arguments("CUfileDrvProps_t", DrvProps.LAYOUT, 56),
                arguments("CUfileIOParams_t", IoParams.LAYOUT, 64),
                arguments("CUfileIOEvents_t", IoEvents.LAYOUT, 24),
                arguments("CUfileIOVec_t", IoVec.LAYOUT, 16),
                arguments("struct timespec", Timespec.LAYOUT, 16),
                arguments("CUfileOpCounter_t", StatsLevel1.COUNTER, 16),
                arguments("CUfileStatsLevel1_t of 1.15", FIRST.detailed().basic().layout(), 512),
                arguments("CUfileStatsLevel2_t of 1.15", FIRST.detailed().layout(), 1024),
                arguments("CUfileStatsLevel3_t of 1.15", FIRST.layout(), 5000),
                arguments("CUfileStatsLevel1_t of 1.19", NEWEST.detailed().basic().layout(), 624),
                arguments("CUfileStatsLevel2_t of 1.19", NEWEST.detailed().layout(), 1136),
                arguments("CUfileStatsLevel3_t of 1.19", NEWEST.layout(), 5112),
                arguments("CUfilePerGpuStats_t", PerGpuStats.LAYOUT, 248));
    }

    @ParameterizedTest(name = "{0} has {2} bytes")
    @MethodSource("sizes")
    void structureHasItsSize(String name, MemoryLayout layout, long size) {
        assertThat(layout.byteSize()).isEqualTo(size);
    }

    static Stream<Arguments> offsets() {
        return Stream.of(
                row(CuFileResults.STATUS, "err", 0),
                row(CuFileResults.STATUS, "cu_err", 4),
                row(FileDescr.LAYOUT, "type", 0),
                row(FileDescr.LAYOUT, "handle", 8),
                row(FileDescr.LAYOUT, "fs_ops", 16),
                row(IoParams.LAYOUT, "mode", 0),
                row(IoParams.LAYOUT, "devPtr_base", 8),
                row(IoParams.LAYOUT, "file_offset", 16),
                row(IoParams.LAYOUT, "devPtr_offset", 24),
                row(IoParams.LAYOUT, "size", 32),
                row(IoParams.LAYOUT, "fh", 40),
                row(IoParams.LAYOUT, "opcode", 48),
                row(IoParams.LAYOUT, "cookie", 56),
                row(IoEvents.LAYOUT, "cookie", 0),
                row(IoEvents.LAYOUT, "status", 8),
                row(IoEvents.LAYOUT, "ret", 16),
                row(IoVec.LAYOUT, "base", 0),
                row(IoVec.LAYOUT, "len", 8),
                row(DrvProps.LAYOUT, "fflags", 32),
                row(DrvProps.LAYOUT, "max_device_cache_size", 36),
                row(DrvProps.LAYOUT, "per_buffer_cache_size", 40),
                row(DrvProps.LAYOUT, "max_device_pinned_mem_size", 44),
                row(DrvProps.LAYOUT, "max_batch_io_size", 48),
                row(DrvProps.LAYOUT, "max_batch_io_timeout_msecs", 52),
                row(NEWEST.detailed().basic().layout(), "read_ops", 0),
                row(NEWEST.detailed().basic().layout(), "buf_deregister_ops", 80),
                row(NEWEST.detailed().basic().layout(), "read_bytes", 96),
                row(NEWEST.detailed().basic().layout(), "write_bytes", 104),
                row(NEWEST.detailed().basic().layout(), "write_lat_sum_us", 168),
                row(NEWEST.detailed().basic().layout(), "batch_submit_ops", 176),
                row(NEWEST.detailed().basic().layout(), "batch_total_submit_ops", 400),
                row(NEWEST.detailed().basic().layout(), "batch_read_bytes", 416),
                row(NEWEST.detailed().basic().layout(), "last_batch_write_bytes", 504),
                row(NEWEST.detailed().basic().layout(), "readv_ops", 512),
                row(NEWEST.detailed().basic().layout(), "readv_bytes", 544),
                row(NEWEST.detailed().basic().layout(), "writev_lat_sum_us", 616),
                row(FIRST.detailed().layout(), "read_size_kb_hist", 512),
                row(FIRST.detailed().layout(), "write_size_kb_hist", 768),
                row(NEWEST.detailed().layout(), "read_size_kb_hist", 624),
                row(NEWEST.detailed().layout(), "write_size_kb_hist", 880),
                row(PerGpuStats.LAYOUT, "uuid", 0),
                row(PerGpuStats.LAYOUT, "read_bytes", 16),
                row(PerGpuStats.LAYOUT, "writes_bytes", 120),
                row(PerGpuStats.LAYOUT, "n_mmap", 208),
                row(PerGpuStats.LAYOUT, "reg_bytes", 240),
                row(FIRST.layout(), "num_gpus", 1024),
                row(FIRST.layout(), "per_gpu_stats", 1032),
                row(NEWEST.layout(), "num_gpus", 1136),
                row(NEWEST.layout(), "per_gpu_stats", 1144));
    }

    private static Arguments row(StructLayout layout, String field, long offset) {
        return arguments(field, layout, offset);
    }

    @ParameterizedTest(name = "{0} stands at {2}")
    @MethodSource("offsets")
    void fieldHasItsOffset(String field, StructLayout layout, long offset) {
        assertThat(layout.byteOffset(PathElement.groupElement(field))).isEqualTo(offset);
    }

    @Test
    void propertiesStartWithTheVersionOfNvidiaFs() {
        PathElement nvfs = PathElement.groupElement("nvfs");
        assertThat(DrvProps.LAYOUT.byteOffset(nvfs, PathElement.groupElement("major_version"))).isZero();
        assertThat(DrvProps.LAYOUT.byteOffset(nvfs, PathElement.groupElement("minor_version"))).isEqualTo(4);
        assertThat(DrvProps.LAYOUT.byteOffset(nvfs, PathElement.groupElement("poll_thresh_size"))).isEqualTo(8);
        assertThat(DrvProps.LAYOUT.byteOffset(nvfs, PathElement.groupElement("max_direct_io_size"))).isEqualTo(16);
        assertThat(DrvProps.LAYOUT.byteOffset(nvfs, PathElement.groupElement("dstatusflags"))).isEqualTo(24);
        assertThat(DrvProps.LAYOUT.byteOffset(nvfs, PathElement.groupElement("dcontrolflags"))).isEqualTo(28);
    }

    @Test
    void outParametersFitTheMemoryOfAThread() {
        assertThat(DrvProps.LAYOUT.byteSize()).isLessThanOrEqualTo(CallState.SCRATCH_BYTES);
        assertThat(Long.BYTES + FileDescr.LAYOUT.byteSize()).isLessThanOrEqualTo(CallState.SCRATCH_BYTES);
        assertThat(NEWEST.layout().byteSize()).isLessThan(StatsLevel3.BUFFER_BYTES);
    }
}
