package io.gds4j.tools;

import io.gds4j.statistics.CuFileStatisticsMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.rmi.server.RMIServerSocketFactory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorServer;
import javax.management.remote.JMXConnectorServerFactory;
import javax.management.remote.JMXServiceURL;
import javax.management.remote.MBeanServerForwarder;
import javax.management.remote.rmi.RMIConnectorServer;
import org.jspecify.annotations.Nullable;

/** A JVM that names a JMX server of its own as its agent. It answers as its argument says, until it is destroyed. */
final class LyingProgram {
    private LyingProgram() {
    }

    /** Starts the program and returns when it listens. */
    static Process start(String answer) throws IOException {
        Process program = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m",
                "-XX:TieredStopAtLevel=1", "-Djava.rmi.server.hostname=127.0.0.1",
                "--add-exports=java.base/jdk.internal.vm=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                LyingProgram.class.getName(), answer).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        if (!"ready".equals(program.inputReader().readLine())) {
            program.destroy();
            throw new IOException("the program did not start");
        }
        return program;
    }

    private static @Nullable Object names(String answer) throws Exception {
        return switch (answer) {
            case "nothing" -> null;
            case "cycle" -> {
                List<Object> itself = new ArrayList<>();
                Set<Object> set = new HashSet<>(Set.of(itself));
                itself.add(itself);
                yield set;
            }
            default -> new HashSet<>(Set.of(new ObjectName("io.gds4j:type=CuFileStatistics,session=1")));
        };
    }

    private static Object attribute(String answer) throws InstanceNotFoundException {
        if (answer.equals("closed")) {
            throw new InstanceNotFoundException("the session has closed");
        }
        return "x\n\u001b[2J".repeat(100_000);
    }

    public static void main(String[] arguments) throws Exception {
        String answer = arguments[0];
        RMIServerSocketFactory loopback = port -> new ServerSocket(port, 0, InetAddress.getLoopbackAddress());
        MBeanServer real = ManagementFactory.getPlatformMBeanServer();
        JMXConnectorServer server = JMXConnectorServerFactory.newJMXConnectorServer(
                new JMXServiceURL("rmi", "127.0.0.1", 0),
                Map.of(RMIConnectorServer.RMI_SERVER_SOCKET_FACTORY_ATTRIBUTE, loopback),
                real);
        server.setMBeanServerForwarder((MBeanServerForwarder) Proxy.newProxyInstance(
                LyingProgram.class.getClassLoader(), new Class<?>[]{MBeanServerForwarder.class},
                (proxy, method, values) -> switch (method.getName()) {
                    case "queryNames" -> names(answer);
                    case "getAttribute" -> attribute(answer);
                    case "setMBeanServer" -> null;
                    default -> method.invoke(real, values);
                }));
        server.start();
        Properties agent = (Properties) Class.forName("jdk.internal.vm.VMSupport").getMethod("getAgentProperties")
                .invoke(null);
        agent.setProperty("com.sun.management.jmxremote.localConnectorAddress",
                server.getAddress().toString().replaceFirst("rmi://[^/]*/", "rmi://127.0.0.1/"));
        Thread.ofPlatform().daemon().name(CuFileStatisticsMXBean.THREAD_NAME).start(LockSupport::park);
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // waits
        }
        System.exit(0);
    }
}
