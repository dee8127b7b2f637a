package io.gds4j.tools.stats;

import java.io.IOException;
import java.io.ObjectInputFilter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.rmi.server.RMISocketFactory;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Keeps a JMX connection to what the JDK's agent for local connections sends: the other JVM decides what its address says, which
 * objects it holds, and which endpoint they name. Works for the threads that it is bound to; other threads of the process are free.
 */
final class JmxGuard {
    /** Time after which a JVM counts as one that does not answer. */
    static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** The address of the agent: a stub in base64, and no name that would be looked up. */
    private static final Pattern ADDRESS =
            Pattern.compile("service:jmx:rmi://127\\.0\\.0\\.1/stub/[A-Za-z0-9+/=]{1,4096}");
    /** The connection sends no requests on threads of its own. */
    static final Map<String, ?> ENVIRONMENT = Map.of("jmx.remote.x.client.connection.check.period", 0L);

    /** Stubs, and the values, names and failures of beans like ours; nested as deeply as these are. */
    private static final ObjectInputFilter FILTER = ObjectInputFilter.Config.createFilter(String.join(";",
            "maxdepth=20", "maxarray=10000", "maxrefs=100000", "maxbytes=16777216",
            "javax.management.remote.rmi.RMIServerImpl_Stub", "javax.management.remote.rmi.RMIConnectionImpl_Stub",
            "javax.management.remote.rmi.RMIServer", "javax.management.remote.rmi.RMIConnection", "java.rmi.Remote",
            "java.rmi.server.RemoteObject", "java.rmi.server.RemoteStub", "java.rmi.server.ObjID",
            "java.rmi.server.UID",
            "java.rmi.server.RemoteObjectInvocationHandler", "java.lang.reflect.Proxy",
            "javax.management.ObjectName", "javax.management.openmbean.*",
            "java.lang.String", "java.lang.Number", "java.lang.Boolean", "java.lang.Integer", "java.lang.Long",
            "java.lang.Double", "java.lang.Enum", "java.lang.Comparable",
            // of failures only the one of a session that has closed
            "javax.management.InstanceNotFoundException", "javax.management.OperationsException",
            "javax.management.JMException", "java.lang.Exception", "java.lang.Throwable",
            "java.lang.StackTraceElement",
            "java.util.HashSet", "java.util.HashMap", "java.util.Map$Entry", "java.util.LinkedHashMap",
            "java.util.TreeMap",
            "java.util.ArrayList", "java.util.Arrays$ArrayList", "java.lang.Object", "java.util.Collections$EmptyList",
            "java.util.Collections$UnmodifiableList", "java.util.Collections$UnmodifiableRandomAccessList",
            "java.util.Collections$UnmodifiableCollection", "!*"));

    private static final ScopedValue<Boolean> BOUND = ScopedValue.newInstance();
    private static final Sockets SOCKETS = new Sockets();
    private static boolean installed;

    private JmxGuard() {
    }

    /** Returns whether an address is that of the agent of the same machine. */
    static boolean isOfTheAgent(String address) {
        return ADDRESS.matcher(address).matches();
    }

    /**
     * Returns the result of work of this thread that talks to another JVM.
     *
     * @throws IOException if the process has rules of its own for objects or sockets
     */
    static <T> T with(Supplier<T> work) throws IOException {
        install();
        return ScopedValue.where(BOUND, true).call(work::get);
    }

    private static synchronized void install() throws IOException {
        if (RMISocketFactory.getSocketFactory() == null) {
            RMISocketFactory.setSocketFactory(SOCKETS);
        }
        if (ObjectInputFilter.Config.getSerialFilter() == null) {
            ObjectInputFilter.Config.setSerialFilter(JmxGuard::check);
            installed = true;
        }
        if (RMISocketFactory.getSocketFactory() != SOCKETS || !installed) {
            throw new IOException("this JVM has another serial filter or RMI socket factory");
        }
    }

    private static ObjectInputFilter.Status check(ObjectInputFilter.FilterInfo info) {
        return BOUND.isBound() ? FILTER.checkInput(info) : ObjectInputFilter.Status.UNDECIDED;
    }

    /** Connects to this machine, whichever host a stub names, and waits for a time only. */
    private static final class Sockets extends RMISocketFactory {
        @Override
        public Socket createSocket(String host, int port) throws IOException {
            Socket socket = new Socket();
            int millis = (int) (PATIENCE_NANOS / 1_000_000);
            boolean connected = false;
            try {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), millis);
                socket.setSoTimeout(millis);
                connected = true;
                return socket;
            } finally {
                if (!connected) {
                    socket.close();
                }
            }
        }

        @Override
        public ServerSocket createServerSocket(int port) throws IOException {
            return new ServerSocket(port, 0, InetAddress.getLoopbackAddress());
        }
    }
}
