package io.gds4j.loader.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.loader.Checkpoint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Files that libraries of Python wrote, with the digests that they computed; see dev/formats_gpu.py. */
class LibraryFilesTest {
    private static final Path FOLDER = Path.of("src/test/resources/io/gds4j/loader/libraries");

    private static Map<String, List<String[]>> expected() throws IOException {
        return Files.readAllLines(FOLDER.resolve("expected.txt")).stream()
                .filter(line -> !line.startsWith("#"))
                .map(line -> line.split("; "))
                .collect(Collectors.groupingBy(fields -> fields[0]));
    }

    private static String sha256(TensorInfo tensor) throws IOException, NoSuchAlgorithmException {
        try (FileChannel file = FileChannel.open(tensor.file())) {
            ByteBuffer bytes = ByteBuffer.allocate((int) tensor.length());
            assertThat(file.read(bytes, tensor.fileOffset())).isEqualTo((int) tensor.length());
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.array()));
        }
    }

    @Test
    void tensorsHaveTheDigestsOfTheirLibraries() throws Exception {
        int tensors = 0;
        for (Map.Entry<String, List<String[]>> file : expected().entrySet()) {
            if (file.getValue().getFirst()[1].equals("!")) {
                continue;
            }
            Checkpoint checkpoint = Checkpoint.open(FOLDER.resolve(file.getKey()));
            Map<String, TensorInfo> found = checkpoint.tensors();
            List<String[]> lines = file.getValue().stream().filter(fields -> !fields[1].equals("?")).toList();
            assertThat(found.keySet()).as(file.getKey())
                    .containsExactlyInAnyOrderElementsOf(lines.stream().map(fields -> fields[1]).toList());
            for (String[] warning : file.getValue().stream().filter(fields -> fields[1].equals("?")).toList()) {
                assertThat(checkpoint.warnings()).as(file.getKey())
                        .anySatisfy(line -> assertThat(line).contains(warning[2]));
            }
            for (String[] fields : lines) {
                TensorInfo tensor = found.get(fields[1]);
                String what = file.getKey() + ": " + fields[1];
                if (!fields[2].equals("?")) {
                    assertThat(tensor.dtype().id()).as(what).isEqualTo(fields[2]);
                }
                assertThat(tensor.shape().toString()).as(what).isEqualTo(fields[3]);
                if (tensor.length() > 0) {
                    assertThat(sha256(tensor)).as(what).isEqualTo(fields[4]);
                }
                tensors++;
            }
        }
        assertThat(tensors).isGreaterThan(80);
    }

    @Test
    void filesThatAreNotReadAreRefusedByName() throws IOException {
        for (List<String[]> file : expected().values()) {
            String[] fields = file.getFirst();
            if (fields[1].equals("!")) {
                Path path = FOLDER.resolve(fields[0]);
                CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
                assertThat(e).as(fields[0]).isNotNull();
                assertThat(e.getMessage()).contains(fields[2]);
            }
        }
    }
}
