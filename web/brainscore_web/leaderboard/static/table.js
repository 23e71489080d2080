/**
 * The table: a grid that contains only the visible rows and columns, with keyboard navigation.
 *
 * Before and after the visible columns each row has one empty cell as wide as the omitted ones, and there is one empty row
 * above and one below. Rows and columns have numbers for screen readers.
 */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { view, element, format, state } = BrainScore;
  const { models, nodes } = view;
  const LEADING = 3; // rank, model, ties
  const SHADES = 9;
  const MOST_SECOND = 11; // characters that fit below a score
  const NARROW = matchMedia("(max-width: 640px)"); // ranks don't stay fixed then
  const [MORE_ROWS, MORE_COLUMNS] = [4, 1]; // beyond the visible ones
  const PRINTED = 11; // columns that fit on a sheet

  const scroller = document.getElementById("scroller");
  const table = document.getElementById("board");
  const [head, top, body] = ["head", "pinned", "rows"].map((id) => document.getElementById(id));
  const group = table.querySelector("colgroup");

  let columns = []; // nodes
  let order = []; // models: pinned ones, then the others
  let nPinned = 0;
  let sight = null; // the window: {first, last, left, right}
  let active = { row: 0, column: 1 }; // row -1 is the header
  let size = null; // of cells and their container, in px: reading them while drawing would force a layout each time
  let widths = ""; // of all columns, as set last
  let cells = ""; // the columns of rows made now
  let isPrinted = false;
  const asked = new Set(); // columns being loaded
  const failed = new Map(); // node -> why its column failed to load

  const measure = () => {
    const style = getComputedStyle(table);
    const px = (name) => Number.parseFloat(style.getPropertyValue(name));
    size = {
      row: px("--row"),
      column: px("--column"),
      leading: [px("--rank"), px("--model"), px("--ties")],
      head: head.offsetHeight,
      width: scroller.clientWidth,
      height: scroller.clientHeight,
    };
  };
  const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

  // -- shades ---------------------------------------------------------------------------------------------------------

  const scales = new WeakMap();

  /** Return the shade of a value among those of its column: 0 the lowest, 8 the highest. */
  const shade = (column, value) => {
    if (!scales.has(column)) {
      const sorted = column.value.filter((each) => each !== null).sort((a, b) => a - b);
      const at = (share) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
      scales.set(column, [at(0.02), at(1)]); // a low outlier must not make all other shades equal
    }
    const [low, high] = scales.get(column);
    if (!(high > low)) return 0;
    return Math.min(SHADES - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * SHADES)));
  };

  // -- cells ----------------------------------------------------------------------------------------------------------

  const cell = (tag, role, name, at, ...children) =>
    element(tag, { role, class: name, tabindex: "-1", "aria-colindex": at + 1 }, ...children);
  const gap = (tag, attributes = {}) => element(tag, { role: "presentation", "aria-hidden": "true", class: "gap", ...attributes });

  const below = (node, column, model) => {
    const what = state.get("below") ?? "interval";
    if (what === "interval") return format.interval(column.low[model], column.high[model], 2, column.bounded?.[model] === "1") || "no interval";
    if (what === "rank") return rankText(column, model);
    if (what === "n") return nText(node, column, model);
    return null;
  };

  const nText = (node, column, model) => {
    if (nodes.leaf[node]) return view.countOf(node);
    const n = Array.isArray(column.n) ? column.n[model] : column.n;
    return `${n - column.missing[model]} of ${n}`;
  };

  const rankText = (column, model) => {
    const [low, high] = [column.rank_low?.[model], column.rank_high?.[model]];
    const rank = `#${column.rank[model]}`;
    return low === null || low === undefined ? rank : low === high ? rank : `#${low}\u2013${high}`;
  };

  const HEARD = (text) => element("span", { class: "heard" }, text);
  const HIDDEN = (tag, text, attributes = {}) => element(tag, { ...attributes, "aria-hidden": "true" }, text);

  /**
   * Write the content of a cell: its class, and parts [class, text or nodes]. If the parts are the same, only texts are
   * replaced, which is much cheaper than new elements: all visible cells change when rows are sorted.
   */
  const write = (found, name, parts) => {
    if (found.className !== name) found.className = name;
    const there = found.children;
    const isSame = ([of, text], i) => typeof text === "string" && there[i].className === of && there[i].firstChild && !there[i].firstElementChild;
    if (there.length !== parts.length || !parts.every(isSame)) {
      found.replaceChildren(...parts.map(([of, text]) => element("span", { class: of }, text)));
      return;
    }
    parts.forEach(([, text], i) => {
      if (there[i].firstChild.data !== text) there[i].firstChild.data = text;
    });
  };

  const writeScore = (found, node, model) => {
    const column = view.column(node);
    if (!column) return write(found, "score none", [["why", failed.has(node) ? "not loaded" : "\u2026"]]);
    const value = column.value[model];
    const isSorted = view.sorting().by === node ? " sorted" : "";
    const [shownValue, why] = BrainScore.shown(column, model);
    if (why) return write(found, `score part${isSorted}`, [["value", format.score(shownValue)], ["second", [why, HEARD(", not ranked")]]]);
    if (value === null) {
      const [short, words] = view.reason(column.code[model], node);
      return write(found, `score none${isSorted}`, [["why", short === words ? short : [HIDDEN("span", short), HEARD(words)]]]);
    }
    const isAbove = nodes.leaf[node] && value > 1 && nodes.kind[node] !== "engineering";
    const isPart = !nodes.leaf[node] && column.missing[model] > 0;
    const text = format.score(value);
    const above = [HIDDEN("abbr", "\u25b2", { title: "above the ceiling" }), HEARD(" above the ceiling")];
    const second = below(node, column, model);
    return write(found, `score heat-${shade(column, value)}${isSorted}${isPart ? " part" : ""}`, [
      ["value", isAbove ? [text, ...above] : text],
      ...(second ? [[second.length > MOST_SECOND ? "second tight" : "second", second]] : []),
    ]);
  };

  /** Return an empty row for the visible columns. */
  const newRow = () => {
    const row = element(
      "tr",
      { role: "row" },
      cell("td", "gridcell", "rank", 0),
      cell("th", "rowheader", "model", 1, element("button", { type: "button", class: "pin", tabindex: "-1", title: "Pin this row" }), element("a", { tabindex: "-1", class: "value" }), element("span", { class: "second" })),
      cell("td", "gridcell", "ties", 2),
      gap("td"),
    );
    row.children[1].setAttribute("scope", "row");
    for (let at = sight.left; at < sight.right; at++) row.append(cell("td", "gridcell", "score", LEADING + at));
    row.append(gap("td"));
    return row;
  };

  /** Show a model in a row, at a place in the order. */
  const writeRow = (row, model, place) => {
    const ranked = view.column(view.ranked());
    const rank = ranked?.rank[model] ?? null;
    const [low, high] = [ranked?.rank_low?.[model] ?? null, ranked?.rank_high?.[model] ?? null];
    const isPinned = place < nPinned;
    const facts = [models.parameters[model] && format.millions(models.parameters[model]), models.year[model], models.family[model], !models.public[model] && "private"];
    row.setAttribute("aria-rowindex", place + 2);
    row.className = isPinned ? "pinned" : "";
    const [ofRank, ofModel, ofTies] = row.children;
    // For re-weighted views, a note above the table says that ranks have no interval.
    const interval = low === null ? (rank === null ? "no rank" : "") : low === high ? `${low}` : `${low}\u2013${high}`;
    write(ofRank, "rank", [["value", `${rank ?? "\u2013"}`], ["second", interval]]);
    write(ofTies, "ties", [["value", ranked?.group[model].replaceAll(",", ", ") || "\u2013"]]);
    const [button, link, second] = ofModel.children;
    button.setAttribute("aria-pressed", String(isPinned));
    button.textContent = isPinned ? "\u2605" : "\u2606";
    if (row.dataset.model !== String(model)) {
      button.setAttribute("aria-label", `Pin ${models.name[model]}`);
      link.setAttribute("href", BrainScore.address(`models/${models.slug[model]}.html`));
      link.textContent = models.name[model];
      second.textContent = facts.filter(Boolean).join(" \u00b7 ");
      row.dataset.model = model;
    }
    for (let at = sight.left; at < sight.right; at++) writeScore(row.children[LEADING + 1 + at - sight.left], columns[at], model);
    return row;
  };

  /**
   * Return rows of a part of the table that show these models.
   *
   * Existing rows with the same cells are reused for other models; unless `redrawAll`, rows that already show one of the
   * models stay unchanged.
   */
  const rowsFor = (part, shown, first, redrawAll) => {
    const there = [...part.children].filter((row) => row.dataset.model && row.dataset.cells === cells);
    const kept = new Map(redrawAll ? [] : there.map((row) => [Number(row.dataset.model), row]));
    const stays = new Set(shown.map((model) => kept.get(model)));
    const spare = there.filter((row) => !stays.has(row)).reverse();
    return shown.map((model, i) => {
      if (kept.has(model)) return kept.get(model);
      const row = spare.pop() ?? newRow();
      row.dataset.cells = cells;
      return writeRow(row, model, first + i);
    });
  };

  /** Replace the children of an element if they differ. */
  const put = (into, children) => {
    if (into.children.length !== children.length || children.some((child, i) => child !== into.children[i])) into.replaceChildren(...children);
  };

  /** Let a long name break at dots and before capitals; elsewhere only if a part is too long for a line. */
  const breakable = (name) =>
    name.split(/(?<=[.:/_-])|(?<=[a-z0-9])(?=[A-Z])|(?<=[0-9])(?=[a-z])/).flatMap((part) => [element("span", { class: part.length < 13 ? "whole" : null }, part), element("wbr")]);

  const arrow = (descending) => element("span", { class: "arrow", "aria-hidden": "true" }, descending ? "\u2193" : "\u2191");
  const counted = (node) => ["n\u00a0=\u00a0", view.countOf(node).split(" ")[0], element("span", { class: "heard" }, " benchmarks")];

  const headerOf = (node, at) => {
    const { by, descending } = view.sorting();
    const isParent = !nodes.leaf[node];
    const isOpen = isParent && view.isOpen(node);
    const header = cell(
      "th",
      "columnheader",
      `score depth-${Math.min(nodes.depth[node], 4)}${isParent ? "" : " leaf"}${isOpen ? " open" : ""}${by === node ? " sorted" : ""}${nodes.simulated[node] ? " simulated" : ""}`,
      at,
      element(
        "button",
        { type: "button", class: "sort", tabindex: "-1", title: isParent ? "Mean of its parts" : nodes.metric[node] },
        element("span", { class: "name" }, breakable(nodes.name[node])),
      ),
      element(
        "span",
        { class: "second" },
        isParent
          ? element("button", { type: "button", class: "expand", tabindex: "-1", "aria-expanded": String(isOpen), title: `Show the parts of ${nodes.name[node]}` }, ...counted(node))
          : element("a", { href: BrainScore.address(`benchmarks/${nodes.slug[node]}.html`), tabindex: "-1", title: nodes.metric[node] }, view.countOf(node)),
        nodes.simulated[node] && nodes.leaf[node] && element("span", { class: "tag" }, "simulated"),
        by === node && arrow(descending),
      ),
    );
    header.setAttribute("scope", "col");
    header.setAttribute("aria-sort", by === node ? (descending ? "descending" : "ascending") : "none");
    header.dataset.node = node;
    return header;
  };

  const makeHead = () => {
    const { by, descending } = view.sorting();
    const ranked = nodes.name[view.ranked()] ?? "nothing";
    const row = element(
      "tr",
      { role: "row", "aria-rowindex": 1 },
      cell("th", "columnheader", "rank", 0, element("span", { class: "name" }, "Rank"), element("span", { class: "heard" }, ` by ${ranked}`)),
      cell(
        "th",
        "columnheader",
        `model${by === null ? " sorted" : ""}`,
        1,
        element(
          "button",
          { type: "button", class: "sort", tabindex: "-1" },
          element("span", { class: "name" }, "Model"),
          by === null && arrow(descending),
        ),
      ),
      cell("th", "columnheader", "ties", 2, element("span", { class: "name" }, "Ties"), element("span", { class: "heard" }, ": models that share a letter")),
      gap("td"),
    );
    row.children[1].setAttribute("aria-sort", by === null ? (descending ? "descending" : "ascending") : "none");
    for (let at = sight.left; at < sight.right; at++) row.append(headerOf(columns[at], LEADING + at));
    row.append(gap("td"));
    const there = [...(head.firstElementChild?.children ?? [])];
    if (there.length !== row.children.length) return head.replaceChildren(row);
    head.firstElementChild.setAttribute("aria-rowindex", 1); // the page's initial row has none
    // Replace only the changed ones: the others need no new layout.
    const changed = [...row.children].map((each, i) => [there[i], each]).filter(([old, each]) => !old.isEqualNode(each));
    return changed.forEach(([old, each]) => old.replaceWith(each));
  };

  // -- the window -----------------------------------------------------------------------------------------------------

  const look = () => {
    const rest = order.length - nPinned;
    if (isPrinted) return { first: 0, last: rest, left: 0, right: Math.min(columns.length, PRINTED) };
    const stuck = isStuck() ? nPinned * size.row : 0;
    const y = Math.max(0, scroller.scrollTop - (isStuck() ? 0 : nPinned * size.row));
    const first = Math.floor(y / size.row / MORE_ROWS) * MORE_ROWS - MORE_ROWS;
    const high = Math.max(0, size.height - size.head - stuck);
    const last = first + (Math.ceil(high / size.row / MORE_ROWS) + 3) * MORE_ROWS;
    const x = Math.max(0, scroller.scrollLeft - size.leading[2]);
    const left = Math.floor(x / size.column) - MORE_COLUMNS;
    const right = left + Math.ceil((size.width - size.leading[1]) / size.column) + 2 * MORE_COLUMNS + 1;
    const within = (value, most) => Math.min(Math.max(value, 0), most);
    return { first: within(first, rest), last: within(last, rest), left: within(left, columns.length), right: within(right, columns.length) };
  };
  const isStuck = () => nPinned > 0 && nPinned <= 5;

  const setWidths = () => {
    const before = sight.left * size.column;
    if (isPrinted) {
      // The style sheet sets the widths for printing.
      const names = ["rank", "model", "ties", "gap", ...Array(sight.right).fill("score"), "gap"];
      group.replaceChildren(...names.map((name) => element("col", { class: name })));
      [table.style.width, widths] = ["", ""];
      return;
    }
    const wanted = [...size.leading, before, ...Array(sight.right - sight.left).fill(size.column)];
    // The last one also fills the remaining width if all columns fit.
    wanted.push(Math.max((columns.length - sight.right) * size.column, size.width - sum(wanted)));
    if (widths === wanted.join()) return;
    widths = wanted.join();
    group.replaceChildren(
      ...wanted.map((width) => {
        const column = element("col");
        column.style.width = `${width}px`;
        return column;
      }),
    );
    table.style.width = `${sum(wanted)}px`;
  };

  const space = () => {
    const row = gap("tr");
    row.append(element("td"));
    return row;
  };
  const [above, beneath] = [space(), space()];

  /** Return an empty row as high as some rows; nothing if there are none. */
  const spaceOf = (row, nRows) => {
    row.firstChild.colSpan = LEADING + 2 + sight.right - sight.left;
    row.firstChild.style.height = `${nRows * size.row}px`;
    return nRows > 0 ? [row] : [];
  };

  const askFor = () => {
    const { by } = view.sorting();
    const wanted = columns.slice(sight.left, sight.right);
    if (by !== null) wanted.push(by);
    for (const node of wanted) {
      const key = `${node} ${BrainScore.missing()} ${view.isReweighted() ? state.get("without") : ""} ${view.asOf()}`;
      if (view.column(node) || asked.has(key)) continue;
      asked.add(key);
      view
        .need(node)
        .then(
          () => failed.delete(node),
          (error) => failed.set(node, error.message),
        )
        .then(() => {
          asked.delete(key);
          if (failed.has(node)) asked.add(key); // don't load it again
          BrainScore.table.arrived(node);
        });
    }
  };

  /** Draw the visible part; `redrawAll` if more than the scroll position has changed. */
  const draw = (redrawAll) => {
    const before = sight;
    sight = look();
    const sameColumns = before && before.left === sight.left && before.right === sight.right;
    if (!redrawAll && sameColumns && before.first === sight.first && before.last === sight.last) return;
    const hadFocus = table.contains(document.activeElement);
    const cellsBefore = cells;
    if (redrawAll || !sameColumns) {
      cells = [sight.left, ...columns.slice(sight.left, sight.right)].join();
      setWidths();
      makeHead();
      put(top, rowsFor(top, order.slice(0, nPinned), 0, redrawAll));
    }
    const rows = rowsFor(body, order.slice(nPinned + sight.first, nPinned + sight.last), nPinned + sight.first, redrawAll);
    put(body, [...spaceOf(above, sight.first), ...rows, ...spaceOf(beneath, order.length - nPinned - sight.last)]);
    if (cells !== cellsBefore && size.head !== head.offsetHeight) measure(); // column names may need more lines
    top.style.top = `${size.head}px`;
    mark(hadFocus);
    askFor();
  };

  // -- keyboard navigation -------------------------------------------------------------------------------------------

  const rowAt = (place) => {
    if (place < 0) return head.firstChild;
    return table.querySelector(`tbody > tr[aria-rowindex="${place + 2}"]`);
  };
  const cellAt = ({ row, column }) => rowAt(row)?.querySelector(`:scope > [aria-colindex="${column + 1}"]`) ?? null;

  /** Make one cell reachable by Tab: the last active one, or otherwise a visible one. */
  const mark = (shallFocus) => {
    if (order.length) active.row = Math.min(active.row, order.length - 1); // the absence of rows may be temporary
    active.column = Math.min(active.column, LEADING + columns.length - 1);
    for (const each of table.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1;
    const found = cellAt(active);
    (found ?? cellAt({ row: -1, column: 1 })).tabIndex = 0;
    if (shallFocus) (found ?? scroller).focus({ preventScroll: true }); // keys still work if the cell is out of view
  };

  /** Scroll until no fixed row or column covers a cell. */
  const reveal = ({ row, column }) => {
    if (row >= nPinned) {
      const headHeight = size.head + (isStuck() ? nPinned * size.row : 0);
      const y = (isStuck() ? row - nPinned : row) * size.row;
      if (y < scroller.scrollTop) scroller.scrollTop = y;
      const seen = size.height - headHeight - size.row;
      if (y > scroller.scrollTop + seen) scroller.scrollTop = y - seen;
    }
    if (column >= LEADING) {
      const stuck = !NARROW.matches ? size.leading[0] + size.leading[1] : size.leading[1];
      const x = sum(size.leading) + (column - LEADING) * size.column;
      if (x - stuck < scroller.scrollLeft) scroller.scrollLeft = x - stuck;
      const seen = size.width - size.column;
      if (x > scroller.scrollLeft + seen) scroller.scrollLeft = x - seen;
    } else scroller.scrollLeft = 0;
  };

  const go = (row, wanted) => {
    const column = wanted === 2 && !size.leading[2] ? wanted + Math.sign(wanted - active.column) : wanted; // there is no space for ties
    active = { row: Math.min(Math.max(row, -1), order.length - 1), column: Math.min(Math.max(column, 0), LEADING + columns.length - 1) };
    reveal(active);
    draw(false);
    mark(true);
  };

  const place = (found) => ({ row: Number(found.parentElement.getAttribute("aria-rowindex")) - 2, column: Number(found.getAttribute("aria-colindex")) - 1 });

  const sortBy = (column) => {
    if (column !== 0 && column !== 2) view.setSort(column === 1 ? null : columns[column - LEADING]);
    BrainScore.table.update();
  };
  const expand = (column) => {
    const node = columns[column - LEADING];
    if (node === undefined || nodes.leaf[node]) return;
    view.setOpen(node, !view.isOpen(node));
    BrainScore.table.update();
    BrainScore.table.say(`${nodes.name[node]} ${view.isOpen(node) ? "expanded" : "collapsed"}: ${columns.length} columns of scores`);
  };
  const pin = (row) => {
    const model = order[row];
    view.togglePin(model);
    BrainScore.table.update();
    active.row = order.indexOf(model);
    draw(true);
    BrainScore.table.say(`${models.name[model]} ${view.pinned().includes(model) ? "pinned" : "no longer pinned"}`);
  };
  const openPanel = ({ row, column }) => {
    const node = column < LEADING ? view.ranked() : columns[column - LEADING];
    BrainScore.panel.open(order[row], node);
  };

  const act = (at) => {
    if (at.row < 0) sortBy(at.column);
    else if (at.column === 1) rowAt(at.row).querySelector("a").click();
    else openPanel(at);
  };

  const page = () => Math.max(1, Math.floor((size.height - size.head) / size.row) - 1);
  const MOVES = {
    ArrowUp: ({ row, column }) => [row - 1, column],
    ArrowDown: ({ row, column }) => [row + 1, column],
    ArrowLeft: ({ row, column }) => [row, column - 1],
    ArrowRight: ({ row, column }) => [row, column + 1],
    PageUp: ({ row, column }) => [Math.max(0, row - page()), column],
    PageDown: ({ row, column }) => [row + page(), column],
    Home: ({ row }, isFirst) => [isFirst ? 0 : row, 0],
    End: ({ row }, isLast) => [isLast ? order.length - 1 : row, LEADING + columns.length - 1],
  };

  scroller.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const move = MOVES[event.key];
    if (move) go(...move(active, event.ctrlKey));
    else if (event.ctrlKey) return;
    else if (event.key === "Enter" && !event.target.matches("a")) act(active);
    else if (event.key === " " && active.row < 0) expand(active.column);
    else if (event.key === "p" && active.row >= 0) pin(active.row);
    else return;
    event.preventDefault();
  });

  table.addEventListener("click", (event) => {
    const found = event.target.closest("[aria-colindex]");
    if (!found) return;
    active = place(found);
    const button = event.target.closest("button");
    if (event.target.closest("a")) return;
    if (button?.matches(".pin")) pin(active.row);
    else if (button?.matches(".expand")) expand(active.column);
    else if (active.row < 0) sortBy(active.column);
    else if (active.column !== 1 && !String(getSelection())) openPanel(active);
    else mark(false);
  });

  table.addEventListener("focusin", (event) => {
    if (!event.target.matches("[aria-colindex]")) return;
    active = place(event.target);
    mark(false);
  });

  // A row is copied as text with tabs between its cells; if text is selected, that text is copied.
  document.addEventListener("copy", (event) => {
    if (String(getSelection()) || !scroller.contains(document.activeElement)) return;
    const chosen = active.row < nPinned && active.row >= 0 ? order.slice(0, nPinned) : [order[Math.max(active.row, 0)]];
    event.clipboardData.setData("text/plain", BrainScore.download.text(chosen, "\t"));
    event.preventDefault();
    BrainScore.table.say(`${chosen.length} row${chosen.length > 1 ? "s" : ""} copied`);
  });

  // -- public functions ----------------------------------------------------------------------------------------------

  let waiting = null; // {redrawAll}
  const soon = (redrawAll) => {
    if (waiting) {
      waiting.redrawAll ||= redrawAll;
      return;
    }
    waiting = { redrawAll };
    requestAnimationFrame(() => {
      const due = waiting;
      waiting = null;
      draw(due.redrawAll);
    });
  };

  BrainScore.table = {
    /** Show the view in the address. */
    update() {
      columns = view.columns();
      const found = view.rows();
      order = [...found.pinned, ...found.rest];
      nPinned = found.pinned.length;
      table.setAttribute("aria-rowcount", order.length + 1);
      table.setAttribute("aria-colcount", LEADING + columns.length);
      const isFlat = state.get("below") === "nothing";
      if (!size || table.classList.contains("flat") !== isFlat) {
        table.classList.toggle("flat", isFlat);
        measure();
      }
      top.classList.toggle("stuck", isStuck());
      draw(true);
      BrainScore.controls?.tell(found);
    },
    /** Handle a column that was loaded or failed. */
    arrived(node) {
      if (view.sorting().by === node) BrainScore.table.update();
      else soon(true);
    },
    /** Announce a text to screen readers. */
    say(text) {
      document.getElementById("said").textContent = text;
    },
    focus: () => mark(true),
    order: () => order,
    columns: () => columns,
  };

  const print = (shall) => {
    isPrinted = shall;
    if (!shall) measure(); // sizes may have been measured on the printed sheet
    const left = columns.length - PRINTED;
    document.getElementById("left-out").textContent = shall && left > 0 ? `${left} more columns do not fit on paper; the CSV of this view includes them.` : "";
    draw(true);
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  scroller.addEventListener("scroll", () => soon(false), { passive: true });
  new ResizeObserver(() => {
    measure();
    soon(true);
  }).observe(scroller);
})();
