package io.gds4j.loader.format.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.ZipBytes;
import io.gds4j.loader.format.onnx.OnnxBytes;
import io.gds4j.loader.internal.text.Tiling;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Headers whose content does not fit into a small heap are refused, and leave the heap usable. */
@Tag("slow")
class HeaderHeapTest {
    private static final int MIB = 1 << 20;

    @TempDir
    Path folder;

    /** Opens files in a small heap and prints the rule that each breaks, and why. */
    static final class Child {
        private Child() {
        }

        public static void main(String[] files) {
            for (String file : files) {
                try {
                    System.out.println("opened " + Checkpoint.open(Path.of(file)).tensors().size());
                } catch (CheckpointException e) {
                    System.out.println(e.rule().variant() + ": " + e.detail());
                }
            }
        }
    }

    /** Checks parts of a tensor that overlap and have no corner in common, as many as may be checked, and one more. */
    static final class Parts {
        private Parts() {
        }

        public static void main(String[] none) {
            List<Long> shape = Collections.nCopies(8, 1L << 40);
            List<Tiling.Box> boxes = new ArrayList<>();
            for (long i = 0; i < 2048; i++) {
                boxes.add(new Tiling.Box(Collections.nCopies(8, 1000 * i), Collections.nCopies(8, (1L << 20) + i)));
            }
            System.out.println(Tiling.fault(shape, boxes).orElseThrow());
            boxes.add(boxes.getFirst());
            System.out.println(Tiling.fault(shape, boxes).orElseThrow());
        }
    }

    private static byte[] torch(byte[] pickle) {
        ZipBytes zip = ZipBytes.asTorch();
        zip.add("archive/data.pkl", pickle);
        zip.add("archive/version", "3\n".getBytes(StandardCharsets.US_ASCII));
        return zip.finish();
    }

    private static byte[] repeated(int opcode, int count, int... before) {
        PickleBytes pickle = new PickleBytes().op(before);
        for (int i = 0; i < count; i++) {
            pickle.op(opcode);
        }
        return torch(pickle.op('t').end());
    }

    private static byte[] texts(int count) {
        PickleBytes pickle = new PickleBytes().op('(');
        for (int i = 0; i < count; i++) {
            pickle.text("a".repeat(MIB));
        }
        return torch(pickle.op('t').end());
    }

    private static byte[] safetensors(String first, String each, int count) {
        StringBuilder header = new StringBuilder(first);
        for (int i = 0; i < count; i++) {
            header.append(i == 0 ? "" : ",").append(each.replace("#", Integer.toString(i)));
        }
        byte[] json = header.append("}").append("}".repeat((int) first.chars().filter(c -> c == '{').count() - 1))
                .toString().getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(8 + json.length).order(ByteOrder.LITTLE_ENDIAN).putLong(json.length).put(json)
                .array();
    }

