/** A short tour of the table, offered until it is dismissed permanently. */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { element, storage } = BrainScore;
  const ALL = [
    ["#rows td.score", "A score: 0 is chance, 1 the noise ceiling. Below it is its 95 % interval. Click it for details."],
    ["#board thead th.score", "A benchmark, or an average of several. Click its name to sort; + shows its parts."],
    ["#rows td.ties", "Models that share a letter do not differ significantly."],
    ["#rows .pin", "Pin two or more models to compare them."],
    ["#filters", "Search, filter, choose columns or a date. The address contains the whole view: a link shows the same."],
  ];
  let steps = ALL; // those whose target is visible
  const dialog = document.getElementById("tour");
  const offer = document.getElementById("offer");
  const start = offer.querySelector("button");

  const mark = (place) => {
    document.querySelector(".toured")?.classList.remove("toured");
    const target = place === null ? null : document.querySelector(steps[place][0]);
    target?.classList.add("toured");
    target?.scrollIntoView({ block: "center", inline: "nearest" });
  };
  const close = () => {
    dialog.close();
    mark(null);
    (offer.hidden ? document.getElementById("main") : start).focus();
  };
  const show = (place) => {
    mark(place);
    const button = (text, onclick, isThere = true) => isThere && element("button", { type: "button", class: "quiet", onclick }, text);
    const isLast = place === steps.length - 1;
    const text = element("p", { id: "tour-text", tabindex: "-1" }, `${place + 1} of ${steps.length}. ${steps[place][1]}`);
    const forGood = () => {
      storage.set("tour", "closed");
      offer.hidden = true;
      close();
    };
    const buttons = [button("Back", () => show(place - 1), place > 0), button("Next", () => show(place + 1), !isLast), button("Close", close), button("Don't show again", forGood)];
    dialog.replaceChildren(text, element("p", { class: "buttons" }, buttons));
    if (!dialog.open) dialog.show();
    text.focus();
  };

  offer.hidden = storage.get("tour") === "closed";
  start.addEventListener("click", () => {
    steps = ALL.filter(([selector]) => document.querySelector(selector)?.offsetWidth);
    show(0);
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
})();
