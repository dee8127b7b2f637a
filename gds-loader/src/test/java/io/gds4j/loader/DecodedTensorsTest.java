package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Decoded tensors beside gguf-py and PyTorch: decoded.py wrote digests of what these libraries decode from the same bytes. */
class DecodedTensorsTest {
    private static final Path FILE = Path.of("model.gguf");
    /** Values of a scale that are easily decoded wrong: zeros, infinities, NaN, the least and the greatest ones. */
    private static final int[] SPECIALS = {
            0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x8001, 0x7bff, 0x03ff, 0x3c00
    };
    private static final Map<String, DType> BLOCKS = Map.ofEntries(
            block("Q4_0", 32, 18), block("Q4_1", 32, 20), block("Q5_0", 32, 22), block("Q5_1", 32, 24),
            block("Q8_0", 32, 34), block("Q2_K", 256, 84), block("Q3_K", 256, 110), block("Q4_K", 256, 144),
            block("Q5_K", 256, 176), block("Q6_K", 256, 210), block("IQ4_NL", 32, 18), block("MXFP4", 32, 17));

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(FakeGpu.builder().devices(1).bytesPerDevice(1 << 20).build());

    @TempDir
    Path folder;

    private static Map.Entry<String, DType> block(String id, int elements, int bytes) {
        return Map.entry(id, new DType(id, elements, bytes));
    }

    private static DType type(String id) {
        return DType.of(id).orElseGet(() -> BLOCKS.get(id));
    }

    private static Stream<DType> decodedTypes() throws Exception {
        return golden().map(line -> type(line.substring(0, line.indexOf(' ')))).distinct();
    }

    private static Stream<String> golden() throws Exception {
        return Files.readAllLines(resource("decoded.txt")).stream();
    }

    private static Path resource(String name) throws Exception {
        return Path.of(DecodedTensorsTest.class.getResource(name).toURI());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    static byte[] random(String name, int seed, int length) {
        ByteBuffer out = ByteBuffer.allocate(length + 32);
        for (int i = 0; out.position() < length; i++) {
            out.put(sha256().digest("%s %d %d".formatted(name, seed, i).getBytes(StandardCharsets.US_ASCII)));
        }
        return Arrays.copyOf(out.array(), length);
    }

    /** Makes what decoded.py makes: each byte, blocks of each byte, special scales and random bytes. */
    private static byte[] content(DType type, int seed) {
        int size = type.blockBytes();
        ByteBuffer out = ByteBuffer.allocate(1 << 18).order(ByteOrder.LITTLE_ENDIAN);
        if (type.blockElements() == 1) {
            for (int i = 0; i < 256; i++) {
                out.put((byte) i);
            }
            for (int i = 0; i < 65536; i++) {
                out.putShort((short) i);
            }
            out.put(random(type.id(), seed, 4096));
        } else {
            for (int i = 0; i < 256 * size; i++) {
                out.put((byte) (i / size));
            }
            ByteBuffer rest = ByteBuffer.wrap(random(type.id(), seed, size * 128)).order(ByteOrder.LITTLE_ENDIAN);
            byte[] choices = random(type.id(), seed + 1000, 256);
            int[] places = {0, 2, size - 4, size - 2};
            for (int i = 0; i < 64 * places.length; i++) {
                int at = i / places.length * size + places[i % places.length];
                rest.putShort(at, (short) SPECIALS[(choices[i] & 0xff) % SPECIALS.length]);
            }
            out.put(rest);
        }
        return Arrays.copyOf(out.array(), out.position());
    }

    private static LoadedTensor tensor(DType type, byte[] content) {
        return tensor(type, content, content.length / type.blockBytes() * (long) type.blockElements());
    }

    private static LoadedTensor tensor(DType type, byte[] content, long... shape) {
        // an odd address, as a tensor may have in a file
        MemorySegment memory = Arena.ofAuto().allocate(content.length + 1, 16).asSlice(1);
        MemorySegment.copy(content, 0, memory, ValueLayout.JAVA_BYTE, 0, content.length);
        return tensor(type, memory, shape);
    }

    private static LoadedTensor tensor(DType type, MemorySegment memory, long... shape) {
        TensorInfo info = new TensorInfo(
                "w", type, Arrays.stream(shape).boxed().toList(), FILE, 64, memory.byteSize());
        return new LoadedTensor(info, MemoryRange.ofSegment(memory));
    }

    private static byte[] bits(float[] floats) {
        ByteBuffer bits = ByteBuffer.allocate(floats.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : floats) {
            bits.putInt(Float.floatToIntBits(value));
        }
        return bits.array();
    }

    @ParameterizedTest
    @MethodSource("golden")
    void everyTypeIsDecodedAsByTheLibraryThatDefinesIt(String line) {
        String[] words = line.split(" ");
        DType type = type(words[0]);
        float[] floats = tensor(type, content(type, Integer.parseInt(words[1]))).toFloatArray();

        assertThat(HexFormat.of().formatHex(sha256().digest(bits(floats)))).isEqualTo(words[2]);
    }

    @ParameterizedTest
    @MethodSource("decodedTypes")
    void partsBeginAndEndAnywhere(DType type) {
        LoadedTensor tensor = tensor(type, content(type, 1));
        float[] all = tensor.toFloatArray();
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < 200; i++) {
            int count = random.nextInt(random.nextBoolean() ? 600 : all.length + 1);
            int first = random.nextInt(all.length - count + 1);
            int at = random.nextInt(5);
            float[] to = new float[at + count + 3];
            Arrays.fill(to, 42);
            tensor.copyFloats(first, to, at, count);

            float[] expected = new float[to.length];
            Arrays.fill(expected, 42);
            System.arraycopy(all, first, expected, at, count);
            assertThat(Arrays.equals(to, expected))
                    .as("%s elements from %s at %s, seed %s", count, first, at, seed).isTrue();
        }
    }

