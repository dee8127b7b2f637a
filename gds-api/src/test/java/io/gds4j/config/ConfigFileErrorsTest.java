package io.gds4j.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Errors in a file, and the line that reports each. */
class ConfigFileErrorsTest {
    @TempDir
    Path folder;

    static Stream<Arguments> faultyTexts() {
        return Stream.of(
                // wrong text
                row("", "1:1: the file is empty, allowed: a JSON object"),
                row("// nothing\n", "2:1: the file is empty, allowed: a JSON object"),
                row("[1]", "1:1: the file contains an array, allowed: a JSON object"),
                row("7", "1:1: the file contains 7, allowed: a JSON object"),
                row("{} {}", "1:4: text after the end of the JSON object"),
                row("{\"properties\": 5}", "1:16: properties is 5, allowed: a JSON object"),
                row("{\"fs\": {\"lustre\": []}}", "1:19: fs.lustre is an array, allowed: a JSON object"),
                row("{\"properties\": null}", "1:16: properties is null, allowed: a JSON object"),
                // numbers
                row(
                        "{\n  \"properties\": {\n    \"io_batchsize\": 999999\n  }\n}",
                        "3:21: properties.io_batchsize is 999999, allowed: an integer, 1 to 256"),
                row(properties("io_batchsize", "0"), "properties.io_batchsize is 0, allowed: an integer, 1 to 256"),
                row(properties("io_batchsize", "-1"), "properties.io_batchsize is -1, allowed: an integer, 1 to 256"),
                row(properties("io_batchsize", "1.5"), "properties.io_batchsize is 1.5, allowed: an integer, 1 to 256"),
                row(
                        properties("io_batchsize", "99999999999999999999"),
                        "properties.io_batchsize is 99999999999999999999, allowed: an integer, 1 to 256"),
                row(
                        properties("io_batchsize", "\"64\""),
                        "properties.io_batchsize is \"64\", allowed: an integer, 1 to 256"),
                row(
                        properties("io_batchsize", "true"),
                        "properties.io_batchsize is true, allowed: an integer, 1 to 256"),
                row(
                        properties("io_batchsize", "null"),
                        "properties.io_batchsize is null, allowed: an integer, 1 to 256"),
                row(
                        properties("max_direct_io_size_kb", "1000"),
                        "properties.max_direct_io_size_kb is 1000, allowed: an integer, 64 to 16384, a multiple of 64"),
                row(
                        properties("max_device_cache_size_kb", "131073"),
                        "properties.max_device_cache_size_kb is 131073, allowed: an integer,"
                                + " 0 to 18014398509481980, a multiple of 4"),
                // switches
                row(
                        properties("allow_compat_mode", "1"),
                        "properties.allow_compat_mode is 1, allowed: true or false"),
                row(
                        properties("allow_compat_mode", "\"true\""),
                        "properties.allow_compat_mode is \"true\", allowed: true or false"),
                // texts
                row(
                        "{\"logging\": {\"level\": \"LOUD\"}}",
                        "1:23: logging.level is \"LOUD\", allowed: one of"
                                + " \"NOTICE\", \"ERROR\", \"WARN\", \"INFO\", \"DEBUG\", \"TRACE\""),
                row(
                        "{\"logging\": {\"dir\": {}}}",
                        "1:21: logging.dir is an object, allowed: a string, the path of a file or directory"),
                row(
                        properties("rdma_dc_key", "\"ffee\""),
                        "properties.rdma_dc_key is \"ffee\", allowed: a string \"0x..\" of 1 to 8 hexadecimal digits"),
                // arrays
                row(
                        properties("posix_pool_slab_size_kb", "[4, 1023]"),
                        "properties.posix_pool_slab_size_kb is [4, 1023], allowed:"
                                + " an array of 1 to 16, each an integer, 4 to 16777216, a multiple of 4"),
                row(
                        properties("posix_pool_slab_size_kb", "[]"),
                        "properties.posix_pool_slab_size_kb is [], allowed:"
                                + " an array of 1 to 16, each an integer, 4 to 16777216, a multiple of 4"),
                row(
                        properties("posix_pool_slab_size_kb", "4096"),
                        "properties.posix_pool_slab_size_kb is 4096, allowed:"
                                + " an array of 1 to 16, each an integer, 4 to 16777216, a multiple of 4"),
                row(
                        "{\"properties\": {\"posix_pool_slab_count\": [128,\n \"64\"]}}",
                        "2:2: properties.posix_pool_slab_count is \"64\", allowed:"
                                + " an array of 1 to 16, each an integer, 1 to 1048576"),
                row(
                        properties("rdma_dev_addr_list", "[\"10.0.0.256\"]"),
                        "properties.rdma_dev_addr_list is [10.0.0.256], allowed: an array of IPv4 addresses"),
                row(
                        properties("rdma_dynamic_routing_order", "[\"P2P\", \"P2P\"]"),
                        "properties.rdma_dynamic_routing_order is [P2P, P2P], allowed: an array of different ones of"
                                + " \"GPU_MEM_NVLINKS\", \"GPU_MEM\", \"SYS_MEM\", \"P2P\""),
                row(
                        "{\"denylist\": {\"mounts\": [\" \"]}}",
                        "denylist.mounts is [ ], allowed: an array of strings that are not blank"),
                row(
                        "{\"fs\": {\"nfs\": {\"mount_table\": {\"mnt\": {\"rdma_dev_addr_list\": []}}}}}",
                        "fs.nfs.mount_table is {mnt=[]}, allowed: an object"
                                + " {\"MOUNT POINT\": {\"rdma_dev_addr_list\": [..]}} of absolute mount points and IPv4 addresses"),
                // twice
                row(
                        "{\"properties\": {\n\"io_batchsize\": 1,\n\"io_batchsize\": 1}}",
                        "3:15: properties.io_batchsize is given twice, allowed: once"),
                row(
                        "{\"logging\": {}, \"logging\": {}}",
                        "1:26: logging is given twice, allowed: once"),
                row("{\"a\": {\"b\": {\"c\": 1, \"c\": 2}}}", "a.b.c is given twice, allowed: once"),
                row(
                        "{\"fs\": {\"nfs\": {\"mount_table\": {\"/m\": {}, \"/m\": {}}}}}",
                        "fs.nfs.mount_table./m is given twice, allowed: once"));
    }

