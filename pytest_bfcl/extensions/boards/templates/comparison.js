(function () {
  "use strict";
  var find = document.getElementById("find");
  function each(root, wanted, act) { Array.prototype.forEach.call(root.querySelectorAll(wanted), act); }
  function chosen(root, name) { var found = root.querySelector(name); return found ? found.value : ""; }
  function words() { return find.value.trim().toLowerCase(); }
  function reasonsOf(change) {  // a change that is one line has them in its words only
    var found = [];
    if (change.dataset.reasons) return change.dataset.reasons;
    each(change, ".chip", function (chip) {
      found.push(chip.classList.contains("passed") ? "passed" : chip.nextElementSibling.textContent);
    });
    return found.join(" → ");
  }
  function filter(section) {
    var category = chosen(section, ".by-category"), reasons = chosen(section, ".by-reasons");
    var direction = chosen(section, ".by-direction"), wanted = words(), shown = 0, all = 0;
    each(section, ".change", function (change) {
      var fits = (!category || change.dataset.category === category) && (!reasons || reasonsOf(change) === reasons) &&
        (!direction || change.id.indexOf(direction) === 0) &&
        (!wanted || change.textContent.toLowerCase().indexOf(wanted) >= 0);
      change.hidden = !fits;
      shown += fits; all += 1;
    });
    var told = section.querySelector(".shown");
    if (told) told.textContent = shown === all ? "" : shown + " of " + all + " shown";
  }
  function apply() {
    each(document, "section.comparison", filter);
    var wanted = words();
    each(document, "details.changes tbody tr", function (row) {
      row.hidden = wanted !== "" && row.textContent.toLowerCase().indexOf(wanted) < 0;
    });
    if (wanted) each(document, "details.changes", function (part) { part.open = true; });
  }
  function openNamed() {
    var id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch (odd) { /* not ours */ }
    var found = id && document.getElementById(id);
    if (!found || !found.classList.contains("change")) return;
    if (found.tagName === "DETAILS") found.open = true;
    found.scrollIntoView();
  }
  each(document, ".filters", function (part) { part.hidden = false; });
  each(document, ".filters select", function (select) { select.addEventListener("change", apply); });
  if (find) find.addEventListener("input", apply);
  window.addEventListener("hashchange", openNamed);
  openNamed();
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && find && document.activeElement !== find) { event.preventDefault(); find.focus(); }
  });
})();