    private static byte[] index(int count) {
        StringBuilder text = new StringBuilder("{\"weight_map\":{");
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : ",").append('"').append(i).append("\":\"").append(i).append(".s\"");
        }
        return text.append("}}").toString().getBytes(StandardCharsets.UTF_8);
    }

    /** A tensor without elements, whose 64 dimensions are large. */
    private static long[] manyDimensions() {
        long[] shape = new long[64];
        Arrays.setAll(shape, i -> i == 0 ? 0 : 1000 + i);
        return shape;
    }

    /** Tensors of many dimensions, which are one value of the pickle. */
    private static byte[] alike(int count) {
        PickleBytes pickle = new PickleBytes().op('}', '(').text("0")
                .tensor("torch.FloatStorage", "0", 0, 0, manyDimensions(), manyDimensions()).op('q', 0);
        for (int i = 1; i < count; i++) {
            pickle.text(Integer.toString(i)).op('h', 0);
        }
        ZipBytes zip = ZipBytes.asTorch();
        zip.add("archive/data.pkl", pickle.op('u').end());
        zip.add("archive/data/0", new byte[0]);
        zip.add("archive/version", "3\n".getBytes(StandardCharsets.US_ASCII));
        return zip.finish();
    }

    /** A distributed checkpoint with tensors of many dimensions, which share the value that describes them. */
    private static byte[] describedAlike(int count) {
        byte[] one = new DistcpBytes().described("0", manyDimensions()).metadata();
        ByteBuffer all = ByteBuffer.allocate(one.length + count * 12);
        int storage = new String(one, StandardCharsets.ISO_8859_1).indexOf("uX\f\0\0\0storage_data");
        assertThat(storage).isPositive();
        all.put(one, 0, storage).put((byte) 'q').put((byte) 0);
        for (int i = 1; i < count; i++) {
            byte[] name = Integer.toString(i).getBytes(StandardCharsets.US_ASCII);
            all.put((byte) 'X').put((byte) name.length).put(new byte[3]).put(name).put((byte) 'h').put((byte) 0);
        }
        all.put(one, storage, one.length - storage);
        return Arrays.copyOf(all.array(), all.position());
    }

    @Test
    void dimensionsOfTensorsCount() throws IOException {
        Path pickle = Files.write(folder.resolve("alike.pt"), alike(20_000));
        Path metadata = Files.write(folder.resolve(".metadata"), describedAlike(20_000));
        OnnxBytes[] tensors = new OnnxBytes[15_000];
        Arrays.setAll(tensors, i -> OnnxBytes.tensor(Integer.toString(i), 1, manyDimensions()));
        Path onnx = Files.write(folder.resolve("dimensions.onnx"), OnnxBytes.model(tensors));
        ChildJvm.End end = new ChildJvm(Child.class, folder, Checkpoint.class, Child.class).with("-Xmx32m")
                .run(pickle.toString(), metadata.toString(), onnx.toString());
        assertThat(end.output().lines()).hasSize(3).allSatisfy(
                line -> assertThat(line).contains(": what the header describes needs more than"));
    }

    @Test
    void cornersOfPartsFitASmallHeap() throws IOException {
        ChildJvm.End end = new ChildJvm(Parts.class, folder, Checkpoint.class, Parts.class).with("-Xmx80m").run();
        assertThat(end.output().lines()).satisfiesExactly(
                gap -> assertThat(gap).startsWith("is incomplete: no file has [0:"),
                excess -> assertThat(excess).isEqualTo(
                        "is cut in 8 dimensions into 2049 parts; these have more than 524288 corners"));
    }

    @Test
    void headersThatDoNotFitAreRefusedInASmallHeap() throws IOException {
        Map<String, byte[]> files = new TreeMap<>(Map.of(
                "a-memo.pt", repeated(0x94, MIB, '(', 'N'),
                "b-lists.pt", repeated(']', MIB, '('),
                "c-constants.pt", repeated('N', 2 * MIB, '('),
                "d-marks.pt", repeated('(', 2 * MIB),
                "e-texts.pt", texts(20),
                "f-tensors.safetensors", safetensors("{",
                        "\"#\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", 120_000),
                "g-metadata.safetensors", safetensors("{\"__metadata__\":{", "\"#\":\"\"", 250_000),
                "h-many.safetensors.index.json", index(500_000),
                "z-good.safetensors", safetensors("{", "\"#\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                        10_000)));
        List<String> paths = new ArrayList<>();
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            paths.add(Files.write(folder.resolve(file.getKey()), file.getValue()).toString());
        }
        ChildJvm.End end = new ChildJvm(Child.class, folder, Checkpoint.class, Child.class).with("-Xmx64m")
                .run(paths.toArray(String[]::new));
        assertThat(end.error()).doesNotContain("OutOfMemoryError");
        assertThat(end.output().lines().map(line -> line.replaceFirst(":.*", ""))).containsExactly("PickleLimit",
                "PickleLimit", "PickleLimit", "PickleLimit",
                "PickleLimit", "HeaderLimit", "HeaderLimit", "HeaderLimit", "opened 10000");
    }
}
