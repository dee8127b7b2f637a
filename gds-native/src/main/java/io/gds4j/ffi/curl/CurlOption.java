package io.gds4j.ffi.curl;

/** Options of curl.h and their values. */
final class CurlOption {
    static final int SSLVERSION = 32;
    static final int NOBODY = 44;
    static final int FRESH_CONNECT = 74;
    static final int HTTP_VERSION = 84;
    static final int BUFFERSIZE = 98;
    static final int NOSIGNAL = 99;
    static final int CONNECTTIMEOUT_MS = 156;
    static final int HTTP_CONTENT_DECODING = 158;
    /** Newer versions have a text in its place, and keep this one. */
    static final int PROTOCOLS = 181;
    static final int PATH_AS_IS = 234;
    static final int SUPPRESS_CONNECT_HEADERS = 265;
    static final int UPLOAD_BUFFERSIZE = 280;
    static final int WRITEDATA = 10001;
    static final int URL = 10002;
    static final int PROXY = 10004;
    static final int ERRORBUFFER = 10010;
    static final int POSTFIELDS = 10015;
    static final int HTTPHEADER = 10023;
    static final int HEADERDATA = 10029;
    static final int CUSTOMREQUEST = 10036;
    static final int CAINFO = 10065;
    static final int CAPATH = 10097;
    static final int SHARE = 10100;
    static final int SSL_CTX_DATA = 10109;
    static final int NOPROXY = 10177;
    static final int RESOLVE = 10203;
    static final int PROXYHEADER = 10228;
    static final int WRITEFUNCTION = 20011;
    static final int HEADERFUNCTION = 20079;
    static final int SSL_CTX_FUNCTION = 20108;
    static final int POSTFIELDSIZE_LARGE = 30120;

    static final long HTTP_AND_HTTPS = 3;
    static final long HTTP_1_1 = 2;
    static final long TLS_1_2 = 6;

    private CurlOption() {
    }
}
