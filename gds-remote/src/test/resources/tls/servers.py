"""TLS servers on loopback with the certificates of a folder: prints "name port" for each, and serves until its input ends.

The file "requests" has a line for each request that arrived: its path, and the name of its host."""
import os, socket, ssl, sys, threading, warnings

warnings.simplefilter("ignore")
os.chdir(sys.argv[1])
BODY = b"x" * 8
ANSWER = (b'HTTP/1.1 206 P\r\nETag: "v"\r\nContent-Range: bytes 0-7/8\r\nContent-Length: 8\r\nConnection: close\r\n\r\n' + BODY)
leaves = sorted(n[:-4] for n in os.listdir(".") if n.endswith(".ext") and not n.startswith("i2"))
leaves += ["selfsigned", "expired", "future", "nochain"]
cases = [(n, n, None, "ALL") for n in leaves]
cases += [("good+tls1.0", "good", "TLSv1", "ALL"), ("good+tls1.1", "good", "TLSv1_1", "ALL"), ("good+tls1.2", "good", "TLSv1_2", "ALL"),
          ("good+tls1.3", "good", "TLSv1_3", "ALL"), ("good+null", "good", "TLSv1_2", "eNULL"), ("good+anon", "good", "TLSv1_2", "aNULL"),
          ("good+cbc-sha", "good", "TLSv1_2", "AES128-SHA"), ("good+rsa-kx", "good", "TLSv1_2", "AES256-GCM-SHA384"),
          ("good+ecdhe-cbc-sha", "good", "TLSv1_2", "ECDHE-RSA-AES128-SHA"), ("good+dhe", "good", "TLSv1_2", "DHE-RSA-AES256-GCM-SHA384")]


def answer(context, client):
    with client:
        try:
            with context.wrap_socket(client, server_side=True) as tls:
                got = b""
                while b"\r\n\r\n" not in got:
                    more = tls.recv(4096)
                    if not more:
                        return
                    got += more
                host = got.lower().split(b"\r\nhost: ")[1].split(b":")[0]
                with open("requests", "ab", buffering=0) as requests:
                    requests.write(got.split()[1] + b" " + host + b"\n")
                tls.sendall(ANSWER)
                tls.unwrap()
        except (OSError, ValueError):
            pass


def serve(certificate, version, ciphers):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(ciphers + ":@SECLEVEL=0")
    context.load_cert_chain(certificate + ".pem", certificate + ".key")
    context.minimum_version = getattr(ssl.TLSVersion, version or "TLSv1")
    if version:
        context.maximum_version = context.minimum_version
    server = socket.create_server(("127.0.0.1", 0), backlog=50)

    def loop():
        while True:
            client, _ = server.accept()
            threading.Thread(target=answer, args=(context, client), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return server.getsockname()[1]


for name, certificate, version, ciphers in cases:
    print(name, serve(certificate, version, ciphers), flush=True)
print("end", flush=True)
sys.stdin.read()