    private static Arguments row(String text, String line) {
        return Arguments.of(text, line);
    }

    private static String properties(String name, String value) {
        return "{\"properties\": {\"%s\": %s}}".formatted(name, value);
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("faultyTexts")
    void invalidFileIsReportedInOneLineWithItsPlace(String text, String line) {
        CuFileConfigException e = failure(write(text));

        assertThat(e.detail()).startsWith(folder.resolve("cufile.json") + ":").endsWith(line);
        assertThat(e.getMessage())
                .isEqualTo("cuFileDriverOpen: " + e.detail()
                        + " (CU_FILE_DRIVER_INVALID_PROPS 5002, EINVAL: invalid argument)")
                .doesNotContain("\n");
        assertThat(e.detail()).contains("%d:%d:".formatted(e.line(), e.column()));
        assertThat(e.path()).contains(folder.resolve("cufile.json"));
        assertThat(e.error()).isEqualTo(CuFileError.DRIVER_INVALID_PROPS);
        assertThat(e.errno()).hasValue(Errno.EINVAL);
    }

    static Stream<String> brokenJson() {
        return Stream.of(
                "{",
                "{\"properties\": {",
                "{\"properties\": {\"io_batchsize\": }}",
                "{\"properties\": {\"io_batchsize\": 1,}}",
                "{\"properties\" {}}",
                "{properties: {}}",
                "{'properties': {}}",
                "{\"logging\": {\"dir\": \"a\nb\"}}",
                "{\"logging\": {\"dir\": \"\\q\"}}",
                "{ /* never ends",
                "{\"properties\": {\"io_batchsize\": 01}}",
                "{\"properties\": {\"io_batchsize\": NaN}}",
                "# a comment of another language\n{}",
                "{\"a\":".repeat(100) + "1" + "}".repeat(100),
                "<html>");
    }

    @ParameterizedTest
    @MethodSource("brokenJson")
    void malformedJsonIsReportedWithLineAndColumn(String text) {
        CuFileConfigException e = failure(write(text));

        assertThat(e.detail()).matches("\\Q" + folder.resolve("cufile.json") + "\\E:[0-9]+:[0-9]+: not JSON: .+");
        assertThat(e.getMessage()).doesNotContain("\n");
        assertThat(e.line()).isPositive();
        assertThat(e.key()).isEmpty();
    }

    @Test
    void exceptionNamesKeyOfInvalidValue() {
        CuFileConfigException e = failure(write(properties("io_batchsize", "0")));

        assertThat(e.key()).contains("properties.io_batchsize");
        assertThat(e.line()).isEqualTo(1);
        assertThat(e.column()).isEqualTo(33);
    }

    @Test
    void directoryIsRefused() {
        CuFileConfigException e = failure(folder);

        assertThat(e.detail()).isEqualTo(folder + ": is a directory, allowed: a JSON file");
        assertThat(e.errno()).hasValue(Errno.EISDIR);
    }

    @Test
    void deviceIsRefusedWithoutReadingIt() {
        assertThat(failure(Path.of("/dev/zero")).detail())
                .isEqualTo("/dev/zero: is not a regular file, allowed: a JSON file");
    }

    @Test
    void fileLargerThanOneMebibyteIsRefused() throws IOException {
        Path huge = folder.resolve("huge.json");
        Files.writeString(huge, "{}" + " ".repeat(1 << 20));

        CuFileConfigException e = failure(huge);

        assertThat(e.detail()).isEqualTo(huge + ": is larger than 1 MiB, allowed: a smaller JSON file");
        assertThat(e.errno()).hasValue(Errno.EFBIG);
    }

    @Test
    void fileOfOneMebibyteIsRead() throws IOException {
        Path full = folder.resolve("full.json");
        Files.writeString(full, "{}" + " ".repeat((1 << 20) - 2));

        assertThat(CuFileConfig.builder().file(full).build().unknownKeys()).isEmpty();
    }

    @Test
    void fileOfTheKernelIsNotReadBeyondItsSize() {
        CuFileConfigException e = failure(Path.of("/proc/self/mem"));

        assertThat(e.detail()).isEqualTo("/proc/self/mem:1:1: the file is empty, allowed: a JSON object");
    }

    @Test
    void nameThatIsTooLongIsReportedAsSuch() {
        Path file = folder.resolve("n".repeat(256));

        CuFileConfigException e = failure(file);

        assertThat(e.detail()).isEqualTo(file + ": cannot be read: file name too long");
        assertThat(e.errno()).hasValue(Errno.ENAMETOOLONG);
    }

    static boolean permissionsBind() {
        return !"root".equals(System.getProperty("user.name"));
    }

    @Test
    @EnabledIf("permissionsBind")
    void missingReadPermissionIsReportedInOneLine() throws IOException {
        Path file = write("{}");
        Files.setPosixFilePermissions(file, java.util.Set.of());

        CuFileConfigException e = failure(file);

        assertThat(e.detail()).isEqualTo(file + ": cannot be read: permission denied");
        assertThat(e.errno()).hasValue(Errno.EACCES);
    }

    @Test
    void invalidUtf8IsRefusedWithItsPlace() throws IOException {
        Path file = folder.resolve("binary.json");
        Files.write(file, new byte[]{'{', '\n', '"', 'a', (byte) 0xff, '"'});

        assertThat(failure(file).detail()).isEqualTo(file + ":2:3: not UTF-8 text, allowed: a JSON file");
    }

    @Test
    void byteOrderMarkIsSkipped() throws IOException {
        Path file = folder.resolve("bom.json");
        Files.write(file, "\uFEFF{\"properties\": {\"io_batchsize\": 7}}".getBytes(StandardCharsets.UTF_8));

        assertThat(CuFileConfig.builder().file(file).build().get(CuFileKeys.IO_BATCHSIZE)).isEqualTo(7);
    }

    @Test
    void nameWithLineBreakStaysOnOneLine() throws IOException {
        Path file = folder.resolve("two\nlines.json");
        Files.writeString(file, "{\"properties\": {\"io_batchsize\": 0}}");

        assertThat(failure(file).getMessage())
                .contains("two\\nlines.json:1:33: properties.io_batchsize is 0")
                .doesNotContain("\n");
    }

    @Test
    void longValueIsCut() {
        CuFileConfigException e = failure(write("{\"logging\": {\"level\": \"" + "x".repeat(10_000) + "\"}}"));

        assertThat(e.getMessage()).hasSizeLessThan(500).contains("xxx.., allowed: one of");
    }

    private Path write(String text) {
        try {
            return Files.writeString(folder.resolve("cufile.json"), text);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static CuFileConfigException failure(Path file) {
        return catchThrowableOfType(
                CuFileConfigException.class,
                () -> CuFileConfig.load(Map.of("CUFILE_ENV_PATH_JSON", file.toString())));
    }
}
