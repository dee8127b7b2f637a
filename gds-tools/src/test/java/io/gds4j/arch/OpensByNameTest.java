package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Between a look at a name and its use, others may make it the name of another file. So files are found and removed by
 * {@code FoundFile} and {@code OwnFolder}. Each class that uses names beside them says here why it may.
 */
class OpensByNameTest {
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    private static final Pattern BY_NAME = Pattern.compile(
            "\\bFiles\\.(new\\w+Stream|newByteChannel|write\\w*|read(AllBytes|String|AllLines)|delete\\w*|move|copy"
                    + "|create\\w+|walk\\w*|list|lines)\\(|\\bFileChannel\\.open\\(|new RandomAccessFile\\("
                    + "|new File(\\w+Stream|Reader)\\(|\\bposix(\\(\\))?\\.(open|unlink|rmdir|rename|mkdir|link|chmod)\\(");
    /** Tests of programs, and jobs of a cluster. */
    private static final List<String> OTHERS = List.of("gds-testkit", "gds-testkit-contract", "gds-spark");

    private static final Map<String, String> REASONS = Map.ofEntries(
            Map.entry("FoundFile OwnFolder", "the helper itself"),
            Map.entry("LogFile OpenedFile WrittenFiles OutputFile DemoRun LibraryEnvironment",
                    "paths of the helper; LogFile and WrittenFiles create a file, which follows no link"),
            Map.entry(
                    "SystemReason SystemFiles AvailableHostMemory GpuLocality RecordLocks OpenFiles DirectStorageProbe"
                            + " LibCuFile KernelFeatures GdsCommand JvmList StalledCalls ResultStream RemoteFailure",
                    "files of the system in /proc, /sys, /dev and /etc, which only root changes"),
            Map.entry("DescriptorTable FileDescriptors OwnedDescriptor PlainFile ColdRead ReadFile",
                    "one open without a look before it: type and traits are those of the descriptor; no pipe makes it wait"),
            Map.entry("PathExaminer", "a file without a name"),
            Map.entry("PlainRead", "a file of the command's own temporary folder"),
            Map.entry("PcieTopology SafetensorsWriter S3Upload", "one use of a path that the program names"),
            Map.entry("CheckpointFolder NoCheckpoint ObjectSave",
                    "lists a folder that the user names; its files are found by the helper"),
            Map.entry("SaveLock SystemFileCalls",
                    "single calls of saves, which follow no link; ShardedSave calls them below the helper's folder"),
            Map.entry("CacheFolder FirstRequest NewFile",
                    "creates files that are open from the start; deletes names that only a cache gives"),
            Map.entry("UnpackedLibrary", "a folder of a random name for this user, and files that are created"),
            Map.entry("CredentialChain S3Profile",
                    "the user's own settings; one use of a path"),
            Map.entry("TemporaryFolder", "creates target/ in the project"));

    @Test
    void classesThatUseNamesHaveAReason() throws IOException {
        TreeSet<String> found = new TreeSet<>();
        try (Stream<Path> modules = Files.list(ROOT)) {
            for (Path module : modules.filter(path -> path.getFileName().toString().startsWith("gds-")).toList()) {
                Path sources = module.resolve("src/main/java");
                if (OTHERS.contains(module.getFileName().toString()) || !Files.isDirectory(sources)) {
                    continue;
                }
                try (Stream<Path> files = Files.walk(sources)) {
                    for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
                        if (BY_NAME.matcher(Files.readString(file)).find()) {
                            found.add(file.getFileName().toString().replace(".java", ""));
                        }
                    }
                }
            }
        }
        TreeSet<String> allowed = new TreeSet<>();
        REASONS.keySet().forEach(names -> allowed.addAll(List.of(names.split(" "))));
        assertThat(found).isEqualTo(allowed);
    }
}
