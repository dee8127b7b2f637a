package io.gds4j.tools.records;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.dataset.LoaderState;
import io.gds4j.dataset.Remainder;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs that are killed (SIGKILL) in the middle of an epoch and come back with other ranks and batches. {@code -Dgds4j.property.seconds}
 * sets the number of histories, {@code -Dgds4j.property.seed} repeats a failure.
 */
@Tag("slow")
@Timeout(300)
class KilledRecordsTest {
    private static final int KILLS = 2;
    private static final int SHARDS = 3;
    private static final int RECORDS = 400 * SHARDS;
    /** The cache may hold a sixteenth above its limit, and a block of each reader of each rank. */
    private static final long MOST_CACHED = (16 << 20) * 17L / 16 + 4 * 2 * (8 << 20);

    @TempDir
    Path folder;

    private void writeShards() throws IOException {
        for (int shard = 0; shard < SHARDS; shard++) {
            ByteBuffer bytes =
                    ByteBuffer.allocate(RECORDS / SHARDS * RecordsChild.LENGTH).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < RECORDS / SHARDS; i++) {
                for (long offset = 0; offset < RecordsChild.LENGTH; offset += Long.BYTES) {
                    bytes.putLong(RecordsChild.word((long) shard * (RECORDS / SHARDS) + i, offset));
                }
            }
            Files.write(folder.resolve("shard" + shard), bytes.array());
        }
    }

    @Test
    void killedRunsOverRemoteShardsKeepTheirRule() throws Exception {
        writeShards();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            server.setExecutor(threads);
            server.createContext("/", this::answer);
            server.start();
            String base = "http://127.0.0.1:" + server.getAddress().getPort();
            long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
            for (long i = 0; i <= Long.getLong("gds4j.property.seconds", 0) / 10; i++) {
                Random random = new Random(seed + i);
                Remainder rule = i == 0 ? Remainder.PAD : Remainder.values()[random.nextInt(3)];
                String place = i == 0 || random.nextBoolean() ? base : folder.toString();
                try {
                    history(random, IntStream.range(0, SHARDS).mapToObj(k -> place + "/shard" + k).toList(), rule);
                } catch (Exception | AssertionError e) {
                    throw new AssertionError("%s, %s, seed %s".formatted(rule, place, seed + i), e);
                }
            }
            server.stop(0);
        }
        try (Stream<Path> blocks = Files.list(folder.resolve("cache"))) {
            assertThat(blocks.mapToLong(block -> block.toFile().length()).sum()).isBetween(1L, MOST_CACHED);
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange;
                FileChannel file = FileChannel.open(folder.resolve(exchange.getRequestURI().getPath().substring(1)))) {
            String[] range = exchange.getRequestHeaders().getFirst("Range").substring("bytes=".length()).split("-");
            long first = Long.parseLong(range[0]);
            long last = Math.min(Long.parseLong(range[1]), file.size() - 1);
            ByteBuffer bytes = ByteBuffer.allocate((int) (last - first + 1));
            while (bytes.hasRemaining() && file.read(bytes, first + bytes.position()) >= 0) {
                continue;
            }
            exchange.getResponseHeaders().set("Content-Range", "bytes %d-%d/%d".formatted(first, last, file.size()));
            exchange.getResponseHeaders().set("ETag", "\"1\"");
            exchange.sendResponseHeaders(206, bytes.capacity());
            exchange.getResponseBody().write(bytes.array());
        }
    }

    private void history(Random random, List<String> shards, Remainder rule) throws Exception {
        int[][] reads = new int[RecordsChild.EPOCHS][RECORDS];
        int block = random.nextBoolean() ? 0 : 1 + random.nextInt(60);
        int window = 1 + random.nextInt(5);
        String state = "";
        int uneven = 0;
        for (int life = 0; life <= KILLS; life++) {
            int world = 1 + random.nextInt(4);
            int batch = 5 + random.nextInt(20);
            uneven += world * batch - 1;
            List<String> arguments = new ArrayList<>(List.of(
                    Long.toString(random.nextLong()), rule.name(), Integer.toString(world), Integer.toString(batch),
                    Integer.toString(block), Integer.toString(window), state, folder.resolve("cache").toString()));
            arguments.addAll(shards);
            int batches = RECORDS / batch * RecordsChild.EPOCHS;
            state = live(arguments, life == KILLS ? Integer.MAX_VALUE : world + random.nextInt(batches / 2), reads);
        }
        for (int[] epoch : reads) {
            int missing = (int) IntStream.of(epoch).filter(count -> count == 0).count();
            int again = IntStream.of(epoch).map(count -> Math.max(0, count - 1)).sum();
            assertThat(missing).as("missing").isLessThanOrEqualTo(rule == Remainder.DROP ? uneven : 0);
            assertThat(again).as("read again").isLessThanOrEqualTo(rule == Remainder.PAD ? uneven : 0);
        }
    }

    /** Runs a process until it told a number of lines, kills it, and returns what all of its ranks saved. */
    private String live(List<String> arguments, int lines, int[][] reads) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                RecordsChild.class.getName()));
        command.addAll(arguments);
        Path errors = folder.resolve("errors");
        Process process = new ProcessBuilder(command).redirectError(Redirect.to(errors.toFile())).start();
        Map<Integer, String> states = new TreeMap<>();
        try (BufferedReader output = process.inputReader()) {
            for (int i = 0; i < lines; i++) {
                String line = output.readLine();
                if (line == null) {
                    break;
                }
                note(line, states, reads);
            }
            process.toHandle().destroyForcibly();
            output.lines().filter(line -> line.endsWith(RecordsChild.WHOLE)).forEach(line -> note(line, states, reads));
        }
        process.waitFor();
        assertThat(states).as(Files.readString(errors)).isNotEmpty();
        assertThat(Files.readString(errors)).doesNotContain("Exception", "Error");
        return LoaderState.merge(states.values().stream().map(LoaderState::parse).toList()).json();
    }

    private static void note(String line, Map<Integer, String> states, int[][] reads) {
        String[] words = line.split(" ");
        states.put(Integer.valueOf(words[0]), words[2]);
        for (String record : words[1].isEmpty() ? new String[0] : words[1].split(",")) {
            String[] numbers = record.split(":");
            reads[Integer.parseInt(numbers[0])][Integer.parseInt(numbers[1])]++;
        }
    }
}
