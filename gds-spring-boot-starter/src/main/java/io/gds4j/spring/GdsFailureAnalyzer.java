package io.gds4j.spring;

import io.gds4j.error.CuFileException;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells in two sentences why gds4j kept an application from starting. */
final class GdsFailureAnalyzer extends AbstractFailureAnalyzer<CuFileException> {
    @Override
    protected FailureAnalysis analyze(Throwable root, CuFileException cause) {
        String action = switch (cause.error()) {
            case PLATFORM_NOT_SUPPORTED ->
                "Add Enable-Native-Access: ALL-UNNAMED to the manifest of the application's jar,"
                        + " or start java with --enable-native-access=ALL-UNNAMED; gds4j needs 64-bit Linux.";
            case NOMEM_ERROR ->
                "Give the process or the GPU more memory, or load fewer tensors (gds4j.checkpoints.NAME.include).";
            case INVALID_VALUE -> "Correct the value; the guide of the starter lists the properties gds4j.*.";
            default -> "Look the code up in the troubleshooting guide; gds check PATH shows what this machine has.";
        };
        return new FailureAnalysis(bean(root, cause) + cause.getMessage(), action, cause);
    }

    /** Returns the innermost bean that was being made: an application may have many checkpoints. */
    private static String bean(Throwable root, CuFileException cause) {
        String bean = "";
        for (Throwable outer = root; outer != null && outer != cause; outer = outer.getCause()) {
            if (outer instanceof BeanCreationException creation && creation.getBeanName() != null) {
                bean = "Bean " + creation.getBeanName() + ": ";
            }
        }
        return bean;
    }
}
