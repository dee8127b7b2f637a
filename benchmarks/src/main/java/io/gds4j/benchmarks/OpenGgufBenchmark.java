package io.gds4j.benchmarks;

import io.gds4j.loader.Checkpoint;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Opening a GGUF file with the vocabulary of a current model: tokens, scores and types, and 340 tensors. The goal is 30 ms on one
 * core of a warm JVM, and 4 MB of allocation ({@code -prof gc}).
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class OpenGgufBenchmark {
    private static final int UINT32 = 4;
    private static final int INT32 = 5;
    private static final int FLOAT32 = 6;
    private static final int STRING = 8;
    private static final int ARRAY = 9;
    private static final int Q8_0 = 8;
    private static final int TENSORS = 340;
    private static final long ROW = 4096;
    private static final long TENSOR_BYTES = ROW * ROW / 32 * 34;

    @Param("260000")
    private int tokens;

    private Path file = Path.of("");

    /** Writes the file; its data is a hole. */
    @Setup
    public void write() throws IOException {
        file = Files.createTempFile("gds4j-open", ".gguf");
        ByteBuffer out = ByteBuffer.allocate(64 << 20).order(ByteOrder.LITTLE_ENDIAN);
        out.put("GGUF".getBytes(StandardCharsets.US_ASCII)).putInt(3).putLong(TENSORS).putLong(6);
        text(key(out, "general.architecture", STRING), "llama");
        key(out, "llama.block_count", UINT32).putInt(32);
        text(key(out, "tokenizer.chat_template", STRING), "{% for message in messages %}".repeat(200));
        key(out, "tokenizer.ggml.tokens", ARRAY).putInt(STRING).putLong(tokens);
        for (int i = 0; i < tokens; i++) {
            text(out, "▁token" + i);
        }
        key(out, "tokenizer.ggml.scores", ARRAY).putInt(FLOAT32).putLong(tokens);
        out.position(out.position() + tokens * Float.BYTES);
        key(out, "tokenizer.ggml.token_type", ARRAY).putInt(INT32).putLong(tokens);
        out.position(out.position() + tokens * Integer.BYTES);
        for (int i = 0; i < TENSORS; i++) {
            text(out, "blk." + i + ".ffn_down.weight").putInt(2).putLong(ROW).putLong(ROW).putInt(Q8_0)
                    .putLong(i * TENSOR_BYTES);
        }
        int header = out.flip().remaining();
        try (RandomAccessFile to = new RandomAccessFile(file.toFile(), "rw")) {
            to.write(out.array(), 0, header);
            to.setLength((header + 31 & -32) + TENSORS * TENSOR_BYTES);
        }
    }

    private static ByteBuffer key(ByteBuffer out, String key, int type) {
        return text(out, key).putInt(type);
    }

    private static ByteBuffer text(ByteBuffer out, String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        return out.putLong(utf8.length).put(utf8);
    }

    /** Deletes the file. */
    @TearDown
    public void delete() throws IOException {
        Files.delete(file);
    }

    /** Opens the file and checks its header. */
    @Benchmark
    public Checkpoint open() {
        return Checkpoint.open(file);
    }
}
