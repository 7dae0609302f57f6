(function () {
  "use strict";
  var find = document.getElementById("find");
  function apply() {
    var wanted = find.value.trim().toLowerCase();
    document.querySelectorAll("details.changes tbody tr").forEach(function (row) {
      row.hidden = wanted !== "" && row.textContent.toLowerCase().indexOf(wanted) < 0;
    });
    if (wanted) document.querySelectorAll("details.changes").forEach(function (part) { part.open = true; });
  }
  find.addEventListener("input", apply);
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && document.activeElement !== find) { event.preventDefault(); find.focus(); }
  });
})();
