package io.gds4j.tools.stats;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Text;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import javax.management.InstanceNotFoundException;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Reads the statistics of another JVM of the same user, over a local JMX connection. */
final class RunningJvm {
    /** Property of a JVM whose agent for local JMX connections runs. */
    private static final String LOCAL_ADDRESS = "com.sun.management.jmxremote.localConnectorAddress";
    private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

    private RunningJvm() {
    }

    /**
     * Returns the sessions of a process that collect statistics.
     *
     * @param output prints a note if the process begins to listen for JMX connections
     * @throws CommandFailure if there is no such JVM, or the connection fails
     */
    static List<SessionStatistics> sessions(long pid, Output output) {
        try {
            if (pid == ProcessHandle.current().pid()) {
                return read(ManagementFactory.getPlatformMBeanServer());
            }
            VirtualMachine jvm = VirtualMachine.attach(Long.toString(pid));
            if (jvm.getAgentProperties().getProperty(LOCAL_ADDRESS) == null) {
                output.note("process %s now listens on a port for JMX until it ends; its JVM accepts only this machine"
                        .formatted(pid));
            }
            try (JMXConnector connector =
                    JMXConnectorFactory.connect(new JMXServiceURL(jvm.startLocalManagementAgent()))) {
                return read(connector.getMBeanServerConnection());
            } finally {
                jvm.detach();
            }
        } catch (AttachNotSupportedException e) {
            // The JDK's message would contain the command line of the other process.
            throw unable(pid, "it is not a JVM, or has not started yet");
        } catch (IOException e) {
            throw unable(pid, Text.oneLine(String.valueOf(e.getMessage())));
        }
    }

    private static CommandFailure unable(long pid, String why) {
        return ProcessHandle.of(pid).isEmpty()
                ? CommandFailure.badInput(null, "there is no process " + pid)
                : CommandFailure.device("NOT_A_JVM", "cannot connect to process %s: %s".formatted(pid, why));
    }

    private static List<SessionStatistics> read(MBeanServerConnection server) throws IOException {
        List<SessionStatistics> sessions = new ArrayList<>();
        for (ObjectName name : server.queryNames(pattern(), null)) {
            String number = name.getKeyProperty("session");
            if (!NUMBER.matcher(number).matches()) {
                continue; // a bean of another program
            }
            CuFileStatisticsMXBean bean = JMX.newMXBeanProxy(server, name, CuFileStatisticsMXBean.class);
            try {
                sessions.add(SessionStatistics.read(number, bean));
            } catch (UndeclaredThrowableException e) {
                if (!(e.getCause() instanceof InstanceNotFoundException)) {
                    throw foreign(e.getCause());
                }
                // The session has closed since the query.
            } catch (RuntimeException e) {
                throw foreign(e);
            }
        }
        sessions.sort(Comparator.comparingLong(session -> Long.parseLong(session.number())));
        return sessions;
    }

    /** The other process decides what its beans return: nulls, other types, failures. */
    private static IOException foreign(Throwable cause) {
        return new IOException("its statistics are not those of this version of gds4j: " + cause, cause);
    }

    private static ObjectName pattern() {
        try {
            return new ObjectName(CuFileStatisticsMXBean.NAME_PATTERN);
        } catch (MalformedObjectNameException e) {
            throw new AssertionError(e);
        }
    }
}
