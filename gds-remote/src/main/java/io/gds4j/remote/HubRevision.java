package io.gds4j.remote;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.gds4j.internal.file.TrustedFolder;
import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;

/**
 * A commit of a repository.
 *
 * @param commit 40 digits
 * @param files names between slashes; none leads out of a folder
 */
record HubRevision(String commit, NavigableSet<String> files) {
    /**
     * Reads the hub's answer: {@code sha}, and {@code rfilename} of each of {@code siblings}.
     *
     * @throws IOException if it is another text; the message says what is wrong, in one line
     */
    static HubRevision parse(byte[] json, int length) throws IOException {
        String commit = "";
        NavigableSet<String> files = new TreeSet<>();
        try (JsonParser parser = new JsonFactory().createParser(json, 0, length)) {
            expect(parser.nextToken(), JsonToken.START_OBJECT);
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                JsonToken value = parser.nextToken();
                if (name.equals("sha")) {
                    expect(value, JsonToken.VALUE_STRING);
                    commit = parser.getText();
                } else if (name.equals("siblings")) {
                    expect(value, JsonToken.START_ARRAY);
                    while (parser.nextToken() != JsonToken.END_ARRAY) {
                        files.add(checked(texts(parser).getOrDefault("rfilename", "")));
                    }
                } else {
                    parser.skipChildren();
                }
            }
            expect(parser.currentToken(), JsonToken.END_OBJECT);
        } catch (JacksonException e) {
            throw new IOException("it is not valid JSON");
        }
        if (!HubNames.isCommit(commit)) {
            throw new IOException("its sha is no commit");
        }
        return new HubRevision(commit, files);
    }

    /**
     * Adds the files of a page of a tree: {@code path} of each entry whose {@code type} is {@code file}.
     *
     * @throws IOException as {@link #parse}
     */
    static void addFiles(byte[] json, int length, Set<String> files) throws IOException {
        try (JsonParser parser = new JsonFactory().createParser(json, 0, length)) {
            expect(parser.nextToken(), JsonToken.START_ARRAY);
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                Map<String, String> entry = texts(parser);
                if (entry.getOrDefault("type", "").equals("file")) {
                    files.add(checked(entry.getOrDefault("path", "")));
                }
            }
        } catch (JacksonException e) {
            throw new IOException("it is not valid JSON");
        }
    }

    /** Returns the texts of an object, without those of objects in it. */
    private static Map<String, String> texts(JsonParser parser) throws IOException {
        expect(parser.currentToken(), JsonToken.START_OBJECT);
        Map<String, String> texts = new HashMap<>();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            if (parser.nextToken() == JsonToken.VALUE_STRING) {
                texts.put(name, parser.getText());
            } else {
                parser.skipChildren();
            }
        }
        return texts;
    }

    private static String checked(String file) throws IOException {
        if (!TrustedFolder.isBelow(file)) {
            throw new IOException("it names a file that no folder may have, " + InertText.quote(file));
        }
        return file;
    }

    private static void expect(JsonToken found, JsonToken wanted) throws IOException {
        if (found != wanted) {
            throw new IOException("it is not the hub's list of a revision");
        }
    }
}
