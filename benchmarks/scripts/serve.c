/* A web server for one file on loopback: GET and HEAD with Range and If-Match, a thread for each connection, sendfile(2).
 *
 *   gcc -O2 -pthread -o serve serve.c && ./serve FILE [PORT]      prints the port, then serves until it is killed
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 16384 };

static int file;
static long long size;
static char etag[64];

/* Returns the value of a header field behind its name, or NULL. */
static char *field(char *head, const char *name) {
    size_t length = strlen(name);
    for (char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " ");
    }
    return NULL;
}

static int answer(int to, char *head) {
    long long from = 0, end = size;
    char text[512];
    char *range = field(head, "Range"), *wanted = field(head, "If-Match");
    if (wanted && strncmp(wanted, etag, strlen(etag)) != 0)
        return dprintf(to, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n") > 0;
    if (range && sscanf(range, "bytes=%lld-%lld", &from, &end) == 2)
        end = end < size ? end + 1 : size;
    if (from >= end)
        return dprintf(to, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */%lld\r\nContent-Length: 0\r\n\r\n",
                size) > 0;
    int length = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: %lld\r\nETag: %s\r\nAccept-Ranges: bytes\r\n",
            range ? "206 Partial Content" : "200 OK", end - from, etag);
    if (range)
        length += snprintf(text + length, sizeof text - length, "Content-Range: bytes %lld-%lld/%lld\r\n", from, end - 1,
                size);
    length += snprintf(text + length, sizeof text - length, "\r\n");
    if (send(to, text, length, MSG_MORE) != length)
        return 0;
    off_t at = from;
    while (at < end && strncmp(head, "HEAD", 4) != 0)
        if (sendfile(to, file, &at, end - at) <= 0)
            return 0;
    return 1;
}

static void *serve(void *argument) {
    int connection = (int) (long) argument, on = 1;
    char head[HEAD_BYTES + 1];
    size_t held = 0;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (;;) {
        head[held] = 0;
        char *end = strstr(head, "\r\n\r\n");
        if (end) {
            end[2] = 0;
            if (!answer(connection, head))
                break;
            held -= end + 4 - head;
            memmove(head, end + 4, held);
            continue;
        }
        ssize_t got = held < HEAD_BYTES ? read(connection, head + held, HEAD_BYTES - held) : 0;
        if (got <= 0)
            break;
        held += got;
    }
    close(connection);
    return NULL;
}

int main(int count, char **arguments) {
    struct stat status;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    signal(SIGPIPE, SIG_IGN);
    if (count < 2 || (file = open(arguments[1], O_RDONLY)) < 0 || fstat(file, &status)) {
        fprintf(stderr, "usage: serve FILE [PORT]\n");
        return 2;
    }
    size = status.st_size;
    snprintf(etag, sizeof etag, "\"%lx-%llx\"", (long) status.st_mtime, size);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(count > 2 ? atoi(arguments[2]) : 0);
    int port = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(port, (struct sockaddr *) &address, sizeof address) || listen(port, 256)
            || getsockname(port, (struct sockaddr *) &address, &length)) {
        perror("serve");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        int connection = accept(port, NULL, NULL);
        if (connection >= 0 && pthread_create(&thread, NULL, serve, (void *) (long) connection) == 0)
            pthread_detach(thread);
    }
}
