package io.gds4j.tools;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Serves a file by HTTP to the run that makes the launcher's class archive, and names a checkpoint of PyTorch to it: so that a user's
 * first load of a remote object or of such a checkpoint finds its classes there. Before, it renews the libraries that an archive
 * would leave out. The build starts this file by itself, without the other classes.
 */
final class ArchiveTraining {
    /** A checkpoint of torch.distributed.checkpoint, whose records are files of torch.save; from the build's folder. */
    static final Path DISTCP = Path.of("../../gds-loader/src/test/resources/io/gds4j/loader/libraries/distcp");

    /** The file as an object of S3 and of Azure, given {@link #stores}. */
    static final String S3 = "s3://bucket/model.safetensors";
    static final String AZURE = "az://account/container/model.safetensors";

    private static final ClassTransform AS_JAVA_8 = ((ClassTransform) (to, element) -> to.with(
            element instanceof ClassFileVersion ? ClassFileVersion.of(ClassFile.JAVA_8_VERSION, 0) : element))
            .andThen(ClassTransform.transformingMethodBodies(CodeTransform.ACCEPT_ALL));

    private ArchiveTraining() {
    }

    /**
     * Runs a command of the JVM that loads a file from here. The arguments are the file and the command; the libraries are in lib.
     */
    static void main(String[] args) throws IOException, InterruptedException {
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(Path.of("lib"), "*.jar")) {
            for (Path jar : jars) {
                renew(jar);
            }
        }
        HttpServer server = serve(Path.of(args[0]));
        try {
            List<String> command = new ArrayList<>(List.of(args).subList(1, args.length));
            command.add(1, "-Dgds4j.training=" + String.join("\n", location(server), S3, AZURE, DISTCP.toString()));
            ProcessBuilder process = new ProcessBuilder(command).inheritIO();
            process.environment().putAll(stores(server));
            process.start().waitFor();
        } finally {
            server.stop(0);
        }
    }

    /**
     * Writes the classes of a jar again with stack maps, if they are older than Java 6, like picocli's: a class archive holds no
     * class without them, and the JVM takes longer to load and verify these than for all others of a command.
     */
    static void renew(Path jar) throws IOException {
        Map<ZipEntry, byte[]> entries = new LinkedHashMap<>();
        boolean old = false;
        try (ZipFile file = new ZipFile(jar.toFile());
                URLClassLoader loader = new URLClassLoader(new URL[]{jar.toUri().toURL()})) {
            ClassFile stackMaps = ClassFile.of(ClassFile.ConstantPoolSharingOption.NEW_POOL,
                    ClassFile.StackMapsOption.GENERATE_STACK_MAPS,
                    ClassFile.ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofClassLoading(loader)));
            for (ZipEntry entry : Collections.list(file.entries())) {
                byte[] content = file.getInputStream(entry).readAllBytes();
                if (entry.getName().endsWith(".class")) {
                    ClassModel model = stackMaps.parse(content);
                    if (model.majorVersion() < ClassFile.JAVA_6_VERSION) {
                        old = true;
                        content = stackMaps.transformClass(model, AS_JAVA_8);
                    }
                }
                entries.put(entry, content);
            }
        }
        if (!old) {
            return;
        }
        Path renewed = jar.resolveSibling(jar.getFileName() + ".new");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(renewed))) {
            for (Map.Entry<ZipEntry, byte[]> entry : entries.entrySet()) {
                ZipEntry same = new ZipEntry(entry.getKey().getName());
                same.setLastModifiedTime(entry.getKey().getLastModifiedTime());
                out.putNextEntry(same);
                out.write(entry.getValue());
            }
        }
        Files.move(renewed, jar, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Starts a server of one file, on this machine only. */
    static HttpServer serve(Path file) throws IOException {
        byte[] content = Files.readAllBytes(file);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> answer(exchange, content));
        server.start();
        return server;
    }

    /** Returns variables that make the server the object stores of S3 and Azure, with keys of its own. */
    static Map<String, String> stores(HttpServer server) {
        String url = "http://127.0.0.1:" + server.getAddress().getPort();
        return Map.of("AWS_ENDPOINT_URL_S3", url, "AWS_REGION", "us-east-1", "AWS_ACCESS_KEY_ID", "key",
                "AWS_SECRET_ACCESS_KEY", "secret", "AZURE_STORAGE_CONNECTION_STRING",
                "AccountName=account;AccountKey=a2V5;BlobEndpoint=" + url + "/account");
    }

    /** Returns where the file is. */
    static String location(HttpServer server) {
        return "http://127.0.0.1:%s/model.safetensors".formatted(server.getAddress().getPort());
    }

    /** Sends the range that the request asks for: {@code bytes=FIRST-LAST}. */
    private static void answer(HttpExchange exchange, byte[] content) throws IOException {
        String[] range = exchange.getRequestHeaders().getFirst("Range").split("[=-]");
        int first = Integer.parseInt(range[1]);
        int last = Math.min(content.length - 1, Integer.parseInt(range[2]));
        exchange.getResponseHeaders().set("ETag", "\"1\"");
        exchange.getResponseHeaders().set("Content-Range", "bytes %s-%s/%s".formatted(first, last, content.length));
        exchange.sendResponseHeaders(206, last - first + 1L);
        try (exchange) {
            exchange.getResponseBody().write(Arrays.copyOfRange(content, first, last + 1));
        }
    }
}
