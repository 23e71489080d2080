/** The controls around the table: search, filters, choice of columns, date and export. */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { view, element, format, state } = BrainScore;
  const { models, nodes } = view;
  const byId = (id) => document.getElementById(id);

  // -- search and filters ---------------------------------------------------------------------------------------------

  const INPUTS = ["q", "access", "family", "training", "licence", "pmin", "pmax", "ymin", "ymax", "smin", "smax", "scored", "below"];

  const fill = (id, values) => {
    const options = [...new Set(values.filter((value) => value !== null))].sort(new Intl.Collator("en").compare);
    byId(id).append(...options.map((value) => element("option", { value }, value)));
    byId(id).closest("label").hidden = !options.length;
  };

  const showState = () => {
    for (const name of INPUTS) byId(name).value = state.get(name) ?? (name === "below" ? "interval" : "");
  };

  let typed = null; // the field being edited: all its changes are one step back
  for (const name of INPUTS) {
    byId(name).addEventListener("input", (event) => {
      const value = event.target.value;
      state.set({ [name]: name === "below" && value === "interval" ? null : value }, { step: typed !== name });
      typed = event.target.matches("input") ? name : null;
      BrainScore.table.update();
    });
    byId(name).addEventListener("blur", () => (typed = null));
  }

  const chips = () =>
    view.filters().map(({ names, text }) =>
      element(
        "button",
        {
          type: "button",
          class: "chip",
          "aria-label": `Remove the filter ${text}`,
          onclick() {
            state.set(Object.fromEntries(names.map((name) => [name, null])));
            showState();
            BrainScore.table.update();
            byId("q").focus();
          },
        },
        text,
        element("span", { "aria-hidden": "true" }, " \u00d7"),
      ),
    );

  const dateNote = () =>
    view.asOf() !== null &&
    element(
      "p",
      { class: "note" },
      `Scores as of ${state.get("at")}, in today's tree of benchmarks. Intervals of averages are upper bounds; ranks have none. `,
      element("button", { type: "button", class: "link", onclick: () => setDay(null) }, "Back to today"),
    );

  const weightNote = () => {
    if (!view.isReweighted()) return null;
    const without = view.nodesIn("without");
    const leaves = nodes.leaf.flatMap((leaf, node) => (leaf ? [node] : []));
    const n = leaves.filter(view.isChosenAmong(without)).length;
    return element(
      "p",
      { class: "note" },
      `Re-weighted: averages and ranks use ${format.count(n)} of ${format.count(leaves.length)} benchmarks. Their intervals are upper bounds; ranks have none. `,
      element("button", { type: "button", class: "link", onclick: () => weigh(false) }, "Back to all"),
    );
  };

  const tell = ({ pinned, found }) => {
    const nFilters = view.filters().length;
    byId("filters-count").textContent = nFilters ? ` ${nFilters}` : "";
    const nHidden = state.list("without").length;
    byId("columns-count").textContent = nHidden ? ` ${nHidden} out` : "";
    const text = `${format.count(found)} of ${format.count(models.id.length)} models`;
    if (byId("found").textContent !== text) byId("found").textContent = text; // an unchanged text is not announced again
    byId("chips").replaceChildren(...chips());
    byId("notes").replaceChildren(...[dateNote(), weightNote()].filter(Boolean));
    byId("empty").hidden = found > 0;
    if (!models.id.length) byId("empty").textContent = "No model yet.";
    const compare = byId("compare");
    compare.hidden = pinned.length < 2;
    compare.href = BrainScore.address(`compare.html#models=${pinned.slice(0, 5).map((model) => models.slug[model]).join(",")}`);
    compare.textContent = `Compare ${Math.min(pinned.length, 5)} pinned`;
    byId("unpin").hidden = pinned.length === 0;
  };

  byId("unpin").addEventListener("click", () => {
    state.set({ pin: null });
    BrainScore.table.update();
  });
  byId("clear").addEventListener("click", () => {
    state.set(Object.fromEntries(INPUTS.filter((name) => name !== "below").map((name) => [name, null])));
    showState();
    BrainScore.table.update();
    byId("q").focus();
  });

  // -- the board as of a day ------------------------------------------------------------------------------------------

  let states = []; // the days on which the board changed
  const dateOf = (day) => new Date(day * 864e5).toISOString().slice(0, 10);

  const showDay = () => {
    const day = view.asOf();
    byId("when-count").textContent = day === null ? "" : ` ${state.get("at")}`;
    byId("day").textContent = day === null ? "today" : state.get("at");
    byId("at").value = day === null ? states.length : states.findLastIndex((each) => each <= day);
  };
  const setDay = (at, step = true) => {
    state.set({ at }, { step });
    showDay();
    BrainScore.table.update();
  };
  byId("when").addEventListener("toggle", async ({ target }) => {
    if (!target.open || states.length) return;
    const { days, earlier } = await BrainScore.load("dates");
    const changes = [...Object.values(days).flat(), ...Object.values(earlier).flatMap((of) => of.flatMap(([, from, until]) => [from, until]))];
    states = [...new Set(changes)].filter((day) => day !== null).sort((a, b) => a - b);
    Object.assign(byId("at"), { max: states.length, disabled: !states.length });
    showDay();
  });
  byId("at").addEventListener("input", ({ target }) => {
    const day = states[target.value];
    setDay(day === undefined ? null : dateOf(day), typed !== "at");
    typed = "at"; // all changes are one step back
  });
  byId("at").addEventListener("change", () => (typed = null));
  byId("today").addEventListener("click", () => setDay(null));

  // -- choice of columns ----------------------------------------------------------------------------------------------

  const weigh = (shall) => {
    state.set({ weigh: shall ? "chosen" : null });
    byId("weigh").checked = shall;
    BrainScore.table.update();
  };
  byId("weigh").addEventListener("change", (event) => weigh(event.target.checked));

  const leave = (node, isShown) => {
    const without = new Set(view.nodesIn("without"));
    if (isShown) without.delete(node);
    else without.add(node);
    state.set({ without: [...without].sort((a, b) => a - b).map((each) => nodes.slug[each]) });
    BrainScore.table.update();
  };

  const choice = (node) => {
    const box = element("input", { type: "checkbox", checked: !view.nodesIn("without").has(node), onchange: (event) => leave(node, event.target.checked) });
    const label = element("label", {}, box, element("span", {}, nodes.name[node]));
    if (nodes.leaf[node]) return element("li", {}, label);
    const inner = element("ul");
    // The items below are made on opening: there are hundreds.
    const ontoggle = (event) => event.target.open && !inner.firstChild && inner.append(...view.children[node].filter(view.hasLeaf).map(choice));
    return element("li", {}, label, element("details", { ontoggle }, element("summary", {}, element("span", { class: "heard" }, `Below ${nodes.name[node]}: `), view.countOf(node)), inner));
  };
  const showChoices = () => {
    byId("choices").replaceChildren(...view.roots.map(choice));
    byId("weigh").checked = state.get("weigh") === "chosen";
  };
  byId("columns").addEventListener("toggle", (event) => event.target.open && showChoices());
  const ONLY = ["open-data", "min-stimuli", "min-ceiling"];
  const isWanted = (leaf) =>
    (!byId("open-data").checked || nodes.public[leaf]) &&
    (nodes.n_stimuli[leaf] ?? 0) >= Number(byId("min-stimuli").value) &&
    (nodes.ceiling[leaf] ?? 0) >= Number(byId("min-ceiling").value);
  /** Return the topmost nodes without any wanted benchmark. */
  const unwanted = (node) => {
    if (nodes.leaf[node]) return isWanted(node) ? [] : [node];
    const below = view.children[node].filter(view.hasLeaf);
    const found = below.map(unwanted);
    return below.every((child, i) => found[i].includes(child)) ? [node] : found.flat();
  };
  for (const id of ONLY) {
    byId(id).addEventListener("input", () => {
      state.set({ without: view.roots.flatMap(unwanted).map((node) => nodes.slug[node]) });
      showChoices();
      BrainScore.table.update();
    });
  }
  byId("all-columns").addEventListener("click", () => {
    byId("open-data").checked = false;
    for (const id of ONLY.slice(1)) byId(id).value = "";
    state.set({ without: null });
    showChoices();
    BrainScore.table.update();
  });

  // -- export ---------------------------------------------------------------------------------------------------------

  const entry = (model) => {
    const ranked = view.column(view.ranked());
    return {
      model: models.id[model],
      name: models.name[model],
      rank: ranked?.rank[model] ?? null,
      rank_low: ranked?.rank_low[model] ?? null,
      rank_high: ranked?.rank_high[model] ?? null,
      ties: ranked?.group[model] ?? "",
      scores: Object.fromEntries(
        BrainScore.table.columns().map((node) => {
          const column = view.column(node);
          const value = column?.value[model] ?? null;
          const n = Array.isArray(column?.n) ? column.n[model] : column?.n;
          return [
            nodes.id[node],
            {
              value,
              low: column?.low[model] ?? null,
              high: column?.high[model] ?? null,
              bounded: column?.reweighted || column?.bounded?.[model] === "1",
              status: !column ? "not loaded" : BrainScore.shown(column, model)[1] ? `not ranked: ${format.score(BrainScore.shown(column, model)[0])} (${BrainScore.shown(column, model)[1]})` : value === null ? view.reason(column.code[model], node)[1] : nodes.leaf[node] ? "scored" : `mean of ${n - column.missing[model]} of ${n}`,
            },
          ];
        }),
      ),
    };
  };

  /** Return models with the visible columns as text; numbers in full precision. */
  const text = (chosen, separator = ",") => {
    const columns = BrainScore.table.columns();
    const heading = ["model", "name", "rank", "rank_low", "rank_high", "ties"];
    for (const node of columns) for (const what of ["", " low", " high", " bounded", " status"]) heading.push(nodes.id[node] + what);
    const lines = chosen.map(entry).map(({ scores, ...facts }) => {
      const numbers = columns.flatMap((node) => Object.values(scores[nodes.id[node]]));
      return [...Object.values(facts), ...numbers];
    });
    return BrainScore.tableText([heading, ...lines], separator);
  };

  const take = (button, name, type, make) =>
    button.addEventListener("click", async () => {
      button.setAttribute("aria-busy", "true");
      await Promise.allSettled(BrainScore.table.columns().map(view.need));
      button.removeAttribute("aria-busy");
      BrainScore.save(name, make(BrainScore.table.order()), type);
    });
  take(byId("csv"), "brain-score.csv", "text/csv;charset=utf-8", text);
  take(byId("json"), "brain-score.json", "application/json", (order) =>
    JSON.stringify({ made: view.board.made, address: location.href, models: order.map(entry) }, null, 1),
  );
  BrainScore.download = { text };

  byId("bibtex").addEventListener("click", async ({ target }) => {
    const isChosen = view.isChosenAmong(view.nodesIn("without"));
    const leaves = nodes.slug.map((_, node) => node).filter((node) => nodes.leaf[node] && isChosen(node));
    target.setAttribute("aria-busy", "true");
    const found = await Promise.allSettled(leaves.map((leaf) => BrainScore.load(`benchmarks/${nodes.slug[leaf]}`)));
    target.removeAttribute("aria-busy");
    const texts = found.map(({ value }) => value?.facts.bibtex?.trim()).filter(Boolean);
    BrainScore.save("brain-score.bib", `${[...new Set(texts)].join("\n\n")}\n`, "application/x-bibtex");
  });

  byId("link").addEventListener("click", async (event) => {
    try {
      await navigator.clipboard.writeText(location.href);
      event.target.textContent = "Copied";
    } catch {
      event.target.textContent = "Copy the address above"; // the browser doesn't allow pages to copy
    }
    setTimeout(() => (event.target.textContent = "Copy link to this view"), 2_000);
  });

  // The hash holds the view, not a position in the page.
  byId("how").addEventListener("click", (event) => {
    event.preventDefault();
    byId("legend").scrollIntoView();
  });

  // Menus close as others open, and with Escape.
  const menus = [...document.querySelectorAll("details.menu")];
  for (const menu of menus) {
    menu.addEventListener("toggle", () => {
      if (menu.open) for (const other of menus) if (other !== menu) other.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
      event.stopPropagation();
    });
  }
  document.addEventListener("click", (event) => {
    for (const menu of menus) if (menu.open && !menu.contains(event.target) && event.target.isConnected) menu.open = false;
  });

  // -- start ----------------------------------------------------------------------------------------------------------

  BrainScore.controls = { tell };
  byId("scored").closest("label").hidden = !view.hasCounts;
  for (const id of ["family", "training", "licence"]) fill(id, models[id]);
  for (const [id, values] of [["pmin", models.parameters], ["ymin", models.year], ["smin", models.image_size]]) {
    byId(id).closest("fieldset").hidden = values.every((value) => value === null);
  }
  const start = () => {
    showState();
    showDay();
    if (byId("columns").open) showChoices();
    BrainScore.table.update();
    BrainScore.panel.update();
  };
  state.onChange(start);
  start();
})();
