package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileHandle;
import io.gds4j.Logged;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The log of a session, through the program's logging and in cufile.log. */
class SessionLogTest {
    private static final int SIZE = 4096;
    private static final String LINE =
            " \\d\\d-\\d\\d-\\d{4} \\d\\d:\\d\\d:\\d\\d:\\d{3} \\[pid=\\d+ tid=\\d+] (TRACE|DEBUG|INFO|WARN|ERROR|NOTICE)  [\\w$-]+:\\d+ .+";

    @TempDir
    private Path folder;

    @RegisterExtension
    private final Logged logged = Logged.by(SessionLog.NAME).atEveryLevel();

    private Consumer<CuFileConfig.Builder> logging(String level) {
        return builder -> builder.set(CuFileKeys.LOGGING_DIR, folder.toString()).set(CuFileKeys.LOGGING_LEVEL, level);
    }

    /** Makes one read that succeeds and one that fails. */
    private static void useIt(Consumer<CuFileConfig.Builder> config) {
        try (Rig rig = Rig.onHost(config);
                CuFileHandle handle = rig.open(rig.file(SIZE))) {
            GuardedMemory memory = rig.host(SIZE);
            handle.read(memory.range(), SIZE, 0, 0);
            rig.posix().on(PosixCall.PREAD).always().fails(Errno.EIO);
            assertThatThrownBy(() -> handle.read(memory.range(), SIZE, 0, 0)).isInstanceOf(CuFileException.class);
        }
    }

    private List<String> lines() throws IOException {
        return Files.readAllLines(folder.resolve("cufile.log"));
    }

    @Test
    void hostileNamesOfFilesAreInert() throws IOException {
        Path hostile = Files.write(folder.resolve("a\r\n\u001b[2J\u009b\u202e"), new byte[SIZE]);
        try (Rig rig = Rig.onHost(logging("TRACE"));
                CuFileHandle handle = rig.driver().openFile(hostile)) {
            GuardedMemory memory = rig.host(SIZE);
            rig.posix().on(PosixCall.PREAD).always().fails(Errno.EIO);
            assertThatThrownBy(() -> handle.read(memory.range(), SIZE, 0, 0)).isInstanceOf(CuFileException.class);
        }
        assertThat(lines()).anySatisfy(line -> assertThat(line).contains("a\\r\\n\\u001b[2J\\u009b\\u202e"));
        for (List<String> log : List.of(lines(), logged.lines())) {
            assertThat(log).allSatisfy(line -> assertThat(line.codePoints())
                    .noneMatch(c -> Character.isISOControl(c) || c == 0x202e));
        }
    }

