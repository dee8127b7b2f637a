package io.gds4j.loader.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorDigest;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

    /** Returns the digests of loaded tensors: bytes in the order of the file, those of several parts as one. */
    private static Map<String, String> digests(Checkpoint checkpoint, CuFileDriver driver) {
        if (checkpoint.tensors().isEmpty()) {
            return Map.of();
        }
        try (LoadedTensors all = checkpoint.plan().to(MemoryKind.HOST).load(driver)) {
            return TensorDigest.sha256(all);
        }
    }

    @Test
    void tensorsHaveTheDigestsOfTheirLibraries() throws IOException {
        int tensors = 0;
        try (CuFileDriver driver = CuFileDriver.open()) {
            for (Map.Entry<String, List<String[]>> file : expected().entrySet()) {
                tensors +=
                        file.getValue().getFirst()[1].equals("!") ? 0 : check(file.getKey(), file.getValue(), driver);
            }
        }
        assertThat(tensors).isGreaterThan(90);
    }

    private static int check(String file, List<String[]> expected, CuFileDriver driver) {
        Checkpoint checkpoint = Checkpoint.open(FOLDER.resolve(file));
        Map<String, TensorInfo> found = checkpoint.tensors();
        List<String[]> lines = expected.stream().filter(fields -> !fields[1].equals("?")).toList();
        assertThat(found.keySet()).as(file)
                .containsExactlyInAnyOrderElementsOf(lines.stream().map(fields -> fields[1]).toList());
        Map<String, String> digests = digests(checkpoint, driver);
        for (String[] warning : expected.stream().filter(fields -> fields[1].equals("?")).toList()) {
            assertThat(checkpoint.warnings()).as(file)
                    .anySatisfy(line -> assertThat(line).contains(warning[2]));
        }
        for (String[] fields : lines) {
            TensorInfo tensor = found.get(fields[1]);
            String what = file + ": " + fields[1];
            if (!fields[2].equals("?")) {
                assertThat(tensor.dtype().id()).as(what).isEqualTo(fields[2]);
            }
            assertThat(tensor.shape().toString()).as(what).isEqualTo(fields[3]);
            if (tensor.length() > 0) {
                assertThat(digests.get(fields[1])).as(what).isEqualTo(fields[4]);
            }
        }
        return lines.size();
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
