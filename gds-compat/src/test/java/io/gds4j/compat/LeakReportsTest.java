package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.testkit.GdsExtension;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;

/** What the testkit's extension reports of this backend's batches and streams. */
class LeakReportsTest {
    private final GdsExtension gds =
            GdsExtension.over(() -> new CompatBackendProvider().create(CuFileConfig.defaults()));

    /** What the extension keeps in JUnit's store of the test. */
    private final Map<Object, Object> stored = new HashMap<>();

    /** JUnit's view of a test that passed. */
    private ExtensionContext passed() {
        ExtensionContext.Store store =
                proxy(ExtensionContext.Store.class, (proxy, method, arguments) -> switch (method.getName()) {
                    case "put" -> stored.put(arguments[0], arguments[1]);
                    case "remove" -> stored.remove(arguments[0]);
                    default -> throw new UnsupportedOperationException(method.getName());
                });
        return proxy(ExtensionContext.class,
                (proxy, method, arguments) -> method.getName().equals("getStore") ? store : Optional.empty());
    }

    private static <T> T proxy(Class<T> type, InvocationHandler calls) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[]{type}, calls));
    }

    @Test
    void forgottenBatchesAndStreamsAreNamed() {
        gds.beforeEach(passed());
        CuFileBatch batch = gds.driver().batch(4);
        try (HostStream host = HostStream.create()) {
            CuFileStream stream = gds.driver().stream(host.address(), Set.of());
            assertThatThrownBy(() -> gds.afterEach(passed()))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("a CuFileBatch was not closed; opened")
                    .hasMessageContaining("a CuFileStream was not closed; registered")
                    .hasMessageContaining("LeakReportsTest.forgottenBatchesAndStreamsAreNamed");
            assertThat(stream.isOpen()).isFalse();
        }
        assertThat(batch.isOpen()).isFalse();
    }
}
