package io.gds4j.compat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordingFile;

/**
 * Prints the classes of gds4j whose code runs in a warm read of a cached page into GPU memory. Runs in a JVM of its own, because it traces
 * each method.
 */
final class ClassesOfARead {
    private static final int BYTES = 4096;

    private ClassesOfARead() {
    }

    /** @param arguments a file, and another one for the recording */
    public static void main(String[] arguments) throws IOException {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        CompatBackend backend = new CompatBackend(config, FfmPosix.instance(), new FakeCuda().available());
        try (CuFileDriver driver = CuFileDriver.open(backend);
                CuFileHandle handle = driver.openFile(Path.of(arguments[0]), StandardOpenOption.READ);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, BYTES);
                Recording recording = new Recording()) {
            for (int i = 0; i < 10; i++) {
                handle.read(memory.range(), BYTES, 0, 0);
            }
            recording.disable("gds4j.Read");
            recording.enable("jdk.MethodTrace").withoutStackTrace().with("threshold", "0 ms").with("filter", classes());
            recording.start();
            handle.read(memory.range(), BYTES, 0, 0);
            recording.stop();
            recording.dump(Path.of(arguments[1]));
        }
        RecordingFile.readAllEvents(Path.of(arguments[1])).stream()
                .filter(event -> event.getEventType().getName().equals("jdk.MethodTrace")
                        && event.getThread().getJavaThreadId() == Thread.currentThread().threadId())
                .map(event -> event.<RecordedMethod>getValue("method").getType().getName())
                .distinct()
                .filter(name -> !name.endsWith("$Prototypes")) // those of Flight Recorder
                .sorted()
                .forEach(System.out::println);
    }

    /** Returns the names of all classes but tests, as the recorder wants them. */
    private static String classes() throws IOException {
        StringBuilder names = new StringBuilder();
        for (String place : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path root = Path.of(place);
            if (place.matches(".*/gds-[^/]*(?<!-tests)\\.jar")) { // as a build has it that makes jars
                try (FileSystem jar = FileSystems.newFileSystem(root)) {
                    names.append(classes(jar.getPath("/"))).append(';');
                }
            } else if (Files.isDirectory(root.resolve("io/gds4j")) && !root.endsWith("test-classes")) {
                names.append(classes(root)).append(';');
            }
        }
        return names.toString();
    }

    private static String classes(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.map(file -> root.relativize(file).toString())
                    .filter(name -> name.endsWith(".class") && !name.contains("-info"))
                    .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                    .collect(Collectors.joining(";"));
        }
    }
}