    /** Signalling NaNs and payloads pass, because nothing computes with them. */
    @Test
    void longFloatsKeepTheirBits() {
        int[] bits = {0x7f800001, 0xffa00000, 0x7fc12345, 0x80000000, 0x00000001};
        ByteBuffer f32 = ByteBuffer.allocate(20).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer bf16 = ByteBuffer.allocate(10).order(ByteOrder.LITTLE_ENDIAN);
        for (int one : bits) {
            f32.putInt(one);
            bf16.putShort((short) (one >> 16));
        }
        float[] decoded = tensor(DType.F32, f32.array()).toFloatArray();
        float[] halves = tensor(DType.BF16, bf16.array()).toFloatArray();
        for (int i = 0; i < bits.length; i++) {
            assertThat(Float.floatToRawIntBits(decoded[i])).isEqualTo(bits[i]);
            assertThat(Float.floatToRawIntBits(halves[i])).isEqualTo(bits[i] & 0xffff0000);
        }
    }

    @Test
    void partBeyondTheTensorOrTheArrayIsRefused() {
        LoadedTensor tensor = tensor(BLOCKS.get("Q4_0"), new byte[36]);
        long[][] parts = {
                {-1, 0, 1}, {0, -1, 1}, {0, 0, -1}, {64, 0, 1}, {1, 0, 64}, {0, 97, 4}, {Long.MAX_VALUE, 0, 1},
                {0, Integer.MAX_VALUE, 1}, {0, 0, Integer.MAX_VALUE}, {Long.MIN_VALUE, 0, 1}
        };
        float[] to = new float[100];
        for (long[] part : parts) {
            CuFileException e = catchThrowableOfType(
                    CuFileException.class, () -> tensor.copyFloats(part[0], to, (int) part[1], (int) part[2]));
            assertThat(e).as(Arrays.toString(part)).isNotNull();
            assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(e).hasMessageContaining("tensor 'w' has 64 elements");
        }
        tensor.copyFloats(64, to, 100, 0);
        tensor(BLOCKS.get("Q4_0"), new byte[0]).copyFloats(0, to, 0, 0);
        assertThat(to).containsOnly(0);
    }

    @Test
    void typesWithoutDecoderNameTheirBlocks() {
        LoadedTensor blocks = tensor(new DType("IQ1_S", 256, 50), new byte[50]);
        CuFileException view = catchThrowableOfType(CuFileException.class, blocks::asFloatBuffer);
        CuFileException array = catchThrowableOfType(CuFileException.class, blocks::toFloatArray);
        // a foreign type that has only the name of a known one
        LoadedTensor foreign = tensor(new DType("Q4_0", 64, 34), new byte[34]);

        assertThat(view).hasMessageContaining("segment() has the elements, in blocks of 256 elements and 50 bytes");
        assertThat(array).hasMessageContaining("IQ1_S, which is not decoded to floats; segment() has its elements");
        assertThat(catchThrowableOfType(CuFileException.class, foreign::toFloatArray)).isNotNull();
        assertThat(catchThrowableOfType(
                CuFileException.class, tensor(BLOCKS.get("Q6_K"), new byte[210])::asFloatBuffer))
                .hasMessageContaining("toFloatArray() decodes this type");
    }

