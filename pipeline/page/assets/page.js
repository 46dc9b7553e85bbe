// Theme, ages, and the table of operators: sorting, searching, filtering. Everything can be read without it.
"use strict";

const root = document.documentElement;

function setUpTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    button.textContent = isDark() ? "Light theme" : "Dark theme";
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch (error) {
      // It holds for this page.
    }
    name();
  });
  system.addEventListener("change", name);
  name();
  button.hidden = false;
}

function showAges() {
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const time of document.querySelectorAll("time")) {
    const hours = (new Date(time.dateTime) - Date.now()) / 3600000;
    const days = hours / 24;
    const age = Math.abs(hours) < 48 ? words.format(Math.round(hours), "hour") : words.format(Math.round(days), "day");
    time.title = age;
    if (time.closest("td, li") === null) time.append(` (${age})`);
  }
}

function setUpTable(table) {
  const form = document.getElementById("filter");
  const { q, state, file } = form.elements;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
  let sort = { key: "", down: false };

  const value = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();

  function sortRows() {
    const column = headings.findIndex((heading) => heading.dataset.key === sort.key);
    const compare = (one, two) => value(one, column).localeCompare(value(two, column), "en", { numeric: true });
    const sorted = column < 0 ? rows : [...rows].sort((one, two) => (sort.down ? compare(two, one) : compare(one, two)));
    body.append(...sorted);
    headings.forEach((heading, index) => {
      if (index === column) heading.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
  }

  function filterRows() {
    const words = q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits =
        words.every((word) => text.includes(word)) &&
        (!state.value || row.dataset.state === state.value) &&
        (!file.value || row.dataset.files.split(" ").includes(file.value));
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    document.getElementById("shown").textContent = `${shown} of ${rows.length} operators`;
  }

  function readAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const field of [q, state, file]) field.value = wanted.get(field.name) ?? "";
    for (const field of [state, file]) if (field.selectedIndex < 0) field.value = "";
    sort = { key: wanted.get("sort") ?? "", down: wanted.get("down") === "1" };
    sortRows();
    filterRows();
  }

  function writeAddress() {
    const parts = new URLSearchParams();
    for (const field of [q, state, file]) if (field.value) parts.set(field.name, field.value);
    if (sort.key) parts.set("sort", sort.key);
    if (sort.down) parts.set("down", "1");
    history.replaceState(null, "", parts.size ? `#${parts}` : "#list");
  }

  for (const heading of headings) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => {
      const { key } = heading.dataset;
      sort = { key, down: sort.key === key && !sort.down };
      sortRows();
      writeAddress();
    });
    heading.replaceChildren(button);
  }
  form.addEventListener("input", () => {
    filterRows();
    writeAddress();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const field of [q, state, file]) field.value = "";
    filterRows();
    writeAddress();
    q.focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) {
      readAddress();
      document.getElementById("list").scrollIntoView();
    }
  });
  form.hidden = false;
  readAddress();
}

// Where a chart over time does not fit, its newest end is what one wants to see.
function showNewest() {
  for (const place of document.querySelectorAll(".scroll:has(> .chart)")) place.scrollLeft = place.scrollWidth;
}

setUpTheme();
showAges();
if (document.getElementById("operators") !== null) showNewest();
const table = document.getElementById("operators");
if (table !== null) setUpTable(table);
