package io.gds4j.remote;

import io.gds4j.internal.text.InertText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.Security;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.Optional;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** The certificates that the JVM trusts, for a library of TLS that is not Java's. */
final class Authorities {
    private static final String TRUSTSTORE = "javax.net.ssl.trustStore";

    /** Settings of the JVM's TLS that only the JVM obeys. */
    private static final String[] OF_THE_JVM_ONLY = {"javax.net.ssl.keyStore", "jdk.tls.client.protocols",
            "jdk.tls.client.cipherSuites", "com.sun.net.ssl.checkRevocation",
            "jdk.internal.httpclient.disableHostnameVerification"};

    /**
     * As {@code SSLContext.getDefault()}, found once.
     *
     * @param problem why there is no certificate; empty if there are some
     */
    private record Known(MemorySegment pem, String problem) {
        static final Known AUTHORITIES = read();
    }

    private Authorities() {
    }

    /** Returns the certificates in PEM, in native memory; empty if the JVM's TLS is more than a list of certificates. */
    static Optional<MemorySegment> ofTheJvm() {
        try {
            boolean changed = Stream.of(OF_THE_JVM_ONLY).anyMatch(name -> System.getProperty(name) != null)
                    || Boolean.parseBoolean(Security.getProperty("ocsp.enable"))
                    || !SSLContext.getDefault().getProtocol().equals("Default");
            return changed || Known.AUTHORITIES.pem.byteSize() == 0
                    ? Optional.empty() : Optional.of(Known.AUTHORITIES.pem);
        } catch (GeneralSecurityException e) {
            return Optional.empty(); // the client of the JDK tells
        }
    }

    /** Returns why the settings of the JVM's TLS let no server be trusted; empty if they do, or the program has its own. */
    static Optional<String> problem() {
        try {
            boolean own = !SSLContext.getDefault().getProtocol().equals("Default");
            return own ? Optional.empty() : Optional.of(Known.AUTHORITIES.problem).filter(text -> !text.isEmpty());
        } catch (GeneralSecurityException e) {
            String trust = Known.AUTHORITIES.problem;
            return Optional.of(trust.isEmpty() ? "the JVM's settings of TLS do not work: " + first(e) : trust);
        }
    }

    private static Known read() {
        boolean isOfTheJdk = false;
        Base64.Encoder base64 = Base64.getMimeEncoder(64, new byte[]{'\n'});
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try {
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init((KeyStore) null);
            isOfTheJdk = factory.getProvider().getName().equals("SunJSSE");
            for (TrustManager manager : factory.getTrustManagers()) {
                if (manager instanceof X509TrustManager known) {
                    for (X509Certificate certificate : known.getAcceptedIssuers()) {
                        out.writeBytes(ascii("-----BEGIN CERTIFICATE-----\n"));
                        out.writeBytes(base64.encode(certificate.getEncoded()));
                        out.writeBytes(ascii("\n-----END CERTIFICATE-----\n"));
                    }
                }
            }
        } catch (GeneralSecurityException e) {
            return new Known(MemorySegment.NULL, "the truststore %s cannot be read: %s".formatted(name(), first(e)));
        }
        if (out.size() > 0 || !isOfTheJdk) { // a factory of the program may trust without a list
            return new Known(Arena.global().allocateFrom(ValueLayout.JAVA_BYTE, out.toByteArray()), "");
        }
        return new Known(MemorySegment.NULL,
                "the truststore %s has no certificate that can be read; javax.net.ssl.trustStorePassword may be missing"
                        .formatted(name()));
    }

    /** Returns what is to know of a truststore that the JVM was told and passed over; empty if there is nothing. */
    static String remark() {
        String told = System.getProperty(TRUSTSTORE, "NONE");
        return told.equals("NONE") || Files.exists(Path.of(told)) ? ""
                : "; the truststore %s does not exist".formatted(name());
    }

    private static String name() {
        String none = Path.of(System.getProperty("java.home"), "lib", "security", "cacerts").toString();
        return InertText.line(System.getProperty(TRUSTSTORE, none));
    }

    /** Returns the message of the first cause that says what the file lacks: others name classes of the JDK. */
    private static String first(Throwable failure) {
        Throwable first = failure;
        while (!(first instanceof IOException) && first.getCause() != null && first.getCause().getMessage() != null) {
            first = first.getCause();
        }
        return InertText.line(String.valueOf(first.getMessage()));
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
