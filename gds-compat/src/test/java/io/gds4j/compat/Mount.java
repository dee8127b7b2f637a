package io.gds4j.compat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.opentest4j.TestAbortedException;

/**
 * A file system that a test mounts in a directory of its own. It is unmounted when the test ends, at the latest when the JVM
 * ends. The test is skipped, with a line that says what is missing, if root, a tool or support in the kernel is missing.
 */
final class Mount implements AutoCloseable {
    private static final long TOOL_SECONDS = 60;

    private final String name;
    private final Path base;
    private final Path point;
    private Path device = Path.of("/dev/null");
    private final List<Runnable> undo = new ArrayList<>();
    private final Thread atExit = new Thread(this::undoAll, "unmount");

    private Mount(String name) {
        this.name = name;
        try {
            this.base = Files.createTempDirectory(TestFolder.onDisk(), "mount-" + name);
            this.point = Files.createDirectory(base.resolve("point"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Runtime.getRuntime().addShutdownHook(atExit);
        undo.add(() -> deleteTree(base));
    }

    /** Mounts a file system of {@code megabytes} MiB that lies in a file. */
    static Mount loop(String type, int megabytes) {
        Mount mount = new Mount(type);
        try {
            mount.tool(List.of("mkfs." + type, "-q", mount.image(megabytes).toString()));
            mount.mount("-t", type, "-o", "loop", mount.base.resolve("image").toString());
            return mount;
        } catch (TestAbortedException e) {
            mount.close();
            throw e;
        }
    }

    /** Mounts an overlay over the layer {@link #lower}. */
    static Mount overlay() {
        Mount mount = new Mount("overlay");
        try {
            for (String part : List.of("lower", "upper", "work")) {
                Files.createDirectory(mount.base.resolve(part));
            }
            mount.mount("-t", "overlay", "-o", "lowerdir=%1$s/lower,upperdir=%1$s/upper,workdir=%1$s/work"
                    .formatted(mount.base), "overlay");
            return mount;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (TestAbortedException e) {
            mount.close();
            throw e;
        }
    }

    /** Makes a block device of {@code megabytes} MiB and mounts nothing. */
    static Mount blockDevice(int megabytes) {
        Mount mount = new Mount("block");
        try {
            String device = mount.tool(List.of("losetup", "--find", "--show", mount.image(megabytes).toString()))
                    .strip();
            mount.undo.add(() -> mount.quietly("losetup", "--detach", device));
            mount.device = Path.of(device);
            return mount;
        } catch (TestAbortedException e) {
            mount.close();
            throw e;
        }
    }

    /** Returns the device of {@link #blockDevice}. */
    Path device() {
        return device;
    }

    /** Returns the folder of the mounted file system. */
    Path point() {
        return point;
    }

    /** Returns the lower layer of an overlay. */
    Path lower() {
        return base.resolve("lower");
    }

    private Path image(int megabytes) {
        Path image = base.resolve("image");
        tool(List.of("truncate", "-s", megabytes + "M", image.toString()));
        return image;
    }

    private void mount(String... arguments) {
        List<String> command = new ArrayList<>(List.of("mount"));
        command.addAll(List.of(arguments));
        command.add(point.toString());
        tool(command);
        undo.add(() -> quietly("umount", "--lazy", point.toString()));
    }

    /** Runs a tool; skips the test if it fails. */
    String tool(List<String> command) {
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(TOOL_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw skipped("%s: %s".formatted(String.join(" ", command), output.lines().findFirst().orElse("")));
            }
            return output;
        } catch (IOException e) {
            throw skipped(command.getFirst() + " is missing, or may not run: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw skipped("interrupted");
        }
    }

    private TestAbortedException skipped(String why) {
        String line = "%s is not tested: %s".formatted(name, why.replace('\n', ' '));
        System.out.println(line);
        return new TestAbortedException(line);
    }

    private void quietly(String... command) {
        try {
            new ProcessBuilder(command).redirectErrorStream(true).start().waitFor(TOOL_SECONDS, TimeUnit.SECONDS);
        } catch (IOException e) {
            System.err.println(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static void deleteTree(Path folder) {
        try (var paths = Files.walk(folder)) {
            List<Path> all = new ArrayList<>(paths.toList());
            Collections.reverse(all);
            for (Path path : all) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            System.err.println(e);
        }
    }

    private synchronized void undoAll() {
        Collections.reverse(undo);
        undo.forEach(Runnable::run);
        undo.clear();
    }

    @Override
    public void close() {
        undoAll();
        Runtime.getRuntime().removeShutdownHook(atExit);
    }
}
