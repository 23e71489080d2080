// Time each step in the page until its layout is done; scrolling until the next frame has been painted.
async () => {
  const { view, table } = BrainScore;
  const found = { sort: [], filter: [], expand: [], scroll: [], sort_all: [], expand_all: [] };
  let elements = 0;
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const step = async (name, act) => {
    await frame();
    const before = performance.now();
    act();
    document.body.getBoundingClientRect();
    found[name].push(performance.now() - before);
    await frame();
    elements = Math.max(elements, document.querySelectorAll("*").length);
  };
  const search = document.getElementById("q");
  for (let i = 0; i < 60; i++) await step("sort", () => { view.setSort(table.columns()[i % 8]); table.update(); });
  for (const text of ["h", "he", "her", "l", "ly", "m1", "9", "zz", ""].flatMap((each) => Array(5).fill(each))) {
    await step("filter", () => { search.value = text; search.dispatchEvent(new Event("input")); });
  }
  const inner = view.nodes.leaf.flatMap((leaf, node) => (leaf ? [] : [node]));
  for (const node of [...inner, ...inner]) {
    await step("expand", () => { view.setOpen(node, !view.isOpen(node)); table.update(); });
  }
  for (const node of inner) view.setOpen(node, true);
  await Promise.all(table.columns().map(view.need));
  table.update();
  const all = table.columns();
  for (let i = 0; i < 40; i++) await step("sort_all", () => { view.setSort(all[(i * 7) % all.length]); table.update(); });
  for (const node of inner.flatMap((each) => [each, each])) {
    await step("expand_all", () => { view.setOpen(node, !view.isOpen(node)); table.update(); });
  }
  const scroller = document.getElementById("scroller");
  for (let i = 1; i <= 40; i++) {
    const before = performance.now();
    scroller.scrollTo(((i * 7) % 40) * 700, ((i * 11) % 40) * 800);
    await frame();
    found.scroll.push(performance.now() - before);
    elements = Math.max(elements, document.querySelectorAll("*").length);
  }
  const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  return { ...found, elements, paint };
}
