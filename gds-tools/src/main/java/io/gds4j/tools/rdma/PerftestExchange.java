package io.gds4j.tools.rdma;

import io.gds4j.rdma.Gid;
import io.gds4j.rdma.QueuePairType;
import io.gds4j.rdma.RdmaPeer;
import io.gds4j.rdma.RemoteMemory;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/** What perftest's programs say to each other over TCP (version 6.06): the client writes first, the server reads first. */
final class PerftestExchange implements AutoCloseable {
    /** One end as the other sees it. */
    record End(RdmaPeer peer, RemoteMemory memory) {
    }

    /** Bytes that small requests of a queue pair go round in. */
    static final int CYCLE_BUFFER = 4096;

    private static final String VERSION = "6.06";
    private static final int VERSION_BYTES = 16;
    private static final int CACHE_LINE = 64;
    private static final int KEY_BYTES = 108;
    private static final int GID_BYTES = 16;
    private static final int HEX = 16;
    private static final int WAIT_MILLIS = 60_000;
    private static final int PROBE_SECONDS = 10;
    private static final int PROBES = 3;
    private static final Pattern KEY = Pattern.compile(
            "(?<lid>\\p{XDigit}{4}):\\p{XDigit}{4}:(?<number>\\p{XDigit}{6}):(?<packet>\\p{XDigit}{6})"
                    + ":(?<key>\\p{XDigit}{8}):(?<address>\\p{XDigit}{16}):(?<gid>(?:\\p{XDigit}{2}:){16})\\p{XDigit}{8}:");

    private final Socket socket;
    private final boolean client;
    private final DataInputStream in;
    private final DataOutputStream out;

    private PerftestExchange(Socket socket, boolean client) throws IOException {
        this.socket = socket;
        this.client = client;
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(WAIT_MILLIS);
        socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, PROBE_SECONDS);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, PROBE_SECONDS);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, PROBES);
        in = new DataInputStream(socket.getInputStream());
        out = new DataOutputStream(socket.getOutputStream());
    }

    /** Connects to a server, or waits for a client if there is none; the server waits without limit, as perftest's. */
    static PerftestExchange open(@Nullable String server, int port) throws IOException {
        if (server != null) {
            Socket socket = new Socket();
            socket.connect(new InetSocketAddress(InetAddress.getByName(server), port), WAIT_MILLIS);
            return new PerftestExchange(socket, true);
        }
        try (ServerSocket listener = new ServerSocket(port, 1)) {
            return new PerftestExchange(listener.accept(), false);
        }
    }

    private byte[] swap(byte[] mine) throws IOException {
        if (client) {
            out.write(mine);
        }
        byte[] theirs = in.readNBytes(mine.length);
        if (theirs.length < mine.length) {
            throw new IOException("the other end closed the connection; see what it says");
        }
        if (!client) {
            out.write(mine);
        }
        return theirs;
    }

    /** Exchanges versions, sizes of the system and MTUs; returns the peer's MTU in bytes. */
    int begin(int mtu) throws IOException {
        String version = text(swap(Arrays.copyOf(VERSION.getBytes(StandardCharsets.US_ASCII), VERSION_BYTES)));
        if (!version.matches("[5-9]\\..*|[1-9][0-9].*")) {
            throw new IOException("the other end speaks version '%s' of perftest's exchange, needed is 5.70 or newer"
                    .formatted(version));
        }
        swap(number(CYCLE_BUFFER));
        swap(number(CACHE_LINE));
        int code = Integer.numberOfTrailingZeros(mtu) - 7;
        String theirs = text(swap(new byte[]{(byte) ('0' + code), 0}));
        return theirs.matches("[1-5]") ? 1 << 7 + Integer.parseInt(theirs) : mtu;
    }

    /** Exchanges the ends of a queue pair; also the way in which both ends wait for each other. */
    End ends(RdmaPeer mine, RemoteMemory memory, int reads) throws IOException {
        StringBuilder text = new StringBuilder(KEY_BYTES);
        text.append(String.format(
                Locale.ROOT, "%04x:%04x:%06x:%06x:%08x:%016x:", mine.lid(), reads, mine.queuePair(), mine.firstPacket(),
                memory.key(), memory.address()));
        for (byte part : mine.gid().bytes()) {
            text.append(String.format(Locale.ROOT, "%02x:", part));
        }
        text.append("00000000:");
        String theirs =
                text(swap(Arrays.copyOf(text.toString().getBytes(StandardCharsets.US_ASCII), KEY_BYTES)));
        Matcher found = KEY.matcher(theirs);
        if (!found.matches()) {
            throw new IOException("the other end describes its queue pair by '%s', which is not perftest's way"
                    .formatted(theirs));
        }
        byte[] gid = new byte[GID_BYTES];
        String[] parts = found.group("gid").split(":");
        for (int i = 0; i < GID_BYTES; i++) {
            gid[i] = (byte) Integer.parseInt(parts[i], HEX);
        }
        return new End(
                new RdmaPeer(
                        QueuePairType.RC, hex(found, "number"), hex(found, "packet"), hex(found, "lid"), mine.mtu(),
                        Gid.of(gid)),
                new RemoteMemory(
                        Long.parseUnsignedLong(found.group("address"), HEX), memory.length(), hex(found, "key")));
    }

    private static int hex(Matcher found, String name) {
        return Integer.parseUnsignedInt(found.group(name), HEX);
    }

    /** Exchanges results; perftest's ends print those of the client. */
    void results(long size, long iterations, double peak, double average, double messages) throws IOException {
        swap(number(size));
        swap(number(iterations));
        swap(number(Double.doubleToRawLongBits(peak)));
        swap(number(Double.doubleToRawLongBits(average)));
        swap(number(Double.doubleToRawLongBits(messages)));
    }

    /** Lets the next messages take as long as the other end measures. If its machine dies, the kernel says so in 40 s. */
    void waitWhileTheOtherEndMeasures() throws IOException {
        socket.setSoTimeout(0);
    }

    /** Whether the peer has said something. */
    boolean isReadable() throws IOException {
        return in.available() > 0;
    }

    private static byte[] number(int value) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
    }

    private static byte[] number(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    private static String text(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.US_ASCII);
        int end = text.indexOf(0);
        return end < 0 ? text : text.substring(0, end);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
