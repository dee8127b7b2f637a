package io.gds4j.tools.guest;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * A block device that counts its requests and lets one of them fail. A process of its own serves it over NBD: a thread of this JVM may
 * wait for the disk in a page fault, which no safepoint ends. In the virtual machine the kernel is the client. Elsewhere nbdfuse is, and
 * a loop device lies over its file: slower than the kernel, but nothing is emulated.
 */
final class CountingDisk implements AutoCloseable {
    /** Sorts of requests, with their numbers in the protocol. */
    enum Request {
        READ,
        WRITE,
        FLUSH
    }

    private static final int BLOCK = 4096;

    private final Process server;
    private final BufferedWriter orders;
    private final BufferedReader answers;
    private final Path folder;
    private Path device = Path.of("/dev/nbd0");

    private CountingDisk(Process server, Path folder) {
        this.server = server;
        this.folder = folder;
        this.orders = server.outputWriter(StandardCharsets.UTF_8);
        this.answers = server.inputReader(StandardCharsets.UTF_8);
    }

    /** Returns whether this machine can have such a disk: the virtual machine, and one with nbdfuse and loop devices. */
    static boolean isPossible() {
        return Guest.isHere()
                || Files.isExecutable(Path.of("/usr/bin/nbdfuse")) && Files.isWritable(Path.of("/dev/loop-control"));
    }

