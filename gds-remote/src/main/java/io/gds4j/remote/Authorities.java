package io.gds4j.remote;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
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
    /** Settings of the JVM's TLS that only the JVM obeys. */
    private static final String[] OF_THE_JVM_ONLY = {"javax.net.ssl.keyStore", "jdk.tls.client.protocols",
            "jdk.tls.client.cipherSuites", "com.sun.net.ssl.checkRevocation",
            "jdk.internal.httpclient.disableHostnameVerification"};

    /** As {@code SSLContext.getDefault()}, found once. */
    private static final class Known {
        static final MemorySegment PEM = pem();
    }

    private Authorities() {
    }

    /** Returns the certificates in PEM, in native memory; empty if the JVM's TLS is more than a list of certificates. */
    static Optional<MemorySegment> ofTheJvm() {
        try {
            boolean changed = Stream.of(OF_THE_JVM_ONLY).anyMatch(name -> System.getProperty(name) != null)
                    || Boolean.parseBoolean(Security.getProperty("ocsp.enable"))
                    || !SSLContext.getDefault().getProtocol().equals("Default");
            return changed || Known.PEM.byteSize() == 0 ? Optional.empty() : Optional.of(Known.PEM);
        } catch (GeneralSecurityException e) {
            return Optional.empty(); // the client of the JDK tells
        }
    }

    private static MemorySegment pem() {
        Base64.Encoder base64 = Base64.getMimeEncoder(64, new byte[]{'\n'});
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try {
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init((KeyStore) null);
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
            return MemorySegment.NULL; // the client of the JDK tells
        }
        return Arena.global().allocateFrom(ValueLayout.JAVA_BYTE, out.toByteArray());
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
