package io.gds4j.remote;

import io.gds4j.internal.http.NativeHttp;
import io.gds4j.internal.text.InertText;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.Security;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * The JVM's policy of TLS for a library that is not Java's: its versions, cipher suites and groups by the names of OpenSSL, and its trust
 * manager, which decides about every certificate. Thread-safe.
 */
final class JvmTls implements NativeHttp.Judge {
    /** Settings of the JVM's TLS that only the JVM obeys. */
    private static final List<String> OF_THE_JVM_ONLY = List.of("javax.net.ssl.keyStore", "jdk.tls.client.protocols",
            "jdk.tls.client.cipherSuites", "jdk.tls.client.SignatureSchemes", "com.sun.net.ssl.checkRevocation",
            "jdk.internal.httpclient.disableHostnameVerification");
    private static final String JDK_PROVIDER = "SunJSSE";
    private static final String TRUSTSTORE = "javax.net.ssl.trustStore";
    private static final String DISABLED = "jdk.tls.disabledAlgorithms";

    /** Cipher suites that have forward secrecy, and no SHA-1. */
    private static final Pattern SUITE = Pattern.compile(
            "TLS_(ECDHE_ECDSA|ECDHE_RSA|DHE_RSA)_WITH_(?:AES_(128|256)_(GCM|CBC)_(SHA256|SHA384)|(CHACHA20_POLY1305)_SHA256)");
    private static final Map<String, String> GROUPS = Map.of("x25519", "X25519", "secp256r1", "P-256", "secp384r1",
            "P-384", "secp521r1", "P-521", "x448", "X448");
    private static final List<String> SIGNATURES = List.of(
            "ecdsa_secp256r1_sha256", "ecdsa_secp384r1_sha384", "ecdsa_secp521r1_sha512", "ed25519", "ed448",
            "rsa_pss_rsae_sha256", "rsa_pss_rsae_sha384", "rsa_pss_rsae_sha512", "rsa_pss_pss_sha256",
            "rsa_pss_pss_sha384", "rsa_pss_pss_sha512", "rsa_pkcs1_sha256", "rsa_pkcs1_sha384", "rsa_pkcs1_sha512");
    /** What forbids one of these signatures, other than by the size of a key, which a certificate has. */
    private static final Pattern FORBIDS_SIGNATURES = Pattern.compile(
            "(?i)(?!.*keySize)(?!TLS_|DHE_|ECDHE_|ECDH_|Hmac)(?:.*(?:SHA-?(?:256|384|512)|ECDSA_SECP|PSS|Ed25519|Ed448).*"
                    + "|EdDSA|RSA|EC|ECDSA|\\S*ECDSA)(?:\\s.*)?");
    private static final Pattern DH_BITS = Pattern.compile("(?i)\\b(?:DH|DiffieHellman)\\s+keySize\\s*<=?\\s*(\\d+)");
    /** OpenSSL itself refuses shorter ones. */
    private static final int MIN_DH_BITS = 2048;
    private static final int TLS_1_2 = 0x0303;
    private static final int TLS_1_3 = 0x0304;
    /** For so long a server's chain of certificates counts without another look: connections open together. */
    private static final long MEMORY_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** As {@code SSLContext.getDefault()}, found once. */
    private static final class Known {
        static final Policy POLICY = readPolicy();
    }

    /**
     * The policy, or why only the JVM has it.
     *
     * @param problem why no server can be trusted; empty if some can
     */
    private record Policy(Optional<NativeHttp.Tls> tls, String obstacle, String problem) {
    }

    private record Accepted(String host, List<byte[]> chain, long at) {
        boolean has(String name, List<byte[]> certificates) {
            boolean same = host.equals(name) && chain.size() == certificates.size()
                    && System.nanoTime() - at < MEMORY_NANOS;
            for (int i = 0; same && i < chain.size(); i++) {
                same = Arrays.equals(chain.get(i), certificates.get(i));
            }
            return same;
        }
    }

    private final X509ExtendedTrustManager manager;
    private @Nullable Accepted accepted;

    JvmTls(X509ExtendedTrustManager manager) {
        this.manager = manager;
    }

    /** Returns the policy; empty if only the JVM's own TLS obeys it. */
    static Optional<NativeHttp.Tls> policy() {
        return changed().isEmpty() ? Known.POLICY.tls : Optional.empty();
    }

    /** Returns why only the JVM's own TLS obeys its policy; empty if others can. */
    static String obstacle() {
        String changed = changed();
        return changed.isEmpty() ? Known.POLICY.obstacle : changed;
    }

    private static String changed() {
        try {
            return OF_THE_JVM_ONLY.stream().filter(name -> System.getProperty(name) != null).findFirst()
                    .or(() -> Optional.of("ocsp.enable").filter(name -> Boolean.parseBoolean(
                            Security.getProperty(name))))
                    .map(name -> name + " is set")
                    .orElse(SSLContext.getDefault().getProtocol().equals("Default") ? ""
                            : "the program has its own SSLContext");
        } catch (GeneralSecurityException e) {
            return "the JVM has no TLS: " + first(e);
        }
    }

    /** Returns why the JVM's settings of TLS let no server be trusted; empty if they do, or the program has its own. */
    static Optional<String> problem() {
        try {
            boolean own = !SSLContext.getDefault().getProtocol().equals("Default");
            return own ? Optional.empty() : Optional.of(Known.POLICY.problem).filter(text -> !text.isEmpty());
        } catch (GeneralSecurityException e) {
            String trust = Known.POLICY.problem;
            return Optional.of(trust.isEmpty() ? "the JVM's settings of TLS do not work: " + first(e) : trust);
        }
    }

