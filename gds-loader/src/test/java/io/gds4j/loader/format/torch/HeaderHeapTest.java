package io.gds4j.loader.format.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.ZipBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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

    /** Opens files in a small heap and prints the rule that each breaks. */
    static final class Child {
        private Child() {
        }

        public static void main(String[] files) {
            for (String file : files) {
                try {
                    System.out.println("opened " + Checkpoint.open(Path.of(file)).tensors().size());
                } catch (CheckpointException e) {
                    System.out.println(e.rule().variant());
                }
            }
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
        assertThat(end.output().lines()).containsExactly("PickleLimit", "PickleLimit", "PickleLimit", "PickleLimit",
                "PickleLimit", "HeaderLimit", "HeaderLimit", "HeaderLimit", "opened 10000");
    }
}