    @Test
    void partsReachBeyondArrays() throws IOException {
        long elements = ((1L << 31) / 5 + 3000) * 5;
        try (Arena arena = Arena.ofConfined();
                RandomAccessFile file = new RandomAccessFile(folder.resolve("large").toFile(), "rw")) {
            file.setLength(elements);
            file.seek(elements - 2);
            file.write(0x38);
            LoadedTensor tensor = tensor(
                    DType.F8_E4M3, file.getChannel().map(MapMode.READ_ONLY, 0, elements, arena), elements / 5, 5);
            float[] part = new float[5];

            tensor.copyFloats(elements - 5, part, 0, 5);
            assertThat(part).containsExactly(0, 0, 0, 1, 0);
            assertThat(tensor.row(elements / 5 - 1).toFloatArray()).containsExactly(part);
            assertThat(catchThrowableOfType(CuFileException.class, tensor::toFloatArray))
                    .hasMessageContaining("more than an array may have");
        }
    }

    @Test
    void rowIsAViewWithThePlaceInTheFile() {
        DType type = BLOCKS.get("Q4_0");
        byte[] content = random("rows", 1, 3 * 2 * 18);
        LoadedTensor matrix = tensor(type, content, 3, 64);
        LoadedTensor cube = tensor(type, content, 3, 2, 32);
        float[] all = matrix.toFloatArray();

        assertThat(matrix.row(2).toFloatArray()).containsExactly(Arrays.copyOfRange(all, 128, 192));
        assertThat(cube.row(1).row(1).toFloatArray()).containsExactly(Arrays.copyOfRange(all, 96, 128));
        assertThat(cube.row(1).shape()).containsExactly(2L, 32L);
        assertThat(matrix.row(2).info()).isEqualTo(new TensorInfo("w", type, List.of(64L), FILE, 64 + 72, 36));
        assertThat(matrix.row(2).segment().mismatch(matrix.segment().asSlice(72))).isEqualTo(-1);
        assertThat(tensor(DType.F32, new byte[12], 3).row(1).shape()).isEmpty();
        assertThat(tensor(DType.F32, new byte[0], 3, 0).row(2).toFloatArray()).isEmpty();
    }

    @Test
    void rowsThatDoNotExistAreRefused() {
        LoadedTensor matrix = tensor(BLOCKS.get("Q4_0"), new byte[54], 3, 32);
        // 6 rows of 16 elements: every second one begins within a block
        LoadedTensor halves = tensor(BLOCKS.get("Q4_0"), new byte[54], 6, 16);
        LoadedTensor scalar = tensor(DType.F32, new byte[4], new long[0]);
        LoadedTensor transposed = new LoadedTensor(
                new TensorInfo("w", DType.F32, List.of(2L, 3L), FILE, 0, 24, DimensionOrder.columnMajor(2)),
                MemoryRange.ofSegment(Arena.ofAuto().allocate(24)));

        assertThat(catchThrowableOfType(CuFileException.class, () -> matrix.row(3)))
                .hasMessageContaining("tensor 'w' of shape [3, 32] has no row 3");
        assertThat(catchThrowableOfType(CuFileException.class, () -> matrix.row(-1))).isNotNull();
        assertThat(catchThrowableOfType(CuFileException.class, () -> scalar.row(0))).isNotNull();
        assertThat(catchThrowableOfType(CuFileException.class, () -> halves.row(1)))
                .hasMessageContaining("has rows that do not begin with a block");
        assertThat(catchThrowableOfType(CheckpointException.class, () -> transposed.row(0)).rule())
                .isEqualTo(CheckpointRule.TENSOR_ORDER);
        assertThat(catchThrowableOfType(CheckpointException.class, () -> transposed.copyFloats(0, new float[1], 0, 1)))
                .isNotNull();
    }

    @Test
    void tensorsOnAGpuAreDecodedInParts() throws Exception {
        Checkpoint checkpoint = Checkpoint.open(resource("gguf-py.gguf"));
        try (LoadedTensors onGpu = checkpoint.plan().toBest(gds.driver()).load(gds.driver())) {
            for (DType type : BLOCKS.values()) {
                LoadedTensor tensor = onGpu.get("t." + type.id());
                float[] expected = tensor.toHost().toFloatArray();
                float[] part = new float[type.blockElements() + 3];
                int first = type.blockElements() - 2;
                tensor.copyFloats(first, part, 0, part.length);

                assertThat(tensor.range().segment()).isEmpty();
                assertThat(tensor.dtype()).isEqualTo(type);
                assertThat(part).containsExactly(Arrays.copyOfRange(expected, first, first + part.length));
                assertThat(tensor.row(1).toFloatArray()).containsExactly(
                        Arrays.copyOfRange(expected, expected.length / 3, expected.length / 3 * 2));
                assertThat(tensor.toFloatArray()).containsExactly(expected);
            }
        }
    }
}
