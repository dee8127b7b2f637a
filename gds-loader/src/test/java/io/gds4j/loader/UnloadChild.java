package io.gds4j.loader;

import java.io.File;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A server whose threads outlive its applications: each application has a class loader of its own with gds4j in it, uses gds4j on two
 * threads of the server, and is dropped. Prints the uses whose class loader stays.
 */
final class UnloadChild {
    private static final long LIMIT_NANOS = 20_000_000_000L;
    private static final long PAUSE_MILLIS = 20;

    private UnloadChild() {
    }

    /** @param arguments folder for files, and uses */
    public static void main(String[] arguments) throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String place : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(Path.of(place).toUri().toURL());
        }
        Map<String, WeakReference<ClassLoader>> applications = new LinkedHashMap<>();
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            for (int i = 1; i < arguments.length; i++) {
                applications.put(arguments[i], application(urls, threads, arguments[0], arguments[i]));
            }
            long end = System.nanoTime() + LIMIT_NANOS;
            while (applications.values().stream().anyMatch(loader -> loader.get() != null) && System.nanoTime() < end) {
                System.gc();
                Thread.sleep(PAUSE_MILLIS);
            }
            applications.forEach((use, loader) -> {
                if (loader.get() != null) {
                    System.out.println("stays after " + use);
                }
            });
        }
    }

    private static WeakReference<ClassLoader> application(
            List<URL> urls, ExecutorService threads, String folder, String use) throws Exception {
        try (URLClassLoader loader =
                new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            Callable<Object> run = () -> loader.loadClass("io.gds4j.loader.UnloadUse")
                    .getMethod("run", String.class, String.class)
                    .invoke(null, Files.createTempDirectory(Path.of(folder), use).toString(), use);
            run.call();
            threads.submit(run).get();
            return new WeakReference<>(loader);
        }
    }
}
