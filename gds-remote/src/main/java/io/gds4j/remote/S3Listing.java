package io.gds4j.remote;

import io.gds4j.error.Errno;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * The objects directly below a prefix, by ListObjectsV2 of S3 or by List Blobs of Azure.
 *
 * @param page makes the URL of a page from the token of the page before, which is empty for the first one
 */
record S3Listing(String prefix, Function<String, URI> page, S3Requests requests) {

    private static final int MAX_PAGES = 1000;
    /** S3 lists 1,000 keys a page. */
    private static final int MAX_KEYS = 1_000_000;
    /** A list of the most keys has half of it. */
    private static final long MAX_BYTES = 1L << 30;
    private static final int MAX_ATTRIBUTES = 20;
    private static final int MAX_DEPTH = 20;

    /**
     * Lists a folder by ListObjectsV2.
     *
     * @param url makes the URL of the bucket with a query
     */
    static S3Listing of(List<String> folder, Function<Map<String, String>, URI> url, HttpConnections connections) {
        String prefix = ObjectName.prefix(folder);
        return new S3Listing(prefix, token -> {
            Map<String, String> query = new HashMap<>(
                    Map.of("list-type", "2", "delimiter", "/", "prefix", prefix, "encoding-type", "url"));
            if (!token.isEmpty()) {
                query.put("continuation-token", token);
            }
            return url.apply(query);
        }, new S3Requests(connections));
    }

    /** Returns the escaped names of objects and folders, those of folders with a slash at the end. */
    List<String> names() {
        return names(MAX_BYTES);
    }

    /** @param most bytes of all answers */
    List<String> names(long most) {
        return below(most).stream().map(key -> ObjectName.escaped(key.substring(prefix.length()))).toList();
    }

    private List<String> below(long most) {
        List<String> keys = new ArrayList<>();
        long bytes = 0;
        String token = "";
        Set<String> tokens = new HashSet<>();
        for (int number = 0; number < MAX_PAGES; number++) {
            URI uri = page.apply(token);
            int known = keys.size();
            try {
                byte[] xml = requests.send("GET", uri, new byte[0]).body();
                bytes += xml.length;
                token = parse(xml, keys);
            } catch (CutShort e) {
                throw S3Requests.failure(
                        "GET", uri, Errno.EIO,
                        "the list of objects is cut short, without a NextContinuationToken: the server must know ListObjectsV2",
                        null);
            } catch (XMLStreamException | IllegalArgumentException e) {
                throw S3Requests.failure("GET", uri, Errno.EIO, "the answer is not valid XML of a list of objects", e);
            }
            if (keys.size() > MAX_KEYS || bytes > most) {
                throw S3Requests.failure(
                        "GET", uri, Errno.EFBIG, "the list of objects has more than %s keys or %s bytes"
                                .formatted(MAX_KEYS, most),
                        null);
            }
            if (!keys.subList(known, keys.size()).stream().allMatch(key -> key.startsWith(prefix))) {
                throw S3Requests.failure("GET", uri, Errno.EIO, "the list has objects of another folder", null);
            }
            if (!token.isEmpty() && !tokens.add(token)) {
                throw S3Requests.failure("GET", uri, Errno.EIO, "the list of objects never ends", null);
            }
            if (token.isEmpty()) {
                keys.removeIf(prefix::equals);
                return keys;
            }
        }
        throw S3Requests.failure(
                "GET", page.apply(""), Errno.EIO, "more than %s pages of objects".formatted(MAX_PAGES),
                null);
    }

    /** A list that goes on, but does not tell where. */
    private static final class CutShort extends Exception {
        private static final long serialVersionUID = 1L;
    }

    /** Adds the keys of an answer, and returns the token of the next one; empty after the last. */
    private static String parse(byte[] xml, List<String> keys) throws XMLStreamException, CutShort {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_COALESCING, true);
        // an element with 200,000 name spaces takes the JDK half a minute; without them they are attributes, which have a limit
        factory.setProperty(XMLInputFactory.IS_NAMESPACE_AWARE, false);
        factory.setProperty("jdk.xml.elementAttributeLimit", MAX_ATTRIBUTES);
        factory.setProperty("jdk.xml.maxElementDepth", MAX_DEPTH);
        XMLStreamReader reader = factory.createXMLStreamReader(new ByteArrayInputStream(xml));
        String token = "";
        String parent = "";
        boolean encoded = false;
        String truncated = "";
        String root = "";
        List<String> found = new ArrayList<>();
        while (reader.hasNext()) {
            if (reader.next() != XMLStreamConstants.START_ELEMENT) {
                continue;
            }
            String name = reader.getLocalName();
            name = name.substring(name.indexOf(':') + 1);
            switch (name) {
                case "ListBucketResult", "EnumerationResults" -> root = name;
                case "Contents", "CommonPrefixes", "Blob", "BlobPrefix" -> parent = name;
                case "Key" -> found.add(reader.getElementText());
                case "Name" -> { // Azure's; S3 gives the bucket one
                    boolean isEscaped = "true".equals(reader.getAttributeValue(null, "Encoded"));
                    String blob = reader.getElementText();
                    if (parent.startsWith("Blob")) {
                        found.add(isEscaped ? ObjectName.unescaped(blob).orElse(blob) : blob);
                    }
                }
                case "Prefix" -> {
                    String prefix = reader.getElementText();
                    if (parent.equals("CommonPrefixes")) {
                        found.add(prefix);
                    }
                }
                case "EncodingType" -> encoded = reader.getElementText().equals("url");
                case "IsTruncated" -> truncated = reader.getElementText().strip();
                case "NextContinuationToken" -> token = reader.getElementText();
                case "NextMarker" -> { // S3's is of its first version of lists
                    String marker = reader.getElementText();
                    token = root.equals("EnumerationResults") ? marker : token;
                }
                default -> {
                    // Sizes and times are those of the objects themselves.
                }
            }
        }
        for (String key : found) {
            keys.add(encoded ? URLDecoder.decode(key, StandardCharsets.UTF_8) : key);
        }
        if (root.isEmpty()) {
            throw new XMLStreamException("no list of objects");
        }
        boolean more = truncated.isEmpty() ? !token.isEmpty() : truncated.equalsIgnoreCase("true");
        if (more && token.isEmpty()) {
            throw new CutShort();
        }
        return more ? token : "";
    }
}
