// Before the first paint: the theme that was chosen on these pages, if one was.
(function () {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch (error) {
    // No storage, as for some pages opened from a file: the system's theme it is.
  }
})();
