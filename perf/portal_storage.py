"""Be an S3 for measurements, in a process of its own: it checks the digest of every part and keeps no bytes.

Objects read back as zeros. Signatures are not checked; those are tested with the S3 of the demonstration.
"""

import base64
import hashlib
import re
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

_CHUNK_BYTES = 2**18


class Storage(BaseHTTPRequestHandler):
    """Answers what the portal and its clients ask of S3."""

    protocol_version = "HTTP/1.1"
    wbufsize = 2**16  # one packet for a short answer
    line_bytes_s = float("inf")
    parts: ClassVar[dict[str, dict[int, tuple[int, str]]]] = defaultdict(dict)

    def log_message(self, *_: object) -> None:
        """Keep silent."""

    def answer(self, body: str = "", status: int = 200, length: int | None = None) -> None:
        """Answer with the headers that S3 sends."""
        self.send_response(status)
        for name, value in (("Content-Length", length or len(body)), ("x-amz-version-id", "1"), ("ETag", '"1"')):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body.encode())

    def listed(self) -> dict[int, tuple[int, str]]:
        """Return number -> size and digest of the object's parts."""
        return self.parts[self.path.partition("?")[0]]

    def do_POST(self) -> None:
        """Start a file, or make it of its parts."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = "InitiateMultipartUpload" if "uploads" in self.path else "CompleteMultipartUpload"
        self.answer(f"<{kind}Result><UploadId>1</UploadId><ETag>1</ETag></{kind}Result>")

    def do_PUT(self) -> None:
        """Take a part, or copy an object."""
        digest, size = hashlib.sha256(), int(self.headers["Content-Length"] or 0)
        for begin in range(0, size, _CHUNK_BYTES):
            digest.update(self.rfile.read(min(_CHUNK_BYTES, size - begin)))
            time.sleep(_CHUNK_BYTES / self.line_bytes_s)
        found = base64.b64encode(digest.digest()).decode()
        if found != self.headers.get("x-amz-checksum-sha256", found):
            self.answer("<Error><Code>BadDigest</Code></Error>", 400)
            return
        if number := re.search(r"partNumber=(\d+)", self.path):
            self.listed()[int(number[1])] = size, found
        self.answer()

    def do_HEAD(self) -> None:
        """Say how large an object is."""
        self.answer(length=sum(size for size, _ in self.listed().values()))

    def do_GET(self) -> None:
        """List parts, or send zeros."""
        if "uploadId" in self.path:
            parts = "".join(
                f"<Part><PartNumber>{number}</PartNumber><ETag>1</ETag><Size>{size}</Size>"
                f"<ChecksumSHA256>{found}</ChecksumSHA256></Part>"
                for number, (size, found) in sorted(self.listed().items())
            )
            self.answer(f"<ListPartsResult><IsTruncated>false</IsTruncated>{parts}</ListPartsResult>")
        elif "?versioning" in self.path:
            self.answer("<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
        elif "?versions" in self.path or "?uploads" in self.path:
            self.answer("<ListResult></ListResult>")
        else:
            left = sum(size for size, _ in self.listed().values())
            self.answer(length=left)
            while left:
                left -= self.wfile.write(bytes(min(left, _CHUNK_BYTES)))

    def do_DELETE(self) -> None:
        """Agree."""
        self.answer(status=204)


def serve(line_bytes_s: float) -> None:
    """Serve at a free port, which is printed; each line brings so many bytes/s."""
    Storage.line_bytes_s = line_bytes_s
    ThreadingHTTPServer.request_queue_size = 1024
    server = ThreadingHTTPServer(("127.0.0.1", 0), Storage)
    print(server.server_port, flush=True)
    server.serve_forever()
