/** Tokens of Google's auth library for gds-remote. */
@SuppressWarnings("requires-transitive-automatic") // no module of the library has a descriptor
module io.gds4j.remote.gcs {
    requires transitive io.gds4j.remote;
    requires transitive com.google.auth.oauth2;
    requires com.google.auth;

    exports io.gds4j.remote.gcs;

    provides io.gds4j.remote.AccessTokenProvider with io.gds4j.remote.gcs.GoogleTokens;
}
