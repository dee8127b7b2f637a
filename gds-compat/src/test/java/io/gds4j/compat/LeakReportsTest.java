package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.testkit.GdsExtension;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;

/** What the testkit's extension reports of this backend's batches and streams. */
class LeakReportsTest {
    private final GdsExtension gds =
            GdsExtension.over(() -> new CompatBackendProvider().create(CuFileConfig.defaults()));

    /** JUnit's view of a test that passed. */
    private static ExtensionContext passed() {
        return (ExtensionContext) Proxy.newProxyInstance(
                ExtensionContext.class.getClassLoader(),
                new Class<?>[]{ExtensionContext.class},
                (proxy, method, arguments) -> Optional.empty());
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
