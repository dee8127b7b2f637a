package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Two processes write alternate records of 1000 bytes, so records of both share pages. Each write locks the whole pages that it
 * touches (topic 18). The second process runs this program, too.
 */
final class RangeLocks {
    private static final int RECORD = 1000;
    private static final int RECORDS = 400;
    private static final long PAGE = 4096;
    private static final String LESSON = "Unaligned direct writes of two processes need a lock on whole pages,"
            + " from the offset rounded down to the end rounded up; threads of one process need no lock.";

    private RangeLocks() {
    }

    /** Runs the sample; with a file and {@code odd BACKEND} as arguments it is the second process. */
    public static void main(String[] args) throws Exception {
        if (args.length == 3 && args[1].equals("odd")) {
            try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.load(), args[2]);
                    MemoryAllocation memory =
                            driver.allocator().allocate(MemoryKind.HOST, RECORD)) {
                write(driver, Path.of(args[0]), memory, 1);
            }
        } else {
            SampleMain.run(RangeLocks::run, args);
        }
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        Path path = Files.createFile(arguments.folder().resolve("records"));
        try (CuFileDriver driver = arguments.openDriver();
                MemoryAllocation memory = arguments.allocate(driver, RECORD)) {
            Process other = new ProcessBuilder(command(path, arguments.backend())).inheritIO().start();
            long start = System.nanoTime();
            long bytes;
            try {
                bytes = write(driver, path, memory, 0);
            } catch (IOException | RuntimeException e) {
                other.destroyForcibly().waitFor();
                throw e;
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            int status = other.waitFor();
            arguments.say("this process wrote the even records, another the odd ones (exit status %d)", status);

            byte[] expected = new byte[RECORD * RECORDS];
            for (int i = 0; i < RECORDS; i++) {
                Arrays.fill(expected, i * RECORD, (i + 1) * RECORD, (byte) i);
            }
            boolean verified = status == 0 && Arrays.equals(Files.readAllBytes(path), expected);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private static long write(CuFileDriver driver, Path path, MemoryAllocation memory, int first) throws IOException {
        long bytes = 0;
        try (FileChannel locks = FileChannel.open(path, READ, WRITE);
                CuFileHandle file = driver.openFile(path, READ, WRITE, CuFileOpenOption.DIRECT)) {
            for (int i = first; i < RECORDS; i += 2) {
                driver.allocator().fill(memory.range(), (byte) i);
                long offset = (long) i * RECORD;
                long begin = Math.floorDiv(offset, PAGE) * PAGE;
                long end = Math.ceilDiv(offset + RECORD, PAGE) * PAGE;
                try (FileLock _ = locks.lock(begin, end - begin, false)) {
                    bytes += file.write(memory.range(), offset);
                }
            }
        }
        return bytes;
    }

    private static List<String> command(Path path, String backend) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), RangeLocks.class.getName()));
        command.addAll(List.of(path.toAbsolutePath().toString(), "odd", backend));
        return command;
    }
}
