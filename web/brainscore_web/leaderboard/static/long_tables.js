"use strict";
// Most rows of long tables are added only when the user scrolls or tabs to them, opens their list, searches or prints.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const FIRST = 60; // initial rows of a scrollable table
  const rooms = [...document.querySelectorAll(".table-room")];
  const rest = new Map(); // table body -> its remaining rows

  const shorten = (body, first) => {
    const { length } = body.rows;
    if (rest.has(body)) return;
    body.parentElement.setAttribute("aria-rowcount", length + 1);
    if (length <= first) return;
    const range = document.createRange();
    range.setStartBefore(body.rows[first]);
    range.setEndAfter(body.rows[length - 1]);
    rest.set(body, range.extractContents());
  };

  const show = (body) => {
    if (rest.has(body)) body.append(rest.get(body));
    rest.delete(body);
  };

  BrainScore.longTables = {
    /** Put all rows into the page. */
    show: () => [...rest.keys()].forEach(show),
    /** Remove the rows that are not needed yet. */
    shorten() {
      for (const room of rooms) {
        const isClosed = room.closest("details:not([open])");
        if (isClosed || room.matches(".tall")) shorten(room.querySelector("tbody"), isClosed ? 0 : FIRST);
      }
    },
  };

  for (const room of rooms) {
    const needed = () => show(room.querySelector("tbody"));
    for (const event of ["scroll", "focusin"]) room.addEventListener(event, needed);
    room.closest("details")?.addEventListener("toggle", needed);
  }
  for (const event of ["beforeprint", "blur"]) addEventListener(event, BrainScore.longTables.show); // a browser's search takes the focus
  addEventListener("keydown", (event) => (event.ctrlKey || event.metaKey || event.key === "F3") && BrainScore.longTables.show());
  BrainScore.longTables.shorten();
})();
