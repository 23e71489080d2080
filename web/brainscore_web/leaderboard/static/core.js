/**
 * Functions for every page: data files, the state in the address, numbers as text, elements, and the theme.
 *
 * Each script of the site extends one global object, `BrainScore`: modules and `fetch` don't work from a file.
 */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const base = new URL(document.documentElement.dataset.root || "./", document.baseURI);

  // -- data files: scripts that call `BrainScore.take` ----------------------------------------------------------------

  const taken = new Map();
  const waiting = new Map(); // name -> Promise
  const NAME = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$/; // no dot in front: no `..`

  /** Return the address of a data file of this site; refuse any other name. */
  const addressOf = (name) => {
    if (!NAME.test(name)) throw new TypeError(`No data file of this site is called ${JSON.stringify(name)}.`);
    return new URL(`data/${name}.js`, base).href;
  };
  const policy = globalThis.trustedTypes?.createPolicy("brainscore", { createScriptURL: addressOf });

  /** Store a value under its name; called by data files. */
  BrainScore.take = (name, value) => {
    taken.set(name, value);
  };

  /** Return a value that has been loaded, or undefined. */
  BrainScore.taken = (name) => taken.get(name);

  /**
   * Load `data/<name>.js` once.
   * @param {string} name such as `columns/V1` or `board`
   * @returns {Promise<object>} content of the file; rejected with the reason if it can't be loaded
   */
  BrainScore.load = (name) => {
    if (taken.has(name)) return Promise.resolve(taken.get(name));
    if (!waiting.has(name)) {
      waiting.set(
        name,
        new Promise((resolve, reject) => {
          const script = document.createElement("script");
          const failed = (why) => {
            waiting.delete(name); // the file may exist at the next request
            script.remove();
            reject(new Error(`data/${name}.js ${why}`));
          };
          script.addEventListener("load", () => {
            if (!taken.has(name)) return failed("does not hold the data that its name promises.");
            script.remove();
            resolve(taken.get(name));
          });
          script.addEventListener("error", () => failed("could not be loaded: is the site complete?"));
          script.src = policy ? policy.createScriptURL(name) : addressOf(name);
          document.head.append(script);
        }),
      );
    }
    return waiting.get(name);
  };

  // -- the state of a page, all of it in the address ------------------------------------------------------------------

  const encode = (text) => encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%2F", "/");
  const decode = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a truncated link
    }
  };
  const readHash = () => {
    const pairs = location.hash.slice(1).split("&").filter(Boolean);
    return new Map(pairs.map((pair) => [decode(pair.split("=", 1)[0]), decode(pair.slice(pair.indexOf("=") + 1))]));
  };
  const listeners = [];
  let current = readHash();

  BrainScore.state = {
    /** Return the value of a name in the address; null if it has none. */
    get: (name) => current.get(name) ?? null,

    /** Return the items of a list in the address, such as slugs. */
    list: (name) => (current.get(name) ?? "").split(",").filter(Boolean),

    /**
     * Change the address without loading a page.
     * @param {Object<string, string|string[]|null>} changes null, "" and [] remove a name
     * @param {{step?: boolean}} options whether the back button undoes it
     */
    set(changes, { step = true } = {}) {
      for (const [name, value] of Object.entries(changes)) {
        const text = Array.isArray(value) ? value.join(",") : value;
        if (text === null || text === undefined || text === "") current.delete(name);
        else current.set(name, String(text));
      }
      const hash = [...current].map(([name, text]) => `${encode(name)}=${encode(text)}`).join("&");
      if (`#${hash}` !== (location.hash || "#")) {
        history[step ? "pushState" : "replaceState"](null, "", hash ? `#${hash}` : location.pathname + location.search);
      }
    },

    /** Call a function when the address is changed or on going back. */
    onChange: (listener) => listeners.push(listener),
  };
  const changed = () => {
    for (const listener of listeners) listener();
  };
  addEventListener("popstate", () => {
    current = readHash();
    changed();
  });

  // -- the rule for missing scores in averages: one choice for all pages------------------------------------------------

  const RULES = ["complete", "zero", "left-out"]; // as `brainscore_core.statistics.averages.Missing`; the first is the default

  /** Return the rule for missing scores: one of RULES. */
  BrainScore.missing = () => RULES[Math.max(0, RULES.indexOf(current.get("missing")))];

  /** Return the name of the data file of a node's column; null if `board` holds it. */
  const fileOf = (node) => {
    const { nodes, columns } = taken.get("board");
    const isAverage = !nodes.leaf[node] && (nodes.counts?.[node] ?? true);
    if (isAverage && BrainScore.missing() !== RULES[0]) return `${BrainScore.missing()}/${nodes.slug[node]}`;
    return columns[node] ? null : `columns/${nodes.slug[node]}`;
  };

  /** Return the column of a node if it is loaded. */
  BrainScore.column = (node) => {
    const file = fileOf(node);
    return file === null ? taken.get("board").columns[node] : taken.get(file);
  };

  /** Return [value, null] of a model, or [unranked value, the reason]; see `Column.unranked`. */
  BrainScore.shown = (column, model) =>
    column.value[model] === null ? (column.unranked?.[model] ?? [null, null]) : [column.value[model], null];

  /** Return whether a column has anything to show. */
  BrainScore.hasAny = (column) => column.value.some((value) => value !== null) || Object.keys(column.unranked ?? {}).length > 0;

  /** Load the column of a node. */
  BrainScore.loadColumn = async (node) => {
    const file = fileOf(node);
    return file === null ? taken.get("board").columns[node] : BrainScore.load(file);
  };

  document.addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("missing");
    if (!select) return;
    const follow = () => {
      select.value = BrainScore.missing();
      document.getElementById("rule").textContent = select.selectedOptions[0].textContent; // for printing
    };
    select.addEventListener("change", () => {
      BrainScore.state.set({ missing: select.value === RULES[0] ? null : select.value });
      changed();
    });
    BrainScore.state.onChange(follow);
    follow();
  });

  // Links to other pages of the site keep the rule.
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.("a[href]");
    if (BrainScore.missing() === RULES[0] || !link?.href.startsWith(base.href) || !link.pathname.endsWith(".html")) return;
    const others = link.hash.slice(1).split("&").filter((pair) => pair && !pair.startsWith("missing="));
    link.hash = [...others, `missing=${BrainScore.missing()}`].join("&");
  }, true);

  // -- numbers and dates as text --------------------------------------------------------------------------------------

  const MINUS = "\u2212";
  const fixed = (number, digits) => {
    const text = Math.abs(number).toFixed(digits);
    return number < 0 && Number(text) !== 0 ? MINUS + text : text;
  };
  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

  BrainScore.format = {
    /** 0.41234 -> "0.412"; empty if not a number. */
    score: (value, digits = 3) => (isNumber(value) ? fixed(value, digits) : ""),
    /** Both ends of an interval, with an asterisk if it is an upper bound; empty if an end is missing. */
    interval(low, high, digits = 3, isBound = false) {
      if (!isNumber(low) || !isNumber(high)) return "";
      return `${fixed(low, digits)}${low < 0 || high < 0 ? " to " : "\u2013"}${fixed(high, digits)}${isBound ? "*" : ""}`;
    },
    /** 1234567 -> "1,234,567" */
    count: (value) => (isNumber(value) ? value.toLocaleString("en-US") : ""),
    /** 25557032 -> "25.6 M" */
    millions(value) {
      if (!isNumber(value)) return "";
      if (value >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
      return value >= 1e6 ? `${(value / 1e6).toFixed(value >= 1e8 ? 0 : 1)} M` : `${Math.max(1, Math.round(value / 1e3))} k`;
    },
    /** 1536 -> "1.5 KiB" */
    bytes(value) {
      if (!isNumber(value)) return "";
      const power = Math.min(Math.floor(Math.log2(Math.max(value, 1)) / 10), 4);
      return `${power ? (value / 1024 ** power).toFixed(1) : value} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
    },
    /** 3725 -> "1 h 2 min" */
    duration(seconds) {
      if (!isNumber(seconds)) return "";
      if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
      const minutes = Math.round(seconds / 60);
      return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    },
    /** "2026-10-03T08:15:00Z" -> "2026-10-03" */
    date: (iso) => (typeof iso === "string" ? iso.slice(0, 10) : ""),
  };

  /** Reasons why a cell has no score: code -> words. */
  BrainScore.REASONS = {
    n: "not applicable",
    f: "failed",
    q: "not run yet",
    r: "running",
    h: "private",
    v: "scored on another version",
    p: "incomplete",
    "-": "no score below",
  };

  // -- elements -------------------------------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  const ADDRESSES = new Set(["http:", "https:", "mailto:", "blob:", "file:"]);
  const isAddress = (value) => {
    try {
      return ADDRESSES.has(new URL(value, document.baseURI).protocol);
    } catch {
      return false;
    }
  };

  /**
   * Make an element; text never becomes markup.
   * @param {string} tag with the prefix `svg:` for SVG elements, such as `svg:circle`
   * @param {Object<string, *>} attributes null and false omit one; functions are listeners, such as `onclick`. An address
   *   that is not of a page (`javascript:`) is omitted.
   * @param {...(Node|string|number|null|Array)} children
   */
  BrainScore.element = (tag, attributes = {}, ...children) => {
    const made = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") made.addEventListener(name.replace(/^on/, ""), value);
      else if ((name !== "href" && name !== "src") || isAddress(value)) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return made;
  };

  /** Return the address of a page of this site, such as `models/x.html`, relative to the open one. */
  BrainScore.address = (path) => (document.documentElement.dataset.root ?? "") + path;

  // The same rule as in `brainscore_core.untrusted`.
  const FORMULA = /^[\s\0\u200b-\u200f\u2060\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n|%']/u;

  /** Return a table cell as text; a text that a spreadsheet would read as a formula gets a leading apostrophe. */
  BrainScore.cellText = (value, separator = ",") => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    const safe = FORMULA.test(value) ? `'${value}` : value;
    if (separator === "\t") return safe.replace(/[\t\r\n]+/g, " ");
    return /["\r\n,;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };

  /** Return rows as CSV, or with tabs between cells. */
  BrainScore.tableText = (rows, separator = ",") => {
    const lines = rows.map((row) => row.map((value) => BrainScore.cellText(value, separator)).join(separator));
    return separator === "," ? lines.map((line) => `${line}\r\n`).join("") : lines.join("\n");
  };

  /** Save a text as a file. */
  BrainScore.save = (name, text, type) => {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = BrainScore.element("a", { href: address, download: name });
    link.dispatchEvent(new MouseEvent("click")); // it doesn't bubble, so menus stay open
    setTimeout(() => URL.revokeObjectURL(address), 60_000); // the download may not have started before
  };

  // -- light and dark -------------------------------------------------------------------------------------------------

  /** Settings kept for the next visit; if storage is forbidden, they last for this page. */
  BrainScore.storage = {
    get(name) {
      try {
        return localStorage.getItem(`brainscore.${name}`);
      } catch {
        return null;
      }
    },
    set(name, text) {
      try {
        if (text === null) localStorage.removeItem(`brainscore.${name}`);
        else localStorage.setItem(`brainscore.${name}`, text);
      } catch {
        // forbidden
      }
    },
  };
  const show = (theme) => {
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  show(BrainScore.storage.get("theme")); // before the first paint: only this script isn't deferred
  document.documentElement.dataset.script = "";

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
    const tell = () => button.setAttribute("aria-pressed", String(isDark()));
    button.hidden = false;
    button.addEventListener("click", () => {
      const chosen = isDark() ? "light" : "dark";
      const isOfSystem = (chosen === "dark") === dark.matches;
      show(isOfSystem ? null : chosen);
      BrainScore.storage.set("theme", isOfSystem ? null : chosen);
      tell();
    });
    dark.addEventListener("change", tell);
    tell();
  });
})();
