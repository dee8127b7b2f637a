package io.gds4j.config;

import static io.gds4j.config.Constraint.hex32;
import static io.gds4j.config.Constraint.ipv4List;
import static io.gds4j.config.Constraint.names;
import static io.gds4j.config.Constraint.numberOr;
import static io.gds4j.config.Constraint.numbers;
import static io.gds4j.config.Constraint.oneOf;
import static io.gds4j.config.Constraint.someOf;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The keys of cufile.json: those of cuFile 1.15, documented or not, those of later versions, and variables without a key in the
 * file. {@link ConfigKey#description()}, {@link ConfigKey#unit()}, {@link ConfigKey#allowed()} and
 * {@link ConfigKey#defaultValue()} describe a key. {@link DefaultConfigFile#text()} and {@code gds check --print-config} list
 * all.
 *
 * @since 0.1
 */
public final class CuFileKeys {
    /** Largest size in KiB whose bytes fit in an unsigned 64-bit number, rounded down to a multiple of 4. */
    static final long MAX_KB = 18014398509481980L;

    private static final String SWITCH_TEXT = "true, false, 1 or 0";
    private static final Function<String, Optional<Boolean>> SWITCH = ValueType::parseSwitch;
    private static final Function<String, Optional<Long>> NUMBER = ValueType::parseNumber;
    private static final Function<String, Optional<String>> TEXT = Optional::of;
    // Limits of gds4j, far above any sensible value: the size of all slabs in bytes must fit in a long.
    private static final long MAX_SLAB_KB = 16L << 20;
    private static final long MAX_SLAB_COUNT = 1L << 20;
    private static final int MAX_SLAB_CLASSES = 16;

    private static final KeyCatalogue KEY = new KeyCatalogue();

    // ---- logging

    /**
     * {@code logging.dir}: directory of cufile.log; empty: libcufile writes to the current directory, gds4j to
     * System.Logger only.
     * Allowed: a string, the path of a file or directory. Default: {@code ""}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<String> LOGGING_DIR = KEY.text("logging.dir", "").allow(Constraint.path())
            .parameter(StringParameter.LOG_DIR).compat()
            .engine()
            .about("directory of cufile.log; empty: libcufile writes to the current directory, gds4j to System.Logger only");
    /**
     * {@code logging.level}: log level; DEBUG and TRACE make libcufile very slow.
     * Allowed: one of "NOTICE", "ERROR", "WARN", "INFO", "DEBUG", "TRACE". Default: {@code "ERROR"}. Environment:
     * {@code CUFILE_LOGGING_LEVEL}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<String> LOGGING_LEVEL =
            KEY.text("logging.level", "ERROR").allow(oneOf("NOTICE", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"))
                    .variable("CUFILE_LOGGING_LEVEL", TEXT, "a text").parameter(StringParameter.LOGGING_LEVEL)
                    .compat().engine().about("log level; DEBUG and TRACE make libcufile very slow");
    /**
     * {@code logging.max_file_size_mb}: largest size of cufile.log; -1: no limit. Always 32 before 1.18.
     * Allowed: an integer, -1 or 1 to 1099511627776. Default: {@code 32}. Unit: MiB. Environment: {@code
     * CUFILE_LOGFILE_MAX_SIZE_MB}. Since cuFile 1.18. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> LOGGING_MAX_FILE_SIZE_MB =
            KEY.number("logging.max_file_size_mb", 32).allow(numberOr(-1, 1, 1L << 40)).unit("MiB")
                    .variable("CUFILE_LOGFILE_MAX_SIZE_MB", NUMBER, "a decimal number").since("1.18")
                    .compat().engine().about("largest size of cufile.log; -1: no limit. Always 32 before 1.18");

    // ---- profile

    /**
     * {@code profile.nvtx}: mark calls for Nsight; from 1.17 on also whenever a tool attaches.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_NVTX}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> PROFILE_NVTX = KEY.flag("profile.nvtx", false)
            .variable("CUFILE_NVTX", SWITCH, SWITCH_TEXT).parameter(BoolParameter.PROFILE_NVTX).compat()
            .about("mark calls for Nsight; from 1.17 on also whenever a tool attaches");
    /**
     * {@code profile.cufile_stats}: statistics: 0 none, 1 calls and bytes, 2 also histograms, 3 also counters of each
     * GPU.
     * Allowed: an integer, 0 to 3. Default: {@code 0}. Environment: {@code CUFILE_STATS_LEVEL}. Used by gds4j's engine
     * and libcufile.
     */
    public static final ConfigKey<Long> PROFILE_CUFILE_STATS =
            KEY.number("profile.cufile_stats", 0, 0, 3, 1).variable("CUFILE_STATS_LEVEL", NUMBER, "a decimal number")
                    .parameter(SizeParameter.PROFILE_STATS).compat()
                    .engine()
                    .about("statistics: 0 none, 1 calls and bytes, 2 also histograms, 3 also counters of each GPU");

    // ---- execution

    /**
     * {@code execution.max_io_queue_depth}: largest number of pieces that wait for the worker threads of one GPU.
     * Allowed: an integer, 1 to 256. Default: {@code 128}. Used by libcufile.
     */
    public static final ConfigKey<Long> MAX_IO_QUEUE_DEPTH =
            KEY.number("execution.max_io_queue_depth", 128, 1, 256, 1)
                    .parameter(SizeParameter.EXECUTION_MAX_IO_QUEUE_DEPTH)
                    .compat().about("largest number of pieces that wait for the worker threads of one GPU");
    /**
     * {@code execution.max_io_threads}: worker threads of one GPU; 0 switches parallel and stream-ordered I/O off.
     * libcufile before 1.17 refuses more than 32.
     * Allowed: an integer, 0 to 128. Default: {@code 4}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> MAX_IO_THREADS =
            KEY.number("execution.max_io_threads", 4, 0, 128, 1).parameter(SizeParameter.EXECUTION_MAX_IO_THREADS)
                    .compat()
                    .engine()
                    .about("worker threads of one GPU; 0 switches parallel and stream-ordered I/O off. libcufile before 1.17"
                            + " refuses more than 32");
    /**
     * {@code execution.parallel_io}: cut large requests into pieces that run in parallel; stream-ordered I/O needs it.
     * Allowed: true or false. Default: {@code true}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Boolean> PARALLEL_IO =
            KEY.flag("execution.parallel_io", true).parameter(BoolParameter.EXECUTION_PARALLEL_IO).compat()
                    .engine().about("cut large requests into pieces that run in parallel; stream-ordered I/O needs it");
    /**
     * {@code execution.min_io_threshold_size_kb}: smallest request to cut into pieces.
     * Allowed: an integer, 4 to 4294967295, a multiple of 4. Default: {@code 8192}. Unit: KiB. Used by gds4j's engine
     * and libcufile.
     */
    public static final ConfigKey<Long> MIN_IO_THRESHOLD_SIZE_KB =
            KEY.number("execution.min_io_threshold_size_kb", 8192, 4, 4294967295L, 4).unit("KiB")
                    .parameter(SizeParameter.EXECUTION_MIN_IO_THRESHOLD_SIZE_KB).compat()
                    .engine().about("smallest request to cut into pieces");
    /**
     * {@code execution.max_request_parallelism}: largest number of pieces of one request; 0 or 1: requests are not cut.
     * Allowed: an integer, 0 to 8. Default: {@code 4}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> MAX_REQUEST_PARALLELISM =
            KEY.number("execution.max_request_parallelism", 4, 0, 8, 1)
                    .parameter(SizeParameter.EXECUTION_MAX_REQUEST_PARALLELISM).compat()
                    .engine().about("largest number of pieces of one request; 0 or 1: requests are not cut");

    // ---- properties: the data path

    /**
     * {@code properties.max_direct_io_size_kb}: largest size of one request to the kernel; at least
     * per_buffer_cache_size_kb.
     * Allowed: an integer, 64 to 16384, a multiple of 64. Default: {@code 16384}. Unit: KiB. Used by gds4j's engine and
     * libcufile.
     */
    public static final ConfigKey<Long> MAX_DIRECT_IO_SIZE_KB =
            KEY.number("properties.max_direct_io_size_kb", 16384, 64, 16384, 64).unit("KiB")
                    .parameter(SizeParameter.PROPERTIES_MAX_DIRECT_IO_SIZE_KB).compat()
                    .engine().about("largest size of one request to the kernel; at least per_buffer_cache_size_kb");
    /**
     * {@code properties.max_device_cache_size_kb}: GPU memory for bounce buffers; at least io_batchsize times
     * per_buffer_cache_size_kb.
     * Allowed: an integer, 0 to 18014398509481980, a multiple of 4. Default: {@code 131072}. Unit: KiB. Environment:
     * {@code CUFILE_MAX_DEVICE_CACHE_SIZE}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> MAX_DEVICE_CACHE_SIZE_KB =
            KEY.number("properties.max_device_cache_size_kb", 131072, 0, MAX_KB, 4).unit("KiB")
                    .variable("CUFILE_MAX_DEVICE_CACHE_SIZE", NUMBER, "a decimal number")
                    .parameter(SizeParameter.PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB)
                    .engine()
                    .about("GPU memory for bounce buffers; at least io_batchsize times per_buffer_cache_size_kb");
    /**
     * {@code properties.per_buffer_cache_size_kb}: size of one GPU bounce buffer.
     * Allowed: an integer, 64 to 16384, a multiple of 64. Default: {@code 1024}. Unit: KiB. Environment: {@code
     * CUFILE_PER_BUFFER_CACHE_SIZE}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> PER_BUFFER_CACHE_SIZE_KB =
            KEY.number("properties.per_buffer_cache_size_kb", 1024, 64, 16384, 64).unit("KiB")
                    .variable("CUFILE_PER_BUFFER_CACHE_SIZE", NUMBER, "a decimal number")
                    .parameter(SizeParameter.PROPERTIES_PER_BUFFER_CACHE_SIZE_KB)
                    .engine().about("size of one GPU bounce buffer");
    /**
     * {@code properties.max_device_pinned_mem_size_kb}: GPU memory that may be registered, bounce buffers included.
     * Allowed: an integer, 64 to 18014398509481980, a multiple of 4. Default: {@code 33554432}. Unit: KiB. Used by
     * gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> MAX_DEVICE_PINNED_MEM_SIZE_KB =
            KEY.number("properties.max_device_pinned_mem_size_kb", 33554432, 64, MAX_KB, 4).unit("KiB")
                    .parameter(SizeParameter.PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB)
                    .compat().engine().about("GPU memory that may be registered, bounce buffers included");
    /**
     * {@code properties.posix_pool_slab_size_kb}: sizes of the host bounce-buffer slabs of compat mode.
     * Allowed: an array of 1 to 16, each an integer, 4 to 16777216, a multiple of 4. Default: {@code [4, 1024, 16384]}.
     * Unit: KiB. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<List<Long>> POSIX_POOL_SLAB_SIZE_KB =
            KEY.longs("properties.posix_pool_slab_size_kb", 4L, 1024L, 16384L)
                    .allow(numbers(1, MAX_SLAB_CLASSES, 4, MAX_SLAB_KB, 4)).unit("KiB").compat()
                    .engine().about("sizes of the host bounce-buffer slabs of compat mode");
    /**
     * {@code properties.posix_pool_slab_count}: number of slabs of each size; as many entries as
     * posix_pool_slab_size_kb.
     * Allowed: an array of 1 to 16, each an integer, 1 to 1048576. Default: {@code [128, 64, 64]}. Used by gds4j's
     * engine and libcufile.
     */
    public static final ConfigKey<List<Long>> POSIX_POOL_SLAB_COUNT =
            KEY.longs("properties.posix_pool_slab_count", 128L, 64L, 64L)
                    .allow(numbers(1, MAX_SLAB_CLASSES, 1, MAX_SLAB_COUNT, 1)).compat()
                    .engine().about("number of slabs of each size; as many entries as posix_pool_slab_size_kb");
    /**
     * {@code properties.io_batchsize}: largest number of entries of one batch.
     * Allowed: an integer, 1 to 256. Default: {@code 128}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> IO_BATCHSIZE = KEY.number("properties.io_batchsize", 128, 1, 256, 1)
            .parameter(SizeParameter.PROPERTIES_IO_BATCHSIZE).compat().engine()
            .about("largest number of entries of one batch");
    /**
     * {@code properties.max_batch_io_timeout_msecs}: longest single sleep while waiting for a batch.
     * Allowed: an integer, 1 to 1000. Default: {@code 5}. Unit: ms. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Long> MAX_BATCH_IO_TIMEOUT_MSECS =
            KEY.number("properties.max_batch_io_timeout_msecs", 5, 1, 1000, 1).unit("ms")
                    .parameter(SizeParameter.PROPERTIES_BATCH_IO_TIMEOUT_MS).compat()
                    .engine().about("longest single sleep while waiting for a batch");
    /**
     * {@code properties.use_poll_mode}: poll nvidia-fs for the completion of small requests.
     * Allowed: true or false. Default: {@code false}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> USE_POLL_MODE =
            KEY.flag("properties.use_poll_mode", false).parameter(BoolParameter.PROPERTIES_USE_POLL_MODE)
                    .about("poll nvidia-fs for the completion of small requests");
    /**
     * {@code properties.poll_mode_max_size_kb}: largest request to poll for.
     * Allowed: an integer, 4 to 18014398509481980, a multiple of 4. Default: {@code 4}. Unit: KiB. Used by gds4j's
     * engine and libcufile.
     */
    public static final ConfigKey<Long> POLL_MODE_MAX_SIZE_KB =
            KEY.number("properties.poll_mode_max_size_kb", 4, 4, MAX_KB, 4).unit("KiB")
                    .parameter(SizeParameter.POLLTHRESHOLD_SIZE_KB).engine().about("largest request to poll for");
    /**
     * {@code properties.allow_compat_mode}: use POSIX I/O for requests that GPUDirect Storage cannot serve.
     * Allowed: true or false. Default: {@code true}. Environment: {@code CUFILE_ALLOW_COMPAT_MODE}. Used by gds4j's
     * engine and libcufile.
     */
    public static final ConfigKey<Boolean> ALLOW_COMPAT_MODE = KEY.flag("properties.allow_compat_mode", true)
            .variable("CUFILE_ALLOW_COMPAT_MODE", SWITCH, SWITCH_TEXT)
            .parameter(BoolParameter.PROPERTIES_ALLOW_COMPAT_MODE).compat()
            .engine().about("use POSIX I/O for requests that GPUDirect Storage cannot serve");
    /**
     * {@code properties.force_compat_mode}: use POSIX I/O for all requests; wins over allow_compat_mode.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_FORCE_COMPAT_MODE}. Used by gds4j's
     * engine and libcufile.
     */
    public static final ConfigKey<Boolean> FORCE_COMPAT_MODE = KEY.flag("properties.force_compat_mode", false)
            .variable("CUFILE_FORCE_COMPAT_MODE", SWITCH, SWITCH_TEXT)
            .parameter(BoolParameter.FORCE_COMPAT_MODE).compat()
            .engine().about("use POSIX I/O for all requests; wins over allow_compat_mode");
    /**
     * {@code properties.allow_system_memory}: allow host memory as source and target of I/O.
     * Allowed: true or false. Default: {@code true}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Boolean> ALLOW_SYSTEM_MEMORY =
            KEY.flag("properties.allow_system_memory", true).parameter(BoolParameter.PROPERTIES_ALLOW_SYSTEM_MEMORY)
                    .compat().engine().about("allow host memory as source and target of I/O");
    /**
     * {@code properties.force_odirect_mode}: bypass the page cache even for files opened without O_DIRECT.
     * Allowed: true or false. Default: {@code false}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Boolean> FORCE_ODIRECT_MODE =
            KEY.flag("properties.force_odirect_mode", false).parameter(BoolParameter.FORCE_ODIRECT_MODE).compat()
                    .engine().about("bypass the page cache even for files opened without O_DIRECT");
    /**
     * {@code properties.prefer_iouring}: use io_uring for batches instead of libaio.
     * Allowed: true or false. Default: {@code false}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<Boolean> PREFER_IOURING = KEY.flag("properties.prefer_iouring", false)
            .parameter(BoolParameter.PREFER_IO_URING).compat().engine()
            .about("use io_uring for batches instead of libaio");
    /**
     * {@code properties.use_pci_p2pdma}: use PCI peer-to-peer DMA of the kernel instead of nvidia-fs if drives and GPUs
     * support it.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_USE_PCIP2PDMA}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> USE_PCI_P2PDMA = KEY.flag("properties.use_pci_p2pdma", false)
            .variable("CUFILE_USE_PCIP2PDMA", SWITCH, SWITCH_TEXT)
            .parameter(BoolParameter.USE_PCIP2PDMA)
            .about("use PCI peer-to-peer DMA of the kernel instead of nvidia-fs if drives and GPUs support it");
    /**
     * {@code properties.io_priority}: priority of cuFile's own CUDA streams.
     * Allowed: one of "default", "low", "med", "high". Default: {@code "default"}. Environment: {@code
     * CUFILE_IO_PRIORITY}. Used by libcufile.
     */
    public static final ConfigKey<String> IO_PRIORITY = KEY.text("properties.io_priority", "default")
            .allow(oneOf("default", "low", "med", "high")).variable("CUFILE_IO_PRIORITY", TEXT, "a text")
            .compat().about("priority of cuFile's own CUDA streams");
    /**
     * {@code properties.gds_rdma_write_support}: use GPUDirect Storage to write to network file systems.
     * Allowed: true or false. Default: {@code true}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> GDS_RDMA_WRITE_SUPPORT = KEY.flag("properties.gds_rdma_write_support", true)
            .about("use GPUDirect Storage to write to network file systems");

    // ---- properties: RDMA

    /**
     * {@code properties.rdma_dev_addr_list}: addresses of this machine's RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> RDMA_DEV_ADDR_LIST = KEY.texts("properties.rdma_dev_addr_list")
            .allow(ipv4List()).about("addresses of this machine's RDMA network adapters");
    /**
     * {@code properties.rdma_load_balancing_policy}: how GPUs share adapters.
     * Allowed: one of "FirstFit", "MaxMinFit", "RoundRobin", "RoundRobinMaxMin", "Randomized". Default: {@code
     * "RoundRobin"}. Used by libcufile.
     */
    public static final ConfigKey<String> RDMA_LOAD_BALANCING_POLICY =
            KEY.text("properties.rdma_load_balancing_policy", "RoundRobin")
                    .allow(oneOf("FirstFit", "MaxMinFit", "RoundRobin", "RoundRobinMaxMin", "Randomized"))
                    .about("how GPUs share adapters");
    /**
     * {@code properties.rdma_topN_ranks}: number of ranks of nearest adapters to use.
     * Allowed: an integer, 1 to 1024. Default: {@code 1}. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_TOPN_RANKS =
            KEY.number("properties.rdma_topN_ranks", 1, 1, 1024, 1)
                    .about("number of ranks of nearest adapters to use");
    /**
     * {@code properties.rdma_service_level}: InfiniBand service level or Ethernet traffic class.
     * Allowed: an integer, 0 to 255. Default: {@code 0}. Environment: {@code CUFILE_IB_SL}, {@code CUFILE_ETH_SL}. Used
     * by libcufile.
     */
    public static final ConfigKey<Long> RDMA_SERVICE_LEVEL = KEY.number("properties.rdma_service_level", 0, 0, 255, 1)
            .variable("CUFILE_IB_SL", NUMBER, "a decimal number")
            .variable("CUFILE_ETH_SL", NUMBER, "a decimal number")
            .about("InfiniBand service level or Ethernet traffic class");
    /**
     * {@code properties.rdma_access_mask}: mask of allowed RDMA operations.
     * Allowed: a string "0x.." of 1 to 8 hexadecimal digits. Default: {@code "0x1f"}. Used by libcufile.
     */
    public static final ConfigKey<String> RDMA_ACCESS_MASK =
            KEY.text("properties.rdma_access_mask", "0x1f").allow(hex32()).about("mask of allowed RDMA operations");
    /**
     * {@code properties.rdma_dc_key}: key of the dynamically connected transport.
     * Allowed: a string "0x.." of 1 to 8 hexadecimal digits. Default: {@code "0xffeeddcc"}. Environment: {@code
     * CUFILE_RDMA_DC_KEY}. Used by libcufile.
     */
    public static final ConfigKey<String> RDMA_DC_KEY = KEY.text("properties.rdma_dc_key", "0xffeeddcc").allow(hex32())
            .variable("CUFILE_RDMA_DC_KEY", TEXT, "a text").about("key of the dynamically connected transport");
    /**
     * {@code properties.rdma_peer_type}: how adapters access GPU memory: nvidia-peermem or DMA-BUF.
     * Allowed: one of "peermem", "peer_mem", "dmabuf". Default: {@code "peermem"}. Environment: {@code
     * CUFILE_DMABUF_ENABLE}. Used by libcufile.
     */
    public static final ConfigKey<String> RDMA_PEER_TYPE =
            KEY.text("properties.rdma_peer_type", "peermem").allow(oneOf("peermem", "peer_mem", "dmabuf"))
                    .variable("CUFILE_DMABUF_ENABLE", KeyCatalogue::peerType, SWITCH_TEXT)
                    .about("how adapters access GPU memory: nvidia-peermem or DMA-BUF");
    /**
     * {@code properties.rdma_dynamic_routing}: use another route if adapter and GPU are far apart.
     * Allowed: true or false. Default: {@code false}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> RDMA_DYNAMIC_ROUTING =
            KEY.flag("properties.rdma_dynamic_routing", false)
                    .about("use another route if adapter and GPU are far apart");
    /**
     * {@code properties.rdma_dynamic_routing_order}: routes to try, in this order.
     * Allowed: an array of different ones of "GPU_MEM_NVLINKS", "GPU_MEM", "SYS_MEM", "P2P". Default: {@code
     * ["GPU_MEM_NVLINKS", "GPU_MEM", "SYS_MEM", "P2P"]}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> RDMA_DYNAMIC_ROUTING_ORDER =
            KEY.texts("properties.rdma_dynamic_routing_order", "GPU_MEM_NVLINKS", "GPU_MEM", "SYS_MEM", "P2P")
                    .allow(someOf("GPU_MEM_NVLINKS", "GPU_MEM", "SYS_MEM", "P2P"))
                    .about("routes to try, in this order");
    /**
     * {@code properties.rdma_transport_type}: RDMA transport.
     * Allowed: one of "DC_V1", "EXT_RC_V1". Default: {@code "DC_V1"}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<String> RDMA_TRANSPORT_TYPE = KEY.text("properties.rdma_transport_type", "DC_V1")
            .allow(oneOf("DC_V1", "EXT_RC_V1")).parameter(StringParameter.RDMA_TRANSPORT).since("1.19")
            .about("RDMA transport");
    /**
     * {@code properties.allow_rdma_token_reset}: allow RDMA tokens to be renewed.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_RDMA_ALLOW_RDMA_TOKEN_RESET}. Since
     * cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Boolean> ALLOW_RDMA_TOKEN_RESET =
            KEY.flag("properties.allow_rdma_token_reset", false)
                    .variable("CUFILE_RDMA_ALLOW_RDMA_TOKEN_RESET", SWITCH, SWITCH_TEXT).since("1.19")
                    .about("allow RDMA tokens to be renewed");
    /**
     * {@code properties.rdma_multipath_enabled}: use other RDMA adapters when one fails.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Boolean> RDMA_MULTIPATH_ENABLED =
            KEY.flag("properties.rdma_multipath_enabled", false).since("1.18")
                    .about("use other RDMA adapters when one fails");
    /**
     * {@code properties.rdma_max_backup_devices}: number of other adapters to keep ready.
     * Allowed: an integer, 0 to 1024. Default: {@code 2}. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_MAX_BACKUP_DEVICES =
            KEY.number("properties.rdma_max_backup_devices", 2, 0, 1024, 1).since("1.18")
                    .about("number of other adapters to keep ready");
    /**
     * {@code properties.rdma_io_retry_count}: times that a request is repeated by way of another adapter.
     * Allowed: an integer, 0 to 1024. Default: {@code 3}. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_IO_RETRY_COUNT =
            KEY.number("properties.rdma_io_retry_count", 3, 0, 1024, 1).since("1.18")
                    .about("times that a request is repeated by way of another adapter");
    /**
     * {@code properties.rdma_io_retry_delay_ms}: time between these repetitions.
     * Allowed: an integer, 0 to 3600000. Default: {@code 100}. Unit: ms. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_IO_RETRY_DELAY_MS =
            KEY.number("properties.rdma_io_retry_delay_ms", 100, 0, 3600000, 1).unit("ms").since("1.18")
                    .about("time between these repetitions");
    /**
     * {@code properties.rdma_failback_enabled}: return to the first adapter when it works again.
     * Allowed: true or false. Default: {@code true}. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Boolean> RDMA_FAILBACK_ENABLED =
            KEY.flag("properties.rdma_failback_enabled", true).since("1.18")
                    .about("return to the first adapter when it works again");
    /**
     * {@code properties.rdma_failback_delay_ms}: time before that return.
     * Allowed: an integer, 0 to 3600000. Default: {@code 100}. Unit: ms. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_FAILBACK_DELAY_MS =
            KEY.number("properties.rdma_failback_delay_ms", 100, 0, 3600000, 1).unit("ms").since("1.18")
                    .about("time before that return");
    /**
     * {@code properties.rdma_health_check_interval_ms}: time between checks of the adapters.
     * Allowed: an integer, 0 to 3600000. Default: {@code 100}. Unit: ms. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_HEALTH_CHECK_INTERVAL_MS =
            KEY.number("properties.rdma_health_check_interval_ms", 100, 0, 3600000, 1).unit("ms").since("1.18")
                    .about("time between checks of the adapters");
    /**
     * {@code properties.rdma_async_event_monitoring}: watch the events of the adapters.
     * Allowed: true or false. Default: {@code true}. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Boolean> RDMA_ASYNC_EVENT_MONITORING =
            KEY.flag("properties.rdma_async_event_monitoring", true).since("1.18")
                    .about("watch the events of the adapters");
    /**
     * {@code properties.rdma_unhealthy_threshold}: failed checks after which an adapter counts as failed.
     * Allowed: an integer, 0 to 1024. Default: {@code 3}. Since cuFile 1.18. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_UNHEALTHY_THRESHOLD =
            KEY.number("properties.rdma_unhealthy_threshold", 3, 0, 1024, 1).since("1.18")
                    .about("failed checks after which an adapter counts as failed");

    // ---- properties: later versions

    /**
     * {@code properties.gpu_bounce_buffer_slab_config.slab_size_kb}: sizes of GPU bounce buffers instead of
     * max_device_cache_size_kb; gds4j's engine only reports it.
     * Allowed: an array of 0 to 16, each an integer, 4 to 16777216, a multiple of 4. Default: {@code []}. Unit: KiB.
     * Since cuFile 1.17. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<List<Long>> GPU_BOUNCE_BUFFER_SLAB_SIZE_KB = KEY.longs(
            "properties.gpu_bounce_buffer_slab_config.slab_size_kb")
            .allow(numbers(0, MAX_SLAB_CLASSES, 4, MAX_SLAB_KB, 4)).unit("KiB").since("1.17").engine()
            .about("sizes of GPU bounce buffers instead of max_device_cache_size_kb; gds4j's engine only reports it");
    /**
     * {@code properties.gpu_bounce_buffer_slab_config.slab_count}: number of buffers of each size; as many entries as
     * slab_size_kb.
     * Allowed: an array of 0 to 16, each an integer, 1 to 1048576. Default: {@code []}. Since cuFile 1.17. Used by
     * gds4j's engine and libcufile.
     */
    public static final ConfigKey<List<Long>> GPU_BOUNCE_BUFFER_SLAB_COUNT =
            KEY.longs("properties.gpu_bounce_buffer_slab_config.slab_count")
                    .allow(numbers(0, MAX_SLAB_CLASSES, 1, MAX_SLAB_COUNT, 1)).since("1.17").engine()
                    .about("number of buffers of each size; as many entries as slab_size_kb");
    /**
     * {@code properties.vanilla_posix_io_mode}: use plain POSIX I/O without checks of the platform; gds4j's engine
     * always does.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Boolean> VANILLA_POSIX_IO_MODE = KEY.flag("properties.vanilla_posix_io_mode", false)
            .parameter(BoolParameter.PROPERTIES_POSIX_IO_MODE).since("1.19").compat()
            .about("use plain POSIX I/O without checks of the platform; gds4j's engine always does");
    /**
     * {@code properties.gds_fallback_io}: repeat requests by POSIX I/O if direct storage fails; backend auto does if
     * compat mode is allowed.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.17. Used by libcufile.
     */
    public static final ConfigKey<Boolean> GDS_FALLBACK_IO = KEY.flag("properties.gds_fallback_io", false)
            .parameter(BoolParameter.GDS_FALLBACK_IO).since("1.17")
            .compat()
            .about("repeat requests by POSIX I/O if direct storage fails; backend auto does if compat mode is allowed");
    /**
     * {@code properties.compat_odirect_unaligned_read_split}: in compat mode, bypass the page cache for the middle of
     * an unaligned read; gds4j's engine does.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Boolean> COMPAT_ODIRECT_UNALIGNED_READ_SPLIT =
            KEY.flag("properties.compat_odirect_unaligned_read_split", false).since("1.19").compat()
                    .about("in compat mode, bypass the page cache for the middle of an unaligned read; gds4j's engine does");
    /**
     * {@code properties.compat_odirect_unaligned_read_split_min_size_kb}: smallest read that
     * compat_odirect_unaligned_read_split applies to.
     * Allowed: an integer, 0 to 18014398509481980. Default: {@code 128}. Unit: KiB. Since cuFile 1.19. Used by
     * libcufile.
     */
    public static final ConfigKey<Long> COMPAT_ODIRECT_UNALIGNED_READ_SPLIT_MIN_SIZE_KB =
            KEY.number("properties.compat_odirect_unaligned_read_split_min_size_kb", 128, 0, MAX_KB, 1).unit("KiB")
                    .since("1.19").compat().about("smallest read that compat_odirect_unaligned_read_split applies to");

    // ---- fs

    /**
     * {@code fs.generic.posix_unaligned_writes}: use POSIX I/O for unaligned writes.
     * Allowed: true or false. Default: {@code false}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_GENERIC_POSIX_UNALIGNED_WRITES =
            KEY.flag("fs.generic.posix_unaligned_writes", false).compat().about("use POSIX I/O for unaligned writes");
    /**
     * {@code fs.lustre.posix_gds_min_kb}: Lustre: largest request that uses POSIX I/O.
     * Allowed: an integer, 0 to 18014398509481980, a multiple of 4. Default: {@code 0}. Unit: KiB. Used by libcufile.
     */
    public static final ConfigKey<Long> FS_LUSTRE_POSIX_GDS_MIN_KB =
            KEY.number("fs.lustre.posix_gds_min_kb", 0, 0, MAX_KB, 4).unit("KiB")
                    .about("Lustre: largest request that uses POSIX I/O");
    /**
     * {@code fs.lustre.rdma_dev_addr_list}: Lustre: addresses of RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> FS_LUSTRE_RDMA_DEV_ADDR_LIST =
            KEY.texts("fs.lustre.rdma_dev_addr_list").allow(ipv4List())
                    .about("Lustre: addresses of RDMA network adapters");
    /**
     * {@code fs.lustre.mount_table}: Lustre: adapters of each mount point.
     * Allowed: an object {"MOUNT POINT": {"rdma_dev_addr_list": [..]}} of absolute mount points and IPv4 addresses.
     * Default: {@code {}}. Used by libcufile.
     */
    public static final ConfigKey<MountTable> FS_LUSTRE_MOUNT_TABLE =
            KEY.mounts("fs.lustre.mount_table").about("Lustre: adapters of each mount point");
    /**
     * {@code fs.lustre.use_pci_p2pdma}: Lustre: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_LUSTRE_USE_PCI_P2PDMA =
            KEY.flag("fs.lustre.use_pci_p2pdma", false).since("1.16")
                    .about("Lustre: use PCI peer-to-peer DMA");
    /**
     * {@code fs.beegfs.posix_gds_min_kb}: BeeGFS: largest request that uses POSIX I/O.
     * Allowed: an integer, 0 to 18014398509481980, a multiple of 4. Default: {@code 0}. Unit: KiB. Used by libcufile.
     */
    public static final ConfigKey<Long> FS_BEEGFS_POSIX_GDS_MIN_KB =
            KEY.number("fs.beegfs.posix_gds_min_kb", 0, 0, MAX_KB, 4).unit("KiB")
                    .about("BeeGFS: largest request that uses POSIX I/O");
    /**
     * {@code fs.beegfs.rdma_dev_addr_list}: BeeGFS: addresses of RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> FS_BEEGFS_RDMA_DEV_ADDR_LIST =
            KEY.texts("fs.beegfs.rdma_dev_addr_list").allow(ipv4List())
                    .about("BeeGFS: addresses of RDMA network adapters");
    /**
     * {@code fs.beegfs.mount_table}: BeeGFS: adapters of each mount point.
     * Allowed: an object {"MOUNT POINT": {"rdma_dev_addr_list": [..]}} of absolute mount points and IPv4 addresses.
     * Default: {@code {}}. Used by libcufile.
     */
    public static final ConfigKey<MountTable> FS_BEEGFS_MOUNT_TABLE =
            KEY.mounts("fs.beegfs.mount_table").about("BeeGFS: adapters of each mount point");
    /**
     * {@code fs.beegfs.use_pci_p2pdma}: BeeGFS: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_BEEGFS_USE_PCI_P2PDMA =
            KEY.flag("fs.beegfs.use_pci_p2pdma", false).since("1.16")
                    .about("BeeGFS: use PCI peer-to-peer DMA");
    /**
     * {@code fs.scatefs.posix_gds_min_kb}: ScaTeFS: largest request that uses POSIX I/O.
     * Allowed: an integer, 0 to 18014398509481980, a multiple of 4. Default: {@code 0}. Unit: KiB. Used by libcufile.
     */
    public static final ConfigKey<Long> FS_SCATEFS_POSIX_GDS_MIN_KB =
            KEY.number("fs.scatefs.posix_gds_min_kb", 0, 0, MAX_KB, 4).unit("KiB")
                    .about("ScaTeFS: largest request that uses POSIX I/O");
    /**
     * {@code fs.scatefs.rdma_dev_addr_list}: ScaTeFS: addresses of RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> FS_SCATEFS_RDMA_DEV_ADDR_LIST =
            KEY.texts("fs.scatefs.rdma_dev_addr_list")
                    .allow(ipv4List()).about("ScaTeFS: addresses of RDMA network adapters");
    /**
     * {@code fs.scatefs.mount_table}: ScaTeFS: adapters of each mount point.
     * Allowed: an object {"MOUNT POINT": {"rdma_dev_addr_list": [..]}} of absolute mount points and IPv4 addresses.
     * Default: {@code {}}. Used by libcufile.
     */
    public static final ConfigKey<MountTable> FS_SCATEFS_MOUNT_TABLE =
            KEY.mounts("fs.scatefs.mount_table").about("ScaTeFS: adapters of each mount point");
    /**
     * {@code fs.scatefs.use_pci_p2pdma}: ScaTeFS: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_SCATEFS_USE_PCI_P2PDMA =
            KEY.flag("fs.scatefs.use_pci_p2pdma", false).since("1.16")
                    .about("ScaTeFS: use PCI peer-to-peer DMA");
    /**
     * {@code fs.nfs.rdma_dev_addr_list}: NFS: addresses of RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> FS_NFS_RDMA_DEV_ADDR_LIST =
            KEY.texts("fs.nfs.rdma_dev_addr_list").allow(ipv4List()).about("NFS: addresses of RDMA network adapters");
    /**
     * {@code fs.nfs.mount_table}: NFS: adapters of each mount point.
     * Allowed: an object {"MOUNT POINT": {"rdma_dev_addr_list": [..]}} of absolute mount points and IPv4 addresses.
     * Default: {@code {}}. Used by libcufile.
     */
    public static final ConfigKey<MountTable> FS_NFS_MOUNT_TABLE =
            KEY.mounts("fs.nfs.mount_table").about("NFS: adapters of each mount point");
    /**
     * {@code fs.nfs.use_pci_p2pdma}: NFS: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_NFS_USE_PCI_P2PDMA =
            KEY.flag("fs.nfs.use_pci_p2pdma", false).since("1.16").about("NFS: use PCI peer-to-peer DMA");
    /**
     * {@code fs.gpfs.gds_write_support}: Spectrum Scale: use GPUDirect Storage to write.
     * Allowed: true or false. Default: {@code false}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_GPFS_GDS_WRITE_SUPPORT =
            KEY.flag("fs.gpfs.gds_write_support", false).about("Spectrum Scale: use GPUDirect Storage to write");
    /**
     * {@code fs.gpfs.gds_async_support}: Spectrum Scale: allow stream-ordered I/O.
     * Allowed: true or false. Default: {@code true}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_GPFS_GDS_ASYNC_SUPPORT =
            KEY.flag("fs.gpfs.gds_async_support", true).about("Spectrum Scale: allow stream-ordered I/O");
    /**
     * {@code fs.gpfs.rdma_dev_addr_list}: Spectrum Scale: addresses of RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> FS_GPFS_RDMA_DEV_ADDR_LIST = KEY.texts("fs.gpfs.rdma_dev_addr_list")
            .allow(ipv4List()).about("Spectrum Scale: addresses of RDMA network adapters");
    /**
     * {@code fs.gpfs.mount_table}: Spectrum Scale: adapters of each mount point.
     * Allowed: an object {"MOUNT POINT": {"rdma_dev_addr_list": [..]}} of absolute mount points and IPv4 addresses.
     * Default: {@code {}}. Used by libcufile.
     */
    public static final ConfigKey<MountTable> FS_GPFS_MOUNT_TABLE =
            KEY.mounts("fs.gpfs.mount_table").about("Spectrum Scale: adapters of each mount point");
    /**
     * {@code fs.gpfs.use_pci_p2pdma}: Spectrum Scale: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_GPFS_USE_PCI_P2PDMA =
            KEY.flag("fs.gpfs.use_pci_p2pdma", false).since("1.16")
                    .about("Spectrum Scale: use PCI peer-to-peer DMA");
    /**
     * {@code fs.weka.rdma_write_support}: WekaFS: use RDMA to write.
     * Allowed: true or false. Default: {@code false}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_WEKA_RDMA_WRITE_SUPPORT =
            KEY.flag("fs.weka.rdma_write_support", false).about("WekaFS: use RDMA to write");
    /**
     * {@code fs.weka.rdma_dev_addr_list}: WekaFS: addresses of RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> FS_WEKA_RDMA_DEV_ADDR_LIST =
            KEY.texts("fs.weka.rdma_dev_addr_list").allow(ipv4List())
                    .about("WekaFS: addresses of RDMA network adapters");
    /**
     * {@code fs.weka.mount_table}: WekaFS: adapters of each mount point.
     * Allowed: an object {"MOUNT POINT": {"rdma_dev_addr_list": [..]}} of absolute mount points and IPv4 addresses.
     * Default: {@code {}}. Used by libcufile.
     */
    public static final ConfigKey<MountTable> FS_WEKA_MOUNT_TABLE =
            KEY.mounts("fs.weka.mount_table").about("WekaFS: adapters of each mount point");
    /**
     * {@code fs.virtiofs.use_pci_p2pdma}: virtiofs: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_VIRTIOFS_USE_PCI_P2PDMA =
            KEY.flag("fs.virtiofs.use_pci_p2pdma", false).since("1.16").about("virtiofs: use PCI peer-to-peer DMA");
    /**
     * {@code fs.panfs.rdma_dev_addr_list}: PanFS: addresses of RDMA network adapters.
     * Allowed: an array of IPv4 addresses. Default: {@code []}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<List<String>> FS_PANFS_RDMA_DEV_ADDR_LIST =
            KEY.texts("fs.panfs.rdma_dev_addr_list").allow(ipv4List()).since("1.19")
                    .about("PanFS: addresses of RDMA network adapters");
    /**
     * {@code fs.panfs.mount_table}: PanFS: adapters of each mount point.
     * Allowed: an object {"MOUNT POINT": {"rdma_dev_addr_list": [..]}} of absolute mount points and IPv4 addresses.
     * Default: {@code {}}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<MountTable> FS_PANFS_MOUNT_TABLE =
            KEY.mounts("fs.panfs.mount_table").since("1.19").about("PanFS: adapters of each mount point");
    /**
     * {@code fs.panfs.use_pci_p2pdma}: PanFS: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Boolean> FS_PANFS_USE_PCI_P2PDMA =
            KEY.flag("fs.panfs.use_pci_p2pdma", false).since("1.19")
                    .about("PanFS: use PCI peer-to-peer DMA");

    // ---- block

    /**
     * {@code block.nvme.use_pci_p2pdma}: NVMe drives: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> BLOCK_NVME_USE_PCI_P2PDMA =
            KEY.flag("block.nvme.use_pci_p2pdma", false).since("1.16").about("NVMe drives: use PCI peer-to-peer DMA");
    /**
     * {@code block.nvmeof.use_pci_p2pdma}: NVMe over fabrics: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> BLOCK_NVMEOF_USE_PCI_P2PDMA =
            KEY.flag("block.nvmeof.use_pci_p2pdma", false).since("1.16")
                    .about("NVMe over fabrics: use PCI peer-to-peer DMA");
    /**
     * {@code block.raid.use_pci_p2pdma}: RAID 0: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.16. Used by libcufile.
     */
    public static final ConfigKey<Boolean> BLOCK_RAID_USE_PCI_P2PDMA =
            KEY.flag("block.raid.use_pci_p2pdma", false).since("1.16").about("RAID 0: use PCI peer-to-peer DMA");
    /**
     * {@code block.raid1.use_pci_p2pdma}: RAID 1: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Boolean> BLOCK_RAID1_USE_PCI_P2PDMA =
            KEY.flag("block.raid1.use_pci_p2pdma", false).since("1.19").about("RAID 1: use PCI peer-to-peer DMA");
    /**
     * {@code block.raid10.use_pci_p2pdma}: RAID 10: use PCI peer-to-peer DMA.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Boolean> BLOCK_RAID10_USE_PCI_P2PDMA =
            KEY.flag("block.raid10.use_pci_p2pdma", false).since("1.19").about("RAID 10: use PCI peer-to-peer DMA");

    // ---- denylist

    /**
     * {@code denylist.drivers}: storage drivers that do not use GPUDirect Storage; they use POSIX I/O if compat mode is
     * allowed.
     * Allowed: an array of strings that are not blank. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> DENYLIST_DRIVERS = KEY.texts("denylist.drivers").allow(names()).compat()
            .about("storage drivers that do not use GPUDirect Storage; they use POSIX I/O if compat mode is allowed");
    /**
     * {@code denylist.devices}: block devices that do not use GPUDirect Storage; they use POSIX I/O if compat mode is
     * allowed.
     * Allowed: an array of strings that are not blank. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> DENYLIST_DEVICES = KEY.texts("denylist.devices").allow(names()).compat()
            .about("block devices that do not use GPUDirect Storage; they use POSIX I/O if compat mode is allowed");
    /**
     * {@code denylist.mounts}: mount points that do not use GPUDirect Storage; they use POSIX I/O if compat mode is
     * allowed.
     * Allowed: an array of strings that are not blank. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> DENYLIST_MOUNTS = KEY.texts("denylist.mounts").allow(names()).compat()
            .about("mount points that do not use GPUDirect Storage; they use POSIX I/O if compat mode is allowed");
    /**
     * {@code denylist.filesystems}: types of file system that do not use GPUDirect Storage; they use POSIX I/O if
     * compat mode is allowed.
     * Allowed: an array of strings that are not blank. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> DENYLIST_FILESYSTEMS = KEY.texts("denylist.filesystems").allow(names())
            .compat()
            .about("types of file system that do not use GPUDirect Storage; they use POSIX I/O if compat mode is allowed");
    /**
     * {@code denylist.fsids}: file system identifiers that do not use GPUDirect Storage; they use POSIX I/O if compat
     * mode is allowed.
     * Allowed: an array of strings that are not blank. Default: {@code []}. Used by libcufile.
     */
    public static final ConfigKey<List<String>> DENYLIST_FSIDS =
            KEY.texts("denylist.fsids").allow(names()).compat().about(
                    "file system identifiers that do not use GPUDirect Storage; they use POSIX I/O if compat mode is allowed");

    // ---- sparse

    /**
     * {@code sparse.p2p_compat_enable}: use POSIX I/O for holes of a file and p2pdma for the rest.
     * Allowed: true or false. Default: {@code true}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Boolean> SPARSE_P2P_COMPAT_ENABLE = KEY.flag("sparse.p2p_compat_enable", true)
            .since("1.19").compat().about("use POSIX I/O for holes of a file and p2pdma for the rest");
    /**
     * {@code sparse.min_p2pdma_threshold_kb}: smallest part of a file with holes that uses p2pdma.
     * Allowed: an integer, 0 to 18014398509481980. Default: {@code 16}. Unit: KiB. Since cuFile 1.19. Used by
     * libcufile.
     */
    public static final ConfigKey<Long> SPARSE_MIN_P2PDMA_THRESHOLD_KB =
            KEY.number("sparse.min_p2pdma_threshold_kb", 16, 0, MAX_KB, 1).unit("KiB").since("1.19").compat()
                    .about("smallest part of a file with holes that uses p2pdma");

    // ---- miscellaneous

    /**
     * {@code miscellaneous.api_check_aggressive}: check arguments more strictly; gds4j always does.
     * Allowed: true or false. Default: {@code false}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> API_CHECK_AGGRESSIVE =
            KEY.flag("miscellaneous.api_check_aggressive", false).parameter(BoolParameter.FS_MISC_API_CHECK_AGGRESSIVE)
                    .compat().about("check arguments more strictly; gds4j always does");
    /**
     * {@code miscellaneous.skip_topology_detection}: skip the PCI topology when the driver opens, which is faster.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_SKIP_TOPOLOGY_DETECTION}. Used by
     * libcufile.
     */
    public static final ConfigKey<Boolean> SKIP_TOPOLOGY_DETECTION =
            KEY.flag("miscellaneous.skip_topology_detection", false)
                    .variable("CUFILE_SKIP_TOPOLOGY_DETECTION", SWITCH, SWITCH_TEXT)
                    .parameter(BoolParameter.SKIP_TOPOLOGY_DETECTION).compat()
                    .about("skip the PCI topology when the driver opens, which is faster");
    /**
     * {@code miscellaneous.stream_memops_bypass}: use no CUDA stream memory operations for stream-ordered I/O.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_STREAM_MEMOPS_BYPASS}. Used by
     * libcufile.
     */
    public static final ConfigKey<Boolean> STREAM_MEMOPS_BYPASS = KEY.flag("miscellaneous.stream_memops_bypass", false)
            .variable("CUFILE_STREAM_MEMOPS_BYPASS", SWITCH, SWITCH_TEXT)
            .parameter(BoolParameter.STREAM_MEMOPS_BYPASS).compat()
            .about("use no CUDA stream memory operations for stream-ordered I/O");
    /**
     * {@code miscellaneous.rcu_library_used}: concurrency library inside libcufile.
     * Allowed: one of "ckit", "urcu". Default: {@code "ckit"}. Used by libcufile.
     */
    public static final ConfigKey<String> RCU_LIBRARY_USED = KEY.text("miscellaneous.rcu_library_used", "ckit")
            .allow(oneOf("ckit", "urcu")).compat().about("concurrency library inside libcufile");
    /**
     * {@code miscellaneous.enable_static_routing}: read the PCI topology from static_routing_filepath.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.17. Used by libcufile.
     */
    public static final ConfigKey<Boolean> ENABLE_STATIC_ROUTING =
            KEY.flag("miscellaneous.enable_static_routing", false).since("1.17")
                    .about("read the PCI topology from static_routing_filepath");
    /**
     * {@code miscellaneous.static_routing_filepath}: file with the PCI topology.
     * Allowed: a string, the path of a file or directory. Default: {@code "/etc/topology.json"}. Since cuFile 1.17.
     * Used by libcufile.
     */
    public static final ConfigKey<String> STATIC_ROUTING_FILEPATH =
            KEY.text("miscellaneous.static_routing_filepath", "/etc/topology.json").allow(Constraint.path())
                    .since("1.17")
                    .about("file with the PCI topology");
    /**
     * {@code miscellaneous.enable_static_config}: read facts of the hardware from static_config_filepath, so that
     * opening is faster.
     * Allowed: true or false. Default: {@code false}. Since cuFile 1.20. Used by libcufile.
     */
    public static final ConfigKey<Boolean> ENABLE_STATIC_CONFIG =
            KEY.flag("miscellaneous.enable_static_config", false).since("1.20")
                    .about("read facts of the hardware from static_config_filepath, so that opening is faster");
    /**
     * {@code miscellaneous.static_config_filepath}: file with facts of the hardware.
     * Allowed: a string, the path of a file or directory. Default: {@code ""}. Since cuFile 1.20. Used by libcufile.
     */
    public static final ConfigKey<String> STATIC_CONFIG_FILEPATH =
            KEY.text("miscellaneous.static_config_filepath", "").allow(Constraint.path()).since("1.20")
                    .about("file with facts of the hardware");
    /**
     * {@code miscellaneous.rdma_token_reset_timeout_secs}: longest time to renew RDMA tokens.
     * Allowed: an integer, 0 to 86400. Default: {@code 30}. Unit: s. Environment: {@code
     * CUFILE_RDMA_TOKEN_RESET_TIMEOUT_SECS}. Since cuFile 1.19. Used by libcufile.
     */
    public static final ConfigKey<Long> RDMA_TOKEN_RESET_TIMEOUT_SECS =
            KEY.number("miscellaneous.rdma_token_reset_timeout_secs", 30, 0, 86400, 1).unit("s")
                    .variable("CUFILE_RDMA_TOKEN_RESET_TIMEOUT_SECS", NUMBER, "a decimal number").since("1.19")
                    .about("longest time to renew RDMA tokens");

    // ---- environment only

    /**
     * {@code CUFILE_LOGFILE_PATH}: log file instead of cufile.log in logging.dir.
     * Allowed: a string, the path of a file or directory. Default: {@code ""}. Environment: {@code
     * CUFILE_LOGFILE_PATH}. Used by gds4j's engine and libcufile.
     */
    public static final ConfigKey<String> LOGFILE_PATH = KEY.text("CUFILE_LOGFILE_PATH", "").allow(Constraint.path())
            .variable("CUFILE_LOGFILE_PATH", TEXT, "a text").parameter(StringParameter.ENV_LOGFILE_PATH)
            .compat().onlyEnvironment().engine().about("log file instead of cufile.log in logging.dir");
    /**
     * {@code CUFILE_EXPERIMENTAL_FS}: use GPUDirect Storage on file systems that NVIDIA has not tested.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_EXPERIMENTAL_FS}. Used by libcufile.
     */
    public static final ConfigKey<Boolean> EXPERIMENTAL_FS = KEY.flag("CUFILE_EXPERIMENTAL_FS", false)
            .variable("CUFILE_EXPERIMENTAL_FS", SWITCH, SWITCH_TEXT).onlyEnvironment()
            .about("use GPUDirect Storage on file systems that NVIDIA has not tested");
    /**
     * {@code CUFILE_VISIBLE_DEVICES}: numbers of the GPUs that libcufile uses, separated by commas; empty: all.
     * Allowed: a string. Default: {@code ""}. Environment: {@code CUFILE_VISIBLE_DEVICES}. Since cuFile 1.17. Used by
     * libcufile.
     */
    public static final ConfigKey<String> VISIBLE_DEVICES = KEY.text("CUFILE_VISIBLE_DEVICES", "")
            .variable("CUFILE_VISIBLE_DEVICES", TEXT, "a text").onlyEnvironment().since("1.17")
            .about("numbers of the GPUs that libcufile uses, separated by commas; empty: all");
    /**
     * {@code CUFILE_SKIP_BUFFER_VALIDITY_CHECK}: do not check whether registered memory was freed.
     * Allowed: true or false. Default: {@code false}. Environment: {@code CUFILE_SKIP_BUFFER_VALIDITY_CHECK}. Since
     * cuFile 1.20. Used by libcufile.
     */
    public static final ConfigKey<Boolean> SKIP_BUFFER_VALIDITY_CHECK =
            KEY.flag("CUFILE_SKIP_BUFFER_VALIDITY_CHECK", false)
                    .variable("CUFILE_SKIP_BUFFER_VALIDITY_CHECK", SWITCH, SWITCH_TEXT).onlyEnvironment().since("1.20")
                    .about("do not check whether registered memory was freed");

    /**
     * {@code GDS4J_IO_POLICY}: source of reads by the compat backend. auto: the page cache if the bytes are there;
     * direct: disk; buffered: cache.
     * Allowed: one of "auto", "direct", "buffered". Default: {@code "auto"}. Environment: {@code GDS4J_IO_POLICY}. Used
     * by gds4j's engine.
     */
    public static final ConfigKey<String> IO_POLICY = KEY.text("GDS4J_IO_POLICY", "auto")
            .allow(oneOf("auto", "direct", "buffered")).variable("GDS4J_IO_POLICY", TEXT, "a text").compat()
            .onlyEnvironment()
            .engine()
            .about("source of reads by the compat backend. auto: the page cache if the bytes are there; direct: disk; buffered: cache");

    private static final List<ConfigKey<?>> ALL = KEY.all();

    private static final Map<String, ConfigKey<?>> BY_NAME =
            ALL.stream().collect(Collectors.toUnmodifiableMap(ConfigKey::name, Function.identity()));

    private CuFileKeys() {
    }

    /** {@return every key, in the order of the file} */
    public static List<ConfigKey<?>> all() {
        return ALL;
    }

    /**
     * Finds a key by name.
     *
     * @param name {@link ConfigKey#name()}
     * @return the key; empty if there is none
     */
    public static Optional<ConfigKey<?>> named(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }

    @SuppressWarnings("unchecked") // CuFileKeysTest compares the types
    static <T> ConfigKey<T> of(CuFileParameter<T> parameter) {
        return (ConfigKey<T>) ALL.stream()
                .filter(key -> key.parameter().filter(parameter::equals).isPresent())
                .findFirst()
                .orElseThrow();
    }
}
