package io.gds4j.ffi.cufile;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** The folder for files of tests on a machine with a GPU. */
public final class GpuMachine {
    private GpuMachine() {
    }

    /** A folder on a real disk: {@code gds4j.gpu.directory}, else /data where there is one, else target. */
    public static Path directory() {
        Path data = Path.of("/data");
        String named = System.getProperty("gds4j.gpu.directory");
        if (named != null) {
            return Path.of(named);
        }
        return Files.isDirectory(data) && Files.isWritable(data) ? data : Path.of("target").toAbsolutePath();
    }

    /** Deletes a folder and all in it. */
    public static void deleteTree(Path root) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException failure) throws IOException {
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
