package io.gds4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Name, default and allowed values of every key, and the rules between keys. */
class CuFileKeysTest {
    /** Names and defaults of the file of cuFile 1.15, and the range of each number. */
    @ParameterizedTest(name = "{0}")
    @CsvSource({
            "profile.cufile_stats, 0, 0, 3, 1",
            "execution.max_io_queue_depth, 128, 1, 256, 1",
            "execution.max_io_threads, 4, 0, 128, 1",
            "execution.min_io_threshold_size_kb, 8192, 4, 4294967295, 4",
            "execution.max_request_parallelism, 4, 0, 8, 1",
            "properties.max_direct_io_size_kb, 16384, 64, 16384, 64",
            "properties.max_device_cache_size_kb, 131072, 0, 18014398509481980, 4",
            "properties.per_buffer_cache_size_kb, 1024, 64, 16384, 64",
            "properties.max_device_pinned_mem_size_kb, 33554432, 64, 18014398509481980, 4",
            "properties.io_batchsize, 128, 1, 256, 1",
            "properties.max_batch_io_timeout_msecs, 5, 1, 1000, 1",
            "properties.poll_mode_max_size_kb, 4, 4, 18014398509481980, 4",
            "fs.lustre.posix_gds_min_kb, 0, 0, 18014398509481980, 4",
            "fs.beegfs.posix_gds_min_kb, 0, 0, 18014398509481980, 4",
            "fs.scatefs.posix_gds_min_kb, 0, 0, 18014398509481980, 4"
    })
    @SuppressWarnings("unchecked")
    void numberHasDefaultAndRange(String name, long defaultValue, long min, long max, long step) {
        ConfigKey<Long> key = (ConfigKey<Long>) CuFileKeys.named(name).orElseThrow();

        assertThat(key.defaultValue()).isEqualTo(defaultValue);
        assertThat(key.range()).contains(new ParameterRange(min, max));
        assertThat(key.accept(min)).contains(min);
        assertThat(key.accept(max / step * step)).isPresent();
        assertThat(key.accept(min - 1)).isEmpty();
        assertThat(key.accept(max + 1)).isEmpty();
        assertThat(key.accept(Long.MIN_VALUE)).isEmpty();
        assertThat(key.accept(Long.MAX_VALUE)).isEmpty();
        if (step > 1) {
            assertThat(key.accept(min + 1)).isEmpty();
        }
        assertThat(key.accept(min + step)).isPresent();
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
            "profile.nvtx, false",
            "execution.parallel_io, true",
            "properties.use_poll_mode, false",
            "properties.allow_compat_mode, true",
            "properties.force_compat_mode, false",
            "properties.allow_system_memory, true",
            "properties.force_odirect_mode, false",
            "properties.prefer_iouring, false",
            "properties.use_pci_p2pdma, false",
            "properties.gds_rdma_write_support, true",
            "properties.rdma_dynamic_routing, false",
            "fs.generic.posix_unaligned_writes, false",
            "fs.gpfs.gds_write_support, false",
            "fs.gpfs.gds_async_support, true",
            "fs.weka.rdma_write_support, false",
            "miscellaneous.api_check_aggressive, false",
            "miscellaneous.skip_topology_detection, false",
            "miscellaneous.stream_memops_bypass, false"
    })
    void switchHasDefault(String name, boolean defaultValue) {
        assertThat(CuFileKeys.named(name).orElseThrow().defaultValue()).isEqualTo(defaultValue);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = ';', value = {
            "logging.level; ERROR",
            "logging.dir; ''",
            "properties.io_priority; default",
            "properties.rdma_load_balancing_policy; RoundRobin",
            "properties.rdma_access_mask; 0x1f",
            "properties.rdma_dc_key; 0xffeeddcc",
            "properties.rdma_dynamic_routing_order; [GPU_MEM_NVLINKS, GPU_MEM, SYS_MEM, P2P]",
            "properties.posix_pool_slab_size_kb; [4, 1024, 16384]",
            "properties.posix_pool_slab_count; [128, 64, 64]",
            "properties.rdma_dev_addr_list; []",
            "denylist.drivers; []",
            "denylist.devices; []",
            "denylist.mounts; []",
            "denylist.filesystems; []",
            "denylist.fsids; []",
            "miscellaneous.rcu_library_used; ckit",
            "fs.lustre.mount_table; {}",
            "fs.beegfs.mount_table; {}",
            "fs.scatefs.mount_table; {}",
            "fs.nfs.mount_table; {}",
            "fs.gpfs.mount_table; {}",
            "fs.weka.mount_table; {}",
            "fs.lustre.rdma_dev_addr_list; []",
            "fs.beegfs.rdma_dev_addr_list; []",
            "fs.scatefs.rdma_dev_addr_list; []",
            "fs.nfs.rdma_dev_addr_list; []",
            "fs.gpfs.rdma_dev_addr_list; []",
            "fs.weka.rdma_dev_addr_list; []"
    })
    void textOrArrayHasDefault(String name, String defaultValue) {
        assertThat(CuFileKeys.named(name).orElseThrow().defaultValue()).hasToString(defaultValue);
    }

    @ParameterizedTest
    @CsvSource({
            "logging.max_file_size_mb, 1.18",
            "properties.rdma_multipath_enabled, 1.18",
            "properties.rdma_max_backup_devices, 1.18",
            "properties.rdma_io_retry_count, 1.18",
            "properties.rdma_io_retry_delay_ms, 1.18",
            "properties.rdma_failback_enabled, 1.18",
            "properties.rdma_failback_delay_ms, 1.18",
            "properties.rdma_health_check_interval_ms, 1.18",
            "properties.rdma_async_event_monitoring, 1.18",
            "properties.rdma_unhealthy_threshold, 1.18",
            "miscellaneous.enable_static_config, 1.20",
            "miscellaneous.static_config_filepath, 1.20",
            "fs.lustre.use_pci_p2pdma, 1.16",
            "fs.beegfs.use_pci_p2pdma, 1.16",
            "fs.scatefs.use_pci_p2pdma, 1.16",
            "fs.gpfs.use_pci_p2pdma, 1.16",
            "fs.panfs.use_pci_p2pdma, 1.19",
            "fs.panfs.mount_table, 1.19",
            "fs.panfs.rdma_dev_addr_list, 1.19",
            "CUFILE_VISIBLE_DEVICES, 1.17",
            "CUFILE_SKIP_BUFFER_VALIDITY_CHECK, 1.20",
            "block.raid1.use_pci_p2pdma, 1.19",
            "block.raid10.use_pci_p2pdma, 1.19",
            "properties.allow_rdma_token_reset, 1.19",
            "miscellaneous.rdma_token_reset_timeout_secs, 1.19",
            "properties.gpu_bounce_buffer_slab_config.slab_size_kb, 1.17",
            "properties.gpu_bounce_buffer_slab_config.slab_count, 1.17",
            "miscellaneous.enable_static_routing, 1.17",
            "miscellaneous.static_routing_filepath, 1.17",
            "block.nvme.use_pci_p2pdma, 1.16",
            "block.nvmeof.use_pci_p2pdma, 1.16",
            "block.raid.use_pci_p2pdma, 1.16",
            "fs.nfs.use_pci_p2pdma, 1.16",
            "fs.virtiofs.use_pci_p2pdma, 1.16",
            "properties.vanilla_posix_io_mode, 1.19",
            "properties.gds_fallback_io, 1.17",
            "properties.compat_odirect_unaligned_read_split, 1.19",
            "properties.compat_odirect_unaligned_read_split_min_size_kb, 1.19",
            "properties.rdma_transport_type, 1.19",
            "sparse.p2p_compat_enable, 1.19",
            "sparse.min_p2pdma_threshold_kb, 1.19"
    })
    void keyNamesItsVersion(String name, String since) {
        assertThat(CuFileKeys.named(name).orElseThrow().since()).isEqualTo(since);
    }

    static Stream<ConfigKey<?>> all() {
        return CuFileKeys.all().stream();
    }

    @ParameterizedTest
    @MethodSource("all")
    void everyKeyIsDescribedInOneLine(ConfigKey<?> key) {
        assertThat(key.description()).isNotBlank().doesNotContain("\n");
        assertThat(key.allowed()).isNotBlank().doesNotContain("\n");
        assertThat(key.name()).isEqualTo(key.toString());
        assertThat(CuFileKeys.named(key.name())).contains(key);
        assertThat(key.type().isInstance(key.defaultValue())).isTrue();
        boolean isSize = key.name().endsWith("_kb");
        assertThat(key.unit().equals("KiB")).isEqualTo(isSize);
    }

    @ParameterizedTest
    @MethodSource("all")
    void programCanSetEveryKeyToItsDefault(ConfigKey<?> key) {
        CuFileConfig config = setDefault(CuFileConfig.builder().withoutEnvironment(), key);

        assertThat(config.source(key)).isEqualTo(ConfigSource.API);
        assertThat(config.value(key).isDefaultValue()).isTrue();
    }

    private static <T> CuFileConfig setDefault(CuFileConfig.Builder builder, ConfigKey<T> key) {
        return builder.set(key, key.defaultValue()).build();
    }

    @Test
    void namesAreUnique() {
        assertThat(CuFileKeys.all().stream().map(ConfigKey::name)).doesNotHaveDuplicates();
        assertThat(CuFileKeys.named("properties.nothing")).isEmpty();
    }

    @Test
    void invalidValueOfProgramIsRefusedAtOnce() {
        CuFileConfigException e = catchThrowableOfType(
                CuFileConfigException.class,
                () -> CuFileConfig.builder().set(CuFileKeys.IO_BATCHSIZE, 257L));

        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(e.getMessage())
                .isEqualTo("cuFileDriverOpen: properties.io_batchsize is 257, allowed: an integer, 1 to 256"
                        + " (CU_FILE_INVALID_VALUE 5022, EINVAL: invalid argument)");
        assertThat(e.key()).contains("properties.io_batchsize");
        assertThat(e.path()).isEmpty();
    }

    @Test
    @SuppressWarnings("DataFlowIssue")
    void nullThrowsNullPointerException() {
        CuFileConfig.Builder builder = CuFileConfig.builder();

        assertThatThrownBy(() -> builder.set(CuFileKeys.IO_BATCHSIZE, null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("properties.io_batchsize");
    }

    @Test
    void laterChangeOfListHasNoEffect() {
        List<Long> sizes = new ArrayList<>(List.of(4L));
        CuFileConfig config = CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, sizes)
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(1L))
                .build();

        sizes.add(5L);

        assertThat(config.get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB)).containsExactly(4L);
    }

    static Stream<Arguments> parameters() {
        return Stream.of(
                Stream.of(SizeParameter.values()).map(p -> Arguments.of(p, Long.class)),
                Stream.of(BoolParameter.values()).map(p -> Arguments.of(p, Boolean.class)),
                Stream.of(StringParameter.values()).map(p -> Arguments.of(p, String.class)))
                .flatMap(s -> s);
    }

    @ParameterizedTest
    @MethodSource("parameters")
    void everyParameterHasKeyOfItsType(CuFileParameter<?> parameter, Class<?> type) {
        assertThat(parameter.key().parameter()).contains(parameter);
        assertThat(parameter.key().type()).isEqualTo(type);
        assertThat(parameter.cName()).isEqualTo("CUFILE_PARAM_" + parameter);
    }

    /** Answers of libcufile 1.15.1 on an H200. */
    @ParameterizedTest(name = "{0} {1}: {2} in {3}..{4}")
    @CsvSource({
            "1, EXECUTION_MAX_IO_QUEUE_DEPTH, 128, 1, 256",
            "2, EXECUTION_MAX_IO_THREADS, 4, 0, 128",
            "3, EXECUTION_MIN_IO_THRESHOLD_SIZE_KB, 8192, 4, 4294967295",
            "4, EXECUTION_MAX_REQUEST_PARALLELISM, 4, 0, 8",
            "5, PROPERTIES_MAX_DIRECT_IO_SIZE_KB, 16384, 64, 16384",
            "6, PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, 131072, 0, 268435456",
            "7, PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, 1024, 64, 16384",
            "8, PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB, 33554432, 64, 268435456",
            "9, PROPERTIES_IO_BATCHSIZE, 128, 1, 256",
            "10, POLLTHRESHOLD_SIZE_KB, 4, 4, 18014398509481980",
            "11, PROPERTIES_BATCH_IO_TIMEOUT_MS, 5, 1, 1000"
    })
    void sizeParametersMatchLibrary(
            int index, SizeParameter parameter, long current, long min, long max) {
        assertThat(parameter.index()).isEqualTo(index);
        assertThat(parameter.key().defaultValue()).isEqualTo(current);
        assertThat(parameter.range()).contains(new ParameterRange(min, max));
    }

    @Test
    void statisticsLevelHasNoRange() {
        assertThat(SizeParameter.PROFILE_STATS.index()).isZero();
        assertThat(SizeParameter.PROFILE_STATS.range()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
            "0, PROPERTIES_USE_POLL_MODE",
            "1, PROPERTIES_ALLOW_COMPAT_MODE",
            "2, FORCE_COMPAT_MODE",
            "3, FS_MISC_API_CHECK_AGGRESSIVE",
            "4, EXECUTION_PARALLEL_IO",
            "5, PROFILE_NVTX",
            "6, PROPERTIES_ALLOW_SYSTEM_MEMORY",
            "7, USE_PCIP2PDMA",
            "8, PREFER_IO_URING",
            "9, FORCE_ODIRECT_MODE",
            "10, SKIP_TOPOLOGY_DETECTION",
            "11, STREAM_MEMOPS_BYPASS",
            "12, PROPERTIES_POSIX_IO_MODE",
            "13, GDS_FALLBACK_IO"
    })
    void boolParametersMatchHeader(int index, BoolParameter parameter) {
        assertThat(parameter.index()).isEqualTo(index);
    }

    @ParameterizedTest
    @CsvSource({"0, LOGGING_LEVEL, ERROR", "1, ENV_LOGFILE_PATH, ''", "2, LOG_DIR, ''", "3, RDMA_TRANSPORT, DC_V1"})
    void stringParametersMatchLibrary(int index, StringParameter parameter, String current) {
        assertThat(parameter.index()).isEqualTo(index);
        assertThat(parameter.key().defaultValue()).isEqualTo(current);
    }

    @Test
    void slabArraysAreChecked() {
        assertThat(new SlabArray(List.of(4L, 16384L), List.of(128L, 64L)).totalBytes())
                .isEqualTo(128 * 4096L + 64 * (16L << 20));
        assertThat(CuFileConfig.defaults().posixPoolSlabs().totalBytes()).isEqualTo((128 * 4L + 64 * 17408L) << 10);
        assertThat(codeOf(() -> new SlabArray(List.of(4L), List.of(1L, 2L)))).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(codeOf(() -> new SlabArray(List.of(), List.of()))).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(codeOf(() -> new SlabArray(List.of(5L), List.of(1L)))).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(codeOf(() -> new SlabArray(List.of(4L), List.of(0L)))).isEqualTo(CuFileError.INVALID_VALUE);
    }

    private static CuFileError codeOf(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call).error();
    }

    static Stream<Arguments> brokenRules() {
        return Stream.of(
                Arguments.of(
                        "{\"properties\": {\n\"posix_pool_slab_size_kb\": [4, 8]}}",
                        "%s:2: properties.posix_pool_slab_size_kb is [4, 8] (%s:2),"
                                + " properties.posix_pool_slab_count is [128, 64, 64] (default),"
                                + " allowed: arrays of the same length"),
                Arguments.of(
                        "{\"properties\": {\"posix_pool_slab_size_kb\": [4, 8],\n\"posix_pool_slab_count\": [1]}}",
                        "%s:1: properties.posix_pool_slab_size_kb is [4, 8] (%s:1),"
                                + " properties.posix_pool_slab_count is [1] (%s:2),"
                                + " allowed: arrays of the same length"),
                Arguments.of(
                        "{\"properties\": {\"gpu_bounce_buffer_slab_config\": {\"slab_size_kb\": [1024]}}}",
                        "%s:1: properties.gpu_bounce_buffer_slab_config.slab_size_kb is [1024] (%s:1),"
                                + " properties.gpu_bounce_buffer_slab_config.slab_count is [] (default),"
                                + " allowed: arrays of the same length"),
                Arguments.of(
                        "{\"properties\": {\n\n\"max_direct_io_size_kb\": 512}}",
                        "%s:3: properties.max_direct_io_size_kb is 512 (%s:3),"
                                + " properties.per_buffer_cache_size_kb is 1024 (default),"
                                + " allowed: max_direct_io_size_kb at least per_buffer_cache_size_kb"),
                Arguments.of(
                        "{\"properties\": {\"io_batchsize\": 256}}",
                        "%s:1: properties.max_device_cache_size_kb is 131072 (default),"
                                + " properties.per_buffer_cache_size_kb is 1024 (default),"
                                + " properties.io_batchsize is 256 (%s:1), allowed: max_device_cache_size_kb"
                                + " at least per_buffer_cache_size_kb times io_batchsize = 262144"));
    }

    @ParameterizedTest
    @MethodSource("brokenRules")
    void brokenRuleNamesAllItsKeys(String text, String detail, @org.junit.jupiter.api.io.TempDir Path folder)
            throws java.io.IOException {
        Path file = java.nio.file.Files.writeString(folder.resolve("cufile.json"), text);

        CuFileConfigException e = catchThrowableOfType(
                CuFileConfigException.class,
                () -> CuFileConfig.load(Map.of("CUFILE_ENV_PATH_JSON", file.toString())));

        assertThat(e.detail()).isEqualTo(detail.replace("%s", file.toString()));
        assertThat(e.error()).isEqualTo(CuFileError.DRIVER_INVALID_PROPS);
        assertThat(e.path()).isEqualTo(Optional.of(file));
        assertThat(e.line()).isPositive();
    }

    @Test
    void ruleBrokenByProgramIsInvalidValue() {
        CuFileConfig.Builder builder =
                CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.IO_BATCHSIZE, 256L);

        CuFileConfigException e = catchThrowableOfType(CuFileConfigException.class, builder::build);

        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(e.detail()).endsWith("times io_batchsize = 262144");
        assertThat(builder.set(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB, 262144L)
                .build()
                .get(CuFileKeys.IO_BATCHSIZE))
                .isEqualTo(256);
    }
}