    /** Makes an empty disk. */
    static CountingDisk start(int megabytes) {
        try {
            Path folder = Files.createTempDirectory("disk");
            Path socket = folder.resolve("socket");
            Process process = new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx400m",
                    "-cp", Path.of(CountingDisk.class.getProtectionDomain().getCodeSource().getLocation().getPath())
                            .toString(),
                    CountingDisk.class.getName(), socket.toString(), Integer.toString(megabytes))
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            CountingDisk disk = new CountingDisk(process, folder);
            disk.answer();
            disk.attach(socket);
            return disk;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void attach(Path socket) throws IOException {
        if (Guest.isHere()) {
            Guest.shell("modprobe nbd nbds_max=1 && nbd-client -unix %s %s -b 512".formatted(socket, device));
            return;
        }
        Path file = Files.createFile(folder.resolve("file"));
        new ProcessBuilder("nbdfuse", file.toString(), "nbd+unix:///?socket=" + socket)
                // it names each request that fails
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        Guest.shell("until mountpoint -q %1$s; do sleep 0.05; done".formatted(file));
        device = Path.of(Guest.run("losetup", "--find", "--show", "--direct-io=on", file.toString()));
    }

    /** Returns the device. */
    Path device() {
        return device;
    }

    private String answer() throws IOException {
        String line = answers.readLine();
        if (line == null) {
            throw new EOFException("the server of the disk is gone");
        }
        return line;
    }

    private String order(String text) {
        try {
            orders.write(text);
            orders.newLine();
            orders.flush();
            return answer();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Remembers the content. */
    void keep() {
        order("keep");
    }

    /** Goes back to the content that {@link #keep} remembers; the disk must not be in use. */
    void restore() {
        order("restore");
    }

    /** Counts from now on, and lets the {@code number}th request of a sort fail with EIO. */
    void fail(Request request, int number) {
        order("fail %s %s".formatted(request.ordinal(), number));
    }

    /** Counts from now on, and lets all requests of a sort fail from the {@code number}th on. */
    void failFrom(Request request, int number) {
        order("from %s %s".formatted(request.ordinal(), number));
    }

    /** Lets no further request fail; returns whether one did. */
    boolean heal() {
        return order("heal").equals("true");
    }

    @Override
    public void close() {
        if (Guest.isHere()) {
            Guest.run("nbd-client", "-d", device.toString());
        } else {
            Guest.shell("losetup -d %s && fusermount3 -u %s".formatted(device, folder.resolve("file")));
        }
        server.destroy();
    }

    /** The process that serves the disk. */
    public static void main(String... arguments) throws IOException {
        try (ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            listening.bind(UnixDomainSocketAddress.of(arguments[0]));
            Server server = new Server(Integer.parseInt(arguments[1]) << 20);
            Thread orders = new Thread(server::obey, "orders");
            orders.setDaemon(true);
            orders.start();
            try (SocketChannel kernel = listening.accept()) {
                server.serve(kernel);
            }
        }
    }

    /** The server's side: content in memory, in blocks that are shared with the remembered content until they change. */
    private static final class Server {
        private static final long GREETING = 0x4e42444d41474943L;
        private static final long OPTION = 0x49484156454F5054L;
        private static final long OPTION_REPLY = 0x3e889045565a9L;
        private static final int REQUEST = 0x25609513;
        private static final int REPLY = 0x67446698;
        private static final int OPTION_GO = 7;
        private static final int OPTION_EXPORT_NAME = 1;
        private static final int UNSUPPORTED = 0x80000001;
        /** Flags are sent, flushes and FUA are known. */
        private static final short ABILITIES = 0b1101;
        private static final int DISCONNECT = 2;
        private static final int FLUSH = 3;
        private static final int EIO = 5;

        private final int size;
        private byte[][] now;
        private byte[][] kept;
        private int sort = -1;
        private int countdown;
        private boolean goesOn;
        private boolean failed;

        Server(int size) {
            this.size = size;
            this.now = new byte[size / BLOCK][];
            this.kept = now.clone();
        }

        void obey() {
            System.out.println("ready");
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).lines()
                    .forEach(line -> System.out.println(obey(List.of(line.split(" ")))));
            System.exit(0);
        }

        private synchronized String obey(List<String> words) {
            switch (words.getFirst()) {
                case "keep" -> kept = now.clone();
                case "restore" -> now = kept.clone();
                case "heal" -> sort = -1;
                default -> {
                    sort = Integer.parseInt(words.get(1));
                    countdown = Integer.parseInt(words.get(2));
                    goesOn = words.getFirst().equals("from");
                    failed = false;
                }
            }
            return Boolean.toString(failed);
        }

        /** Counts a request; returns true if it is to fail. */
        private boolean fails(int request) {
            if (request != sort || --countdown > 0 || countdown < 0 && !goesOn) {
                return false;
            }
            failed = true;
            return true;
        }

        void serve(SocketChannel kernel) throws IOException {
            DataInputStream in = new DataInputStream(Channels.newInputStream(kernel));
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(
                    Channels.newOutputStream(kernel), 1 << 20));
            greet(in, out);
            byte[] buffer = new byte[1 << 16];
            while (true) {
                int magic;
                try {
                    magic = in.readInt();
                } catch (EOFException e) {
                    return;
                }
                if (magic != REQUEST) {
                    throw new IOException("no request");
                }
                int type = in.readInt() & 0xffff;
                long handle = in.readLong();
                long offset = in.readLong();
                int length = in.readInt();
                if (type == DISCONNECT) {
                    return;
                }
                if (buffer.length < length) {
                    buffer = new byte[length];
                }
                if (type == Request.WRITE.ordinal()) {
                    in.readFully(buffer, 0, length);
                }
                int error = work(type, buffer, offset, length);
                out.writeInt(REPLY);
                out.writeInt(error);
                out.writeLong(handle);
                if (error == 0 && type == Request.READ.ordinal()) {
                    out.write(buffer, 0, length);
                }
                out.flush();
            }
        }

        /** Serves a request; a write that fails writes its first half, in whole blocks: file systems survive no torn ones. */
        private synchronized int work(int type, byte[] buffer, long offset, int length) {
            boolean fails = fails(type == FLUSH ? Request.FLUSH.ordinal() : type);
            int bytes = fails ? length / 2 / BLOCK * BLOCK : length;
            for (int done = 0; done < bytes && type != FLUSH;) {
                int block = (int) ((offset + done) / BLOCK);
                int from = (int) ((offset + done) % BLOCK);
                int count = Math.min(bytes - done, BLOCK - from);
                byte[] content = now[block];
                if (type == Request.WRITE.ordinal()) {
                    // a remembered block stays as it is
                    byte[] changed = content == null ? new byte[BLOCK] : content.clone();
                    System.arraycopy(buffer, done, changed, from, count);
                    now[block] = changed;
                } else if (content == null) {
                    Arrays.fill(buffer, done, done + count, (byte) 0);
                } else {
                    System.arraycopy(content, from, buffer, done, count);
                }
                done += count;
            }
            return fails ? EIO : 0;
        }

        private void greet(DataInputStream in, DataOutputStream out) throws IOException {
            out.writeLong(GREETING);
            out.writeLong(OPTION);
            out.writeShort(0b11);
            out.flush();
            in.readInt();
            while (true) {
                in.readLong();
                int option = in.readInt();
                in.skipNBytes(in.readInt());
                if (option == OPTION_EXPORT_NAME) {
                    out.writeLong(size);
                    out.writeShort(ABILITIES);
                    out.flush();
                    return;
                }
                if (option == OPTION_GO) {
                    reply(out, option, 3, 12);
                    out.writeShort(0);
                    out.writeLong(size);
                    out.writeShort(ABILITIES);
                    reply(out, option, 1, 0);
                    out.flush();
                    return;
                }
                reply(out, option, UNSUPPORTED, 0);
                out.flush();
            }
        }

        private static void reply(DataOutputStream out, int option, int type, int length) throws IOException {
            out.writeLong(OPTION_REPLY);
            out.writeInt(option);
            out.writeInt(type);
            out.writeInt(length);
        }
    }
}
