package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.MemoryFolder;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** More files than descriptors. */
@Tag("slow")
@Timeout(180)
class ManyFilesTest {
    private static final int FILES = 600;
    private static final int BYTES = 64;
    private static final String DESCRIPTORS = "256";

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    @Test
    void moreShardsThanDescriptorsAreLoadedVerifiedAndCopied() throws IOException {
        StringBuilder index = new StringBuilder("{\"weight_map\": {");
        for (int i = 0; i < FILES; i++) {
            String name = String.format(Locale.ROOT, "model-%05d-of-%05d.safetensors", i + 1, FILES);
            new SafetensorsWriter(folder.resolve(name))
                    .tensor("t" + i, DType.U8, BYTES)
                    .write(new TensorPattern(1));
            index.append(i == 0 ? "" : ", ").append("\"t").append(i).append("\": \"").append(name).append('"');
        }
        Files.writeString(folder.resolve("model.safetensors.index.json"), index.append("}}"));
        ChildJvm child = new ChildJvm(Child.class, folder, SavePlan.class, CompatBackend.class);
        ChildJvm.End end = child.runBehind(
                List.of("sh", "-c", "ulimit -n " + DESCRIPTORS + " && exec \"$@\"", "sh"),
                child.places(), folder.toString());
        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output().lines()).satisfiesExactly(
                line -> assertThat(line).isEqualTo("600 tensors, verified true, copy verified true"),
                line -> assertThat(line).contains("another save has removed the files of this one", "ESTALE")
                        .endsWith("whole false"));
    }

    /** A process with few descriptors. */
    static final class Child {
        private Child() {
        }

        /** @param arguments the folder */
        public static void main(String[] arguments) {
            Path from = Path.of(arguments[0]);
            Path to = from.resolve("copy");
            Checkpoint checkpoint = Checkpoint.open(from);
            try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
                boolean verified;
                int tensors;
                try (LoadedTensors loaded = checkpoint.plan().load(driver)) {
                    tensors = loaded.tensors().size();
                    verified = CheckpointVerifier.verify(loaded).verified();
                }
                // more files than descriptors on this side, too
                SaveOptions options = SaveOptions.DEFAULTS.withMaxShardBytes(2 * BYTES).withChecksums(true);
                SavePlan.builder().checkpoint(checkpoint).options(options).toFolder(to).save(driver);
                System.out.printf(Locale.ROOT, "%d tensors, verified %b, copy verified %b%n", tensors, verified,
                        ChecksumVerifier.verify(driver, to).verified());
                exchange(driver, SavePlan.builder().checkpoint(checkpoint).options(options), from.resolve("other"));
            }
        }

        /** Exchanges files by copies of them while the save has closed most: it must not publish what others have put there. */
        private static void exchange(CuFileDriver driver, SavePlan.Builder plan, Path to) {
            String failure = "none";
            try {
                plan.toFolder(to).save(driver, new SaveListener() {
                    @Override
                    public void progress(long written, long total) {
                        if (written == total) {
                            exchange(to);
                        }
                    }
                });
            } catch (CuFileException e) {
                failure = e.getMessage();
            }
            System.out.println(
                    "refused by " + failure + ", whole " + Files.exists(to.resolve("model.safetensors.index.json")));
        }

        private static void exchange(Path folder) {
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file : files.filter(each -> each.toString().endsWith(".safetensors")).toList()) {
                    Path copy = Files.copy(file, folder.resolve("copy"));
                    Files.move(copy, file, StandardCopyOption.REPLACE_EXISTING);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
