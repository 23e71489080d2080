"use strict";
// Texts to take along, such as a citation: one button copies them; another saves those with a file name.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { element } = BrainScore;

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // For pages opened from a file and browsers that ask first: the old method needs a selection.
      const area = element("textarea", { class: "heard", "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  for (const block of document.querySelectorAll(".to-copy")) {
    const { label, save } = block.dataset;
    const text = () => block.querySelector("code").textContent;
    const told = element("span", { class: "heard", role: "status" });
    const button = element(
      "button",
      {
        type: "button",
        class: "quiet small",
        "aria-label": `Copy: ${label}`,
        onclick: async () => {
          await copy(text());
          button.textContent = "Copied";
          told.textContent = "Copied";
          setTimeout(() => {
            button.textContent = "Copy";
            told.textContent = "";
          }, 2_000);
        },
      },
      "Copy",
    );
    const buttons = element("div", { class: "copy-buttons" }, button, told);
    if (save) {
      buttons.append(
        element(
          "button",
          {
            type: "button",
            class: "quiet small",
            "aria-label": `Save as ${save}`,
            onclick: () => BrainScore.save(save, `${text().trim()}\n`, "application/x-bibtex"),
          },
          "Save",
        ),
      );
    }
    block.append(buttons);
  }
})();
