package io.gds4j.remote;

import io.gds4j.internal.http.NativeHttp;
import io.gds4j.internal.text.InertText;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/** The certificates of a PEM file, which take the place of the JVM's truststore. Immutable; equal if file and certificates are. */
final class PemTrust {
    private static final int MAX_FILE = 16 << 20;

    /** Other blocks, such as private keys, are passed over, as other tools do. */
    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN (?:X509 )?CERTIFICATE-----([^-]*)-----END (?:X509 )?CERTIFICATE-----");

    private final Path file;
    private final List<X509Certificate> certificates = new ArrayList<>();
    private final Optional<SSLContext> context;
    private final Optional<NativeHttp.Judge> judge;
    private final String problem;

    /** Reads the file. If that fails, {@link #problem} says why, and each request by https fails with it. */
    PemTrust(Path file) {
        this.file = file;
        Optional<SSLContext> tls = Optional.empty();
        Optional<NativeHttp.Judge> ofChains = Optional.empty();
        String failure = "";
        try {
            read();
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            for (X509Certificate certificate : certificates) {
                store.setCertificateEntry("authority " + store.size(), certificate);
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            TrustManager manager = factory.getTrustManagers()[0];
            SSLContext made = SSLContext.getInstance("TLS");
            made.init(null, new TrustManager[]{manager}, null);
            tls = Optional.of(made);
            ofChains = manager instanceof X509ExtendedTrustManager known ? Optional.of(new JvmTls(known))
                    : Optional.empty();
        } catch (IOException | GeneralSecurityException e) {
            failure = "the certificates of %s cannot be read: %s".formatted(InertText.line(file.toString()), why(e));
        }
        context = tls;
        judge = ofChains;
        problem = failure;
    }

    private void read() throws IOException, GeneralSecurityException {
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_FILE + 1);
        }
        if (bytes.length > MAX_FILE) {
            throw new IOException("it has more than %s bytes".formatted(MAX_FILE));
        }
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        Matcher block = BLOCK.matcher(new String(bytes, StandardCharsets.ISO_8859_1));
        while (block.find()) {
            try {
                byte[] der = Base64.getMimeDecoder().decode(block.group(1));
                certificates.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(der)));
            } catch (GeneralSecurityException | IllegalArgumentException e) {
                throw new IOException("its certificate %s is not valid".formatted(certificates.size() + 1), e);
            }
        }
        if (certificates.isEmpty()) {
            throw new IOException("it has no certificate in PEM");
        }
    }

    private static String why(Exception e) {
        return switch (e) {
            case NoSuchFileException none -> "there is no such file";
            case AccessDeniedException denied -> "access is denied";
            default -> InertText.line(String.valueOf(e.getMessage()));
        };
    }

    Path file() {
        return file;
    }

    /** Returns why no server can be trusted; empty if some can. */
    Optional<String> problem() {
        return Optional.of(problem).filter(text -> !text.isEmpty());
    }

    /** Returns what the client of the JDK trusts; empty with a {@link #problem}. */
    Optional<SSLContext> context() {
        return context;
    }

    /** Returns the JVM's policy of TLS with these certificates; empty if only the client of the JDK has it. */
    Optional<NativeHttp.Tls> policy() {
        return judge.flatMap(known -> JvmTls.policy().map(tls -> new NativeHttp.Tls(
                tls.least(), tls.most(), tls.suites(), tls.suites13(), tls.groups(), tls.signatures(), known)));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof PemTrust that && file.equals(that.file) && certificates.equals(that.certificates)
                && problem.equals(that.problem);
    }

    @Override
    public int hashCode() {
        return file.hashCode();
    }
}
