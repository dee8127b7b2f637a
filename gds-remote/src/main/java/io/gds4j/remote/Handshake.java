package io.gds4j.remote;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/**
 * A handshake of a library that is not Java's, as far as a trust manager of the JVM asks for it: the name of the server, and that the
 * name has to be in the certificate. Everything else is unsupported.
 */
final class Handshake extends SSLEngine {
    private final String host;

    Handshake(String host) {
        this.host = host;
    }

    @Override
    public SSLSession getHandshakeSession() {
        return (SSLSession) Proxy.newProxyInstance(
                Handshake.class.getClassLoader(), new Class<?>[]{SSLSession.class},
                (session, method, arguments) -> switch (method.getName()) {
                    case "getPeerHost" -> host;
                    case "getProtocol" -> "TLSv1.3";
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    @Override
    public SSLParameters getSSLParameters() {
        SSLParameters parameters = new SSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        return parameters;
    }

    private static UnsupportedOperationException unsupported() {
        return new UnsupportedOperationException("only the library that connects can do that");
    }

    @Override
    public SSLEngineResult wrap(ByteBuffer[] from, int first, int count, ByteBuffer to) {
        throw unsupported();
    }

    @Override
    public SSLEngineResult unwrap(ByteBuffer from, ByteBuffer[] to, int first, int count) {
        throw unsupported();
    }

    @Override
    public Runnable getDelegatedTask() {
        throw unsupported();
    }

    @Override
    public void closeInbound() {
        throw unsupported();
    }

    @Override
    public boolean isInboundDone() {
        throw unsupported();
    }

    @Override
    public void closeOutbound() {
        throw unsupported();
    }

    @Override
    public boolean isOutboundDone() {
        throw unsupported();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        throw unsupported();
    }

    @Override
    public String[] getEnabledCipherSuites() {
        throw unsupported();
    }

    @Override
    public void setEnabledCipherSuites(String[] suites) {
        throw unsupported();
    }

    @Override
    public String[] getSupportedProtocols() {
        throw unsupported();
    }

    @Override
    public String[] getEnabledProtocols() {
        throw unsupported();
    }

    @Override
    public void setEnabledProtocols(String[] protocols) {
        throw unsupported();
    }

    @Override
    public SSLSession getSession() {
        throw unsupported();
    }

    @Override
    public void beginHandshake() {
        throw unsupported();
    }

    @Override
    public SSLEngineResult.HandshakeStatus getHandshakeStatus() {
        throw unsupported();
    }

    @Override
    public void setUseClientMode(boolean mode) {
        throw unsupported();
    }

    @Override
    public boolean getUseClientMode() {
        return true;
    }

    @Override
    public void setNeedClientAuth(boolean need) {
        throw unsupported();
    }

    @Override
    public boolean getNeedClientAuth() {
        return false;
    }

    @Override
    public void setWantClientAuth(boolean want) {
        throw unsupported();
    }

    @Override
    public boolean getWantClientAuth() {
        return false;
    }

    @Override
    public void setEnableSessionCreation(boolean flag) {
        throw unsupported();
    }

    @Override
    public boolean getEnableSessionCreation() {
        return true;
    }
}
