/**
 * Send files in parts directly to S3; the portal's list of received parts shows where to continue.
 *
 * Handles the form `#upload`; without `data-id` it starts a new upload. `#watched` reloads the page when the state
 * of an upload changes.
 */
"use strict";
(() => {
  const { element, format } = BrainScore;
  const ATTEMPTS = 5;
  const FIRST_PAUSE_S = 1;
  const LONGEST_PAUSE_S = 120;
  const WORKERS = 4;
  const POLL_MS = 1_500;
  // S3 answers these with 4xx although a retry may succeed.
  const PASSING = new Set(["BadDigest", "RequestTimeout", "RequestTimeTooSkewed", "XAmzContentSHA256Mismatch"]);

  // -- decisions; the same as in `brainscore_web.upload` --------------------------------------------------------------

  /** Return the parts of a file: number, first byte, size. */
  const partsOf = (size, partBytes) =>
    Array.from({ length: Math.max(1, Math.ceil(size / partBytes)) }, (_, at) => ({
      number: at + 1,
      begin: at * partBytes,
      size: Math.min(partBytes, size - at * partBytes),
    }));

  /** Return whether the portal lists a part with these bytes. */
  const isReceived = (part, sha256, received) =>
    received.some((one) => one.number === part.number && one.size === part.size && one.checksum === sha256);

  /** Return the seconds to wait before a retry; null if the failure is permanent. Status 0 means no answer. */
  const pauseBeforeRetry = (attempt, status, body = "", retryAfter = null) => {
    const code = /<Code>(\w+)<\/Code>/.exec(body)?.[1];
    const passes = status === 0 || status === 429 || status >= 500 || (code && (PASSING.has(code) || /\bexpired\b/i.test(body)));
    if (!passes || attempt >= ATTEMPTS) return null;
    const named = /^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) : 0;
    const pause = Math.max(FIRST_PAUSE_S * 2 ** (attempt - 1), named);
    return pause <= LONGEST_PAUSE_S ? pause : null;
  };

  /** Return the identifier shared by the names of packaged files; empty if they differ. */
  const identifierOf = (names) => {
    const found = new Set(
      names.filter((name) => /\.(csv|zip|nc)$/.test(name)).map((name) => name.replace(/^(stimulus|assy)_/, "").replace(/\.\w+$/, "")),
    );
    return found.size === 1 ? [...found][0] : "";
  };

  BrainScore.upload = { partsOf, isReceived, pauseBeforeRetry, identifierOf };

  // -- requests -------------------------------------------------------------------------------------------------------

  const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

  /** Return the final answer (status, body, retryAfter) of a request, which is retried while that may help. */
  const attempts = async (send) => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await send();
      const pause = answer.status >= 200 && answer.status < 300 ? null : pauseBeforeRetry(attempt, answer.status, answer.body, answer.retryAfter);
      if (pause === null) return answer;
      await wait(pause);
    }
  };

  const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

  /** Return the portal's answer as JSON; throw its problems as text. */
  const call = async (method, path, body = null) => {
    const answer = await attempts(async () => {
      try {
        const got = await fetch(`/api/v1/${path}`, {
          method,
          headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
          body: body === null ? null : JSON.stringify(body),
        });
        return { status: got.status, body: await got.text(), retryAfter: got.headers.get("Retry-After") };
      } catch {
        return { status: 0, body: "" };
      }
    });
    if (answer.status === 0) throw new Error("There is no connection to the portal. Choose the files again to continue.");
    let content = {};
    try {
      content = JSON.parse(answer.body);
    } catch {
      // an answer from an intermediate server
    }
    if (answer.status >= 300) {
      const problems = (content.problems ?? []).map((one) => [one.where, one.what, one.expected, one.remedy].filter(Boolean).join(": "));
      throw new Error(problems.join("\n") || `The portal refused the request (${answer.status}).`);
    }
    return content;
  };

  /** Send bytes to S3 and report the progress. */
  const put = (url, headers, bytes, tell) =>
    new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.open("PUT", url);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.addEventListener("progress", (event) => tell(event.loaded));
      request.addEventListener("load", () =>
        resolve({
          status: request.status,
          body: request.responseText,
          retryAfter: /^retry-after: *(\d+)/im.exec(request.getAllResponseHeaders())?.[1], // S3 may hide it from pages
        }),
      );
      for (const name of ["error", "abort", "timeout"]) request.addEventListener(name, () => resolve({ status: 0, body: "" }));
      request.timeout = 600_000;
      request.send(bytes);
    });

  const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));

  /** Send one part to S3 unless it was received before. */
  const bring = async (path, file, part, received, advance) => {
    const bytes = await file.slice(part.begin, part.begin + part.size).arrayBuffer();
    if (bytes.byteLength !== part.size) throw new Error(`${file.name} changed while it was read. Choose it again.`);
    const sha256 = base64(await crypto.subtle.digest("SHA-256", bytes));
    if (isReceived(part, sha256, received)) return advance(part.size);
    let sent = 0;
    const tell = (loaded) => {
      advance(Math.min(loaded, part.size) - sent);
      sent = Math.min(loaded, part.size);
    };
    const answer = await attempts(async () => {
      tell(0);
      const signed = await call("POST", `${path}/parts`, { parts: [{ number: part.number, sha256 }] });
      const { url, headers } = signed.urls[0];
      return put(url, headers, bytes, tell);
    });
    if (answer.status === 0) throw new Error("The connection to the storage was lost. Choose the files again to continue.");
    if (answer.status >= 300) throw new Error(`Part ${part.number} of ${file.name} was refused (${answer.status}).`);
    tell(part.size);
  };

  /** Send all files of an upload, four parts at once. */
  const sendAll = async (upload, partBytes, files, advance) => {
    for (const entry of upload.files) {
      const path = `uploads/${upload.id}/files/${entry.number}`;
      const left = partsOf(entry.size, partBytes);
      const work = async () => {
        while (left.length) await bring(path, files.get(entry.name), left.shift(), entry.received, advance);
      };
      await Promise.all(Array.from({ length: WORKERS }, work));
      await call("POST", `${path}/complete`);
    }
    await call("POST", `uploads/${upload.id}/finalize`);
  };

  // -- the form -------------------------------------------------------------------------------------------------------

  const form = document.getElementById("upload");
  if (form) {
    const at = (id) => document.getElementById(id);
    const input = at("files");
    const tell = (text) => at("told").replaceChildren(...text.split("\n").map((line) => element("p", { class: "note" }, line)));
    let chosen = [];

    const choose = (list) => {
      chosen = [...list].filter((file) => !file.name.startsWith(".")).sort((a, b) => (a.name < b.name ? -1 : 1));
      at("chosen").replaceChildren(...chosen.map((file) => element("li", {}, `${file.name}, ${format.bytes(file.size)}`)));
      const name = at("identifier");
      if (name && !name.value) name.value = identifierOf(chosen.map((file) => file.name));
    };
    input.addEventListener("change", () => choose(input.files));
    const drop = form.querySelector(".drop");
    for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("over", name === "dragenter" || name === "dragover");
        if (name === "drop") {
          input.files = event.dataTransfer.files;
          choose(input.files);
        }
      });
    }

    const progressOf = (total) => {
      const start = performance.now();
      let sent = 0;
      at("progress").hidden = false;
      return (bytes) => {
        sent += bytes;
        const seconds = (performance.now() - start) / 1000;
        const speed = sent / Math.max(seconds, 0.001);
        at("bar").value = total ? sent / total : 1;
        at("numbers").textContent = `${format.bytes(sent)} of ${format.bytes(total)}, ${format.bytes(Math.round(speed))}/s, ${format.duration((total - sent) / Math.max(speed, 1))} left`;
      };
    };

    const start = async () => {
      if (!chosen.length) choose(input.files);
      const files = new Map(chosen.map((file) => [file.name, file]));
      let { id } = form.dataset;
      if (!id) {
        const created = await call("POST", "uploads", {
          identifier: at("identifier").value.trim(),
          visibility: form.elements.visibility.value,
          files: chosen.map(({ name, size }) => ({ name, size })),
        });
        id = created.id;
        form.dataset.id = id;
        history.replaceState(null, "", `/uploads/${id}`); // a reload continues this upload
      }
      const upload = await call("GET", `uploads/${id}`);
      const wrong = upload.files.filter(({ name, size }) => files.get(name)?.size !== size);
      if (wrong.length && upload.state === "receiving") {
        throw new Error(`Choose the same files again: ${wrong.map(({ name, size }) => `${name} of ${format.bytes(size)}`).join(", ")}`);
      }
      if (upload.state === "receiving") {
        tell("Sending");
        const total = upload.files.reduce((sum, { size }) => sum + size, 0);
        await sendAll(upload, upload.part_bytes, files, progressOf(total));
      }
      removeEventListener("beforeunload", warn);
      location.assign(`/uploads/${id}`);
    };
    const warn = (event) => event.preventDefault();
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const button = form.querySelector("button");
      button.disabled = true;
      addEventListener("beforeunload", warn);
      try {
        await start();
      } catch (error) {
        tell(error.message);
        removeEventListener("beforeunload", warn);
        button.disabled = false;
      }
    });
  }

  // -- an upload that is being checked --------------------------------------------------------------------------------

  const watched = document.getElementById("watched");
  if (watched) {
    const look = async () => {
      try {
        const { state } = await call("GET", `uploads/${watched.dataset.id}`);
        if (state !== watched.dataset.state) return location.reload();
      } catch {
        // retried below
      }
      setTimeout(look, POLL_MS);
    };
    setTimeout(look, POLL_MS);
  }
})();
