"use strict";
// A chart in a page: redrawn when its width or the theme changes, with a label for the point under the pointer or
// selected by arrow keys, and buttons that save it as SVG and as PNG.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const SVG = "http://www.w3.org/2000/svg";
  const { charts, element: html } = BrainScore;
  const make = (tag, ...rest) => BrainScore.element(`svg:${tag}`, ...rest);

  /** Copy computed styles into attributes: the saved file then looks like the page. */
  function standalone(svg) {
    const copy = svg.cloneNode(true);
    const kept = [
      "fill",
      "fill-opacity",
      "stroke",
      "stroke-width",
      "stroke-opacity",
      "stroke-dasharray",
      "stroke-linecap",
      "font-size",
      "font-weight",
      "font-family",
      "opacity",
    ];
    const originals = [svg, ...svg.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((element, place) => {
      if (["title", "desc", "image"].includes(element.tagName)) return;
      const style = getComputedStyle(originals[place]);
      for (const name of kept) element.setAttribute(name, style.getPropertyValue(name));
      element.removeAttribute("class");
    });
    const background = getComputedStyle(document.documentElement).backgroundColor;
    copy.prepend(make("rect", { x: 0, y: 0, width: "100%", height: "100%", fill: background }));
    copy.setAttribute("xmlns", SVG);
    return new XMLSerializer().serializeToString(copy);
  }

  function saveSvg(svg, name) {
    BrainScore.save(`${name}.svg`, standalone(svg), "image/svg+xml");
  }

  function saveCsv(svg, name) {
    BrainScore.save(`${name}.csv`, BrainScore.tableText(charts.placesOf(svg).table), "text/csv;charset=utf-8");
  }

  async function savePng(svg, name) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
    await image.decode();
    const { width, height } = svg.viewBox.baseVal;
    const canvas = html("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => BrainScore.save(`${name}.png`, blob, "image/png"));
  }

  function readable(plot, readout) {
    const tip = html("div", { class: "tip", "aria-hidden": "true" });
    tip.hidden = true;
    const ring = make("circle", { class: "ring", r: 8 });
    let current = -1;

    const svg = () => plot.querySelector("svg");
    const places = () => charts.placesOf(svg());
    const hrefOf = (place) => (place < 0 ? null : places().at(place).href);

    function show(place, isAnnounced) {
      current = place;
      if (place < 0) {
        tip.hidden = true;
        ring.remove();
        return;
      }
      const { x, y, text } = places().at(place);
      const { width, height } = svg().viewBox.baseVal;
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", y);
      svg().append(ring);
      tip.textContent = text;
      tip.hidden = false;
      if (!tip.isConnected) plot.append(tip);
      tip.style.left = `${(x / width) * 100}%`;
      tip.style.top = `${(y / height) * 100}%`;
      tip.classList.toggle("to-left", x > width * 0.5);
      if (isAnnounced) readout.textContent = text;
    }

    function under(event) {
      const box = svg().getBoundingClientRect();
      const size = svg().viewBox.baseVal.width / box.width;
      return places().nearest((event.clientX - box.left) * size, (event.clientY - box.top) * size);
    }

    plot.addEventListener("pointermove", (event) => {
      const place = under(event);
      show(place, false);
      plot.classList.toggle("leads-on", Boolean(hrefOf(place)));
    });
    plot.addEventListener("pointerleave", () => show(-1, false));
    plot.addEventListener("blur", () => show(-1, false));
    plot.addEventListener("click", (event) => {
      const href = hrefOf(under(event));
      if (href) location.assign(href);
    });
    plot.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^(Arrow(Left|Right|Up|Down)|Home|End|Page(Up|Down))$/.test(event.key)) {
        event.preventDefault();
        show(places().step(current, event.key), true);
      } else if (event.key === "Enter" && hrefOf(current)) {
        location.assign(hrefOf(current));
      } else if (event.key === "Escape") {
        show(-1, false);
      }
    });
    return () => show(-1, false);
  }

  /**
   * Return a <figure> around a chart. `draw(width)` returns its <svg>; `name` is the name of saved files.
   *
   * The element has a method `redraw()`, to be called when the data of `draw` have changed.
   */
  function figure(name, caption, draw) {
    const plot = html("div", {
      class: "plot",
      tabindex: "0",
      role: "group",
      "aria-label": `${caption}. Arrow keys step through the points.`,
    });
    const readout = html("p", { class: "heard", "aria-live": "polite" });
    const buttons = html("div", { class: "figure-buttons" });
    const made = html("figure", { class: "figure" }, html("figcaption", {}, caption), plot, readout, buttons);
    const clear = readable(plot, readout);
    const room = document.querySelector("main");
    const { paddingLeft, paddingRight } = getComputedStyle(room);
    const widthOf = (px) => Math.round(Math.min(1160, px));
    let width = widthOf(room.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight));
    made.redraw = () => {
      clear();
      const svg = draw(width);
      plot.querySelector("svg")?.remove();
      plot.prepend(svg);
      buttons.lastElementChild.hidden = !charts.placesOf(svg).table; // not all charts are a table of numbers
    };
    for (const [kind, save] of [
      ["SVG", saveSvg],
      ["PNG", savePng],
      ["CSV", saveCsv],
    ]) {
      const button = html(
        "button",
        { type: "button", class: "quiet small", "aria-label": `Save ${kind} of: ${caption}` },
        `Save ${kind}`,
      );
      button.addEventListener("click", () => {
        clear();
        save(plot.querySelector("svg"), name);
      });
      buttons.append(button);
    }
    new ResizeObserver(([entry]) => {
      const now = widthOf(entry.contentRect.width);
      if (now && now !== width) {
        width = now;
        made.redraw();
      }
    }).observe(plot);
    made.redraw(); // before insertion into the page, to avoid layout shifts
    const themed = () => made.redraw();
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", themed);
    new MutationObserver(themed).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    return made;
  }

  /** Return a legend of hues and their models. */
  function legend(entries) {
    return html(
      "ul",
      { class: "series" },
      entries.map(({ name, hue, href }) =>
        html(
          "li",
          {},
          html("span", { class: `swatch hue-${hue}`, "aria-hidden": "true" }),
          href ? html("a", { href }, name) : name,
        ),
      ),
    );
  }

  BrainScore.figures = { figure, legend, standalone };
})();
