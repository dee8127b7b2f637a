package io.gds4j.tools.stats;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.HashSet;
import java.util.Set;
import javax.management.BadAttributeValueExpException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What another JVM may say about its JMX agent. */
class JmxGuardTest {
    @ParameterizedTest
    @ValueSource(strings = {
            "service:jmx:rmi:///jndi/rmi://127.0.0.1:1099/x", "service:jmx:rmi:///jndi/ldap://127.0.0.1/x",
            "service:jmx:rmi://127.0.0.1/jndi/rmi://127.0.0.1/x", "service:jmx:rmi://10.0.0.1/stub/rO0ABXA=",
            "service:jmx:iiop://127.0.0.1/stub/rO0ABXA=", "service:jmx:rmi://127.0.0.1:80/stub/rO0ABXA=",
            "service:jmx:rmi://127.0.0.1/stub/rO0ABXA=#x", "service:jmx:rmi://127.0.0.1/stub/"})
    void addressesOfOthersAreRefused(String address) {
        assertThat(JmxGuard.isOfTheAgent(address)).isFalse();
        assertThat(JmxGuard.isOfTheAgent("service:jmx:rmi://127.0.0.1/stub/rO0ABXA=")).isTrue();
    }

    private static Set<Object> nested() {
        Set<Object> root = new HashSet<>();
        Set<Object> one = root;
        Set<Object> two = new HashSet<>();
        for (int i = 0; i < 60; i++) {
            Set<Object> left = new HashSet<>(Set.of("x"));
            Set<Object> right = new HashSet<>();
            one.add(left);
            one.add(right);
            two.add(left);
            two.add(right);
            one = left;
            two = right;
        }
        return root;
    }

    /** A class of a library, sets that take years to hash, a large array, and a failure that calls its value. */
    private static Object object(String kind) {
        return switch (kind) {
            case "library" -> new ObjectMapper().createObjectNode();
            case "nested" -> nested();
            case "large" -> new long[100_000];
            default -> new BadAttributeValueExpException(1);
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"library", "nested", "large", "failure"})
    @Timeout(60)
    void objectsThatNoBeanOfOursHasAreNotRead(String kind) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object(kind));
        }
        assertThat(JmxGuard.with(() -> read(bytes.toByteArray()))).contains("REJECTED");
    }

    private static String read(byte[] bytes) {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            return "read: " + in.readObject().getClass();
        } catch (IOException | ClassNotFoundException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
