/** Objects of HTTP and S3 servers, of Azure, Google and the Hugging Face hub as sources of gds4j. */
module io.gds4j.remote {
    requires transitive io.gds4j;
    requires transitive java.net.http;
    requires com.fasterxml.jackson.core;
    requires java.xml;

    exports io.gds4j.remote;

    provides io.gds4j.source.SourcePathProvider with io.gds4j.remote.internal.RemotePaths;

    uses io.gds4j.internal.http.NativeHttp;
    uses io.gds4j.remote.AccessTokenProvider;
    uses io.gds4j.remote.S3CredentialsProvider;
}
