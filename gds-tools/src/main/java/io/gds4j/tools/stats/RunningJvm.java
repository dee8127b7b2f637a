package io.gds4j.tools.stats;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Text;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import javax.management.InstanceNotFoundException;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.jspecify.annotations.Nullable;

/** A local JMX connection to another JVM, which {@link JmxGuard} guards. A JVM that is stopped never answers: {@link JvmReader} waits for a time. */
final class RunningJvm implements AutoCloseable {
    /** Property of a JVM whose agent for local JMX connections runs. */
    private static final String LOCAL_ADDRESS = "com.sun.management.jmxremote.localConnectorAddress";
    /** Characters of a reason, which the other JVM may choose. */
    private static final int MAX_WHY = 300;
    private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

    private final long pid;
    private @Nullable MBeanServerConnection server;
    private @Nullable JMXConnector connector;
    private boolean startedAgent;

    /** Reads what it needs of a session. */
    interface SessionReader<S> {
        /** Returns nothing for a session that is of no interest. */
        Optional<S> read(String number, CuFileStatisticsMXBean bean);
    }

    private RunningJvm(long pid) {
        this.pid = pid;
    }

    /**
     * Finds a process, and connects to it if it holds a driver; else {@link #sessions} does so once it does.
     *
     * @param anyUser whether the process may belong to another user
     * @throws CommandFailure if there is no such JVM, it is another user's, or the connection fails
     */
    static RunningJvm connect(long pid, boolean anyUser) {
        RunningJvm jvm = new RunningJvm(pid);
        if (pid == ProcessHandle.current().pid()) {
            jvm.server = ManagementFactory.getPlatformMBeanServer();
            return jvm;
        }
        if (!JvmList.isRunning(pid)) { // The JDK would wait five seconds for one whose parent has not asked for its status.
            throw unable(pid, "");
        }
        if (!anyUser && !JvmList.isOfThisUser(pid)) {
            throw CommandFailure.device("NOT_A_JVM",
                    "process %s belongs to another user; --any-user connects to it all the same".formatted(pid));
        }
        jvm.attach();
        return jvm;
    }

    /** Starts no agent, which opens a port, in a JVM without gds4j. */
    private void attach() {
        try {
            VirtualMachine jvm = VirtualMachine.attach(Long.toString(pid));
            try {
                if (JvmList.holdsDriver(pid)) {
                    boolean listens = jvm.getAgentProperties().getProperty(LOCAL_ADDRESS) != null;
                    String address = jvm.startLocalManagementAgent();
                    if (address == null || !JmxGuard.isOfTheAgent(address)) {
                        throw unable(pid,
                                "its JMX address is not that of the agent which a JVM has for its own machine");
                    }
                    JMXConnector connected =
                            JMXConnectorFactory.connect(new JMXServiceURL(address), JmxGuard.ENVIRONMENT);
                    connector = connected;
                    server = connected.getMBeanServerConnection();
                    startedAgent = !listens;
                }
            } finally {
                jvm.detach();
            }
        } catch (AttachNotSupportedException e) {
            // The JDK's message would contain the command line of the other process.
            throw unable(pid, "it is not a JVM, or has not started yet");
        } catch (CommandFailure e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            throw unable(pid, String.valueOf(e.getMessage()));
        }
    }

    /** Returns whether the JVM began to listen for JMX connections, which it does until it ends. */
    boolean startedAgent() {
        return startedAgent;
    }

    private static CommandFailure unable(long pid, String why) {
        return !JvmList.isRunning(pid)
                ? CommandFailure.badInput(null, "there is no process " + pid)
                : CommandFailure.device("NOT_A_JVM", "cannot connect to process %s: %s"
                        .formatted(pid, Text.oneLine(Text.shortened(why, MAX_WHY))));
    }

    /**
     * Reads all sessions, in the order of their numbers.
     *
     * @throws CommandFailure if the JVM has ended, or shows something else
     */
    <S> List<S> sessions(SessionReader<S> reader) {
        if (server == null) {
            attach();
        }
        MBeanServerConnection connected = server;
        if (connected == null) {
            return List.of(); // no driver is open
        }
        try {
            Map<Long, S> sessions = new TreeMap<>();
            for (ObjectName name : connected.queryNames(pattern(), null)) {
                String number = name.getKeyProperty("session");
                if (NUMBER.matcher(number).matches()) { // else a bean of another program
                    read(connected, name, number, reader)
                            .ifPresent(session -> sessions.put(Long.parseLong(number), session));
                }
            }
            return new ArrayList<>(sessions.values());
        } catch (IOException | RuntimeException e) { // what the other JVM returns may be null, or of any class that is read
            throw unable(pid, String.valueOf(e.getMessage()));
        }
    }

    private static <S> Optional<S> read(
            MBeanServerConnection server, ObjectName name, String number, SessionReader<S> reader) throws IOException {
        try {
            return reader.read(number, JMX.newMXBeanProxy(server, name, CuFileStatisticsMXBean.class));
        } catch (UndeclaredThrowableException e) {
            if (e.getCause() instanceof InstanceNotFoundException) {
                return Optional.empty(); // The session has closed since the query.
            }
            throw e.getCause() instanceof IOException lost ? lost : foreign(e.getCause());
        } catch (RuntimeException e) {
            throw foreign(e);
        }
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

    @Override
    public void close() {
        if (connector != null) {
            try {
                connector.close();
            } catch (IOException e) {
                // The JVM has ended, and the connection with it.
            }
        }
    }
}