    /** Opening a pipe waits for its reader, and a link of another user leads to a file of this one. */
    @Test
    @Timeout(60)
    void whatOthersLaidIsNoLogFile() throws Exception {
        Path log = folder.resolve("cufile.log");
        assertThat(new ProcessBuilder("mkfifo", log.toString()).start().waitFor()).isZero();
        useIt(logging("TRACE"));
        assertThat(logged.lines()).anySatisfy(line -> assertThat(line).contains("no log file: ", "cufile.log: a pipe"));
        Files.delete(log);
        Path precious = Files.writeString(folder.resolve("precious"), "PRECIOUS");
        Files.createSymbolicLink(log, precious);
        try {
            Files.setAttribute(log, "unix:uid", 4711, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            return; // only root can play the other user
        }
        useIt(logging("TRACE"));
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(logged.lines()).anySatisfy(line -> assertThat(line).contains("a symbolic link of another user"));
    }

    /** At its largest size the file starts over: its name may lead elsewhere by then. */
    @Test
    void logThatIsFullIsNotWrittenThroughWhatTookItsName() throws IOException {
        Path log = folder.resolve("cufile.log");
        Path precious = Files.writeString(folder.resolve("precious"), "PRECIOUS");
        try (LogFile full = new LogFile(log, 100)) {
            full.write("INFO", "here", "first");
            Files.delete(log);
            Files.createLink(log, precious);
            full.write("INFO", "here", "second line, for which the file has no room");
        }
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(logged.lines()).anySatisfy(line -> assertThat(line).contains("no more lines in ", "other names"));
        Files.delete(log);
        Files.createSymbolicLink(log, precious);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThatThrownBy(() -> new LogFile(log, 100)).hasMessageContaining("where others may exchange it");
        Files.delete(log);
        Files.move(precious, log); // as a hard link whose other name has gone
        assertThatThrownBy(() -> new LogFile(log, 100)).hasMessageContaining("where all others may exchange it");
        assertThat(log).hasContent("PRECIOUS");
    }

    @Test
    void fileHasLinesOfNvidiasFormat() throws IOException {
        useIt(logging("TRACE"));
        assertThat(lines())
                .allMatch(line -> line.matches(LINE))
                .anyMatch(line -> line.contains(" INFO  ") && line.contains("driver open"))
                .anyMatch(line -> line.contains(" DEBUG  ") && line.contains("cuFileHandleRegister path=/"))
                .anyMatch(
                        line -> line.contains(" TRACE  ") && line.contains("cuFileRead") && line.contains("size=4096"))
                .anyMatch(line -> line.contains(" ERROR  ") && line.contains("EIO"))
                .anyMatch(line -> line.contains(" INFO  ") && line.contains("driver closed: bytes by path"));
    }

    @Test
    void fileHasNvidiasFormatInALocaleWithDigitsOfItsOwn() throws IOException {
        Locale own = Locale.getDefault();
        Locale.setDefault(Locale.of("ar", "EG"));
        try {
            useIt(logging("TRACE"));
        } finally {
            Locale.setDefault(own);
        }
        assertThat(lines()).hasSizeGreaterThan(5)
                .allMatch(line -> line.matches(LINE))
                .allMatch(line -> line.chars().allMatch(c -> c < 128))
                .anyMatch(line -> line.contains("size=4096"));
    }

    @ParameterizedTest
    @CsvSource({"DEBUG, TRACE", "INFO, DEBUG", "ERROR, INFO", "NOTICE, ERROR"})
    void levelLetsThroughItselfAndWhatIsMoreImportant(String level, String below) throws IOException {
        useIt(logging(level));
        assertThat(lines()).noneMatch(line -> line.contains(" " + below + "  "));
        if (!level.equals("NOTICE")) {
            assertThat(lines()).anyMatch(line -> line.contains(" " + level + "  "));
        }
    }

    @Test
    void loggerGetsTheSameLinesAtLevelsThatAreOffByDefault() {
        useIt(logging("TRACE"));
        assertThat(logged.records()).noneMatch(record -> record.getLevel().intValue() >= Level.INFO.intValue());
        assertThat(logged.records())
                .anyMatch(record -> record.getLevel() == Level.FINE && record.getMessage().contains("driver open"))
                .anyMatch(
                        record -> record.getLevel() == Level.FINER && record.getMessage().contains("cuFileRead path"));
    }

    @Test
    void nothingIsLoggedByDefault() {
        useIt(builder -> {
        });
        assertThat(logged.records()).isEmpty();
        assertThat(folder).isEmptyDirectory();
        assertThat(Path.of("cufile.log")).doesNotExist();
    }

    @Test
    void logFileByNameOutranksTheFolder() throws IOException {
        Path named = folder.resolve("other.log");
        CuFileConfig config = CuFileConfig.builder()
                .environment(Map.of("CUFILE_LOGFILE_PATH", named.toString()))
                .set(CuFileKeys.LOGGING_LEVEL, "INFO")
                .build();
        try (SessionLog log = SessionLog.open(config)) {
            log.log(SessionLog.Severity.INFO, "here");
        }
        assertThat(Files.readString(named)).contains("INFO  gds4j-SessionLogTest:").endsWith(" here\n");
    }

    @Test
    void logFileStartsAgainAtItsLargestSize() throws IOException {
        try (Rig rig = Rig.onHost(logging("TRACE").andThen(
                builder -> builder.set(CuFileKeys.LOGGING_MAX_FILE_SIZE_MB, 1L)));
                CuFileHandle handle = rig.open(rig.file(SIZE))) {
            GuardedMemory memory = rig.host(SIZE);
            for (int i = 0; i < 9000; i++) {
                handle.read(memory.range(), 1, 0, 0);
            }
            assertThat(Files.size(folder.resolve("cufile.log"))).isBetween(1L, 1L << 20);
        }
        assertThat(lines()).allMatch(line -> line.matches(LINE));
        assertThat(lines().getLast()).contains("driver closed");
    }

    @Test
    void folderThatIsNotThereIsAWarningAndNoFailure() {
        useIt(builder -> builder.set(CuFileKeys.LOGGING_DIR, folder.resolve("absent").toString()));
        assertThat(logged.records()).singleElement().satisfies(record -> {
            assertThat(record.getLevel()).isEqualTo(Level.WARNING);
            assertThat(record.getMessage()).contains("no log file").contains("absent");
        });
    }

    @Test
    void pathThatTheLocaleCannotNameIsAWarningAndNoFailure() {
        String loneSurrogate = folder + "/\ud800";
        useIt(builder -> builder.set(CuFileKeys.LOGGING_DIR, loneSurrogate));
        assertThat(logged.records()).singleElement().satisfies(record -> {
            assertThat(record.getLevel()).isEqualTo(Level.WARNING);
            assertThat(record.getMessage()).contains("no log file");
        });
        CuFileConfig config = CuFileConfig.builder().environment(Map.of("CUFILE_LOGFILE_PATH", loneSurrogate)).build();
        SessionLog.open(config).close();
    }

    @Test
    void interruptedThreadLogsOn() throws IOException {
        try (Rig rig = Rig.onHost(logging("DEBUG"))) {
            Thread.currentThread().interrupt();
            try {
                rig.open(rig.file(SIZE)).close();
            } finally {
                assertThat(Thread.interrupted()).isTrue();
            }
            rig.open(rig.file(SIZE)).close();
        }
        assertThat(lines()).filteredOn(line -> line.contains("cuFileHandleRegister")).hasSize(2);
    }
}