    /** Returns what is to know of a truststore that the JVM was told and passed over; empty if there is nothing. */
    static String remark() {
        String told = System.getProperty(TRUSTSTORE, "NONE");
        Path store = Path.of(told);
        return told.equals("NONE") || Files.isRegularFile(store) && Files.isReadable(store) ? ""
                : "; the truststore %s %s".formatted(
                        name(), Files.exists(store) ? "is no file that may be read" : "does not exist");
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

    private static Policy readPolicy() {
        TrustManagerFactory factory;
        try {
            factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init((KeyStore) null);
        } catch (GeneralSecurityException e) {
            return untrusting("the truststore %s cannot be read: %s".formatted(name(), first(e)));
        }
        boolean isOfTheJdk = factory.getProvider().getName().equals(JDK_PROVIDER);
        TrustManager manager = factory.getTrustManagers()[0];
        if (isOfTheJdk && manager instanceof X509TrustManager known && known.getAcceptedIssuers().length == 0) {
            return untrusting(
                    "the truststore %s has no certificate that can be read; javax.net.ssl.trustStorePassword may be missing"
                            .formatted(name()));
        }
        try {
            SSLContext context = SSLContext.getDefault();
            Optional<String> provider = Stream.of(
                    Security.getProviders()[0], context.getProvider(), factory.getProvider())
                    .map(each -> each.getName()).filter(name -> !name.equals("SUN") && !name.equals(JDK_PROVIDER))
                    .findFirst();
            if (provider.isPresent() || !(manager instanceof X509ExtendedTrustManager extended)) {
                return refused("the security provider is " + provider.orElse(factory.getProvider().getName()));
            }
            return translated(
                    context.getDefaultSSLParameters(), Optional.ofNullable(Security.getProperty(DISABLED)).orElse(""),
                    new JvmTls(extended));
        } catch (GeneralSecurityException e) {
            return refused("the JVM has no TLS: " + first(e));
        }
    }

    private static Policy untrusting(String problem) {
        return new Policy(Optional.empty(), problem, problem);
    }

    private static Policy refused(String why) {
        return new Policy(Optional.empty(), why, "");
    }

    /** Translates what the JVM may agree upon, from which its disabled algorithms are gone already but for two kinds. */
    private static Policy translated(SSLParameters allowed, String disabled, NativeHttp.Judge judge) {
        Optional<String> signature = Stream.of(disabled.split(",")).map(String::strip)
                .filter(each -> FORBIDS_SIGNATURES.matcher(each).matches()).findFirst();
        if (signature.isPresent()) {
            return refused("%s forbids %s".formatted(DISABLED, signature.get()));
        }
        boolean longDh = DH_BITS.matcher(disabled).results()
                .anyMatch(found -> Integer.parseInt(found.group(1)) > MIN_DH_BITS);
        List<String> versions = List.of(allowed.getProtocols());
        List<String> all = List.of(allowed.getCipherSuites());
        List<String> suites = versions.contains("TLSv1.2")
                ? all.stream().flatMap(name -> SUITE.matcher(name).results()).map(JvmTls::suite)
                        .filter(name -> !longDh || !name.startsWith("DHE")).toList()
                : List.of();
        List<String> suites13 = versions.contains("TLSv1.3")
                ? all.stream().filter(name -> name.startsWith("TLS_") && !name.contains("_WITH_")
                        && !name.contains("_SCSV")).toList()
                : List.of();
        String[] jvmGroups = allowed.getNamedGroups();
        List<String> groups = Stream.of(jvmGroups == null ? new String[0] : jvmGroups)
                .map(name -> GROUPS.getOrDefault(name, "")).filter(name -> !name.isEmpty()).toList();
        if (suites.isEmpty() && suites13.isEmpty() || groups.isEmpty()) {
            return refused(DISABLED + " leaves nothing that OpenSSL has");
        }
        return new Policy(Optional.of(new NativeHttp.Tls(
                suites.isEmpty() ? TLS_1_3 : TLS_1_2, suites13.isEmpty() ? TLS_1_2 : TLS_1_3, suites, suites13, groups,
                SIGNATURES, judge)), "", "");
    }

    /** Returns the number of a version as people write it. */
    static String name(int version) {
        return version == TLS_1_3 ? "1.3" : "1.2";
    }

    private static String suite(MatchResult name) {
        String begin = name.group(1).replace('_', '-');
        return name.group(5) != null ? begin + "-CHACHA20-POLY1305"
                : "%s-AES%s%s-%s".formatted(
                        begin, name.group(2), name.group(3).equals("GCM") ? "-GCM" : "", name.group(4));
    }

    @Override
    public synchronized void check(String host, List<byte[]> chain) throws CertificateException {
        Accepted before = accepted;
        if (before != null && before.has(host, chain)) {
            return;
        }
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        List<X509Certificate> certificates = new ArrayList<>();
        for (byte[] der : chain) {
            certificates.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(der)));
        }
        // The JVM's own TLS names no kind of key exchange for version 1.3 either.
        manager.checkServerTrusted(
                certificates.toArray(X509Certificate[]::new), "UNKNOWN", new Handshake(host));
        accepted = new Accepted(host, chain, System.nanoTime());
    }
}
