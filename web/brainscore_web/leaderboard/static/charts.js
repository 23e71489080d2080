"use strict";
// The kinds of charts on the pages, as SVG made by DOM calls.
//
// Each function takes numbers and options and returns an <svg> with title and description; its colours are classes in
// pages.css. `BrainScore.figures` puts it into a page.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const SVG = "http://www.w3.org/2000/svg";
  const FONT = 12;

  const html = BrainScore.element;
  const make = (tag, ...rest) => BrainScore.element(`svg:${tag}`, ...rest);
  const { score } = BrainScore.format;

  /** The places of each chart for pointer and keyboard, see `listed` and `inGrid`; for some also the numbers as `table`. */
  const found = new WeakMap();
  let count = 0;

  function start(width, height, { title, description }, places) {
    count += 1;
    const id = `chart-${count}`;
    const svg = make(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "img",
        class: "chart",
        "aria-labelledby": `${id}-title ${id}-desc`,
      },
      make("title", { id: `${id}-title` }, title),
      make("desc", { id: `${id}-desc` }, description ?? ""),
    );
    found.set(svg, places);
    return svg;
  }

  /** Places of a chart as a list: points {x, y in pixels, text, href}. Keys move from left to right. */
  function listed(points) {
    let order = null;
    return {
      at: (place) => points[place],
      nearest(x, y) {
        let [nearest, best] = [-1, 24 ** 2];
        points.forEach((point, place) => {
          const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
          if (distance <= best) [nearest, best] = [place, distance];
        });
        return nearest;
      },
      step(place, key) {
        order ??= points.map((_, at) => at).sort((a, b) => points[a].x - points[b].x || points[a].y - points[b].y);
        const last = order.length - 1;
        const at = place < 0 ? -1 : order.indexOf(place);
        const to = {
          ArrowRight: at + 1,
          ArrowUp: at + 1,
          ArrowLeft: at < 0 ? last : at - 1,
          ArrowDown: at < 0 ? last : at - 1,
          Home: 0,
          End: last,
          PageDown: at + 10,
          PageUp: at - 10,
        }[key];
        return order[Math.min(last, Math.max(0, to))] ?? -1;
      },
    };
  }

  /** Cells of a grid as places; `text(row, column)` describes a cell, `href` is its link. */
  function inGrid({ rows, columns, left, top, cell, tall, text, href = () => null }) {
    const clamp = (value, size) => Math.min(size - 1, Math.max(0, value));
    return {
      at(place) {
        const [i, j] = [Math.floor(place / columns), place % columns];
        return { x: left + (j + 0.5) * cell, y: top + (i + 0.5) * tall, text: text(i, j), href: href(i, j) };
      },
      nearest(x, y) {
        const [i, j] = [Math.floor((y - top) / tall), Math.floor((x - left) / cell)];
        return i >= 0 && i < rows && j >= 0 && j < columns ? i * columns + j : -1;
      },
      step(place, key) {
        if (place < 0) return 0;
        const [i, j] = [Math.floor(place / columns), place % columns];
        const [down, right] = {
          ArrowRight: [0, 1],
          ArrowLeft: [0, -1],
          ArrowDown: [1, 0],
          ArrowUp: [-1, 0],
          Home: [0, -j],
          End: [0, columns],
          PageDown: [10, 0],
          PageUp: [-10, 0],
        }[key];
        return clamp(i + down, rows) * columns + clamp(j + right, columns);
      },
    };
  }

  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const px = (value) => Math.round(value * 100) / 100;
  /** Return the minimum and maximum of any number of values; Math.min accepts only a limited number of arguments. */
  const extremes = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

  /** Return about `wanted` round numbers that cover low to high, and the number of decimals they need. */
  function ticks(low, high, wanted = 5) {
    if (!(high > low)) return { values: [low], decimals: 2 };
    const rough = (high - low) / Math.max(1, wanted);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
    const values = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) values.push(k * step);
    return { values, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
  }

  function shortNumber(value) {
    const size = Math.abs(value);
    const units = [
      [1e12, "T"],
      [1e9, "G"],
      [1e6, "M"],
      [1e3, "k"],
    ];
    const unit = units.find(([of]) => size >= of * 0.9999);
    return unit ? `${Number((value / unit[0]).toPrecision(3))}${unit[1]}` : String(Number(value.toPrecision(3)));
  }

  /** Return {at(value), ticks: [[value, text]]} for an axis from pixel `from` to pixel `to`. */
  function scale(values, from, to, { log = false, domain = null, wanted = 5, zero = false } = {}) {
    const there = values.filter((value) => isNumber(value) && (!log || value > 0));
    let [low, high] = domain ?? extremes(there);
    if (!there.length && !domain) [low, high] = log ? [1, 10] : [0, 1];
    if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    if (log) {
      if (low === high) [low, high] = [low / 2, high * 2];
      const [first, last] = [Math.log10(low) - 0.04, Math.log10(high) + 0.04];
      const at = (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from);
      const shown = [];
      const factors = last - first > 1.6 ? [1] : [1, 2, 5];
      for (let k = Math.floor(first); k <= Math.ceil(last); k += 1) {
        for (const factor of factors) {
          const value = factor * 10 ** k;
          if (Math.log10(value) >= first && Math.log10(value) <= last) shown.push([value, shortNumber(value)]);
        }
      }
      return { at, ticks: shown };
    }
    if (low === high) [low, high] = [low - 0.5, high + 0.5];
    if (!domain) {
      const room = (high - low) * 0.03;
      [low, high] = [zero && low === 0 ? 0 : low - room, high + room];
    }
    const round = ticks(low, high, wanted);
    return {
      at: (value) => from + ((value - low) / (high - low)) * (to - from),
      ticks: round.values.map((value) => [value, value.toFixed(round.decimals).replace(/^-(0(\.0+)?)$/, "$1")]),
    };
  }

  function xAxis(svg, axis, { top, bottom, left, right, label }) {
    for (const [value, text] of axis.ticks) {
      const x = px(axis.at(value));
      svg.append(
        make("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }),
        make("text", { class: "tick", x, y: bottom + FONT + 4, "text-anchor": "middle" }, text),
      );
    }
    if (label) {
      svg.append(
        make(
          "text",
          { class: "label", x: (left + right) / 2, y: bottom + 2.7 * FONT + 4, "text-anchor": "middle" },
          label,
        ),
      );
    }
  }

  function yAxis(svg, axis, { left, right, top, label }) {
    for (const [value, text] of axis.ticks) {
      const y = px(axis.at(value));
      svg.append(
        make("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
        make("text", { class: "tick", x: left - 6, y: y + FONT * 0.35, "text-anchor": "end" }, text),
      );
    }
    if (label) svg.append(make("text", { class: "label", x: 0, y: top - 10 }, label));
  }

  function shorten(text, width, size = FONT) {
    const most = Math.max(4, Math.floor(width / (size * 0.56)));
    return text.length <= most
      ? text
      : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
  }

  const plain = (value) => score(value) || "none";
  const withInterval = ({ value, low, high }) =>
    isNumber(low) && isNumber(high) ? `${plain(value)} [${BrainScore.format.interval(low, high)}]` : plain(value);

  /**
   * Draw all models of each row on one axis as thin strokes, with the marked ones and their intervals on top.
   *
   * rows: [{label, values: [number|null], names: [string], hrefs: [string], best, median (triangle and bar of all), marked:
   * [{value, low, high, name, hue, hollow}]}]. options: title, description, label of the axis, zero (show the position of 0), domain.
   */
  function strip(rows, { width = 720, title, description, label, zero = false, domain = null } = {}) {
    const narrow = width < 560;
    const rowHeight = narrow ? 46 : 34;
    const left = narrow ? 4 : Math.min(220, width * 0.28);
    const right = width - (narrow ? 8 : 14);
    const top = 6;
    const bottom = top + rows.length * rowHeight;
    const points = [];
    const svg = start(width, bottom + (label ? 44 : 24), { title, description }, listed(points));
    const all = rows.flatMap((row) => [...(row.values ?? []), ...row.marked.flatMap((m) => [m.value, m.low, m.high])]);
    const axis = scale(all, left + 4, right - 4, { wanted: narrow ? 4 : 7, zero, domain });
    xAxis(svg, axis, { top, bottom, left, right, label });
    if (zero) svg.append(make("line", { class: "zero", x1: px(axis.at(0)), x2: px(axis.at(0)), y1: top, y2: bottom }));
    rows.forEach((row, place) => {
      const y = top + (place + (narrow ? 0.68 : 0.5)) * rowHeight;
      const text = narrow ? { x: left, y: y - rowHeight * 0.36 } : { x: left - 10, y: y + 4, "text-anchor": "end" };
      svg.append(
        make(
          "text",
          { class: row.strong ? "row strong" : "row", ...text },
          shorten(row.label, narrow ? width - 20 : left - 14),
        ),
      );
      const half = rowHeight * (narrow ? 0.2 : 0.26);
      let path = "";
      (row.values ?? []).forEach((value, at) => {
        if (!isNumber(value)) return;
        const x = px(axis.at(value));
        path += `M${x} ${px(y - half)}v${px(2 * half)}`;
        points.push({ x, y, text: `${row.names?.[at] ?? ""}: ${plain(value)} (${row.label})`, href: row.hrefs?.[at] });
      });
      svg.append(make("path", { class: row.values?.length > 200 ? "stroke many" : "stroke", d: path }));
      for (const [name, shape] of [["best", `m-5 ${px(half)}h10l-5 -9z`], ["median", `m0 ${px(-half - 2)}v${px(2 * half + 4)}`]]) {
        if (!isNumber(row[name])) continue;
        const x = px(axis.at(row[name]));
        svg.append(make("path", { class: name, d: `M${x} ${px(y)}${shape}` }));
        points.push({ x, y, text: `${name}: ${plain(row[name])} (${row.label})` });
      }
      row.marked.forEach((mark, at) => {
        if (!isNumber(mark.value)) return;
        const x = px(axis.at(mark.value));
        const spread = row.marked.length > 1 ? (at - (row.marked.length - 1) / 2) * Math.min(6, half) : 0;
        const group = make("g", { class: `mark hue-${mark.hue ?? 1}` });
        if (isNumber(mark.low) && isNumber(mark.high)) {
          group.append(
            make("line", {
              class: "interval",
              x1: px(axis.at(mark.low)),
              x2: px(axis.at(mark.high)),
              y1: y + spread,
              y2: y + spread,
            }),
          );
        }
        group.append(make("circle", { class: mark.hollow ? "dot hollow" : "dot", cx: x, cy: y + spread, r: 5 }));
        svg.append(group);
        points.push({ x, y: y + spread, text: mark.text ?? `${mark.name}: ${withInterval(mark)} (${row.label})` });
      });
    });
    return svg;
  }

  /** Draw a histogram of values, with the positions of marked ones. */
  function histogram(values, { width = 720, height = 240, title, description, label, marked = [], bins = 30 } = {}) {
    const there = values.filter(isNumber);
    const [left, right, top] = [44, width - 10, 24];
    const bottom = height - 42;
    const points = [];
    const svg = start(width, height, { title, description }, listed(points));
    const axis = scale([...there, ...marked.map((each) => each.value)], left, right, { wanted: width < 560 ? 4 : 8 });
    const [low, high] = extremes(there);
    const step = (high - low) / bins || 1;
    const counts = new Array(bins).fill(0);
    for (const value of there) counts[Math.min(bins - 1, Math.floor((value - low) / step))] += 1;
    const tall = scale([0, Math.max(1, ...counts)], bottom, top, { domain: [0, Math.max(1, ...counts)], wanted: 4 });
    tall.ticks = tall.ticks.filter(([value]) => Number.isInteger(value));
    yAxis(svg, tall, { left, right, top, label: "Models" });
    xAxis(svg, axis, { top: bottom, bottom, left, right, label });
    counts.forEach((number, bin) => {
      if (!number) return;
      const [x, end] = [axis.at(low + bin * step), axis.at(low + (bin + 1) * step)];
      svg.append(
        make("rect", {
          class: "bar",
          x: px(x + 0.5),
          y: px(tall.at(number)),
          width: px(Math.max(1, end - x - 1)),
          height: px(bottom - tall.at(number)),
        }),
      );
      points.push({
        x: (x + end) / 2,
        y: tall.at(number),
        text: `${number} model${number === 1 ? "" : "s"} from ${plain(low + bin * step)} to ${plain(low + (bin + 1) * step)}`,
      });
    });
    for (const mark of marked) {
      const x = px(axis.at(mark.value));
      svg.append(make("line", { class: `marker hue-${mark.hue ?? 1}`, x1: x, x2: x, y1: top, y2: bottom }));
      points.push({ x, y: top + 10, text: `${mark.name}: ${plain(mark.value)}` });
    }
    return svg;
  }

  /** Return the indices of points that no other point beats in both coordinates (lower x and higher y). */
  function paretoFront(points) {
    const order = points.map((_, place) => place).filter((at) => isNumber(points[at].x) && isNumber(points[at].y));
    order.sort((a, b) => points[a].x - points[b].x || points[b].y - points[a].y);
    const front = [];
    let best = -Infinity;
    for (const place of order) {
      if (points[place].y > best) {
        front.push(place);
        best = points[place].y;
      }
    }
    return front;
  }

  /**
   * Draw a dot for each point: {x, y, xlow, xhigh, ylow, yhigh, name, href, hue, text}. Error bars are drawn for points
   * with a hue, and for all if there are at most 60 points.
   */
  function scatter(
    given,
    {
      width = 720,
      height = Math.min(480, Math.max(320, width * 0.62)),
      title,
      description,
      xLabel,
      yLabel,
      xLog = false,
      front = false,
      diagonal = false,
    } = {},
  ) {
    const there = given.filter(({ x, y }) => isNumber(x) && isNumber(y) && (!xLog || x > 0));
    const [left, right, top] = [48, width - 12, 30];
    const bottom = height - 46;
    const points = [];
    const svg = start(width, height, { title, description }, listed(points));
    const isWithErrors = (each) => each.hue || there.length <= 60;
    const ends = (names) =>
      there.flatMap((each) => (isWithErrors(each) ? names : names.slice(0, 1)).map((n) => each[n]));
    const xAt = scale(ends(["x", "xlow", "xhigh"]), left, right, { log: xLog, wanted: width < 560 ? 4 : 7 });
    const yAt = scale(ends(["y", "ylow", "yhigh"]), bottom, top, { wanted: 6 });
    yAxis(svg, yAt, { left, right, top, label: yLabel });
    xAxis(svg, xAt, { top, bottom, left, right, label: xLabel });
    if (diagonal && there.length) {
      const low = Math.max(Math.min(...there.map((p) => p.x)), Math.min(...there.map((p) => p.y)));
      const high = Math.min(Math.max(...there.map((p) => p.x)), Math.max(...there.map((p) => p.y)));
      if (high > low) {
        svg.append(
          make("line", {
            class: "diagonal",
            x1: px(xAt.at(low)),
            y1: px(yAt.at(low)),
            x2: px(xAt.at(high)),
            y2: px(yAt.at(high)),
          }),
        );
      }
    }
    const chosen = front ? paretoFront(there) : [];
    if (chosen.length) {
      const path = chosen.map((place, at) => {
        const [x, y] = [px(xAt.at(there[place].x)), px(yAt.at(there[place].y))];
        return at ? `H${x}V${y}` : `M${x} ${y}`;
      });
      svg.append(make("path", { class: "front", d: `${path.join("")}H${right}` }));
    }
    const onFront = new Set(chosen);
    const order = there
      .map((_, place) => place)
      .sort((a, b) => Boolean(there[a].hue) - Boolean(there[b].hue) || onFront.has(a) - onFront.has(b));
    for (const place of order) {
      const each = there[place];
      const [x, y] = [px(xAt.at(each.x)), px(yAt.at(each.y))];
      const group = make("g", {
        class: each.hue ? `mark hue-${each.hue}` : onFront.has(place) ? "mark on-front" : "mark other",
      });
      if (isWithErrors(each)) {
        if (isNumber(each.ylow) && isNumber(each.yhigh)) {
          group.append(
            make("line", { class: "interval", x1: x, x2: x, y1: px(yAt.at(each.ylow)), y2: px(yAt.at(each.yhigh)) }),
          );
        }
        if (isNumber(each.xlow) && isNumber(each.xhigh) && !(xLog && each.xlow <= 0)) {
          group.append(
            make("line", { class: "interval", y1: y, y2: y, x1: px(xAt.at(each.xlow)), x2: px(xAt.at(each.xhigh)) }),
          );
        }
      }
      group.append(make("circle", { class: "dot", cx: x, cy: y, r: each.hue ? 6 : there.length > 200 ? 3 : 4 }));
      svg.append(group);
      points.push({ x, y, href: each.href, text: each.text ?? `${each.name}: ${plain(each.x)}, ${plain(each.y)}` });
    }
    if (front)
      labelFront(
        svg,
        chosen.map((place) => ({ ...there[place], px: xAt.at(there[place].x), py: yAt.at(there[place].y) })),
        { left, right, top },
      );
    found.get(svg).table = [["model", xLabel, yLabel], ...there.map(({ name, x, y }) => [name, x, y])];
    return svg;
  }

  function labelFront(svg, front, { left, right, top }) {
    const taken = [];
    for (const each of front.slice().reverse()) {
      const text = shorten(each.name, 150, 11);
      const wide = text.length * 6.2;
      const isEnd = each.px + wide + 8 > right;
      const box = { x: isEnd ? each.px - wide - 8 : each.px + 8, y: each.py - 8, wide };
      if (
        box.x < left ||
        box.y < top - 4 ||
        taken.some((o) => Math.abs(o.y - box.y) < 13 && box.x < o.x + o.wide && o.x < box.x + wide)
      )
        continue;
      taken.push(box);
      svg.append(
        make(
          "text",
          {
            class: "name",
            x: px(isEnd ? each.px - 8 : each.px + 8),
            y: px(each.py - 7),
            "text-anchor": isEnd ? "end" : "start",
          },
          text,
        ),
      );
    }
  }

  /** Return the style sheet's colours `--<name>` in the current theme, each as [r, g, b]. */
  function coloursOf(names) {
    const probe = html("span");
    document.body.append(probe);
    const found = names.map((name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe)
        .color.match(/\d+(\.\d+)?/g)
        .slice(0, 3)
        .map(Number);
    });
    probe.remove();
    return found;
  }

  /** Return a function from numbers in 0 to 1 to [r, g, b]. */
  function heatColours() {
    const stops = coloursOf(Array.from({ length: 9 }, (_, place) => `map-${place}`));
    return (share) => {
      const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
      const first = Math.min(stops.length - 2, Math.floor(at));
      return stops[first].map((from, k) => Math.round(from + (at - first) * (stops[first + 1][k] - from)));
    };
  }

  /**
   * Draw a table of numbers as colours; missing cells stay empty.
   *
   * options: domain, label of the legend, text(row, column) and href(row, column) of a cell, showNames, and
   * colour(value) -> [r, g, b] for colours that are not a scale; the caller then draws the legend.
   */
  function heat(
    rows,
    columns,
    values,
    {
      width = 720,
      title,
      description,
      label = "",
      domain = null,
      text = null,
      href,
      colour = null,
      showNames = true,
      cellHeight = 26,
      square = false,
    } = {},
  ) {
    const narrow = width < 560;
    const flat = values.flat().filter(isNumber);
    const [low, high] = domain ?? extremes(flat);
    const fit = (room) => {
      const each = Math.min(34, (width - room) / Math.max(1, columns.length));
      return [each, square ? each : Math.min(cellHeight, Math.max(each, 3))];
    };
    const margin = narrow ? 90 : 170;
    const hasRows = showNames && fit(margin + 40)[1] >= 11.5;
    const left = hasRows ? margin : 0;
    const [cell, tall] = fit(hasRows ? left + 40 : 0);
    const isNamed = hasRows && cell >= 14;
    const head = isNamed ? 120 : 4;
    const bottom = head + tall * rows.length;
    const wide = cell * columns.length;
    const svg = start(
      width,
      px(bottom + (colour ? 4 : 44)),
      { title, description },
      inGrid({
        rows: rows.length,
        columns: columns.length,
        left,
        top: head,
        cell,
        tall,
        href,
        text: text ?? ((i, j) => `${rows[i]}, ${columns[j]}: ${plain(values[i][j])}`),
      }),
    );
    if (!colour) found.get(svg).table = [["", ...columns], ...rows.map((name, i) => [name, ...values[i]])];
    const ofScale = heatColours();
    const of = colour ?? ((value) => ofScale(high > low ? (value - low) / (high - low) : 0.5));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, columns.length);
    canvas.height = Math.max(1, rows.length);
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(canvas.width, canvas.height);
    values.forEach((row, i) =>
      row.forEach((value, j) => {
        if (isNumber(value)) pixels.data.set([...of(value), 255], 4 * (i * canvas.width + j));
      }),
    );
    context.putImageData(pixels, 0, 0);
    const image = make("image", {
      x: left,
      y: head,
      width: px(wide),
      height: px(bottom - head),
      preserveAspectRatio: "none",
      "image-rendering": "pixelated",
    });
    image.setAttribute("href", canvas.toDataURL());
    svg.append(make("rect", { class: "blank", x: left, y: head, width: px(wide), height: px(bottom - head) }), image);
    if (hasRows) {
      rows.forEach((name, i) =>
        svg.append(
          make(
            "text",
            { class: "tick", x: left - 6, y: px(head + (i + 0.5) * tall + 4), "text-anchor": "end" },
            shorten(name, left - 8),
          ),
        ),
      );
    }
    if (isNamed) {
      columns.forEach((name, j) => {
        const x = px(left + (j + 0.5) * cell + 4);
        svg.append(
          make("text", { class: "tick", x, y: head - 6, transform: `rotate(-60 ${x} ${head - 6})` }, shorten(name, 130)),
        );
      });
    }
    if (!colour && flat.length) {
      const length = Math.min(160, Math.max(60, wide));
      for (let k = 0; k < 32; k += 1) {
        svg.append(
          make("rect", {
            x: px(left + (k * length) / 32),
            y: bottom + 10,
            width: px(length / 32 + 0.4),
            height: 10,
            fill: `rgb(${ofScale((k + 0.5) / 32).join(", ")})`,
          }),
        );
      }
      svg.append(
        make("text", { class: "tick", x: left, y: bottom + 36 }, plain(low)),
        make("text", { class: "tick", x: left + length, y: bottom + 36, "text-anchor": "end" }, plain(high)),
        make("text", { class: "tick", x: left + length + 10, y: bottom + 19 }, label),
      );
    }
    return svg;
  }

  /**
   * Draw lines of a few models over several columns: series [{name, hue, values: [{value, low, high}]}].
   *
   * options: connect, whether a line continues across columns without a value.
   */
  function slope(columns, series, { width = 720, height = 340, title, description, label, connect = false } = {}) {
    const [left, right, top] = [44, width - 14, 30];
    const step = (right - left - 40) / Math.max(1, columns.length - 1);
    const slanted = step < 70;
    const bottom = height - (slanted ? 76 : 34);
    const points = [];
    const svg = start(width, height, { title, description }, listed(points));
    found.get(svg).table = [["", ...columns], ...series.map((each) => [each.name, ...each.values.map(({ value }) => value)])];
    const all = series.flatMap((each) => each.values.flatMap(({ value, low, high }) => [value, low, high]));
    const yAt = scale(all, bottom, top, { wanted: 6 });
    yAxis(svg, yAt, { left, right, top, label });
    const xOf = (place) => left + 20 + place * step;
    columns.forEach((name, place) => {
      const x = px(xOf(place));
      svg.append(
        make("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }),
        make(
          "text",
          {
            class: "tick",
            x,
            y: bottom + 18,
            "text-anchor": slanted ? "end" : "middle",
            transform: slanted ? `rotate(-35 ${x} ${bottom + 18})` : null,
          },
          shorten(name, slanted ? 84 : step),
        ),
      );
    });
    series.forEach((each, number) => {
      const group = make("g", { class: `mark hue-${each.hue}` });
      const spread = (number - (series.length - 1) / 2) * Math.min(7, step / 10);
      let path = "";
      let isOpen = false;
      each.values.forEach(({ value, low, high }, place) => {
        if (!isNumber(value)) {
          isOpen &&= connect;
          return;
        }
        const [x, y] = [px(xOf(place) + spread), px(yAt.at(value))];
        path += `${isOpen ? "L" : "M"}${x} ${y}`;
        isOpen = true;
        if (isNumber(low) && isNumber(high)) {
          group.append(make("line", { class: "interval", x1: x, x2: x, y1: px(yAt.at(low)), y2: px(yAt.at(high)) }));
        }
        group.append(make("circle", { class: "dot", cx: x, cy: y, r: 4.5 }));
        points.push({ x, y, text: `${each.name}: ${withInterval({ value, low, high })} (${columns[place]})` });
      });
      group.prepend(make("path", { class: `line dash-${each.hue}`, d: path }));
      svg.append(group);
    });
    return svg;
  }

  /** Return the places of a chart: `at(place)`, `nearest(x, y)` in pixels of the chart, `step(place, key)`. */
  const placesOf = (svg) => found.get(svg);

  BrainScore.charts = { coloursOf, heat, histogram, paretoFront, placesOf, scatter, slope, strip, ticks };
})();
